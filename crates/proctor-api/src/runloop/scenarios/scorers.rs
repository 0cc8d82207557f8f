//! `/v1/scenarios/scorers`: scripts that an organization registers as scorers of its own.

use axum::extract::State;
use proctor_core::id::kinds::{ScorerId, ScorerKind};
use proctor_store::{
    names::Sought,
    retry::retry_stale,
    scorers::{ScorerDraft, ScorerRecord},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, Query},
    runloop::{
        ids::{found, wire},
        page::{RunloopPage, RunloopPageQuery},
    },
    state::ApiState,
};

const KIND: usize = 200;
const SCRIPT: usize = 1 << 20;

/// A custom scorer.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScorerView {
    #[schema(example = "scs_01K0000000000000000000000A")]
    id: String,
    /// The type by which scenarios name it.
    r#type: String,
    bash_script: String,
}

impl ScorerView {
    fn of(scorer: ScorerRecord) -> Json<Self> {
        Json(Self::plain(scorer))
    }

    fn plain(scorer: ScorerRecord) -> Self {
        Self {
            id: wire(scorer.id),
            r#type: scorer.content.kind,
            bash_script: scorer.content.script,
        }
    }
}

/// A part of the list of custom scorers, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScorerListView {
    scorers: Vec<ScorerView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

/// What a custom scorer is.
#[derive(Clone, Deserialize, ToSchema)]
pub(crate) struct ScorerParameters {
    /// The type by which scenarios name it; unique.
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    r#type: Option<String>,
    /// The script; it finds its parameters as JSON in `RL_SCORER_CONTEXT`.
    #[schema(value_type = String, required, min_length = 1)]
    bash_script: Option<String>,
}

/// Which scorers are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScorerQuery {
    /// Only those whose id begins with this or whose type contains it in any case.
    search: Option<String>,
}

impl ScorerParameters {
    fn into_draft(self, old: Option<&ScorerDraft>) -> Result<ScorerDraft, ApiError> {
        let mut checks = Checks::default();
        let kind = self.r#type.or_else(|| old.map(|old| old.kind.clone()));
        let script = self
            .bash_script
            .or_else(|| old.map(|old| old.script.clone()));
        let kind = checks.text("type", kind, 1..=KIND);
        let script = checks.required("bash_script", script).unwrap_or_default();
        if script.trim().is_empty() {
            checks.refuse("bash_script", "must not be blank");
        } else if script.len() > SCRIPT {
            checks.refuse("bash_script", format!("must have at most {SCRIPT} bytes"));
        } else if script.contains('\0') {
            checks.refuse("bash_script", "must not contain a NUL");
        }
        checks.finish()?;
        Ok(ScorerDraft { kind, script })
    }
}

/// Registers a custom scorer.
#[utoipa::path(
    post,
    path = "/v1/scenarios/scorers",
    tag = "Runloop: scorers",
    request_body = ScorerParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The scorer", body = ScorerView)),
)]
pub(crate) async fn create_scorer(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<ScorerParameters>,
) -> Result<Json<ScorerView>, ApiError> {
    let draft = body.into_draft(None)?;
    let scorer = state.store().create_scorer(caller.id(), draft).await?;
    Ok(ScorerView::of(scorer))
}

/// Lists the custom scorers.
#[utoipa::path(
    get,
    path = "/v1/scenarios/scorers",
    tag = "Runloop: scorers",
    params(ScorerQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scorers, newest first", body = ScorerListView)),
)]
pub(crate) async fn list_scorers(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(query): Query<ScorerQuery>,
    RunloopPage(page): RunloopPage<ScorerKind>,
) -> Result<Json<ScorerListView>, ApiError> {
    let sought = Sought {
        name: None,
        search: query.search,
        ..Sought::default()
    };
    let page = state.store().scorers(caller.id(), &sought, page).await?;
    Ok(Json(ScorerListView {
        scorers: page.items.into_iter().map(ScorerView::plain).collect(),
        has_more: page.has_more,
        total_count: page.total,
    }))
}

/// Shows a custom scorer.
#[utoipa::path(
    get,
    path = "/v1/scenarios/scorers/{id}",
    tag = "Runloop: scorers",
    params(("id" = String, Path, description = "The scorer's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scorer", body = ScorerView)),
)]
pub(crate) async fn get_scorer(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<ScorerId>,
) -> Result<Json<ScorerView>, ApiError> {
    let scorer = found(id, state.store().scorer(caller.id(), id).await?)?;
    Ok(ScorerView::of(scorer))
}

/// Changes a custom scorer.
///
/// Runs that have begun keep the script they began with.
#[utoipa::path(
    post,
    path = "/v1/scenarios/scorers/{id}",
    tag = "Runloop: scorers",
    params(("id" = String, Path, description = "The scorer's id")),
    request_body = ScorerParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The scorer as it is now", body = ScorerView)),
)]
pub(crate) async fn update_scorer(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<ScorerId>,
    Json(body): Json<ScorerParameters>,
) -> Result<Json<ScorerView>, ApiError> {
    let scorer = retry_stale(|| async {
        let scorer = found(id, state.store().scorer(caller.id(), id).await?)?;
        let draft = body.clone().into_draft(Some(&scorer.content))?;
        Ok::<_, ApiError>(state.store().update_scorer(&scorer, draft).await)
    });
    Ok(ScorerView::of(scorer.await?))
}
