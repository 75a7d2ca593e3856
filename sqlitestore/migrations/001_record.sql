-- The record of a command: its identity, its meaning's digest, and the outcome that its retries are answered. All times are milliseconds since 1970 by SQLite's own clock on the machine of the file.
CREATE TABLE onceward_record (
    id                    BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    operation             TEXT    NOT NULL,
    tenant                TEXT    NOT NULL,
    principal             TEXT    NOT NULL,
    key                   TEXT    NOT NULL,
    fingerprint_version   INTEGER NOT NULL,
    fingerprint_raw       BLOB    NOT NULL,
    fingerprint           BLOB    NOT NULL,
    state                 TEXT    NOT NULL,
    attempt               BLOB    NOT NULL,
    outcome_kind          TEXT    NOT NULL,
    outcome               BLOB    NOT NULL,
    created_at            INTEGER NOT NULL,
    expires_at            INTEGER NOT NULL,
    kept_until            INTEGER NOT NULL -- expires_at, and as long as an expired key is refused
) STRICT, WITHOUT ROWID;

CREATE INDEX onceward_record_kept_until ON onceward_record (kept_until);
