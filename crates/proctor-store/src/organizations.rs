//! Organizations: the tenants that own everything else.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{OrganizationId, OrganizationKind},
    limits::Limits,
    time::Timestamp,
};

use crate::{
    Store, StoreError,
    credentials::{IssuedKey, KeyOwner, PlainKey},
    database::{Query, Row},
    page::{Listing, Page, PageRequest},
    runs::document,
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
    /// How much it may have.
    pub limits: Limits,
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
            limits: match row.opt_text("limits")? {
                None => Limits::default(),
                Some(_) => row.json("limits")?,
            },
        })
    }
}

#[boxed_futures]
impl Store {
    /// Makes an organization.
    pub async fn create_organization(&self, name: &str) -> Result<Organization, StoreError> {
        let organization = self.new_organization(name, Limits::default());
        self.database().execute(insert(&organization)?).await?;
        Ok(organization)
    }

    /// Makes an organization together with its first key.
    pub async fn create_organization_with_key(
        &self,
        name: &str,
        limits: Limits,
    ) -> Result<(Organization, IssuedKey), StoreError> {
        let organization = self.new_organization(name, limits);
        let key = self.new_key(KeyOwner::Organization, None, None, PlainKey::Random);
        let mut transaction = self.database().begin().await?;
        transaction.execute(insert(&organization)?).await?;
        transaction.execute(key.insert(organization.id)).await?;
        transaction.commit().await?;
        Ok((organization, key.into_issued()))
    }

    fn new_organization(&self, name: &str, limits: Limits) -> Organization {
        Organization {
            id: self.fresh_id(),
            name: name.to_owned(),
            created_at: self.now(),
            limits,
        }
    }

    /// Gives an organization another name and other limits; `None` when there is none. Keys that were shown a moment ago keep
    /// the old limit of requests for two seconds at most.
    pub async fn update_organization(
        &self,
        id: OrganizationId,
        name: &str,
        limits: Limits,
    ) -> Result<Option<Organization>, StoreError> {
        let query = Query::new("UPDATE organizations SET name = $1, limits = $2 WHERE id = $3")
            .bind(name)
            .bind(written(&limits)?)
            .bind(id);
        self.database().execute(query).await?;
        self.credential_cache().forget_all();
        self.organization(id).await
    }

    /// On an empty store makes the first organization and its key; `None` if there is one already,
    /// also when another process made it at the same moment.
    pub async fn bootstrap(
        &self,
        name: &str,
        key: PlainKey,
    ) -> Result<Option<(Organization, IssuedKey)>, StoreError> {
        let organization = self.new_organization(name, Limits::default());
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
        transaction.execute(insert(&organization)?).await?;
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
            Query::new("SELECT id, name, created_at, limits FROM organizations WHERE id = $1")
                .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| Organization::read(&row, "id", "name", "created_at"))
            .transpose()
    }

    /// All organizations, oldest first.
    pub async fn organizations(&self) -> Result<Vec<Organization>, StoreError> {
        let query =
            Query::new("SELECT id, name, created_at, limits FROM organizations ORDER BY id");
        let rows = self.database().read_all(query).await?;
        rows.iter()
            .map(|row| Organization::read(row, "id", "name", "created_at"))
            .collect()
    }

    /// Organizations a page at a time, newest first.
    pub async fn organizations_page(
        &self,
        page: PageRequest<OrganizationKind>,
    ) -> Result<Page<Organization>, StoreError> {
        Listing::new("id, name, created_at, limits", "organizations")
            .page(self.database(), page, |row| {
                Organization::read(row, "id", "name", "created_at")
            })
            .await
    }

    /// The names of these organizations.
    pub async fn organization_names(
        &self,
        ids: &[OrganizationId],
    ) -> Result<BTreeMap<OrganizationId, String>, StoreError> {
        let text = |list: &str| format!("SELECT id, name FROM organizations WHERE id IN ({list})");
        let rows = self.database().read_for(ids, &[], text).await?;
        rows.iter()
            .map(|row| Ok((row.id("id")?, row.text("name")?)))
            .collect()
    }
}

/// Limits as they are stored: nothing for an organization without any.
fn written(limits: &Limits) -> Result<Option<String>, StoreError> {
    match *limits == Limits::default() {
        true => Ok(None),
        false => document(limits).map(Some),
    }
}

fn insert(organization: &Organization) -> Result<Query, StoreError> {
    let query = Query::new(
        "INSERT INTO organizations (id, name, created_at, limits) VALUES ($1, $2, $3, $4)",
    )
    .bind(organization.id)
    .bind(organization.name.as_str())
    .bind(organization.created_at)
    .bind(written(&organization.limits)?);
    Ok(query)
}
