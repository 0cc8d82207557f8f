//! What a recipe builds on, and whether everything that it names is there.

use std::collections::BTreeMap;

use proctor_core::{
    blueprint::{BaseReference, Image, ImageDisk, Recipe},
    canonical::Digest,
    id::{
        Dialect,
        kinds::{BlueprintId, OrganizationId},
    },
};
use proctor_images::Resolved;

use super::{
    BlueprintError, Blueprints,
    dockerfile::{Dockerfile, DockerfileError},
    steps::{self, Needed, Origin, Plan},
};
use crate::objects::{self, ObjectError};

/// What a name of a recipe means.
#[derive(Clone)]
pub(super) struct Foundation {
    pub(super) blueprint: Option<BlueprintId>,
    pub(super) image: Image,
    /// Whether the name means nothing that is there, and something else takes its place.
    pub(super) is_stand_in: bool,
    /// The container image, whose files may not be here yet.
    pub(super) resolved: Option<Box<Resolved>>,
}

impl Foundation {
    /// A base of this server.
    fn of_server(disk: ImageDisk) -> Self {
        Self {
            blueprint: None,
            image: Image::on(disk),
            is_stand_in: false,
            resolved: None,
        }
    }

    /// Another blueprint.
    const fn of_blueprint(id: BlueprintId, image: Image) -> Self {
        Self {
            blueprint: Some(id),
            image,
            is_stand_in: false,
            resolved: None,
        }
    }
}

/// What everything that a recipe names means, and what is done with it.
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// By the names in the Dockerfile; what a recipe without one builds on has the empty name.
    pub(super) foundations: BTreeMap<String, Foundation>,
}

impl Planned {
    /// The blueprint that the image stands on, if it is one.
    pub(super) fn base(&self) -> Option<BlueprintId> {
        let mut stage = self.plan.stages.get(&self.plan.target)?;
        loop {
            match &stage.base {
                Origin::Stage(below) => stage = self.plan.stages.get(below)?,
                Origin::Image(_, name) => return self.foundations.get(name)?.blueprint,
            }
        }
    }

    /// What names of container images mean now.
    pub(super) fn digests(&self) -> BTreeMap<String, String> {
        let digests = self.foundations.iter().filter_map(|(name, foundation)| {
            let resolved = foundation.resolved.as_ref()?;
            Some((name.clone(), resolved.digest.to_string()))
        });
        digests.collect()
    }
}

/// The name of an image that takes the place of every image that is not there.
const ANY_IMAGE: &str = "*";

impl Blueprints {
    /// Everything about a recipe that can be known without building it.
    pub(super) async fn plan(
        &self,
        organization: OrganizationId,
        recipe: &Recipe,
    ) -> Result<Planned, BlueprintError> {
        let dockerfile = recipe
            .dockerfile
            .as_deref()
            .map(Dockerfile::parse)
            .transpose()?;
        let needed = dockerfile
            .as_ref()
            .map(|dockerfile| {
                steps::needed(dockerfile, &recipe.build_args, recipe.target.as_deref())
            })
            .transpose()?;
        let foundations = self
            .foundations(organization, recipe, needed.as_ref())
            .await?;
        let images = foundations
            .iter()
            .map(|(name, foundation)| (name.clone(), foundation.image.clone()))
            .collect();
        let plan = steps::plan(recipe, dockerfile.as_ref().zip(needed.as_ref()), &images)?;
        Ok(Planned { plan, foundations })
    }

