//! Builds in the background, and what is written down of them.

use std::collections::BTreeMap;

use proctor_core::causes::with_causes;
use proctor_core::{
    blueprint::{Blueprint, Build, BuildFailure, BuildOver, ImageDisk},
    canonical::Digest,
    id::kinds::{BlueprintId, OrganizationId},
};
use proctor_devbox::Network;
use proctor_store::{StoreError, blueprints::CodeTokens, retry::retry_stale};

use super::{
    Blueprints, boxes_of,
    build::{self, Builder, Failure, Success},
    log::{BuildLog, Level},
};
use crate::{masks::Masks, network_policies};

/// What becomes of a build when it is over.
type Ending = Box<dyn Fn(Build) -> Result<Build, BuildOver> + Send + Sync>;

impl Blueprints {
    /// Builds in the background.
    pub(super) fn begin(&self, blueprint: Blueprint) {
        let this = self.clone();
        self.inner.tasks.spawn(async move {
            let (id, closing) = (blueprint.id, this.inner.closing.clone());
            let work = Box::pin(this.work_on(blueprint));
            let built = closing.run_until_cancelled_owned(work).await;
            match built {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    tracing::error!(error = %with_causes(&error), blueprint = %id, "a build cannot be recorded");
                }
                None => this.remove_boxes(id).await,
            }
        });
    }

    async fn remove_boxes(&self, id: BlueprintId) {
        for name in boxes_of(id) {
            if let Ok(devbox) = self.inner.backend.open(&name).await
                && let Err(error) = devbox.destroy().await
            {
                tracing::warn!(error = %with_causes(&error), blueprint = %id, "a build's devbox stays for now");
            }
        }
    }

    async fn work_on(&self, blueprint: Blueprint) -> Result<(), StoreError> {
        let Ok(_turn) = self.inner.turns.acquire().await else {
            return Ok(());
        };
        let (organization, id) = (blueprint.organization, blueprint.id);
        let log_digest = self.write(organization, id, |build| build.begin(), Vec::new(), None);
        if !log_digest.await? {
            return Ok(());
        }
        let secrets = build::secrets(&self.inner.store, &blueprint).await;
        let tokens = self.inner.store.blueprint_tokens(id).await?;
        let masks = Masks::of(
            secrets
                .iter()
                .flat_map(|secrets| secrets.values())
                .chain(tokens.values())
                .map(String::as_str),
        );
        let log = BuildLog::begin(&self.inner.store, &self.inner.options.spool, id, masks)
            .map_err(|error| {
                StoreError::Configuration(format!("the log of a build cannot be written: {error}"))
            })?;
        let outcome = match secrets {
            Err(message) => Err(failure(message)),
            Ok(secrets) => self.build(&blueprint, &log, (tokens, secrets)).await,
        };
        let (layers, build): (Vec<String>, Ending) = match outcome {
            Ok(Success { image, layers }) => {
                log.add(Level::Info, "build complete");
                let now = self.inner.store.now();
                (
                    layers,
                    Box::new(move |build| build.complete(now, image.clone())),
                )
            }
            Err(Failure {
                reason,
                message,
                layers,
            }) => {
                log.add(Level::Error, &message);
                let now = self.inner.store.now();
                (
                    layers,
                    Box::new(move |build| build.fail(now, reason, message.clone())),
                )
            }
        };
        let digest = log.keep().await?;
        self.write(organization, id, build, layers, Some(digest))
            .await?;
        BuildLog::forget(&self.inner.options.spool, id);
        Ok(())
    }

    async fn build(
        &self,
        blueprint: &Blueprint,
        log: &BuildLog,
        (tokens, secrets): (CodeTokens, BTreeMap<String, String>),
    ) -> Result<Success, Failure> {
        let planned = self.plan(blueprint.organization, &blueprint.recipe).await;
        let planned = planned.map_err(|error| failure(error.to_string()))?;
        for (name, foundation) in &planned.foundations {
            if !foundation.is_stand_in {
                continue;
            }
            let instead = match &foundation.image.disk {
                ImageDisk::Host => "the host's programs",
                ImageDisk::Layer(_) | ImageDisk::RootFs(_) => "another image",
            };
            let doubt = format!(
                "there is no image '{name}' on this server: as its setting for images says, {instead} took its place"
            );
            log.add(Level::Warn, &doubt);
        }
        let roots = self
            .obtain(&planned.foundations, log)
            .await
            .map_err(failure)?;
        let network = self
            .network(blueprint, log)
            .await
            .map_err(|error| failure(error.to_string()))?;
        let builder = Builder {
            network,
            store: &self.inner.store,
            backend: &self.inner.backend,
            mounter: &self.inner.mounter,
            log,
            limits: self.inner.options.limits,
            time_limit: self.inner.options.time_limit,
            blueprint,
            tokens,
            secrets,
            roots,
        };
        let disks = planned
            .foundations
            .iter()
            .map(|(name, foundation)| (name.clone(), foundation.image.disk.clone()))
            .collect();
        builder.build(&planned.plan, &disks).await
    }

    /// What a build may reach: nothing, unless its recipe names a policy.
    async fn network(&self, blueprint: &Blueprint, log: &BuildLog) -> Result<Network, StoreError> {
        let Some(id) = blueprint.recipe.network_policy else {
            return Ok(Network::None);
        };
        let policy = self
            .inner
            .store
            .network_policy(blueprint.organization, id)
            .await?;
        let Some(policy) = policy else {
            log.add(
                Level::Warn,
                "the network policy was deleted; nothing can be reached",
            );
            return Ok(Network::None);
        };
        let reach = network_policies::reach(&policy.text.egress);
        for what in reach.not_offered {
            let doubt = format!("{what} cannot be reached although the network policy allows it");
            log.add(Level::Warn, &doubt);
        }
        Ok(reach.network)
    }

    /// Writes how far a build is; `false` if it is over already.
    async fn write(
        &self,
        organization: OrganizationId,
        id: BlueprintId,
        step: impl Fn(Build) -> Result<Build, BuildOver>,
        layers: Vec<String>,
        log: Option<Digest>,
    ) -> Result<bool, StoreError> {
        let store = &self.inner.store;
        retry_stale(|| async {
            let Some(read) = store.blueprint(organization, id).await? else {
                return Ok(Ok(false));
            };
            let Ok(build) = step(read.value.build.clone()) else {
                return Ok(Ok(false));
            };
            let written = store.write_build(&read, build, layers.clone(), log).await;
            Ok(written.map(|_| true))
        })
        .await
    }
}

fn failure(message: String) -> Failure {
    Failure {
        reason: BuildFailure::BuildFailed,
        message,
        layers: Vec::new(),
    }
}
