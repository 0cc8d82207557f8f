//! Brings a file to a server: creates what is missing, changes what differs, removes what is gone.
//!
//! Things are recognised by name, so that their ids last: a task keeps its runs, a criterion its
//! results. Pushing the same file again changes nothing and publishes nothing.

use std::collections::BTreeMap;

use proctor_core::{
    definition::{Check, Criterion, Task, World},
    environment::{Dataset, Environment, Simulator},
};
use serde_json::{Value, json};

use crate::{
    api::{Api, ApiError},
    file::{BenchmarkFile, CriterionPart, EntityPart, SimulatorPart, TaskPart},
    remote::{Row, Whole},
};

/// What came of pushing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The benchmark's id.
    pub benchmark_id: String,
    /// Whether it was not there before.
    pub created: bool,
    /// Whether anything of it was changed.
    pub changed: bool,
    /// The newest version there is.
    pub version: Option<u32>,
    /// Whether that was published just now.
    pub published: bool,
}

/// Brings a file to a server, and with `publish` makes it a version unless it is the newest already.
pub async fn push(api: &Api, file: &BenchmarkFile, publish: bool) -> Result<Pushed, ApiError> {
    let row = api.find(file.slug.as_str(), Some(&file.name)).await?;
    let mut pushing = Pushing {
        api,
        file,
        changed: false,
    };
    let benchmark_id = match &row {
        Some(row) => pushing.update(row).await?,
        None => pushing.create().await?,
    };
    let changed = pushing.changed;
    let newest = api.versions(&benchmark_id).await?.into_iter().next();
    let mut pushed = Pushed {
        benchmark_id,
        created: row.is_none(),
        changed,
        version: newest.as_ref().map(|newest| newest.version),
        published: false,
    };
    if !publish {
        return Ok(pushed);
    }
    let digest = api.whole(&pushed.benchmark_id).await?.digest;
    let is_newest = newest.is_some_and(|newest| {
        newest.published && newest.digest == digest && newest.visibility == file.visibility
    });
    if !is_newest {
        let path = format!("/benchmarks/{}/publish", pushed.benchmark_id);
        let body = json!({"slug": file.slug, "visibility": file.visibility});
        let version = api.post(&path, &body).await?["version"].as_u64();
        pushed.version = version.and_then(|version| u32::try_from(version).ok());
        pushed.published = true;
    }
    Ok(pushed)
}

/// One file on its way.
struct Pushing<'a> {
    api: &'a Api,
    file: &'a BenchmarkFile,
    changed: bool,
}

/// Ids of what the server has, by name.
type Ids = BTreeMap<String, String>;

