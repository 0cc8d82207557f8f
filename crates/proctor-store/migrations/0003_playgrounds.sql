-- When the token of a run ends, and with it whatever of the run is left; when the run was put on the
-- leaderboard, if it was.
ALTER TABLE runs ADD COLUMN expires_at BIGINT;
ALTER TABLE runs ADD COLUMN ranked_at BIGINT;
CREATE INDEX runs_expiring ON runs (expires_at) WHERE status IN ('created', 'started');
CREATE INDEX runs_ranked ON runs (benchmark, id) WHERE ranked_at IS NOT NULL;

-- Playgrounds: those of task runs have the task run's bits for an id, others have their own.
CREATE TABLE playgrounds (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    environment TEXT,
    -- The environment's content, as it was when the playground was made.
    digest TEXT NOT NULL REFERENCES definitions (digest),
    task_run TEXT REFERENCES task_runs (id),
    created_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX playgrounds_by_organization ON playgrounds (organization, id);

-- The doors of playgrounds; a run has doors of its own, which lead to the task run at work.
CREATE TABLE sandboxes (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    playground TEXT REFERENCES playgrounds (id),
    run TEXT REFERENCES runs (id),
    door BIGINT NOT NULL,
    simulator TEXT NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX sandboxes_by_organization ON sandboxes (organization, id);
CREATE INDEX sandboxes_by_playground ON sandboxes (playground) WHERE playground IS NOT NULL;
CREATE INDEX sandboxes_by_run ON sandboxes (run) WHERE run IS NOT NULL;
