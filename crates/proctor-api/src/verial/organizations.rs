//! `/organizations`: the tenants of this server, for whoever runs it.
//!
//! An operator makes organizations, gives them keys and limits them. Nothing here shows what is inside one.

use std::{num::NonZeroU32, ops::RangeInclusive};

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    id::kinds::{OrganizationId, OrganizationKind},
    limits::{Limits, Usage},
    time::Timestamp,
};
use proctor_store::{
    credentials::{KeyOwner, PlainKey},
    organizations::Organization,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    api_keys::{NewKeyBody, NewKeyView},
    found::{found, not_found},
    page::{VerialList, VerialPage, VerialPageQuery},
};
use crate::{
    auth::OperatorCaller,
    error::ApiError,
    extract::{Checks, Json, Path, present},
    state::ApiState,
};

// Characters.
const NAME: usize = 200;

/// An organization.
#[derive(Serialize, ToSchema)]
pub(crate) struct OrganizationView {
    #[schema(value_type = String, example = "org_01K0000000000000000000000A")]
    id: OrganizationId,
    /// What people call it.
    name: String,
    limits: LimitsView,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// What it has of all that can be limited; only where one organization is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// Its first key; only in the answer that made the organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<NewKeyView>,
}

impl OrganizationView {
    fn of(organization: Organization) -> Self {
        Self {
            id: organization.id,
            name: organization.name,
            limits: LimitsView::of(&organization.limits),
            created_at: organization.created_at,
            usage: None,
            api_key: None,
        }
    }
}

/// How much an organization may have at once; null is not limited.
#[derive(Serialize, ToSchema)]
pub(crate) struct LimitsView {
    /// Devboxes that have not ended.
    devboxes: Option<u32>,
    /// Runs that are not over.
    runs: Option<u32>,
    /// Bytes of objects and disk snapshots.
    storage_bytes: Option<u64>,
    /// Requests per minute, of all its credentials together.
    requests_per_minute: Option<u32>,
}

impl LimitsView {
    fn of(limits: &Limits) -> Self {
        Self {
            devboxes: limits.devboxes,
            runs: limits.runs,
            storage_bytes: limits.storage_bytes,
            requests_per_minute: limits.requests_per_minute.map(NonZeroU32::get),
        }
    }
}

/// What an organization has of all that can be limited.
#[derive(Serialize, ToSchema)]
pub(crate) struct UsageView {
    /// Devboxes that have not ended.
    devboxes: u64,
    /// Runs that are not over.
    runs: u64,
    /// Bytes of objects and disk snapshots.
    storage_bytes: u64,
}

impl UsageView {
    fn of(usage: Usage) -> Self {
        Self {
            devboxes: usage.devboxes,
            runs: usage.runs,
            storage_bytes: usage.storage_bytes,
        }
    }
}

/// Limits that are to be set; what is absent stays as it is, null removes a limit.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct LimitsBody {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    devboxes: Option<Option<Value>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    runs: Option<Option<Value>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u64>)]
    storage_bytes: Option<Option<Value>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    requests_per_minute: Option<Option<Value>>,
}

impl LimitsBody {
    fn apply(self, checks: &mut Checks, old: Limits) -> Limits {
        // The store keeps numbers with a sign.
        const MOST_BYTES: u64 = i64::MAX.unsigned_abs();
        const MOST: u64 = u32::MAX as u64;
        let mut read = |name: &str, value, range| limit(checks, name, value, range);
        let count = |limit: u64| u32::try_from(limit).ok();
        let devboxes = read("devboxes", self.devboxes, 0..=MOST);
        let runs = read("runs", self.runs, 0..=MOST);
        let storage_bytes = read("storage_bytes", self.storage_bytes, 0..=MOST_BYTES);
        let rate = read("requests_per_minute", self.requests_per_minute, 1..=MOST);
        Limits {
            devboxes: devboxes.map_or(old.devboxes, |limit| limit.and_then(count)),
            runs: runs.map_or(old.runs, |limit| limit.and_then(count)),
            storage_bytes: storage_bytes.unwrap_or(old.storage_bytes),
            requests_per_minute: rate.map_or(old.requests_per_minute, |limit| {
                limit.and_then(count).and_then(NonZeroU32::new)
            }),
        }
    }
}

/// One limit as it was given. Numbers are read here and not with the body, so that all that are wrong are named at once.
fn limit(
    checks: &mut Checks,
    name: &str,
    value: Option<Option<Value>>,
    range: RangeInclusive<u64>,
) -> Option<Option<u64>> {
    let Some(value) = value? else {
        return Some(None);
    };
    let limit = value.as_u64().filter(|limit| range.contains(limit));
    if limit.is_none() {
        let (least, most) = range.into_inner();
        let message = format!("must be a whole number from {least} to {most}, or null");
        checks.refuse(&format!("limits.{name}"), message);
    }
    Some(limit)
}

/// What a new organization is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewOrganizationBody {
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    name: Option<String>,
    /// How much it may have; without limits when absent.
    limits: Option<LimitsBody>,
}

