//! Blueprints: recipes become disks that devboxes begin with.
//!
//! [`Blueprints`] takes a recipe, checks all of it that can be checked at once, and builds it in the background: each
//! step in a box of its own, each step's disk a layer that is found again when the same step follows the same steps.
//!
//! * `dockerfile`: the language; `steps`: from a recipe to what is to be done; `context`, `copy_from`: what copies take.
//! * `foundation`, `container`: what recipes build on.
//! * `layers`: when two disks are the same; `build`: doing it; `log`: what was said meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use proctor_core::{
    blueprint::{Blueprint, Build, Image, ImageDisk, Recipe},
    id::{
        Dialect,
        kinds::{BlueprintId, OrganizationId},
    },
};
use proctor_devbox::{Backend, BoxId, Limits};
use proctor_images::Images;
use proctor_macros::boxed_futures;
use proctor_store::{Store, StoreError, repeatable::Made, retry::retry_stale, runs::Revised};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{git::Repositories, mounts::Mounter};

mod build;
mod container;
mod context;
mod copy_from;
mod dockerfile;
mod foundation;
mod ignore;
mod layers;
mod log;
mod preview;
mod run;
mod step;
mod steps;
mod stray_layers;
mod work;

pub use container::{ImagePresence, images_named};
pub use dockerfile::DockerfileError;
pub use log::{Level, LogLine};

/// How blueprints are built.
#[derive(Clone, Debug)]
pub struct BlueprintOptions {
    /// Where logs of builds that go on are written.
    pub spool: PathBuf,
    /// What names after `FROM` mean, besides `host` and other blueprints.
    pub images: BTreeMap<String, ImageDisk>,
    /// Container images: imported, in layouts, at registries that may be asked.
    pub container_images: Option<Images>,
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
            container_images: None,
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

/// The box that a blueprint is built in.
pub(crate) fn box_of(id: BlueprintId) -> BoxId {
    named_box("bpt", id)
}

/// The box on a stage that others copy from.
pub(crate) fn source_box_of(id: BlueprintId) -> BoxId {
    named_box("bps", id)
}

/// Every box that a build may have.
pub(crate) fn boxes_of(id: BlueprintId) -> [BoxId; 2] {
    [box_of(id), source_box_of(id)]
}

fn named_box(prefix: &str, id: BlueprintId) -> BoxId {
    BoxId::new(format!("{prefix}-{}", id.bare().to_ascii_lowercase()))
        .expect("letters and digits make a name")
}

#[boxed_futures]
impl Blueprints {
    /// Where the repositories of builds come from.
    pub fn repositories(&self) -> &Repositories {
        self.inner.mounter.repositories()
    }

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
        self.register_images().await;
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
        Ok(unfinished.iter().flat_map(|one| boxes_of(one.id)).collect())
    }

    /// Takes a recipe and begins to build it.
    pub async fn create(
        &self,
        organization: OrganizationId,
        mut recipe: Recipe,
    ) -> Result<Blueprint, BlueprintError> {
        let store = &self.inner.store;
        let made = store.make_once(|id| store.blueprint(organization, id));
        if let Made::Before(blueprint) = made.await? {
            return Ok(blueprint.value);
        }
        let planned = self.plan(organization, &recipe).await?;
        self.check_surroundings(organization, &recipe).await?;
        recipe.images = planned.digests();
        let blueprint = self
            .inner
            .store
            .create_blueprint(organization, recipe, planned.base())
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
        let planned = self.plan(organization, recipe).await?;
        Ok(preview::render(recipe, planned.base()))
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
        let (deleted, is_new) = retry_stale(|| async {
            let read = self.revised(organization, id).await?;
            if read.value.deleted_at.is_some() {
                return Ok(Ok((read.value, false)));
            }
            let deleted = self.inner.store.delete_blueprint(&read).await;
            Ok::<_, BlueprintError>(deleted.map(|deleted| (deleted, true)))
        })
        .await?;
        if is_new {
            self.forget_layers().await?;
        }
        Ok(deleted)
    }
}

pub(crate) fn image_of(blueprint: Blueprint) -> Result<Image, BlueprintError> {
    if blueprint.deleted_at.is_some() {
        return Err(BlueprintError::Deleted);
    }
    match blueprint.build {
        Build::Complete { image, .. } => Ok(image),
        other => Err(BlueprintError::NotBuilt(other.status().name())),
    }
}
