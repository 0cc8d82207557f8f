//! What authors work on: the shape that all drafts share.
//!
//! A draft is a JSON document in a table of its kind. Where the database itself must look after
//! something (what may not be deleted because something else uses it), a column repeats it.

use proctor_core::{
    id::{Id, Kind, kinds::OrganizationId},
    time::Timestamp,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Store, StoreError,
    database::{Param, Query, Row, Transaction},
    page::Listing,
    repeatable::Made,
    runs::document,
};

/// Something as its author has it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft<K: Kind, T> {
    /// Its name.
    pub id: Id<K>,
    /// What it says.
    pub content: T,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed. No two states of one draft have the same.
    pub updated_at: Timestamp,
}

/// A column of a draft's table with its value.
pub(crate) type Column = (&'static str, Param);

/// A kind of content that has a table of drafts.
pub(crate) trait Authored: Serialize + DeserializeOwned {
    type Kind: Kind;
    const TABLE: &'static str;
    /// What is there already when a unique column has the value.
    const TAKEN: &'static str = "something of this name";
    /// Why a row cannot be deleted while others point to it.
    const IN_USE: &'static str = "something else still uses it";
    /// Which rows are there at all.
    const LIVE: &'static str = "1 = 1";

    /// What the table repeats of the content.
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }

    fn read(row: &Row) -> Result<Draft<Self::Kind, Self>, StoreError> {
        Ok(Draft {
            id: row.id("id")?,
            content: row.json("body")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }

    /// All drafts of the organization, for a list.
    fn listing(organization: OrganizationId) -> Listing {
        Listing::new(COLUMNS, Self::TABLE)
            .filter("organization", organization)
            .only(Self::LIVE)
    }

    /// The query for one draft.
    fn query(organization: OrganizationId, id: Id<Self::Kind>) -> Query {
        let text = format!(
            "SELECT {COLUMNS} FROM {} WHERE organization = $1 AND id = $2 AND {}",
            Self::TABLE,
            Self::LIVE
        );
        Query::assembled(text, vec![organization.into(), id.into()])
    }
}

pub(crate) const COLUMNS: &str = "id, body, created_at, updated_at";

impl Store {
    /// Now, but later than `earlier`: so `updated_at` tells any two states apart.
    pub(crate) fn now_after(&self, earlier: Timestamp) -> Timestamp {
        self.now()
            .max(Timestamp::from_millis(earlier.as_millis() + 1))
    }

    pub(crate) async fn find_draft<T: Authored>(
        &self,
        organization: OrganizationId,
        id: Id<T::Kind>,
    ) -> Result<Option<Draft<T::Kind, T>>, StoreError> {
        let query = T::query(organization, id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| T::read(&row)).transpose()
    }

    /// Makes a draft; `more` are columns that its content does not have.
    pub(crate) async fn insert_draft<T: Authored>(
        &self,
        transaction: &mut Transaction,
        organization: OrganizationId,
        content: T,
        more: Vec<Column>,
    ) -> Result<Draft<T::Kind, T>, StoreError> {
        let id = self.fresh_id();
        self.insert_draft_as(id, transaction, organization, content, more)
            .await
    }

    /// The same under an id that was chosen before.
    pub(crate) async fn insert_draft_as<T: Authored>(
        &self,
        id: Id<T::Kind>,
        transaction: &mut Transaction,
        organization: OrganizationId,
        content: T,
        more: Vec<Column>,
    ) -> Result<Draft<T::Kind, T>, StoreError> {
        let now = self.now();
        let draft = Draft {
            id,
            content,
            created_at: now,
            updated_at: now,
        };
        let mut columns: Vec<Column> = vec![
            ("id", draft.id.into()),
            ("organization", organization.into()),
            ("body", document(&draft.content)?.into()),
            ("created_at", now.into()),
            ("updated_at", now.into()),
        ];
        columns.extend(draft.content.columns());
        columns.extend(more);
        let places: Vec<_> = (1..=columns.len())
            .map(|place| format!("${place}"))
            .collect();
        let (names, params): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let text = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            T::TABLE,
            names.join(", "),
            places.join(", ")
        );
        transaction
            .execute(Query::assembled(text, params))
            .await
            .map_err(|error| error.or_taken(T::TAKEN).or_stale())?;
        Ok(draft)
    }

    /// Writes `content` over `read`; [`StoreError::Stale`] if it has changed since or is gone.
    pub(crate) async fn write_draft<T: Authored>(
        &self,
        transaction: &mut Transaction,
        read: &Draft<T::Kind, T>,
        content: T,
        more: Vec<Column>,
    ) -> Result<Draft<T::Kind, T>, StoreError> {
        let now = self.now_after(read.updated_at);
        let mut columns: Vec<Column> = vec![
            ("body", document(&content)?.into()),
            ("updated_at", now.into()),
        ];
        columns.extend(content.columns());
        columns.extend(more);
        let assignments: Vec<_> = columns
            .iter()
            .enumerate()
            .map(|(place, (name, _))| format!("{name} = ${}", place + 1))
            .collect();
        let text = format!(
            "UPDATE {} SET {} WHERE id = ${} AND updated_at = ${} AND {}",
            T::TABLE,
            assignments.join(", "),
            columns.len() + 1,
            columns.len() + 2,
            T::LIVE
        );
        let params = columns.into_iter().map(|(_, value)| value).collect();
        let query = Query::assembled(text, params)
            .bind(read.id)
            .bind(read.updated_at);
        let changed = transaction
            .execute(query)
            .await
            .map_err(|error| error.or_taken(T::TAKEN).or_stale())?;
        if changed == 0 {
            return Err(StoreError::Stale);
        }
        Ok(Draft {
            id: read.id,
            content,
            created_at: read.created_at,
            updated_at: now,
        })
    }

    /// Makes a draft whose content is all there is to it.
    pub(crate) async fn create_draft<T: Authored>(
        &self,
        organization: OrganizationId,
        content: T,
    ) -> Result<Draft<T::Kind, T>, StoreError> {
        let made = self.make_once(|id| self.find_draft::<T>(organization, id));
        let id = match made.await? {
            Made::Before(draft) => return Ok(draft),
            Made::New(id) => id,
        };
        let mut transaction = self.database().begin().await?;
        let draft = self
            .insert_draft_as(id, &mut transaction, organization, content, Vec::new())
            .await?;
        transaction.commit().await?;
        Ok(draft)
    }

    /// Changes a draft whose content is all there is to it.
    pub(crate) async fn update_draft<T: Authored>(
        &self,
        read: &Draft<T::Kind, T>,
        content: T,
    ) -> Result<Draft<T::Kind, T>, StoreError> {
        let mut transaction = self.database().begin().await?;
        let draft = self
            .write_draft(&mut transaction, read, content, Vec::new())
            .await?;
        transaction.commit().await?;
        Ok(draft)
    }

    /// Deletes a draft; `false` when there is none, [`StoreError::InUse`] while others need it.
    pub(crate) async fn delete_draft<T: Authored>(
        &self,
        organization: OrganizationId,
        id: Id<T::Kind>,
    ) -> Result<bool, StoreError> {
        let text = format!(
            "DELETE FROM {} WHERE organization = $1 AND id = $2",
            T::TABLE
        );
        let query = Query::assembled(text, vec![organization.into(), id.into()]);
        let deleted = self
            .database()
            .execute(query)
            .await
            .map_err(|error| error.or_in_use(T::IN_USE))?;
        Ok(deleted > 0)
    }
}
