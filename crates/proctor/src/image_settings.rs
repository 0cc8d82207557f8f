//! Settings of container images: where they may come from.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::Context as _;
use proctor_images::{
    Alias, ImageError, ImageOptions,
    registry::{AllowedRegistry, RegistryOptions, read_credentials},
};
use serde::Deserialize;

use crate::{exit::WrongUse, settings::ServeSettings};

/// A registry that may be asked.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct RegistrySetting(AllowedRegistry);

/// Another name of images.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct AliasSetting(Alias);

/// Where packages of a distribution come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct MirrorSetting {
    distribution: String,
    url: String,
}

impl FromStr for RegistrySetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl FromStr for AliasSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl FromStr for MirrorSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let has_scheme = |url: &str| {
            ["http://", "https://", "file://"]
                .iter()
                .any(|scheme| url.starts_with(scheme))
        };
        match text.split_once('=') {
            Some((distribution @ ("debian" | "ubuntu"), url)) if has_scheme(url) => Ok(Self {
                distribution: distribution.to_owned(),
                url: url.to_owned(),
            }),
            _ => Err(
                "expected debian=URL or ubuntu=URL, such as ubuntu=http://mirror.example/ubuntu"
                    .to_owned(),
            ),
        }
    }
}

impl TryFrom<String> for RegistrySetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for AliasSetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for MirrorSetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Where container images may come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImageSources {
    aliases: Vec<Alias>,
    layouts: Vec<PathBuf>,
    registries: RegistryOptions,
}

impl ImageSources {
    /// What the settings say.
    pub(crate) fn of(settings: &ServeSettings) -> anyhow::Result<Self> {
        let credentials = match &settings.image_credentials {
            None => BTreeMap::new(),
            Some(path) => {
                let text =
                    fs_err::read_to_string(path).map_err(|error| WrongUse(error.to_string()))?;
                read_credentials(&text)
                    .map_err(|error| WrongUse(error.to_string()))
                    .with_context(|| format!("the file {} is not right", path.display()))?
            }
        };
        let registries = settings.image_registries.iter().flatten();
        let aliases = settings.image_alias.iter().flatten();
        Ok(Self {
            aliases: aliases.map(|alias| alias.0.clone()).collect(),
            layouts: settings.image_layouts.clone().unwrap_or_default(),
            registries: RegistryOptions {
                allowed: registries.map(|registry| registry.0.clone()).collect(),
                internal: settings.internal_hosts.clone().unwrap_or_default(),
                credentials,
                ..RegistryOptions::default()
            },
        })
    }

    /// The images of a data directory with these sources.
    pub(crate) fn options(self, data: &Path) -> ImageOptions {
        ImageOptions {
            aliases: self.aliases,
            layouts: self.layouts,
            registries: self.registries,
            ..ImageOptions::new(data.join("images"))
        }
    }
}

/// Mirrors by distribution.
pub(crate) fn mirrors(settings: &ServeSettings) -> BTreeMap<String, String> {
    let mirrors = settings.image_mirrors.iter().flatten();
    mirrors
        .map(|mirror| (mirror.distribution.clone(), mirror.url.clone()))
        .collect()
}

/// A failure of images for the command line: what somebody can put right by asking differently, or a failing platform.
pub(crate) fn failure(error: ImageError) -> anyhow::Error {
    match error {
        ImageError::Name { .. }
        | ImageError::Missing(_)
        | ImageError::Invalid(_)
        | ImageError::InUse(_) => WrongUse(error.to_string()).into(),
        ImageError::Registry { .. } | ImageError::Io { .. } => error.into(),
    }
}
