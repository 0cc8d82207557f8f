//! What Solvers call themselves, looked up once for each list.

use std::collections::HashMap;

use proctor_core::id::kinds::{OrganizationId, SolverId};

use crate::{error::PageError, state::WebState};

/// What is called so where nobody said.
pub(crate) const UNNAMED: &str = "unnamed agent";

/// The aliases of an organization's Solvers.
pub(crate) struct Aliases<'s> {
    state: &'s WebState,
    organization: OrganizationId,
    known: HashMap<SolverId, Option<String>>,
}

impl<'s> Aliases<'s> {
    /// Of this organization.
    pub(crate) fn new(state: &'s WebState, organization: OrganizationId) -> Self {
        Self {
            state,
            organization,
            known: HashMap::new(),
        }
    }

    /// What a Solver calls itself, if there is one.
    pub(crate) async fn of(
        &mut self,
        solver: Option<SolverId>,
    ) -> Result<Option<String>, PageError> {
        let Some(id) = solver else {
            return Ok(None);
        };
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let found = self.state.store().solver(self.organization, id).await?;
        let alias = found.map(|solver| solver.profile.alias);
        self.known.insert(id, alias.clone());
        Ok(alias)
    }
}
