//! The local backend: plans boxes, finds them again, removes what nobody owns.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use rustix::fs::{FlockOperation, Mode, OFlags};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    LocalConfig,
    cgroup::Groups,
    devbox::{LocalBox, supervised},
    disk_changes,
    enforcement::{self, ExactDisk},
    host_base::HostBase,
    id_ranges::{self, IdRanges},
    image,
    launch::Launcher,
    layers,
    outlet::Outlets,
    output_key::OutputKey,
    plan::{Bottom, BoxPlaces, EMPTY_IN_LAYER, Ids, Places, Plan, read_json, write_json},
    probe,
    stacks::Stacks,
    tree,
};
use crate::{
    backend::{Backend, Devbox, DiskChange, Sweep},
    doctor::Report,
    error::{Error, Result},
    name::{BaseName, BoxId, ExecId, LayerId},
    record::{BoxRecord, LayerRecord, Property},
    spec::{Base, BoxSpec},
};
use proctor_core::causes::with_causes;

/// What the backend and its boxes share.
pub(super) struct Shared {
    pub(super) places: Places,
    pub(super) launcher: Launcher,
    pub(super) ranges: IdRanges,
    pub(super) outlets: Outlets,
    /// Tasks that follow supervisors; they end with their box or with `leaving`.
    pub(super) links: TaskTracker,
    pub(super) leaving: CancellationToken,
    removals: TaskTracker,
    host: HostBase,
    groups: Groups,
    config: LocalConfig,
    boxes: Mutex<HashMap<BoxId, Arc<LocalBox>>>,
    /// Whether all boxes that an earlier process left are among them.
    knows_all: Once,
    pub(super) stacks: Stacks,
    discarded: AtomicU64,
    _lock: std::os::fd::OwnedFd,
}

impl Shared {
    fn boxes(&self) -> std::sync::MutexGuard<'_, HashMap<BoxId, Arc<LocalBox>>> {
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the output of an execution is enciphered with, if it is.
    pub(super) fn output_key(&self, within: &BoxId, execution: &ExecId) -> Option<OutputKey> {
        let secret = self.config.output_secret.as_ref()?;
        Some(secret.key(within, execution))
    }

    /// The boxes in the network of this one.
    pub(super) fn joined_to(&self, id: &BoxId) -> Vec<Arc<LocalBox>> {
        let boxes = self.boxes();
        let joined = boxes.values().filter(|one| one.joins(id));
        joined.cloned().collect()
    }

    pub(super) fn forget(&self, id: &BoxId) {
        self.boxes().remove(id);
    }

    /// Takes a directory away at once and removes it in the background: that can take long. `expected` is for [`tree::remove_expected`].
    fn discard(&self, directory: &Path, expected: &'static [&'static str]) -> io::Result<()> {
        if let Some(trash) = self.take_away(directory)? {
            self.removals
                .spawn_blocking(move || remove_trash(&trash, expected));
        }
        Ok(())
    }

    /// The same after `first`, which may take long too.
    pub(super) async fn discard_after(
        self: &Arc<Self>,
        first: impl FnOnce() -> io::Result<()> + Send + 'static,
        directory: PathBuf,
        expected: &'static [&'static str],
    ) -> io::Result<()> {
        let (done, taken_away) = oneshot::channel();
        let shared = Arc::clone(self);
        self.removals.spawn_blocking(move || {
            match first().and_then(|()| shared.take_away(&directory)) {
                Err(error) => drop(done.send(Err(error))),
                Ok(trash) => {
                    let _ = done.send(Ok(()));
                    if let Some(trash) = trash {
                        remove_trash(&trash, expected);
                    }
                }
            }
        });
        taken_away.await.map_err(io::Error::other)?
    }

    /// Moves a directory into the trash; none if it is not there.
    fn take_away(&self, directory: &Path) -> io::Result<Option<PathBuf>> {
        let number = self.discarded.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let trash = self.places.trash().join(name);
        match fs_err::rename(directory, &trash) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(|()| Some(trash)),
        }
    }
}

