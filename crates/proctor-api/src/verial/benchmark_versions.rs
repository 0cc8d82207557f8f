//! `/benchmarks/{id}/publish`, `/unpublish` and `/versions`: what was frozen of a benchmark.

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    canonical::Digest,
    definition::{BadSlug, BenchmarkVersion, Slug, Visibility},
    id::kinds::{BenchmarkId, BenchmarkKind},
    time::Timestamp,
};
use proctor_engine::authoring;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    benchmarks::{self, BenchmarkView},
    found::found,
    page::{VerialList, VerialPage, VerialPageQuery},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, shortened},
    state::ApiState,
};

/// A version of a benchmark. It never changes; it can be taken back.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkVersionView {
    #[schema(value_type = String, example = "bench_01K0000000000000000000000A")]
    benchmark_id: BenchmarkId,
    /// The name under which takers ask for it.
    #[schema(value_type = String, example = "fax-referral")]
    slug: Slug,
    /// Its number: 1, 2, 3, ….
    version: u32,
    /// Who may take it: `Public` is everybody, `Private` its own organization.
    #[schema(value_type = String, example = "Private")]
    visibility: Visibility,
    /// Whether lists show it. Whoever names it can take it, published or not, unless new runs are stopped.
    published: bool,
    /// Whether no new run of it may begin.
    new_runs_stopped: bool,
    /// The digest of what was frozen.
    #[schema(value_type = String)]
    digest: Digest,
    #[schema(value_type = String, format = DateTime)]
    published_at: Timestamp,
    /// When it was hidden from lists.
    #[schema(value_type = Option<String>, format = DateTime)]
    unpublished_at: Option<Timestamp>,
    /// The version before it, if it says exactly the same; only in the answer to publishing.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchanged_since: Option<u32>,
    /// What its author should know; only in the answer to publishing.
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<Vec<String>>,
}

impl BenchmarkVersionView {
    fn of(version: BenchmarkVersion) -> Self {
        Self {
            benchmark_id: version.benchmark,
            slug: version.slug,
            version: version.version,
            visibility: version.visibility,
            published: version.unpublished_at.is_none(),
            new_runs_stopped: version.stopped_at.is_some(),
            digest: version.digest,
            published_at: version.published_at,
            unpublished_at: version.unpublished_at,
            unchanged_since: None,
            warnings: None,
        }
    }
}

/// How a benchmark is to be published.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PublishBody {
    /// The name under which takers ask for it: lower-case letters and digits with single hyphens
    /// between them. It belongs to this benchmark from then on.
    #[schema(value_type = String, required, max_length = 100, pattern = "^[a-z0-9]+(-[a-z0-9]+)*$", example = "fax-referral")]
    slug: Option<String>,
    /// `Public` or `Private`; `Private` when absent.
    #[schema(value_type = Option<String>, default = "Private")]
    visibility: Option<String>,
}

impl PublishBody {
    fn read(self) -> Result<(Slug, Visibility), ApiError> {
        let mut checks = Checks::default();
        let slug = match checks.required("slug", self.slug).map(Slug::try_from) {
            Some(Ok(slug)) => Some(slug),
            Some(Err(bad @ BadSlug)) => {
                checks.refuse("slug", bad.to_string());
                None
            }
            None => None,
        };
        let visibility = match self.visibility.as_deref() {
            None | Some("Private") => Visibility::Private,
            Some("Public") => Visibility::Public,
            Some(other) => {
                let other = shortened(other);
                checks.refuse(
                    "visibility",
                    format!("'{other}' is neither Public nor Private"),
                );
                Visibility::Private
            }
        };
        checks.finish()?;
        let slug = slug.ok_or_else(|| ApiError::field("slug", "is required"))?;
        Ok((slug, visibility))
    }
}

/// Freezes a benchmark as its next version.
///
/// Everything that is wrong with it is named at once, by the id of the draft at fault. A version that says the same as the one
/// before it, or has tasks without criteria, is published with a warning.
#[utoipa::path(
    post,
    path = "/benchmarks/{id}/publish",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    request_body = PublishBody,
    security(("organization_key" = [])),
    responses(
        (status = 201, description = "The version", body = BenchmarkVersionView),
        (
            status = 409,
            description = "Another benchmark has this slug, another organization has it in public, or the draft changed meanwhile",
        ),
    ),
)]
pub(crate) async fn publish_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    Json(body): Json<PublishBody>,
) -> Result<(StatusCode, Json<BenchmarkVersionView>), ApiError> {
    let benchmark = benchmarks::find(&state, &caller, id).await?;
    let (slug, visibility) = body.read()?;
    let published = authoring::publish(
        state.store(),
        state.engine().extensions(),
        caller.id(),
        benchmark.id,
        slug,
        visibility,
        state.store().now(),
    )
    .await?;
    let view = BenchmarkVersionView {
        unchanged_since: published.unchanged_since,
        warnings: Some(published.warnings),
        ..BenchmarkVersionView::of(published.version)
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// How a benchmark is to be unpublished.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct UnpublishBody {
    /// `true` also lets no new run of any version begin, `false` lets them begin again; absent leaves that as it is.
    stop_new_runs: Option<bool>,
}

/// Hides every version of a benchmark from lists.
///
/// Versions are for ever: whoever names one can still take it, unless new runs are stopped. Runs that have begun go on, and
/// results stay readable. Repeating it changes nothing.
#[utoipa::path(
    post,
    path = "/benchmarks/{id}/unpublish",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    request_body = Option<UnpublishBody>,
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark as it is now", body = BenchmarkView)),
)]
pub(crate) async fn unpublish_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    Json(body): Json<UnpublishBody>,
) -> Result<Json<BenchmarkView>, ApiError> {
    let benchmark = benchmarks::find(&state, &caller, id).await?;
    let store = state.store();
    store
        .unpublish_benchmark(benchmark.id, body.stop_new_runs)
        .await?;
    benchmarks::view(&state, &caller, benchmark).await
}

/// Lists the versions of a benchmark: all of one's own, and those of others that lists show to everybody.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/versions",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id"), VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The versions, newest first",
            body = VerialList<BenchmarkVersionView>,
        ),
    ),
)]
pub(crate) async fn list_benchmark_versions(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    page: VerialPage<BenchmarkKind>,
) -> Result<Json<VerialList<BenchmarkVersionView>>, ApiError> {
    let store = state.store();
    let (owner, benchmark) = found(id, store.visible_benchmark(caller.id(), id).await?)?;
    let mut versions = store.benchmark_versions(benchmark.id).await?;
    if owner != caller.id() {
        versions.retain(|one| one.visibility == Visibility::Public && one.unpublished_at.is_none());
    }
    let listed = page.part_of(versions, place);
    Ok(page.answer(listed, place, BenchmarkVersionView::of))
}

/// Where a version stands in its list, as cursors name places.
fn place(version: &BenchmarkVersion) -> BenchmarkId {
    BenchmarkId::from_uuid(Uuid::from_u128(version.version.into()))
}
