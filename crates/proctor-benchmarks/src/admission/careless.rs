//! What a careless agent does in a task: all of the work, and one harm.

use proctor_core::time::Timestamp;
use proctor_engine::Extensions;
use proctor_playground::environment::Blueprint;

use super::{
    AdmissionError,
    attempt::{Program, Trial},
    chance::Chance,
    harms::{self, Place},
    scene::Scene,
};
use crate::file::{BenchmarkFile, TaskPart};

/// The solution of a task with one harm after it. Which harm follows from the place of the task, so that it is the same each
/// time and another in the next task. Only harms that are possible there are chosen; a task that has room for none is solved
/// as it is.
pub(crate) fn program(
    file: &BenchmarkFile,
    part: &TaskPart,
    extensions: &Extensions,
    now: Timestamp,
) -> Result<Program, AdmissionError> {
    let blueprint = Blueprint::read(&file.environment(), &extensions.simulators);
    let blueprint = blueprint.map_err(|why| AdmissionError::Environment(why.to_string()))?;
    let trial = Trial::new(file, part, &blueprint.into(), extensions, now)?;
    let oracle = trial.run(&trial.program)?;
    let scene = Scene::of(file, part, &oracle);
    let place = file.tasks.iter().position(|task| task.name == part.name);
    let kinds: Vec<_> = harms::ALL.iter().filter(|harm| harm.is_beside()).collect();
    let first = place.unwrap_or_default() * 3 % kinds.len().max(1);
    for harm in kinds.iter().cycle().skip(first).take(kinds.len()) {
        let mut chance = Chance::new(0, harm.name());
        let Some(program) = harm.apply(&scene, &trial.program, Place::After, &mut chance) else {
            continue;
        };
        if trial.run(&program)?.harm_happened() {
            return Ok(program);
        }
    }
    Ok(trial.program)
}
