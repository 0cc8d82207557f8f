-- Tasks that are done in a box stand by themselves: they have a life and are looked for by name. The columns
-- repeat what the documents say; names are kept in lower case too, for looking without regard to case.
ALTER TABLE tasks ADD COLUMN name TEXT;
ALTER TABLE tasks ADD COLUMN folded_name TEXT;
ALTER TABLE tasks ADD COLUMN metadata TEXT;
ALTER TABLE tasks ADD COLUMN validation TEXT;
ALTER TABLE tasks ADD COLUMN in_box BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN archived_at BIGINT;
-- Since when everybody may read and take it, and nobody change it.
ALTER TABLE tasks ADD COLUMN public_at BIGINT;
CREATE INDEX tasks_public ON tasks (id) WHERE public_at IS NOT NULL;

ALTER TABLE benchmarks ADD COLUMN name TEXT;
ALTER TABLE benchmarks ADD COLUMN folded_name TEXT;
ALTER TABLE benchmarks ADD COLUMN metadata TEXT;
ALTER TABLE benchmarks ADD COLUMN public_at BIGINT;
CREATE INDEX benchmarks_public ON benchmarks (id) WHERE public_at IS NOT NULL;

-- What was said about a run or a task run when it was started.
ALTER TABLE runs ADD COLUMN name TEXT;
ALTER TABLE runs ADD COLUMN folded_name TEXT;
ALTER TABLE runs ADD COLUMN particulars TEXT;

ALTER TABLE task_runs ADD COLUMN name TEXT;
ALTER TABLE task_runs ADD COLUMN folded_name TEXT;
ALTER TABLE task_runs ADD COLUMN particulars TEXT;
-- What it was started from, where it belongs to no run that says it.
ALTER TABLE task_runs ADD COLUMN definition TEXT REFERENCES definitions (digest);
ALTER TABLE task_runs ADD COLUMN devbox TEXT;
CREATE INDEX task_runs_in_boxes ON task_runs (organization, id) WHERE devbox IS NOT NULL;
CREATE INDEX task_runs_by_task ON task_runs (task, id);

-- Custom scorers; the name is their type.
CREATE TABLE scorers (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX scorers_by_organization ON scorers (organization, id);
CREATE UNIQUE INDEX scorers_by_name ON scorers (organization, name);
