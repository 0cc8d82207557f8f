//! Benchmarks: drafts that change, versions that do not.

use proctor_core::{
    canonical::{self, Digest},
    definition::{Benchmark, BenchmarkVersion, Slug, Visibility},
    id::kinds::{BenchmarkId, BenchmarkKind, OrganizationId},
    time::Timestamp,
};

use crate::{
    Store, StoreError,
    database::{Query, Row, Transaction},
    page::{Listing, Page, PageRequest},
};

/// A benchmark as its author works on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchmarkRecord {
    /// Its name.
    pub id: BenchmarkId,
    /// Whose it is.
    pub organization: OrganizationId,
    /// What people call it.
    pub name: String,
    /// The definition as it stands.
    pub draft: Digest,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was put away, if it was.
    pub archived_at: Option<Timestamp>,
    revision: i64,
}

const COLUMNS: &str =
    "id, organization, name, draft, created_at, updated_at, archived_at, revision";
const VERSION_COLUMNS: &str =
    "benchmark, version, slug, visibility, digest, published_at, unpublished_at";

impl BenchmarkRecord {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            organization: row.id("organization")?,
            name: row.text("name")?,
            draft: row.parsed("draft")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
            archived_at: row.opt_time("archived_at")?,
            revision: row.int("revision")?,
        })
    }
}

impl Store {
    /// Stores a definition under its digest, if it is not there already.
    async fn put_definition(
        &self,
        transaction: &mut Transaction,
        benchmark: &Benchmark,
    ) -> Result<Digest, StoreError> {
        let body = canonical::to_bytes(&benchmark.to_value());
        let digest = Digest::of_bytes(&body);
        let body =
            String::from_utf8(body).map_err(|error| StoreError::corrupt("definition", error))?;
        let query = Query::new("INSERT INTO definitions (digest, body) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING")
            .bind(digest.to_string())
            .bind(body);
        transaction.execute(query).await?;
        Ok(digest)
    }

    /// The definition with this digest, checked against it.
    pub async fn definition(&self, digest: &Digest) -> Result<Option<Benchmark>, StoreError> {
        let query =
            Query::new("SELECT body FROM definitions WHERE digest = $1").bind(digest.to_string());
        let Some(row) = self.database().read_optional(query).await? else {
            return Ok(None);
        };
        if Digest::of_bytes(row.text("body")?.as_bytes()) != *digest {
            return Err(StoreError::Corrupt(format!(
                "the definition {digest} has other content than its name says"
            )));
        }
        row.json("body").map(Some)
    }

