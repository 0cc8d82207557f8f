//! An image as an OCI layout: how a connected machine fills the mirror of one without a network.
//!
//! A pulled image keeps its layers and is written as it came, with the digests that it is known by. Of others only the tree is there: they become one layer.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use proctor_core::canonical::{Digest, Hasher};

use crate::{
    documents::{
        CONTAINERD_NAME, Descriptor, ImageConfig, Index, Manifest, OCI_CONFIG, OCI_INDEX,
        OCI_LAYER_GZIP, OCI_MANIFEST, Platform, REF_NAME, RootFs, read, write,
    },
    error::{Doing as _, ImageError},
    reference::Reference,
    store::{ImageStore, StoredImage, write_whole},
    tree_reader::TreeReader,
};

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The digest of the manifest in the layout.
    pub digest: Digest,
    /// Whether it is the image's own, so that names with a digest go on meaning it.
    pub as_it_came: bool,
}

/// Adds an image to the layout in `directory`, which is made if it is missing.
pub(crate) fn export(
    store: &ImageStore,
    image: &StoredImage,
    name: &Reference,
    directory: &Path,
) -> Result<Exported, ImageError> {
    let blobs = directory.join("blobs/sha256");
    fs_err::create_dir_all(&blobs).doing("making the layout")?;
    let layers = store.layers(&image.digest)?;
    let kept = layers.iter().all(|layer| store.blob_path(layer).exists());
    let (mut entry, digest) = match kept && !layers.is_empty() {
        true => as_it_came(store, image, &layers, &blobs)?,
        false => as_one_layer(image, &blobs)?,
    };
    let short = name.to_string();
    entry.annotations = [
        (REF_NAME.to_owned(), short),
        (CONTAINERD_NAME.to_owned(), name.canonical()),
    ]
    .into();
    let index_path = directory.join("index.json");
    let mut index = match fs_err::read(&index_path) {
        Ok(bytes) => Index::read(&bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Index {
            schema_version: 2,
            media_type: Some(OCI_INDEX.to_owned()),
            manifests: Vec::new(),
        },
        Err(error) => return Err(ImageError::io("reading the layout", error)),
    };
    let named = entry.annotations.get(CONTAINERD_NAME);
    index
        .manifests
        .retain(|one| one.annotations.get(CONTAINERD_NAME) != named);
    index.manifests.push(entry);
    write_whole(
        &directory.join("oci-layout"),
        br#"{"imageLayoutVersion":"1.0.0"}"#,
    )
    .doing("writing the layout")?;
    write_whole(&index_path, &write(&index)?).doing("writing the layout")?;
    Ok(Exported {
        digest,
        as_it_came: kept && digest == image.digest,
    })
}

fn as_it_came(
    store: &ImageStore,
    image: &StoredImage,
    layers: &[Digest],
    blobs: &Path,
) -> Result<(Descriptor, Digest), ImageError> {
    for layer in layers {
        let target = blobs.join(layer.hex());
        if !target.exists() {
            copy_whole(&store.blob_path(layer), &target)?;
        }
    }
    let manifest = store.document(&image.digest, "manifest")?;
    let config = store.document(&image.digest, "config")?;
    put(blobs, &config)?;
    let digest = put(blobs, &manifest)?;
    let media_type = read::<Manifest>("the manifest", &manifest)?.media_type;
    let media_type = media_type.as_deref().unwrap_or(OCI_MANIFEST);
    let Some(index) = &image.index else {
        let entry = Descriptor::new(media_type, digest, manifest.len() as u64);
        return Ok((entry, digest));
    };
    // With the index that it was chosen from, so that the index's digest means it there too.
    let bytes = store.document(&image.digest, "index")?;
    put(blobs, &bytes)?;
    let read = Index::read(&bytes)?;
    let media_type = read.media_type.as_deref().unwrap_or(OCI_INDEX);
    Ok((
        Descriptor::new(media_type, *index, bytes.len() as u64),
        digest,
    ))
}

fn as_one_layer(image: &StoredImage, blobs: &Path) -> Result<(Descriptor, Digest), ImageError> {
    let file = tempfile::NamedTempFile::new_in(blobs).doing("writing a layer")?;
    let packed = Hashing::on(BufWriter::new(file));
    let plain = Hashing::on(GzEncoder::new(packed, Compression::new(6)));
    let plain = TreeReader::open(&image.root)?.write_tar(plain)?;
    let diff_id = plain.hasher.finish();
    let packed = plain.inner.finish().doing("writing a layer")?;
    let (digest, size) = (packed.hasher.finish(), packed.bytes);
    let file = packed
        .inner
        .into_inner()
        .map_err(io::IntoInnerError::into_error)
        .doing("writing a layer")?;
    file.as_file().sync_all().doing("writing a layer")?;
    file.persist(blobs.join(digest.hex()))
        .map_err(|error| ImageError::io("writing a layer", error.error))?;
    let config = ImageConfig {
        rootfs: RootFs {
            kind: "layers".to_owned(),
            diff_ids: vec![diff_id],
        },
        ..image.config.clone()
    };
    let config_bytes = write(&config)?;
    let config_digest = put(blobs, &config_bytes)?;
    let manifest = Manifest {
        schema_version: 2,
        media_type: Some(OCI_MANIFEST.to_owned()),
        config: Descriptor::new(OCI_CONFIG, config_digest, config_bytes.len() as u64),
        layers: vec![Descriptor::new(OCI_LAYER_GZIP, digest, size)],
    };
    let manifest = write(&manifest)?;
    let digest = put(blobs, &manifest)?;
    let mut entry = Descriptor::new(OCI_MANIFEST, digest, manifest.len() as u64);
    entry.platform = Some(Platform::host());
    Ok((entry, digest))
}

fn put(blobs: &Path, bytes: &[u8]) -> Result<Digest, ImageError> {
    let digest = Digest::of_bytes(bytes);
    write_whole(&blobs.join(digest.hex()), bytes).doing("writing the layout")?;
    Ok(digest)
}

fn copy_whole(from: &Path, to: &Path) -> Result<(), ImageError> {
    let directory = to.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory).doing("writing the layout")?;
    let mut source = fs_err::File::open(from).doing("reading a layer")?;
    io::copy(&mut source, &mut file).doing("copying a layer")?;
    file.as_file().sync_all().doing("writing the layout")?;
    file.persist(to)
        .map_err(|error| ImageError::io("writing the layout", error.error))?;
    Ok(())
}

/// A writer that hashes and counts what goes through it.
struct Hashing<W> {
    inner: W,
    hasher: Hasher,
    bytes: u64,
}

impl<W> Hashing<W> {
    fn on(inner: W) -> Self {
        Self {
            inner,
            hasher: Hasher::default(),
            bytes: 0,
        }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
