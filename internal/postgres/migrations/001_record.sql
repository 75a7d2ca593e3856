-- The record of a command: its identity, its meaning's digest, and the outcome that its retries are answered.
CREATE TABLE onceward_record (
    id                  uuid        NOT NULL, -- digest of operation, tenant, principal and key
    attempt             uuid        NOT NULL, -- the attempt that saved it
    created_at          timestamptz NOT NULL,
    expires_at          timestamptz NOT NULL, -- from here on the key may be claimed anew, or is refused
    kept_until          timestamptz NOT NULL, -- from here on it may be swept
    fingerprint_version integer     NOT NULL,
    operation           text        NOT NULL,
    tenant              text        NOT NULL,
    principal           text        NOT NULL,
    key                 text        NOT NULL,
    fingerprint_raw     bytea       NOT NULL,
    fingerprint         bytea       NOT NULL,
    state               text        NOT NULL,
    outcome_kind        text        NOT NULL,
    outcome             bytea       NOT NULL,
    CONSTRAINT onceward_record_pkey PRIMARY KEY (id)
);

CREATE INDEX onceward_record_kept_until ON onceward_record (kept_until);
