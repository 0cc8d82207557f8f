//! Freezing and publishing, on a store of each test's own.
use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc};

use proctor_core::{
    definition::{Check, Requirements, Seconds, Visibility, World},
    document::Document,
    environment::{DatasetType, SimulatorType},
    id::kinds::OrganizationId,
    scoring::Weight,
    time::{ManualClock, Timestamp},
};
use proctor_engine::{
    Extensions,
    authoring::{self, NotFrozen, Obstacle, Prevents, Published},
};
use proctor_store::{
    Store, StoreError, StoreOptions,
    ambient::RandomIds,
    benchmarks::{BenchmarkDraft, BenchmarkRecord},
    criteria::CriterionDraft,
    datasets::DatasetDraft,
    entities::{EntityDraft, EntityRecord},
    environments::{EnvironmentDraft, EnvironmentRecord},
    simulators::{SimulatorDraft, SimulatorRecord},
    tasks::{TaskDraft, TaskRecord},
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

struct Desk {
    store: Store,
    clinic: OrganizationId,
    environment: EnvironmentRecord,
    fhir: SimulatorRecord,
    benchmark: BenchmarkRecord,
    _directory: TempDir,
}

impl Desk {
    /// A benchmark without tasks, in an environment with a FHIR store.
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_790_000_000_000)));
        let options = StoreOptions::embedded(directory.path());
        let store = Store::open(&options, clock, Arc::new(RandomIds::default()))
            .await
            .unwrap();
        let clinic = store.create_organization("Clinic").await.unwrap().id;
        let environment = EnvironmentDraft {
            name: "Ward".to_owned(),
            description: None,
        };
        let environment = store.create_environment(clinic, environment).await.unwrap();
        let chart = DatasetDraft {
            name: "Chart".to_owned(),
            description: None,
            kind: DatasetType::Fhir,
        };
        let data = json!([{"resourceType": "Patient", "id": "ada"}]);
        let chart = store.create_dataset(clinic, chart, &data).await.unwrap();
        let fhir = SimulatorDraft {
            kind: SimulatorType::named("Fhir"),
            name: "EHR".to_owned(),
            config: Map::new(),
            datasets: vec![chart.id],
        };
        let fhir = store.create_simulator(clinic, fhir).await.unwrap();
        store.add_simulator(&environment, &fhir).await.unwrap();
        let benchmark = BenchmarkDraft {
            name: "Fax".to_owned(),
            description: None,
            attribution: None,
            environment: Some(environment.id),
            timeout: Seconds::new(600),
            concurrency: NonZeroU32::MIN,
            metadata: BTreeMap::new(),
            requires: Requirements::default(),
        };
        let benchmark = store.create_benchmark(clinic, benchmark).await.unwrap();
        Self {
            store,
            clinic,
            environment,
            fhir,
            benchmark,
            _directory: directory,
        }
    }

    async fn task(&self, scenario: Value) -> TaskRecord {
        let Value::Array(scenario) = scenario else {
            panic!("a scenario is a list");
        };
        let draft = TaskDraft {
            name: "Register".to_owned(),
            timeout: None,
            tags: Vec::new(),
            brief: json!({"do": "it"}),
            scenario,
            clock: Default::default(),
            capture: BTreeMap::new(),
            devbox: None,
            reference: Value::Null,
            validation: None,
            scoring_timeout: None,
            requires: Requirements::default(),
            metadata: BTreeMap::new(),
        };
        self.store
            .create_task(self.clinic, Some(&self.benchmark), draft)
            .await
            .unwrap()
    }

    async fn criterion(&self, task: &TaskRecord, about: Option<&EntityRecord>, assertion: Value) {
        let draft = CriterionDraft {
            task: task.id,
            label: "The patient is there".to_owned(),
            weight: Weight::default(),
            axis: None,
            input_entity: about.map(|entity| entity.id),
            key: None,
            critical: false,
            all: false,
            requires: Vec::new(),
            check: Check::Assertion(assertion),
        };
        self.store
            .create_criterion(self.clinic, draft)
            .await
            .unwrap();
    }

    async fn entity(&self, key: &str) -> EntityRecord {
        let people = DatasetDraft {
            name: "People".to_owned(),
            description: None,
            kind: DatasetType::Members,
        };
        let nobody = json!([]);
        let people = self.store.create_dataset(self.clinic, people, &nobody);
        let draft = EntityDraft {
            dataset: people.await.unwrap().id,
            kind: "patient".to_owned(),
            key: key.to_owned(),
            data: json!({"name": "Ada"}),
        };
        self.store.create_entity(self.clinic, draft).await.unwrap()
    }

    async fn freeze(&self) -> authoring::Frozen {
        authoring::freeze(
            &self.store,
            &Extensions::shipped(),
            self.clinic,
            self.benchmark.id,
        )
        .await
        .unwrap()
    }

    async fn publish(&self) -> Result<u32, NotFrozen> {
        let published = self.publish_telling().await;
        published.map(|published| published.version.version)
    }

    async fn publish_telling(&self) -> Result<Published, NotFrozen> {
        let slug = "fax".to_owned().try_into().unwrap();
        authoring::publish(
            &self.store,
            &Extensions::shipped(),
            self.clinic,
            self.benchmark.id,
            slug,
            Visibility::Private,
            Timestamp::from_millis(1_790_000_000_000),
        )
        .await
    }

    /// What is wrong, with ids replaced by the nouns that they are of.
    fn told(&self, refused: NotFrozen) -> Vec<(String, String, Prevents)> {
        let NotFrozen::Unfit(obstacles) = refused else {
            panic!("{refused}");
        };
        let readable = |text: &str| {
            let hide = |part: &str| match part.split_once('_') {
                Some((prefix, bare)) if bare.len() == 26 => prefix.to_owned(),
                _ => part.to_owned(),
            };
            let parts: Vec<_> = text.split('.').map(hide).collect();
            parts.join(".")
        };
        obstacles
            .into_iter()
            .map(|Obstacle { problem, prevents }| {
                (readable(&problem.path), problem.message, prevents)
            })
            .collect()
    }
}

