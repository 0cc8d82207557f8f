//! What a task's criteria say of an agent that does nothing.
//!
//! The world is made in memory, its scenario happens, and it is judged at once. Whatever is met
//! then was given away: it rewards nobody's work.

use std::sync::Arc;

use proctor_core::{
    definition::{Task, World},
    id::kinds::{TaskRunId, WorldId},
    time::Timestamp,
};
use proctor_playground::{
    environment::Blueprint,
    world::{BadEvent, MemoryWorld, NotOpened, Origin, Rehearsal, Scenario},
};
use proctor_simulation::{registry::SimulatorRegistry, scenario::Step, seed::Seed};
use proctor_verify::{Context, Judgement, Rubric};
use serde_json::Value;
use uuid::Uuid;

use crate::extensions::Extensions;

/// Why a task cannot be tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTried {
    /// It is done in a devbox, where nothing can be rehearsed in memory.
    #[error("it is done in a devbox")]
    Devbox,
    /// A step of its scenario is not understood.
    #[error("step {} of the scenario: {problem}", number + 1)]
    BadStep {
        /// Which step, counted from 0.
        number: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A step of its scenario cannot happen.
    #[error(transparent)]
    NotOpened(#[from] NotOpened),
    /// What happened cannot be read again: a fault of a simulator.
    #[error("{0}")]
    NotRead(String),
}

impl From<BadEvent> for NotTried {
    fn from(bad: BadEvent) -> Self {
        Self::NotRead(bad.to_string())
    }
}

impl NotTried {
    /// The step at fault, counted from 0.
    pub fn step(&self) -> Option<usize> {
        match self {
            Self::Devbox | Self::NotRead(_) => None,
            Self::BadStep { number, .. } => Some(*number),
            Self::NotOpened(NotOpened::Step { number, .. }) => Some(number - 1),
        }
    }
}

/// Judges a task that nobody worked on, in an environment made from `blueprint`, at the time `now`.
/// The same task at the same time always gives the same judgement.
pub fn without_agent(
    task: &Task,
    blueprint: &Arc<Blueprint>,
    extensions: &Extensions,
    now: Timestamp,
) -> Result<Judgement, NotTried> {
    let scenario = match &task.world {
        World::Playground { scenario, .. } => read_steps(scenario, &extensions.simulators)?,
        World::Devbox { .. } => return Err(NotTried::Devbox),
    };
    let origin = Origin {
        id: WorldId::from_uuid(Uuid::nil()),
        blueprint: Arc::clone(blueprint),
        seed: Seed::from_bytes(task.id.bare().as_bytes()),
        base_url: "http://rehearsal.invalid".to_owned(),
        scenario: Scenario {
            steps: scenario.into(),
            clock: task.clock,
        },
    };
    let mut world = MemoryWorld::of(Rehearsal::of(origin, now)?);
    // What comes later by itself must not meet a criterion either.
    let started_at = now;
    let now = world.last_due().map_or(now, |due| due.max(now));
    world.catch_up(now);
    let record = world.record()?;
    let context = Context {
        task_run: TaskRunId::from_uuid(Uuid::nil()),
        started_at,
        now,
    };
    let exhibits = world.exhibits(now, &record);
    Ok(Rubric::compile(task, &extensions.checks).judge(&exhibits, &context))
}

fn read_steps(scenario: &[Value], simulators: &SimulatorRegistry) -> Result<Vec<Step>, NotTried> {
    let steps = scenario.iter().enumerate().map(|(number, step)| {
        simulators.read_step(step).map_err(|bad| NotTried::BadStep {
            number,
            problem: bad.to_string(),
        })
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proctor_core::{
        definition::{Check, Criterion, Requirements},
        environment::{Dataset, DatasetType, Environment, Simulator, SimulatorType},
        id::kinds::{CriterionId, DatasetId, EnvironmentId, SimulatorId, TaskId},
        scoring::{Score, Weight},
    };
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    fn blueprint() -> Arc<Blueprint> {
        let id = Uuid::from_u128(1);
        let chart = Dataset {
            id: DatasetId::from_uuid(id),
            name: "Chart".to_owned(),
            kind: DatasetType::Fhir,
            data: json!([{"resourceType": "Patient", "id": "ada"}]),
        };
        let fhir = Simulator {
            id: SimulatorId::from_uuid(id),
            kind: SimulatorType::named("Fhir"),
            name: "EHR".to_owned(),
            config: Value::Null,
            datasets: vec![chart],
        };
        let environment = Environment {
            name: "Ward".to_owned(),
            simulators: vec![fhir],
        };
        Arc::new(Blueprint::read(&environment, &Extensions::shipped().simulators).unwrap())
    }

    fn task(scenario: Vec<Value>, resource_types: &[&str]) -> Task {
        let criterion = |(number, resource_type): (usize, &&str)| Criterion {
            id: CriterionId::from_uuid(Uuid::from_u128(number as u128)),
            label: "It is there".to_owned(),
            weight: Weight::default(),
            axis: None,
            input_entity: None,
            key: None,
            critical: false,
            all: false,
            requires: Vec::new(),
            check: Check::Assertion(
                json!({"assert": "fhir-resource-state", "resource_type": resource_type}),
            ),
        };
        Task {
            id: TaskId::from_uuid(Uuid::from_u128(7)),
            name: "Task".to_owned(),
            timeout: None,
            tags: Vec::new(),
            brief: Value::Null,
            world: World::Playground {
                environment: EnvironmentId::from_uuid(Uuid::from_u128(1)),
                frozen: None,
                scenario,
            },
            entities: Vec::new(),
            clock: Default::default(),
            capture: BTreeMap::new(),
            criteria: resource_types.iter().enumerate().map(criterion).collect(),
            reference: Value::Null,
            validation: None,
            scoring_timeout: None,
            requires: Requirements::default(),
            metadata: BTreeMap::new(),
        }
    }

    #[test]
    fn what_was_there_or_came_with_the_scenario_is_found_without_an_agent() {
        let step = json!({"type": "fhir_upsert", "resource": {"resourceType": "Basic", "id": "b", "code": {"text": "x"}}});
        let task = task(vec![step], &["Patient", "Basic", "Appointment"]);
        let judgement = without_agent(&task, &blueprint(), &Extensions::shipped(), NOW).unwrap();
        let scores: Vec<Score> = judgement.findings.iter().map(|one| one.score).collect();
        assert_eq!(scores, [Score::ONE, Score::ONE, Score::ZERO]);
        assert_eq!(
            without_agent(&task, &blueprint(), &Extensions::shipped(), NOW).unwrap(),
            judgement
        );
    }

    #[test]
    fn a_scenario_that_cannot_happen_is_told_by_its_step() {
        let good =
            json!({"type": "fhir_upsert", "resource": {"resourceType": "Patient", "id": "bob"}});
        for bad in [
            json!({"type": "smoke_signal"}),
            json!({"type": "voicemail", "text": "Call me"}),
            json!({"type": "fhir_upsert", "resource": {"resourceType": "Nothing"}}),
        ] {
            let task = task(vec![good.clone(), bad], &[]);
            let refused =
                without_agent(&task, &blueprint(), &Extensions::shipped(), NOW).unwrap_err();
            assert_eq!(refused.step(), Some(1), "{refused}");
        }
    }
}
