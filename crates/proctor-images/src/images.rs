//! The images of a server: what names mean, and making what they mean be there.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proctor_core::{canonical::Digest, time::Clock};

use crate::{
    alias::{self, Alias},
    documents::{ImageConfig, Index, Manifest, RunConfig},
    error::{Doing as _, ImageError},
    export::{self, Exported},
    limits::Limits,
    reference::Reference,
    registry::{Client, RegistryOptions},
    source::{self, Choice, Described, Layout, LayoutDirectory, Opened, TarFile, is_digest_of},
    store::{ImageStore, NamedImage, StoredImage},
    unpack,
};

/// Where images are, and where they may come from.
#[derive(Clone, Debug)]
pub struct ImageOptions {
    /// The directory of all images.
    pub directory: PathBuf,
    /// Other names of images.
    pub aliases: Vec<Alias>,
    /// OCI layouts that are looked into after what was imported.
    pub layouts: Vec<PathBuf>,
    /// Registries that may be asked after those.
    pub registries: RegistryOptions,
    /// How large images may be.
    pub limits: Limits,
}

impl ImageOptions {
    /// Images in `directory`, from nowhere else.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            aliases: Vec::new(),
            layouts: Vec::new(),
            registries: RegistryOptions::default(),
            limits: Limits::default(),
        }
    }
}

/// Told what happens while an image arrives.
pub type Progress<'p> = &'p (dyn Fn(String) + Send + Sync);

/// What to import.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// What to call it; needed where the file does not say.
    pub name: Option<Reference>,
    /// What programs start with, for a root file system that says nothing of it.
    pub run: RunConfig,
}

/// What became of an image whose name was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Its files are gone.
    Image,
    /// Only the name: another name means the same image.
    Name,
}

/// A name that was understood: what it means, whether or not it is here.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The name after aliases.
    pub name: Reference,
    /// The digest of the manifest.
    pub digest: Digest,
    /// What the image says besides its files.
    pub config: ImageConfig,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Origin {
    Here,
    Layout(PathBuf, Box<Described>),
    Registry(Box<Described>),
}

impl Resolved {
    /// Whether its files are here already.
    pub const fn is_here(&self) -> bool {
        matches!(self.origin, Origin::Here)
    }

    fn here(name: Reference, image: StoredImage) -> Self {
        Self {
            name,
            digest: image.digest,
            config: image.config,
            origin: Origin::Here,
        }
    }

    fn described(
        name: Reference,
        described: Described,
        origin: impl FnOnce(Box<Described>) -> Origin,
    ) -> Result<Self, ImageError> {
        described.config.check_platform(&name.to_string())?;
        Ok(Self {
            digest: described.digest,
            config: described.config.clone(),
            name,
            origin: origin(Box::new(described)),
        })
    }
}

/// The images of a server; cheap to clone.
#[derive(Clone)]
pub struct Images {
    inner: Arc<Inner>,
}

struct Inner {
    store: ImageStore,
    options: ImageOptions,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Images {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Images")
            .field(&self.inner.options.directory)
            .finish()
    }
}

impl Images {
    /// Opens the images of a directory, which is made if it is missing.
    pub fn open(options: ImageOptions, clock: Arc<dyn Clock>) -> Result<Self, ImageError> {
        Ok(Self {
            inner: Arc::new(Inner {
                store: ImageStore::open(&options.directory)?,
                options,
                clock,
            }),
        })
    }

    /// Removes what earlier processes left half-done. For a server, when it starts.
    pub fn sweep(&self) -> Result<(), ImageError> {
        self.inner.store.sweep()
    }

    /// What a name means after aliases.
    pub fn read_name(&self, name: &str) -> Result<Reference, ImageError> {
        alias::resolve(&self.inner.options.aliases, name.parse()?)
    }

    /// Every name and the image it means, then images without a name.
    pub fn list(&self) -> Result<(Vec<NamedImage>, Vec<StoredImage>), ImageError> {
        let named = self.inner.store.list()?;
        let mut rest = self.inner.store.images()?;
        rest.retain(|image| !named.iter().any(|one| one.image.digest == image.digest));
        Ok((named, rest))
    }