fn patient_exists() -> Value {
    json!({"assert": "fhir-resource-state", "resource_type": "Patient", "fields": []})
}

#[tokio::test]
async fn a_frozen_benchmark_outlives_every_change_of_its_drafts() {
    let desk = Desk::new().await;
    let ada = desk.entity("ada").await;
    let task = desk
        .task(json!([{"type": "fhir_upsert", "resource": {"resourceType": "Patient"}}]))
        .await;
    desk.store.add_task_entity(&task, &ada).await.unwrap();
    desk.criterion(&task, Some(&ada), patient_exists()).await;
    assert_eq!(desk.publish().await.unwrap(), 1);
    let trial = desk.freeze().await;
    assert_eq!(trial.digest, trial.definition.digest());
    let frozen_task = &trial.definition.tasks[0];
    assert_eq!(frozen_task.entities[0].data, json!({"name": "Ada"}));
    assert_eq!(frozen_task.criteria[0].input_entity, Some(ada.id));
    let World::Playground {
        environment,
        frozen,
        scenario,
    } = &frozen_task.world
    else {
        panic!("{:?}", frozen_task.world);
    };
    assert_eq!((*environment, scenario.len()), (desk.environment.id, 1));

    let content = SimulatorDraft {
        name: "Another".to_owned(),
        datasets: Vec::new(),
        ..desk.fhir.content.clone()
    };
    desk.store
        .update_simulator(&desk.fhir, content)
        .await
        .unwrap();
    desk.store.delete_task(desk.clinic, task.id).await.unwrap();
    let benchmark = desk.store.benchmark(desk.clinic, desk.benchmark.id).await;
    let benchmark = benchmark.unwrap().unwrap();
    let homeless = BenchmarkDraft {
        environment: None,
        ..benchmark.content.clone()
    };
    let changed = desk.store.update_benchmark(&benchmark, homeless).await;
    changed.unwrap();
    assert!(
        desk.store
            .delete_environment(desk.clinic, desk.environment.id)
            .await
            .unwrap()
    );
    let kept = desk
        .store
        .environment_definition(&frozen.unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.simulators[0].name, "EHR");
    assert_eq!(kept.simulators[0].config, Value::Null);
    assert_eq!(kept.simulators[0].datasets[0].data[0]["id"], "ada");
    let versions = desk
        .store
        .benchmark_versions(desk.benchmark.id)
        .await
        .unwrap();
    assert_eq!(versions[0].digest, trial.digest, "the trial ran the same");
    assert_eq!(
        desk.store.definition(&trial.digest).await.unwrap(),
        Some(trial.definition)
    );
}

