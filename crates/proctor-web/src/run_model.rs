//! A run with everything its pages show, computed once: task runs with their marks, why points were lost, our own numbers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use proctor_core::{
    criterion_run,
    definition::{Criterion, Task},
    id::kinds::{CriterionId, RunId, TaskId, TaskRunId},
    results::{AttemptResult, Summary},
    run::{Ending, Run, RunState},
    task_run::{Cause, TaskRun, TaskRunStatus},
    time::Timestamp,
};
use proctor_engine::catalog::Prepared;
use proctor_store::comparisons::CriterionScore;

use crate::{error::PageError, html::Mark, session::Visitor, state::WebState};

/// A run with everything its pages show.
pub struct RunModel {
    /// The run.
    pub run: Run,
    /// The definition that it pins.
    pub prepared: Arc<Prepared>,
    /// Who takes it.
    pub taker: String,
    /// What is taken: `slug@version`, or the name of a draft.
    pub benchmark: String,
    /// Its task runs, and the tasks that have none, in the order of the tasks.
    pub rows: Vec<TaskRow>,
    /// Our own numbers: void is left out and counted.
    pub summary: Summary,
    /// Why points were lost, what cost most first.
    pub losses: Vec<Loss>,
    /// Whether the visitor may see evidence, events and expected values.
    pub shows_evidence: bool,
}

/// A task run, or a task that nobody began.
pub struct TaskRow {
    /// The place of the row, counted from 1.
    pub place: usize,
    /// The task run, if there is one.
    pub id: Option<TaskRunId>,
    /// The task.
    pub task: TaskId,
    /// What people call the task.
    pub name: String,
    /// What became of it.
    pub mark: Mark,
    /// Its score, if it has one that counts.
    pub score: Option<f64>,
    /// Why it ended without a judgement, in words.
    pub why: Option<String>,
    /// What each criterion scored, in the order of the definition.
    pub cells: Vec<Cell>,
    /// How many critical criteria were missed.
    pub critical_misses: usize,
    /// When the agent began.
    pub started: Option<Timestamp>,
    /// How long it took.
    pub took: Option<Duration>,
}

/// How many criteria are marked in a table.
const STRIP: usize = 24;

impl TaskRow {
    /// The criteria that are marked in a table.
    pub fn strip(&self) -> &[Cell] {
        &self.cells[..self.cells.len().min(STRIP)]
    }

    /// How many further criteria there are.
    pub fn more_cells(&self) -> usize {
        self.cells.len().saturating_sub(STRIP)
    }
}

/// What a criterion scored in a task run.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The criterion.
    pub criterion: CriterionId,
    /// The share that holds.
    pub score: f64,
    /// Whether it counts 0 only because another one is not met.
    pub is_held_back: bool,
}

/// Task runs that lost points on a criterion for the same reason.
pub struct Loss {
    /// What people call the criterion. Tasks have criteria of their own, which are one to the reader if they are called the same.
    pub label: String,
    /// Whether missing it fails the task.
    pub is_critical: bool,
    /// What was found, in the words of the first of them.
    pub details: String,
    /// The rows, by place.
    pub places: Vec<usize>,
    /// How much weight was lost altogether.
    pub weight: f64,
}

/// How many task runs have each mark.
pub type Counts = BTreeMap<Mark, usize>;

