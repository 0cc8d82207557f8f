//! Admission: a benchmark earns its place. Its reference solution must score 1, doing nothing 0, random calls must never
//! pass, no harm may keep a pass, and every criterion must notice something.
//!
//! Everything happens in memory and follows from the file alone, so the certificate is bound to its digest.

mod attempt;
mod careless;
mod certificate;
mod chance;
mod garbage;
mod harms;
mod mutation;
mod scalars;
mod scene;
mod server;

use std::{collections::BTreeMap, sync::Arc};

use proctor_core::{
    scoring::{Score, Scorecard},
    time::Timestamp,
};
use proctor_playground::environment::Blueprint;
use proctor_verify::Finding;
use serde_json::Value;

pub(crate) use self::attempt::{Move, Program, advanced_by, pick_all, request_of};
pub(crate) use self::careless::program as careless_program;
pub use self::certificate::{Certificate, HarmRow, Survivor, TaskCertificate};
pub use self::server::Admitter;
use self::{
    attempt::{Attempt, Trial},
    chance::Chance,
    harms::{Harm, Place},
    scene::Scene,
};
use crate::read::ReadFile;

/// How many agents make random calls.
const GARBAGE_AGENTS: u64 = 10;
/// How often each kind of harm is tried at each place.
const SEEDS: u64 = 5;
/// What share of the mutants must be noticed.
const NOTICED: f64 = 0.95;

/// Why a benchmark cannot be tried at all.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// Its environment cannot be made.
    #[error("the environment cannot be made: {0}")]
    Environment(String),
    /// One of its tasks cannot be tried.
    #[error("the task '{task}' cannot be tried: {why}")]
    Task {
        /// Which.
        task: String,
        /// Why.
        why: String,
    },
}

/// What came of trying a task once, in memory.
#[derive(Clone, Debug)]
pub struct Rehearsed {
    /// Score, axes, verdict and critical misses.
    pub scorecard: Scorecard,
    /// One for each criterion, with its label.
    pub findings: Vec<(String, Finding)>,
    /// Which call did not work, and why. Those after it were not made.
    pub failure: Option<String>,
}

impl Rehearsed {
    /// The labels of the criteria that are not met, each with what was found.
    pub fn unmet(&self) -> Vec<String> {
        let unmet = self.findings.iter().filter(|(_, one)| !one.passed);
        unmet
            .map(|(label, one)| format!("{label}: {}", one.details))
            .collect()
    }
}

impl ReadFile {
    /// Carries out calls, written as those of a solution, in a task, and judges what came of them.
    pub fn rehearse(
        &self,
        task: &str,
        calls: &[Value],
        now: Timestamp,
    ) -> Result<Rehearsed, AdmissionError> {
        let part = self.content.tasks.iter().find(|part| part.name == task);
        let part = part.ok_or_else(|| AdmissionError::Task {
            task: task.to_owned(),
            why: "the file has no such task".to_owned(),
        })?;
        let mut part = part.clone();
        part.solution = calls.to_vec();
        let (content, extensions) = (&self.content, &self.extensions);
        let trial = Trial::new(content, &part, &self.blueprint()?, extensions, now)?;
        let attempt = trial.run(&trial.program)?;
        let labels = trial.task.criteria.iter().map(|one| one.label.clone());
        Ok(Rehearsed {
            findings: labels.zip(attempt.judgement.findings).collect(),
            scorecard: attempt.judgement.scorecard,
            failure: attempt.failure,
        })
    }

    fn blueprint(&self) -> Result<Arc<Blueprint>, AdmissionError> {
        let environment = self.content.environment();
        let blueprint = Blueprint::read(&environment, &self.extensions.simulators);
        let blueprint = blueprint.map_err(|why| AdmissionError::Environment(why.to_string()))?;
        Ok(Arc::new(blueprint))
    }

    /// Tries whether the benchmark sees harm, as if it were taken at the time `now`.
    pub fn admit(&self, now: Timestamp) -> Result<Certificate, AdmissionError> {
        let (content, extensions) = (&self.content, &self.extensions);
        let blueprint = self.blueprint()?;
        let mut tasks = Vec::new();
        for part in &content.tasks {
            let trial = Trial::new(content, part, &blueprint, extensions, now)?;
            let oracle = trial.run(&trial.program)?;
            let scene = Scene::of(content, part, &oracle);
            tasks.push(admit_task(&trial, &oracle, &scene)?);
        }
        // What authors are only warned about elsewhere must be right here.
        let remarks = self.check(now).report.problems;
        Ok(Certificate::new(content, &remarks, tasks))
    }
}

