-- Devboxes: what they were asked to be and how far their lives have come. A box is on one machine, its node.
CREATE TABLE devboxes (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    node TEXT NOT NULL,
    name TEXT,
    metadata TEXT NOT NULL,
    initiator TEXT NOT NULL,
    setup TEXT NOT NULL,
    status TEXT NOT NULL,
    life TEXT NOT NULL,
    -- What the box could not have of what it should have.
    caveats TEXT NOT NULL,
    -- When it ends if nobody asks for more time.
    deadline BIGINT,
    created_at BIGINT NOT NULL,
    revision BIGINT NOT NULL
);
CREATE INDEX devboxes_by_organization ON devboxes (organization, id);
CREATE INDEX devboxes_by_status ON devboxes (organization, status, id);
CREATE INDEX devboxes_alive ON devboxes (node) WHERE status NOT IN ('shutdown', 'failure');

-- Disk snapshots: a layer each, on the node of their devbox. A deleted one stays as a row.
CREATE TABLE disk_snapshots (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    node TEXT NOT NULL,
    devbox TEXT NOT NULL REFERENCES devboxes (id),
    blueprint TEXT,
    name TEXT,
    commit_message TEXT,
    metadata TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    size_bytes BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX disk_snapshots_by_organization ON disk_snapshots (organization, id);
CREATE INDEX disk_snapshots_by_devbox ON disk_snapshots (devbox, id);
CREATE INDEX disk_snapshots_by_status ON disk_snapshots (node, status);
