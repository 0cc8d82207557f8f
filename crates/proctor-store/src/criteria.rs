//! Criteria as their authors have them.

use proctor_core::{
    definition::Check,
    id::kinds::{CriterionId, CriterionKind, EntityId, OrganizationId, TaskId},
    scoring::Weight,
};
use serde::{Deserialize, Serialize};

use crate::{
    Store, StoreError,
    drafts::{Authored, Column, Draft},
    page::{Page, PageRequest},
};
use proctor_macros::boxed_futures;

/// A criterion as its author has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriterionDraft {
    /// The task it belongs to.
    pub task: TaskId,
    /// What people call it.
    pub label: String,
    /// How much it counts.
    pub weight: Weight,
    /// The axis it counts on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<String>,
    /// The one of the task's entities that templates mean by `entity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_entity: Option<EntityId>,
    /// A short name inside its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether missing it caps the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
    /// Whether its sub-assertions count only together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The keys of the criteria without which it counts 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// How it is checked, as it was given.
    pub check: Check,
}

/// A criterion that was read.
pub type CriterionRecord = Draft<CriterionKind, CriterionDraft>;

impl Authored for CriterionDraft {
    type Kind = CriterionKind;
    const TABLE: &'static str = "criteria";

    fn columns(&self) -> Vec<Column> {
        vec![
            ("task", self.task.into()),
            ("input_entity", self.input_entity.into()),
        ]
    }
}

#[boxed_futures]
impl Store {
    /// Makes a criterion, the last of its task.
    pub async fn create_criterion(
        &self,
        organization: OrganizationId,
        draft: CriterionDraft,
    ) -> Result<CriterionRecord, StoreError> {
        self.create_draft(organization, draft).await
    }

    /// One of the organization's criteria.
    pub async fn criterion(
        &self,
        organization: OrganizationId,
        id: CriterionId,
    ) -> Result<Option<CriterionRecord>, StoreError> {
        self.find_draft(organization, id).await
    }

    /// The organization's criteria, of one task or all.
    pub async fn criteria(
        &self,
        organization: OrganizationId,
        task: Option<TaskId>,
        page: PageRequest<CriterionKind>,
    ) -> Result<Page<CriterionRecord>, StoreError> {
        let mut listing = CriterionDraft::listing(organization);
        if let Some(task) = task {
            listing = listing.filter("task", task);
        }
        listing
            .page(self.database(), page, CriterionDraft::read)
            .await
    }

    /// Writes a changed draft over `read`; [`StoreError::Stale`] if it has changed since.
    pub async fn update_criterion(
        &self,
        read: &CriterionRecord,
        draft: CriterionDraft,
    ) -> Result<CriterionRecord, StoreError> {
        self.update_draft(read, draft).await
    }

    /// Deletes a criterion; `false` when there is none.
    pub async fn delete_criterion(
        &self,
        organization: OrganizationId,
        id: CriterionId,
    ) -> Result<bool, StoreError> {
        self.delete_draft::<CriterionDraft>(organization, id).await
    }
}
