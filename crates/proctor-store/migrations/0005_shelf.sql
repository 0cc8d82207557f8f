-- What stands around devboxes. Names stand beside themselves in lower case, for those who look for a part of one.

-- Uploaded bytes. Their content is a blob in an area of the object's own.
CREATE TABLE objects (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    status TEXT NOT NULL,
    digest TEXT,
    size_bytes BIGINT,
    created_at BIGINT NOT NULL,
    delete_after BIGINT,
    revision BIGINT NOT NULL
);
CREATE INDEX objects_by_organization ON objects (organization, id);
CREATE INDEX objects_ending ON objects (delete_after)
    WHERE delete_after IS NOT NULL AND status <> 'DELETED';

CREATE TABLE network_policies (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    description TEXT,
    egress TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- Devboxes and blueprints go on naming the policy they were made with.
    deleted_at BIGINT
);
CREATE INDEX network_policies_by_organization ON network_policies (organization, id);
CREATE UNIQUE INDEX network_policies_by_name ON network_policies (organization, name)
    WHERE deleted_at IS NULL;

CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    version TEXT,
    source TEXT,
    created_at BIGINT NOT NULL,
    -- Jobs go on naming the agents that took them.
    deleted_at BIGINT
);
CREATE INDEX agents_by_organization ON agents (organization, id);
CREATE INDEX agents_by_name ON agents (organization, name, id);

CREATE TABLE blueprints (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    recipe TEXT NOT NULL,
    base TEXT REFERENCES blueprints (id),
    status TEXT NOT NULL,
    build TEXT NOT NULL,
    layers TEXT NOT NULL,
    -- The build's log, once it is over.
    log TEXT,
    -- What opens the recipe's repositories; gone when the build is over.
    sealed_tokens BYTEA,
    created_at BIGINT NOT NULL,
    -- Devboxes go on naming the blueprint they were made from.
    deleted_at BIGINT,
    revision BIGINT NOT NULL
);
CREATE INDEX blueprints_by_organization ON blueprints (organization, id);
CREATE INDEX blueprints_by_name ON blueprints (organization, name, id);
CREATE INDEX blueprints_unfinished ON blueprints (id) WHERE status IN ('provisioning', 'building');
