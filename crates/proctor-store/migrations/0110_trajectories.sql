-- What an agent did in a task run, as it tells it, in ATIF. Sending it again replaces it.
CREATE TABLE trajectories (
    task_run TEXT PRIMARY KEY REFERENCES task_runs (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
-- What an agent says it used up in a task run, by model; the model is empty where none was named. Without a row nothing was
-- reported. A cost is null if any part of it is unknown.
CREATE TABLE task_run_usage (
    task_run TEXT NOT NULL REFERENCES task_runs (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION,
    PRIMARY KEY (task_run, model)
);
