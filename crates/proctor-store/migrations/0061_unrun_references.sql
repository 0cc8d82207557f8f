-- Scorers that could not be started on the reference of their task, by the digest of the frozen task. What the newest reference shows replaces
-- what an earlier one did.
CREATE TABLE unrun_references (
    task_digest TEXT NOT NULL,
    criterion TEXT NOT NULL,
    task_run TEXT NOT NULL,
    PRIMARY KEY (task_digest, criterion)
);