    /// Makes a benchmark.
    pub async fn create_benchmark(
        &self,
        organization: OrganizationId,
        benchmark: &Benchmark,
    ) -> Result<BenchmarkRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let draft = self.put_definition(&mut transaction, benchmark).await?;
        let now = self.now();
        let record = BenchmarkRecord {
            id: self.fresh_id(),
            organization,
            name: benchmark.name.clone(),
            draft,
            created_at: now,
            updated_at: now,
            archived_at: None,
            revision: 1,
        };
        let query = Query::new(
            "INSERT INTO benchmarks (id, organization, name, draft, created_at, updated_at, revision) \
             VALUES ($1, $2, $3, $4, $5, $5, $6)",
        )
        .bind(record.id)
        .bind(organization)
        .bind(record.name.as_str())
        .bind(draft.to_string())
        .bind(now)
        .bind(record.revision);
        transaction.execute(query).await?;
        transaction.commit().await?;
        Ok(record)
    }

    /// One of the organization's benchmarks.
    pub async fn benchmark(
        &self,
        organization: OrganizationId,
        id: BenchmarkId,
    ) -> Result<Option<BenchmarkRecord>, StoreError> {
        let query = Query::new(
            "SELECT id, organization, name, draft, created_at, updated_at, archived_at, revision \
             FROM benchmarks WHERE organization = $1 AND id = $2",
        )
        .bind(organization)
        .bind(id);
        self.database()
            .read_optional(query)
            .await?
            .map(|row| BenchmarkRecord::read(&row))
            .transpose()
    }

    /// The organization's benchmarks that are not put away.
    pub async fn benchmarks(
        &self,
        organization: OrganizationId,
        page: PageRequest<BenchmarkKind>,
    ) -> Result<Page<BenchmarkRecord>, StoreError> {
        Listing::new(COLUMNS, "benchmarks")
            .filter("organization", organization)
            .only("archived_at IS NULL")
            .page(self.database(), page, BenchmarkRecord::read)
            .await
    }

    /// Writes a changed draft over `read`; [`StoreError::Stale`] if somebody else changed it since.
    pub async fn update_benchmark(
        &self,
        read: &BenchmarkRecord,
        benchmark: &Benchmark,
    ) -> Result<BenchmarkRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let draft = self.put_definition(&mut transaction, benchmark).await?;
        let record = BenchmarkRecord {
            name: benchmark.name.clone(),
            draft,
            ..read.clone()
        };
        let record = self.write_benchmark(&mut transaction, record).await?;
        transaction.commit().await?;
        Ok(record)
    }

    /// Puts a benchmark away, or takes it out again.
    pub async fn archive_benchmark(
        &self,
        read: &BenchmarkRecord,
        archived: bool,
    ) -> Result<BenchmarkRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let record = BenchmarkRecord {
            archived_at: archived.then(|| self.now()),
            ..read.clone()
        };
        let record = self.write_benchmark(&mut transaction, record).await?;
        transaction.commit().await?;
        Ok(record)
    }

    async fn write_benchmark(
        &self,
        transaction: &mut Transaction,
        record: BenchmarkRecord,
    ) -> Result<BenchmarkRecord, StoreError> {
        let now = self.now();
        let query = Query::new(
            "UPDATE benchmarks SET name = $1, draft = $2, archived_at = $3, updated_at = $4, revision = revision + 1 \
             WHERE id = $5 AND revision = $6",
        )
        .bind(record.name.as_str())
        .bind(record.draft.to_string())
        .bind(record.archived_at)
        .bind(now)
        .bind(record.id)
        .bind(record.revision);
        if transaction.execute(query).await? == 0 {
            return Err(StoreError::Stale);
        }
        Ok(BenchmarkRecord {
            updated_at: now,
            revision: record.revision + 1,
            ..record
        })
    }

    /// Freezes the draft as the next version. [`StoreError::Taken`] when another benchmark has
    /// this slug.
    pub async fn publish_benchmark(
        &self,
        read: &BenchmarkRecord,
        slug: Slug,
        visibility: Visibility,
    ) -> Result<BenchmarkVersion, StoreError> {
        let mut transaction = self.database().begin().await?;
        // Raising the revision first makes two publishers of one benchmark take turns.
        let record = self.write_benchmark(&mut transaction, read.clone()).await?;
        let query = Query::new("SELECT COALESCE(MAX(version), 0) AS latest FROM benchmark_versions WHERE benchmark = $1")
            .bind(record.id);
        let latest = match transaction.read_optional(query).await? {
            Some(row) => row.number("latest")?,
            None => 0,
        };
        let taken = Query::new("SELECT slug FROM benchmark_versions WHERE slug = $1 AND benchmark <> $2 AND organization = $3")
            .bind(slug.as_str())
            .bind(record.id)
            .bind(record.organization);
        if transaction.read_optional(taken).await?.is_some() {
            return Err(StoreError::Taken(SLUG_TAKEN));
        }
        let version = BenchmarkVersion {
            benchmark: record.id,
            version: latest + 1,
            slug,
            visibility,
            digest: record.draft,
            published_at: self.now(),
            unpublished_at: None,
        };
        let query = Query::new(
            "INSERT INTO benchmark_versions (benchmark, version, organization, slug, visibility, digest, published_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(version.benchmark)
        .bind(version.version)
        .bind(record.organization)
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

    /// Takes every version of a benchmark back: nobody can start it any more. Runs go on.
    pub async fn unpublish_benchmark(&self, benchmark: BenchmarkId) -> Result<u64, StoreError> {
        let query = Query::new(
            "UPDATE benchmark_versions SET unpublished_at = $1 WHERE benchmark = $2 AND unpublished_at IS NULL",
        )
        .bind(self.now())
        .bind(benchmark);
        self.database().execute(query).await
    }

    /// All versions of a benchmark, newest first.
    pub async fn benchmark_versions(
        &self,
        benchmark: BenchmarkId,
    ) -> Result<Vec<BenchmarkVersion>, StoreError> {
        let text = format!(
            "SELECT {VERSION_COLUMNS} FROM benchmark_versions WHERE benchmark = $1 ORDER BY version DESC"
        );
        let rows = self
            .database()
            .read_all(Query::assembled(text, vec![benchmark.into()]))
            .await?;
        rows.iter().map(read_version).collect()
    }

    /// The published version that a member of `organization` means by `slug@version`: its own
    /// benchmark first, then a public one.
    pub async fn find_version(
        &self,
        organization: OrganizationId,
        slug: &Slug,
        version: u32,
    ) -> Result<Option<BenchmarkVersion>, StoreError> {
        let text = format!(
            "SELECT {VERSION_COLUMNS} FROM benchmark_versions \
             WHERE slug = $1 AND version = $2 AND unpublished_at IS NULL \
             AND (organization = $3 OR visibility = 'Public') \
             ORDER BY CASE WHEN organization = $3 THEN 0 ELSE 1 END LIMIT 1"
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
}

const SLUG_TAKEN: &str = "a published benchmark with this slug";

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
    })
}