#[tokio::test]
async fn publishing_rehearses_scenarios_and_names_every_step_that_cannot_happen() {
    let desk = Desk::new().await;
    let nothing = json!({"resourceType": "Nothing"});
    let patient = json!({"resourceType": "Patient", "id": "eve"});
    let task = desk
        .task(json!([
            {"type": "fhir_upsert", "resource": nothing},
            {"type": "fhir_upsert", "resource": patient},
            {"type": "fhir_upsert", "resource": nothing},
        ]))
        .await;
    let path = json!({"assert": "fhir-resource-state", "resource_type": "Patient", "fields": [{"path": "surname", "expected": "x"}]});
    desk.criterion(&task, None, path).await;
    let told = desk.told(desk.publish().await.unwrap_err());
    let places: Vec<_> = told.iter().map(|(place, _, _)| place.as_str()).collect();
    assert_eq!(
        places,
        [
            "crit.assertion.fields.0.path",
            "task.scenario.0",
            "task.scenario.2"
        ],
        "{told:#?}"
    );
}

#[tokio::test]
async fn rows_that_nobody_has_keep_a_benchmark_from_being_published() {
    let desk = Desk::new().await;
    let task = desk.task(json!([])).await;
    let letters = json!({"assert": "portal-state-match", "correlate_by": {"resource": "letters"}});
    desk.criterion(&task, None, letters).await;
    let told = desk.told(desk.publish().await.unwrap_err());
    let (place, message, prevents) = &told[0];
    assert_eq!(
        (place.as_str(), *prevents),
        ("crit.assertion.correlate_by.resource", Prevents::Publishing)
    );
    assert!(message.contains("no simulator has rows called 'letters'"));
}

#[tokio::test]
async fn whoever_publishes_is_told_what_idleness_earns_and_what_nobody_watches() {
    let desk = Desk::new().await;
    let task = desk.task(json!([])).await;
    desk.criterion(&task, None, patient_exists()).await;
    let published = desk.publish_telling().await.unwrap();
    let told = published.warnings.join("\n");
    assert!(told.contains("has no criterion 'unchanged'"), "{told}");
    assert!(told.contains("is met before anybody acted"), "{told}");
}

#[tokio::test]
async fn everything_that_is_wrong_is_named_at_once() {
    let desk = Desk::new().await;
    let content = BenchmarkDraft {
        timeout: None,
        ..desk.benchmark.content.clone()
    };
    desk.store
        .update_benchmark(&desk.benchmark, content)
        .await
        .unwrap();
    let content = SimulatorDraft {
        config: Map::from_iter([("validation".to_owned(), json!("sometimes"))]),
        ..desk.fhir.content.clone()
    };
    desk.store
        .update_simulator(&desk.fhir, content)
        .await
        .unwrap();
    let task = desk
        .task(json!([
            {"type": "smoke_signal"},
            {"type": "voicemail", "text": "Call me"},
            {"type": "fhir_upsert", "simulator": "Other", "resource": {}},
            {"type": "fhir_upsert", "simulator": "EHR", "resource": {}},
        ]))
        .await;
    let (ada, again, stranger) = (
        desk.entity("ada").await,
        desk.entity("ada").await,
        desk.entity("eve").await,
    );
    desk.store.add_task_entity(&task, &ada).await.unwrap();
    desk.store.add_task_entity(&task, &again).await.unwrap();
    desk.criterion(&task, Some(&stranger), json!({"assert": "telepathy"}))
        .await;
    let told = desk.told(desk.publish().await.unwrap_err());
    let places: Vec<_> = told
        .iter()
        .map(|(place, _, prevents)| (place.as_str(), *prevents))
        .collect();
    assert_eq!(
        places,
        [
            ("sim", Prevents::Running),
            ("task", Prevents::Running),
            ("task.scenario.0", Prevents::Running),
            ("task.scenario.1", Prevents::Running),
            ("task.scenario.2", Prevents::Running),
            ("task.entities", Prevents::Publishing),
            ("crit.input_entity_id", Prevents::Publishing),
            ("crit.assertion.assert", Prevents::Publishing),
        ],
        "{told:#?}"
    );
    let versions = desk
        .store
        .benchmark_versions(desk.benchmark.id)
        .await
        .unwrap();
    assert_eq!(versions, []);
}

