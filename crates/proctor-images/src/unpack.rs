//! From an image's documents and layers to a tree that boxes can stand on.

use std::io::Read;

use proctor_core::canonical::Digest;

use crate::{
    documents::{RunConfig, write},
    error::ImageError,
    flatten::{self, Totals, Tree},
    layer::{self, Expected},
    limits::Limits,
    source::{Described, Files, plain_config, plain_manifest},
    store::{ImageFile, ImageStore, StoredImage, Unfinished},
};

/// Unpacks an image, unless it is there.
pub(crate) fn image(
    store: &ImageStore,
    files: &dyn Files,
    described: &Described,
    limits: &Limits,
) -> Result<StoredImage, ImageError> {
    described.config.check_platform("the image")?;
    if let Some(there) = store.image(&described.digest)? {
        return Ok(there);
    }
    let unfinished = store.begin()?;
    let mut making = Making::begin(&unfinished, limits)?;
    let mut blobs = Vec::new();
    for layer in &described.layers {
        let blob = files
            .open(&layer.path)?
            .ok_or_else(|| ImageError::invalid(format!("{} is missing", layer.path)))?;
        let found = making.layer(blob, layer.expected)?;
        blobs.push(found.blob);
    }
    making.finish().and_then(|totals| {
        unfinished.write("manifest", &described.manifest)?;
        unfinished.write("config", &described.config_bytes)?;
        if let Some(index) = &described.index {
            unfinished.write("index", index)?;
        }
        let file = ImageFile {
            digest: described.digest,
            index: described.index.as_deref().map(Digest::of_bytes),
            config: described.config.clone(),
            bytes: totals.bytes,
            layers: blobs,
        };
        store.publish(unfinished, &file)
    })
}

/// Unpacks a tar of a root file system, and makes the documents that it has not.
pub(crate) fn root_tar(
    store: &ImageStore,
    tar: impl Read + Send,
    run: RunConfig,
    limits: &Limits,
) -> Result<StoredImage, ImageError> {
    let unfinished = store.begin()?;
    let mut making = Making::begin(&unfinished, limits)?;
    let found = making.layer(tar, Expected::default())?;
    let totals = making.finish()?;
    if totals.members == 0 {
        return Err(ImageError::invalid("the archive is empty"));
    }
    let config = plain_config(run, vec![found.diff_id]);
    let config_bytes = write(&config)?;
    let manifest = plain_manifest(&config_bytes, &[(found.diff_id, found.tar_bytes)])?;
    unfinished.write("manifest", &manifest)?;
    unfinished.write("config", &config_bytes)?;
    let file = ImageFile {
        digest: Digest::of_bytes(&manifest),
        index: None,
        config,
        bytes: totals.bytes,
        layers: vec![found.blob],
    };
    store.publish(unfinished, &file)
}

/// A tree to which layers are applied.
struct Making<'l> {
    tree: Tree,
    totals: Totals,
    limits: &'l Limits,
    /// Bytes of the layers so far, as tars.
    tar_bytes: u64,
}

impl<'l> Making<'l> {
    fn begin(unfinished: &Unfinished, limits: &'l Limits) -> Result<Self, ImageError> {
        Ok(Self {
            tree: Tree::in_directory(&unfinished.root())?,
            totals: Totals::default(),
            limits,
            tar_bytes: 0,
        })
    }

    fn layer(
        &mut self,
        blob: impl Read + Send,
        expected: Expected,
    ) -> Result<layer::Found, ImageError> {
        // Besides its files a tar has headers, and a layer may write again what another wrote.
        let left = self
            .limits
            .image_bytes
            .saturating_mul(2)
            .saturating_sub(self.tar_bytes);
        let (tree, totals, limits) = (&mut self.tree, &mut self.totals, self.limits);
        let ((), found) = layer::read(blob, expected, limits, left, |tar| {
            flatten::apply(tree, tar, limits, totals)
        })?;
        self.tar_bytes += found.tar_bytes;
        Ok(found)
    }

    fn finish(self) -> Result<Totals, ImageError> {
        if self.totals.devices > 0 {
            let devices = self.totals.devices;
            tracing::debug!(devices, "devices of an image are left out");
        }
        self.tree.finish()?;
        Ok(self.totals)
    }
}
