//! `/v1/blueprints`: recipes for the disks that devboxes begin with.

use axum::extract::State;
use proctor_core::{
    blueprint::{Blueprint, BuildStatus},
    id::{
        Dialect,
        kinds::{BlueprintId, BlueprintKind},
    },
};
use proctor_fleet::blueprints::{BlueprintError, Blueprints};
use proctor_store::{
    blueprints::BlueprintFilter,
    names::{Sought, WantedLabels},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    labels::{LabelFilter, LabelQuery},
    page::{RunloopPage, RunloopPageQuery},
};
use crate::{
    auth::OrganizationCaller,
    error::{ApiError, ApiErrorKind},
    extract::{Checks, Json, Path, Query},
    state::ApiState,
};

mod parameters;
mod views;

use parameters::BlueprintParameters;
use views::{
    BlueprintListView, BlueprintLogsView, BlueprintPreviewView, BlueprintView, LogLineView,
};

/// Which blueprints a list shows.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct BlueprintListQuery {
    /// Only those of exactly this name; if there are none, those that contain it in any case.
    name: Option<String>,
    /// Only those that are provisioning, building, build_complete or failed.
    status: Option<String>,
}

impl BlueprintListQuery {
    /// What to look for; `None` for a status that no blueprint ever has here.
    fn read(self, labels: WantedLabels) -> Result<Option<BlueprintFilter>, ApiError> {
        let mut checks = Checks::default();
        let status = match self.status.filter(|word| !word.is_empty()) {
            None => None,
            // Builds wait while they are provisioning, and contexts are uploaded before.
            Some(word) if matches!(word.as_str(), "queued" | "awaiting_upload") => return Ok(None),
            word => Some(checks.named(
                "status",
                word,
                BuildStatus::ALL,
                BuildStatus::name,
                BuildStatus::read,
            )),
        };
        checks.finish()?;
        Ok(Some(BlueprintFilter {
            sought: Sought {
                name: self.name,
                search: None,
                labels,
            },
            status,
        }))
    }
}

fn builder(state: &ApiState) -> Result<&Blueprints, ApiError> {
    state.blueprints().ok_or_else(|| {
        ApiError::new(
            ApiErrorKind::NotImplemented,
            "this server has no devboxes and builds no blueprints; 'proctor doctor' says what is missing",
        )
    })
}

/// Lists the blueprints.
#[utoipa::path(
    get,
    path = "/v1/blueprints",
    tag = "Runloop: blueprints",
    params(RunloopPageQuery, BlueprintListQuery, LabelQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The blueprints, newest first", body = BlueprintListView),
    ),
)]
pub(crate) async fn list_blueprints(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    RunloopPage(page): RunloopPage<BlueprintKind>,
    Query(query): Query<BlueprintListQuery>,
    LabelFilter(labels): LabelFilter,
) -> Result<Json<BlueprintListView>, ApiError> {
    let Some(filter) = query.read(labels)? else {
        return Ok(Json(BlueprintListView::nothing(page.count)));
    };
    let page = state.store().blueprints(caller.id(), &filter, page).await?;
    Ok(Json(BlueprintListView::of(page)))
}

/// Lists the blueprints that are open to everybody. There is no way to make one so: the list is empty.
#[utoipa::path(
    get,
    path = "/v1/blueprints/list_public",
    tag = "Runloop: blueprints",
    params(RunloopPageQuery, BlueprintListQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The blueprints that are open to everybody",
            body = BlueprintListView,
        ),
    ),
)]
pub(crate) async fn list_public_blueprints(
    _: OrganizationCaller,
    RunloopPage(page): RunloopPage<BlueprintKind>,
    Query(query): Query<BlueprintListQuery>,
) -> Result<Json<BlueprintListView>, ApiError> {
    query.read(WantedLabels::new())?;
    Ok(Json(BlueprintListView::nothing(page.count)))
}

/// Takes a recipe and begins to build it.
#[utoipa::path(
    post,
    path = "/v1/blueprints",
    tag = "Runloop: blueprints",
    request_body = BlueprintParameters,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The blueprint, which is being built", body = BlueprintView),
    ),
)]
pub(crate) async fn create_blueprint(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<BlueprintParameters>,
) -> Result<Json<BlueprintView>, ApiError> {
    let recipe = body.read()?;
    let blueprint = builder(&state)?.create(caller.id(), recipe).await?;
    Ok(Json(BlueprintView::of(blueprint)))
}

/// Shows the Dockerfile that a recipe amounts to, and builds nothing.
#[utoipa::path(
    post,
    path = "/v1/blueprints/preview",
    tag = "Runloop: blueprints",
    request_body = BlueprintParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The Dockerfile", body = BlueprintPreviewView)),
)]
pub(crate) async fn preview_blueprint(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<BlueprintParameters>,
) -> Result<Json<BlueprintPreviewView>, ApiError> {
    let recipe = body.read()?;
    let dockerfile = builder(&state)?.preview(caller.id(), &recipe).await?;
    Ok(Json(BlueprintPreviewView { dockerfile }))
}

/// Shows a blueprint, also one that was deleted.
#[utoipa::path(
    get,
    path = "/v1/blueprints/{id}",
    tag = "Runloop: blueprints",
    params(("id" = String, Path, description = "The blueprint's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The blueprint", body = BlueprintView)),
)]
pub(crate) async fn get_blueprint(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BlueprintId>,
) -> Result<Json<BlueprintView>, ApiError> {
    let found: Option<Blueprint> = state
        .store()
        .blueprint(caller.id(), id)
        .await?
        .map(|found| found.value);
    let found = found.ok_or_else(|| BlueprintError::NotFound(id.wire(Dialect::Runloop)))?;
    Ok(Json(BlueprintView::of(found)))
}

/// Deletes a blueprint. Devboxes that were made from it stay.
#[utoipa::path(
    post,
    path = "/v1/blueprints/{id}/delete",
    tag = "Runloop: blueprints",
    params(("id" = String, Path, description = "The blueprint's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What the blueprint was", body = BlueprintView)),
)]
pub(crate) async fn delete_blueprint(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BlueprintId>,
) -> Result<Json<BlueprintView>, ApiError> {
    let blueprint = builder(&state)?.delete(caller.id(), id).await?;
    Ok(Json(BlueprintView::of(blueprint)))
}

/// Shows what a build said so far.
#[utoipa::path(
    get,
    path = "/v1/blueprints/{id}/logs",
    tag = "Runloop: blueprints",
    params(("id" = String, Path, description = "The blueprint's id")),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The lines of the log, oldest first",
            body = BlueprintLogsView,
        ),
    ),
)]
pub(crate) async fn get_blueprint_logs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BlueprintId>,
) -> Result<Json<BlueprintLogsView>, ApiError> {
    let lines = builder(&state)?.logs(caller.id(), id).await?;
    Ok(Json(BlueprintLogsView {
        blueprint_id: id.wire(Dialect::Runloop),
        logs: lines.into_iter().map(LogLineView::of).collect(),
    }))
}