    /// Every image that is here.
    pub fn images(&self) -> Result<Vec<StoredImage>, ImageError> {
        self.inner.store.images()
    }

    /// The image that is here under this name or digest.
    pub fn find(&self, name: &str) -> Result<Option<StoredImage>, ImageError> {
        match name.parse::<Digest>() {
            Ok(digest) => self.inner.store.by_digest(&digest),
            Err(_) => self.inner.store.find(&self.read_name(name)?),
        }
    }

    /// Whether this registry may be asked.
    pub fn may_pull(&self, name: &Reference) -> bool {
        self.inner
            .options
            .registries
            .allows(name.registry())
            .is_some()
    }

    /// What a name means: among what was imported, in the layouts, at its registry if that may be asked. `None` if it is nowhere to be found and may be
    /// pulled from nowhere. Nothing but documents is fetched.
    pub async fn resolve(&self, name: &str) -> Result<Option<Resolved>, ImageError> {
        let name = self.read_name(name)?;
        let this = self.clone();
        let asked = name.clone();
        if let Some(resolved) = blocking(move || this.resolve_here(asked)).await? {
            return Ok(Some(resolved));
        }
        match self.may_pull(&name) {
            true => self.ask(name).await.map(Some),
            false => Ok(None),
        }
    }

    /// The image that a name meant when it was resolved to this digest.
    pub async fn resolve_pinned(
        &self,
        name: &str,
        digest: &Digest,
    ) -> Result<Option<Resolved>, ImageError> {
        let pinned = self.read_name(name)?.at(*digest);
        self.resolve(&pinned.canonical()).await
    }

    fn resolve_here(&self, name: Reference) -> Result<Option<Resolved>, ImageError> {
        if let Some(image) = self.inner.store.find(&name)? {
            return Ok(Some(Resolved::here(name, image)));
        }
        for directory in &self.inner.options.layouts {
            let Some(described) = in_layout(directory, &name)? else {
                continue;
            };
            if let Some(image) = self.inner.store.image(&described.digest)? {
                return Ok(Some(Resolved::here(name, image)));
            }
            let origin = |described| Origin::Layout(directory.clone(), described);
            return Resolved::described(name, described, origin).map(Some);
        }
        Ok(None)
    }

    /// Asks the registry what a name means.
    async fn ask(&self, name: Reference) -> Result<Resolved, ImageError> {
        let client = Client::open(&self.inner.options.registries, &name).await?;
        let mut fetched = client.manifest(&name).await?;
        let mut index = None;
        if fetched.is_index {
            let chosen = Index::read(&fetched.bytes)?
                .for_host(&name.to_string())?
                .clone();
            index = Some(fetched.bytes);
            fetched = client.manifest(&name.at(chosen.digest)).await?;
            if fetched.is_index {
                return Err(ImageError::invalid(format!(
                    "{name} is an index of indexes"
                )));
            }
        }
        let digest = Digest::of_bytes(&fetched.bytes);
        if let Some(image) = self.inner.store.image(&digest)? {
            return Ok(Resolved::here(name, image));
        }
        let config = Manifest::read(&fetched.bytes)?.config;
        let config = client.document(&config.digest).await?;
        let described = Described::of_manifest(fetched.bytes, config, index)?;
        Resolved::described(name, described, Origin::Registry)
    }

    /// Makes sure that an image's files are here.
    pub async fn obtain(
        &self,
        resolved: &Resolved,
        progress: Progress<'_>,
    ) -> Result<StoredImage, ImageError> {
        let digest = resolved.digest;
        if let Some(there) = self.inner.store.image(&digest)? {
            return Ok(there);
        }
        let this = self.clone();
        let lock = blocking(move || this.inner.store.lock(&digest)).await?;
        // Whoever had the lock may have made it.
        if let Some(there) = self.inner.store.image(&digest)? {
            return Ok(there);
        }
        let made = match &resolved.origin {
            Origin::Here => Err(ImageError::Missing(format!(
                "the image {} was removed meanwhile",
                resolved.name
            ))),
            Origin::Layout(directory, described) => {
                progress(format!(
                    "unpacking {} from {}",
                    resolved.name,
                    directory.display()
                ));
                self.unpack(directory.clone(), described.clone()).await
            }
            Origin::Registry(described) => self.pull(&resolved.name, described, progress).await,
        };
        drop(lock);
        made
    }

