//! Organizations: the tenants that own everything else.

use proctor_core::{id::kinds::OrganizationId, time::Timestamp};

use crate::{
    Store, StoreError,
    credentials::{IssuedKey, KeyOwner, PlainKey},
    database::{Query, Row},
};
use proctor_macros::boxed_futures;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    /// Its name.
    pub id: OrganizationId,
    /// What people call it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Organization {
    pub(crate) fn read(
        row: &Row,
        id: &str,
        name: &str,
        created_at: &str,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id(id)?,
            name: row.text(name)?,
            created_at: row.time(created_at)?,
        })
    }
}

#[boxed_futures]
impl Store {
    /// Makes an organization.
    pub async fn create_organization(&self, name: &str) -> Result<Organization, StoreError> {
        let organization = Organization {
            id: self.fresh_id(),
            name: name.to_owned(),
            created_at: self.now(),
        };
        self.database().execute(insert(&organization)).await?;
        Ok(organization)
    }

    /// On an empty store makes the first organization and its key; `None` if there is one already,
    /// also when another process made it at the same moment.
    pub async fn bootstrap(
        &self,
        name: &str,
        key: PlainKey,
    ) -> Result<Option<(Organization, IssuedKey)>, StoreError> {
        let organization = Organization {
            id: self.fresh_id(),
            name: name.to_owned(),
            created_at: self.now(),
        };
        let mut transaction = self.database().begin().await?;
        // One statement decides, so two processes that start together make one organization. On
        // PostgreSQL the lock makes the second one wait until it can see the first one's row.
        transaction.lock_table("organizations").await?;
        let first = transaction
            .read_optional(Query::new("SELECT id FROM organizations LIMIT 1"))
            .await?
            .is_none();
        if !first {
            return Ok(None);
        }
        transaction.execute(insert(&organization)).await?;
        let issued = self.new_key(
            KeyOwner::Organization,
            Some("bootstrap".to_owned()),
            None,
            key,
        );
        transaction.execute(issued.insert(organization.id)).await?;
        transaction.commit().await?;
        Ok(Some((organization, issued.into_issued())))
    }

    /// Finds an organization.
    pub async fn organization(
        &self,
        id: OrganizationId,
    ) -> Result<Option<Organization>, StoreError> {
        let query =
            Query::new("SELECT id, name, created_at FROM organizations WHERE id = $1").bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| Organization::read(&row, "id", "name", "created_at"))
            .transpose()
    }

    /// All organizations, oldest first.
    pub async fn organizations(&self) -> Result<Vec<Organization>, StoreError> {
        let query = Query::new("SELECT id, name, created_at FROM organizations ORDER BY id");
        let rows = self.database().read_all(query).await?;
        rows.iter()
            .map(|row| Organization::read(row, "id", "name", "created_at"))
            .collect()
    }
}

fn insert(organization: &Organization) -> Query {
    Query::new("INSERT INTO organizations (id, name, created_at) VALUES ($1, $2, $3)")
        .bind(organization.id)
        .bind(organization.name.as_str())
        .bind(organization.created_at)
}
