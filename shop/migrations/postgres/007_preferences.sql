-- What a user wants (R3.4). One without a row wants e-mail.
CREATE TABLE preferences (
    tenant              text NOT NULL,
    principal           text NOT NULL,
    email_notifications boolean NOT NULL,
    version             bigint NOT NULL, -- of the ETag
    PRIMARY KEY (tenant, principal)
);
