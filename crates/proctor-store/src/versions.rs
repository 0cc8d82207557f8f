//! Published versions of benchmarks: frozen for ever.

use std::collections::BTreeMap;

use proctor_core::{
    canonical::Digest,
    definition::{BenchmarkVersion, Slug, Visibility},
    id::kinds::{BenchmarkId, OrganizationId},
};

use crate::{
    Store, StoreError,
    benchmarks::BenchmarkRecord,
    database::{Query, Row, Transaction},
};
use proctor_macros::boxed_futures;

const COLUMNS: &str =
    "benchmark, version, slug, visibility, digest, published_at, unpublished_at, stopped_at";
const SLUG_TAKEN: &str = "a published benchmark with this slug";
const PUBLIC_SLUG_TAKEN: &str = "a public benchmark of another organization with this slug";

#[boxed_futures]
impl Store {
    /// Makes the definition with this digest the benchmark's next version. [`StoreError::Stale`]
    /// when the draft is not as it was read, [`StoreError::Taken`] when another benchmark has this
    /// slug, or another organization has it in public.
    pub async fn publish_benchmark(
        &self,
        organization: OrganizationId,
        read: &BenchmarkRecord,
        digest: Digest,
        slug: Slug,
        visibility: Visibility,
    ) -> Result<BenchmarkVersion, StoreError> {
        let mut transaction = self.database().begin().await?;
        // Writing the draft first makes two publishers of one benchmark take turns.
        self.write_draft(&mut transaction, read, read.content.clone(), Vec::new())
            .await?;
        let query = Query::new("SELECT COALESCE(MAX(version), 0) AS latest FROM benchmark_versions WHERE benchmark = $1")
            .bind(read.id);
        let latest = match transaction.read_optional(query).await? {
            Some(row) => row.number("latest")?,
            None => 0,
        };
        let taken = Query::new("SELECT slug FROM benchmark_versions WHERE slug = $1 AND benchmark <> $2 AND organization = $3")
            .bind(slug.as_str())
            .bind(read.id)
            .bind(organization);
        if transaction.read_optional(taken).await?.is_some() {
            return Err(StoreError::Taken(SLUG_TAKEN));
        }
        if visibility == Visibility::Public {
            claim_public_slug(&mut transaction, organization, &slug).await?;
        }
        let version = BenchmarkVersion {
            benchmark: read.id,
            version: latest + 1,
            slug,
            visibility,
            digest,
            published_at: self.now(),
            unpublished_at: None,
            stopped_at: None,
        };
        let query = Query::new(
            "INSERT INTO benchmark_versions (benchmark, version, organization, slug, visibility, digest, published_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(version.benchmark)
        .bind(version.version)
        .bind(organization)
        .bind(version.slug.as_str())
        .bind(version.visibility.as_str())
        .bind(version.digest.to_string())
        .bind(version.published_at);
        transaction
            .execute(query)
            .await
            .map_err(|error| error.or_taken(SLUG_TAKEN))?;
        transaction.commit().await?;
        Ok(version)
    }

    /// Hides every version of a benchmark from lists; how many that were. Whoever names a version can still take it, unless
    /// `stop` says that no new run may begin; `Some(false)` says that runs may begin again. Runs go on.
    pub async fn unpublish_benchmark(
        &self,
        benchmark: BenchmarkId,
        stop: Option<bool>,
    ) -> Result<u64, StoreError> {
        let now = self.now();
        let mut transaction = self.database().begin().await?;
        let query = Query::new(
            "UPDATE benchmark_versions SET unpublished_at = $1 WHERE benchmark = $2 AND unpublished_at IS NULL",
        )
        .bind(now)
        .bind(benchmark);
        let hidden = transaction.execute(query).await?;
        let query = match stop {
            None => None,
            Some(true) => Some(
                Query::new(
                    "UPDATE benchmark_versions SET stopped_at = $1 WHERE benchmark = $2 AND stopped_at IS NULL",
                )
                .bind(now)
                .bind(benchmark),
            ),
            Some(false) => Some(
                Query::new("UPDATE benchmark_versions SET stopped_at = NULL WHERE benchmark = $1")
                    .bind(benchmark),
            ),
        };
        if let Some(query) = query {
            transaction.execute(query).await?;
        }
        transaction.commit().await?;
        Ok(hidden)
    }

    /// All versions of a benchmark, newest first.
    pub async fn benchmark_versions(
        &self,
        benchmark: BenchmarkId,
    ) -> Result<Vec<BenchmarkVersion>, StoreError> {
        let text = format!(
            "SELECT {COLUMNS} FROM benchmark_versions WHERE benchmark = $1 ORDER BY version DESC"
        );
        let rows = self
            .database()
            .read_all(Query::assembled(text, vec![benchmark.into()]))
            .await?;
        rows.iter().map(read_version).collect()
    }

    /// One version of a benchmark, taken back or not.
    pub async fn benchmark_version(
        &self,
        benchmark: BenchmarkId,
        version: u32,
    ) -> Result<Option<BenchmarkVersion>, StoreError> {
        let text = format!(
            "SELECT {COLUMNS} FROM benchmark_versions WHERE benchmark = $1 AND version = $2"
        );
        let query = Query::assembled(text, Vec::new())
            .bind(benchmark)
            .bind(version);
        let row = self.database().read_optional(query).await?;
        row.map(|row| read_version(&row)).transpose()
    }

    /// Whose a benchmark is.
    pub async fn owner_of_benchmark(
        &self,
        benchmark: BenchmarkId,
    ) -> Result<Option<OrganizationId>, StoreError> {
        let query = Query::new("SELECT organization FROM benchmarks WHERE id = $1").bind(benchmark);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.id("organization")).transpose()
    }

