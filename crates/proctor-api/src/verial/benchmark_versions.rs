//! `/benchmarks/{id}/publish`, `/unpublish` and `/versions`: what was frozen of a benchmark.

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    canonical::Digest,
    definition::{BadSlug, BenchmarkVersion, Slug, Visibility},
    id::kinds::BenchmarkId,
    time::Timestamp,
};
use proctor_engine::authoring;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    benchmarks::{self, BenchmarkView},
    page::VerialList,
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
    /// Whether it can be taken.
    published: bool,
    /// The digest of what was frozen.
    #[schema(value_type = String)]
    digest: Digest,
    #[schema(value_type = String, format = DateTime)]
    published_at: Timestamp,
    /// When it was taken back.
    #[schema(value_type = Option<String>, format = DateTime)]
    unpublished_at: Option<Timestamp>,
}

impl BenchmarkVersionView {
    fn of(version: BenchmarkVersion) -> Self {
        Self {
            benchmark_id: version.benchmark,
            slug: version.slug,
            version: version.version,
            visibility: version.visibility,
            published: version.unpublished_at.is_none(),
            digest: version.digest,
            published_at: version.published_at,
            unpublished_at: version.unpublished_at,
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
/// Everything that is wrong with it is named at once, by the id of the draft at fault.
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
            description = "Another benchmark has this slug, or the draft changed meanwhile",
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
    let version = authoring::publish(
        state.store(),
        state.engine().extensions(),
        caller.id(),
        benchmark.id,
        slug,
        visibility,
    )
    .await?;
    Ok((StatusCode::CREATED, Json(BenchmarkVersionView::of(version))))
}

/// Takes every version of a benchmark back.
///
/// Nobody can start it any more; runs that have begun go on. Repeating it changes nothing.
#[utoipa::path(
    post,
    path = "/benchmarks/{id}/unpublish",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark as it is now", body = BenchmarkView)),
)]
pub(crate) async fn unpublish_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<BenchmarkView>, ApiError> {
    let benchmark = benchmarks::find(&state, &caller, id).await?;
    state.store().unpublish_benchmark(benchmark.id).await?;
    benchmarks::view(&state, benchmark).await
}

/// Lists all versions of a benchmark.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/versions",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The versions, newest first, all on one page",
            body = VerialList<BenchmarkVersionView>,
        ),
    ),
)]
pub(crate) async fn list_benchmark_versions(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<VerialList<BenchmarkVersionView>>, ApiError> {
    let benchmark = benchmarks::find(&state, &caller, id).await?;
    let versions = state.store().benchmark_versions(benchmark.id).await?;
    let views = versions.into_iter().map(BenchmarkVersionView::of);
    Ok(Json(VerialList::whole(views.collect())))
}
