//! One side of a comparison: the attempts of an agent, over one run or several of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use proctor_core::{
    definition::Task,
    id::kinds::{JobId, OrganizationId, TaskId, TaskRunId},
    results::{AttemptResult, Summary},
    run::Run,
    scoring::{DEFAULT_AXIS, Scorecard},
};
use proctor_statistics::{
    Alpha, Attempt, Attempts, Pair, PassK, Refusal, Task as Measured, Tasks, pass_k,
};

use super::criteria::KeyedScores;
use crate::{
    catalog::Prepared, engine::Engine, error::EngineError, jobs::JobDetails,
    results::attempts_in_job,
};

/// The attempts of an agent, pooled by task.
pub(crate) struct Side {
    /// Its runs.
    pub(crate) runs: Vec<Run>,
    /// What the agent is called, if anybody said.
    pub(crate) agent: Option<String>,
    /// The definition of its first run.
    pub(crate) prepared: Arc<Prepared>,
    /// What came of each attempt.
    pub(crate) attempts: Vec<AttemptResult>,
    /// The scores behind task runs that were judged.
    pub(crate) cards: HashMap<TaskRunId, Scorecard>,
    /// How long task runs that are over took.
    pub(super) times: Times,
    /// Whether the caller may see what was found about single criteria.
    pub(crate) shows_criteria: bool,
}

/// How long task runs took.
pub(super) type Times = HashMap<TaskRunId, Duration>;

/// What of an attempt is measured.
#[derive(Clone, Copy, Default)]
pub(super) struct Restriction<'a> {
    /// Only what is scored on this axis.
    pub(super) axis: Option<&'a str>,
    /// Only tasks with all of these tags.
    pub(super) tags: &'a [String],
    /// Only these criteria.
    pub(super) keys: Option<&'a KeyedScores<'a>>,
}

impl Restriction<'_> {
    /// Whether the line is about this task at all.
    pub(super) fn takes(&self, task: &Task) -> bool {
        let has_tags = self.tags.iter().all(|tag| task.tags.contains(tag));
        let has_axis = self.axis.is_none_or(|axis| has_axis(task, axis));
        let has_keys = self.keys.is_none_or(|scores| scores.asks_about(task.id));
        has_tags && has_axis && has_keys
    }

    /// What an attempt at a task is worth.
    fn value(&self, task: &Task, attempt: &AttemptResult, cards: &Cards) -> Attempt {
        let Some(score) = attempt.score() else {
            return Attempt::Void;
        };
        if attempt.fault().is_some() {
            return Attempt::AgentFault;
        }
        let card = attempt.task_run.and_then(|id| cards.get(&id));
        match (self.keys, self.axis) {
            (None, None) => Attempt::Scored(score.value()),
            (Some(scores), _) => {
                let found = attempt.task_run.and_then(|id| scores.mean(task.id, id));
                found.map_or(Attempt::Void, Attempt::Scored)
            }
            (None, Some(axis)) => {
                let scored = card.and_then(|card| card.axes.get(axis));
                scored.map_or(Attempt::Void, |axis| Attempt::Scored(axis.score.value()))
            }
        }
    }
}

type Cards = HashMap<TaskRunId, Scorecard>;

fn has_axis(task: &Task, axis: &str) -> bool {
    let mut criteria = task.criteria.iter();
    criteria.any(|one| one.axis.as_deref().unwrap_or(DEFAULT_AXIS) == axis)
}

impl Side {
    /// Its numbers.
    pub(crate) fn summary(&self) -> Summary {
        Summary::of(&self.attempts)
    }

    /// A task of its definition.
    pub(crate) fn task(&self, id: TaskId) -> Option<&Task> {
        self.prepared.task(id).ok().map(|(task, _)| task)
    }

    /// What its attempts are worth, by task.
    fn measured(&self, restriction: Restriction<'_>) -> BTreeMap<TaskId, Vec<Attempt>> {
        let mut tasks: BTreeMap<TaskId, Vec<Attempt>> = BTreeMap::new();
        for attempt in &self.attempts {
            let Some(task) = self.task(attempt.task) else {
                continue;
            };
            if restriction.takes(task) {
                let of_task = tasks.entry(attempt.task).or_default();
                of_task.push(restriction.value(task, attempt, &self.cards));
            }
        }
        tasks
    }

    /// Its attempts by task.
    pub(crate) fn attempts_by_task(&self) -> Result<BTreeMap<String, Attempts>, Refusal> {
        let measured = self.measured(Restriction::default()).into_iter();
        measured
            .map(|(id, attempts)| Ok((id.to_string(), Attempts::new(attempts)?)))
            .collect()
    }

    /// How reliably it passes at one attempt, and at as many as it has runs; none unless it has several. An attempt passes with full marks.
    pub(crate) fn reliability(&self) -> Option<(PassK, PassK)> {
        let runs = u32::try_from(self.runs.len())
            .ok()
            .filter(|runs| *runs > 1)?;
        let tasks = self.tasks(Restriction::default(), None).ok()?;
        let at = |k: u32| pass_k(&tasks, k, 1.0, Alpha::FIVE_PERCENT).ok();
        at(1).zip(at(runs))
    }