fn remove_trash(trash: &Path, expected: &[&str]) {
    if let Err(error) = tree::remove_expected(trash, expected) {
        tracing::warn!(path = %trash.display(), error = %with_causes(&error), "a discarded directory stays until the next sweep");
    }
}

/// Boxes of Linux namespaces on this machine.
pub struct LocalBackend {
    shared: Arc<Shared>,
}

impl LocalBackend {
    /// Opens the backend on its data directory, which no other process may be using, and starts its launcher.
    ///
    /// Boxes that an earlier process left keep running; [`Backend::list`] finds them.
    pub fn open(config: LocalConfig) -> Result<Self> {
        let doing = |source| Error::platform("opening the devboxes' directory", source);
        fs_err::create_dir_all(&config.data).map_err(doing)?;
        let data = fs_err::canonicalize(&config.data).map_err(doing)?;
        let hash = Sha256::digest(data.as_os_str().as_encoded_bytes());
        let tag: String = hash
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let begin = u32::from_le_bytes([hash[4], hash[5], hash[6], hash[7]]);
        let places = Places { data };
        places.prepare().map_err(doing)?;
        let lock = lock(&places)?;
        let taken = plans(&places)
            .filter_map(|plan| match plan.ids {
                Ids::Range { first } => Some(first),
                Ids::Single => None,
            })
            .collect::<Vec<_>>();
        let launcher = Launcher::start(&places.data)
            .map_err(|source| Error::platform("starting the launcher", source))?;
        let shared = Arc::new(Shared {
            groups: Groups::discover(&tag, config.totals),
            ranges: IdRanges::new(begin, taken),
            outlets: Outlets::new(Arc::clone(&config.names), config.server.clone()),
            links: TaskTracker::new(),
            leaving: CancellationToken::new(),
            removals: TaskTracker::new(),
            host: HostBase::default(),
            boxes: Mutex::default(),
            knows_all: Once::new(),
            stacks: Stacks::default(),
            discarded: AtomicU64::new(0),
            places,
            launcher,
            config,
            _lock: lock,
        });
        Ok(Self { shared })
    }

    fn ids(&self) -> Result<Ids> {
        if !id_ranges::available() {
            return Ok(Ids::Single);
        }
        let first = self.shared.ranges.take();
        first
            .map(|first| Ids::Range { first })
            .ok_or_else(|| Error::InUse {
                what: "every range of user ids".to_owned(),
                by: "other devboxes".to_owned(),
            })
    }

    fn resolve(&self, base: &Base) -> Result<(Vec<LayerId>, Bottom)> {
        match base {
            Base::Host => {
                let skeleton = self
                    .shared
                    .host
                    .prepare(&self.shared.places)
                    .map_err(|source| Error::platform("preparing the host as a base", source))?;
                Ok((Vec::new(), Bottom::Host { skeleton }))
            }
            Base::RootFs(name) => {
                let path = self.shared.places.rootfs(name);
                if !path.exists() {
                    return Err(Error::NoSuchBase(name.to_string()));
                }
                let directory = read_json(&path)?;
                Ok((
                    Vec::new(),
                    Bottom::RootFs {
                        name: name.clone(),
                        directory,
                    },
                ))
            }
            Base::Layer(id) => layers::stack(&self.shared.places, id),
        }
    }

