//! The images of a machine, on its disk.
//!
//! ```text
//! DATA/images/
//!   names/HASH.json            what a name means: {name, digest, source, created_at}
//!   roots/HEX/                 one image, by the digest of its manifest
//!     root/                    its flattened tree, on which boxes stand
//!     image.json               its configuration, platform and size
//!     manifest, config, index  the documents as they came
//!   blobs/sha256/HEX           layers of pulled images, for exports; HEX.part while they arrive
//!   locks/HEX                  held by whoever makes that image
//! ```
//!
//! Files instead of rows of the database: a tree is a directory of one machine, while a database may be shared by several, and an image that is listed must be
//! there. An image comes to be by renaming a finished directory, a name by renaming a finished file; whatever a crash leaves besides is swept. Root inside an
//! image may own programs that run as the host's root, so nobody but the owner of the directory may enter it.

use std::{
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use proctor_core::{canonical::Digest, causes::with_causes, time::Timestamp};
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::{
    documents::{ImageConfig, read, write},
    error::{Doing as _, ImageError},
    reference::Reference,
};

/// What is written with an image's tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ImageFile {
    pub(crate) digest: Digest,
    /// The index that the manifest was chosen from.
    pub(crate) index: Option<Digest>,
    pub(crate) config: ImageConfig,
    /// Bytes of its files.
    pub(crate) bytes: u64,
    /// The layers as they were packed; those of pulled images are among the blobs.
    pub(crate) layers: Vec<Digest>,
}

/// What is written for a name.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NameFile {
    name: String,
    digest: Digest,
    source: String,
    created_at: i64,
}

/// An image that is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredImage {
    /// The digest of its manifest.
    pub digest: Digest,
    /// The index that it was chosen from, if it was.
    pub index: Option<Digest>,
    /// What it says besides its files.
    pub config: ImageConfig,
    /// Where its tree is.
    pub root: PathBuf,
    /// Bytes of its files.
    pub bytes: u64,
}

/// A name and the image it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedImage {
    /// The name.
    pub name: Reference,
    /// What it means.
    pub image: StoredImage,
    /// Where it came from, in words.
    pub source: String,
    /// When.
    pub created_at: Timestamp,
}

/// The directory of all images; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ImageStore {
    directory: PathBuf,
}

/// An image that is being made: a directory that goes unless it is published.
#[derive(Debug)]
pub(crate) struct Unfinished {
    directory: Option<PathBuf>,
}

impl Unfinished {
    /// Where its tree is made.
    pub(crate) fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    fn path(&self) -> &Path {
        self.directory.as_deref().unwrap_or_else(|| Path::new(""))
    }

    /// Keeps a document.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ImageError> {
        let path = self.path().join(name);
        fs_err::write(path, bytes).doing("writing an image")
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory
            && let Err(error) = remove_tree(directory)
        {
            tracing::warn!(path = %directory.display(), error = %with_causes(&error), "an unfinished image stays until the next start");
        }
    }
}

/// The right to make one image, until it is dropped.
pub(crate) struct MakingLock {
    _file: std::os::fd::OwnedFd,
}

impl ImageStore {
    /// The images in `directory`, which is made if it is missing.
    pub(crate) fn open(directory: &Path) -> Result<Self, ImageError> {
        let doing = || format!("opening the images in {}", directory.display());
        for name in ["names", "roots", "blobs/sha256", "locks"] {
            fs_err::create_dir_all(directory.join(name)).doing(doing())?;
        }
        let directory = fs_err::canonicalize(directory).doing(doing())?;
        let owners_only = std::fs::Permissions::from_mode(0o700);
        fs_err::set_permissions(&directory, owners_only).doing(doing())?;
        Ok(Self { directory })
    }

    fn roots(&self) -> PathBuf {
        self.directory.join("roots")
    }

    fn home_of(&self, digest: &Digest) -> PathBuf {
        self.roots().join(digest.hex())
    }

    fn name_path(&self, name: &Reference) -> PathBuf {
        let hash = Digest::of_bytes(name.canonical().as_bytes()).hex();
        self.directory.join("names").join(format!("{hash}.json"))
    }

