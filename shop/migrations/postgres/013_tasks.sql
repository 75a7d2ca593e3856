-- Things to do.
CREATE TABLE tasks (
    id         uuid NOT NULL PRIMARY KEY,
    tenant     text NOT NULL,
    principal  text NOT NULL,
    title      text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