impl Pushing<'_> {
    async fn create(&mut self) -> Result<String, ApiError> {
        self.changed = true;
        let datasets = self.datasets(&[]).await?;
        let simulators = self.simulators(&[], &datasets).await?;
        let environment = self.environment(None, &[], &simulators).await?;
        let benchmark = self
            .make("/benchmarks", &self.benchmark(&environment))
            .await?;
        let entities = self.entities(&benchmark, &[], &datasets).await?;
        self.tasks(&benchmark, &[], &entities).await?;
        Ok(benchmark)
    }

    async fn update(&mut self, row: &Row) -> Result<String, ApiError> {
        let Whole {
            definition,
            environment,
            ..
        } = self.api.whole(&row.id).await?;
        let empty = Environment::default();
        let there = environment.as_ref().unwrap_or(&empty);
        let same = BenchmarkFile::from_definition(
            &definition,
            there,
            self.file.slug.clone(),
            self.file.visibility,
        );
        if same.is_ok_and(|same| same.digest() == self.file.digest()) {
            return Ok(row.id.clone());
        }
        self.changed = true;
        let mut datasets: Vec<&Dataset> = Vec::new();
        for dataset in there.simulators.iter().flat_map(|one| &one.datasets) {
            if datasets.iter().all(|known| known.id != dataset.id) {
                datasets.push(dataset);
            }
        }
        let dataset_ids = self.datasets(&datasets).await?;
        let simulators = self.simulators(&there.simulators, &dataset_ids).await?;
        let known = row
            .environment_id
            .as_deref()
            .map(|id| (id, there.name.as_str()));
        let environment = self
            .environment(known, &there.simulators, &simulators)
            .await?;
        let path = format!("/benchmarks/{}", row.id);
        self.api.patch(&path, &self.benchmark(&environment)).await?;
        let entities = self
            .entities(&row.id, &definition.tasks, &dataset_ids)
            .await?;
        self.tasks(&row.id, &definition.tasks, &entities).await?;
        self.clear(there, &datasets, &simulators, &dataset_ids)
            .await?;
        Ok(row.id.clone())
    }

    /// Creates something, and gives its id.
    async fn make(&self, path: &str, body: &Value) -> Result<String, ApiError> {
        let answer = self.api.post(path, body).await?;
        self.api.text(path, &answer, "id")
    }

    fn benchmark(&self, environment: &str) -> Value {
        json!({
            "name": self.file.name,
            "environment_id": environment,
            "description": self.file.description,
            "timeout": self.file.timeout,
            "concurrency": self.file.concurrency,
        })
    }

    async fn datasets(&self, there: &[&Dataset]) -> Result<Ids, ApiError> {
        let mut ids = Ids::new();
        for (name, part) in &self.file.datasets {
            let known = there
                .iter()
                .find(|one| one.name == *name && one.kind == part.kind);
            let id = match known {
                Some(known) => {
                    if known.data != part.data {
                        let path = format!("/datasets/{}", known.id);
                        self.api.patch(&path, &json!({"data": part.data})).await?;
                    }
                    known.id.to_string()
                }
                None => {
                    let body = json!({"name": name, "type": part.kind, "data": part.data});
                    self.make("/datasets", &body).await?
                }
            };
            ids.insert(name.clone(), id);
        }
        Ok(ids)
    }

    /// The ids of the file's simulators, in its order.
    async fn simulators(
        &self,
        there: &[Simulator],
        datasets: &Ids,
    ) -> Result<Vec<String>, ApiError> {
        let mut ids = Vec::new();
        for part in &self.file.environment.simulators {
            let known = there
                .iter()
                .find(|one| one.name == part.name && one.kind == part.kind);
            let config = config(part, datasets);
            ids.push(match known {
                Some(known) => {
                    if known_config(known) != config {
                        let path = format!("/simulators/{}", known.id);
                        self.api.patch(&path, &json!({"config": config})).await?;
                    }
                    known.id.to_string()
                }
                None => {
                    let body = json!({"type": part.kind, "name": part.name, "config": config});
                    self.make("/simulators", &body).await?
                }
            });
        }
        Ok(ids)
    }

    async fn environment(
        &self,
        known: Option<(&str, &str)>,
        there: &[Simulator],
        simulators: &[String],
    ) -> Result<String, ApiError> {
        let body = json!({"name": self.file.environment.name});
        let id = match known {
            Some((id, name)) => {
                if name != self.file.environment.name {
                    self.api
                        .patch(&format!("/environments/{id}"), &body)
                        .await?;
                }
                id.to_owned()
            }
            None => self.make("/environments", &body).await?,
        };
        let linked: Vec<String> = there.iter().map(|one| one.id.to_string()).collect();
        if linked != simulators {
            // Their order is the order in which they were added.
            for one in &linked {
                self.api
                    .delete(&format!("/environments/{id}/simulators/{one}"))
                    .await?;
            }
            for one in simulators {
                let path = format!("/environments/{id}/simulators/{one}");
                self.api.post(&path, &json!({})).await?;
            }
        }
        Ok(id)
    }

    /// The ids of the file's entities, by key.
    async fn entities(
        &self,
        benchmark: &str,
        there: &[Task],
        datasets: &Ids,
    ) -> Result<Ids, ApiError> {
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        for task in there {
            for entity in self
                .api
                .all(&format!("/tasks/{}/entities", task.id))
                .await?
            {
                known.insert(self.api.text(benchmark, &entity, "key")?, entity);
            }
        }
        for dataset in datasets.values() {
            for entity in self
                .api
                .all(&format!("/datasets/{dataset}/entities"))
                .await?
            {
                let key = self.api.text(benchmark, &entity, "key")?;
                known.entry(key).or_insert(entity);
            }
        }
        let mut ids = Ids::new();
        let mut spare = None;
        for (key, part) in &self.file.entities {
            let id = match known.get(key) {
                Some(entity) => self.update_entity(entity, part).await?,
                None => {
                    let home = self.file.home_of(part).and_then(|name| datasets.get(name));
                    let home = match (home, &spare) {
                        (Some(home), _) => home.clone(),
                        (None, Some(spare)) => String::clone(spare),
                        (None, None) => {
                            // A server keeps every entity with some data set.
                            let name = format!("Entities of {}", self.file.slug.as_str());
                            let body = json!({"name": name, "type": "Files", "data": {}});
                            let made = self.make("/datasets", &body).await?;
                            spare.insert(made).clone()
                        }
                    };
                    let body = json!({"kind": part.kind, "key": key, "data": part.data});
                    self.make(&format!("/datasets/{home}/entities"), &body)
                        .await?
                }
            };
            ids.insert(key.clone(), id);
        }
        Ok(ids)
    }

    async fn update_entity(&self, there: &Value, part: &EntityPart) -> Result<String, ApiError> {
        let text = |field| self.api.text("entities", there, field);
        let (id, dataset) = (text("id")?, text("dataset_id")?);
        let data = Value::Object(part.data.clone());
        if there["data"] != data || there["kind"] != json!(part.kind) {
            let path = format!("/datasets/{dataset}/entities/{id}");
            let body = json!({"kind": part.kind, "data": data});
            self.api.patch(&path, &body).await?;
        }
        Ok(id)
    }

    /// Tasks stand in the order in which they were made: those up to the first other name are
    /// changed, the rest is made anew.
    async fn tasks(&self, benchmark: &str, there: &[Task], entities: &Ids) -> Result<(), ApiError> {
        let parts = &self.file.tasks;
        let pairs = there.iter().zip(parts);
        let same = pairs
            .take_while(|(task, part)| task.name == part.name)
            .count();
        for task in &there[same..] {
            self.api.delete(&format!("/tasks/{}", task.id)).await?;
        }
        for (task, part) in there[..same].iter().zip(parts) {
            let body = task_body(part);
            let differs = task_body_of(task) != body;
            if differs {
                self.api
                    .patch(&format!("/tasks/{}", task.id), &body)
                    .await?;
            }
            self.task_parts(&task.id.to_string(), Some(task), part, entities)
                .await?;
        }
        for part in &parts[same..] {
            let mut body = task_body(part);
            body["benchmark_id"] = json!(benchmark);
            let id = self.make("/tasks", &body).await?;
            self.task_parts(&id, None, part, entities).await?;
        }
        Ok(())
    }

    async fn task_parts(
        &self,
        id: &str,
        there: Option<&Task>,
        part: &TaskPart,
        entities: &Ids,
    ) -> Result<(), ApiError> {
        let linked: Vec<String> = there
            .iter()
            .flat_map(|task| &task.entities)
            .map(|one| one.id.to_string())
            .collect();
        let wanted: Vec<&String> = part
            .entities
            .iter()
            .filter_map(|key| entities.get(key))
            .collect();
        for one in wanted.iter().filter(|one| !linked.contains(one)) {
            let path = format!("/tasks/{id}/entities");
            self.api.post(&path, &json!({"entity_id": one})).await?;
        }
        let criteria = there.map_or(&[][..], |task| &task.criteria);
        for (place, part) in part.criteria.iter().enumerate() {
            let input = part.input_entity.as_ref().and_then(|key| entities.get(key));
            let mut body = criterion_body(part, input);
            match criteria.get(place) {
                Some(known) => {
                    if criterion_body_of(known) != Some(body.clone()) {
                        self.api
                            .patch(&format!("/criteria/{}", known.id), &body)
                            .await?;
                    }
                }
                None => {
                    body["task_id"] = json!(id);
                    self.make("/criteria", &body).await?;
                }
            }
        }
        for known in criteria.iter().skip(part.criteria.len()) {
            self.api.delete(&format!("/criteria/{}", known.id)).await?;
        }
        for one in linked.iter().filter(|one| !wanted.contains(one)) {
            self.api
                .delete(&format!("/tasks/{id}/entities/{one}"))
                .await?;
        }
        Ok(())
    }

    /// Removes what the file no longer has, unless something else needs it.
    async fn clear(
        &self,
        there: &Environment,
        datasets: &[&Dataset],
        simulators: &[String],
        dataset_ids: &Ids,
    ) -> Result<(), ApiError> {
        let old = there.simulators.iter().map(|one| one.id.to_string());
        for id in old.filter(|id| !simulators.contains(id)) {
            self.remove(&format!("/simulators/{id}")).await?;
        }
        let kept: Vec<&String> = dataset_ids.values().collect();
        let old = datasets.iter().map(|one| one.id.to_string());
        for id in old.filter(|id| !kept.contains(&id)) {
            self.remove(&format!("/datasets/{id}")).await?;
        }
        Ok(())
    }

    async fn remove(&self, path: &str) -> Result<(), ApiError> {
        match self.api.delete(path).await {
            Err(refused)
                if refused
                    .status()
                    .is_some_and(|status| status == 409 || status == 404) =>
            {
                Ok(())
            }
            other => other,
        }
    }
}