    fn plan(&self, spec: BoxSpec) -> Result<Plan> {
        spec.check()?;
        let (layers, bottom) = self.resolve(&spec.base)?;
        if (spec.joins.is_some() || !spec.volumes.is_empty()) && !id_ranges::available() {
            return Err(Error::NotOffered("devboxes that share a network"));
        }
        if let Some(other) = &spec.joins {
            self.check_host(other)?;
        }
        let ids = self.ids()?;
        let exact_disk = self.exact_disk(&spec);
        let enforcement =
            enforcement::statement(&spec, ids, &bottom, &self.shared.groups, &exact_disk);
        let groups = self.shared.groups.for_box(spec.id.as_str(), &spec.limits);
        let plan = Plan {
            ids,
            bottom,
            layers,
            groups,
            orphan_freeze_secs: self.shared.config.orphan_freeze.as_secs(),
            orphan_stop_secs: self.shared.config.orphan_stop.as_secs(),
            exact_disk: exact_disk == ExactDisk::Made,
            enforcement,
            spec,
        };
        let made = enforcement::check(&plan.spec.require, &plan.enforcement)
            .and_then(|()| self.lay_out(&plan));
        if made.is_err()
            && let Ids::Range { first } = ids
        {
            self.shared.ranges.give_back(first);
        }
        made.map(|()| plan)
    }

    /// Refuses a box whose network cannot be joined.
    fn check_host(&self, other: &BoxId) -> Result<()> {
        let places = self.shared.places.of(other);
        if !places.plan().exists() {
            return Err(Error::NoSuchBox(other.clone()));
        }
        match places.read_plan()?.spec.joins {
            None => Ok(()),
            Some(_) => Err(Error::Invalid(
                "a devbox in the network of another one has none that could be joined".to_owned(),
            )),
        }
    }

    /// Whether a box's disk shall be a file system of its own.
    fn exact_disk(&self, spec: &BoxSpec) -> ExactDisk {
        let wanted = self.shared.config.exact_disk || spec.require.contains(&Property::ExactDisk);
        if !wanted {
            return ExactDisk::NotAsked;
        }
        let missing = match id_ranges::available() {
            true => image::missing(),
            false => Some("the server is not root of this machine".to_owned()),
        };
        match missing {
            Some(why) => ExactDisk::Cannot(why),
            None => ExactDisk::Made,
        }
    }

    /// Makes the box's directory, whole or not at all.
    fn lay_out(&self, plan: &Plan) -> Result<()> {
        let doing = |source| Error::platform("making the devbox's directory", source);
        let places = &self.shared.places;
        let id = &plan.spec.id;
        self.shared.groups.ensure_parents();
        let done = places.of(id);
        let fresh = BoxPlaces::at(places.boxes().join(format!(".new-{id}")));
        tree::remove(&fresh.directory).map_err(doing)?;
        fresh.prepare_disk().map_err(doing)?;
        if plan.exact_disk {
            image::make(&fresh.image(), &plan.spec.limits).map_err(doing)?;
        }
        let volumes = match &plan.spec.joins {
            Some(other) => places.of(other).volumes(),
            None => fresh.volumes(),
        };
        for volume in &plan.spec.volumes {
            fs_err::create_dir_all(volumes.join(&volume.name)).map_err(doing)?;
        }
        fs_err::write(
            fresh.plan(),
            serde_json::to_vec(plan).map_err(|error| doing(error.into()))?,
        )
        .map_err(doing)?;
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(
            rustix::fs::CWD,
            &fresh.directory,
            rustix::fs::CWD,
            &done.directory,
            flags,
        ) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::EXIST) => {
                tree::remove(&fresh.directory).map_err(doing)?;
                Err(Error::Exists {
                    what: "devbox",
                    name: id.to_string(),
                })
            }
            Err(errno) => Err(doing(errno.into())),
        }
    }

    /// The box with this plan, as it is known or made known.
    fn found(&self, plan: Plan) -> Arc<LocalBox> {
        let mut boxes = self.shared.boxes();
        let known = boxes.entry(plan.spec.id.clone());
        Arc::clone(known.or_insert_with(|| LocalBox::new(Arc::clone(&self.shared), plan)))
    }

    /// Makes every box known that an earlier process left.
    fn know_all(&self) {
        // Whoever comes meanwhile waits: a box that is not known yet may stand on what is about to be removed.
        self.shared.knows_all.call_once(|| {
            for plan in plans(&self.shared.places).collect::<Vec<_>>() {
                let found = self.found(plan);
                // One that was destroyed while we read is not known by that.
                if !found.places.plan().exists() {
                    self.shared.forget(&found.id);
                }
            }
        });
    }

    /// Removes what belongs to no box: unfinished directories, the trash, groups without a supervisor.
    fn remove_remainders(&self) -> Vec<String> {
        let places = &self.shared.places;
        let mut removed = Vec::new();
        for directory in [
            places.boxes(),
            places.layers(),
            places.bases(),
            places.trash(),
        ] {
            let Ok(entries) = fs_err::read_dir(&directory) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if !name.starts_with(".new-") && directory != places.trash() {
                    continue;
                }
                match tree::remove(&entry.path()) {
                    Ok(()) => removed.push(entry.path().display().to_string()),
                    Err(error) => {
                        tracing::warn!(path = %entry.path().display(), error = %with_causes(&error), "a remainder stays");
                    }
                }
            }
        }
        let mut unowned = HashSet::new();
        for group in self.shared.groups.existing() {
            let name = group
                .directory
                .file_name()
                .and_then(|name| name.to_str())
                .map(BoxId::new);
            let alive = matches!(&name, Some(Ok(id)) if supervised(&places.of(id)));
            if !alive && group.remove().is_ok() {
                unowned.insert(group.directory.display().to_string());
            }
        }
        removed.extend(unowned);
        removed
    }
}

