//! Container images as bases of boxes.

use std::{collections::BTreeMap, path::PathBuf};

use proctor_core::{
    blueprint::ImageDisk, canonical::Digest, causes::with_causes, id::kinds::OrganizationId,
};
use proctor_devbox::BaseName;

use super::{
    BlueprintError, Blueprints,
    dockerfile::{Dockerfile, DockerfileError},
    foundation::Foundation,
    log::{BuildLog, Level},
    steps,
};

/// Whether an image could be built on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImagePresence {
    /// It is here.
    Here,
    /// It would be pulled from this registry.
    WouldBePulled {
        /// Which.
        registry: String,
    },
    /// It is not here, and something else takes its place, as the server's settings say.
    StandIn,
    /// It is not to be had; why, in words.
    Missing {
        /// Why, and what helps.
        message: String,
    },
}

/// The name of the base that an image's tree is registered under.
pub(super) fn base_name(digest: &Digest) -> String {
    format!("oci-{}", &digest.hex()[..48])
}

/// Every image that the needed stages of a Dockerfile name, in order.
pub fn images_named(
    dockerfile: &str,
    build_args: &BTreeMap<String, String>,
    target: Option<&str>,
) -> Result<Vec<String>, DockerfileError> {
    let dockerfile = Dockerfile::parse(dockerfile)?;
    let needed = steps::needed(&dockerfile, build_args, target)?;
    Ok(needed.images().into_keys().map(str::to_owned).collect())
}

impl Blueprints {
    /// Whether an image could be built on. Documents may be asked for at its registry; nothing is pulled.
    pub async fn image_presence(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<ImagePresence, BlueprintError> {
        match self.named_image(organization, 1, name, None).await {
            Ok(Foundation {
                is_stand_in: true, ..
            }) => Ok(ImagePresence::StandIn),
            Ok(Foundation {
                resolved: Some(resolved),
                ..
            }) if !resolved.is_here() => Ok(ImagePresence::WouldBePulled {
                registry: resolved.name.registry().to_owned(),
            }),
            Ok(_) => Ok(ImagePresence::Here),
            Err(BlueprintError::Recipe { message, .. }) => Ok(ImagePresence::Missing { message }),
            Err(error) => Err(error),
        }
    }

    /// Makes every image that is here usable as a base, also for blueprints that were built before.
    pub(super) async fn register_images(&self) {
        let Some(images) = &self.inner.options.container_images else {
            return;
        };
        let known = match images.images() {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(error = %with_causes(&error), "the images cannot be read");
                return;
            }
        };
        for image in known {
            let name = base_name(&image.digest);
            if let Err(error) = self.register(&name, &image.root).await {
                tracing::warn!(%error, image = %image.digest, "an image cannot be used");
            }
        }
    }

    async fn register(&self, name: &str, root: &std::path::Path) -> Result<(), String> {
        let name = BaseName::new(name).map_err(|error| error.to_string())?;
        let registered = self.inner.backend.register_rootfs(&name, root).await;
        registered.map_err(|error| with_causes(&error).to_string())
    }

    /// Makes sure that the files of all images are here; where they are, by the names of their bases.
    pub(super) async fn obtain(
        &self,
        foundations: &BTreeMap<String, Foundation>,
        log: &BuildLog,
    ) -> Result<BTreeMap<String, PathBuf>, String> {
        let mut roots = BTreeMap::new();
        let Some(images) = &self.inner.options.container_images else {
            return Ok(roots);
        };
        for (name, foundation) in foundations {
            let (Some(resolved), ImageDisk::RootFs(base)) =
                (&foundation.resolved, &foundation.image.disk)
            else {
                continue;
            };
            log.add(Level::Info, &format!("{name} is {}", resolved.digest));
            let progress = |line: String| log.add(Level::Info, &line);
            let image = images
                .obtain(resolved, &progress)
                .await
                .map_err(|error| format!("the image '{name}': {}", with_causes(&error)))?;
            self.register(base, &image.root).await?;
            roots.insert(base.clone(), image.root);
        }
        Ok(roots)
    }
}
