-- What lists of runs are sorted and filtered by, apart from the state that says it, so that a list reads no document. Written with the state. NULL in
-- rows that are older than the columns: they are completed when the store is opened. `verdict` is NULL while a run is not over.
ALTER TABLE runs ADD COLUMN verdict TEXT;
ALTER TABLE runs ADD COLUMN score DOUBLE PRECISION;
ALTER TABLE runs ADD COLUMN score_low DOUBLE PRECISION;
ALTER TABLE runs ADD COLUMN score_high DOUBLE PRECISION;
ALTER TABLE runs ADD COLUMN scored_attempts BIGINT;
ALTER TABLE runs ADD COLUMN void_attempts BIGINT;
ALTER TABLE runs ADD COLUMN critical_misses BIGINT;
ALTER TABLE runs ADD COLUMN started_at BIGINT;
ALTER TABLE runs ADD COLUMN ended_at BIGINT;
CREATE INDEX runs_without_figures ON runs (id)
    WHERE verdict IS NULL AND status IN ('completed', 'cancelled', 'failed');