    async fn unpack(
        &self,
        directory: PathBuf,
        described: Box<Described>,
    ) -> Result<StoredImage, ImageError> {
        let this = self.clone();
        blocking(move || {
            let files = LayoutDirectory::open(&directory)?;
            unpack::image(
                &this.inner.store,
                &files,
                &described,
                &this.inner.options.limits,
            )
        })
        .await
    }

    async fn pull(
        &self,
        name: &Reference,
        described: &Described,
        progress: Progress<'_>,
    ) -> Result<StoredImage, ImageError> {
        let (store, limits) = (&self.inner.store, &self.inner.options.limits);
        let layers = Manifest::read(&described.manifest)?.layers;
        let total: u64 = layers
            .iter()
            .map(|layer| layer.size)
            .fold(0, u64::saturating_add);
        if total > limits.image_bytes {
            return Err(ImageError::Registry {
                registry: name.registry().to_owned(),
                why: format!(
                    "{name} has {total} bytes; at most {} are pulled",
                    limits.image_bytes
                ),
            });
        }
        let client = Client::open(&self.inner.options.registries, name).await?;
        for (place, layer) in layers.iter().enumerate() {
            progress(format!(
                "pulling {name}: layer {} of {}, {} bytes",
                place + 1,
                layers.len(),
                layer.size
            ));
            client.fetch_layer(store, layer, limits).await?;
        }
        progress(format!("unpacking {name}"));
        let image = self
            .unpack(store.directory().to_owned(), Box::new(described.clone()))
            .await?;
        let source = format!("pulled from {}", name.registry());
        self.put(name.clone(), image.clone(), source)?;
        Ok(image)
    }

    /// Pulls an image again, whatever is here under its name.
    pub async fn refresh(
        &self,
        name: &str,
        progress: Progress<'_>,
    ) -> Result<NamedImage, ImageError> {
        let name = self.read_name(name)?;
        let resolved = self.ask(name.clone()).await?;
        let image = self.obtain(&resolved, progress).await?;
        let source = format!("pulled from {}", name.registry());
        self.put(name, image, source)
    }

    /// Imports a file or directory: an OCI layout, what `docker save` wrote, or a root file system as a tar. Takes as long as it takes.
    pub fn import(&self, path: &Path, import: &Import) -> Result<NamedImage, ImageError> {
        let (store, limits) = (&self.inner.store, &self.inner.options.limits);
        let name = import.name.as_ref();
        let metadata = fs_err::metadata(path).doing(format!("opening {}", path.display()))?;
        let opened = if metadata.is_dir() {
            source::open(Box::new(LayoutDirectory::open(path)?), false, name)?
        } else {
            let tar = TarFile::open(path, store.directory(), limits)?;
            if tar.is_empty() {
                return Err(ImageError::invalid(format!("{} is empty", path.display())));
            }
            let whole = tar.whole()?;
            match source::open(Box::new(tar), true, name)? {
                Opened::RootTar => {
                    let name = name.cloned().ok_or_else(|| nameless(path))?;
                    let image = unpack::root_tar(store, whole, import.run.clone(), limits)?;
                    return self.keep(name, image, path);
                }
                image => image,
            }
        };
        let Opened::Image(described, files) = opened else {
            return Err(ImageError::invalid("it is not an image"));
        };
        if import.run != RunConfig::default() {
            return Err(ImageError::invalid(
                "the image says itself what its programs start with; env, workdir and user are for root file systems only",
            ));
        }
        let name = match name.cloned().or_else(|| described.names.first().cloned()) {
            Some(name) => name,
            None => return Err(nameless(path)),
        };
        if let Some(digest) = name.digest()
            && !is_digest_of(&described, digest)
        {
            return Err(ImageError::invalid(format!(
                "the image has the digest {}, not {digest}",
                described.digest
            )));
        }
        let image = unpack::image(store, &*files, &described, limits)?;
        self.keep(name, image, path)
    }

