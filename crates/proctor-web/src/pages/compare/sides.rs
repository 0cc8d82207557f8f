//! Which runs are compared, and what they come to. What was computed once is kept for as long as people turn its pages.

use std::{sync::Arc, time::Duration};

use proctor_core::{
    id::kinds::{OrganizationId, RunId},
    policy::Selection,
    run::Run,
    scoring::Verdict,
    task_run::Cause,
    usage::Usage,
};
use proctor_engine::{
    EngineError,
    comparisons::{ComparedTask, ComparisonProblem, NewComparison, TaskOutcome},
};
use proctor_statistics::About;

use super::report::Report;
use crate::{
    error::PageError,
    html::{Given, Mark},
    pages::run::run_id,
    query::Params,
    run_model::shows_evidence,
    session::Visitor,
    state::WebState,
};

/// The label in which a run says what it cost as a whole, in US dollars.
const COST: &str = "cost_usd";

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) organization: OrganizationId,
    pub(crate) a: Vec<RunId>,
    pub(crate) b: Vec<RunId>,
    pub(crate) about: About,
    pub(crate) even_though: bool,
    pub(crate) shows_criteria: bool,
}

/// What a comparison came to.
pub(crate) struct Compared {
    pub(crate) report: Report,
    pub(crate) tasks: Vec<ComparedTask>,
    pub(crate) time: Ratio,
    pub(crate) cost: Ratio,
}

/// Something measured on both sides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ratio {
    pub(crate) a: Option<f64>,
    pub(crate) b: Option<f64>,
    /// Over how many tasks; none if it is of the runs as a whole.
    pub(crate) tasks: Option<usize>,
}

impl Ratio {
    /// B / A.
    pub(crate) fn ratio(&self) -> Option<String> {
        let (a, b) = self.a.zip(self.b)?;
        (a > 0.0).then(|| format!("× {:.2}", b / a))
    }
}

/// Why there is no comparison, for the reader.
pub(crate) enum NotCompared {
    /// What differs, in sentences.
    Differ(Vec<String>),
    /// Anything else, in one.
    Refused(String),
}

/// Runs by their ids, all of which the visitor may see.
pub(crate) async fn find_runs(
    state: &WebState,
    visitor: &Visitor,
    ids: &[&str],
) -> Result<Vec<Run>, PageError> {
    let mut runs: Vec<Run> = Vec::with_capacity(ids.len());
    for text in ids {
        let missing = || {
            let shown: String = text.chars().take(60).collect();
            PageError::new(
                http::StatusCode::NOT_FOUND,
                format!("There is no run {shown}, or it belongs to somebody else."),
            )
        };
        let id = run_id(text).map_err(|_| missing())?;
        if runs.iter().any(|run| run.id == id) {
            continue;
        }
        let found = state.store().run(id).await?.map(|found| found.value);
        runs.push(found.filter(|run| visitor.sees(run)).ok_or_else(missing)?);
    }
    Ok(runs)
}

/// Reads which question is asked.
pub(crate) fn about(params: &Params) -> Result<About, PageError> {
    match params.get("about") {
        None | Some("tasks") => Ok(About::Tasks),
        Some("suite") => Ok(About::Suite),
        Some(_) => Err(PageError::bad_request(
            "A comparison is about tasks or about the suite.",
        )),
    }
}

/// The question that two sides and an address ask.
pub(crate) async fn question(
    state: &WebState,
    visitor: &Visitor,
    a: &[Run],
    b: &[Run],
    params: &Params,
) -> Result<Question, PageError> {
    let mut shows_criteria = true;
    for run in a.iter().chain(b) {
        shows_criteria &= shows_evidence(state, visitor, run).await?;
    }
    Ok(Question {
        organization: visitor.organization(),
        a: a.iter().map(|run| run.id).collect(),
        b: b.iter().map(|run| run.id).collect(),
        about: about(params)?,
        even_though: params.get("even-though").is_some(),
        shows_criteria,
    })
}

/// Compares two sides, and keeps nothing in the store.
pub(crate) async fn compared(
    state: &WebState,
    question: &Question,
) -> Result<Result<Arc<Compared>, NotCompared>, PageError> {
    if let Some(known) = state.memo().comparisons.get(question) {
        return Ok(Ok(known));
    }
    let new = new_comparison(question);
    let looked = state
        .engine()
        .look_at_comparison(question.organization, new)
        .await;
    let looked = match looked {
        Ok(looked) => looked,
        Err(EngineError::Comparison(problem)) => return Ok(Err(not_compared(&problem))),
        Err(error) => return Err(error.into()),
    };
    let report = serde_json::to_value(&looked.report).and_then(serde_json::from_value::<Report>);
    let report = report
        .map_err(|error| EngineError::Fault(format!("a comparison cannot be shown: {error}")))?;
    let report = match question.shows_criteria {
        true => report,
        false => report.without_criteria(),
    };
    let compared = Compared {
        time: time(&looked.tasks),
        cost: cost(state, question, &looked.tasks).await?,
        report,
        tasks: looked.tasks,
    };
    Ok(Ok(state.memo().comparisons.put(question.clone(), compared)))
}