impl RunModel {
    /// Reads a run that the visitor may see.
    pub async fn load(
        state: &WebState,
        visitor: &Visitor,
        id: RunId,
    ) -> Result<Arc<Self>, PageError> {
        let store = state.store();
        let missing = || PageError::not_found("run");
        let found = store.run(id).await?.map(|found| found.value);
        let run = found.filter(|run| visitor.sees(run)).ok_or_else(missing)?;
        let shows_evidence = shows_evidence(state, visitor, &run).await?;
        if let Some(known) = state.known_run(&run, shows_evidence) {
            return Ok(known);
        }
        let (run, task_runs) = match run.is_over() {
            true => {
                let task_runs = store.judged_task_runs(id).await?;
                (run, task_runs)
            }
            // Whoever looks at a run that goes on sees clocks that ran out.
            false => {
                let details = state.engine().run_details(id).await?;
                (details.run, details.task_runs)
            }
        };
        let prepared = state.engine().definition_of(&run).await?;
        let scores = match shows_evidence {
            true => store.criterion_scores(id).await?,
            false => Vec::new(),
        };
        let model = Self {
            taker: taker(state, &run).await?,
            benchmark: benchmark_name(state, &run, &prepared).await?,
            summary: summary(state, visitor, &run, &task_runs, &prepared).await?,
            ..assemble(run, prepared, &task_runs, &scores, shows_evidence)
        };
        let model = Arc::new(model);
        state.remember_run(&model);
        Ok(model)
    }

    /// How many rows have each mark.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        for row in &self.rows {
            *counts.entry(row.mark).or_default() += 1;
        }
        counts
    }

    /// How many rows have this mark.
    pub fn count(&self, mark: Mark) -> usize {
        self.rows.iter().filter(|row| row.mark == mark).count()
    }

    /// The verdict on the run, if it has one.
    pub fn mark(&self) -> Mark {
        mark_of_run(&self.run)
    }

    /// What the run is called on its own page.
    pub fn title(&self) -> String {
        match &self.run.particulars.name {
            Some(name) if !name.is_empty() => name.clone(),
            _ => self.taker.clone(),
        }
    }
}

/// The verdict on a run.
pub fn mark_of_run(run: &Run) -> Mark {
    match &run.state {
        RunState::Created => Mark::Waiting,
        RunState::Started { .. } => Mark::Running,
        RunState::Ended { ending, .. } => match ending {
            Ending::Completed { card } => card.verdict.into(),
            Ending::Cancelled { .. } => Mark::Cancelled,
            Ending::Failed { cause } => match cause.is_void() {
                true => Mark::Void,
                false => Mark::Fail,
            },
        },
    }
}

/// Whether a visitor may see evidence, events and expected values of a run.
pub async fn shows_evidence(
    state: &WebState,
    visitor: &Visitor,
    run: &Run,
) -> Result<bool, PageError> {
    if !run.scored {
        return Ok(true);
    }
    if visitor.solver().is_some() {
        return Ok(false);
    }
    let owner = state
        .store()
        .owner_of_benchmark(run.pinned.benchmark)
        .await?;
    Ok(owner == Some(visitor.organization()))
}

/// Who takes a run: in its own words, or by its Solver's name.
pub async fn taker(state: &WebState, run: &Run) -> Result<String, PageError> {
    if let Some(agent) = &run.agent {
        return Ok(agent.clone());
    }
    let alias = match run.solver {
        None => None,
        Some(solver) => state.store().solver(run.organization, solver).await?,
    };
    let alias = alias.map(|solver| solver.profile.alias);
    Ok(alias
        .or_else(|| run.particulars.name.clone())
        .unwrap_or_else(|| "unnamed agent".to_owned()))
}

async fn benchmark_name(
    state: &WebState,
    run: &Run,
    prepared: &Prepared,
) -> Result<String, PageError> {
    let Some(version) = run.pinned.version else {
        return Ok(prepared.benchmark.name.clone());
    };
    let versions = state
        .store()
        .benchmark_versions(run.pinned.benchmark)
        .await?;
    let found = versions.iter().find(|one| one.version == version);
    Ok(found.map_or_else(
        || prepared.benchmark.name.clone(),
        |one| format!("{}@{version}", one.slug.as_str()),
    ))
}

