//! Blueprints that are found by their names, or built once however many trials wait for them.

use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

use proctor_core::{
    blueprint::{Build, Image, Recipe},
    id::kinds::{BlueprintId, NetworkPolicyId, OrganizationId},
};
use proctor_fleet::blueprints::BlueprintError;

use super::HarborWorkshop;
use crate::error::EngineError;

/// How much of a build's log is told when it failed.
const LINES: usize = 20;
/// How often a build is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A blueprint that trials need.
pub(super) struct WantedBuild {
    /// What it is called: whatever goes into it is part of its name.
    pub(super) name: String,
    /// How long a trial waits for it.
    pub(super) limit: Duration,
}

/// Why there is no such blueprint.
pub(super) enum NotBuilt {
    /// It cannot be begun.
    Refused(String),
    /// It failed; with the end of its log.
    Failed(String),
    /// It takes too long.
    TooLong,
}

impl HarborWorkshop {
    /// The blueprint of this name, built by the recipe if it is not there. The recipe is asked for with the network policy of builds.
    pub(super) async fn built(
        &self,
        organization: OrganizationId,
        wanted: &WantedBuild,
        recipe: impl FnOnce(Option<NetworkPolicyId>) -> Recipe,
    ) -> Result<Result<(BlueprintId, Image), NotBuilt>, EngineError> {
        let key = (organization, wanted.name.clone());
        let building = {
            let builds = self.inner.builds.lock();
            let mut builds = builds.unwrap_or_else(PoisonError::into_inner);
            builds.entry(key).or_default().clone()
        };
        let deadline = Instant::now() + wanted.limit;
        let Ok(mut building) = tokio::time::timeout(wanted.limit, building.lock()).await else {
            return Ok(Err(NotBuilt::TooLong));
        };
        let blueprints = &self.inner.blueprints;
        match blueprints.image_named(organization, &wanted.name).await {
            Ok(found) => return Ok(Ok(found)),
            Err(BlueprintError::Store(error)) => return Err(error.into()),
            Err(_) => {}
        }
        let id = match *building {
            Some(id) => id,
            None => {
                let recipe = recipe(self.build_policy(organization).await?);
                match blueprints.create(organization, recipe).await {
                    Ok(blueprint) => blueprint.id,
                    Err(BlueprintError::Store(error)) => return Err(error.into()),
                    Err(error) => return Ok(Err(NotBuilt::Refused(error.to_string()))),
                }
            }
        };
        *building = Some(id);
        loop {
            let found = match blueprints.find(organization, id).await {
                Ok(found) => found,
                Err(BlueprintError::Store(error)) => return Err(error.into()),
                Err(error) => {
                    *building = None;
                    return Ok(Err(NotBuilt::Failed(error.to_string())));
                }
            };
            match found.build {
                Build::Complete { image, .. } => {
                    *building = None;
                    return Ok(Ok((id, image)));
                }
                Build::Failed { message, .. } => {
                    *building = None;
                    let log = self.end_of_log(organization, id).await;
                    return Ok(Err(NotBuilt::Failed(format!("{message}\n{log}"))));
                }
                Build::Provisioning | Build::Building if Instant::now() >= deadline => {
                    return Ok(Err(NotBuilt::TooLong));
                }
                Build::Provisioning | Build::Building => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// The network policy of builds, if there is one.
    pub(super) async fn build_policy(
        &self,
        organization: OrganizationId,
    ) -> Result<Option<NetworkPolicyId>, EngineError> {
        self.policy_named(organization, self.inner.settings.build_policy.as_deref())
            .await
    }

    /// The organization's policy that a setting names, if there is one.
    pub(super) async fn policy_named(
        &self,
        organization: OrganizationId,
        name: Option<&str>,
    ) -> Result<Option<NetworkPolicyId>, EngineError> {
        let Some(name) = name else { return Ok(None) };
        let store = self.inner.fleet.store();
        let policy = store.network_policy_named(organization, name).await?;
        Ok(policy.map(|policy| policy.id))
    }

    async fn end_of_log(&self, organization: OrganizationId, id: BlueprintId) -> String {
        let Ok(lines) = self.inner.blueprints.logs(organization, id).await else {
            return String::new();
        };
        let last = lines.iter().skip(lines.len().saturating_sub(LINES));
        let last: Vec<&str> = last.map(|line| line.message.as_str()).collect();
        last.join("\n")
    }
}
