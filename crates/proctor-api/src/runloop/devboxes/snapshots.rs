//! Disk snapshots of devboxes.

use std::collections::BTreeMap;

use axum::extract::State;
use proctor_core::id::{
    Dialect,
    kinds::{DevboxId, SnapshotId, SnapshotKind},
};
use proctor_fleet::snapshots::{NewSnapshot, SnapshotChange};
use proctor_store::disk_snapshots::{DiskSnapshot, SnapshotFilter, SnapshotStatus};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::views::EmptyView;
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, Query, texts},
    runloop::{
        ids,
        labels::{LabelFilter, LabelQuery},
        page::{RunloopPage, RunloopPageQuery},
    },
    state::ApiState,
};

/// What a new snapshot is called, or what changes about it.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SnapshotParameters {
    name: Option<String>,
    /// At most 1000 characters.
    #[schema(max_length = 1000)]
    commit_message: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
}

impl SnapshotParameters {
    fn read(self) -> Result<SnapshotChange, ApiError> {
        let mut checks = Checks::default();
        let name = checks.optional_text("name", self.name, 0..=1000);
        let commit_message = checks.optional_text("commit_message", self.commit_message, 0..=1000);
        checks.finish()?;
        Ok(SnapshotChange {
            name,
            commit_message,
            metadata: self.metadata,
        })
    }

    fn read_new(self) -> Result<NewSnapshot, ApiError> {
        let read = self.read()?;
        Ok(NewSnapshot {
            name: read.name.filter(|name| !name.is_empty()),
            commit_message: read.commit_message,
            metadata: read.metadata.unwrap_or_default(),
        })
    }
}

/// Which snapshots are wanted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SnapshotListQuery {
    /// Only those of this devbox.
    devbox_id: Option<String>,
    /// Only those of devboxes that were made from this blueprint.
    source_blueprint_id: Option<String>,
}

/// A disk snapshot.
#[derive(Serialize, ToSchema)]
pub(crate) struct SnapshotView {
    #[schema(example = "snp_01K0000000000000000000000A")]
    id: String,
    create_time_ms: i64,
    metadata: BTreeMap<String, String>,
    source_devbox_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_message: Option<String>,
    /// What it added to what it is based on, as last counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_blueprint_id: Option<String>,
}

impl SnapshotView {
    fn of(snapshot: DiskSnapshot) -> Self {
        Self {
            id: snapshot.id.wire(Dialect::Runloop),
            create_time_ms: snapshot.created_at.as_millis(),
            metadata: snapshot.metadata,
            source_devbox_id: snapshot.devbox.wire(Dialect::Runloop),
            name: snapshot.name,
            commit_message: snapshot.commit_message,
            size_bytes: snapshot.size_bytes,
            source_blueprint_id: snapshot.blueprint.map(|id| id.wire(Dialect::Runloop)),
        }
    }
}

/// A part of the list of snapshots, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct SnapshotListView {
    snapshots: Vec<SnapshotView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

/// How far a snapshot is.
#[derive(Serialize, ToSchema)]
pub(crate) struct SnapshotStatusView {
    /// in_progress, complete, error or deleted.
    #[schema(example = "complete")]
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
    /// The snapshot, once it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<SnapshotView>,
}

/// Takes a snapshot of a devbox's disk and waits for it.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/snapshot_disk",
    tag = "Runloop: disk snapshots",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = SnapshotParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The snapshot, complete", body = SnapshotView)),
)]
pub(crate) async fn snapshot_devbox_disk(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<SnapshotParameters>,
) -> Result<Json<SnapshotView>, ApiError> {
    let new = body.read_new()?;
    let snapshot = state.fleet()?.snapshot(caller.id(), id, new).await?;
    Ok(Json(SnapshotView::of(snapshot)))
}