    /// Gives an imported image its name.
    fn keep(
        &self,
        name: Reference,
        image: StoredImage,
        path: &Path,
    ) -> Result<NamedImage, ImageError> {
        self.put(name, image, format!("imported from {}", path.display()))
    }

    /// Gives an image a name and says where it came from.
    pub(crate) fn put(
        &self,
        name: Reference,
        image: StoredImage,
        source: String,
    ) -> Result<NamedImage, ImageError> {
        let now = self.inner.clock.now();
        let kept = name.tagged();
        if let Some(tagged) = &kept {
            self.inner.store.name(tagged, &image.digest, &source, now)?;
        }
        Ok(NamedImage {
            name: kept.unwrap_or(name),
            image,
            source,
            created_at: now,
        })
    }

    /// Takes over a root file system as a tar.
    pub(crate) fn take_root(
        &self,
        tar: impl std::io::Read + Send,
        run: RunConfig,
    ) -> Result<StoredImage, ImageError> {
        unpack::root_tar(&self.inner.store, tar, run, &self.inner.options.limits)
    }

    /// Adds an image to an OCI layout, which is made if it is missing.
    pub fn export(&self, name: &str, directory: &Path) -> Result<Exported, ImageError> {
        let image = self.find(name)?.ok_or_else(|| absent(name))?;
        export::export(&self.inner.store, &image, &self.read_name(name)?, directory)
    }

    /// Removes a name, and the image if nothing else is called so. `used_by` says what stands on a tree, if anything does.
    pub fn remove(
        &self,
        name: &str,
        used_by: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<Removed, ImageError> {
        let store = &self.inner.store;
        let image = self.find(name)?.ok_or_else(|| absent(name))?;
        let name = match name.parse::<Digest>() {
            Ok(_) => None,
            Err(_) => Some(self.read_name(name)?),
        };
        let others: Vec<String> = store
            .list()?
            .into_iter()
            .filter(|one| one.image.digest == image.digest && Some(&one.name) != name.as_ref())
            .map(|one| one.name.to_string())
            .collect();
        let is_tag = name.as_ref().is_some_and(|name| name.digest().is_none());
        if let (true, [_, ..]) = (is_tag, others.as_slice()) {
            if let Some(name) = &name {
                store.unname(name)?;
            }
            return Ok(Removed::Name);
        }
        if !is_tag && !others.is_empty() {
            return Err(ImageError::InUse(format!(
                "{} is also called {}; remove these names first",
                image.digest,
                others.join(", ")
            )));
        }
        if let Some(user) = used_by(&image.root) {
            return Err(ImageError::InUse(format!(
                "{} stands on {}",
                user,
                name.map_or_else(|| image.digest.to_string(), |name| name.to_string())
            )));
        }
        if let Some(name) = &name {
            store.unname(name)?;
        }
        store.discard(&image.digest)?;
        Ok(Removed::Image)
    }
}

/// The image of a layout that a name means.
fn in_layout(directory: &Path, name: &Reference) -> Result<Option<Described>, ImageError> {
    let files = LayoutDirectory::open(directory)?;
    let Some(layout) = Layout::read(&files)? else {
        return Err(ImageError::invalid(format!(
            "{} is not an OCI layout: it has no file oci-layout with an index.json beside it",
            directory.display()
        )));
    };
    if let Some(digest) = name.digest() {
        return source::describe_digest(&files, digest);
    }
    match layout.describe(&files, &Choice::Exactly(name)) {
        Ok(described) => Ok(Some(described)),
        Err(ImageError::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn nameless(path: &Path) -> ImageError {
    ImageError::invalid(format!(
        "{} does not say what its image is called; --name does",
        path.display()
    ))
}

fn absent(name: &str) -> ImageError {
    ImageError::Missing(format!("there is no image '{name}'"))
}

/// Runs what waits for disks away from those who wait for the network.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ImageError::invalid(format!("the work ended early: {error}")))?
}
