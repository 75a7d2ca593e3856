-- Reports that are being written, or were (R3.5).
CREATE TABLE exports (
    id         TEXT NOT NULL PRIMARY KEY,
    tenant     TEXT NOT NULL,
    principal  TEXT NOT NULL,
    report     TEXT NOT NULL,
    month      TEXT NOT NULL, -- 2026-12
    format     TEXT NOT NULL,
    state      TEXT NOT NULL, -- running, completed or failed
    total      INTEGER NOT NULL, -- rows to write
    written    INTEGER NOT NULL, -- of them
    chunk      INTEGER NOT NULL, -- of export_chunks, the last
    position   TEXT, -- the order that was written last
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
) STRICT;
