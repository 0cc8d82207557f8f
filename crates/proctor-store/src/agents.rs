//! Agents: programs that take tasks by themselves.

use proctor_core::{
    agent::{Agent, AgentManifest, AgentSource},
    id::kinds::{AgentId, AgentKind, OrganizationId},
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

/// Which agents a list shows.
#[derive(Clone, Debug, Default)]
pub struct AgentFilter {
    /// Called so.
    pub sought: Sought,
    /// Of this version.
    pub version: Option<AgentVersion>,
}

/// A version that a list asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentVersion {
    /// The newest of each name.
    Latest,
    /// This one.
    Exact(String),
}

const COLUMNS: &str = "id, name, version, source, manifest, created_at";

fn read(row: &Row) -> Result<Agent, StoreError> {
    let source = match row.opt_text("source")? {
        None => None,
        Some(_) => Some(row.json("source")?),
    };
    let manifest = match row.opt_text("manifest")? {
        None => None,
        Some(_) => Some(row.json("manifest")?),
    };
    Ok(Agent {
        id: row.id("id")?,
        name: row.text("name")?,
        version: row.opt_text("version")?,
        source,
        manifest,
        created_at: row.time("created_at")?,
    })
}

#[boxed_futures]
impl Store {
    /// Registers an agent.
    pub async fn create_agent(
        &self,
        organization: OrganizationId,
        name: String,
        version: Option<String>,
        source: Option<AgentSource>,
    ) -> Result<Agent, StoreError> {
        let made = self.make_once(|id| self.agent(organization, id));
        let id = match made.await? {
            Made::Before(agent) => return Ok(agent),
            Made::New(id) => id,
        };
        let agent = Agent {
            id,
            name,
            version,
            source,
            manifest: None,
            created_at: self.now(),
        };
        let source = agent.source.as_ref().map(document).transpose()?;
        let query = Query::new(
            "INSERT INTO agents (id, organization, name, version, source, created_at, folded_name) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(agent.id)
        .bind(organization)
        .bind(agent.name.as_str())
        .bind(agent.version.clone())
        .bind(source)
        .bind(agent.created_at)
        .bind(agent.name.to_lowercase());
        self.database().execute(query).await?;
        Ok(agent)
    }

    /// One of the organization's agents.
    pub async fn agent(
        &self,
        organization: OrganizationId,
        id: AgentId,
    ) -> Result<Option<Agent>, StoreError> {
        let query = Query::new(
            "SELECT id, name, version, source, manifest, created_at FROM agents \
             WHERE organization = $1 AND id = $2 AND deleted_at IS NULL",
        )
        .bind(organization)
        .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| read(&row)).transpose()
    }

    /// The newest of the organization's agents that has this name.
    pub async fn agent_named(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<Option<Agent>, StoreError> {
        let query = Query::new(
            "SELECT id, name, version, source, manifest, created_at FROM agents \
             WHERE organization = $1 AND name = $2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1",
        )
        .bind(organization)
        .bind(name);
        let row = self.database().read_optional(query).await?;
        row.map(|row| read(&row)).transpose()
    }

    /// The organization's agents.
    pub async fn agents(
        &self,
        organization: OrganizationId,
        filter: &AgentFilter,
        page: PageRequest<AgentKind>,
    ) -> Result<Page<Agent>, StoreError> {
        let mut listing = Listing::new(COLUMNS, "agents")
            .filter("organization", organization)
            .only("deleted_at IS NULL");
        listing = match &filter.version {
            None => listing,
            Some(AgentVersion::Exact(version)) => listing.filter("version", version.as_str()),
            Some(AgentVersion::Latest) => listing.only(
                "id = (SELECT MAX(same.id) FROM agents same WHERE same.organization = agents.organization \
                 AND same.name = agents.name AND same.deleted_at IS NULL)",
            ),
        };
        listing
            .sought::<AgentKind>(self.database(), &filter.sought)
            .await?
            .page(self.database(), page, read)
            .await
    }

    /// Says how an agent is started; none takes back what was said. `false` when there is no such agent.
    pub async fn set_agent_manifest(
        &self,
        organization: OrganizationId,
        id: AgentId,
        manifest: Option<&AgentManifest>,
    ) -> Result<bool, StoreError> {
        let query = Query::new(
            "UPDATE agents SET manifest = $1 WHERE organization = $2 AND id = $3 AND deleted_at IS NULL",
        )
        .bind(manifest.map(document).transpose()?)
        .bind(organization)
        .bind(id);
        Ok(self.database().execute(query).await? > 0)
    }

    /// Removes an agent; `false` when there is none.
    pub async fn delete_agent(
        &self,
        organization: OrganizationId,
        id: AgentId,
    ) -> Result<bool, StoreError> {
        let query = Query::new(
            "UPDATE agents SET deleted_at = $1 WHERE organization = $2 AND id = $3 AND deleted_at IS NULL",
        )
        .bind(self.now())
        .bind(organization)
        .bind(id);
        Ok(self.database().execute(query).await? > 0)
    }
}
