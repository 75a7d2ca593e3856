-- What a user wants (R3.4). One without a row wants e-mail.
CREATE TABLE preferences (
    tenant              TEXT NOT NULL,
    principal           TEXT NOT NULL,
    email_notifications INTEGER NOT NULL,
    version             INTEGER NOT NULL, -- of the ETag
    PRIMARY KEY (tenant, principal)
) STRICT;
