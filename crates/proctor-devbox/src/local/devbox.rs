//! One local box from the server's side.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use rustix::fs::{FlockOperation, Mode, OFlags};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::{
    backend::Shared,
    cgroup::BoxGroup,
    execution::{LocalExecution, settled},
    inside::{Order, StatusFile},
    layers::Heights,
    link::{self, Link, Watches, expect_done},
    output_key::OutputKey,
    plan::{Bottom, BoxPlaces, EMPTY_IN_BOX, Ids, Plan, read_json, remove_if_there, write_json},
    tree,
    wire::{Action, Answer, Request, frame},
};
use crate::{
    backend::{Devbox, Duplex, Execution, FileContent, Session},
    error::{Error, Result},
    name::{BoxId, ExecId, LayerId},
    network::{EgressPolicy, Network},
    record::{BoxRecord, BoxState, LayerRecord, SnapshotWay, Usage},
    spec::{ExecSpec, FileMode, User},
};

/// How long a supervisor may take to end its box before it is ended itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often is looked whether a supervisor is there or gone.
const PAUSE: Duration = Duration::from_millis(5);
/// How many pauses a supervisor gets that said it would end.
const LEAVING: usize = 400;

/// One box.
pub(super) struct LocalBox {
    pub(super) id: BoxId,
    pub(super) places: BoxPlaces,
    pub(super) watches: Arc<Watches>,
    pub(super) shared: Arc<Shared>,
    pub(super) plan: Mutex<Plan>,
    /// Held while the box changes its state, so that starting, stopping and destroying exclude each other.
    link: tokio::sync::Mutex<Option<Arc<Link>>>,
    frozen: AtomicBool,
    /// Whether there are no executions but those that are watched: it was first brought up by this process.
    watches_all: AtomicBool,
    /// Cancelled when the way out is to be closed.
    outlet: Mutex<Option<CancellationToken>>,
    itself: std::sync::Weak<Self>,
}

impl LocalBox {
    pub(super) fn new(shared: Arc<Shared>, plan: Plan) -> Arc<Self> {
        let places = shared.places.of(&plan.spec.id);
        Arc::new_cyclic(|itself| Self {
            id: plan.spec.id.clone(),
            places,
            watches: Arc::default(),
            shared,
            plan: Mutex::new(plan),
            link: tokio::sync::Mutex::new(None),
            frozen: AtomicBool::new(false),
            watches_all: AtomicBool::new(false),
            outlet: Mutex::new(None),
            itself: itself.clone(),
        })
    }

    pub(super) fn plan(&self) -> Plan {
        self.plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether its disk lies over this layer.
    pub(super) fn stands_on(&self, layer: &LayerId) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.layers.contains(layer)
    }