/// Takes a snapshot of a devbox's disk in the background.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/snapshot_disk_async",
    tag = "Runloop: disk snapshots",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = SnapshotParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The snapshot, in progress", body = SnapshotView)),
)]
pub(crate) async fn snapshot_devbox_disk_async(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<SnapshotParameters>,
) -> Result<Json<SnapshotView>, ApiError> {
    let new = body.read_new()?;
    let fleet = state.fleet()?;
    let snapshot = fleet.snapshot_in_background(caller.id(), id, new).await?;
    Ok(Json(SnapshotView::of(snapshot)))
}

/// Lists the disk snapshots.
#[utoipa::path(
    get,
    path = "/v1/devboxes/disk_snapshots",
    tag = "Runloop: disk snapshots",
    params(SnapshotListQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The snapshots, newest first", body = SnapshotListView)),
)]
pub(crate) async fn list_disk_snapshots(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(query): Query<SnapshotListQuery>,
    LabelFilter(metadata): LabelFilter,
    RunloopPage(page): RunloopPage<SnapshotKind>,
) -> Result<Json<SnapshotListView>, ApiError> {
    let filter = SnapshotFilter {
        devbox: ids::read_optional("devbox_id", query.devbox_id.as_deref())?,
        blueprint: ids::read_optional("source_blueprint_id", query.source_blueprint_id.as_deref())?,
        metadata,
    };
    let fleet = state.fleet()?;
    let page = fleet.disk_snapshots(caller.id(), &filter, page).await?;
    Ok(Json(SnapshotListView {
        snapshots: page.items.into_iter().map(SnapshotView::of).collect(),
        has_more: page.has_more,
        total_count: page.total,
    }))
}

/// Shows how far a snapshot is.
#[utoipa::path(
    get,
    path = "/v1/devboxes/disk_snapshots/{id}/status",
    tag = "Runloop: disk snapshots",
    params(("id" = String, Path, description = "The snapshot's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "How far it is", body = SnapshotStatusView)),
)]
pub(crate) async fn get_disk_snapshot_status(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<SnapshotId>,
) -> Result<Json<SnapshotStatusView>, ApiError> {
    let snapshot = state.fleet()?.disk_snapshot(caller.id(), id).await?;
    let status = match snapshot.status {
        SnapshotStatus::InProgress => "in_progress",
        SnapshotStatus::Complete => "complete",
        SnapshotStatus::Error => "error",
        SnapshotStatus::Deleted | SnapshotStatus::Gone => "deleted",
    };
    Ok(Json(SnapshotStatusView {
        status,
        error_message: snapshot.error.clone(),
        snapshot: (snapshot.status == SnapshotStatus::Complete).then(|| SnapshotView::of(snapshot)),
    }))
}

/// Gives a snapshot another name or other notes.
#[utoipa::path(
    post,
    path = "/v1/devboxes/disk_snapshots/{id}",
    tag = "Runloop: disk snapshots",
    params(("id" = String, Path, description = "The snapshot's id")),
    request_body = SnapshotParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The snapshot", body = SnapshotView)),
)]
pub(crate) async fn update_disk_snapshot(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<SnapshotId>,
    Json(body): Json<SnapshotParameters>,
) -> Result<Json<SnapshotView>, ApiError> {
    let change = body.read()?;
    let fleet = state.fleet()?;
    let snapshot = fleet.update_disk_snapshot(caller.id(), id, &change).await?;
    Ok(Json(SnapshotView::of(snapshot)))
}

/// Deletes a snapshot. Devboxes that were made from it stay as they are.
#[utoipa::path(
    post,
    path = "/v1/devboxes/disk_snapshots/{id}/delete",
    tag = "Runloop: disk snapshots",
    params(("id" = String, Path, description = "The snapshot's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "It is deleted", body = EmptyView)),
)]
pub(crate) async fn delete_disk_snapshot(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<SnapshotId>,
) -> Result<Json<EmptyView>, ApiError> {
    state.fleet()?.delete_disk_snapshot(caller.id(), id).await?;
    Ok(Json(EmptyView {}))
}
