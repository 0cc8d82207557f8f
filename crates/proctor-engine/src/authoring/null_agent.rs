//! What a task's criteria say of an agent that does nothing.
//!
//! The world is made in memory, its scenario happens, and it is judged at once. Whatever is met
//! then was given away: it rewards nobody's work.

use std::{collections::BTreeSet, sync::Arc};

use proctor_core::{
    definition::{Task, World},
    id::kinds::{TaskRunId, WorldId},
    problem::{Problem, in_words},
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
    /// Steps of its scenario are not understood.
    #[error("{}", in_words(.0))]
    BadSteps(Vec<Problem>),
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
            Self::Devbox | Self::NotRead(_) | Self::BadSteps(_) => None,
            Self::NotOpened(NotOpened::Step { number, .. }) => Some(number - 1),
        }
    }

    /// Everything that is wrong, with its place in the task.
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            Self::Devbox => Vec::new(),
            Self::BadSteps(problems) => problems.clone(),
            Self::NotRead(_) | Self::NotOpened(_) => {
                let place = self.step().map(|step| format!("scenario.{step}"));
                vec![Problem::error(place.unwrap_or_default(), self.to_string())]
            }
        }
    }
}

/// What was found out about a task that nobody worked on.
pub struct Tried {
    /// What its criteria say.
    pub judgement: Judgement,
    /// The resources of which the world has rows, also where there are none yet.
    pub resources: BTreeSet<String>,
}

/// Judges a task that nobody worked on, in an environment made from `blueprint`, at the time `now`.
/// The same task at the same time always gives the same judgement.
pub fn without_agent(
    task: &Task,
    blueprint: &Arc<Blueprint>,
    extensions: &Extensions,
    now: Timestamp,
) -> Result<Tried, NotTried> {
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
    let judgement = Rubric::compile(task, &extensions.checks).judge(&exhibits, &context);
    let resources = exhibits.rows.keys().map(|name| (*name).to_owned());
    Ok(Tried {
        judgement,
        resources: resources.collect(),
    })
}

/// Why the steps of a task cannot happen: each that cannot is left out, so that those behind it are tried too.
pub fn impossible_steps(
    task: &Task,
    blueprint: &Arc<Blueprint>,
    extensions: &Extensions,
    now: Timestamp,
) -> Vec<Problem> {
    let World::Playground { scenario, .. } = &task.world else {
        return Vec::new();
    };
    let mut left: Vec<(usize, &Value)> = scenario.iter().enumerate().collect();
    let mut problems = Vec::new();
    loop {
        let mut shorter = task.clone();
        if let World::Playground { scenario, .. } = &mut shorter.world {
            *scenario = left.iter().map(|(_, step)| (*step).clone()).collect();
        }
        let Err(refused) = without_agent(&shorter, blueprint, extensions, now) else {
            return problems;
        };
        let Some(step) = refused.step().filter(|step| *step < left.len()) else {
            problems.extend(refused.problems());
            return problems;
        };
        let (number, _) = left.remove(step);
        // It says which step of those that were tried.
        let message = match &refused {
            NotTried::NotOpened(NotOpened::Step { kind, problem, .. }) => {
                format!("step {} of the scenario ({kind}): {problem}", number + 1)
            }
            _ => refused.to_string(),
        };
        problems.push(Problem::error(format!("scenario.{number}"), message));
    }
}

fn read_steps(scenario: &[Value], simulators: &SimulatorRegistry) -> Result<Vec<Step>, NotTried> {
    let mut steps = Vec::new();
    let mut problems = Vec::new();
    for (number, step) in scenario.iter().enumerate() {
        match simulators.read_step(step) {
            Ok(step) => steps.push(step),
            Err(wrong) => {
                let wrong = wrong.into_vec().into_iter();
                problems.extend(wrong.map(|one| one.below(&format!("scenario.{number}"))));
            }
        }
    }
    match problems.is_empty() {
        true => Ok(steps),
        false => Err(NotTried::BadSteps(problems)),
    }
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
        let tried = || without_agent(&task, &blueprint(), &Extensions::shipped(), NOW).unwrap();
        let judgement = tried().judgement;
        let scores: Vec<Score> = judgement.findings.iter().map(|one| one.score).collect();
        assert_eq!(scores, [Score::ONE, Score::ONE, Score::ZERO]);
        assert_eq!(tried().judgement, judgement);
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
            let tried = without_agent(&task, &blueprint(), &Extensions::shipped(), NOW);
            let refused = tried.err().unwrap();
            let problems = refused.problems();
            assert!(problems[0].path.starts_with("scenario.1"), "{problems:?}");
        }
    }
}