    /// Whether it is in the network of this box.
    pub(super) fn joins(&self, other: &BoxId) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.spec.joins.as_ref() == Some(other)
    }

    /// Notes how the way out is closed from now on. Answers how the one before is.
    pub(super) fn replace_outlet(&self, close: CancellationToken) -> Option<CancellationToken> {
        self.outlet
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(close)
    }

    pub(super) fn this(&self) -> Arc<Self> {
        self.itself
            .upgrade()
            .expect("a method is called through an `Arc` that lives as long")
    }

    /// The link, if the box is up.
    async fn live_link(&self) -> Option<Arc<Link>> {
        self.link
            .lock()
            .await
            .clone()
            .filter(|link| !link.is_closed())
    }

    /// The link of a box that must be up.
    pub(super) async fn running_link(&self) -> Result<Arc<Link>> {
        match self.live_link().await {
            Some(link) => Ok(link),
            None => Err(Error::WrongState {
                state: self.state_without_link(),
                needed: "it must be running",
            }),
        }
    }

    fn state_without_link(&self) -> BoxState {
        if self.places.up().exists() {
            BoxState::Lost
        } else {
            BoxState::Stopped
        }
    }

    /// Connects to the supervisor, if there is one. One that is just coming up or ending is waited for.
    pub(super) async fn attach(&self) -> Result<()> {
        let mut slot = self.link.lock().await;
        let mut waited = Duration::ZERO;
        loop {
            if slot.as_ref().is_some_and(|link| !link.is_closed()) || !supervised(&self.places) {
                return Ok(());
            }
            match self.try_attach().await {
                Ok(link) => {
                    *slot = Some(link);
                    return Ok(());
                }
                Err(error) if waited >= PATIENCE => return Err(error),
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    waited += PAUSE;
                }
            }
        }
    }

    async fn try_attach(&self) -> Result<Arc<Link>> {
        let doing = |source| Error::platform("attaching to a supervisor", source);
        let mut stream = link::connect(&self.places.directory).await.map_err(doing)?;
        let request = frame(&Request::Attach, &[]).map_err(|error| doing(error.into()))?;
        stream.write_all(&request).await.map_err(doing)?;
        self.follow(stream).await
    }

    async fn follow(&self, stream: tokio::net::UnixStream) -> Result<Arc<Link>> {
        let (watches, places) = (Arc::clone(&self.watches), self.places.clone());
        let ended = move || {
            watches.settle(|id, last| settled(&places, id, last));
        };
        let (shared, watches) = (&self.shared, Arc::clone(&self.watches));
        let (link, standing) =
            Link::establish(stream, watches, (&shared.links, &shared.leaving), ended).await?;
        self.frozen.store(standing.frozen, Ordering::Relaxed);
        self.open_outlet(link.until_closed()).await?;
        Ok(link)
    }

    fn order_up(&self) -> io::Result<tokio::net::UnixStream> {
        // A box that was never up is as it was laid out.
        let was_up = self.places.lock().exists();
        self.watches_all.store(!was_up, Ordering::Relaxed);
        if was_up {
            self.clear_work()?;
            self.places.prepare_disk()?;
        }
        fs_err::write(self.places.up(), "")?;
        let (ours, theirs) = link::pair()?;
        let order = Order {
            data: self.shared.places.data.clone(),
            id: self.id.clone(),
        };
        self.shared.launcher.order(&order, &theirs)?;
        Ok(ours)
    }

    /// Overlayfs refuses a working directory that an earlier mount marked as not synchronised.
    fn clear_work(&self) -> io::Result<()> {
        for work in self.places.works() {
            tree::remove(&work.join("work"))?;
        }
        Ok(())
    }

    /// Ends the supervisor and with it every process of the box.
    async fn end(&self, slot: &mut Option<Arc<Link>>) {
        let mut leaving = 0;
        if let Some(link) = slot.take() {
            let asked = tokio::time::timeout(PATIENCE, async {
                let _ = link.ask(Action::Stop, &[]).await;
                link.closed().await;
            });
            match asked.await {
                // It has hung up and is about to end; on a busy machine that takes its time.
                Ok(()) => leaving = LEAVING,
                Err(_) => {
                    self.kill_supervisor();
                    link.closed().await;
                }
            }
        }
        for look in 0..leaving + 100 {
            if !supervised(&self.places) {
                break;
            }
            // One that never answered, or that we could not attach to.
            if look >= leaving {
                self.kill_supervisor();
            }
            tokio::time::sleep(PAUSE).await;
        }
        self.frozen.store(false, Ordering::Relaxed);
    }

    fn kill_supervisor(&self) {
        // Whoever holds the lock wrote its number there.
        let pid = fs_err::read_to_string(self.places.lock())
            .ok()
            .and_then(|text| text.trim().parse().ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw)
            && supervised(&self.places)
        {
            tracing::warn!(devbox = %self.id, "a supervisor does not answer and is ended");
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }

    /// What the output of an execution is enciphered with, if it is.
    pub(super) fn output_key(&self, execution: &ExecId) -> Option<OutputKey> {
        self.shared.output_key(&self.id, execution)
    }

    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let this = self.this();
        tokio::task::spawn_blocking(move || work(&this))
            .await
            .map_err(|error| Error::platform(doing, io::Error::other(error)))?
            .map_err(|source| Error::platform(doing, source))
    }
}

/// Refuses a program that no process can become.
pub(super) fn check_program(spec: &ExecSpec) -> Result<()> {
    if spec.argv.is_empty() {
        return Err(Error::Invalid("there is no program to run".to_owned()));
    }
    let mut texts = spec
        .argv
        .iter()
        .chain(spec.env.keys())
        .chain(spec.env.values())
        .chain(&spec.cwd);
    if texts.any(|text| text.contains('\0'))
        || spec
            .env
            .keys()
            .any(|key| key.is_empty() || key.contains('='))
    {
        return Err(Error::Invalid(
            "a null byte in the command or an impossible variable".to_owned(),
        ));
    }
    match &spec.view {
        Some(view) => view.check(),
        None => Ok(()),
    }
}

/// Whether a supervisor holds the box's lock.
pub(super) fn supervised(places: &BoxPlaces) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(places.lock(), flags, Mode::empty()).is_ok_and(|lock| {
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared)
            == Err(rustix::io::Errno::WOULDBLOCK)
    })
}

