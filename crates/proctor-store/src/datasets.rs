//! Data sets that services begin with.

use std::collections::BTreeSet;

use proctor_core::{
    environment::DatasetType,
    id::kinds::{DatasetId, DatasetKind, OrganizationId},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Store, StoreError,
    database::Query,
    drafts::{Authored, Draft},
    page::{Page, PageRequest},
    runs::document,
};
use proctor_macros::boxed_futures;

/// A data set as its author has it, without the data: that may be megabytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetDraft {
    /// What people call it.
    pub name: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What kind of data.
    #[serde(rename = "type")]
    pub kind: DatasetType,
}

/// A data set that was read.
pub type DatasetRecord = Draft<DatasetKind, DatasetDraft>;

impl Authored for DatasetDraft {
    type Kind = DatasetKind;
    const TABLE: &'static str = "datasets";
    const IN_USE: &'static str =
        "a simulator begins with this data set, or a task is about one of its entities";
}

#[boxed_futures]
impl Store {
    /// Makes a data set.
    pub async fn create_dataset(
        &self,
        organization: OrganizationId,
        draft: DatasetDraft,
        data: &Value,
    ) -> Result<DatasetRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let data = ("data", document(data)?.into());
        let record = self
            .insert_draft(&mut transaction, organization, draft, vec![data])
            .await?;
        transaction.commit().await?;
        Ok(record)
    }

    /// One of the organization's data sets, without its data.
    pub async fn dataset(
        &self,
        organization: OrganizationId,
        id: DatasetId,
    ) -> Result<Option<DatasetRecord>, StoreError> {
        self.find_draft(organization, id).await
    }

    /// The data of one of the organization's data sets.
    pub async fn dataset_data(
        &self,
        organization: OrganizationId,
        id: DatasetId,
    ) -> Result<Option<Value>, StoreError> {
        let query = Query::new("SELECT data FROM datasets WHERE organization = $1 AND id = $2")
            .bind(organization)
            .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.json("data")).transpose()
    }

    /// The first of `datasets` that is none of the organization's.
    pub async fn missing_dataset(
        &self,
        organization: OrganizationId,
        datasets: &[DatasetId],
    ) -> Result<Option<DatasetId>, StoreError> {
        let text = |list: &str| {
            format!("SELECT id FROM datasets WHERE organization = $1 AND id IN ({list})")
        };
        let given = [organization.into()];
        let rows = self.database().read_for(datasets, &given, text).await?;
        let there = rows
            .iter()
            .map(|row| row.id("id"))
            .collect::<Result<BTreeSet<_>, _>>()?;
        Ok(datasets.iter().copied().find(|id| !there.contains(id)))
    }

    /// The organization's data sets, without their data.
    pub async fn datasets(
        &self,
        organization: OrganizationId,
        page: PageRequest<DatasetKind>,
    ) -> Result<Page<DatasetRecord>, StoreError> {
        DatasetDraft::listing(organization)
            .page(self.database(), page, DatasetDraft::read)
            .await
    }

    /// Writes a changed draft over `read`, and the data if they change; [`StoreError::Stale`] if
    /// it has changed since.
    pub async fn update_dataset(
        &self,
        read: &DatasetRecord,
        draft: DatasetDraft,
        data: Option<&Value>,
    ) -> Result<DatasetRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let mut more = Vec::new();
        if let Some(data) = data {
            more.push(("data", document(data)?.into()));
        }
        let record = self
            .write_draft(&mut transaction, read, draft, more)
            .await?;
        transaction.commit().await?;
        Ok(record)
    }

    /// Deletes a data set with its entities; `false` when there is none, [`StoreError::InUse`]
    /// while a simulator begins with it or a task is about one of its entities.
    pub async fn delete_dataset(
        &self,
        organization: OrganizationId,
        id: DatasetId,
    ) -> Result<bool, StoreError> {
        self.delete_draft::<DatasetDraft>(organization, id).await
    }
}
