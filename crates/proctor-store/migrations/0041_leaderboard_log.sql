-- What was put on leaderboards and taken off, in the transaction that did it. Nothing here is ever changed: a rank that was shown can be explained
-- after the run has gone.
CREATE TABLE leaderboard_log (
    id TEXT PRIMARY KEY,
    benchmark TEXT NOT NULL,
    organization TEXT NOT NULL,
    run TEXT NOT NULL,
    -- 1 if it was put on, 0 if it was taken off.
    added BIGINT NOT NULL,
    reason TEXT,
    changed_at BIGINT NOT NULL
);
CREATE INDEX leaderboard_log_by_benchmark ON leaderboard_log (benchmark, id);
