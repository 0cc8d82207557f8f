//! The lives of devboxes.

use std::{collections::BTreeMap, time::Duration};

use axum::extract::State;
use proctor_core::{
    devbox::DevboxStatus,
    id::{
        Dialect,
        kinds::{DevboxId, DevboxKind},
    },
};
use proctor_fleet::DevboxChange;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::views::{DevboxListView, DevboxUsageView, DevboxView, EmptyView};
use crate::{
    auth::OrganizationCaller,
    error::{ApiError, ApiErrorKind},
    extract::{Checks, Json, Path, Query, shortened, texts},
    runloop::{
        labels::{LabelFilter, LabelQuery},
        page::{RunloopPage, RunloopPageQuery},
    },
    state::ApiState,
};

/// How long a request is held at most until a devbox has a status.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Statuses that clients know and no devbox of ours has.
const NEVER: [&str; 3] = ["scheduled", "queued", "resuming"];

/// Which devboxes are wanted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DevboxListQuery {
    /// Only those with this status.
    status: Option<String>,
}

/// What changes about a devbox.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DevboxUpdateParameters {
    /// Absent keeps it, an empty text clears it.
    name: Option<String>,
    /// Absent keeps it, anything else replaces it.
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
}

/// What to wait for.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DevboxWaitParameters {
    #[schema(value_type = Vec<String>, required)]
    statuses: Option<Vec<String>>,
    /// How long to wait: 30 when absent, at most 30.
    timeout_seconds: Option<f64>,
}

/// A wait in seconds, within bounds.
pub(crate) fn patience(seconds: Option<f64>, most: Duration) -> Result<Duration, ApiError> {
    match seconds {
        None => Ok(most),
        Some(seconds) if seconds >= 0.0 => Ok(Duration::try_from_secs_f64(seconds)
            .unwrap_or(most)
            .min(most)),
        Some(_) => Err(ApiError::field("timeout_seconds", "must not be negative")),
    }
}

/// A status that clients may ask for; one that no devbox has is none.
fn status(field: &str, word: &str) -> Result<Option<DevboxStatus>, ApiError> {
    match DevboxStatus::from_name(word) {
        Some(status) => Ok(Some(status)),
        None if NEVER.contains(&word) => Ok(None),
        None => {
            let message = format!("'{}' is no status of a devbox", shortened(word));
            Err(ApiError::field(field, message))
        }
    }
}

/// Lists the devboxes.
#[utoipa::path(
    get,
    path = "/v1/devboxes",
    tag = "Runloop: devboxes",
    params(DevboxListQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The devboxes, newest first", body = DevboxListView)),
)]
pub(crate) async fn list_devboxes(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(query): Query<DevboxListQuery>,
    LabelFilter(labels): LabelFilter,
    RunloopPage(page): RunloopPage<DevboxKind>,
) -> Result<Json<DevboxListView>, ApiError> {
    let wanted = match query.status.as_deref() {
        None | Some("") => None,
        Some(word) => match status("status", word)? {
            Some(status) => Some(status),
            None => {
                return Ok(Json(DevboxListView {
                    devboxes: Vec::new(),
                    has_more: false,
                    total_count: page.count.then_some(0),
                }));
            }
        },
    };
    let page = state
        .fleet()?
        .list(caller.id(), wanted, &labels, page)
        .await?;
    Ok(Json(DevboxListView {
        devboxes: page
            .items
            .into_iter()
            .map(|record| DevboxView::of(&state, record))
            .collect(),
        has_more: page.has_more,
        total_count: page.total,
    }))
}

/// Shows a devbox.
#[utoipa::path(
    get,
    path = "/v1/devboxes/{id}",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The devbox", body = DevboxView)),
)]
pub(crate) async fn get_devbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
) -> Result<Json<DevboxView>, ApiError> {
    let record = state.fleet()?.devbox(caller.id(), id).await?;
    Ok(Json(DevboxView::of(&state, record)))
}

