//! Drafts that have an owner, can be put away, and can be opened to everybody.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::id::{Id, Kind, kinds::OrganizationId};

use crate::{
    Store, StoreError,
    benchmarks::BenchmarkDraft,
    database::{Param, Query, Row, Transaction},
    drafts::{Authored, Draft},
    names::Sought,
    page::{Listing, Page, PageRequest},
    tasks::TaskDraft,
};

/// A draft with whose it is and who may do what with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed<D> {
    /// The draft.
    pub draft: D,
    /// Whose it is.
    pub owner: OrganizationId,
    /// Whether it is put away: it can be read, but neither changed nor taken, and no list shows it.
    pub archived: bool,
    /// Whether everybody may read and take it; then nobody may change it.
    pub public: bool,
}

/// Whose drafts are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The organization's own.
    Own(OrganizationId),
    /// Everybody's that are open to all.
    Public,
}

/// A kind of draft with the columns that placing needs.
pub(crate) trait Placeable: Authored {
    /// Which of its rows are meant at all.
    const MEANT: &'static str = Self::LIVE;

    fn place(row: &Row) -> Result<Placed<Draft<Self::Kind, Self>>, StoreError> {
        Ok(Placed {
            draft: Self::read(row)?,
            owner: row.id("organization")?,
            archived: row.opt_int("archived_at")?.is_some(),
            public: row.opt_int("public_at")?.is_some(),
        })
    }
}

impl Placeable for BenchmarkDraft {}

impl Placeable for TaskDraft {
    const MEANT: &'static str = "in_box = 1";
}

const COLUMNS: &str = "id, organization, body, created_at, updated_at, archived_at, public_at";

/// All drafts of a kind, whosever they are.
pub(crate) fn listing<T: Placeable>() -> Listing {
    Listing::new(COLUMNS, T::TABLE).only(T::MEANT)
}

impl Whose {
    /// Those of a kind that are not put away.
    pub(crate) fn listing<T: Placeable>(self) -> Listing {
        let listing = listing::<T>().only("archived_at IS NULL");
        match self {
            Self::Own(organization) => listing.filter("organization", organization),
            Self::Public => listing.only("public_at IS NOT NULL"),
        }
    }
}

impl Store {
    /// A draft that is the organization's own or open to all.
    pub(crate) async fn find_placed<T: Placeable>(
        &self,
        organization: OrganizationId,
        id: Id<T::Kind>,
    ) -> Result<Option<Placed<Draft<T::Kind, T>>>, StoreError> {
        let found = self.find_all_placed::<T>(organization, &[id]).await?;
        Ok(found.into_iter().next())
    }

    /// Those of these drafts that are the organization's own or open to all.
    pub(crate) async fn find_all_placed<T: Placeable>(
        &self,
        organization: OrganizationId,
        ids: &[Id<T::Kind>],
    ) -> Result<Vec<Placed<Draft<T::Kind, T>>>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT {COLUMNS} FROM {} WHERE (organization = $1 OR public_at IS NOT NULL) \
                 AND {} AND id IN ({list})",
                T::TABLE,
                T::MEANT
            )
        };
        let given = [organization.into()];
        let rows = self.database().read_for(ids, &given, text).await?;
        rows.iter().map(T::place).collect()
    }

    /// A page of drafts that are not put away.
    pub(crate) async fn list_placed<T: Placeable>(
        &self,
        listing: Listing,
        sought: &Sought,
        page: PageRequest<T::Kind>,
    ) -> Result<Page<Placed<Draft<T::Kind, T>>>, StoreError> {
        let listing = listing.sought::<T::Kind>(self.database(), sought).await?;
        listing.page(self.database(), page, T::place).await
    }

    /// Puts a draft away, or takes it out again.
    pub(crate) async fn put_away<T: Placeable>(
        &self,
        id: Id<T::Kind>,
        archived: bool,
    ) -> Result<(), StoreError> {
        let (text, now): (_, Option<_>) = if archived {
            // What was put away before keeps its time.
            let text = format!(
                "UPDATE {} SET archived_at = COALESCE(archived_at, $1) WHERE id = $2",
                T::TABLE
            );
            (text, Some(self.now()))
        } else {
            let text = format!("UPDATE {} SET archived_at = $1 WHERE id = $2", T::TABLE);
            (text, None)
        };
        let query = Query::assembled(text, vec![now.into(), id.into()]);
        self.database().execute(query).await?;
        Ok(())
    }

    /// Opens drafts to everybody.
    pub(crate) async fn open_to_all<T: Placeable>(
        &self,
        transaction: &mut Transaction,
        ids: &[Id<T::Kind>],
    ) -> Result<(), StoreError> {
        for id in ids {
            let text = format!(
                "UPDATE {} SET public_at = COALESCE(public_at, $1) WHERE id = $2",
                T::TABLE
            );
            let query = Query::assembled(text, vec![self.now().into(), (*id).into()]);
            transaction.execute(query).await?;
        }
        Ok(())
    }

    /// All labels of the organization's drafts that are not put away: keys with their values.
    pub(crate) async fn labels<T: Placeable>(
        &self,
        organization: OrganizationId,
    ) -> Result<BTreeMap<String, BTreeSet<String>>, StoreError> {
        let text = format!(
            "SELECT DISTINCT metadata FROM {} WHERE organization = $1 AND {} \
             AND archived_at IS NULL AND metadata IS NOT NULL",
            T::TABLE,
            T::MEANT
        );
        let params: Vec<Param> = vec![organization.into()];
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in self
            .database()
            .read_all(Query::assembled(text, params))
            .await?
        {
            let labels: BTreeMap<String, String> = row.json("metadata")?;
            for (key, value) in labels {
                all.entry(key).or_default().insert(value);
            }
        }
        Ok(all)
    }
}

impl<K: Kind, T> Placed<Draft<K, T>> {
    /// Its name.
    pub fn id(&self) -> Id<K> {
        self.draft.id
    }
}
