-- What authors work on. The body of a draft is a JSON document; columns beside it repeat what the
-- database itself must look after: what may not be deleted because something else uses it.

CREATE TABLE environments (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX environments_by_organization ON environments (organization, id);

ALTER TABLE benchmarks ADD COLUMN environment TEXT REFERENCES environments (id);
CREATE INDEX benchmarks_by_environment ON benchmarks (environment);

CREATE TABLE simulators (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX simulators_by_organization ON simulators (organization, id);

CREATE TABLE environment_simulators (
    environment TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    simulator TEXT NOT NULL REFERENCES simulators (id),
    position BIGINT NOT NULL,
    PRIMARY KEY (environment, simulator)
);
CREATE INDEX environment_simulators_by_simulator ON environment_simulators (simulator);

CREATE TABLE datasets (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    body TEXT NOT NULL,
    -- Apart from the body, because it may be megabytes and lists do not show it.
    data TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX datasets_by_organization ON datasets (organization, id);

CREATE TABLE simulator_datasets (
    simulator TEXT NOT NULL REFERENCES simulators (id) ON DELETE CASCADE,
    dataset TEXT NOT NULL REFERENCES datasets (id),
    position BIGINT NOT NULL,
    PRIMARY KEY (simulator, dataset)
);
CREATE INDEX simulator_datasets_by_dataset ON simulator_datasets (dataset);

CREATE TABLE entities (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    dataset TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX entities_by_dataset ON entities (dataset, id);
CREATE UNIQUE INDEX entities_by_key ON entities (dataset, key);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX tasks_by_organization ON tasks (organization, id);

-- A task may be in several benchmarks.
CREATE TABLE benchmark_tasks (
    benchmark TEXT NOT NULL REFERENCES benchmarks (id),
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    PRIMARY KEY (benchmark, task)
);
CREATE INDEX benchmark_tasks_by_task ON benchmark_tasks (task);

CREATE TABLE task_entities (
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    entity TEXT NOT NULL REFERENCES entities (id),
    position BIGINT NOT NULL,
    PRIMARY KEY (task, entity)
);
CREATE INDEX task_entities_by_entity ON task_entities (entity);

CREATE TABLE criteria (
    id TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id),
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    input_entity TEXT REFERENCES entities (id),
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX criteria_by_organization ON criteria (organization, id);
CREATE INDEX criteria_by_task ON criteria (task, id);
CREATE INDEX criteria_by_input_entity ON criteria (input_entity);