    /// The directory of an image's documents.
    pub(crate) fn document(&self, digest: &Digest, name: &str) -> Result<Vec<u8>, ImageError> {
        fs_err::read(self.home_of(digest).join(name)).doing("reading an image")
    }

    /// A layout in the sense of `source`: the blobs of pulled images.
    pub(crate) fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.directory.join("blobs/sha256").join(digest.hex())
    }

    /// The directory that holds `blobs/`.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Waits until nobody else makes this image, on this machine.
    pub(crate) fn lock(&self, digest: &Digest) -> Result<MakingLock, ImageError> {
        let path = self.directory.join("locks").join(digest.hex());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let file =
            rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).doing("locking an image")?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).doing("locking an image")?;
        Ok(MakingLock { _file: file })
    }

    /// A place for a new image.
    pub(crate) fn begin(&self) -> Result<Unfinished, ImageError> {
        let directory = tempfile::Builder::new()
            .prefix(NEW)
            .tempdir_in(self.roots())
            .doing("making a directory for an image")?
            .keep();
        let unfinished = Unfinished {
            directory: Some(directory),
        };
        fs_err::create_dir(unfinished.root()).doing("making a directory for an image")?;
        let mode = std::fs::Permissions::from_mode(0o755);
        fs_err::set_permissions(unfinished.root(), mode)
            .doing("making a directory for an image")?;
        Ok(unfinished)
    }

    /// Makes a finished image known by its digest. If it is there already, that one stays.
    pub(crate) fn publish(
        &self,
        mut unfinished: Unfinished,
        file: &ImageFile,
    ) -> Result<StoredImage, ImageError> {
        if let Some(there) = self.image(&file.digest)? {
            return Ok(there);
        }
        unfinished.write("image.json", &write(file)?)?;
        // All files of the tree at once, before the name: thousands of them, one by one, would take minutes.
        let roots = fs_err::File::open(self.roots()).doing("writing an image")?;
        rustix::fs::syncfs(&roots).doing("writing an image")?;
        let home = self.home_of(&file.digest);
        match fs_err::rename(unfinished.path(), &home) {
            Ok(()) => unfinished.directory = None,
            // Somebody else made the same meanwhile.
            Err(_) if home.join("image.json").exists() => {}
            Err(error) => return Err(ImageError::io("writing an image", error)),
        }
        roots.sync_all().doing("writing an image")?;
        let made = self.image(&file.digest)?;
        made.ok_or_else(|| ImageError::Missing("the image went away while it was made".to_owned()))
    }

    /// The image with this digest.
    pub(crate) fn image(&self, digest: &Digest) -> Result<Option<StoredImage>, ImageError> {
        let home = self.home_of(digest);
        let file = home.join("image.json");
        let bytes = match fs_err::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ImageError::io("reading an image", error)),
        };
        let file: ImageFile = read("the record of an image", &bytes)?;
        Ok(Some(StoredImage {
            digest: file.digest,
            index: file.index,
            config: file.config,
            root: home.join("root"),
            bytes: file.bytes,
        }))
    }

    /// The layers of an image as they were packed.
    pub(crate) fn layers(&self, digest: &Digest) -> Result<Vec<Digest>, ImageError> {
        let file: ImageFile = read(
            "the record of an image",
            &self.document(digest, "image.json")?,
        )?;
        Ok(file.layers)
    }

    /// Gives an image a name; an image that had it before loses it.
    pub(crate) fn name(
        &self,
        name: &Reference,
        digest: &Digest,
        source: &str,
        now: Timestamp,
    ) -> Result<(), ImageError> {
        let file = NameFile {
            name: name.canonical(),
            digest: *digest,
            source: source.to_owned(),
            created_at: now.as_millis(),
        };
        write_whole(&self.name_path(name), &write(&file)?).doing("writing the name of an image")
    }

    /// Takes a name away; whether it was there.
    pub(crate) fn unname(&self, name: &Reference) -> Result<bool, ImageError> {
        match fs_err::remove_file(self.name_path(name)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(ImageError::io("removing the name of an image", error)),
        }
    }

    /// What a name means here. A digest decides alone: what has it is the same wherever it came from.
    pub(crate) fn find(&self, name: &Reference) -> Result<Option<StoredImage>, ImageError> {
        if let Some(digest) = name.digest() {
            return self.by_digest(digest);
        }
        let bytes = match fs_err::read(self.name_path(name)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ImageError::io("reading the name of an image", error)),
        };
        let file: NameFile = read("the name of an image", &bytes)?;
        self.image(&file.digest)
    }

    /// The image whose manifest or index has this digest.
    pub(crate) fn by_digest(&self, digest: &Digest) -> Result<Option<StoredImage>, ImageError> {
        if let Some(image) = self.image(digest)? {
            return Ok(Some(image));
        }
        let mut all = self.images()?.into_iter();
        Ok(all.find(|image| image.index.as_ref() == Some(digest)))
    }

    /// Every image, with a name or without.
    pub(crate) fn images(&self) -> Result<Vec<StoredImage>, ImageError> {
        let mut images = Vec::new();
        for entry in fs_err::read_dir(self.roots()).doing("reading the images")? {
            let entry = entry.doing("reading the images")?;
            let digest = format!("sha256:{}", entry.file_name().to_string_lossy()).parse();
            if let Ok(digest) = digest {
                images.extend(self.image(&digest)?);
            }
        }
        images.sort_by_key(|image| image.digest);
        Ok(images)
    }

    /// Every name, in order.
    pub(crate) fn list(&self) -> Result<Vec<NamedImage>, ImageError> {
        let mut names = Vec::new();
        for entry in fs_err::read_dir(self.directory.join("names")).doing("reading the images")? {
            let path = entry.doing("reading the images")?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let file: NameFile = match fs_err::read(&path) {
                Ok(bytes) => read("the name of an image", &bytes)?,
                // Removed while we read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(ImageError::io("reading the images", error)),
            };
            let Some(image) = self.image(&file.digest)? else {
                continue;
            };
            names.push(NamedImage {
                name: file.name.parse()?,
                image,
                source: file.source,
                created_at: Timestamp::from_millis(file.created_at),
            });
        }
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    /// Removes an image's tree, and blobs that no other image has.
    pub(crate) fn discard(&self, digest: &Digest) -> Result<(), ImageError> {
        let _lock = self.lock(digest)?;
        let home = self.home_of(digest);
        let layers = self.layers(digest).unwrap_or_default();
        // First out of sight, then away: what a crash leaves is not half an image.
        let doomed = self.roots().join(format!("{NEW}{}-removed", digest.hex()));
        fs_err::rename(&home, &doomed).doing("removing an image")?;
        remove_tree(&doomed).doing("removing an image")?;
        let mut kept = Vec::new();
        for image in self.images()? {
            kept.extend(self.layers(&image.digest)?);
        }
        for layer in layers.iter().filter(|layer| !kept.contains(layer)) {
            match fs_err::remove_file(self.blob_path(layer)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ImageError::io("removing a layer", error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes what earlier processes did not finish. Only for the one server of this directory: what others are making looks the same.
    pub(crate) fn sweep(&self) -> Result<(), ImageError> {
        for entry in fs_err::read_dir(self.roots()).doing("reading the images")? {
            let entry = entry.doing("reading the images")?;
            let is_old = entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(NEW.as_bytes());
            let age = entry.metadata().ok().and_then(|it| it.modified().ok());
            let is_settled = age
                .and_then(|modified| modified.elapsed().ok())
                .is_none_or(|age| age > LONGEST_MAKING);
            if is_old && is_settled {
                remove_tree(&entry.path()).doing("removing an unfinished image")?;
            }
        }
        Ok(())
    }
}

/// What directories of unfinished images begin with.
const NEW: &str = ".new-";
/// Whoever works on an image longer than this without touching its directory is no more.
const LONGEST_MAKING: std::time::Duration = std::time::Duration::from_secs(6 * 3600);

/// Removes a tree that a stranger's modes may have closed.
pub(crate) fn remove_tree(directory: &Path) -> io::Result<()> {
    proctor_supervisor::tree::remove(directory)
}

/// Writes a file as a whole, or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(NEW)
        .tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    fs_err::File::open(directory)?.sync_all()
}