/// The configuration as the server takes it: data sets stand in it by id.
fn config(part: &SimulatorPart, datasets: &Ids) -> Value {
    let mut config = part.config.clone();
    let ids: Vec<&String> = part
        .datasets
        .iter()
        .filter_map(|name| datasets.get(name))
        .collect();
    if !ids.is_empty() {
        config.insert("dataset_ids".to_owned(), json!(ids));
    }
    Value::Object(config)
}

fn known_config(simulator: &Simulator) -> Value {
    let mut config = match &simulator.config {
        Value::Object(config) => config.clone(),
        _ => serde_json::Map::new(),
    };
    let ids: Vec<String> = simulator
        .datasets
        .iter()
        .map(|one| one.id.to_string())
        .collect();
    if !ids.is_empty() {
        config.insert("dataset_ids".to_owned(), json!(ids));
    }
    Value::Object(config)
}

fn task_body(part: &TaskPart) -> Value {
    json!({
        "name": part.name,
        "timeout": part.timeout,
        "tags": part.tags,
        "task_item": part.task_item,
        "scenario": part.scenario,
        "clock": part.clock,
        "capture": part.capture,
        "solution": match part.solution.as_slice() {
            [] => Value::Null,
            solution => json!(solution),
        },
    })
}

fn task_body_of(task: &Task) -> Value {
    let scenario = match &task.world {
        World::Playground { scenario, .. } => scenario.as_slice(),
        World::Devbox { .. } => &[],
    };
    json!({
        "name": task.name,
        "timeout": task.timeout,
        "tags": task.tags,
        "task_item": task.brief,
        "scenario": scenario,
        "clock": task.clock,
        "capture": task.capture,
        "solution": task.reference,
    })
}

fn criterion_body(part: &CriterionPart, input: Option<&String>) -> Value {
    json!({
        "label": part.label,
        "weight": part.weight,
        "axis": part.axis,
        "input_entity_id": input,
        "key": part.key,
        "critical": part.critical,
        "all": part.all,
        "requires": part.requires,
        "assertion": part.assertion,
    })
}

fn criterion_body_of(criterion: &Criterion) -> Option<Value> {
    let Check::Assertion(assertion) = &criterion.check else {
        return None;
    };
    Some(json!({
        "label": criterion.label,
        "weight": criterion.weight,
        "axis": criterion.axis,
        "input_entity_id": criterion.input_entity,
        "key": criterion.key,
        "critical": criterion.critical,
        "all": criterion.all,
        "requires": criterion.requires,
        "assertion": assertion,
    }))
}
