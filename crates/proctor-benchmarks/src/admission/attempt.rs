//! A task that is tried in memory, with the calls of whoever tries it.

use std::sync::Arc;

use proctor_core::{
    definition::Task,
    environment::Entity,
    id::kinds::{TaskRunId, WorldId},
    scoring::Verdict,
    time::Timestamp,
};
use proctor_engine::Extensions;
use proctor_playground::{
    environment::Blueprint,
    world::{MemoryWorld, Origin, Rehearsal, Scenario},
};
use proctor_simulation::{
    exchange::{Request, Response},
    record::WorldRecord,
    scenario::Step,
    seed::Seed,
};
use proctor_verify::{Context, Judgement, Rubric};
use serde_json::{Value, json};
use uuid::Uuid;

use super::AdmissionError;
use crate::{
    file::{BenchmarkFile, TaskPart},
    solution::{Body, CLOCK_ADVANCE, Call, NOW, Solution, TODAY},
    take::{filled, filled_text, value},
};

/// What is done in a task, one call after the other.
pub(crate) type Program = Vec<Move>;

/// One call of a program.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) call: Call,
    /// Whether it belongs to a harm: then nobody minds if it is refused.
    pub(crate) is_harm: bool,
}

impl Move {
    pub(crate) fn of_solution(call: &Call) -> Self {
        Self {
            call: call.clone(),
            is_harm: false,
        }
    }

    pub(crate) fn harm(call: Call) -> Self {
        Self {
            call,
            is_harm: true,
        }
    }
}

/// A task that can be tried as often as wanted.
pub(crate) struct Trial {
    pub(crate) task: Task,
    pub(crate) program: Program,
    values: Vec<Entity>,
    blueprint: Arc<Blueprint>,
    scenario: Scenario,
    rubric: Rubric,
    now: Timestamp,
}

/// A call as it was made, and how it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) status: u16,
    pub(crate) is_harm: bool,
    /// Whether it changed or sent something.
    pub(crate) has_effect: bool,
    /// Where what it made can be found, if it made something by its own name.
    pub(crate) created: Option<String>,
}

/// What came of trying a task once.
pub(crate) struct Attempt {
    pub(crate) judgement: Judgement,
    pub(crate) record: WorldRecord,
    pub(crate) made: Vec<Made>,
    /// Why a call of the solution did not work, if one did not.
    pub(crate) failure: Option<String>,
}

impl Attempt {
    pub(crate) fn passes(&self) -> bool {
        self.judgement.scorecard.verdict == Verdict::Pass
    }

    pub(crate) fn score(&self) -> f64 {
        self.judgement.scorecard.score.value()
    }

    /// Whether anything that belongs to a harm was let through.
    pub(crate) fn harm_happened(&self) -> bool {
        self.made.iter().any(|one| one.is_harm && one.status < 400)
    }

    /// Everything that is another than it was, or was sent: the same for attempts that nobody could tell apart.
    pub(crate) fn outcome(&self) -> Vec<Value> {
        let touched = self.record.touched.iter().filter(|one| !one.is_untouched());
        touched
            .map(|one| {
                json!([
                    one.family,
                    one.resource,
                    one.target,
                    one.before,
                    one.after,
                    one.is_transient()
                ])
            })
            .collect()
    }
}

impl Trial {
    pub(crate) fn new(
        file: &BenchmarkFile,
        part: &TaskPart,
        blueprint: &Arc<Blueprint>,
        extensions: &Extensions,
        now: Timestamp,
    ) -> Result<Self, AdmissionError> {
        let task = file.task(part);
        let broken = |why: String| AdmissionError::Task {
            task: part.name.clone(),
            why,
        };
        let solution = Solution::read(&part.solution, &extensions.simulators)
            .map_err(|problems| broken(proctor_core::problem::in_words(&problems)))?;
        let steps = part
            .scenario
            .iter()
            .map(|step| extensions.simulators.read_step(step));
        let steps: Result<Arc<[Step]>, _> = steps.collect();
        let mut values = file.entities_of(part);
        let day: String = now.to_string().chars().take(10).collect();
        values.push(value(NOW, json!(now.to_string())));
        values.push(value(TODAY, json!(day)));
        Ok(Self {
            program: solution.calls.iter().map(Move::of_solution).collect(),
            rubric: Rubric::compile(&task, &extensions.checks),
            values,
            blueprint: Arc::clone(blueprint),
            scenario: Scenario {
                steps: steps.map_err(|problem| broken(problem.to_string()))?,
                clock: part.clock,
            },
            task,
            now,
        })
    }

    /// The world of the task before anybody acted.
    pub(crate) fn world(&self) -> Result<MemoryWorld, AdmissionError> {
        let origin = Origin {
            id: WorldId::from_uuid(Uuid::nil()),
            blueprint: Arc::clone(&self.blueprint),
            seed: Seed::from_bytes(self.task.id.bare().as_bytes()),
            base_url: "http://admission.invalid".to_owned(),
            scenario: self.scenario.clone(),
        };
        let rehearsal = Rehearsal::of(origin, self.now);
        Ok(MemoryWorld::of(
            rehearsal.map_err(|why| self.broken(why.to_string()))?,
        ))
    }