async fn summary(
    state: &WebState,
    visitor: &Visitor,
    run: &Run,
    task_runs: &[TaskRun],
    prepared: &Prepared,
) -> Result<Summary, PageError> {
    if let Some(summary) = run.own_numbers() {
        return Ok(summary.clone());
    }
    if run.job.is_some() {
        let results = state
            .engine()
            .run_results(visitor.organization(), run.id)
            .await?;
        if let Some(agent) = results.agents.into_iter().next() {
            return Ok(agent.summary);
        }
    }
    let wanted = run.wanted(&prepared.benchmark);
    let pending = proctor_core::results::TryResult::Pending;
    let attempts: Vec<AttemptResult> = run.attempts(task_runs, wanted, &pending);
    Ok(Summary::of(&attempts))
}

fn assemble(
    run: Run,
    prepared: Arc<Prepared>,
    task_runs: &[TaskRun],
    scores: &[CriterionScore],
    shows_evidence: bool,
) -> RunModel {
    let mut of_task_run: HashMap<TaskRunId, Vec<&CriterionScore>> = HashMap::new();
    for score in scores {
        of_task_run.entry(score.task_run).or_default().push(score);
    }
    let mut of_task: HashMap<TaskId, Vec<&TaskRun>> = HashMap::new();
    for task_run in task_runs {
        of_task.entry(task_run.task).or_default().push(task_run);
    }
    let mut rows = Vec::new();
    let mut losses: BTreeMap<(String, String), Loss> = BTreeMap::new();
    for task in run.wanted(&prepared.benchmark) {
        let taken = of_task.remove(&task.id).unwrap_or_default();
        if taken.is_empty() {
            rows.push(untaken(&run, task, rows.len() + 1));
        }
        for task_run in taken {
            let found = of_task_run.remove(&task_run.id).unwrap_or_default();
            let place = rows.len() + 1;
            rows.push(row(task_run, task, &found, place));
            let is_void = task_run.cause().is_some_and(Cause::is_void);
            if !is_void {
                add_losses(&mut losses, task, &found, place);
            }
        }
    }
    let mut losses: Vec<Loss> = losses.into_values().collect();
    losses.sort_by(|one, other| {
        let rank = |loss: &Loss| (loss.is_critical, loss.weight);
        let order = rank(other).partial_cmp(&rank(one));
        order
            .unwrap_or(std::cmp::Ordering::Equal)
            .then(other.places.len().cmp(&one.places.len()))
    });
    RunModel {
        taker: String::new(),
        benchmark: String::new(),
        summary: Summary::of(&[]),
        run,
        prepared,
        rows,
        losses,
        shows_evidence,
    }
}

fn untaken(run: &Run, task: &Task, place: usize) -> TaskRow {
    let (mark, why) = match &run.state {
        RunState::Created | RunState::Started { .. } => (Mark::Waiting, None),
        RunState::Ended {
            ending: Ending::Cancelled { .. },
            ..
        } => (Mark::Cancelled, None),
        RunState::Ended { .. } => (Mark::Fail, Some("it was never started".to_owned())),
    };
    TaskRow {
        place,
        id: None,
        task: task.id,
        name: task.name.clone(),
        mark,
        score: (mark == Mark::Fail).then_some(0.0),
        why,
        cells: Vec::new(),
        critical_misses: 0,
        started: None,
        took: None,
    }
}

/// What became of a task run.
pub fn mark_of(task_run: &TaskRun) -> Mark {
    match (task_run.status(), task_run.cause()) {
        (TaskRunStatus::Created, _) => Mark::Waiting,
        (TaskRunStatus::Started | TaskRunStatus::Scoring | TaskRunStatus::Scored, _) => {
            Mark::Running
        }
        (_, Some(Cause::Cancelled)) => Mark::Cancelled,
        (_, Some(cause)) if cause.is_void() => Mark::Void,
        (_, Some(_)) => Mark::Fail,
        (_, None) => task_run
            .card()
            .map_or(Mark::Fail, |card| card.verdict.into()),
    }
}

/// What a task run counts in our own numbers; none while it is not over, and where it is void.
pub fn counted_score(task_run: &TaskRun) -> Option<f64> {
    match (task_run.is_over(), task_run.cause()) {
        (false, _) => None,
        (true, Some(cause)) if cause.is_void() => None,
        (true, Some(_)) => Some(0.0),
        (true, None) => Some(task_run.card().map_or(0.0, |card| card.score.value())),
    }
}

