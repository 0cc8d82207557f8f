-- Whether a run ends by itself follows from how many of its task runs are not over and how many of its tasks were taken. Kept
-- with the run and written with every task run that begins or ends, so that no step reads the others.
ALTER TABLE runs ADD COLUMN open_task_runs BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN tasks_taken BIGINT NOT NULL DEFAULT 0;
UPDATE runs SET
    open_task_runs = (SELECT count(*) FROM task_runs WHERE task_runs.run = runs.id
        AND task_runs.status IN ('created', 'started', 'scoring', 'scored')),
    tasks_taken = (SELECT count(DISTINCT task_runs.task) FROM task_runs WHERE task_runs.run = runs.id);

-- What is not over is a small part of what there ever was.
CREATE INDEX runs_live ON runs (id) WHERE status IN ('created', 'started');
CREATE INDEX task_runs_active ON task_runs (run, id) WHERE status IN ('started', 'scoring', 'scored');
CREATE INDEX task_runs_live_in_boxes ON task_runs (id)
    WHERE devbox IS NOT NULL AND status IN ('created', 'started', 'scoring', 'scored');
CREATE INDEX task_runs_by_run_and_task ON task_runs (run, task);