    async fn foundations(
        &self,
        organization: OrganizationId,
        recipe: &Recipe,
        needed: Option<&Needed>,
    ) -> Result<BTreeMap<String, Foundation>, BlueprintError> {
        let only = |foundation| BTreeMap::from([(String::new(), foundation)]);
        let needed = match (&recipe.base, needed) {
            (Some(_), Some(_)) => {
                return Err(BlueprintError::recipe(
                    "dockerfile",
                    "a blueprint builds on a base blueprint or on what its Dockerfile says, not on both",
                ));
            }
            (Some(base), None) => {
                return self.base_blueprint(organization, base).await.map(only);
            }
            (None, None) => return Ok(only(Foundation::of_server(ImageDisk::Host))),
            (None, Some(needed)) => needed,
        };
        let mut foundations = BTreeMap::new();
        for (name, line) in needed.images() {
            let pinned = recipe.images.get(name).map(String::as_str);
            let foundation = self.named_image(organization, line, name, pinned).await?;
            foundations.insert(name.to_owned(), foundation);
        }
        Ok(foundations)
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
            Ok((id, image)) => Ok(Foundation::of_blueprint(id, image)),
            Err(BlueprintError::Store(error)) => Err(error.into()),
            Err(error) => Err(BlueprintError::recipe(field, error)),
        }
    }

    /// What a name after `FROM` means: a base of this server, a blueprint, or a container image.
    pub(super) async fn named_image(
        &self,
        organization: OrganizationId,
        line: usize,
        name: &str,
        pinned: Option<&str>,
    ) -> Result<Foundation, BlueprintError> {
        let images = &self.inner.options.images;
        if let Some(disk) = images.get(name) {
            return Ok(Foundation::of_server(disk.clone()));
        }
        // The platform's own images are what a devbox begins with when nothing is said: here, the host's programs.
        if name == "host" || name.starts_with("runloop:") {
            return Ok(Foundation::of_server(ImageDisk::Host));
        }
        if pinned.is_none() {
            let found = match BlueprintId::from_wire(name, Dialect::Runloop) {
                Ok(id) => self.image(organization, id).await.map(|image| (id, image)),
                Err(_) => self.image_named(organization, name).await,
            };
            match found {
                Ok((id, image)) => return Ok(Foundation::of_blueprint(id, image)),
                Err(BlueprintError::Store(error)) => return Err(error.into()),
                Err(_) => {}
            }
        }
        if let Some(foundation) = self.container_image(line, name, pinned).await? {
            return Ok(foundation);
        }
        if let Some(disk) = images.get(ANY_IMAGE) {
            return Ok(Foundation {
                is_stand_in: true,
                ..Foundation::of_server(disk.clone())
            });
        }
        Err(DockerfileError::at(line, self.no_such_image(name)).into())
    }

    /// Nothing is called so: what there is, and how it could be.
    fn no_such_image(&self, name: &str) -> String {
        let mut known = vec!["host"];
        known.extend(self.inner.options.images.keys().map(String::as_str));
        let pulls = match (&self.inner.options.container_images, name.parse()) {
            (Some(images), Ok(reference)) if images.may_pull(&reference) => "",
            _ => ", which does not pull it from a registry",
        };
        format!(
            "there is no image '{name}' on this server{pulls}; it can be imported (proctor image import), lie in a layout \
             (--image-layout DIR), or come from a registry that the setting image-registries allows; there are {}, and blueprints by \
             name or id; with the setting --image '*=host' every other name means the host's programs",
            known.join(", ")
        )
    }

    /// A container image: imported, in a layout, or at a registry.
    async fn container_image(
        &self,
        line: usize,
        name: &str,
        pinned: Option<&str>,
    ) -> Result<Option<Foundation>, BlueprintError> {
        let Some(images) = &self.inner.options.container_images else {
            return Ok(None);
        };
        let refuse = |error: &dyn std::error::Error| {
            let why = proctor_core::causes::with_causes(error).to_string();
            DockerfileError::at(line, format!("the image '{name}': {why}"))
        };
        let resolved = match pinned.map(str::parse::<Digest>) {
            Some(Ok(digest)) => images.resolve_pinned(name, &digest).await,
            Some(Err(error)) => return Err(refuse(&error).into()),
            None => images.resolve(name).await,
        };
        let Some(resolved) = resolved.map_err(|error| refuse(&error))? else {
            return match pinned {
                Some(digest) => Err(DockerfileError::at(
                    line,
                    format!("the image '{name}' was {digest} when the blueprint was made, and is no more here"),
                )
                .into()),
                None => Ok(None),
            };
        };
        let config = &resolved.config;
        let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let mut image = Image::on(ImageDisk::RootFs(super::container::base_name(
            &resolved.digest,
        )));
        image.env = config.variables();
        image.working_directory = set(&config.config.working_dir);
        image.user = set(&config.config.user);
        image.shell.clone_from(&config.config.shell);
        image.entrypoint.clone_from(&config.config.entrypoint);
        if !config.config.cmd.is_empty() {
            let cmd = serde_json::to_string(&config.config.cmd).unwrap_or_default();
            image.metadata.insert("cmd".to_owned(), cmd);
        }
        Ok(Some(Foundation {
            blueprint: None,
            image,
            is_stand_in: false,
            resolved: Some(Box::new(resolved)),
        }))
    }

    /// What a recipe names must be there.
    pub(super) async fn check_surroundings(
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
        let launch = recipe.launch_parameters.as_ref();
        let of_devboxes = launch
            .and_then(|launch| launch.get().ok())
            .and_then(|launch| launch.network_policy);
        for (field, policy) in [
            ("network_policy_id", recipe.network_policy),
            ("launch_parameters.network_policy_id", of_devboxes),
        ] {
            if let Some(id) = policy
                && store.network_policy(organization, id).await?.is_none()
            {
                let message = format!("there is no network policy '{id}'");
                return Err(BlueprintError::recipe(field, message));
            }
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
}
