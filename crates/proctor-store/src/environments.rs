//! Environments: simulators that belong together.

use std::collections::BTreeMap;

use proctor_core::id::kinds::{EnvironmentId, EnvironmentKind, OrganizationId, SimulatorId};
use serde::{Deserialize, Serialize};

use crate::{
    Store, StoreError,
    drafts::{Authored, Draft},
    links::Links,
    page::{Page, PageRequest},
    simulators::SimulatorRecord,
};
use proctor_macros::boxed_futures;

/// An environment as its author has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentDraft {
    /// What people call it.
    pub name: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// An environment that was read.
pub type EnvironmentRecord = Draft<EnvironmentKind, EnvironmentDraft>;

impl Authored for EnvironmentDraft {
    type Kind = EnvironmentKind;
    const TABLE: &'static str = "environments";
    const IN_USE: &'static str = "a benchmark takes place in this environment";
}

pub(crate) const SIMULATORS: Links = Links {
    table: "environment_simulators",
    owner: "environment",
    item: "simulator",
};

#[boxed_futures]
impl Store {
    /// Makes an environment without simulators.
    pub async fn create_environment(
        &self,
        organization: OrganizationId,
        draft: EnvironmentDraft,
    ) -> Result<EnvironmentRecord, StoreError> {
        self.create_draft(organization, draft).await
    }

    /// One of the organization's environments.
    pub async fn environment(
        &self,
        organization: OrganizationId,
        id: EnvironmentId,
    ) -> Result<Option<EnvironmentRecord>, StoreError> {
        self.find_draft(organization, id).await
    }

    /// The organization's environments.
    pub async fn environments(
        &self,
        organization: OrganizationId,
        page: PageRequest<EnvironmentKind>,
    ) -> Result<Page<EnvironmentRecord>, StoreError> {
        EnvironmentDraft::listing(organization)
            .page(self.database(), page, EnvironmentDraft::read)
            .await
    }

    /// Writes a changed draft over `read`; [`StoreError::Stale`] if it has changed since.
    pub async fn update_environment(
        &self,
        read: &EnvironmentRecord,
        draft: EnvironmentDraft,
    ) -> Result<EnvironmentRecord, StoreError> {
        self.update_draft(read, draft).await
    }

    /// Deletes an environment, not its simulators; `false` when there is none,
    /// [`StoreError::InUse`] while a benchmark's draft takes place in it.
    pub async fn delete_environment(
        &self,
        organization: OrganizationId,
        id: EnvironmentId,
    ) -> Result<bool, StoreError> {
        self.delete_draft::<EnvironmentDraft>(organization, id)
            .await
    }

    /// Puts a simulator behind those that the environment has, unless it has it.
    pub async fn add_simulator(
        &self,
        environment: &EnvironmentRecord,
        simulator: &SimulatorRecord,
    ) -> Result<(), StoreError> {
        let mut transaction = self.database().begin().await?;
        SIMULATORS
            .append(&mut transaction, environment.id, simulator.id)
            .await?;
        transaction.commit().await
    }

    /// Takes a simulator out of the environment; `false` when it was not in it.
    pub async fn remove_simulator(
        &self,
        environment: &EnvironmentRecord,
        simulator: SimulatorId,
    ) -> Result<bool, StoreError> {
        SIMULATORS
            .remove(self.database(), environment.id, simulator)
            .await
    }

    /// The simulators of each of these environments, in order.
    pub async fn simulators_of(
        &self,
        environments: &[EnvironmentId],
    ) -> Result<BTreeMap<EnvironmentId, Vec<SimulatorId>>, StoreError> {
        SIMULATORS.items_of(self.database(), environments).await
    }
}
