-- How much an organization may have, as JSON; null is without limits.
ALTER TABLE organizations ADD COLUMN limits TEXT;

-- The keys of whoever runs the server: they open the organizations themselves and nothing that belongs to one.
CREATE TABLE operator_keys (
    id TEXT PRIMARY KEY,
    name TEXT,
    prefix TEXT NOT NULL,
    suffix TEXT NOT NULL,
    fingerprint BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX operator_keys_by_fingerprint ON operator_keys (fingerprint);

CREATE INDEX runs_open ON runs (organization) WHERE status IN ('created', 'started');
CREATE INDEX task_runs_open_alone ON task_runs (organization)
    WHERE run IS NULL AND status IN ('created', 'started', 'scoring', 'scored');