/// Gives a devbox another name or other notes.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = DevboxUpdateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The devbox", body = DevboxView)),
)]
pub(crate) async fn update_devbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<DevboxUpdateParameters>,
) -> Result<Json<DevboxView>, ApiError> {
    let mut checks = Checks::default();
    let name = checks.optional_text("name", body.name, 0..=1000);
    checks.finish()?;
    let change = DevboxChange {
        name,
        metadata: body.metadata,
    };
    let record = state.fleet()?.update(caller.id(), id, change).await?;
    Ok(Json(DevboxView::of(&state, record)))
}

/// Waits until a devbox has one of several statuses.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/wait_for_status",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = DevboxWaitParameters,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The devbox, which has one of them", body = DevboxView),
        (status = 408, description = "It has none of them yet; ask again"),
    ),
)]
pub(crate) async fn wait_for_devbox_status(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<DevboxWaitParameters>,
) -> Result<Json<DevboxView>, ApiError> {
    let words = body.statuses.unwrap_or_default();
    if words.is_empty() {
        return Err(ApiError::field("statuses", "at least one is required"));
    }
    let mut statuses = Vec::new();
    for word in &words {
        statuses.extend(status("statuses", word)?);
    }
    let patience = patience(body.timeout_seconds, LONGEST_WAIT)?;
    let waited = state
        .fleet()?
        .wait_for(caller.id(), id, &statuses, patience)
        .await?;
    match waited {
        Some(record) => Ok(Json(DevboxView::of(&state, record))),
        None => Err(ApiError::new(
            ApiErrorKind::TimedOut,
            format!("the devbox is not {} yet; ask again", words.join(" or ")),
        )),
    }
}

/// Ends a devbox. What has ended stays as it is.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/shutdown",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The devbox", body = DevboxView)),
)]
pub(crate) async fn shutdown_devbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
) -> Result<Json<DevboxView>, ApiError> {
    let record = state.fleet()?.shutdown(caller.id(), id).await?;
    Ok(Json(DevboxView::of(&state, record)))
}

/// Gives a devbox as much time again as it had at first.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/keep_alive",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "It was noted", body = EmptyView)),
)]
pub(crate) async fn keep_devbox_alive(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
) -> Result<Json<EmptyView>, ApiError> {
    state.fleet()?.keep_alive(caller.id(), id).await?;
    Ok(Json(EmptyView {}))
}

/// Brings a devbox to a stand: processes keep their memory and do nothing.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/suspend",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The devbox, suspending", body = DevboxView)),
)]
pub(crate) async fn suspend_devbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
) -> Result<Json<DevboxView>, ApiError> {
    let record = state.fleet()?.suspend(caller.id(), id).await?;
    Ok(Json(DevboxView::of(&state, record)))
}

/// Brings a suspended devbox back.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/resume",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The devbox, provisioning", body = DevboxView)),
)]
pub(crate) async fn resume_devbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
) -> Result<Json<DevboxView>, ApiError> {
    let record = state.fleet()?.resume(caller.id(), id).await?;
    Ok(Json(DevboxView::of(&state, record)))
}

/// Shows what a devbox has used, by its size and the time it was there.
#[utoipa::path(
    get,
    path = "/v1/devboxes/{id}/usage",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What it has used", body = DevboxUsageView)),
)]
pub(crate) async fn get_devbox_usage(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
) -> Result<Json<DevboxUsageView>, ApiError> {
    let record = state.fleet()?.devbox(caller.id(), id).await?;
    let now = state.store().now();
    let end = record.life.ended_at();
    let elapsed = end.unwrap_or(now).since(record.created_at).as_secs();
    let active = record.life.active_millis(now) / 1000;
    let size = record.setup.launch.sizing.resources();
    Ok(Json(DevboxUsageView {
        id: record.id.wire(Dialect::Runloop),
        status: record.status().as_str(),
        start_time_ms: record.created_at.as_millis(),
        end_time_ms: end.map(|at| at.as_millis()),
        total_elapsed_seconds: elapsed,
        total_active_seconds: active,
        vcpu_seconds: active * u64::from(size.cpu_halves) / 2,
        memory_gb_seconds: active * u64::from(size.memory_gib),
        disk_gb_seconds: elapsed * u64::from(size.disk_gib),
    }))
}
