-- Reports that are being written, or were (R3.5).
CREATE TABLE exports (
    id         uuid NOT NULL PRIMARY KEY,
    tenant     text NOT NULL,
    principal  text NOT NULL,
    report     text NOT NULL,
    month      text NOT NULL, -- 2026-12
    format     text NOT NULL,
    state      text NOT NULL, -- running, completed or failed
    total      bigint NOT NULL, -- rows to write
    written    bigint NOT NULL, -- of them
    chunk      integer NOT NULL, -- of export_chunks, the last
    position   uuid, -- the order that was written last
    created_at timestamptz NOT NULL DEFAULT now()
);