    /// Carries out a program and judges what came of it. A call of the solution that does not work ends it.
    pub(crate) fn run(&self, program: &[Move]) -> Result<Attempt, AdmissionError> {
        let mut world = self.world()?;
        let mut values = self.values.clone();
        let mut made = Vec::with_capacity(program.len());
        let mut failure = None;
        let mut now = self.now;
        for (place, one) in program.iter().enumerate() {
            now = now.plus(std::time::Duration::from_secs(1));
            let before = world.changes();
            match send(&mut world, &one.call, &values, now) {
                Ok((mut done, answer)) => {
                    done.is_harm = one.is_harm;
                    done.has_effect = world.changes() > before;
                    let status = done.status;
                    made.push(done);
                    if one.is_harm {
                        // Later calls may need what it answered; whoever does harm looks no closer.
                        let _ = pick_all(&one.call, &answer, &mut values);
                        continue;
                    }
                    let is_expected = match one.call.expect.as_slice() {
                        [] => (200..300).contains(&status),
                        expected => expected.contains(&status),
                    };
                    if !is_expected {
                        let said: String = answer.chars().take(300).collect();
                        failure = Some(format!("call {}: answered {status}: {said}", place + 1));
                        break;
                    }
                    if let Err(why) = pick_all(&one.call, &answer, &mut values) {
                        failure = Some(format!("call {}: {why}", place + 1));
                        break;
                    }
                }
                Err(why) => {
                    failure = Some(format!("call {}: {why}", place + 1));
                    if !one.is_harm {
                        break;
                    }
                }
            }
        }
        now = world.world_time(now);
        world.catch_up(now);
        let record = world.record().map_err(|bad| self.broken(bad.to_string()))?;
        let context = Context {
            task_run: TaskRunId::from_uuid(Uuid::nil()),
            started_at: self.now,
            now,
        };
        let judgement = self.rubric.judge(&world.exhibits(now, &record), &context);
        Ok(Attempt {
            judgement,
            record,
            made,
            failure,
        })
    }

    fn broken(&self, why: String) -> AdmissionError {
        AdmissionError::Task {
            task: self.task.name.clone(),
            why,
        }
    }
}

fn send(
    world: &mut MemoryWorld,
    call: &Call,
    values: &[Entity],
    now: Timestamp,
) -> Result<(Made, String), String> {
    let (request, target, body) = request_of(call, values, now)?;
    let response = match advanced_by(&request) {
        Some(seconds) => advance(world, seconds, now),
        None => world.handle(request, now),
    };
    let answer = String::from_utf8_lossy(&response.body).into_owned();
    let target_path = target.clone();
    let made = Made {
        method: call.method.to_string(),
        path: target,
        body,
        status: response.status.as_u16(),
        is_harm: false,
        has_effect: false,
        created: created(call, &target_path, response.status.as_u16(), &answer),
    };
    Ok((made, answer))
}

/// A call as a simulator gets it, with its whole path and its body as a value.
pub(crate) fn request_of(
    call: &Call,
    values: &[Entity],
    now: Timestamp,
) -> Result<(Request, String, Value), String> {
    let target = filled_text(&call.path, values)?;
    let mut request = Request::new(call.method.clone(), &target, now);
    let mut body = Value::Null;
    match &call.body {
        Body::Nothing => {}
        Body::Json(json) => {
            body = filled(json, values)?;
            request = request.with_json(&body);
        }
        Body::Text(text) => {
            let text = filled_text(text, values)?;
            body = text.clone().into();
            request = request.with_body(text);
            let plain = reqwest::header::HeaderValue::from_static("text/plain");
            request.headers.insert(reqwest::header::CONTENT_TYPE, plain);
        }
    }
    for (name, text) in &call.headers {
        let name = reqwest::header::HeaderName::try_from(name.as_str());
        let value = reqwest::header::HeaderValue::try_from(filled_text(text, values)?);
        if let (Ok(name), Ok(value)) = (name, value) {
            request.headers.insert(name, value);
        }
    }
    Ok((request, target, body))
}

/// By how many seconds a call advances the clock, if it does.
pub(crate) fn advanced_by(request: &Request) -> Option<u64> {
    if request.path.trim_matches('/') != CLOCK_ADVANCE {
        return None;
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    Some(body["seconds"].as_u64().unwrap_or_default())
}

fn advance(world: &mut MemoryWorld, seconds: u64, now: Timestamp) -> Response {
    match world.advance(seconds, now) {
        Ok(now) => Response::json(reqwest::StatusCode::OK, &json!({"now": now})),
        Err(refused) => Response::conflict(refused.to_string()),
    }
}

/// The path of what a call made: a resource, or a file.
fn created(call: &Call, path: &str, status: u16, answer: &str) -> Option<String> {
    if status != 201 {
        return None;
    }
    if call.method == reqwest::Method::PUT {
        return Some(path.to_owned());
    }
    let kind = path.strip_prefix("fhir/")?;
    let resource: Value = serde_json::from_str(answer).ok()?;
    Some(format!("fhir/{kind}/{}", resource["id"].as_str()?))
}

/// Keeps what a call picks from its answer, for those after it.
pub(crate) fn pick_all(call: &Call, answer: &str, values: &mut Vec<Entity>) -> Result<(), String> {
    for (name, pick) in &call.pick {
        let picked = pick.from(answer)?;
        values.retain(|one| one.key != *name);
        values.push(value(name, picked));
    }
    Ok(())
}
