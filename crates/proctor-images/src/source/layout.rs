//! OCI layouts: `oci-layout`, `index.json`, `blobs/sha256/`.

use std::{
    io::Read,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use proctor_core::canonical::Digest;
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::{Described, Files, blob_document};
use crate::{
    documents::{CONTAINERD_NAME, Descriptor, Index, Manifest, OCI_INDEX, OCI_MANIFEST, REF_NAME},
    error::{Doing as _, ImageError},
    reference::Reference,
};

/// How deeply indexes may be nested in indexes.
const DEEPEST: usize = 4;

/// Which image of a layout is meant.
#[derive(Debug)]
pub(crate) enum Choice<'n> {
    /// The only one.
    Only,
    /// The one of this name; if nothing is called so, the only one.
    Named(&'n Reference),
    /// The one of this name and no other.
    Exactly(&'n Reference),
}

impl<'n> Choice<'n> {
    pub(crate) fn of(name: Option<&'n Reference>) -> Self {
        name.map_or(Self::Only, Self::Named)
    }
}

/// A layout whose index was read.
#[derive(Debug)]
pub(crate) struct Layout {
    index: Index,
}

impl Layout {
    /// Reads the index; `None` if this is no layout.
    pub(crate) fn read(files: &dyn Files) -> Result<Option<Self>, ImageError> {
        let (Some(_), Some(index)) = (files.document("oci-layout")?, files.document("index.json")?)
        else {
            return Ok(None);
        };
        let index = Index::read(&index)?;
        Ok(Some(Self { index }))
    }

    /// The image that is meant.
    pub(crate) fn describe(
        &self,
        files: &dyn Files,
        choice: &Choice<'_>,
    ) -> Result<Described, ImageError> {
        let chosen = self.choose(choice)?;
        let mut described = describe(files, chosen, None, 0)?;
        described.names = names(chosen);
        Ok(described)
    }

    fn choose(&self, choice: &Choice<'_>) -> Result<&Descriptor, ImageError> {
        let (Choice::Named(name) | Choice::Exactly(name)) = choice else {
            return self.only();
        };
        let called = self.index.manifests.iter().find(|one| is_called(one, name));
        match (called, choice) {
            (Some(called), _) => Ok(called),
            (None, Choice::Exactly(_)) => Err(ImageError::Missing(format!(
                "the layout has no image '{name}'"
            ))),
            (None, _) => self.only(),
        }
    }

    fn only(&self) -> Result<&Descriptor, ImageError> {
        match self.index.manifests.as_slice() {
            [] => Err(ImageError::invalid("the layout has no image")),
            [only] => Ok(only),
            // Several platforms of one image, as some tools write them.
            several if several.iter().all(|one| one.platform.is_some()) => {
                self.index.for_host("the image")
            }
            several => {
                let names: Vec<String> = several
                    .iter()
                    .flat_map(|one| names(one).into_iter().map(|name| name.to_string()))
                    .collect();
                Err(ImageError::invalid(format!(
                    "the layout has {} images ({}); --name says which",
                    several.len(),
                    names.join(", ")
                )))
            }
        }
    }
}

fn describe(
    files: &dyn Files,
    descriptor: &Descriptor,
    index: Option<Vec<u8>>,
    depth: usize,
) -> Result<Described, ImageError> {
    if depth > DEEPEST {
        return Err(ImageError::invalid("indexes are nested too deeply"));
    }
    let bytes = blob_document(files, &descriptor.digest)?;
    if descriptor.is_index() {
        let inner = Index::read(&bytes)?;
        let chosen = inner.for_host("the image")?.clone();
        return describe(files, &chosen, Some(index.unwrap_or(bytes)), depth + 1);
    }
    if !descriptor.is_manifest() {
        return Err(ImageError::invalid(format!(
            "'{}' is not the manifest of an image",
            descriptor.media_type
        )));
    }
    let config = Manifest::read(&bytes)?.config.digest;
    Described::of_manifest(bytes, blob_document(files, &config)?, index)
}

/// The image whose manifest or index has this digest; `None` if the layout has no such blob.
pub(crate) fn describe_digest(
    files: &dyn Files,
    digest: &Digest,
) -> Result<Option<Described>, ImageError> {
    #[derive(serde::Deserialize)]
    struct Any {
        manifests: Option<serde::de::IgnoredAny>,
    }
    if files.document(&super::blob_path(digest))?.is_none() {
        return Ok(None);
    }
    let bytes = blob_document(files, digest)?;
    let any: Any = crate::documents::read("the manifest", &bytes)?;
    let media_type = match any.manifests {
        Some(_) => OCI_INDEX,
        None => OCI_MANIFEST,
    };
    let descriptor = Descriptor::new(media_type, *digest, bytes.len() as u64);
    describe(files, &descriptor, None, 0).map(Some)
}

/// What an image of a layout is called. A tag alone is no name.
fn names(descriptor: &Descriptor) -> Vec<Reference> {
    let whole = descriptor.annotations.get(CONTAINERD_NAME);
    let short = descriptor
        .annotations
        .get(REF_NAME)
        .filter(|name| name.contains([':', '/']));
    let name = whole.or(short).and_then(|name| name.parse().ok());
    name.into_iter().collect()
}

fn is_called(descriptor: &Descriptor, name: &Reference) -> bool {
    if let Some(digest) = name.digest() {
        return descriptor.digest == *digest;
    }
    let written = descriptor.annotations.get(REF_NAME);
    names(descriptor).contains(name)
        || written.is_some_and(|written| written.parse().is_ok_and(|read: Reference| read == *name))
}

/// A layout as a directory. Links in it lead nowhere else.
pub(crate) struct LayoutDirectory {
    directory: OwnedFd,
    path: PathBuf,
}

impl LayoutDirectory {
    pub(crate) fn open(path: &Path) -> Result<Self, ImageError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())
            .doing(format!("opening {}", path.display()))?;
        Ok(Self {
            directory,
            path: path.to_owned(),
        })
    }

    fn file(&self, path: &str) -> Result<Option<fs_err::File>, ImageError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let opened = rustix::fs::openat2(&self.directory, path, flags, Mode::empty(), resolve);
        let file = match opened {
            Ok(opened) => fs_err::File::from_parts(opened.into(), self.path.join(path)),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
            Err(errno) => {
                let whole = self.path.join(path);
                return Err(ImageError::io(
                    format!("opening {}", whole.display()),
                    errno,
                ));
            }
        };
        let is_file = file.metadata().doing("reading a layout")?.is_file();
        match is_file {
            true => Ok(Some(file)),
            false => Err(ImageError::invalid(format!("{path} is not a file"))),
        }
    }
}

impl Files for LayoutDirectory {
    fn open(&self, path: &str) -> Result<Option<Box<dyn Read + Send>>, ImageError> {
        let file = self.file(path)?;
        Ok(file.map(|file| Box::new(file) as Box<dyn Read + Send>))
    }

    fn size(&self, path: &str) -> Result<u64, ImageError> {
        match self.file(path)? {
            Some(file) => Ok(file.metadata().doing("reading a layout")?.len()),
            None => Ok(0),
        }
    }
}

/// Whether a digest is that of an image's index or manifest.
pub(crate) fn is_digest_of(described: &Described, digest: &Digest) -> bool {
    described.digest == *digest
        || described
            .index
            .as_ref()
            .is_some_and(|index| Digest::of_bytes(index) == *digest)
}
