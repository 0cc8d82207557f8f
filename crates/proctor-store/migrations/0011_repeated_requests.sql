-- When a request was first begun under its id. What it makes has ids that follow from this, so that whoever repeats it
-- after a crash finds what it made. 0 for requests that are older than the column.
ALTER TABLE idempotency ADD COLUMN begun_at BIGINT NOT NULL DEFAULT 0;
