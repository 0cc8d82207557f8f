//! `/ui/benchmarks`: what is examined, and how well it tells agents apart.

mod changes;
mod list;
mod show;
mod statistics;
mod task;

use axum::{Router, routing::get};
use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, BenchmarkVersion, World},
    id::{Dialect, kinds::BenchmarkId},
};

use super::runs::slug_of;
use crate::{error::PageError, session::Visitor, state::WebState};

pub(crate) use self::list::{AgentLine, summaries_by_benchmark};

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/benchmarks", get(list::benchmarks))
        .route("/ui/benchmarks/{name}", get(show::benchmark))
        .route("/ui/benchmarks/{name}/tasks/{id}", get(task::task))
}

/// A benchmark that an address names: by its slug, by `slug@version`, or by its id.
pub(crate) struct Named {
    /// The benchmark.
    pub(crate) id: BenchmarkId,
    /// What it is called in addresses: its slug, or its id if it has none.
    pub(crate) path: String,
    /// What people call it.
    pub(crate) title: String,
    /// Its versions, newest first.
    pub(crate) versions: Vec<BenchmarkVersion>,
    /// The version that is meant; none if nothing of it is published.
    pub(crate) version: Option<BenchmarkVersion>,
    /// Whether it is the visitor's organization's own.
    pub(crate) is_own: bool,
}

impl Named {
    /// The name of the version in addresses.
    pub(crate) fn versioned(&self) -> String {
        match &self.version {
            Some(version) => format!("{}@{}", self.path, version.version),
            None => self.path.clone(),
        }
    }
}

/// Finds a benchmark that the visitor may know of.
pub(crate) async fn find(
    state: &WebState,
    visitor: &Visitor,
    name: &str,
) -> Result<Named, PageError> {
    let missing = || PageError::not_found("benchmark");
    let store = state.store();
    let organization = visitor.organization();
    let id = BenchmarkId::from_wire(name, Dialect::Verial)
        .or_else(|_| BenchmarkId::from_wire(name, Dialect::Runloop));
    let versions = match &id {
        Ok(id) => store.benchmark_versions(*id).await?,
        Err(_) => {
            let slug = slug_of(name).map_err(|_| missing())?;
            store.versions_of_slug(organization, &slug).await?
        }
    };
    let id = match (id, versions.first()) {
        (Ok(id), _) => id,
        (Err(_), Some(version)) => version.benchmark,
        (Err(_), None) => return Err(missing()),
    };
    let (owner, record) = store
        .visible_benchmark(organization, id)
        .await?
        .ok_or_else(missing)?;
    let is_own = owner == organization;
    let versions: Vec<BenchmarkVersion> = versions
        .into_iter()
        .filter(|one| is_own || one.visibility == proctor_core::definition::Visibility::Public)
        .collect();
    let version = match name.split_once('@') {
        None => versions.first().cloned(),
        Some((_, number)) => {
            let number: u32 = number.parse().map_err(|_| missing())?;
            let found = versions.iter().find(|one| one.version == number);
            Some(found.cloned().ok_or_else(missing)?)
        }
    };
    Ok(Named {
        id,
        path: versions
            .first()
            .map_or_else(|| id.to_string(), |one| one.slug.as_str().to_owned()),
        title: record.content.name,
        versions,
        version,
        is_own,
    })
}

/// The frozen definition that a page is about: that of the version, or of the newest run where nothing is published.
pub(crate) async fn digest(
    state: &WebState,
    visitor: &Visitor,
    named: &Named,
) -> Result<Option<Digest>, PageError> {
    if let Some(version) = &named.version {
        return Ok(Some(version.digest));
    }
    let filter = proctor_store::run_lists::RunFilter {
        benchmark: Some(named.id),
        solver: visitor.solver(),
        ..Default::default()
    };
    let newest = proctor_store::page::PageRequest {
        limit: 1,
        from: proctor_store::page::PageStart::Newest,
        count: false,
    };
    let found = state
        .store()
        .run_summaries(visitor.organization(), &filter, newest)
        .await?;
    Ok(found.items.first().map(|run| run.digest))
}

/// Whether it is done in simulated services, in boxes, or in both.
pub(crate) fn kind(benchmark: &Benchmark) -> &'static str {
    let is_box = |world: &World| matches!(world, World::Devbox { .. });
    let boxes = benchmark.tasks.iter().filter(|task| is_box(&task.world));
    match boxes.count() {
        0 => "clinical",
        count if count == benchmark.tasks.len() => "coding",
        _ => "mixed",
    }
}
