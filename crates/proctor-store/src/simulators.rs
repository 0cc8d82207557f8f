//! Simulators: services to be simulated, and the data sets they begin with.

use proctor_core::{
    environment::SimulatorType,
    id::kinds::{DatasetId, OrganizationId, SimulatorId, SimulatorKind},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Store, StoreError,
    database::Transaction,
    drafts::{Authored, Draft},
    links::Links,
    page::{Page, PageRequest},
};
use proctor_macros::boxed_futures;

/// A simulator as its author has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatorDraft {
    /// What it simulates.
    #[serde(rename = "type")]
    pub kind: SimulatorType,
    /// What people call it.
    pub name: String,
    /// How it behaves, as the simulator reads it.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// The data sets it begins with, in order, each at most once.
    #[serde(default)]
    pub datasets: Vec<DatasetId>,
}

/// A simulator that was read.
pub type SimulatorRecord = Draft<SimulatorKind, SimulatorDraft>;

impl Authored for SimulatorDraft {
    type Kind = SimulatorKind;
    const TABLE: &'static str = "simulators";
    const IN_USE: &'static str = "an environment has this simulator";
}

/// Repeats [`SimulatorDraft::datasets`], so that no data set in use is lost.
pub(crate) const DATASETS: Links = Links {
    table: "simulator_datasets",
    owner: "simulator",
    item: "dataset",
};

#[boxed_futures]
impl Store {
    /// Makes a simulator that no environment has.
    pub async fn create_simulator(
        &self,
        organization: OrganizationId,
        draft: SimulatorDraft,
    ) -> Result<SimulatorRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let record = self
            .insert_draft(&mut transaction, organization, draft, Vec::new())
            .await?;
        link_datasets(&mut transaction, &record).await?;
        transaction.commit().await?;
        Ok(record)
    }

    /// One of the organization's simulators.
    pub async fn simulator(
        &self,
        organization: OrganizationId,
        id: SimulatorId,
    ) -> Result<Option<SimulatorRecord>, StoreError> {
        self.find_draft(organization, id).await
    }

    /// The organization's simulators.
    pub async fn simulators(
        &self,
        organization: OrganizationId,
        page: PageRequest<SimulatorKind>,
    ) -> Result<Page<SimulatorRecord>, StoreError> {
        SimulatorDraft::listing(organization)
            .page(self.database(), page, SimulatorDraft::read)
            .await
    }

    /// Writes a changed draft over `read`; [`StoreError::Stale`] if it has changed since.
    pub async fn update_simulator(
        &self,
        read: &SimulatorRecord,
        draft: SimulatorDraft,
    ) -> Result<SimulatorRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let record = self
            .write_draft(&mut transaction, read, draft, Vec::new())
            .await?;
        link_datasets(&mut transaction, &record).await?;
        transaction.commit().await?;
        Ok(record)
    }

    /// Deletes a simulator; `false` when there is none, [`StoreError::InUse`] while an environment
    /// has it.
    pub async fn delete_simulator(
        &self,
        organization: OrganizationId,
        id: SimulatorId,
    ) -> Result<bool, StoreError> {
        self.delete_draft::<SimulatorDraft>(organization, id).await
    }
}

async fn link_datasets(
    transaction: &mut Transaction,
    simulator: &SimulatorRecord,
) -> Result<(), StoreError> {
    DATASETS.clear(transaction, simulator.id).await?;
    for dataset in &simulator.content.datasets {
        DATASETS.append(transaction, simulator.id, *dataset).await?;
    }
    Ok(())
}
