//! What `docker save` wrote before version 25: `manifest.json`, a configuration, and a `layer.tar` for each layer.

use proctor_core::canonical::Digest;
use serde::Deserialize;

use super::{Described, Files, LayerFile, plain_manifest};
use crate::{
    documents::{ImageConfig, read},
    error::ImageError,
    layer::Expected,
    reference::Reference,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

impl Saved {
    fn names(&self) -> Vec<Reference> {
        let tags = self.repo_tags.iter().flatten();
        tags.filter_map(|tag| tag.parse().ok()).collect()
    }
}

/// The image in such an archive; `None` if it is none.
pub(super) fn describe(
    files: &dyn Files,
    name: Option<&Reference>,
) -> Result<Option<Described>, ImageError> {
    let Some(bytes) = files.document("manifest.json")? else {
        return Ok(None);
    };
    let saved: Vec<Saved> = read("manifest.json", &bytes)?;
    let chosen = match (saved.as_slice(), name) {
        ([], _) => return Err(ImageError::invalid("the archive has no image")),
        ([only], _) => only,
        (several, Some(name)) => several
            .iter()
            .find(|one| one.names().contains(name))
            .ok_or_else(|| ImageError::Missing(format!("the archive has no image '{name}'")))?,
        (several, None) => {
            return Err(ImageError::invalid(format!(
                "the archive has {} images; --name says which",
                several.len()
            )));
        }
    };
    let missing = |path: &str| ImageError::invalid(format!("{path} is missing in the archive"));
    let config_bytes = files
        .document(&chosen.config)?
        .ok_or_else(|| missing(&chosen.config))?;
    check_config_name(&chosen.config, &config_bytes)?;
    let config = ImageConfig::read(&config_bytes)?;
    let diff_ids = &config.rootfs.diff_ids;
    if diff_ids.len() != chosen.layers.len() {
        return Err(ImageError::invalid(format!(
            "the archive has {} layers, the configuration speaks of {}",
            chosen.layers.len(),
            diff_ids.len()
        )));
    }
    // There is no manifest whose digest could be the image's: it is made of what is there.
    let described = diff_ids
        .iter()
        .zip(&chosen.layers)
        .map(|(digest, path)| Ok((*digest, files.size(path)?)))
        .collect::<Result<Vec<_>, ImageError>>()?;
    let manifest = plain_manifest(&config_bytes, &described)?;
    let layers = chosen
        .layers
        .iter()
        .zip(diff_ids)
        .map(|(path, diff_id)| LayerFile {
            path: path.clone(),
            expected: Expected {
                blob: None,
                diff_id: Some(*diff_id),
                size: None,
            },
        })
        .collect();
    Ok(Some(Described {
        digest: Digest::of_bytes(&manifest),
        manifest,
        config_bytes,
        index: None,
        layers,
        names: chosen.names(),
        config,
    }))
}

/// The configuration's file is called by its digest.
fn check_config_name(path: &str, bytes: &[u8]) -> Result<(), ImageError> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let hex = name.strip_suffix(".json").unwrap_or(name);
    match format!("sha256:{hex}").parse::<Digest>() {
        Ok(digest) => crate::documents::check_digest(path, bytes, &digest),
        Err(_) => Ok(()),
    }
}
