//! The oracle of a server's jobs: replays the solution of a frozen task in its live world.

use async_trait::async_trait;
use proctor_core::{definition::Task, environment::Entity, time::Timestamp};
use proctor_engine::{Extensions, oracle::Oracle};
use proctor_playground::world::World;
use serde_json::{Value, json};

use crate::{
    admission::{advanced_by, pick_all, request_of},
    solution::{Call, NOW, Solution, TODAY},
    take::value,
};

/// How much of an answer is told that was not expected.
const TOLD: usize = 600;

/// Replays solutions in the worlds of a server's jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replayer;

#[async_trait]
impl Oracle for Replayer {
    async fn solve(
        &self,
        world: &World,
        task: &Task,
        started_at: Timestamp,
        extensions: &Extensions,
    ) -> Result<(), String> {
        let Value::Array(written) = &task.reference else {
            return Err("the task has no solution".to_owned());
        };
        let solution = Solution::read(written, &extensions.simulators)
            .map_err(|problems| proctor_core::problem::in_words(&problems))?;
        let day: String = started_at.to_string().chars().take(10).collect();
        let mut values = task.entities.clone();
        values.push(value(NOW, json!(started_at.to_string())));
        values.push(value(TODAY, json!(day)));
        for (number, call) in (1_usize..).zip(&solution.calls) {
            let failed = |why: String| {
                let (method, path) = (&call.method, &call.path);
                format!("the solution, call {number} ({method} {path}): {why}")
            };
            let answer = carry_out(world, call, &values, started_at).await;
            let answer = answer.map_err(failed)?;
            pick_all(call, &answer, &mut values).map_err(failed)?;
        }
        Ok(())
    }
}

/// Makes one call, and gives the text of its answer.
async fn carry_out(
    world: &World,
    call: &Call,
    values: &[Entity],
    now: Timestamp,
) -> Result<String, String> {
    // The world sets the time of a request itself.
    let (request, ..) = request_of(call, values, now)?;
    if let Some(seconds) = advanced_by(&request) {
        let now = world.advance(seconds).await;
        let now = now.map_err(|refused| refused.to_string())?;
        return Ok(json!({"now": now}).to_string());
    }
    let blueprint = &world.origin().blueprint;
    let Some(door) = blueprint.door_of_path(&request.path) else {
        return Err(format!("no simulator answers at /{}", request.path));
    };
    let answer = world.handle(door, request).await;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let status = answer.status.as_u16();
    let is_expected = match call.expect.as_slice() {
        [] => answer.status.is_success(),
        expected => expected.contains(&status),
    };
    match is_expected {
        true => Ok(text),
        false => {
            let said: String = text.chars().take(TOLD).collect();
            Err(format!("answered {status}: {said}"))
        }
    }
}
