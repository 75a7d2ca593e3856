-- The record of a command: its identity, its meaning's digest, and the outcome that its retries are answered. All times are UTC by the server's clock. The bytes of a column are compared as they are: no collation, no padding.
CREATE TABLE IF NOT EXISTS onceward_record (
    id                  BINARY(16)     NOT NULL PRIMARY KEY, -- digest of operation, tenant, principal and key
    operation           VARBINARY(100) NOT NULL,
    tenant              VARBINARY(255) NOT NULL,
    principal           VARBINARY(255) NOT NULL,
    `key`               VARBINARY(512) NOT NULL,
    fingerprint_version INT            NOT NULL,
    fingerprint_raw     BINARY(32)     NOT NULL,
    fingerprint         BINARY(32)     NOT NULL,
    state               VARBINARY(16)  NOT NULL, -- 'running' is a claim: its transaction has not ended
    attempt             BINARY(16)     NOT NULL, -- the attempt that saved it
    outcome_kind        VARBINARY(32)  NOT NULL,
    outcome             LONGBLOB       NOT NULL,
    created_at          DATETIME(6)    NOT NULL,
    expires_at          DATETIME(6)    NOT NULL, -- from here on the key may be claimed anew, or is refused
    kept_until          DATETIME(6)    NOT NULL, -- from here on it may be swept
    KEY onceward_record_kept_until (kept_until)
) ENGINE = InnoDB
