-- Disks as they were when a task run was scored, so that it can be scored again. The bytes are layers of the machine's boxes.
CREATE TABLE frozen_disks (
    layer TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    task_run TEXT NOT NULL,
    devbox TEXT NOT NULL,
    -- taking, kept or dropped; a dropped one goes when nothing stands on its layer any more, and its row with it.
    status TEXT NOT NULL,
    -- What is needed to work on it as its devbox did; never the value of a secret.
    origin TEXT NOT NULL,
    size_bytes BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX frozen_disks_by_task_run ON frozen_disks (task_run);
CREATE INDEX frozen_disks_by_node ON frozen_disks (node, status);
