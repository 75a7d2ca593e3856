-- What a user wants (R3.4). One without a row wants e-mail.
CREATE TABLE IF NOT EXISTS preferences (
    tenant              VARCHAR(255) NOT NULL,
    principal           VARCHAR(255) NOT NULL,
    email_notifications BOOLEAN NOT NULL,
    version             BIGINT NOT NULL, -- of the ETag
    PRIMARY KEY (tenant, principal)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
