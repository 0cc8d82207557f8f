-- A job is more than its state: what it is to do never changes, what came of it is in its attempts. No server ever wrote one
-- before.
DROP TABLE jobs;
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    -- Whose boxes it uses, and who therefore carries it out.
    machine TEXT NOT NULL,
    plan TEXT NOT NULL,
    status TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revision BIGINT NOT NULL
);
CREATE INDEX jobs_by_organization ON jobs (organization, id);
CREATE INDEX jobs_live ON jobs (machine) WHERE status IN ('initializing', 'queued', 'running');

-- The job that carries a run out.
ALTER TABLE runs ADD COLUMN job TEXT REFERENCES jobs (id);
CREATE INDEX runs_by_job ON runs (job) WHERE job IS NOT NULL;

-- One agent with one scenario, once. The key is the arbiter: no try is made twice.
CREATE TABLE job_attempts (
    job TEXT NOT NULL REFERENCES jobs (id),
    run TEXT NOT NULL REFERENCES runs (id),
    task TEXT NOT NULL,
    number BIGINT NOT NULL,
    -- The task run, whose id is chosen before it begins; none if it never came to be.
    task_run TEXT,
    began_at BIGINT NOT NULL,
    agent_began_at BIGINT,
    -- When and how it ended; none while it is under way.
    ending TEXT,
    PRIMARY KEY (job, run, task, number)
);