#[tokio::test]
async fn an_empty_benchmark_and_one_without_a_place_are_refused() {
    let desk = Desk::new().await;
    let told = desk.told(desk.publish().await.unwrap_err());
    assert_eq!(
        told,
        [(
            "bench".to_owned(),
            "has no tasks".to_owned(),
            Prevents::Running
        )]
    );
    desk.task(json!([])).await;
    let content = BenchmarkDraft {
        environment: None,
        ..desk.benchmark.content.clone()
    };
    desk.store
        .update_benchmark(&desk.benchmark, content)
        .await
        .unwrap();
    let told = desk.told(desk.publish().await.unwrap_err());
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, "task");
}

#[tokio::test]
async fn a_draft_may_be_tried_before_it_may_be_published() {
    let desk = Desk::new().await;
    let task = desk.task(json!([])).await;
    desk.criterion(&task, None, json!({"assert": "telepathy"}))
        .await;
    assert!(matches!(
        desk.publish().await,
        Err(NotFrozen::Unfit(obstacles)) if obstacles.len() == 1
    ));
    desk.freeze().await;
}

#[tokio::test]
async fn a_task_with_a_box_needs_neither_environment_nor_limit_for_a_trial() {
    let desk = Desk::new().await;
    let content = BenchmarkDraft {
        environment: None,
        timeout: None,
        ..desk.benchmark.content.clone()
    };
    desk.store
        .update_benchmark(&desk.benchmark, content)
        .await
        .unwrap();
    let task = desk.task(json!([])).await;
    let boxed = TaskDraft {
        devbox: Some(Document::of(json!({"image": "debian"}))),
        ..task.content.clone()
    };
    desk.store.update_task(&task, boxed).await.unwrap();
    let frozen = desk.freeze().await;
    assert!(matches!(
        frozen.definition.tasks[0].world,
        World::Devbox { .. }
    ));
    let told = desk.told(desk.publish().await.unwrap_err());
    assert_eq!(told.len(), 1, "{told:?}");
}

#[tokio::test]
async fn what_is_not_there_or_somebody_elses_is_not_frozen() {
    let desk = Desk::new().await;
    desk.task(json!([])).await;
    let other = desk.store.create_organization("Other").await.unwrap().id;
    let foreign = authoring::freeze(
        &desk.store,
        &Extensions::shipped(),
        other,
        desk.benchmark.id,
    )
    .await;
    assert!(matches!(foreign, Err(NotFrozen::NoSuchBenchmark(_))));
    let unknown = authoring::freeze(
        &desk.store,
        &Extensions::shipped(),
        desk.clinic,
        desk.store.fresh_id(),
    )
    .await;
    assert!(matches!(unknown, Err(NotFrozen::NoSuchBenchmark(_))));
}

#[tokio::test]
async fn a_slug_belongs_to_one_benchmark() {
    let desk = Desk::new().await;
    desk.task(json!([])).await;
    assert_eq!(desk.publish().await.unwrap(), 1);
    assert_eq!(desk.publish().await.unwrap(), 2);
    let content = desk.benchmark.content.clone();
    let rival = desk.store.create_benchmark(desk.clinic, content).await;
    let rival = Desk {
        benchmark: rival.unwrap(),
        ..desk
    };
    rival.task(json!([])).await;
    let taken = rival.publish().await;
    assert!(
        matches!(taken, Err(NotFrozen::Store(StoreError::Taken(_)))),
        "{taken:?}"
    );
}
