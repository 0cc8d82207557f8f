//! Where images come from on disk: an OCI layout as a directory or as a tar, what `docker save` writes, a root file system as a tar.

mod docker_save;
mod layout;
mod tar_file;

use std::io::Read;

use proctor_core::canonical::Digest;

pub(crate) use layout::{Choice, Layout, LayoutDirectory, describe_digest, is_digest_of};
pub(crate) use tar_file::TarFile;

use crate::{
    documents::{
        Descriptor, ImageConfig, Manifest, OCI_CONFIG, OCI_LAYER, OCI_MANIFEST, Platform, RootFs,
        RunConfig, check_digest, write,
    },
    error::ImageError,
    layer::Expected,
    limits::LARGEST_DOCUMENT,
    reference::Reference,
};

/// Something with files in it: a directory or a tar.
pub(crate) trait Files: Send + Sync {
    /// Opens a file by its path; `None` if it is not there.
    fn open(&self, path: &str) -> Result<Option<Box<dyn Read + Send>>, ImageError>;

    /// The bytes of a file; none if it is not there.
    fn size(&self, path: &str) -> Result<u64, ImageError>;

    /// A small file as a whole.
    fn document(&self, path: &str) -> Result<Option<Vec<u8>>, ImageError> {
        let Some(file) = self.open(path)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let mut file = file.take(LARGEST_DOCUMENT + 1);
        file.read_to_end(&mut bytes)
            .map_err(|error| ImageError::io(format!("reading {path}"), error))?;
        match bytes.len() as u64 > LARGEST_DOCUMENT {
            true => Err(ImageError::invalid(format!(
                "{path} is larger than {LARGEST_DOCUMENT} bytes"
            ))),
            false => Ok(Some(bytes)),
        }
    }
}

/// The path of a blob in a layout.
pub(crate) fn blob_path(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

/// A blob that is a document, checked.
pub(crate) fn blob_document(files: &dyn Files, digest: &Digest) -> Result<Vec<u8>, ImageError> {
    let path = blob_path(digest);
    let bytes = files
        .document(&path)?
        .ok_or_else(|| ImageError::invalid(format!("{path} is missing")))?;
    check_digest(&path, &bytes, digest)?;
    Ok(bytes)
}

/// An image as its documents describe it, ready to be unpacked.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) digest: Digest,
    pub(crate) manifest: Vec<u8>,
    pub(crate) config: ImageConfig,
    pub(crate) config_bytes: Vec<u8>,
    /// The index that the manifest was chosen from.
    pub(crate) index: Option<Vec<u8>>,
    pub(crate) layers: Vec<LayerFile>,
    /// What it is called where it comes from.
    pub(crate) names: Vec<Reference>,
}

/// A layer by its file.
#[derive(Clone, Debug)]
pub(crate) struct LayerFile {
    pub(crate) path: String,
    pub(crate) expected: Expected,
}

impl Described {
    /// An image by its manifest, whose configuration and layers are blobs of a layout.
    pub(crate) fn of_manifest(
        manifest: Vec<u8>,
        config_bytes: Vec<u8>,
        index: Option<Vec<u8>>,
    ) -> Result<Self, ImageError> {
        let read = Manifest::read(&manifest)?;
        check_digest(
            "the image's configuration",
            &config_bytes,
            &read.config.digest,
        )?;
        let config = ImageConfig::read(&config_bytes)?;
        let diff_ids = &config.rootfs.diff_ids;
        if diff_ids.len() != read.layers.len() {
            return Err(ImageError::invalid(format!(
                "the manifest has {} layers, the configuration speaks of {}",
                read.layers.len(),
                diff_ids.len()
            )));
        }
        let layers = read
            .layers
            .iter()
            .zip(diff_ids)
            .map(|(layer, diff_id)| LayerFile {
                path: blob_path(&layer.digest),
                expected: Expected {
                    blob: Some(layer.digest),
                    diff_id: Some(*diff_id),
                    size: Some(layer.size),
                },
            })
            .collect();
        Ok(Self {
            digest: Digest::of_bytes(&manifest),
            manifest,
            config,
            config_bytes,
            index,
            layers,
            names: Vec::new(),
        })
    }
}

/// The manifest of an image whose layers are plain tars with these digests and sizes.
pub(crate) fn plain_manifest(
    config_bytes: &[u8],
    layers: &[(Digest, u64)],
) -> Result<Vec<u8>, ImageError> {
    let manifest = Manifest {
        schema_version: 2,
        media_type: Some(OCI_MANIFEST.to_owned()),
        config: Descriptor::new(
            OCI_CONFIG,
            Digest::of_bytes(config_bytes),
            config_bytes.len() as u64,
        ),
        layers: layers
            .iter()
            .map(|(digest, size)| Descriptor::new(OCI_LAYER, *digest, *size))
            .collect(),
    };
    write(&manifest)
}

/// The configuration of a root file system that says nothing of itself.
pub(crate) fn plain_config(run: RunConfig, diff_ids: Vec<Digest>) -> ImageConfig {
    let host = Platform::host();
    ImageConfig {
        architecture: host.architecture,
        os: host.os,
        config: run,
        rootfs: RootFs {
            kind: "layers".to_owned(),
            diff_ids,
        },
    }
}

/// What a file or directory turned out to be.
pub(crate) enum Opened {
    /// An image with documents, and its files.
    Image(Box<Described>, Box<dyn Files>),
    /// A tar of a root file system.
    RootTar,
}

/// Looks at what was given, and chooses the image that is meant by `name` if there are several.
pub(crate) fn open(
    files: Box<dyn Files>,
    may_be_root: bool,
    name: Option<&Reference>,
) -> Result<Opened, ImageError> {
    if let Some(layout) = Layout::read(&*files)? {
        let described = layout.describe(&*files, &Choice::of(name))?;
        return Ok(Opened::Image(Box::new(described), files));
    }
    if let Some(described) = docker_save::describe(&*files, name)? {
        return Ok(Opened::Image(Box::new(described), files));
    }
    match may_be_root {
        true => Ok(Opened::RootTar),
        false => Err(ImageError::invalid(
            "it is not an OCI layout: it has no file oci-layout with an index.json beside it",
        )),
    }
}