/// The comparison that the engine is asked for.
pub(crate) fn new_comparison(question: &Question) -> NewComparison {
    NewComparison {
        a: Selection::Runs(question.a.clone()),
        b: Selection::Runs(question.b.clone()),
        about: question.about,
        clusters: None,
        axes: true,
        even_though: question.even_though,
    }
}

pub(crate) fn not_compared(problem: &ComparisonProblem) -> NotCompared {
    match problem {
        ComparisonProblem::NotComparable(differences) => NotCompared::Differ(differences.clone()),
        ComparisonProblem::Refused(refusal) => NotCompared::Refused(refusal.to_string()),
        other => NotCompared::Refused(other.to_string()),
    }
}

/// How long the tasks took that both sides ended.
fn time(tasks: &[ComparedTask]) -> Ratio {
    let took = |one: &Option<TaskOutcome>| one.as_ref()?.took.map(|took| took.as_secs_f64());
    let both: Vec<(f64, f64)> = tasks
        .iter()
        .filter_map(|task| took(&task.sides[0]).zip(took(&task.sides[1])))
        .collect();
    means(&both)
}

fn means(both: &[(f64, f64)]) -> Ratio {
    if both.is_empty() {
        return Ratio::default();
    }
    let count = both.len() as f64;
    Ratio {
        a: Some(both.iter().map(|(a, _)| a).sum::<f64>() / count),
        b: Some(both.iter().map(|(_, b)| b).sum::<f64>() / count),
        tasks: Some(both.len()),
    }
}

/// What the tasks cost for which both sides report it; else what the runs say they cost as a whole.
async fn cost(
    state: &WebState,
    question: &Question,
    tasks: &[ComparedTask],
) -> Result<Ratio, PageError> {
    let (of_a, of_b) = (
        state.store().usage_of_runs(&question.a).await?,
        state.store().usage_of_runs(&question.b).await?,
    );
    let both: Vec<(f64, f64)> = tasks
        .iter()
        .filter_map(|task| {
            let cost = |usage: &std::collections::BTreeMap<(RunId, _), Usage>, runs: &[RunId]| {
                let used = runs.iter().filter_map(|run| usage.get(&(*run, task.task)));
                Usage::sum(used.copied())?.cost_usd
            };
            cost(&of_a, &question.a).zip(cost(&of_b, &question.b))
        })
        .collect();
    if !both.is_empty() {
        return Ok(means(&both));
    }
    Ok(Ratio {
        a: said_cost(state, &question.a).await?,
        b: said_cost(state, &question.b).await?,
        tasks: None,
    })
}

async fn said_cost(state: &WebState, runs: &[RunId]) -> Result<Option<f64>, PageError> {
    let mut total = 0.0;
    for id in runs {
        let run = state.store().run(*id).await?;
        let said = run.and_then(|run| {
            run.value
                .particulars
                .metadata
                .get(COST)?
                .parse::<f64>()
                .ok()
        });
        match said.filter(|cost| cost.is_finite() && *cost >= 0.0) {
            Some(cost) => total += cost,
            None => return Ok(None),
        }
    }
    Ok(Some(total))
}

/// What came of each task of a run, and keeps it if the run is over.
pub(crate) async fn outcomes(
    state: &WebState,
    run: &Run,
) -> Result<Arc<Vec<TaskOutcome>>, PageError> {
    if let Some(known) = state.memo().outcomes.get(&run.id) {
        return Ok(known);
    }
    let found = state
        .engine()
        .task_outcomes(run.organization, run.clone())
        .await?;
    Ok(match run.is_over() {
        true => state.memo().outcomes.put(run.id, found),
        false => Arc::new(found),
    })
}

/// The mark of what came of a task.
pub(crate) fn mark(outcome: &TaskOutcome) -> Mark {
    match (outcome.verdict, &outcome.fault) {
        (Some(Verdict::Pass), _) => Mark::Pass,
        (Some(Verdict::Partial), _) => Mark::Partial,
        (Some(Verdict::Fail), _) => Mark::Fail,
        (None, _) if outcome.is_pending => Mark::Running,
        (None, Some(fault)) if fault.cause == Cause::Cancelled => Mark::Cancelled,
        (None, _) => Mark::Void,
    }
}

/// A time as people say it.
pub(crate) fn seconds(value: impl Given<f64>) -> String {
    crate::html::duration(Duration::from_secs_f64(value.given().max(0.0)))
}

/// Money as people say it.
pub(crate) fn dollars(value: impl Given<f64>) -> String {
    let value = value.given();
    match value < 0.995 {
        true => format!("${value:.3}"),
        false => format!("${value:.2}"),
    }
}
