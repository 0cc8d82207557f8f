-- Which public keys lead into which devbox. The private keys are kept nowhere.
CREATE TABLE devbox_ssh_keys (
    -- SHA-256 of the public key, as hexadecimal digits.
    fingerprint TEXT PRIMARY KEY,
    devbox TEXT NOT NULL REFERENCES devboxes (id),
    created_at BIGINT NOT NULL
);
CREATE INDEX devbox_ssh_keys_by_devbox ON devbox_ssh_keys (devbox);