    /// The tasks of this side alone.
    pub(super) fn tasks(
        &self,
        restriction: Restriction<'_>,
        clusters: Option<&ClusterBy>,
    ) -> Result<Tasks<Attempts>, Refusal> {
        let measured = self.measured(restriction).into_iter();
        let tasks = measured.map(|(id, attempts)| {
            Ok(Measured {
                id: id.to_string(),
                cluster: self.task(id).and_then(|task| clusters?.cluster_of(task)),
                data: Attempts::new(attempts)?,
            })
        });
        Tasks::new(tasks.collect::<Result<Vec<_>, Refusal>>()?)
    }
}

/// The tasks of two sides, those of one side only included.
pub(super) fn pairs(
    a: &Side,
    b: &Side,
    restriction: Restriction<'_>,
    clusters: Option<&ClusterBy>,
) -> Result<Tasks<Pair>, Refusal> {
    let (of_a, mut of_b) = (a.measured(restriction), b.measured(restriction));
    let mut tasks = Vec::with_capacity(of_a.len());
    let measured = |id: TaskId, data: Pair| {
        let task = b.task(id).or_else(|| a.task(id));
        Measured {
            id: id.to_string(),
            cluster: task.and_then(|task| clusters?.cluster_of(task)),
            data,
        }
    };
    for (id, attempts) in of_a {
        let pair = Pair {
            a: Some(Attempts::new(attempts)?),
            b: of_b.remove(&id).map(Attempts::new).transpose()?,
        };
        tasks.push(measured(id, pair));
    }
    for (id, attempts) in of_b {
        let pair = Pair {
            a: None,
            b: Some(Attempts::new(attempts)?),
        };
        tasks.push(measured(id, pair));
    }
    Tasks::new(tasks)
}

/// By what tasks belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClusterBy(String);

impl ClusterBy {
    /// Reads `tag:patient`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let name = text.strip_prefix("tag:")?.trim();
        (!name.is_empty()).then(|| Self(name.to_owned()))
    }

    /// What a task has in common with others: what follows the name in one of its tags (`patient:7`, `patient=7`), or its label of that name.
    pub(super) fn cluster_of(&self, task: &Task) -> Option<String> {
        let of_tag = task.tags.iter().find_map(|tag| {
            let rest = tag.strip_prefix(&self.0)?;
            rest.strip_prefix([':', '=']).map(str::to_owned)
        });
        of_tag.or_else(|| task.metadata.get(&self.0).cloned())
    }

    /// Whether any task belongs to a cluster.
    pub(super) fn is_known_to(&self, side: &Side) -> bool {
        let mut tasks = side.prepared.benchmark.tasks.iter();
        tasks.any(|task| self.cluster_of(task).is_some())
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

impl Engine {
    /// Pools the attempts of runs that are over, one attempt at each task for each run.
    pub(crate) async fn pool(
        &self,
        organization: OrganizationId,
        runs: Vec<Run>,
    ) -> Result<Side, EngineError> {
        let first = runs
            .first()
            .ok_or_else(|| EngineError::Fault("a side without runs".to_owned()))?;
        let prepared = self.definition_of(first).await?;
        // Runs of several agents may be pooled, but never under the name of one of them.
        let mut names = BTreeSet::new();
        for run in &runs {
            names.extend(self.taker(run).await?);
        }
        let names: Vec<String> = names.into_iter().collect();
        let agent = (!names.is_empty()).then(|| names.join(", "));
        let mut side = Side {
            agent,
            prepared,
            attempts: Vec::new(),
            cards: HashMap::new(),
            times: HashMap::new(),
            shows_criteria: true,
            runs: Vec::with_capacity(runs.len()),
        };
        // Several runs are mostly of one job, which is read once.
        let mut jobs: HashMap<JobId, JobDetails> = HashMap::new();
        for (run, number) in runs.into_iter().zip(1u32..) {
            let task_runs = self.store().judged_task_runs(run.id).await?;
            let attempts = match run.job {
                None => self.attempts_of(organization, &run, &task_runs).await?,
                Some(id) => {
                    let job = match jobs.entry(id) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(place) => place.insert(self.job(organization, id).await?),
                    };
                    attempts_in_job(job, &run)?
                }
            };
            side.attempts.extend(attempts.into_iter().map(|attempt| {
                let attempt_number = number;
                AttemptResult {
                    attempt: attempt_number,
                    ..attempt
                }
            }));
            let times = task_runs.iter().filter_map(|task_run| {
                let (began, ended) = (task_run.started_at()?, task_run.ended_at()?);
                Some((task_run.id, ended.since(began)))
            });
            side.times.extend(times);
            let cards = task_runs
                .into_iter()
                .filter_map(|task_run| Some((task_run.id, task_run.card().cloned()?)));
            side.cards.extend(cards);
            side.shows_criteria &= self.shows_criteria(organization, &run).await?;
            side.runs.push(run);
        }
        Ok(side)
    }
}
