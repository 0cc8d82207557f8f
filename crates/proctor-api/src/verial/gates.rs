//! `/gates`: whether a policy lets an agent through. Not of the dialect's contract; it has its manners.

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    id::kinds::{GateId, GateKind},
    policy::{Policy, Selection, below},
    problem::Problem,
    reader::{Node, Notes, Wording},
};
use proctor_engine::comparisons::NewGate;
use proctor_statistics::{Alpha, GateVerdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::page::{VerialList, VerialPage, VerialPageQuery};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path, shortened},
    state::ApiState,
};

/// Whom a policy is to let through.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewGateBody {
    /// The candidate: a run. One of `run`, `runs` and `labels` is required.
    #[schema(value_type = Option<String>)]
    run: Option<Value>,
    /// The candidate: several runs of one agent, whose attempts pool by task.
    #[schema(value_type = Option<Vec<String>>)]
    runs: Option<Value>,
    /// The candidate: the newest completed runs with these labels.
    #[schema(value_type = Option<Object>)]
    labels: Option<Value>,
    /// How many runs with these labels; 1 if absent.
    #[schema(value_type = Option<u32>)]
    newest: Option<Value>,
    /// What the candidate is compared with, if that is not what the policy says: `"br_…"`, `{"runs": […]}` or `{"labels": {…}, "newest": n}`.
    #[schema(value_type = Option<Object>)]
    baseline: Option<Value>,
    /// What must be proved: the content of a `gate.toml` as JSON.
    #[schema(value_type = Object, required)]
    policy: Option<Value>,
    /// Whether to compare although versions, rubrics or limits differ.
    even_though: Option<bool>,
}

/// A gate as it was answered: `id`, `verdict`, a sentence for each line, the numbers, both sides with their digests.
#[derive(Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub(crate) struct GateView(Value);

impl NewGateBody {
    fn read(self) -> Result<NewGate, ApiError> {
        let mut problems: Vec<Problem> = Vec::new();
        let candidate = self.candidate(&mut problems);
        let baseline = self.baseline.as_ref().and_then(|value| {
            let notes = Notes::worded(Wording::Request);
            let read = Selection::read(&Node::at("baseline", value, &notes));
            problems.extend(notes.problems());
            read
        });
        let document = self.policy.unwrap_or_default();
        let policy = match &document {
            Value::Null => {
                problems.push(Problem::error("policy", "is required"));
                None
            }
            document => Policy::read(document, Wording::Request)
                .map_err(|found| problems.extend(below(found, "policy")))
                .ok(),
        };
        match (candidate, policy) {
            (Some(candidate), Some(policy)) if problems.is_empty() => Ok(NewGate {
                candidate,
                baseline,
                policy,
                document,
                alpha: Alpha::FIVE_PERCENT,
                even_though: self.even_though.unwrap_or(false),
                baseline_name: None,
            }),
            _ => Err(ApiError::validation(problems)),
        }
    }

    fn candidate(&self, problems: &mut Vec<Problem>) -> Option<Selection> {
        let mut document = json!({});
        let members = [
            ("run", &self.run),
            ("runs", &self.runs),
            ("labels", &self.labels),
            ("newest", &self.newest),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                document[name] = value.clone();
            }
        }
        let notes = Notes::worded(Wording::Request);
        let read = Selection::read(&Node::root(&document, &notes));
        let found = notes.problems().into_iter();
        problems.extend(found.map(|problem| match problem.path.is_empty() {
            // The whole of it has no name of its own.
            true => Problem::error("run", problem.message),
            false => problem,
        }));
        read
    }
}

/// Decides whether a policy lets an agent through.
///
/// The verdict is `PASS`, `FAIL` or `INCONCLUSIVE`; what cannot be decided (nothing scored, nothing in common, other versions) is refused with 409. The decision is kept as it is answered.
#[utoipa::path(
    post,
    path = "/gates",
    tag = "Proctor: comparisons",
    request_body = NewGateBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The decision", body = GateView)),
)]
pub(crate) async fn create_gate(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewGateBody>,
) -> Result<(StatusCode, Json<GateView>), ApiError> {
    let new = body.read()?;
    let report = state.engine().gate(caller.id(), new).await?;
    let view = serde_json::to_value(&report).map_err(ApiError::internal)?;
    Ok((StatusCode::CREATED, Json(GateView(view))))
}

/// Which gates are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListedGates {
    /// Only those that said `PASS`, `FAIL` or `INCONCLUSIVE`.
    verdict: Option<String>,
}

impl ListedGates {
    fn read(&self) -> Result<Option<&'static str>, ApiError> {
        let Some(text) = self.verdict.as_deref() else {
            return Ok(None);
        };
        let verdicts = [
            GateVerdict::Pass,
            GateVerdict::Fail,
            GateVerdict::Inconclusive,
        ];
        let mut words = verdicts.into_iter().map(GateVerdict::as_str);
        match words.find(|word| *word == text) {
            Some(word) => Ok(Some(word)),
            None => {
                let message = format!("'{}' is none of PASS, FAIL, INCONCLUSIVE", shortened(text));
                Err(ApiError::field("verdict", message))
            }
        }
    }
}

/// Lists the organization's gates.
#[utoipa::path(
    get,
    path = "/gates",
    tag = "Proctor: comparisons",
    params(ListedGates, VerialPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The gates, newest first, without single tasks", body = VerialList<GateView>)),
)]
pub(crate) async fn list_gates(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<GateKind, ListedGates>,
) -> Result<Json<VerialList<GateView>>, ApiError> {
    let verdict = page.1.read()?;
    let found = state.store().gates(caller.id(), verdict, page.0).await?;
    Ok(page.answer(found, |(id, _)| *id, |(_, headline)| GateView(headline)))
}

/// Shows a gate as it was answered.
#[utoipa::path(
    get,
    path = "/gates/{id}",
    tag = "Proctor: comparisons",
    params(("id" = String, Path, description = "The gate's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The gate", body = GateView)),
)]
pub(crate) async fn get_gate(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<GateId>,
) -> Result<Json<GateView>, ApiError> {
    let found = state.store().gate(caller.id(), id).await?;
    let found = found.ok_or_else(|| ApiError::not_found(format!("no gate '{id}'")))?;
    Ok(Json(GateView(found)))
}
