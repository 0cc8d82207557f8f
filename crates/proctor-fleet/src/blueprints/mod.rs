//! Blueprints: recipes become disks that devboxes begin with.
//!
//! [`Blueprints`] takes a recipe, checks all of it that can be checked at once, and builds it in the background: each
//! step in a box of its own, each step's disk a layer that is found again when the same step follows the same steps.
//!
//! * `dockerfile`: the language; `steps`: from a recipe to what is to be done; `context`: what copies take.
//! * `layers`: when two disks are the same; `build`: doing it; `log`: what was said meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use proctor_core::{
    blueprint::{
        BaseReference, Blueprint, Build, BuildFailure, BuildOver, Image, ImageDisk, Recipe,
    },
    id::{
        Dialect,
        kinds::{BlueprintId, OrganizationId},
    },
};
use proctor_devbox::{Backend, BoxId, Error as BoxError, LayerId, Limits, Network};
use proctor_store::{Store, StoreError, runs::Revised};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    masks::Masks,
    mounts::Mounter,
    network_policies,
    objects::{self, ObjectError},
};

mod build;
mod context;
mod dockerfile;
mod layers;
mod log;
mod preview;
mod steps;

pub use dockerfile::DockerfileError;
pub use log::{Level, LogLine};

use build::{Builder, Failure, Success};
use dockerfile::Dockerfile;
use log::BuildLog;
use steps::Plan;

/// How blueprints are built.
#[derive(Clone, Debug)]
pub struct BlueprintOptions {
    /// Where logs of builds that go on are written.
    pub spool: PathBuf,
    /// What names after `FROM` mean, besides `host` and other blueprints.
    pub images: BTreeMap<String, ImageDisk>,
    /// How many builds go on at once.
    pub at_once: usize,
    /// How long a build may take.
    pub time_limit: Duration,
    /// What a build may use.
    pub limits: Limits,
}

impl BlueprintOptions {
    /// The usual limits, with logs in `spool`.
    pub fn new(spool: impl Into<PathBuf>) -> Self {
        Self {
            spool: spool.into(),
            images: BTreeMap::new(),
            at_once: 2,
            time_limit: Duration::from_secs(1800),
            limits: Limits {
                cpu_millis: Some(2000),
                memory_bytes: Some(4 << 30),
                pids: Some(4096),
                disk_bytes: Some(16 << 30),
                disk_files: Some(2_000_000),
                open_files: Some(65_536),
            },
        }
    }
}

