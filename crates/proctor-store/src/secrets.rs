//! Secrets: named values that enter worlds, sealed at rest, never shown again.

use proctor_core::{
    id::kinds::{OrganizationId, SecretId, SecretKind},
    time::Timestamp,
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    Store, StoreError,
    database::{Query, Row},
    page::{Listing, Page, PageRequest},
    repeatable::Made,
};
use proctor_macros::boxed_futures;

/// What may be shown of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its name for programs.
    pub id: SecretId,
    /// Its name for people; unique within the organization.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its value last changed.
    pub updated_at: Timestamp,
}

const COLUMNS: &str = "id, name, created_at, updated_at";

impl Secret {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            name: row.text("name")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

/// What a value is sealed for.
fn owner(organization: OrganizationId, name: &str) -> String {
    format!("{organization}/{name}")
}

#[boxed_futures]
impl Store {
    /// Makes a secret; [`StoreError::Taken`] when the name is in use.
    pub async fn create_secret(
        &self,
        organization: OrganizationId,
        name: &str,
        value: &SecretString,
    ) -> Result<Secret, StoreError> {
        let made = self.make_once(|id| self.secret_with_id(organization, id));
        let id = match made.await? {
            Made::Before(secret) => return Ok(secret),
            Made::New(id) => id,
        };
        let now = self.now();
        let secret = Secret {
            id,
            name: name.to_owned(),
            created_at: now,
            updated_at: now,
        };
        let sealed = self
            .vault()
            .seal(&owner(organization, name), value.expose_secret());
        let query = Query::new(
            "INSERT INTO secrets (id, organization, name, sealed, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $5)",
        )
        .bind(secret.id)
        .bind(organization)
        .bind(name)
        .bind(sealed)
        .bind(now);
        self.database()
            .execute(query)
            .await
            .map_err(|error| error.or_taken("a secret with this name"))?;
        Ok(secret)
    }

    /// Gives a secret another value; `None` when there is none of this name.
    pub async fn update_secret(
        &self,
        organization: OrganizationId,
        name: &str,
        value: &SecretString,
    ) -> Result<Option<Secret>, StoreError> {
        let sealed = self
            .vault()
            .seal(&owner(organization, name), value.expose_secret());
        let query = Query::new(
            "UPDATE secrets SET sealed = $1, updated_at = $2 WHERE organization = $3 AND name = $4",
        )
        .bind(sealed)
        .bind(self.now())
        .bind(organization)
        .bind(name);
        self.database().execute(query).await?;
        self.secret(organization, name).await
    }

    /// Finds a secret by name.
    pub async fn secret(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<Option<Secret>, StoreError> {
        let query =
            Query::new("SELECT id, name, created_at, updated_at FROM secrets WHERE organization = $1 AND name = $2")
                .bind(organization)
                .bind(name);
        self.database()
            .read_optional(query)
            .await?
            .map(|row| Secret::read(&row))
            .transpose()
    }

    async fn secret_with_id(
        &self,
        organization: OrganizationId,
        id: SecretId,
    ) -> Result<Option<Secret>, StoreError> {
        let query =
            Query::new("SELECT id, name, created_at, updated_at FROM secrets WHERE organization = $1 AND id = $2")
                .bind(organization)
                .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| Secret::read(&row)).transpose()
    }

    /// The name of the secret with this id.
    pub async fn secret_name(
        &self,
        organization: OrganizationId,
        id: SecretId,
    ) -> Result<Option<String>, StoreError> {
        let query = Query::new("SELECT name FROM secrets WHERE organization = $1 AND id = $2")
            .bind(organization)
            .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.text("name")).transpose()
    }

    /// The value of a secret, for handing it to a world.
    pub async fn secret_value(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<Option<SecretString>, StoreError> {
        let query = Query::new("SELECT sealed FROM secrets WHERE organization = $1 AND name = $2")
            .bind(organization)
            .bind(name);
        match self.database().read_optional(query).await? {
            None => Ok(None),
            Some(row) => {
                let value = self
                    .vault()
                    .open(&owner(organization, name), &row.bytes("sealed")?)?;
                Ok(Some(value.into()))
            }
        }
    }

    /// The organization's secrets.
    pub async fn secrets(
        &self,
        organization: OrganizationId,
        page: PageRequest<SecretKind>,
    ) -> Result<Page<Secret>, StoreError> {
        Listing::new(COLUMNS, "secrets")
            .filter("organization", organization)
            .page(self.database(), page, Secret::read)
            .await
    }

    /// Removes a secret; what it was, or `None` when there is none of this name.
    pub async fn delete_secret(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<Option<Secret>, StoreError> {
        let query = Query::new(
            "DELETE FROM secrets WHERE organization = $1 AND name = $2 RETURNING id, name, created_at, updated_at",
        )
        .bind(organization)
        .bind(name);
        let mut transaction = self.database().begin().await?;
        let deleted = transaction
            .read_optional(query)
            .await?
            .map(|row| Secret::read(&row))
            .transpose()?;
        transaction.commit().await?;
        Ok(deleted)
    }
}
