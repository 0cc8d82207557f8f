//! `/benchmark-runs/{id}/results`: our own numbers of a run. Run tokens and Solver keys do not reach them, as they reach none of the
//! internal routes: what they may know is at `/v1/benchmark-runs/{id}`.

use std::collections::HashMap;

use axum::extract::State;
use proctor_core::{
    id::{
        Dialect,
        kinds::{RunId, TaskRunId, WorldId},
    },
    task_run::TaskRun,
};
use proctor_engine::results::Results;
use proctor_store::comparisons::CriterionScore;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{internal_runs::find, page::Parameters};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    results::{AttemptDetails, CriterionView, ResultsView},
    state::ApiState,
};

/// How much of the results is wanted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ResultsQuery {
    /// `true` adds to each attempt what its task is called, how long it took, and what every criterion scored.
    #[param(value_type = Option<bool>)]
    criteria: Option<String>,
}

impl ResultsQuery {
    fn with_criteria(&self) -> Result<bool, ApiError> {
        match self.criteria.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::field("criteria", "must be true or false")),
        }
    }
}

/// Shows what came of a run by our own rule: what its agent ended itself counts 0, what says nothing about the agent is left out and
/// counted.
#[utoipa::path(
    get,
    path = "/benchmark-runs/{id}/results",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The run's id"), ResultsQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "What came of its agent", body = ResultsView)),
)]
pub(crate) async fn get_benchmark_run_results(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
    Parameters(query): Parameters<ResultsQuery>,
) -> Result<Json<ResultsView>, ApiError> {
    let with_criteria = query.with_criteria()?;
    find(&state, &caller, id).await?;
    let results = state.engine().run_results(caller.id(), id).await?;
    let details = match with_criteria {
        true => details(&state, id, &results).await?,
        false => HashMap::new(),
    };
    let view = ResultsView::of(results, Dialect::Verial);
    Ok(Json(match with_criteria {
        true => view.with_details(details),
        false => view,
    }))
}

/// What is known of the attempts of a run besides their scores, by their place.
async fn details(
    state: &ApiState,
    id: RunId,
    results: &Results,
) -> Result<HashMap<usize, AttemptDetails>, ApiError> {
    let run = state.store().run(id).await?;
    let Some(run) = run.map(|run| run.value) else {
        return Ok(HashMap::new());
    };
    let prepared = state.engine().definition_of(&run).await?;
    let Some(agent) = results.agents.first() else {
        return Ok(HashMap::new());
    };
    let mut scores: HashMap<TaskRunId, Vec<CriterionScore>> = HashMap::new();
    if agent.shows_criteria {
        for score in state.store().criterion_scores(id).await? {
            let of_task_run = scores.entry(score.task_run).or_default();
            // Of several judgements the last counts.
            of_task_run.retain(|other| other.criterion != score.criterion);
            of_task_run.push(score);
        }
    }
    let task_runs = state.store().judged_task_runs(id).await?;
    let seconds: HashMap<TaskRunId, f64> = task_runs
        .iter()
        .filter_map(|one| {
            let took = one.ended_at()?.since(one.started_at()?);
            Some((one.id, took.as_secs_f64()))
        })
        .collect();
    let heads = heads(state, &task_runs).await?;
    let mut found = HashMap::new();
    for (place, attempt) in agent.attempts.iter().enumerate() {
        let Ok((task, _)) = prepared.task(attempt.task) else {
            continue;
        };
        let task_run = attempt.task_run;
        let scores = task_run
            .and_then(|id| scores.remove(&id))
            .unwrap_or_default();
        let criteria = task.criteria.iter().filter_map(|criterion| {
            let score = scores.iter().find(|one| one.criterion == criterion.id)?;
            Some(CriterionView::of(task, criterion, score))
        });
        found.insert(
            place,
            AttemptDetails {
                name: task.name.clone(),
                task_run_id: task_run.map(|id| id.to_string()),
                seconds: task_run.and_then(|id| seconds.get(&id).copied()),
                journal_head: task_run.and_then(|id| heads.get(&id).cloned()),
                criteria: agent.shows_criteria.then(|| criteria.collect()),
            },
        );
    }
    Ok(found)
}

/// The last links of the journals of these task runs, as far as their worlds are frozen playgrounds.
async fn heads(
    state: &ApiState,
    task_runs: &[TaskRun],
) -> Result<HashMap<TaskRunId, String>, ApiError> {
    let worlds: Vec<WorldId> = task_runs
        .iter()
        .filter(|one| one.devbox.is_none())
        .map(|one| WorldId::from_uuid(one.id.uuid()))
        .collect();
    let heads = state.store().journal().sealed_heads(&worlds).await?;
    Ok(heads
        .into_iter()
        .map(|(world, head)| (TaskRunId::from_uuid(world.uuid()), head.hex()))
        .collect())
}