/// Why something cannot be done with a blueprint.
#[derive(Debug, thiserror::Error)]
pub enum BlueprintError {
    /// There is none, as far as the organization may know.
    #[error("no blueprint '{0}'")]
    NotFound(String),
    /// A part of the recipe makes no sense.
    #[error("{field}: {message}")]
    Recipe {
        /// Which part.
        field: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// Its disk is not there yet, or never will be.
    #[error("the blueprint is {0}; only one that is build_complete can be used")]
    NotBuilt(&'static str),
    /// It was deleted.
    #[error("the blueprint was deleted")]
    Deleted,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BlueprintError {
    fn recipe(field: &'static str, message: impl std::fmt::Display) -> Self {
        Self::Recipe {
            field,
            message: message.to_string(),
        }
    }
}

impl From<DockerfileError> for BlueprintError {
    fn from(error: DockerfileError) -> Self {
        Self::recipe("dockerfile", error)
    }
}

/// What blueprints are built with; cheap to clone.
#[derive(Clone)]
pub struct Blueprints {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    backend: Arc<dyn Backend>,
    mounter: Mounter,
    options: BlueprintOptions,
    turns: Semaphore,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// What a recipe builds on.
struct Foundation {
    blueprint: Option<BlueprintId>,
    image: Image,
}

/// The box that a blueprint is built in.
pub(crate) fn box_of(id: BlueprintId) -> BoxId {
    BoxId::new(format!("bpt-{}", id.bare().to_ascii_lowercase()))
        .expect("letters and digits make a name")
}

impl Blueprints {
    /// Blueprints on a backend. Nothing is built until it is asked for, or until [`Blueprints::recover`].
    pub fn new(
        store: Store,
        backend: Arc<dyn Backend>,
        mounter: Mounter,
        options: BlueprintOptions,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                turns: Semaphore::new(options.at_once.max(1)),
                store,
                backend,
                mounter,
                options,
                tasks: TaskTracker::new(),
                closing: CancellationToken::new(),
            }),
        }
    }

    /// Begins again what a former process did not finish, and removes layers that no blueprint has. To be called once, after
    /// the boxes that nobody owns were swept.
    pub async fn recover(&self) -> Result<(), StoreError> {
        self.forget_layers().await?;
        for blueprint in self.inner.store.unfinished_blueprints().await? {
            self.begin(blueprint);
        }
        Ok(())
    }

    /// Stops builds that go on, which the next process begins again, and waits for them.
    pub async fn close(&self) {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// The boxes that builds may be using: not to be swept while this goes on.
    pub async fn boxes(&self) -> Result<BTreeSet<BoxId>, StoreError> {
        let unfinished = self.inner.store.unfinished_blueprints().await?;
        Ok(unfinished.iter().map(|one| box_of(one.id)).collect())
    }

    /// Takes a recipe and begins to build it.
    pub async fn create(
        &self,
        organization: OrganizationId,
        recipe: Recipe,
    ) -> Result<Blueprint, BlueprintError> {
        let (foundation, _) = self.plan(organization, &recipe).await?;
        self.check_surroundings(organization, &recipe).await?;
        let blueprint = self
            .inner
            .store
            .create_blueprint(organization, recipe, foundation.blueprint)
            .await?;
        self.begin(blueprint.clone());
        Ok(blueprint)
    }

    /// The Dockerfile that a recipe amounts to.
    pub async fn preview(
        &self,
        organization: OrganizationId,
        recipe: &Recipe,
    ) -> Result<String, BlueprintError> {
        let (foundation, _) = self.plan(organization, recipe).await?;
        Ok(preview::render(recipe, foundation.blueprint))
    }

    /// One of the organization's blueprints, also one that is deleted.
    pub async fn find(
        &self,
        organization: OrganizationId,
        id: BlueprintId,
    ) -> Result<Blueprint, BlueprintError> {
        Ok(self.revised(organization, id).await?.value)
    }

    async fn revised(
        &self,
        organization: OrganizationId,
        id: BlueprintId,
    ) -> Result<Revised<Blueprint>, BlueprintError> {
        let found = self.inner.store.blueprint(organization, id).await?;
        found.ok_or_else(|| BlueprintError::NotFound(id.wire(Dialect::Runloop)))
    }

    /// What devboxes of a blueprint begin with.
    pub async fn image(
        &self,
        organization: OrganizationId,
        id: BlueprintId,
    ) -> Result<Image, BlueprintError> {
        image_of(self.find(organization, id).await?)
    }

    /// The newest blueprint of that name that was built, and what devboxes of it begin with.
    pub async fn image_named(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<(BlueprintId, Image), BlueprintError> {
        let found = self.inner.store.blueprint_named(organization, name).await?;
        let found = found.ok_or_else(|| BlueprintError::NotFound(name.to_owned()))?;
        Ok((found.id, image_of(found)?))
    }

    /// What a build said so far.
    pub async fn logs(
        &self,
        organization: OrganizationId,
        id: BlueprintId,
    ) -> Result<Vec<LogLine>, BlueprintError> {
        self.find(organization, id).await?;
        Ok(log::read(&self.inner.store, &self.inner.options.spool, id).await?)
    }

    /// Deletes a blueprint; its layers go unless something stands on them. Repeating it is fine.
    pub async fn delete(
        &self,
        organization: OrganizationId,
        id: BlueprintId,
    ) -> Result<Blueprint, BlueprintError> {
        loop {
            let read = self.revised(organization, id).await?;
            if read.value.deleted_at.is_some() {
                return Ok(read.value);
            }
            match self.inner.store.delete_blueprint(&read).await {
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
                Ok(deleted) => {
                    self.forget_layers().await?;
                    return Ok(deleted);
                }
            }
        }
    }

    /// Removes layers that no blueprint has. Those that a devbox or a snapshot stands on stay until the next time.
    async fn forget_layers(&self) -> Result<(), StoreError> {
        let owned: BTreeSet<String> = self
            .inner
            .store
            .blueprint_layers()
            .await?
            .into_iter()
            .flatten()
            .collect();
        // A build that goes on has not written down its layers yet.
        let any_unfinished = !self.inner.store.unfinished_blueprints().await?.is_empty();
        if any_unfinished {
            return Ok(());
        }
        let mut stray: Vec<LayerId> = match self.inner.backend.layers().await {
            Ok(there) => there.into_iter().map(|layer| layer.id).collect(),
            Err(error) => {
                tracing::warn!(%error, "the layers of deleted blueprints stay for now");
                return Ok(());
            }
        };
        stray.retain(|layer| layers::is_ours(layer) && !owned.contains(layer.as_str()));
        // One that stands on another goes first, in whatever order they come.
        loop {
            let before = stray.len();
            let mut left = Vec::new();
            for layer in stray {
                match self.inner.backend.delete_layer(&layer).await {
                    Ok(()) | Err(BoxError::NoSuchLayer(_)) => {}
                    Err(BoxError::InUse { .. }) => left.push(layer),
                    Err(error) => tracing::warn!(%error, %layer, "a layer stays for now"),
                }
            }
            if left.is_empty() || left.len() == before {
                return Ok(());
            }
            stray = left;
        }
    }

    /// Everything about a recipe that can be known without building it.
    async fn plan(
        &self,
        organization: OrganizationId,
        recipe: &Recipe,
    ) -> Result<(Foundation, Plan), BlueprintError> {
        let dockerfile = recipe
            .dockerfile
            .as_deref()
            .map(Dockerfile::parse)
            .transpose()?;
        let foundation = self
            .foundation(organization, recipe, dockerfile.as_ref())
            .await?;
        let plan = steps::plan(recipe, dockerfile.as_ref(), &foundation.image)?;
        Ok((foundation, plan))
    }

    async fn foundation(
        &self,
        organization: OrganizationId,
        recipe: &Recipe,
        dockerfile: Option<&Dockerfile>,
    ) -> Result<Foundation, BlueprintError> {
        match (&recipe.base, dockerfile) {
            (Some(_), Some(_)) => Err(BlueprintError::recipe(
                "dockerfile",
                "a blueprint builds on a base blueprint or on what its Dockerfile says, not on both",
            )),
            (Some(base), None) => self.base_blueprint(organization, base).await,
            (None, None) => Ok(Foundation {
                blueprint: None,
                image: plain(ImageDisk::Host),
            }),
            (None, Some(dockerfile)) => {
                let (line, name) = steps::from_image(dockerfile, &recipe.build_args)?;
                self.named_image(organization, line, &name).await
            }
        }
    }

    async fn base_blueprint(
        &self,
        organization: OrganizationId,
        base: &BaseReference,
    ) -> Result<Foundation, BlueprintError> {
        let (field, found) = match base {
            BaseReference::Id(id) => {
                let found = self.image(organization, *id).await;
                ("base_blueprint_id", found.map(|image| (*id, image)))
            }
            BaseReference::Name(name) => (
                "base_blueprint_name",
                self.image_named(organization, name).await,
            ),
        };
        match found {
            Ok((id, image)) => Ok(Foundation {
                blueprint: Some(id),
                image,
            }),
            Err(BlueprintError::Store(error)) => Err(error.into()),
            Err(error) => Err(BlueprintError::recipe(field, error)),
        }
    }

    /// What a name after `FROM` means: a base of this server, or a blueprint.
    async fn named_image(
        &self,
        organization: OrganizationId,
        line: usize,
        name: &str,
    ) -> Result<Foundation, BlueprintError> {
        if let Some(disk) = self.inner.options.images.get(name) {
            return Ok(Foundation {
                blueprint: None,
                image: plain(disk.clone()),
            });
        }
        // The platform's own images are what a devbox begins with when nothing is said: here, the host's programs.
        if name == "host" || name.starts_with("runloop:") {
            return Ok(Foundation {
                blueprint: None,
                image: plain(ImageDisk::Host),
            });
        }
        let found = match BlueprintId::from_wire(name, Dialect::Runloop) {
            Ok(id) => self.image(organization, id).await.map(|image| (id, image)),
            Err(_) => self.image_named(organization, name).await,
        };
        match found {
            Ok((id, image)) => Ok(Foundation {
                blueprint: Some(id),
                image,
            }),
            Err(BlueprintError::Store(error)) => Err(error.into()),
            Err(_) => {
                let mut known = vec!["host"];
                known.extend(self.inner.options.images.keys().map(String::as_str));
                let message = format!(
                    "there is no image '{name}' on this server, which pulls none from elsewhere; there are {}, and \
                     blueprints by name or id",
                    known.join(", ")
                );
                Err(DockerfileError::at(line, message).into())
            }
        }
    }

    /// What a recipe names must be there.
    async fn check_surroundings(
        &self,
        organization: OrganizationId,
        recipe: &Recipe,
    ) -> Result<(), BlueprintError> {
        let store = &self.inner.store;
        for name in recipe.secrets.values() {
            if store.secret(organization, name).await?.is_none() {
                let message = format!("there is no secret '{name}'");
                return Err(BlueprintError::recipe("secrets", message));
            }
        }
        if let Some(id) = recipe.network_policy
            && store.network_policy(organization, id).await?.is_none()
        {
            let message = format!("there is no network policy '{id}'");
            return Err(BlueprintError::recipe("network_policy_id", message));
        }
        if let Some(id) = recipe.build_context {
            match objects::find(store, organization, id).await {
                Ok(object) => {
                    let readable = object.readable();
                    readable.map_err(|error| BlueprintError::recipe("build_context", error))?;
                }
                Err(ObjectError::Store(error)) => return Err(error.into()),
                Err(error) => return Err(BlueprintError::recipe("build_context", error)),
            }
        }
        Ok(())
    }

    /// Builds in the background.
    fn begin(&self, blueprint: Blueprint) {
        let this = self.clone();
        self.inner.tasks.spawn(async move {
            let (id, closing) = (blueprint.id, this.inner.closing.clone());
            let built = closing.run_until_cancelled_owned(this.work_on(blueprint)).await;
            match built {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    tracing::error!(error = &error as &dyn std::error::Error, blueprint = %id, "a build cannot be recorded");
                }
                None => this.remove_box(id).await,
            }
        });
    }

    async fn remove_box(&self, id: BlueprintId) {
        if let Ok(devbox) = self.inner.backend.open(&box_of(id)).await
            && let Err(error) = devbox.destroy().await
        {
            tracing::warn!(%error, blueprint = %id, "a build's devbox stays for now");
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
        let (layers, build): (
            Vec<String>,
            Box<dyn Fn(Build) -> Result<Build, BuildOver> + Send + Sync>,
        ) = match outcome {
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
        (tokens, secrets): (
            proctor_store::blueprints::CodeTokens,
            BTreeMap<String, String>,
        ),
    ) -> Result<Success, Failure> {
        let planned = self.plan(blueprint.organization, &blueprint.recipe).await;
        let (foundation, plan) = planned.map_err(|error| failure(error.to_string()))?;
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
        };
        builder.build(&plan, &foundation.image.disk).await
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
        log: Option<proctor_core::canonical::Digest>,
    ) -> Result<bool, StoreError> {
        loop {
            let Some(read) = self.inner.store.blueprint(organization, id).await? else {
                return Ok(false);
            };
            let Ok(build) = step(read.value.build.clone()) else {
                return Ok(false);
            };
            let written = self
                .inner
                .store
                .write_build(&read, build, layers.clone(), log)
                .await;
            match written {
                Err(StoreError::Stale) => {}
                other => return other.map(|_| true),
            }
        }
    }
}

fn plain(disk: ImageDisk) -> Image {
    Image {
        disk,
        env: BTreeMap::new(),
        working_directory: None,
        user: None,
    }
}

fn failure(message: String) -> Failure {
    Failure {
        reason: BuildFailure::BuildFailed,
        message,
        layers: Vec::new(),
    }
}

fn image_of(blueprint: Blueprint) -> Result<Image, BlueprintError> {
    if blueprint.deleted_at.is_some() {
        return Err(BlueprintError::Deleted);
    }
    match blueprint.build {
        Build::Complete { image, .. } => Ok(image),
        other => Err(BlueprintError::NotBuilt(other.status().name())),
    }
}