/// Why a task run ended without a judgement, in words.
pub fn why(task_run: &TaskRun) -> Option<String> {
    let fault = task_run.fault()?;
    let cause = cause_in_words(fault.cause);
    Some(match fault.told() {
        Some(told) => format!("{cause}: {told}"),
        None => cause.to_owned(),
    })
}

/// A cause for readers.
pub const fn cause_in_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Infrastructure => "the platform failed",
        Cause::AgentTimeout => "the agent ran out of time",
        Cause::AgentCrash => "the agent ended without finishing",
        Cause::ScorerError => "the scorer failed",
        Cause::Cancelled => "it was stopped",
    }
}

fn row(task_run: &TaskRun, task: &Task, found: &[&CriterionScore], place: usize) -> TaskRow {
    let mark = mark_of(task_run);
    let cells = task.criteria.iter().filter_map(|criterion| {
        let score = found.iter().find(|score| score.criterion == criterion.id)?;
        Some(Cell {
            criterion: criterion.id,
            score: score.score,
            is_held_back: is_held_back(score),
        })
    });
    let (started, ended) = (task_run.started_at(), task_run.ended_at());
    TaskRow {
        place,
        id: Some(task_run.id),
        task: task.id,
        name: task.name.clone(),
        mark,
        score: counted_score(task_run),
        why: why(task_run),
        cells: cells.collect(),
        critical_misses: task_run.card().map_or(0, |card| card.critical_misses.len()),
        started,
        took: started.zip(ended).map(|(began, ended)| ended.since(began)),
    }
}

fn is_held_back(score: &CriterionScore) -> bool {
    let evidence = score.evidence.as_ref();
    score.score < 1.0
        && evidence.is_some_and(|evidence| !criterion_run::is_missed(score.score, evidence))
}

fn add_losses(
    losses: &mut BTreeMap<(String, String), Loss>,
    task: &Task,
    found: &[&CriterionScore],
    place: usize,
) {
    for score in found {
        let criterion = task.criteria.iter().find(|one| one.id == score.criterion);
        let Some(criterion) = criterion.filter(|_| score.score < 1.0 && !is_held_back(score))
        else {
            continue;
        };
        let reason = without_values(&score.details);
        let loss = losses
            .entry((criterion.label.clone(), reason))
            .or_insert_with(|| begin_loss(criterion, &score.details));
        loss.places.push(place);
        loss.weight += criterion.weight.value() * (1.0 - score.score);
    }
}

fn begin_loss(criterion: &Criterion, details: &str) -> Loss {
    Loss {
        label: criterion.label.clone(),
        is_critical: criterion.critical,
        details: details.to_owned(),
        places: Vec::new(),
        weight: 0.0,
    }
}

/// A finding without what differs from task to task: numbers, quoted values, ids.
fn without_values(details: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    for letter in details.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => continue,
            None if letter == '"' || letter == '“' => {
                quote = Some(if letter == '“' { '”' } else { '"' });
                out.push('…');
            }
            None if letter.is_ascii_digit() => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            None => out.push(letter),
        }
    }
    // The part of a reference behind its slash is an id.
    let words = out.split(' ').map(|word| match word.split_once('/') {
        Some((kind, _)) if kind.chars().next().is_some_and(char::is_uppercase) => kind,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_that_differ_only_in_values_are_one_reason() {
        let same = [
            "no Observation for Patient/ada-moreau with code 2823-3; 12 come close",
            "no Observation for Patient/bob with code 17-1; 3 come close",
        ];
        let [one, other] = same.map(without_values);
        assert_eq!(one, other);
        assert_ne!(without_values("a \"x\" b"), without_values("a \"x\" c"));
        assert_eq!(
            without_values("never said \"six\""),
            without_values("never said \"seven\"")
        );
    }
}
