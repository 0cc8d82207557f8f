//! Entities: what tasks are about, kept in data sets.

use proctor_core::id::kinds::{DatasetId, EntityId, EntityKind, OrganizationId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Store, StoreError,
    drafts::{Authored, Column, Draft},
    links::Links,
    page::{Page, PageRequest},
    tasks::TaskRecord,
};
use proctor_macros::boxed_futures;

/// An entity as its author has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntityDraft {
    /// Where it is kept.
    pub dataset: DatasetId,
    /// What it is, in the author's words.
    pub kind: String,
    /// What templates call it; unique within its data set.
    pub key: String,
    /// Its values.
    pub data: Value,
}

/// An entity that was read.
pub type EntityRecord = Draft<EntityKind, EntityDraft>;

impl Authored for EntityDraft {
    type Kind = EntityKind;
    const TABLE: &'static str = "entities";
    const TAKEN: &'static str = "an entity with this key";
    const IN_USE: &'static str = "a task or a criterion is about this entity";

    fn columns(&self) -> Vec<Column> {
        vec![
            ("dataset", self.dataset.into()),
            ("key", self.key.as_str().into()),
        ]
    }
}

pub(crate) const TASK_ENTITIES: Links = Links {
    table: "task_entities",
    owner: "task",
    item: "entity",
};

#[boxed_futures]
impl Store {
    /// Makes an entity; [`StoreError::Taken`] when its data set has one with this key.
    pub async fn create_entity(
        &self,
        organization: OrganizationId,
        draft: EntityDraft,
    ) -> Result<EntityRecord, StoreError> {
        self.create_draft(organization, draft).await
    }

    /// One of the organization's entities.
    pub async fn entity(
        &self,
        organization: OrganizationId,
        id: EntityId,
    ) -> Result<Option<EntityRecord>, StoreError> {
        self.find_draft(organization, id).await
    }

    /// The entities of a data set.
    pub async fn entities(
        &self,
        organization: OrganizationId,
        dataset: DatasetId,
        page: PageRequest<EntityKind>,
    ) -> Result<Page<EntityRecord>, StoreError> {
        EntityDraft::listing(organization)
            .filter("dataset", dataset)
            .page(self.database(), page, EntityDraft::read)
            .await
    }

    /// Writes a changed draft over `read`; [`StoreError::Stale`] if it has changed since.
    pub async fn update_entity(
        &self,
        read: &EntityRecord,
        draft: EntityDraft,
    ) -> Result<EntityRecord, StoreError> {
        self.update_draft(read, draft).await
    }

    /// Deletes an entity; `false` when there is none, [`StoreError::InUse`] while a task or a
    /// criterion is about it.
    pub async fn delete_entity(
        &self,
        organization: OrganizationId,
        id: EntityId,
    ) -> Result<bool, StoreError> {
        self.delete_draft::<EntityDraft>(organization, id).await
    }

    /// The entities that a task is about.
    pub async fn task_entities(
        &self,
        organization: OrganizationId,
        task: TaskId,
        page: PageRequest<EntityKind>,
    ) -> Result<Page<EntityRecord>, StoreError> {
        EntityDraft::listing(organization)
            .among("SELECT entity FROM task_entities WHERE task", task)
            .page(self.database(), page, EntityDraft::read)
            .await
    }

    /// Makes a task be about an entity, unless it is.
    pub async fn add_task_entity(
        &self,
        task: &TaskRecord,
        entity: &EntityRecord,
    ) -> Result<(), StoreError> {
        let mut transaction = self.database().begin().await?;
        TASK_ENTITIES
            .append(&mut transaction, task.id, entity.id)
            .await?;
        transaction.commit().await
    }

    /// Makes a task no longer be about an entity; `false` when it was not.
    pub async fn remove_task_entity(
        &self,
        task: &TaskRecord,
        entity: EntityId,
    ) -> Result<bool, StoreError> {
        TASK_ENTITIES.remove(self.database(), task.id, entity).await
    }
}
