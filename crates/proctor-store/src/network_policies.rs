//! Network policies: what devboxes may reach, by name.

use proctor_core::{
    id::kinds::{NetworkPolicyId, NetworkPolicyKind, OrganizationId},
    network_policy::Egress,
    time::Timestamp,
};

use crate::{
    Store, StoreError,
    database::{Query, Row},
    names::Sought,
    page::{Listing, Page, PageRequest},
    repeatable::Made,
    runs::document,
};
use proctor_macros::boxed_futures;

/// What a policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyText {
    /// Its name for people; unique within the organization.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What may be reached.
    pub egress: Egress,
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// Its name for programs.
    pub id: NetworkPolicyId,
    /// What it says.
    pub text: PolicyText,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Which policies a list shows.
#[derive(Clone, Debug, Default)]
pub struct PolicyFilter {
    /// The one with this id.
    pub id: Option<NetworkPolicyId>,
    /// Called so.
    pub sought: Sought,
}

const COLUMNS: &str = "id, name, description, egress, created_at, updated_at";
const NAME_TAKEN: &str = "a network policy with this name";

fn read(row: &Row) -> Result<NetworkPolicy, StoreError> {
    Ok(NetworkPolicy {
        id: row.id("id")?,
        text: PolicyText {
            name: row.text("name")?,
            description: row.opt_text("description")?,
            egress: row.json("egress")?,
        },
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

#[boxed_futures]
impl Store {
    /// Makes a policy; [`StoreError::Taken`] when the name is in use.
    pub async fn create_network_policy(
        &self,
        organization: OrganizationId,
        text: PolicyText,
    ) -> Result<NetworkPolicy, StoreError> {
        let made = self.make_once(|id| self.network_policy(organization, id));
        let id = match made.await? {
            Made::Before(policy) => return Ok(policy),
            Made::New(id) => id,
        };
        let now = self.now();
        let policy = NetworkPolicy {
            id,
            text,
            created_at: now,
            updated_at: now,
        };
        let query = Query::new(
            "INSERT INTO network_policies (id, organization, name, description, egress, created_at, updated_at, \
             folded_name) VALUES ($1, $2, $3, $4, $5, $6, $6, $7)",
        )
        .bind(policy.id)
        .bind(organization)
        .bind(policy.text.name.as_str())
        .bind(policy.text.description.clone())
        .bind(document(&policy.text.egress)?)
        .bind(now)
        .bind(policy.text.name.to_lowercase());
        self.database()
            .execute(query)
            .await
            .map_err(|error| error.or_taken(NAME_TAKEN))?;
        Ok(policy)
    }

    /// One of the organization's policies.
    pub async fn network_policy(
        &self,
        organization: OrganizationId,
        id: NetworkPolicyId,
    ) -> Result<Option<NetworkPolicy>, StoreError> {
        let query = Query::new(
            "SELECT id, name, description, egress, created_at, updated_at FROM network_policies \
             WHERE organization = $1 AND id = $2 AND deleted_at IS NULL",
        )
        .bind(organization)
        .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| read(&row)).transpose()
    }

    /// The organization's policy of this name.
    pub async fn network_policy_named(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<Option<NetworkPolicy>, StoreError> {
        let query = Query::new(
            "SELECT id, name, description, egress, created_at, updated_at FROM network_policies \
             WHERE organization = $1 AND name = $2 AND deleted_at IS NULL",
        )
        .bind(organization)
        .bind(name);
        let row = self.database().read_optional(query).await?;
        row.map(|row| read(&row)).transpose()
    }

    /// The organization's policies.
    pub async fn network_policies(
        &self,
        organization: OrganizationId,
        filter: &PolicyFilter,
        page: PageRequest<NetworkPolicyKind>,
    ) -> Result<Page<NetworkPolicy>, StoreError> {
        let mut listing = Listing::new(COLUMNS, "network_policies")
            .filter("organization", organization)
            .only("deleted_at IS NULL");
        if let Some(id) = filter.id {
            listing = listing.filter("id", id);
        }
        listing
            .sought::<NetworkPolicyKind>(self.database(), &filter.sought)
            .await?
            .page(self.database(), page, read)
            .await
    }

    /// Writes a changed policy over `read`; [`StoreError::Stale`] if somebody else changed it.
    pub async fn update_network_policy(
        &self,
        organization: OrganizationId,
        read: &NetworkPolicy,
        text: PolicyText,
    ) -> Result<NetworkPolicy, StoreError> {
        let now = self.now_after(read.updated_at);
        let query = Query::new(
            "UPDATE network_policies SET name = $1, description = $2, egress = $3, updated_at = $4, \
             folded_name = $8 WHERE organization = $5 AND id = $6 AND updated_at = $7 AND deleted_at IS NULL",
        )
        .bind(text.name.as_str())
        .bind(text.description.clone())
        .bind(document(&text.egress)?)
        .bind(now)
        .bind(organization)
        .bind(read.id)
        .bind(read.updated_at)
        .bind(text.name.to_lowercase());
        let changed = self
            .database()
            .execute(query)
            .await
            .map_err(|error| error.or_taken(NAME_TAKEN))?;
        if changed == 0 {
            return Err(StoreError::Stale);
        }
        Ok(NetworkPolicy {
            id: read.id,
            text,
            created_at: read.created_at,
            updated_at: now,
        })
    }

    /// Removes a policy; `false` when there is none.
    pub async fn delete_network_policy(
        &self,
        organization: OrganizationId,
        id: NetworkPolicyId,
    ) -> Result<bool, StoreError> {
        let query = Query::new(
            "UPDATE network_policies SET deleted_at = $1 \
             WHERE organization = $2 AND id = $3 AND deleted_at IS NULL",
        )
        .bind(self.now())
        .bind(organization)
        .bind(id);
        Ok(self.database().execute(query).await? > 0)
    }
}
