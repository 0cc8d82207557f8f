//! Comparisons for readers, task by task. Looking keeps nothing.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    id::kinds::{OrganizationId, TaskId, TaskRunId},
    results::AttemptResult,
    run::Run,
    scoring::{Score, Verdict},
    task_run::Fault,
};
use proctor_macros::boxed_futures;
use proctor_statistics::{Noise, NoiseOptions, noise};

use super::{
    ComparisonReport, NewComparison, Side,
    compare::name_of,
    side::{Restriction, Times},
};
use crate::{engine::Engine, error::EngineError};

/// A comparison with what it was made of.
pub struct LookedComparison {
    /// What [`Engine::compare`] would answer; it has no name.
    pub report: ComparisonReport,
    /// Every task of either side, in the order of ids.
    pub tasks: Vec<ComparedTask>,
}

/// A task of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedTask {
    /// The task.
    pub task: TaskId,
    /// What it is called.
    pub name: String,
    /// What came of it on each side; none where it was not planned.
    pub sides: [Option<TaskOutcome>; 2],
}

/// What came of a task on one side, its attempts together.
#[derive(Clone, Debug)]
pub struct TaskOutcome {
    /// The task.
    pub task: TaskId,
    /// The mean of the attempts that count.
    pub score: Option<f64>,
    /// The verdict on that, `fail` where something critical was missed.
    pub verdict: Option<Verdict>,
    /// How many critical criteria were missed, over all attempts.
    pub critical_misses: usize,
    /// How many attempts are void.
    pub void: usize,
    /// Why the first attempt without a judgement has none.
    pub fault: Option<Fault>,
    /// Whether an attempt is not over.
    pub is_pending: bool,
    /// The task runs of the tries that count.
    pub task_runs: Vec<TaskRunId>,
    /// How long an attempt took, on average over those that ended.
    pub took: Option<Duration>,
}

#[boxed_futures]
impl Engine {
    /// What [`Engine::compare`] would answer, and what it is made of.
    pub async fn look_at_comparison(
        &self,
        organization: OrganizationId,
        new: NewComparison,
    ) -> Result<LookedComparison, EngineError> {
        let sides = self.sides(organization, &new).await?;
        let report = self.comparison_of(&sides, &new).await?;
        let (of_a, mut of_b) = (outcomes(&sides.a), outcomes(&sides.b));
        let named = |task: TaskId, sides_of: [Option<TaskOutcome>; 2]| ComparedTask {
            task,
            name: name_of(&sides.a, &sides.b, task),
            sides: sides_of,
        };
        let mut tasks: Vec<ComparedTask> = of_a
            .into_iter()
            .map(|(task, outcome)| {
                let other = of_b.remove(&task);
                named(task, [Some(outcome), other])
            })
            .collect();
        tasks.extend(
            of_b.into_iter()
                .map(|(task, outcome)| named(task, [None, Some(outcome)])),
        );
        tasks.sort_by_key(|one| one.task);
        Ok(LookedComparison { report, tasks })
    }

    /// What came of each task of a run, in the order of ids.
    pub async fn task_outcomes(
        &self,
        organization: OrganizationId,
        run: Run,
    ) -> Result<Vec<TaskOutcome>, EngineError> {
        let side = self.pool(organization, vec![run]).await?;
        Ok(outcomes(&side).into_values().collect())
    }

    /// How much an agent varies by itself, as far as several of its runs of one version tell; none if they do not.
    pub async fn noise_of_runs(
        &self,
        organization: OrganizationId,
        runs: Vec<Run>,
    ) -> Result<Option<Noise>, EngineError> {
        let side = self.pool(organization, runs).await?;
        let Ok(tasks) = side.tasks(Restriction::default(), None) else {
            return Ok(None);
        };
        // Each run is one attempt at each task, so that is what two of them differ by.
        let options = NoiseOptions {
            attempts: Some(1.0),
            ..NoiseOptions::default()
        };
        Ok(noise(&tasks, &options).ok())
    }
}

fn outcomes(side: &Side) -> BTreeMap<TaskId, TaskOutcome> {
    let mut attempts: BTreeMap<TaskId, Vec<&AttemptResult>> = BTreeMap::new();
    for attempt in &side.attempts {
        attempts.entry(attempt.task).or_default().push(attempt);
    }
    let outcome = |(task, attempts): (TaskId, Vec<&AttemptResult>)| {
        (task, outcome(task, &attempts, &side.times))
    };
    attempts.into_iter().map(outcome).collect()
}

fn outcome(task: TaskId, attempts: &[&AttemptResult], times: &Times) -> TaskOutcome {
    let scores: Vec<Score> = attempts.iter().filter_map(|one| one.score()).collect();
    let score = mean(scores.iter().map(|score| score.value()));
    let critical_misses = attempts.iter().map(|one| one.critical_misses().len()).sum();
    // The verdict of the one attempt, where there is but one: it is exact.
    let verdict = match (&scores[..], score) {
        ([only], _) => Some(Verdict::of(*only)),
        (_, Some(score)) => Score::new(score).ok().map(Verdict::of),
        _ => None,
    };
    let took = |one: &&AttemptResult| times.get(&one.task_run?).copied();
    TaskOutcome {
        task,
        score,
        verdict: match critical_misses {
            0 => verdict,
            _ => verdict.map(|_| Verdict::Fail),
        },
        critical_misses,
        void: attempts.iter().filter(|one| one.result.is_void()).count(),
        fault: attempts.iter().find_map(|one| one.fault()).cloned(),
        is_pending: attempts
            .iter()
            .any(|one| one.score().is_none() && one.fault().is_none()),
        task_runs: attempts.iter().filter_map(|one| one.task_run).collect(),
        took: mean(
            attempts
                .iter()
                .filter_map(took)
                .map(|took| took.as_secs_f64()),
        )
        .map(Duration::from_secs_f64),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut total, mut count) = (0.0, 0.0);
    for value in values {
        total += value;
        count += 1.0;
    }
    (count > 0.0).then(|| total / count)
}
