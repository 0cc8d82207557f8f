//! What a recipe builds on, and whether everything that it names is there.

use std::collections::BTreeMap;

use proctor_core::{
    blueprint::{BaseReference, Image, ImageDisk, Recipe},
    id::{
        Dialect,
        kinds::{BlueprintId, OrganizationId},
    },
};

use super::{
    BlueprintError, Blueprints,
    dockerfile::{Dockerfile, DockerfileError},
    steps::{self, Plan},
};
use crate::objects::{self, ObjectError};

/// What a recipe builds on.
pub(super) struct Foundation {
    pub(super) blueprint: Option<BlueprintId>,
    pub(super) image: Image,
    /// The name after `FROM`, if it names nothing that is there and something else takes its place.
    pub(super) missing_image: Option<String>,
}

impl Foundation {
    /// A base of this server.
    fn of_server(disk: ImageDisk) -> Self {
        Self {
            blueprint: None,
            image: Image {
                disk,
                env: BTreeMap::new(),
                working_directory: None,
                user: None,
            },
            missing_image: None,
        }
    }

    /// Another blueprint.
    const fn of_blueprint(id: BlueprintId, image: Image) -> Self {
        Self {
            blueprint: Some(id),
            image,
            missing_image: None,
        }
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
            (None, None) => Ok(Foundation::of_server(ImageDisk::Host)),
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
            Ok((id, image)) => Ok(Foundation::of_blueprint(id, image)),
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
        let images = &self.inner.options.images;
        if let Some(disk) = images.get(name) {
            return Ok(Foundation::of_server(disk.clone()));
        }
        // The platform's own images are what a devbox begins with when nothing is said: here, the host's programs.
        if name == "host" || name.starts_with("runloop:") {
            return Ok(Foundation::of_server(ImageDisk::Host));
        }
        let found = match BlueprintId::from_wire(name, Dialect::Runloop) {
            Ok(id) => self.image(organization, id).await.map(|image| (id, image)),
            Err(_) => self.image_named(organization, name).await,
        };
        match found {
            Ok((id, image)) => return Ok(Foundation::of_blueprint(id, image)),
            Err(BlueprintError::Store(error)) => return Err(error.into()),
            Err(_) => {}
        }
        if let Some(disk) = images.get(ANY_IMAGE) {
            return Ok(Foundation {
                missing_image: Some(name.to_owned()),
                ..Foundation::of_server(disk.clone())
            });
        }
        let mut known = vec!["host"];
        known.extend(images.keys().map(String::as_str));
        let message = format!(
            "there is no image '{name}' on this server, which pulls none from elsewhere; there are {}, and blueprints by name or \
             id; with the setting --image '*=host' every other name means the host's programs",
            known.join(", ")
        );
        Err(DockerfileError::at(line, message).into())
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
