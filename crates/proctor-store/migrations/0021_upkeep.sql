-- What was done once for rows that are older than the code that reads them.
CREATE TABLE upkeep (
    task TEXT PRIMARY KEY,
    done_at BIGINT NOT NULL
);
