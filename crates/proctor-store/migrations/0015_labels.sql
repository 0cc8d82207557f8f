-- The labels of what is listed, apart from the documents that hold them, so that lists can be filtered by them. NULL in rows
-- that are older than the column: they are completed when the store is opened.
ALTER TABLE runs ADD COLUMN metadata TEXT;
ALTER TABLE task_runs ADD COLUMN metadata TEXT;
ALTER TABLE blueprints ADD COLUMN metadata TEXT;
CREATE INDEX runs_without_labels ON runs (id) WHERE metadata IS NULL;
CREATE INDEX task_runs_without_labels ON task_runs (id) WHERE metadata IS NULL;
CREATE INDEX blueprints_without_labels ON blueprints (id) WHERE metadata IS NULL;
