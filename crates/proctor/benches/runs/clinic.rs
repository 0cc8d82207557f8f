//! A benchmark to take: a small clinic, tasks with a scenario, twenty criteria each.

use std::{collections::BTreeMap, num::NonZeroU32, path::Path, sync::Arc};

use proctor_core::{
    definition::{
        Benchmark, BenchmarkVersion, Check, Criterion, Requirements, Seconds, Slug, Task,
        Visibility, World,
    },
    environment::{Dataset, DatasetType, Environment, Simulator, SimulatorType},
    id::kinds::{EnvironmentId, OrganizationId, SolverId},
    scoring::Weight,
};
use proctor_engine::{
    Engine, Extensions,
    runs::{Created, NewRun, Taken},
};
use proctor_store::{
    Store, StoreOptions,
    ambient::{RandomIds, SystemClock},
    benchmarks::BenchmarkDraft,
    credentials::{KeyOwner, PlainKey},
    solvers::SolverProfile,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use uuid::Uuid;

/// How many criteria each task has.
pub(crate) const CRITERIA: usize = 20;
/// The name of the benchmark.
pub(crate) const SLUG: &str = "clinic";

/// A store with a published benchmark, and an engine on it.
pub(crate) struct Clinic {
    pub(crate) engine: Engine,
    pub(crate) organization: OrganizationId,
    pub(crate) solver: SolverId,
    /// The Solver's key.
    pub(crate) key: String,
    version: BenchmarkVersion,
}

impl Clinic {
    pub(crate) async fn open(data: &Path) -> Self {
        let ids = Arc::new(RandomIds::default());
        let store = Store::open(&StoreOptions::embedded(data), Arc::new(SystemClock), ids)
            .await
            .unwrap();
        let (organization, _) = store
            .bootstrap("bench", PlainKey::Random)
            .await
            .unwrap()
            .unwrap();
        let organization = organization.id;
        let profile = SolverProfile {
            alias: "bench".to_owned(),
            real_name: "Bench".to_owned(),
            agent_description: "Takes a benchmark again and again.".to_owned(),
            contact_email: "bench@example.org".to_owned(),
            agent_version: None,
        };
        let solver = store.create_solver(organization, profile).await.unwrap().id;
        let key = store
            .create_key(
                organization,
                KeyOwner::Solver(solver),
                None,
                PlainKey::Random,
            )
            .await
            .unwrap()
            .unwrap();
        let frozen = store
            .put_environment_definition(&environment())
            .await
            .unwrap();
        let definition = benchmark(&store, frozen);
        let digest = store.put_definition(&definition).await.unwrap();
        let draft = BenchmarkDraft {
            name: definition.name.clone(),
            description: None,
            attribution: None,
            environment: None,
            timeout: definition.timeout,
            concurrency: definition.concurrency,
            metadata: BTreeMap::new(),
            requires: Requirements::default(),
        };
        let record = store.create_benchmark(organization, draft).await.unwrap();
        let slug = Slug::try_from(SLUG.to_owned()).unwrap();
        let version = store
            .publish_benchmark(organization, &record, digest, slug, Visibility::Private)
            .await
            .unwrap();
        let engine = Engine::new(
            store,
            Arc::new(SystemClock),
            "http://localhost",
            None,
            Extensions::shipped(),
        );
        Self {
            engine,
            organization,
            solver,
            key: key.secret.expose_secret().to_owned(),
            version,
        }
    }

    pub(crate) async fn begin(&self) -> Created {
        let new = NewRun {
            tasks: Vec::new(),
            concurrency: None,
            held: false,
            organization: self.organization,
            solver: Some(self.solver),
            taken: Taken::Version(Box::new(self.version.clone())),
            scored: false,
            agent: None,
            labels: std::collections::BTreeMap::new(),
        };
        self.engine.create_run(new).await.unwrap()
    }

    pub(crate) async fn close(self) {
        self.engine.close().await;
        self.engine.store().close().await;
    }
}

fn environment() -> Environment {
    let patients: Vec<Value> = (0..200)
        .map(|number| {
            json!({"resourceType": "Patient", "id": format!("p{number}"), "birthDate": "1980-01-01",
                   "name": [{"family": format!("Family{number}"), "given": ["Ada"]}]})
        })
        .collect();
    let simulator = |number: u128, kind: &'static str, datasets| Simulator {
        id: proctor_core::id::kinds::SimulatorId::from_uuid(Uuid::from_u128(number)),
        kind: SimulatorType::named(kind),
        name: kind.to_owned(),
        config: Value::Null,
        datasets,
    };
    let dataset = Dataset {
        id: proctor_core::id::kinds::DatasetId::from_uuid(Uuid::from_u128(1)),
        name: "patients".to_owned(),
        kind: DatasetType::Fhir,
        data: Value::Array(patients),
    };
    Environment {
        name: "Clinic".to_owned(),
        simulators: vec![
            simulator(1, "Fhir", vec![dataset]),
            simulator(2, "Hl7", Vec::new()),
            simulator(3, "Files", Vec::new()),
            simulator(4, "Fax", Vec::new()),
            simulator(5, "Payer", Vec::new()),
        ],
    }
}

fn benchmark(store: &Store, frozen: proctor_core::canonical::Digest) -> Benchmark {
    let criterion = |number: usize| Criterion {
        id: store.fresh_id(),
        label: format!("Criterion {number}"),
        weight: Weight::default(),
        axis: Some(["workflow", "safety"][number % 2].to_owned()),
        input_entity: None,
        key: None,
        critical: false,
        all: false,
        requires: Vec::new(),
        check: Check::Assertion(match number % 4 {
            0 => json!({"assert": "fhir-resource-state", "resource_type": "Observation",
                "search": {"subject": format!("Patient/p{number}")},
                "fields": [{"path": "status", "expected": "final"}]}),
            1 => json!({"assert": "hl7-structural", "correlate_by": {"MSH.9.1": "ORM"},
                "fields": [{"path": "PID.3.1", "expected": "12345"}]}),
            2 => json!({"assert": "sftp-file-present", "path_glob": "outbound/*.json",
                "fields": [{"path": "total", "expected": 240.5}]}),
            _ => json!({"assert": "fhir-resource-state", "resource_type": "Patient",
                "search": {"family": format!("Family{number}")},
                "fields": [{"path": "name.0.given.0", "expected": "Ada"}]}),
        }),
    };
    let task = |name: &str| Task {
        id: store.fresh_id(),
        name: name.to_owned(),
        timeout: None,
        tags: Vec::new(),
        brief: json!({"instructions": "A fax came in."}),
        world: World::Playground {
            environment: EnvironmentId::from_uuid(Uuid::from_u128(1)),
            frozen: Some(frozen),
            scenario: vec![
                json!({"type": "fax_inbound", "from_number": "+15550100", "text": "Referral for Ada"}),
                json!({"type": "drop_file_inbox", "path": "referral.txt", "content": "see fax"}),
                json!({"type": "fhir_upsert", "resource": {"resourceType": "Patient", "id": "new"}}),
            ],
        },
        entities: Vec::new(),
        clock: Default::default(),
        capture: BTreeMap::new(),
        criteria: (0..CRITERIA).map(criterion).collect(),
        reference: Value::Null,
        validation: None,
        scoring_timeout: None,
        requires: Requirements::default(),
        metadata: BTreeMap::new(),
    };
    Benchmark {
        name: "Clinic".to_owned(),
        description: None,
        timeout: Seconds::new(3600),
        concurrency: NonZeroU32::MIN,
        metadata: BTreeMap::new(),
        requires: Requirements::default(),
        tasks: vec![task("Only")],
    }
}
