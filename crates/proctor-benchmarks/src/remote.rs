//! A benchmark as a server has it.

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Slug, Visibility},
    environment::Environment,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    api::{Api, ApiError},
    definition::NoFile,
    file::BenchmarkFile,
};

/// A benchmark's row.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) slug: Option<Slug>,
    pub(crate) environment_id: Option<String>,
    #[serde(default)]
    pub(crate) visibility: Visibility,
    /// Lists also show what others let everybody take.
    own: bool,
}

/// All of a benchmark.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Whole {
    pub(crate) digest: Digest,
    pub(crate) definition: Benchmark,
    pub(crate) environment: Option<Environment>,
}

/// A version that was published.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Version {
    pub(crate) version: u32,
    pub(crate) digest: Digest,
    pub(crate) published: bool,
    pub(crate) visibility: Visibility,
}

impl Api {
    /// The organization's benchmark with this slug, or else its unpublished one with this name.
    pub(crate) async fn find(
        &self,
        slug: &str,
        name: Option<&str>,
    ) -> Result<Option<Row>, ApiError> {
        let rows = self.all("/benchmarks").await?;
        let mut rows: Vec<Row> = self.read("/benchmarks", Value::Array(rows))?;
        rows.retain(|row| row.own);
        let has_slug = |row: &&Row| row.slug.as_ref().is_some_and(|one| one.as_str() == slug);
        let has_name = |row: &&Row| row.slug.is_none() && Some(row.name.as_str()) == name;
        let found = rows.iter().find(has_slug);
        Ok(found.or_else(|| rows.iter().find(has_name)).cloned())
    }

    /// A benchmark's draft with all of it.
    pub(crate) async fn whole(&self, benchmark: &str) -> Result<Whole, ApiError> {
        let path = format!("/benchmarks/{benchmark}/definition");
        let answer = self.get(&path).await?;
        self.read(&path, answer)
    }

    /// A benchmark's versions, newest first.
    pub(crate) async fn versions(&self, benchmark: &str) -> Result<Vec<Version>, ApiError> {
        let path = format!("/benchmarks/{benchmark}/versions");
        let mut answer = self.get(&path).await?;
        self.read(&path, answer["data"].take())
    }
}

/// Why a benchmark could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The name is not written as it should be.
    #[error(
        "'{0}' names no benchmark: write a slug, such as fax-referral, or a version of it, such as fax-referral@2"
    )]
    BadName(String),
    /// There is no such benchmark.
    #[error("the server has no benchmark '{0}' of this organization")]
    NotFound(String),
    /// The server said no.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// No file can say what the benchmark says.
    #[error("no file can say what this benchmark says")]
    NoFile(#[from] NoFile),
    /// It has no environment yet.
    #[error("the benchmark has no environment yet")]
    NoEnvironment,
}

/// Fetches a benchmark: `slug` is its draft, `slug@version` what was published.
pub async fn pull(api: &Api, name: &str) -> Result<BenchmarkFile, PullError> {
    let bad = || PullError::BadName(name.to_owned());
    let (slug, version) = match name.split_once('@') {
        None => (name, None),
        Some((slug, version)) => (slug, Some(version.parse::<u32>().map_err(|_| bad())?)),
    };
    let slug = Slug::try_from(slug.to_owned()).map_err(|_| bad())?;
    let unknown = || PullError::NotFound(name.to_owned());
    let row = api.find(slug.as_str(), None).await?.ok_or_else(unknown)?;
    let (whole, visibility) = match version {
        None => (api.whole(&row.id).await?, row.visibility),
        Some(number) => {
            let versions = api.versions(&row.id).await?;
            let version = versions.into_iter().find(|one| one.version == number);
            let version = version.ok_or_else(unknown)?;
            let path = format!("/benchmarks/{}/versions/{number}/definition", row.id);
            let answer = api.get(&path).await?;
            (api.read(&path, answer)?, version.visibility)
        }
    };
    let environment = whole.environment.ok_or(PullError::NoEnvironment)?;
    Ok(BenchmarkFile::from_definition(
        &whole.definition,
        &environment,
        slug,
        visibility,
    )?)
}
