//! Solvers: the parties that take benchmarks.

use proctor_core::{
    id::kinds::{OrganizationId, SolverId, SolverKind},
    time::Timestamp,
};

use crate::{
    Store, StoreError,
    database::{Query, Row},
    page::{Listing, Page, PageRequest},
};
use proctor_macros::boxed_futures;

/// A party that takes benchmarks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solver {
    /// Its name.
    pub id: SolverId,
    /// What it says of itself.
    pub profile: SolverProfile,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its profile last changed.
    pub updated_at: Timestamp,
}

/// What a Solver says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SolverProfile {
    /// The name on leaderboards; unique within the organization.
    pub alias: String,
    /// Who it really is.
    pub real_name: String,
    /// What its agent is.
    pub agent_description: String,
    /// Whom to write to.
    pub contact_email: String,
    /// Which version of its agent.
    pub agent_version: Option<String>,
}

const COLUMNS: &str =
    "id, alias, real_name, agent_description, contact_email, agent_version, created_at, updated_at";
const ALIAS_TAKEN: &str = "a solver with this alias";

impl Solver {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            profile: SolverProfile {
                alias: row.text("alias")?,
                real_name: row.text("real_name")?,
                agent_description: row.text("agent_description")?,
                contact_email: row.text("contact_email")?,
                agent_version: row.opt_text("agent_version")?,
            },
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

#[boxed_futures]
impl Store {
    /// Makes a Solver.
    pub async fn create_solver(
        &self,
        organization: OrganizationId,
        profile: SolverProfile,
    ) -> Result<Solver, StoreError> {
        let now = self.now();
        let solver = Solver {
            id: self.fresh_id(),
            profile,
            created_at: now,
            updated_at: now,
        };
        let query = Query::new(
            "INSERT INTO solvers (id, organization, alias, real_name, agent_description, contact_email, \
             agent_version, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
        )
        .bind(solver.id)
        .bind(organization)
        .bind(solver.profile.alias.as_str())
        .bind(solver.profile.real_name.as_str())
        .bind(solver.profile.agent_description.as_str())
        .bind(solver.profile.contact_email.as_str())
        .bind(solver.profile.agent_version.clone())
        .bind(now);
        self.database()
            .execute(query)
            .await
            .map_err(|error| error.or_taken(ALIAS_TAKEN))?;
        Ok(solver)
    }

    /// One of the organization's Solvers.
    pub async fn solver(
        &self,
        organization: OrganizationId,
        id: SolverId,
    ) -> Result<Option<Solver>, StoreError> {
        let query = Query::new(
            "SELECT id, alias, real_name, agent_description, contact_email, agent_version, created_at, updated_at \
             FROM solvers WHERE organization = $1 AND id = $2 AND deleted_at IS NULL",
        )
        .bind(organization)
        .bind(id);
        self.database()
            .read_optional(query)
            .await?
            .map(|row| Solver::read(&row))
            .transpose()
    }

    /// The organization's Solvers.
    pub async fn solvers(
        &self,
        organization: OrganizationId,
        page: PageRequest<SolverKind>,
    ) -> Result<Page<Solver>, StoreError> {
        Listing::new(COLUMNS, "solvers")
            .filter("organization", organization)
            .only("deleted_at IS NULL")
            .page(self.database(), page, Solver::read)
            .await
    }

    /// Writes a changed profile over `read`; [`StoreError::Stale`] if somebody else changed it
    /// since it was read.
    pub async fn update_solver(
        &self,
        organization: OrganizationId,
        read: &Solver,
        profile: SolverProfile,
    ) -> Result<Solver, StoreError> {
        let now = self.now_after(read.updated_at);
        let query = Query::new(
            "UPDATE solvers SET alias = $1, real_name = $2, agent_description = $3, contact_email = $4, \
             agent_version = $5, updated_at = $6 \
             WHERE organization = $7 AND id = $8 AND updated_at = $9 AND deleted_at IS NULL",
        )
        .bind(profile.alias.as_str())
        .bind(profile.real_name.as_str())
        .bind(profile.agent_description.as_str())
        .bind(profile.contact_email.as_str())
        .bind(profile.agent_version.clone())
        .bind(now)
        .bind(organization)
        .bind(read.id)
        .bind(read.updated_at);
        let changed = self
            .database()
            .execute(query)
            .await
            .map_err(|error| error.or_taken(ALIAS_TAKEN))?;
        if changed == 0 {
            return Err(StoreError::Stale);
        }
        Ok(Solver {
            id: read.id,
            profile,
            created_at: read.created_at,
            updated_at: now,
        })
    }

    /// Removes a Solver and takes its keys back; `false` when there is none.
    pub async fn delete_solver(
        &self,
        organization: OrganizationId,
        id: SolverId,
    ) -> Result<bool, StoreError> {
        let now = self.now();
        let mut transaction = self.database().begin().await?;
        let delete = Query::new(
            "UPDATE solvers SET deleted_at = $1 WHERE organization = $2 AND id = $3 AND deleted_at IS NULL",
        )
        .bind(now)
        .bind(organization)
        .bind(id);
        if transaction.execute(delete).await? == 0 {
            return Ok(false);
        }
        let revoke = Query::new(
            "UPDATE credentials SET revoked_at = $1 \
             WHERE organization = $2 AND kind = 'solver' AND subject = $3 AND revoked_at IS NULL",
        )
        .bind(now)
        .bind(organization)
        .bind(id);
        transaction.execute(revoke).await?;
        transaction.commit().await?;
        self.credential_cache().forget_all();
        Ok(true)
    }
}
