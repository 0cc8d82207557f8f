-- One text for SQLite and PostgreSQL. Ids are their 26 characters without a prefix, so they sort
-- by age; times are milliseconds since 1970; documents are JSON text; truth values are 0 or 1.

CREATE TABLE organizations (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE solvers (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    alias TEXT NOT NULL,
    real_name TEXT NOT NULL,
    agent_description TEXT NOT NULL,
    contact_email TEXT NOT NULL,
    agent_version TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- Runs go on naming the Solver that took them, so its row outlives it.
    deleted_at BIGINT
);
CREATE INDEX solvers_by_organization ON solvers (organization, id);
CREATE UNIQUE INDEX solvers_by_alias ON solvers (organization, alias) WHERE deleted_at IS NULL;

-- Organization keys, Solver keys and run tokens. Only a hash of each is kept.
CREATE TABLE credentials (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    kind TEXT NOT NULL,
    -- The Solver or the run that it speaks for.
    subject TEXT,
    name TEXT,
    prefix TEXT NOT NULL,
    suffix TEXT NOT NULL,
    -- The first eight bytes of the hash: finds the row, proves nothing.
    fingerprint BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);
CREATE INDEX credentials_by_fingerprint ON credentials (fingerprint);
CREATE INDEX credentials_by_owner ON credentials (organization, kind, subject, id);

CREATE TABLE secrets (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    sealed BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX secrets_by_name ON secrets (organization, name);

-- Frozen benchmarks and environments by their content: written once, never changed, shared by
-- versions and runs.
CREATE TABLE definitions (
    digest TEXT PRIMARY KEY,
    body TEXT NOT NULL
);

CREATE TABLE benchmarks (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    -- The draft; versions and runs have definitions of their own.
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    archived_at BIGINT,
    -- Versions and runs go on naming their benchmark, so its row outlives it.
    deleted_at BIGINT
);
CREATE INDEX benchmarks_by_organization ON benchmarks (organization, id);

CREATE TABLE benchmark_versions (
    benchmark TEXT NOT NULL REFERENCES benchmarks (id),
    version BIGINT NOT NULL,
    organization TEXT NOT NULL REFERENCES organizations (id),
    slug TEXT NOT NULL,
    visibility TEXT NOT NULL,
    digest TEXT NOT NULL REFERENCES definitions (digest),
    published_at BIGINT NOT NULL,
    unpublished_at BIGINT,
    PRIMARY KEY (benchmark, version)
);
CREATE UNIQUE INDEX benchmark_versions_by_slug ON benchmark_versions (organization, slug, version);
CREATE UNIQUE INDEX benchmark_versions_public ON benchmark_versions (slug, version)
    WHERE visibility = 'Public' AND unpublished_at IS NULL;

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    solver TEXT REFERENCES solvers (id),
    benchmark TEXT NOT NULL REFERENCES benchmarks (id),
    version BIGINT,
    digest TEXT NOT NULL REFERENCES definitions (digest),
    scored BIGINT NOT NULL,
    agent TEXT,
    concurrency BIGINT NOT NULL,
    status TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revision BIGINT NOT NULL
);
CREATE INDEX runs_by_organization ON runs (organization, id);
CREATE INDEX runs_by_benchmark ON runs (benchmark, id);

CREATE TABLE task_runs (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    run TEXT REFERENCES runs (id),
    task TEXT NOT NULL,
    status TEXT NOT NULL,
    state TEXT NOT NULL,
    -- When one of its clocks runs out; none when no clock is running.
    deadline BIGINT,
    created_at BIGINT NOT NULL,
    revision BIGINT NOT NULL
);
CREATE INDEX task_runs_by_run ON task_runs (run, id);
CREATE INDEX task_runs_due ON task_runs (deadline) WHERE deadline IS NOT NULL;

CREATE TABLE criterion_runs (
    id TEXT PRIMARY KEY,
    task_run TEXT NOT NULL REFERENCES task_runs (id),
    criterion TEXT NOT NULL,
    passed BIGINT NOT NULL,
    score DOUBLE PRECISION NOT NULL,
    details TEXT NOT NULL,
    evidence TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    completed_at BIGINT NOT NULL
);
CREATE INDEX criterion_runs_by_task_run ON criterion_runs (task_run, id);

CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    status TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX jobs_by_organization ON jobs (organization, id);

-- What was answered to a request that carried its own id. No status: the answer is being made.
CREATE TABLE idempotency (
    scope TEXT NOT NULL,
    request_id TEXT NOT NULL,
    body_digest TEXT NOT NULL,
    status BIGINT,
    content_type TEXT,
    answer BYTEA,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (scope, request_id)
);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

-- The journal: events as they come, whatever their world, each with a place of its own and the place
-- of the event it follows. The primary key is the arbiter: two events cannot follow the same one. The
-- first event of a world follows nothing, which is written as the negative of its own place.
CREATE TABLE journal_events (
    follows BIGINT PRIMARY KEY,
    place BIGINT NOT NULL,
    world TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    payload BYTEA NOT NULL,
    hash BYTEA NOT NULL
);

-- Where to begin reading: the first event of every world (two cannot both be), every so many
-- events one more, and the seal.
CREATE TABLE journal_marks (
    world TEXT NOT NULL,
    seq BIGINT NOT NULL,
    follows BIGINT NOT NULL,
    PRIMARY KEY (world, seq)
);

-- Nodes take places in stretches; this is where the next stretch begins.
CREATE TABLE journal_places (
    next BIGINT NOT NULL
);
INSERT INTO journal_places (next) VALUES (1);
