//! The log of leaderboards: what was put on them, what was taken off, and why.

use proctor_core::{
    id::kinds::{BenchmarkId, LeaderboardChangeId, LeaderboardChangeKind, OrganizationId, RunId},
    run::Run,
    time::Timestamp,
};
use proctor_macros::boxed_futures;

use crate::{
    Store, StoreError,
    database::{Query, Row},
    page::{Listing, Page, PageRequest},
};

/// A run that was put on a leaderboard or taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderboardChange {
    /// Its name.
    pub id: LeaderboardChangeId,
    /// Whose run it is.
    pub organization: OrganizationId,
    /// The run.
    pub run: RunId,
    /// Whether it was put on.
    pub added: bool,
    /// Why, in words.
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
}

#[boxed_futures]
impl Store {
    /// The log of a benchmark's leaderboard, newest first.
    pub async fn leaderboard_log(
        &self,
        benchmark: BenchmarkId,
        page: PageRequest<LeaderboardChangeKind>,
    ) -> Result<Page<LeaderboardChange>, StoreError> {
        let read = |row: &Row| {
            Ok(LeaderboardChange {
                id: row.id("id")?,
                organization: row.id("organization")?,
                run: row.id("run")?,
                added: row.flag("added")?,
                reason: row.opt_text("reason")?,
                at: row.time("changed_at")?,
            })
        };
        Listing::new(
            "id, organization, run, added, reason, changed_at",
            "leaderboard_log",
        )
        .filter("benchmark", benchmark)
        .page(self.database(), page, read)
        .await
    }
}

/// Notes that a run was put on its leaderboard or taken off.
pub(crate) fn change_of(
    id: LeaderboardChangeId,
    after: &Run,
    reason: Option<&str>,
    now: Timestamp,
) -> Query {
    Query::new(
        "INSERT INTO leaderboard_log (id, benchmark, organization, run, added, reason, changed_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(id)
    .bind(after.pinned.benchmark)
    .bind(after.organization)
    .bind(after.id)
    .bind(after.ranked_at.is_some())
    .bind(reason.map(str::to_owned))
    .bind(now)
}
