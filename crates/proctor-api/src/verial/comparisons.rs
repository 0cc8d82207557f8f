//! `/comparisons`: what two agents differ by, over runs, several runs of one agent, or labels. Not of the dialect's contract; it has its manners.

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    id::kinds::{ComparisonId, ComparisonKind},
    policy::{Selection, read_about},
    problem::Problem,
    reader::{Node, Notes, Wording},
};
use proctor_engine::comparisons::NewComparison;
use proctor_statistics::About;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::page::{VerialList, VerialPage, VerialPageQuery};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    state::ApiState,
};

/// Which runs are compared, and how.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewComparisonBody {
    /// The baseline: `{"runs": ["br_…"]}`, `{"run": "br_…"}`, or `{"labels": {"branch": "main"}, "newest": 3}`. Attempts of several runs pool by task.
    #[schema(value_type = Object, required)]
    a: Option<Value>,
    /// What is compared with it, in the same forms.
    #[schema(value_type = Object, required)]
    b: Option<Value>,
    /// `tasks` (tasks like these) or `suite` (these very tasks, run again); `tasks` if absent.
    #[schema(value_type = Option<String>, example = "suite")]
    about: Option<Value>,
    /// By what tasks belong together: `tag:patient` for tasks that share a tag `patient:…`.
    clusters: Option<String>,
    /// Whether every axis is compared too.
    axes: Option<bool>,
    /// Whether to compare although versions, rubrics or limits differ.
    even_though: Option<bool>,
}

/// A comparison as it was answered: `id`, `sentence`, both sides with their digests, the numbers, the tasks that flipped.
#[derive(Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub(crate) struct ComparisonView(Value);

/// The problems of a request that is read member by member.
pub(super) fn finish<T>(notes: Notes<'_>, read: Option<T>) -> Result<T, ApiError> {
    notes
        .finish(read)
        .map_err(|problems| ApiError::validation(problems.into_vec()))
}

/// A member that must say which runs are meant.
pub(super) fn selection<'a>(
    name: &'static str,
    value: Option<&'a Value>,
    notes: &'a Notes<'a>,
    missing: &mut Vec<Problem>,
) -> Option<Selection> {
    match value {
        Some(value) => Selection::read(&Node::at(name, value, notes)),
        None => {
            missing.push(Problem::error(name, "is required"));
            None
        }
    }
}

/// Which question is asked.
fn about(value: Option<&Value>, notes: &Notes<'_>) -> Option<About> {
    match value {
        None => Some(About::Tasks),
        Some(value) => read_about(&Node::at("about", value, notes)),
    }
}

impl NewComparisonBody {
    fn read(self) -> Result<NewComparison, ApiError> {
        let notes = Notes::worded(Wording::Request);
        let mut missing = Vec::new();
        let a = selection("a", self.a.as_ref(), &notes, &mut missing);
        let b = selection("b", self.b.as_ref(), &notes, &mut missing);
        let about = about(self.about.as_ref(), &notes);
        if !missing.is_empty() {
            missing.extend(notes.problems());
            return Err(ApiError::validation(missing));
        }
        let (a, b, about) = finish(notes, a.zip(b).zip(about).map(|((a, b), c)| (a, b, c)))?;
        Ok(NewComparison {
            a,
            b,
            about,
            clusters: self.clusters,
            axes: self.axes.unwrap_or(false),
            even_though: self.even_though.unwrap_or(false),
        })
    }
}

/// Compares two agents over the tasks that both took.
///
/// Refused with 409 and what differs, if the runs are not of the same benchmark version, rubric and limits, unless `even_though`. The result is kept as it is answered.
#[utoipa::path(
    post,
    path = "/comparisons",
    tag = "Proctor: comparisons",
    request_body = NewComparisonBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "What they differ by", body = ComparisonView)),
)]
pub(crate) async fn create_comparison(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewComparisonBody>,
) -> Result<(StatusCode, Json<ComparisonView>), ApiError> {
    let new = body.read()?;
    let report = state.engine().compare(caller.id(), new).await?;
    let view = serde_json::to_value(&report).map_err(ApiError::internal)?;
    Ok((StatusCode::CREATED, Json(ComparisonView(view))))
}

/// Lists the organization's comparisons.
#[utoipa::path(
    get,
    path = "/comparisons",
    tag = "Proctor: comparisons",
    params(VerialPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The comparisons, newest first, without single tasks", body = VerialList<ComparisonView>)),
)]
pub(crate) async fn list_comparisons(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<ComparisonKind>,
) -> Result<Json<VerialList<ComparisonView>>, ApiError> {
    let found = state.store().comparisons(caller.id(), page.0).await?;
    Ok(page.answer(
        found,
        |(id, _)| *id,
        |(_, headline)| ComparisonView(headline),
    ))
}

/// Shows a comparison as it was answered.
#[utoipa::path(
    get,
    path = "/comparisons/{id}",
    tag = "Proctor: comparisons",
    params(("id" = String, Path, description = "The comparison's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The comparison", body = ComparisonView)),
)]
pub(crate) async fn get_comparison(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<ComparisonId>,
) -> Result<Json<ComparisonView>, ApiError> {
    let found = state.store().comparison(caller.id(), id).await?;
    let found = found.ok_or_else(|| ApiError::not_found(format!("no comparison '{id}'")))?;
    Ok(Json(ComparisonView(found)))
}
