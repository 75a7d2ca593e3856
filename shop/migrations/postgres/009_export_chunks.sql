-- The parts of a report's file, in order.
CREATE TABLE export_chunks (
    export_id uuid NOT NULL,
    chunk     integer NOT NULL,
    data      text NOT NULL,
    PRIMARY KEY (export_id, chunk)
);