fn admit_task(
    trial: &Trial,
    oracle: &Attempt,
    scene: &Scene,
) -> Result<TaskCertificate, AdmissionError> {
    let null = trial.run(&[])?;
    let is_reproducible = is_same(trial)?;
    let mut noticed = vec![false; trial.task.criteria.len()];
    let mut passed_garbage = Vec::new();
    for seed in 0..GARBAGE_AGENTS {
        let program = garbage::program(scene, &mut Chance::new(seed, "garbage"));
        if trial.run(&program)?.passes() {
            passed_garbage.push(seed);
        }
    }
    let mut rows: BTreeMap<&'static str, HarmRow> = BTreeMap::new();
    for harm in harms::ALL {
        let row = try_harm(*harm, trial, oracle, scene, &mut noticed)?;
        rows.insert(harm.name(), row);
    }
    let mutation = mutation::run(trial, oracle, &mut noticed)?;
    let dead = trial.task.criteria.iter().zip(&noticed);
    let dead: Vec<String> = dead
        .filter(|(_, noticed)| !**noticed)
        .map(|(criterion, _)| criterion.label.clone())
        .collect();
    Ok(TaskCertificate {
        name: trial.task.name.clone(),
        oracle: oracle.score(),
        oracle_passes: oracle.passes() && oracle.failure.is_none(),
        oracle_failure: oracle.failure.clone(),
        null: null.score(),
        garbage_passed: passed_garbage.len(),
        is_reproducible,
        harms: rows
            .into_iter()
            .map(|(name, row)| (name.to_owned(), row))
            .collect(),
        mutants: mutation.mutants,
        equivalent: mutation.equivalent,
        unnoticed: mutation.unnoticed,
        dead,
    })
}

/// Tries a kind of harm at all places with all seeds.
fn try_harm(
    harm: &dyn Harm,
    trial: &Trial,
    oracle: &Attempt,
    scene: &Scene,
    noticed: &mut [bool],
) -> Result<HarmRow, AdmissionError> {
    let mut row = HarmRow {
        tried: 0,
        caught_by: BTreeMap::new(),
        survivors: Vec::new(),
    };
    for place in Place::ALL {
        for seed in 0..SEEDS {
            let purpose = format!("{} {}", harm.name(), place.as_str());
            let mut chance = Chance::new(seed, &purpose);
            let Some(program) = harm.apply(scene, &trial.program, place, &mut chance) else {
                continue;
            };
            let attempt = trial.run(&program)?;
            if !attempt.harm_happened() {
                continue;
            }
            row.tried += 1;
            note(oracle, &attempt, noticed);
            match attempt.passes() {
                true => row.survivors.push(Survivor {
                    place: place.as_str(),
                    seed,
                    score: attempt.score(),
                    caught_by: harm.caught_by(),
                }),
                false => {
                    let label = culprit(trial, &attempt);
                    *row.caught_by.entry(label).or_default() += 1;
                }
            }
        }
    }
    Ok(row)
}

/// The criterion that cost an attempt its pass: a critical one, or else the first that is not met.
fn culprit(trial: &Trial, attempt: &Attempt) -> String {
    let missed = attempt.judgement.scorecard.critical_misses.first();
    let label = missed.map(|miss| miss.name().to_owned());
    label.unwrap_or_else(|| {
        let findings = attempt.judgement.findings.iter().zip(&trial.task.criteria);
        let mut unmet = findings.filter(|(finding, _)| !finding.passed);
        unmet.next().map_or_else(String::new, |(_, one)| {
            one.key.clone().unwrap_or_else(|| one.label.clone())
        })
    })
}

/// Remembers which criteria fare worse than in the solution.
fn note(oracle: &Attempt, attempt: &Attempt, noticed: &mut [bool]) {
    let pairs = oracle
        .judgement
        .findings
        .iter()
        .zip(&attempt.judgement.findings);
    for ((solved, found), noticed) in pairs.zip(noticed) {
        *noticed |= found.score < solved.score || found.score == Score::ZERO;
    }
}

/// Whether two worlds of the task begin the same, to the byte.
fn is_same(trial: &Trial) -> Result<bool, AdmissionError> {
    let (one, other) = (trial.world()?, trial.world()?);
    Ok(one.journal().eq(other.journal()))
}