#[async_trait]
impl Devbox for LocalBox {
    fn id(&self) -> &BoxId {
        &self.id
    }

    async fn record(&self) -> Result<BoxRecord> {
        let plan = self.plan();
        let state = match self.live_link().await {
            Some(_) if self.frozen.load(Ordering::Relaxed) => BoxState::Suspended,
            Some(_) => BoxState::Running,
            None => self.state_without_link(),
        };
        Ok(BoxRecord {
            spec: plan.spec,
            state,
            enforcement: plan.enforcement,
            base_fingerprint: match plan.bottom {
                Bottom::Host { skeleton } => Some(skeleton),
                Bottom::RootFs { .. } => None,
            },
        })
    }

    async fn start(&self) -> Result<()> {
        self.attach().await?;
        let mut slot = self.link.lock().await;
        if slot.as_ref().is_some_and(|link| !link.is_closed()) {
            return Ok(());
        }
        if !self.places.plan().exists() {
            return Err(Error::NoSuchBox(self.id.clone()));
        }
        let stream = self
            .order_up()
            .map_err(|source| Error::platform("bringing the devbox up", source))?;
        match self.follow(stream).await {
            Ok(link) => {
                *slot = Some(link);
                Ok(())
            }
            Err(error) => {
                let _ = fs_err::remove_file(self.places.up());
                Err(error)
            }
        }
    }

    async fn exec(&self, spec: ExecSpec) -> Result<Arc<dyn Execution>> {
        check_program(&spec)?;
        if spec.terminal.is_some() {
            return Err(Error::Invalid("only a session has a terminal".to_owned()));
        }
        let may_be_there =
            !self.watches_all.load(Ordering::Relaxed) || self.watches.follow(&spec.id).is_some();
        if may_be_there && let Ok(known) = self.execution(&spec.id).await {
            return Ok(known);
        }
        let is_sealed = spec.view.as_ref().is_some_and(|view| view.sealed);
        if is_sealed && self.plan().ids == Ids::Single {
            return Err(Error::NotOffered(
                "programs that nothing in the box can see",
            ));
        }
        let (id, program) = (spec.id.clone(), spec.argv[0].clone());
        let link = self.running_link().await?;
        let key = self.output_key(&id);
        let key = key.as_ref().map_or(&[][..], OutputKey::as_bytes);
        let mut notes = Vec::new();
        match link.ask(Action::Exec(Box::new(spec)), key).await? {
            Answer::CannotRun(why) => return Err(Error::CannotRun { program, why }),
            Answer::NotNow(_) => {
                return Err(Error::WrongState {
                    state: BoxState::Suspended,
                    needed: "it must be running",
                });
            }
            Answer::Noted(found) => notes = found,
            answer => expect_done(answer)?,
        }
        Ok(Arc::new(LocalExecution {
            progress: self.watches.follow_new(&id),
            within: self.this(),
            id,
            notes,
        }))
    }

    async fn execution(&self, id: &ExecId) -> Result<Arc<dyn Execution>> {
        if self.watches.follow(id).is_none() {
            // One of an earlier supervisor, or one that ended before this server came.
            let status: StatusFile = match read_json(&self.places.status(id)) {
                Ok(status) => status,
                Err(_) => return Err(Error::NoSuchExecution(id.clone())),
            };
            if status.progress.exit.is_none() && self.live_link().await.is_some() {
                // It is being started right now.
                return Err(Error::NoSuchExecution(id.clone()));
            }
            let settled = settled(&self.places, id, status.progress);
            self.watches.set(id.clone(), settled);
        }
        Ok(Arc::new(LocalExecution {
            progress: self.watches.follow_new(id),
            within: self.this(),
            id: id.clone(),
            notes: Vec::new(),
        }))
    }

    async fn executions(&self) -> Result<Vec<ExecId>> {
        Ok(match self.watches_all.load(Ordering::Relaxed) {
            true => self.watches.ids(),
            false => self.places.known_executions(),
        })
    }

    async fn set_egress(&self, policy: EgressPolicy) -> Result<()> {
        let slot = self.link.lock().await;
        let Some(link) = slot.as_ref().filter(|link| !link.is_closed()) else {
            return Err(Error::WrongState {
                state: self.state_without_link(),
                needed: "it must be running",
            });
        };
        let plan = {
            let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
            if plan.spec.network == Network::None {
                let told = "a devbox that was made without a network has no way out";
                return Err(Error::Invalid(told.to_owned()));
            }
            plan.spec.network = Network::Allow(policy);
            plan.clone()
        };
        // Whoever attaches to the box after this process opens the same way out.
        write_json(&self.places.plan(), &plan)
            .map_err(|source| Error::platform("changing the devbox's network", source))?;
        self.open_outlet(link.until_closed()).await
    }