impl Drop for LocalBackend {
    fn drop(&mut self) {
        self.shared.groups.remove_parents();
    }
}

fn lock(places: &Places) -> Result<std::os::fd::OwnedFd> {
    let doing =
        |errno: rustix::io::Errno| Error::platform("locking the devboxes' directory", errno);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let lock = rustix::fs::open(places.lock(), flags, Mode::from_raw_mode(0o600)).map_err(doing)?;
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::InUse {
            what: places.data.display().to_string(),
            by: "another process".to_owned(),
        }),
        Err(errno) => Err(doing(errno)),
    }
}

/// The plans of all boxes; those that cannot be read are passed over and said so.
fn plans(places: &Places) -> impl Iterator<Item = Plan> {
    let entries = fs_err::read_dir(places.boxes())
        .into_iter()
        .flatten()
        .flatten();
    let places = places.clone();
    entries.filter_map(move |entry| {
        let id = BoxId::new(entry.file_name().to_str()?).ok()?;
        places
            .of(&id)
            .read_plan()
            .inspect_err(|error| tracing::warn!(devbox = %id, error = %with_causes(&error), "a devbox cannot be read"))
            .ok()
    })
}

#[async_trait]
impl Backend for LocalBackend {
    fn name(&self) -> &'static str {
        super::FACTORY.name
    }

    async fn doctor(&self) -> Report {
        probe::report(self, &self.shared.groups).await
    }

    async fn create(&self, spec: BoxSpec) -> Result<Arc<dyn Devbox>> {
        let plan = self.plan(spec)?;
        let made = LocalBox::new(Arc::clone(&self.shared), plan);
        self.shared
            .boxes()
            .insert(made.id.clone(), Arc::clone(&made));
        Ok(made)
    }

    async fn open(&self, id: &BoxId) -> Result<Arc<dyn Devbox>> {
        let known = self.shared.boxes().get(id).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let places = self.shared.places.of(id);
        if !places.plan().exists() {
            return Err(Error::NoSuchBox(id.clone()));
        }
        let found = self.found(places.read_plan()?);
        found.attach().await?;
        Ok(found)
    }

    async fn list(&self) -> Result<Vec<BoxRecord>> {
        let mut records = Vec::new();
        for plan in plans(&self.shared.places).collect::<Vec<_>>() {
            let found = self.found(plan);
            // One that does not answer is listed as lost; the others are not its fault.
            if let Err(error) = found.attach().await {
                tracing::warn!(devbox = %found.id, error = %with_causes(&error), "a devbox does not answer");
            }
            records.push(found.record().await?);
        }
        records.sort_by(|a, b| a.spec.id.cmp(&b.spec.id));
        Ok(records)
    }

    async fn sweep(&self, owned: &BTreeSet<BoxId>) -> Result<Sweep> {
        let mut sweep = Sweep::default();
        for record in self.list().await? {
            let id = record.spec.id;
            // What is in the network of a box is its owner's too.
            let owner = record.spec.joins.as_ref().unwrap_or(&id);
            if !owned.contains(owner) {
                self.open(&id).await?.destroy().await?;
                sweep.boxes.push(id);
            }
        }
        sweep.remainders = self.remove_remainders();
        Ok(sweep)
    }

    async fn register_rootfs(&self, name: &BaseName, directory: &Path) -> Result<()> {
        let doing = |source| Error::platform("registering a root file system", source);
        let directory = fs_err::canonicalize(directory).map_err(doing)?;
        if directory == Path::new("/") {
            return Err(Error::Invalid(
                "the host's root as a base would show its secrets; use the host base".to_owned(),
            ));
        }
        if !directory.is_dir() {
            return Err(Error::Invalid(format!(
                "{} is not a directory",
                directory.display()
            )));
        }
        write_json(&self.shared.places.rootfs(name), &directory).map_err(doing)
    }

    async fn layers(&self) -> Result<Vec<LayerRecord>> {
        layers::list(&self.shared.places).map(layers::records)
    }

    async fn layer_bytes(&self, id: &LayerId) -> Result<u64> {
        layers::read(&self.shared.places, id)?;
        let directory = self.shared.places.layer(id);
        let counted = tokio::task::spawn_blocking(move || tree::count(&directory)).await;
        let counted = counted.map_err(io::Error::other).flatten();
        let (bytes, _) = counted.map_err(|source| Error::platform("measuring a layer", source))?;
        Ok(bytes)
    }

    async fn layer_changes(&self, id: &LayerId, same_disk: &str) -> Result<Vec<DiskChange>> {
        let (places, id) = (self.shared.places.clone(), id.clone());
        let same_disk = same_disk.to_owned();
        let found =
            tokio::task::spawn_blocking(move || disk_changes::of_layer(&places, &id, &same_disk));
        let found = found.await.map_err(io::Error::other);
        found.map_err(|source| Error::platform("reading a layer", source))?
    }

    async fn delete_layer(&self, id: &LayerId) -> Result<()> {
        let places = &self.shared.places;
        if !places.layer(id).exists() {
            return Err(Error::NoSuchLayer(id.clone()));
        }
        let in_use = |by: String| Error::InUse {
            what: format!("layer {id}"),
            by,
        };
        self.know_all();
        let user = self.shared.boxes().values().find_map(|known| {
            let stands = known.stands_on(id);
            stands.then(|| known.id.clone())
        });
        if let Some(user) = user {
            return Err(in_use(format!("devbox {user}")));
        }
        if let Some(above) = self.shared.stacks.above(id, || layers::list(places))? {
            return Err(in_use(format!("layer {above}")));
        }
        let discarded = self.shared.discard(&places.layer(id), &EMPTY_IN_LAYER);
        discarded.map_err(|source| Error::platform("removing a layer", source))?;
        self.shared.stacks.removed(id);
        Ok(())
    }

    async fn drain(&self) {
        // Boxes go on without us.
        self.shared.leaving.cancel();
        self.shared.links.close();
        self.shared.links.wait().await;
        self.shared.boxes().clear();
        self.shared.removals.close();
        self.shared.removals.wait().await;
        // Where a box is left they stay, and the limits over all boxes with them.
        self.shared.groups.remove_parents();
    }
}
