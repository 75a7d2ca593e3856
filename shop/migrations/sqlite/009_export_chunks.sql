-- The parts of a report's file, in order.
CREATE TABLE export_chunks (
    export_id TEXT NOT NULL,
    chunk     INTEGER NOT NULL,
    data      TEXT NOT NULL,
    PRIMARY KEY (export_id, chunk)
) STRICT;