    async fn read_file(&self, path: &str, user: &User, limit: Option<u64>) -> Result<FileContent> {
        self.read_out(path, user, limit).await
    }

    async fn write_file(
        &self,
        path: &str,
        user: &User,
        mode: Option<FileMode>,
        content: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<u64> {
        self.write_in(path, user, mode, content).await
    }

    async fn connect(&self, port: u16) -> Result<Box<dyn Duplex>> {
        self.dial(port).await
    }

    async fn session(&self, spec: ExecSpec) -> Result<Session> {
        self.begin_session(spec).await
    }

    async fn sftp(&self, user: &User, directory: &str) -> Result<Box<dyn Duplex>> {
        self.open_sftp(user, directory).await
    }

    async fn snapshot(
        &self,
        layer: LayerId,
        labels: BTreeMap<String, String>,
    ) -> Result<LayerRecord> {
        // Held throughout, so that nobody starts, stops or destroys the box meanwhile.
        let slot = self.link.lock().await;
        if self.shared.places.layer(&layer).exists() {
            return Err(Error::Exists {
                what: "layer",
                name: layer.to_string(),
            });
        }
        let record = LayerRecord {
            id: layer,
            way: SnapshotWay::Renamed,
            labels,
            bytes: None,
        };
        let plan = self.plan();
        let way_at_rest = if plan.exact_disk || plan.layers.len() >= Heights::here().own {
            SnapshotWay::Copied
        } else {
            SnapshotWay::Renamed
        };
        let Some(link) = slot.clone().filter(|link| !link.is_closed()) else {
            return self.take_snapshot(way_at_rest, record).await;
        };
        let begin = if way_at_rest == SnapshotWay::Renamed && self.is_soon_copied().await? {
            Action::BeginCopy
        } else {
            Action::BeginSnapshot
        };
        let (way, begins_anew) = match link.ask(begin, &[]).await? {
            Answer::DiskFree => (way_at_rest, true),
            Answer::DiskFrozen => (SnapshotWay::Copied, false),
            other => return Err(expect_done(other).err().unwrap_or(Error::BoxEnded)),
        };
        let taken = self.take_snapshot(way, record).await;
        link.tell(Action::EndSnapshot).await?;
        if begins_anew {
            // The box has a new network, and in it a new listener.
            self.open_outlet(link.until_closed()).await?;
        }
        taken
    }

    async fn suspend(&self) -> Result<()> {
        self.running_link().await?.tell(Action::Freeze).await?;
        self.frozen.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn resume(&self) -> Result<()> {
        self.running_link().await?.tell(Action::Thaw).await?;
        self.frozen.store(false, Ordering::Relaxed);
        Ok(())
    }

    async fn stop(&self) -> Result<()> {
        self.attach().await?;
        let mut slot = self.link.lock().await;
        self.end(&mut slot).await;
        remove_if_there(&self.places.up())
            .map_err(|source| Error::platform("stopping the devbox", source))
    }

    async fn destroy(&self) -> Result<()> {
        for joined in self.shared.joined_to(&self.id) {
            joined.destroy().await?;
        }
        // A supervisor that cannot be attached to is ended all the same.
        let _ = self.attach().await;
        let mut slot = self.link.lock().await;
        self.end(&mut slot).await;
        let plan = self.plan();
        let groups = plan.groups;
        let remove_groups = move || groups.iter().try_for_each(BoxGroup::remove);
        let directory = self.places.directory.clone();
        self.shared
            .discard_after(remove_groups, directory, &EMPTY_IN_BOX)
            .await
            .map_err(|source| Error::platform("destroying the devbox", source))?;
        if let Ids::Range { first } = plan.ids {
            self.shared.ranges.give_back(first);
        }
        self.shared.forget(&self.id);
        Ok(())
    }

    async fn usage(&self) -> Result<Usage> {
        match self.running_link().await?.ask(Action::Usage, &[]).await? {
            Answer::Usage(usage) => Ok(usage),
            other => Err(expect_done(other).err().unwrap_or(Error::BoxEnded)),
        }
    }

    async fn ended(&self) {
        let link = self.link.lock().await.clone();
        if let Some(link) = link {
            link.closed().await;
        }
    }
}
