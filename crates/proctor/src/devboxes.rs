//! Opening the devboxes of a server.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use proctor_api::OfferedDevboxes;
use proctor_core::{blueprint::ImageDisk, canonical::Digest, causes::with_causes};
use proctor_devbox::{Backend, BaseName, Factory, HostPattern, Settings, egress::OwnServer, local};
use proctor_engine::{
    Extensions,
    harbor::{HarborSettings, HarborWorkshop},
    scenarios::Workshop,
};
use proctor_fleet::{
    CodeHosts, Fleet, FleetOptions, GitOptions, KeepFrozen, Repositories,
    blueprints::{BlueprintOptions, Blueprints},
    mounts::Mounter,
};
use proctor_images::Images;

use crate::{
    exit::WrongUse,
    image_settings::ImageSources,
    settings::{ImageBase, NamedImage},
    storage::Storage,
};

/// What an installation has for its devboxes besides the host.
#[derive(Debug)]
pub(crate) struct Supplies {
    /// What makes boxes.
    pub(crate) backend: Factory,
    /// Images by the names that stand after `FROM`.
    pub(crate) images: Vec<NamedImage>,
    /// Where other images come from.
    pub(crate) image_sources: ImageSources,
    /// A directory with repositories.
    pub(crate) code_mirrors: Option<PathBuf>,
    /// How many frozen disks are kept.
    pub(crate) keep_frozen: KeepFrozen,
    /// Whether disks are limited exactly, by file systems of their own.
    pub(crate) exact_disks: bool,
    /// What all devboxes may have together.
    pub(crate) totals: local::TotalLimits,
    /// Hosts of repositories that may be at addresses that are not public.
    pub(crate) internal_hosts: Vec<HostPattern>,
    /// What Harbor jobs have.
    pub(crate) harbor: HarborSettings,
}

impl Default for Supplies {
    fn default() -> Self {
        Self {
            backend: local::FACTORY,
            images: Vec::new(),
            image_sources: ImageSources::default(),
            code_mirrors: None,
            keep_frozen: KeepFrozen::default(),
            exact_disks: false,
            totals: local::TotalLimits::default(),
            internal_hosts: Vec::new(),
            harbor: HarborSettings::default(),
        }
    }
}

/// The backend that a setting names; every one that this program has can be named.
pub(crate) fn backend(name: &str) -> Result<Factory, WrongUse> {
    match Extensions::shipped().backends.get(name) {
        Ok(factory) => Ok(*factory),
        Err(unknown) => Err(WrongUse(unknown.to_string())),
    }
}

/// Devboxes, and the blueprints they can be made from.
pub(crate) struct Devboxes {
    pub(crate) fleet: Fleet,
    pub(crate) blueprints: Option<Blueprints>,
    /// Who answers devboxes that ask the server itself.
    pub(crate) own_server: OwnServer,
    harbor: Option<HarborWorkshop>,
}

impl Devboxes {
    /// Opens the devboxes below `data` and takes up what an earlier server left. A machine that cannot have boxes still has
    /// a server: it says so when a devbox is asked for.
    pub(crate) async fn open(
        data: &Path,
        storage: &Storage,
        supplies: Supplies,
    ) -> anyhow::Result<Self> {
        let directory = data.join("devboxes");
        let (store, clock) = (storage.store.clone(), storage.clock.clone());
        let git = GitOptions {
            mirrors: supplies.code_mirrors,
            hosts: CodeHosts {
                internal: supplies.internal_hosts,
                ..CodeHosts::default()
            },
            ..GitOptions::new(directory.join("repositories"))
        };
        let mounter = Mounter::new(store.clone(), Repositories::new(git));
        let mut options = FleetOptions::new(&directory);
        options.mounter = Some(mounter.clone());
        options.keep_frozen = supplies.keep_frozen;
        let own_server = OwnServer::default();
        let settings = Settings {
            server: own_server.clone(),
            data: directory.clone(),
            exact_disks: supplies.exact_disks,
            totals: supplies.totals,
            output_secret: Some(local::OutputSecret::new(
                store.derive_secret("output of programs", &[]),
            )),
        };
        let devboxes = match (supplies.backend.open)(&settings) {
            Ok(backend) => {
                let mut building = BlueprintOptions::new(directory.join("builds"));
                building.images = images(&*backend, supplies.images).await?;
                let container_images =
                    Images::open(supplies.image_sources.options(data), clock.clone())
                        .context("the images cannot be opened")?;
                container_images
                    .sweep()
                    .context("the images cannot be swept")?;
                building.container_images = Some(container_images);
                let blueprints = Blueprints::new(store.clone(), backend.clone(), mounter, building);
                let fleet = Fleet::open(options, store, backend, clock).await?;
                let harbor = HarborWorkshop::open(
                    data.join("harbor"),
                    fleet.clone(),
                    blueprints.clone(),
                    supplies.harbor,
                );
                Self {
                    own_server,
                    blueprints: Some(blueprints),
                    fleet,
                    harbor: Some(harbor.context("the tasks of Harbor jobs cannot be kept")?),
                }
            }
            Err(error) => {
                let why = with_causes(&error).to_string();
                tracing::warn!(%why, "this machine cannot have devboxes");
                Self {
                    own_server,
                    blueprints: None,
                    fleet: Fleet::without_boxes(options, store, why, clock).await?,
                    harbor: None,
                }
            }
        };
        devboxes
            .fleet
            .recover()
            .await
            .context("the devboxes of an earlier server cannot be taken up")?;
        if let Some(blueprints) = &devboxes.blueprints {
            blueprints.recover().await?;
        }
        Ok(devboxes)
    }

    /// What a server offers of them.
    pub(crate) fn offered(&self) -> OfferedDevboxes {
        OfferedDevboxes {
            fleet: self.fleet.clone(),
            blueprints: self.blueprints.clone(),
            ssh: None,
        }
    }

    /// Where tasks are done that need a box.
    pub(crate) fn workshop(&self) -> Workshop {
        let workshop = Workshop::on(&self.fleet);
        match &self.harbor {
            Some(harbor) => workshop.with_harbor(&self.fleet, harbor.clone()),
            None => workshop,
        }
    }

    /// Lets go of the boxes, which stay as they are.
    pub(crate) async fn close(&self) {
        if let Some(blueprints) = &self.blueprints {
            blueprints.close().await;
        }
        self.fleet.close().await;
    }
}

/// Makes every image known to the backend and says what each name means.
async fn images(
    backend: &dyn Backend,
    named: Vec<NamedImage>,
) -> anyhow::Result<BTreeMap<String, ImageDisk>> {
    let mut images = BTreeMap::new();
    for NamedImage { name, base } in named {
        let disk = match base {
            ImageBase::Host => ImageDisk::Host,
            ImageBase::Directory(directory) => {
                // By its place: what is there under a new name is still the same system.
                let place = directory.to_string_lossy();
                let hash = Digest::of_bytes(place.as_bytes()).hex();
                let base = BaseName::new(format!("image-{}", &hash[..32]))?;
                let registered = backend.register_rootfs(&base, &directory).await;
                registered.with_context(|| format!("the image {name} cannot be used"))?;
                ImageDisk::RootFs(base.to_string())
            }
        };
        images.insert(name, disk);
    }
    Ok(images)
}
