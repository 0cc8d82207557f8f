//! A journal on disk, and worlds of a clinic with one FHIR store in it.

use std::sync::Arc;

use http::Method;
use proctor_core::{
    environment::{Dataset, DatasetType, Environment, Simulator, SimulatorType},
    id::kinds::{DatasetId, SimulatorId, WorldId},
    time::{Clock, ManualClock, Timestamp},
};
use proctor_fhir_store::{FhirPlugin, State};
use proctor_office::voice::VoicePlugin;
use proctor_playground::{
    environment::Blueprint,
    world::{Origin, Rehearsal, Scenario, Surroundings, World},
};
use proctor_simulation::{
    exchange::Request, registry::SimulatorRegistry, scenario::Step, seed::Seed,
};
use proctor_store::{Store, StoreOptions};
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

pub(crate) struct Bench {
    _directory: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) around: Surroundings,
    pub(crate) clock: Arc<ManualClock>,
}

pub(crate) async fn bench() -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_776_790_800_000)));
    let store = Store::open(
        &StoreOptions::embedded(directory.path()),
        Arc::clone(&clock) as Arc<dyn Clock>,
        Arc::new(proctor_store::ambient::RandomIds::default()),
    )
    .await
    .unwrap();
    let around = Surroundings {
        journal: store.journal().clone(),
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        tasks: TaskTracker::new(),
        closing: CancellationToken::new(),
    };
    Bench {
        _directory: directory,
        store,
        around,
        clock,
    }
}

fn environment() -> Environment {
    Environment {
        name: "Clinic".to_owned(),
        simulators: vec![Simulator {
            id: SimulatorId::from_uuid(Uuid::from_u128(1)),
            kind: SimulatorType::named("Fhir"),
            name: "EHR".to_owned(),
            config: Value::Null,
            datasets: vec![Dataset {
                id: DatasetId::from_uuid(Uuid::from_u128(2)),
                name: "patients".to_owned(),
                kind: DatasetType::Fhir,
                data: json!([{"resourceType": "Patient", "id": "ada"}]),
            }],
        }],
    }
}

/// The simulators that the tests know; the environment has only the first.
pub(crate) fn registry() -> SimulatorRegistry {
    SimulatorRegistry::default()
        .with(FhirPlugin)
        .with(VoicePlugin)
}

pub(crate) fn origin(number: u128) -> Origin {
    Origin {
        id: WorldId::from_uuid(Uuid::from_u128(number)),
        blueprint: Arc::new(Blueprint::read(&environment(), &registry()).unwrap()),
        seed: Seed::from_number(7),
        base_url: "http://localhost/v1/task-runs/tr_1".to_owned(),
        scenario: Scenario::default(),
    }
}

/// The same world with a scenario.
pub(crate) fn with_steps(number: u128, steps: &[Step]) -> Origin {
    let scenario = Scenario {
        steps: steps.into(),
        ..Scenario::default()
    };
    Origin {
        scenario,
        ..origin(number)
    }
}

pub(crate) async fn begin(bench: &Bench, number: u128, steps: &[Step]) -> World {
    let rehearsal = Rehearsal::of(with_steps(number, steps), bench.clock.now()).unwrap();
    World::begin(rehearsal, &bench.around).await.unwrap()
}

pub(crate) async fn ask(
    world: &World,
    method: Method,
    target: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let mut request = Request::new(method, target, Timestamp::from_millis(0));
    if let Some(body) = body {
        request = request.with_json(&body);
    }
    let door = world
        .origin()
        .blueprint
        .door_of_path(&request.path)
        .unwrap();
    let response = world.handle(door, request).await;
    (
        response.status.as_u16(),
        serde_json::from_slice(&response.body).unwrap_or_default(),
    )
}

pub(crate) async fn patients(world: &World) -> usize {
    let count = world.look(|exhibits| exhibits.evidence::<State>().unwrap()[0].resource_count());
    count.await.unwrap()
}