    /// The newest version of each of these benchmarks that has one, taken back or not.
    pub async fn latest_versions(
        &self,
        benchmarks: &[BenchmarkId],
    ) -> Result<BTreeMap<BenchmarkId, BenchmarkVersion>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT {COLUMNS} FROM benchmark_versions v WHERE benchmark IN ({list}) AND version = \
                 (SELECT MAX(version) FROM benchmark_versions WHERE benchmark = v.benchmark)"
            )
        };
        let rows = self.database().read_for(benchmarks, &[], text).await?;
        rows.iter()
            .map(|row| read_version(row).map(|version| (version.benchmark, version)))
            .collect()
    }

    /// The newest public version of each of these benchmarks that lists show.
    pub async fn listed_public_versions(
        &self,
        benchmarks: &[BenchmarkId],
    ) -> Result<BTreeMap<BenchmarkId, BenchmarkVersion>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT {COLUMNS} FROM benchmark_versions v WHERE benchmark IN ({list}) AND version = \
                 (SELECT MAX(version) FROM benchmark_versions WHERE benchmark = v.benchmark \
                 AND visibility = 'Public' AND unpublished_at IS NULL)"
            )
        };
        let rows = self.database().read_for(benchmarks, &[], text).await?;
        rows.iter()
            .map(|row| read_version(row).map(|version| (version.benchmark, version)))
            .collect()
    }

    /// The version that a member of `organization` means by `slug@version`, hidden from lists or not. A slug means one
    /// benchmark, whatever the version: the organization's own if it ever published one under this slug, else that of the
    /// organization that has the slug in public.
    pub async fn find_version(
        &self,
        organization: OrganizationId,
        slug: &Slug,
        version: u32,
    ) -> Result<Option<BenchmarkVersion>, StoreError> {
        let text = format!(
            "SELECT {COLUMNS} FROM benchmark_versions \
             WHERE slug = $1 AND version = $2 AND (organization = $3 OR (visibility = 'Public' \
             AND organization = (SELECT organization FROM public_slugs WHERE slug = $1) \
             AND NOT EXISTS (SELECT 1 FROM benchmark_versions WHERE slug = $1 AND organization = $3)))"
        );
        let query = Query::assembled(text, Vec::new())
            .bind(slug.as_str())
            .bind(version)
            .bind(organization);
        self.database()
            .read_optional(query)
            .await?
            .map(|row| read_version(&row))
            .transpose()
    }

    /// All versions that a member of `organization` means by a slug, newest first, hidden from lists or not.
    pub async fn versions_of_slug(
        &self,
        organization: OrganizationId,
        slug: &Slug,
    ) -> Result<Vec<BenchmarkVersion>, StoreError> {
        let text = format!(
            "SELECT {COLUMNS} FROM benchmark_versions \
             WHERE slug = $1 AND (organization = $2 OR (visibility = 'Public' \
             AND organization = (SELECT organization FROM public_slugs WHERE slug = $1) \
             AND NOT EXISTS (SELECT 1 FROM benchmark_versions WHERE slug = $1 AND organization = $2))) \
             ORDER BY version DESC"
        );
        let query = Query::assembled(text, Vec::new())
            .bind(slug.as_str())
            .bind(organization);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(read_version).collect()
    }
}

/// Has a slug belong to an organization in public, for ever; [`StoreError::Taken`] if it belongs to another.
async fn claim_public_slug(
    transaction: &mut Transaction,
    organization: OrganizationId,
    slug: &Slug,
) -> Result<(), StoreError> {
    let query =
        Query::new("SELECT organization FROM public_slugs WHERE slug = $1").bind(slug.as_str());
    let owner = transaction.read_optional(query).await?;
    match owner.map(|row| row.id("organization")).transpose()? {
        Some(owner) if owner == organization => Ok(()),
        Some(_) => Err(StoreError::Taken(PUBLIC_SLUG_TAKEN)),
        None => {
            let query = Query::new("INSERT INTO public_slugs (slug, organization) VALUES ($1, $2)")
                .bind(slug.as_str())
                .bind(organization);
            let claimed = transaction.execute(query).await;
            claimed.map_err(|error| error.or_taken(PUBLIC_SLUG_TAKEN))?;
            Ok(())
        }
    }
}

fn read_version(row: &Row) -> Result<BenchmarkVersion, StoreError> {
    Ok(BenchmarkVersion {
        benchmark: row.id("benchmark")?,
        version: row.number("version")?,
        slug: Slug::try_from(row.text("slug")?)
            .map_err(|error| StoreError::corrupt("slug", error))?,
        visibility: match row.text("visibility")?.as_str() {
            "Public" => Visibility::Public,
            _ => Visibility::Private,
        },
        digest: row.parsed("digest")?,
        published_at: row.time("published_at")?,
        unpublished_at: row.opt_time("unpublished_at")?,
        stopped_at: row.opt_time("stopped_at")?,
    })
}
