//! Custom scorers: scripts that an organization registers under a type of its own.

use std::collections::BTreeMap;

use proctor_core::id::kinds::{OrganizationId, ScorerId, ScorerKind};
use serde::{Deserialize, Serialize};

use crate::{
    Store, StoreError,
    database::Query,
    drafts::{Authored, Column, Draft},
    names::{self, Sought},
    page::{Page, PageRequest},
};
use proctor_macros::boxed_futures;

/// A custom scorer as its author has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScorerDraft {
    /// The type by which scenarios name it; unique within the organization.
    pub kind: String,
    /// The script, which finds its parameters in its environment.
    pub script: String,
}

/// A custom scorer that was read.
pub type ScorerRecord = Draft<ScorerKind, ScorerDraft>;

impl Authored for ScorerDraft {
    type Kind = ScorerKind;
    const TABLE: &'static str = "scorers";
    const TAKEN: &'static str = "a scorer of this type";

    fn columns(&self) -> Vec<Column> {
        names::columns(Some(&self.kind))
    }
}

#[boxed_futures]
impl Store {
    /// Registers a scorer; [`StoreError::Taken`] when the type is in use.
    pub async fn create_scorer(
        &self,
        organization: OrganizationId,
        draft: ScorerDraft,
    ) -> Result<ScorerRecord, StoreError> {
        self.create_draft(organization, draft).await
    }

    /// One of the organization's scorers.
    pub async fn scorer(
        &self,
        organization: OrganizationId,
        id: ScorerId,
    ) -> Result<Option<ScorerRecord>, StoreError> {
        self.find_draft(organization, id).await
    }

    /// The organization's scorers.
    pub async fn scorers(
        &self,
        organization: OrganizationId,
        sought: &Sought,
        page: PageRequest<ScorerKind>,
    ) -> Result<Page<ScorerRecord>, StoreError> {
        let listing = ScorerDraft::listing(organization)
            .sought::<ScorerKind>(self.database(), sought)
            .await?;
        listing.page(self.database(), page, ScorerDraft::read).await
    }

    /// Writes a changed scorer over `read`; [`StoreError::Stale`] if it has changed since.
    pub async fn update_scorer(
        &self,
        read: &ScorerRecord,
        draft: ScorerDraft,
    ) -> Result<ScorerRecord, StoreError> {
        self.update_draft(read, draft).await
    }

    /// The scripts of the organization's scorers of these types; types that it has not are not there.
    pub async fn scorer_scripts(
        &self,
        organization: OrganizationId,
        kinds: &[&str],
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let mut scripts = BTreeMap::new();
        for kind in kinds {
            let query = Query::new(
                "SELECT id, body, created_at, updated_at FROM scorers WHERE organization = $1 AND name = $2",
            )
            .bind(organization)
            .bind(*kind);
            if let Some(row) = self.database().read_optional(query).await? {
                let scorer = ScorerDraft::read(&row)?.content;
                scripts.insert(scorer.kind, scorer.script);
            }
        }
        Ok(scripts)
    }
}
