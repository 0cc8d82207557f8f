-- What an admission found about a frozen benchmark, by the digest of its definition: versions that say the same share it. Asking again
-- replaces it, because newer servers know more kinds of harm.
CREATE TABLE admissions (
    digest TEXT PRIMARY KEY,
    certificate TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
