//! How hard tasks are and how well they tell agents apart, as far as runs show it.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use proctor_core::{
    canonical::Digest,
    id::kinds::{BenchmarkId, TaskId},
    run::{Run, RunStatus},
};
use proctor_store::{
    page::{PageRequest, PageStart},
    run_lists::RunFilter,
};

use crate::{
    error::PageError,
    html::Mark,
    pages::{
        compare::sides::{mark, outcomes},
        runs::{RunRow, rows},
    },
    session::Visitor,
    state::WebState,
};

/// How many runs are looked at.
const MOST_RUNS: usize = 20;
/// How many task runs are looked at altogether.
const MOST_TASK_RUNS: usize = 60_000;

/// What runs of one version show about its tasks.
pub(super) struct TaskStatistics {
    pub(super) runs: Vec<RunRow>,
    pub(super) agents: usize,
    pub(super) tasks: HashMap<TaskId, TaskFigures>,
}

/// What runs show about a task.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskFigures {
    /// The mean over agents.
    pub(super) mean: Option<f64>,
    /// The correlation of an agent's score here and on all other tasks; none with fewer than three agents.
    pub(super) discrimination: Option<f64>,
    /// The share of attempts that are void.
    pub(super) void_rate: f64,
    pub(super) median_time: Option<Duration>,
    /// How many attempts counted, and how many passed.
    pub(super) counted: usize,
    pub(super) passed: usize,
    /// How many runs missed something critical.
    pub(super) critical: usize,
}

impl TaskFigures {
    /// The class of the tag that says so.
    pub(super) fn flag_class(&self) -> &'static str {
        match self.passed {
            0 => "fail",
            _ => "cancelled",
        }
    }

    /// What is odd about the task, in words.
    pub(super) fn flag(&self) -> Option<&'static str> {
        match (self.passed, self.counted) {
            (_, 0 | 1) => None,
            (0, _) => Some("nobody passes"),
            (passed, counted) if passed == counted => Some("everybody passes"),
            _ => None,
        }
    }
}

/// The newest completed runs of a frozen definition that the visitor may see, and what they show.
pub(super) async fn statistics(
    state: &WebState,
    visitor: &Visitor,
    benchmark: BenchmarkId,
    digest: Digest,
    tasks: usize,
) -> Result<TaskStatistics, PageError> {
    let filter = RunFilter {
        benchmark: Some(benchmark),
        solver: visitor.solver(),
        statuses: Some(vec![RunStatus::Completed]),
        ..RunFilter::default()
    };
    let most = (MOST_TASK_RUNS / tasks.max(1)).clamp(2, MOST_RUNS);
    let request = PageRequest {
        limit: u32::try_from(most * 2).unwrap_or(u32::MAX),
        from: PageStart::Newest,
        count: false,
    };
    let found = state
        .store()
        .find_runs(visitor.organization(), &filter, request)
        .await?;
    let runs: Vec<Run> = found
        .items
        .into_iter()
        .filter(|run| run.pinned.digest == digest)
        .take(most)
        .collect();
    let runs = rows(state, runs).await?;
    let mut seen: HashMap<TaskId, Seen> = HashMap::new();
    // The mean of an agent on a task is over its runs.
    let mut scores: BTreeMap<&str, HashMap<TaskId, (f64, usize)>> = BTreeMap::new();
    for row in &runs {
        for outcome in outcomes(state, &row.run).await?.iter() {
            let of_task = seen.entry(outcome.task).or_default();
            of_task.attempts += 1;
            of_task.void += usize::from(outcome.score.is_none());
            of_task.critical += usize::from(outcome.critical_misses > 0);
            of_task.times.extend(outcome.took);
            if let Some(score) = outcome.score {
                of_task.counted += 1;
                of_task.passed += usize::from(mark(outcome) == Mark::Pass);
                let of_agent = scores.entry(row.taker.as_str()).or_default();
                let sum = of_agent.entry(outcome.task).or_default();
                *sum = (sum.0 + score, sum.1 + 1);
            }
        }
    }
    let agents: Vec<HashMap<TaskId, f64>> = scores
        .into_values()
        .map(|tasks| {
            let means = tasks.into_iter();
            means
                .map(|(task, (sum, count))| (task, sum / count as f64))
                .collect()
        })
        .collect();
    let totals: Vec<(f64, usize)> = agents
        .iter()
        .map(|tasks| (tasks.values().sum(), tasks.len()))
        .collect();
    let tasks = seen
        .into_iter()
        .map(|(task, seen)| (task, figures(task, seen, &agents, &totals)))
        .collect();
    Ok(TaskStatistics {
        agents: agents.len(),
        tasks,
        runs,
    })
}

#[derive(Default)]
struct Seen {
    attempts: usize,
    void: usize,
    counted: usize,
    passed: usize,
    critical: usize,
    times: Vec<Duration>,
}

fn figures(
    task: TaskId,
    mut seen: Seen,
    agents: &[HashMap<TaskId, f64>],
    totals: &[(f64, usize)],
) -> TaskFigures {
    let pairs: Vec<(f64, f64)> = agents
        .iter()
        .zip(totals)
        .filter_map(|(tasks, (total, count))| {
            let own = *tasks.get(&task)?;
            let rest = (*count > 1).then(|| (total - own) / (*count as f64 - 1.0))?;
            Some((own, rest))
        })
        .collect();
    let means: Vec<f64> = agents
        .iter()
        .filter_map(|one| one.get(&task).copied())
        .collect();
    seen.times.sort_unstable();
    TaskFigures {
        mean: (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64),
        discrimination: correlation(&pairs),
        void_rate: seen.void as f64 / seen.attempts.max(1) as f64,
        median_time: seen.times.get(seen.times.len() / 2).copied(),
        counted: seen.counted,
        passed: seen.passed,
        critical: seen.critical,
    }
}

/// Pearson's correlation of at least three pairs; none where one side does not vary.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let count = pairs.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        xy += (a - x) * (b - y);
        xx += (a - x) * (a - x);
        yy += (b - y) * (b - y);
    }
    (xx > 1e-12 && yy > 1e-12).then(|| (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::correlation;

    #[test]
    fn a_correlation_needs_three_agents_that_differ() {
        assert_eq!(correlation(&[(0.0, 0.0), (1.0, 1.0)]), None);
        assert_eq!(correlation(&[(1.0, 0.1), (1.0, 0.5), (1.0, 0.9)]), None);
        let found = correlation(&[(0.0, 0.1), (0.5, 0.5), (1.0, 0.9)]).unwrap();
        assert!((found - 1.0).abs() < 1e-12);
        let found = correlation(&[(1.0, 0.1), (0.5, 0.5), (0.0, 0.9)]).unwrap();
        assert!((found + 1.0).abs() < 1e-12);
    }
}