/// What is to change; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct OrganizationChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    name: Option<Option<String>>,
    /// The limits that change.
    limits: Option<LimitsBody>,
}

/// Lists the organizations of this server.
#[utoipa::path(
    get,
    path = "/organizations",
    tag = "Verial: organizations",
    params(VerialPageQuery),
    security(("operator_key" = [])),
    responses(
        (
            status = 200,
            description = "The organizations, newest first",
            body = VerialList<OrganizationView>,
        ),
    ),
)]
pub(crate) async fn list_organizations(
    State(state): State<ApiState>,
    _: OperatorCaller,
    page: VerialPage<OrganizationKind>,
) -> Result<Json<VerialList<OrganizationView>>, ApiError> {
    let organizations = state.store().organizations_page(page.0).await?;
    Ok(page.answer(organizations, |one| one.id, OrganizationView::of))
}

/// Makes an organization with its first key.
#[utoipa::path(
    post,
    path = "/organizations",
    tag = "Verial: organizations",
    request_body = NewOrganizationBody,
    security(("operator_key" = [])),
    responses(
        (
            status = 201,
            description = "The organization, with its key, shown this once",
            body = OrganizationView,
        ),
    ),
)]
pub(crate) async fn create_organization(
    State(state): State<ApiState>,
    _: OperatorCaller,
    Json(body): Json<NewOrganizationBody>,
) -> Result<(StatusCode, Json<OrganizationView>), ApiError> {
    let mut checks = Checks::default();
    let name = checks.text("name", body.name, 1..=NAME);
    let limits = body.limits.unwrap_or_default();
    let limits = limits.apply(&mut checks, Limits::default());
    checks.finish()?;
    let (organization, key) = state
        .store()
        .create_organization_with_key(&name, limits)
        .await?;
    let view = OrganizationView {
        api_key: Some(NewKeyView::of(key)),
        ..OrganizationView::of(organization)
    };
    Ok((StatusCode::CREATED, Json(view)))
}

async fn find(state: &ApiState, id: OrganizationId) -> Result<Organization, ApiError> {
    found(id, state.store().organization(id).await?)
}

async fn view(
    state: &ApiState,
    organization: Organization,
) -> Result<Json<OrganizationView>, ApiError> {
    let usage = state.store().usage(organization.id).await?;
    Ok(Json(OrganizationView {
        usage: Some(UsageView::of(usage)),
        ..OrganizationView::of(organization)
    }))
}

/// Shows an organization with what it has.
#[utoipa::path(
    get,
    path = "/organizations/{id}",
    tag = "Verial: organizations",
    params(("id" = String, Path, description = "The organization's id")),
    security(("operator_key" = [])),
    responses((status = 200, description = "The organization", body = OrganizationView)),
)]
pub(crate) async fn get_organization(
    State(state): State<ApiState>,
    _: OperatorCaller,
    Path(id): Path<OrganizationId>,
) -> Result<Json<OrganizationView>, ApiError> {
    let organization = find(&state, id).await?;
    view(&state, organization).await
}

/// Gives an organization another name or other limits.
///
/// A limit below what it has takes nothing away; it refuses what would be more.
#[utoipa::path(
    patch,
    path = "/organizations/{id}",
    tag = "Verial: organizations",
    params(("id" = String, Path, description = "The organization's id")),
    request_body = OrganizationChanges,
    security(("operator_key" = [])),
    responses(
        (status = 200, description = "The organization as it is now", body = OrganizationView),
    ),
)]
pub(crate) async fn update_organization(
    State(state): State<ApiState>,
    _: OperatorCaller,
    Path(id): Path<OrganizationId>,
    Json(changes): Json<OrganizationChanges>,
) -> Result<Json<OrganizationView>, ApiError> {
    let old = find(&state, id).await?;
    let mut checks = Checks::default();
    let name = checks.replaced_text("name", changes.name, 1..=NAME);
    let limits = changes.limits.unwrap_or_default();
    let limits = limits.apply(&mut checks, old.limits);
    checks.finish()?;
    let name = name.unwrap_or(old.name);
    let changed = state.store().update_organization(id, &name, limits).await?;
    view(&state, found(id, changed)?).await
}

/// Makes one more key for an organization.
#[utoipa::path(
    post,
    path = "/organizations/{id}/api-keys",
    tag = "Verial: organizations",
    params(("id" = String, Path, description = "The organization's id")),
    request_body = Option<NewKeyBody>,
    security(("operator_key" = [])),
    responses((status = 201, description = "The key, shown this once", body = NewKeyView)),
)]
pub(crate) async fn create_organization_key(
    State(state): State<ApiState>,
    _: OperatorCaller,
    Path(id): Path<OrganizationId>,
    Json(body): Json<NewKeyBody>,
) -> Result<(StatusCode, Json<NewKeyView>), ApiError> {
    let organization = find(&state, id).await?.id;
    let name = body.name()?;
    let issued = state
        .store()
        .create_key(organization, KeyOwner::Organization, name, PlainKey::Random)
        .await?;
    let issued = issued.ok_or_else(|| not_found(id))?;
    Ok((StatusCode::CREATED, Json(NewKeyView::of(issued))))
}
