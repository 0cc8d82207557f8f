-- What was compared and decided: the result as it was answered, with the digests of what it was made from. Nothing is computed again, so a
-- decision can be looked up after its runs are gone. `headline` is what lists show.
CREATE TABLE comparisons (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    headline TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX comparisons_by_organization ON comparisons (organization, id);

CREATE TABLE gates (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    verdict TEXT NOT NULL,
    headline TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX gates_by_organization ON gates (organization, id);
