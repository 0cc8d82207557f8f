-- Tasks whose scorers are known to take too long on the reference too, by the digest of the frozen task.
CREATE TABLE slow_references (
    task_digest TEXT PRIMARY KEY,
    task_run TEXT NOT NULL
);
