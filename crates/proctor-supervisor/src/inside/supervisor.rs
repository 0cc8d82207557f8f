//! The supervisor: one process per box that outlives the server and does what it is told.
//!
//! One thread, one loop over descriptors and deadlines. It holds the box's lock, its control socket and the pipes of its
//! executions. It never runs anything itself that the box could influence; whatever enters the box is a forked child.

use std::{
    collections::{BTreeMap, HashSet},
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags},
    net::SocketFlags,
    process::Pid,
};

use super::{
    actions::Snapshot,
    control::{Asker, Connection},
    executions::{Execution, Surroundings},
    first::First,
    launcher::Order,
    seccomp::Filter,
    spares::Spares,
    usage::DiskWatch,
};
use crate::{
    cgroup::BoxGroup,
    name::ExecId,
    plan::{BoxPlaces, Places, Plan},
    record::{ExitCause, Progress},
    sys,
    wire::{Answer, Event},
};

/// How often a supervisor without a server looks around.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A supervisor at work.
pub(super) struct Supervisor {
    pub(super) data: Places,
    pub(super) places: BoxPlaces,
    pub(super) plan: Plan,
    pub(super) filter: Filter,
    pub(super) first: Option<First>,
    pub(super) executions: BTreeMap<ExecId, Execution>,
    /// Executions of which nothing is left but how they ended.
    pub(super) over: BTreeMap<ExecId, Progress>,
    /// Forked children that are no executions.
    pub(super) helpers: HashSet<Pid>,
    /// First processes that were ended and whose worlds are being taken down.
    pub(super) leaving: HashSet<Pid>,
    /// Processes that wait for the next programs.
    pub(super) spares: Spares,
    /// Control groups of no execution that go when the last process in them has gone.
    pub(super) left_groups: Vec<String>,
    /// When to look whether something of executions that have ended is left.
    pub(super) tidy: Option<Instant>,
    pub(super) connections: Vec<Connection>,
    pub(super) frozen: bool,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) disk: DiskWatch,
    pub(super) stop: Option<Stop>,
    pub(super) buffer: Vec<u8>,
    pub(super) next_connection: u64,
    pub(super) alone_since: Option<Instant>,
    pub(super) next_look: Instant,
    pub(super) listener: OwnedFd,
    pub(super) children: OwnedFd,
    pub(super) own_pid_space: OwnedFd,
    /// The standard input of programs without one.
    pub(super) null: OwnedFd,
    /// Held as long as anything of the box is there.
    pub(super) lock: OwnedFd,
}

/// Why the supervisor is to end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// Somebody asked.
    Asked(Asker),
    /// The first process is gone, or nobody came for too long.
    ByItself,
}

/// What a ready descriptor is.
enum Source {
    Children,
    Listener,
    Connection(u64),
    Stdout(ExecId),
    Stderr(ExecId),
    Stdin(ExecId),
    Starting(ExecId),
    DiskCount,
}

/// The supervisor's whole life, in a freshly forked process. `connection` is where it reports.
pub(super) fn run(order: Order, connection: OwnedFd, filter: Filter) -> ! {
    // Whatever was open belongs to the launcher.
    let code = match Supervisor::boot(order, &connection, filter) {
        Ok(mut supervisor) => {
            supervisor.adopt(connection);
            supervisor.work();
            0
        }
        Err(failure) => {
            let event = Event::Failed {
                errno: failure.errno(),
                doing: failure.doing,
            };
            if let Ok(mut connection) = Connection::new(0, connection) {
                connection.send(&event);
                connection.flush(|_| None);
            }
            1
        }
    };
    sys::exit_now(code)
}

/// How far an execution has come, for whoever has not heard of it yet.
pub(super) fn news(
    executions: &BTreeMap<ExecId, Execution>,
    over: &BTreeMap<ExecId, Progress>,
) -> impl Fn(ExecId) -> Option<Event> {
    |id| {
        let alive = executions.get(&id).map(Execution::progress);
        let progress = alive.or_else(|| over.get(&id).copied())?;
        Some(Event::Progress(id, progress))
    }
}

impl Supervisor {
    fn adopt(&mut self, socket: OwnedFd) {
        self.next_connection += 1;
        if let Ok(connection) = Connection::new(self.next_connection, socket) {
            self.connections.push(connection);
            self.attach(self.next_connection);
        }
    }

    /// From now on the connection hears of everything, beginning with how things stand.
    pub(super) fn attach(&mut self, connection: u64) {
        let executions: Vec<(ExecId, Progress)> = self
            .executions
            .values()
            .filter(|execution| execution.starting.is_none())
            .map(|execution| (execution.id.clone(), execution.progress()))
            .chain(self.over.clone())
            .collect();
        let frozen = self.frozen;
        if let Some(connection) = self.connection(connection) {
            connection.attached = true;
            connection.send(&Event::Ready { frozen, executions });
        }
        self.alone_since = None;
    }

    pub(super) fn connection(&mut self, id: u64) -> Option<&mut Connection> {
        self.connections
            .iter_mut()
            .find(|connection| connection.id == id)
    }

    pub(super) fn answer(&mut self, asker: Asker, answer: Answer) {
        if let Some(connection) = self.connection(asker.connection) {
            connection.send(&Event::Answer {
                number: asker.number,
                answer,
            });
        }
    }

    pub(super) fn surroundings(&self) -> Option<Surroundings<'_>> {
        Some(Surroundings {
            plan: &self.plan,
            first: self.first.as_ref()?,
            filter: &self.filter,
        })
    }

    fn work(&mut self) {
        while self.stop.is_none() {
            self.flush();
            self.tidy_up();
            self.look_after_spares();
            let ready = self.wait();
            for source in ready {
                self.handle(source);
            }
            self.deadlines();
        }
        self.finish();
    }

    /// Waits until something is ready or due.
    fn wait(&self) -> Vec<Source> {
        let mut sources = vec![Source::Children, Source::Listener];
        let mut polled = vec![
            PollFd::new(&self.children, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        for connection in &self.connections {
            let mut wanted = PollFlags::IN;
            wanted.set(PollFlags::OUT, connection.wants_to_write());
            sources.push(Source::Connection(connection.id));
            polled.push(PollFd::from_borrowed_fd(connection.socket(), wanted));
        }
        let now = Instant::now();
        for execution in self.executions.values() {
            let id = || execution.id.clone();
            let inputs = [
                (
                    execution.stdout.pipe(),
                    Source::Stdout as fn(ExecId) -> Source,
                    PollFlags::IN,
                ),
                (execution.stderr.pipe(), Source::Stderr, PollFlags::IN),
                (
                    execution.stdin.as_ref().and_then(|stdin| stdin.pipe()),
                    Source::Stdin,
                    PollFlags::OUT,
                ),
                (
                    execution
                        .starting
                        .as_ref()
                        .filter(|starting| starting.heard_from <= now)
                        .map(|starting| starting.pipe.as_fd()),
                    Source::Starting,
                    // Only the end of it matters: it is closed when the program runs.
                    PollFlags::empty(),
                ),
            ];
            for (fd, source, flags) in inputs {
                if let Some(fd) = fd {
                    sources.push(source(id()));
                    polled.push(PollFd::from_borrowed_fd(fd, flags));
                }
            }
        }
        if let Some(pipe) = self.disk.pipe() {
            sources.push(Source::DiskCount);
            polled.push(PollFd::from_borrowed_fd(pipe, PollFlags::IN));
        }
        let timeout = self.next_deadline(now).map(|deadline| {
            let left = deadline.saturating_duration_since(now);
            rustix::event::Timespec::try_from(left).unwrap_or(rustix::event::Timespec {
                tv_sec: 3600,
                tv_nsec: 0,
            })
        });
        if rustix::event::poll(&mut polled, timeout.as_ref()).is_err() {
            return Vec::new();
        }
        polled
            .iter()
            .zip(sources)
            .filter(|(polled, _)| !polled.revents().is_empty())
            .map(|(_, source)| source)
            .collect()
    }

    fn handle(&mut self, source: Source) {
        match source {
            Source::Children => self.reap(),
            Source::Listener => {
                if let Ok(socket) = rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC) {
                    self.next_connection += 1;
                    self.connections
                        .extend(Connection::new(self.next_connection, socket));
                }
            }
            Source::Connection(id) => {
                let mut buffer = std::mem::take(&mut self.buffer);
                let alive = self
                    .connection(id)
                    .is_none_or(|connection| connection.receive(&mut buffer));
                self.buffer = buffer;
                self.requests(id);
                if !alive {
                    self.drop_connection(id);
                }
            }
            Source::Stdout(id) => self.drain(&id, |execution| &mut execution.stdout),
            Source::Stderr(id) => self.drain(&id, |execution| &mut execution.stderr),
            Source::Stdin(id) => self.pump_stdin(&id),
            Source::Starting(id) => self.started(&id),
            Source::DiskCount => {
                self.disk.finish(Instant::now());
                self.check_disk();
            }
        }
    }

    fn drain(&mut self, id: &ExecId, spool: fn(&mut Execution) -> &mut super::spool::Spool) {
        let Some(execution) = self.executions.get_mut(id) else {
            return;
        };
        let spool = spool(execution);
        let grew = spool.drain(&mut self.buffer);
        if spool.pipe().is_none() && execution.exit.is_some() {
            // What it left running may have ended.
            self.tidy = Some(Instant::now());
        }
        if grew {
            self.note(id);
        }
    }

    /// Tells everybody who listens that an execution has come further.
    pub(super) fn note(&mut self, id: &ExecId) {
        for connection in &mut self.connections {
            connection.note(id);
        }
    }

    fn flush(&mut self) {
        let mut gone = Vec::new();
        for connection in &mut self.connections {
            if !connection.flush(news(&self.executions, &self.over)) {
                gone.push(connection.id);
            }
        }
        for id in gone {
            self.drop_connection(id);
        }
    }

    fn drop_connection(&mut self, id: u64) {
        self.connections.retain(|connection| connection.id != id);
        if !self
            .connections
            .iter()
            .any(|connection| connection.attached)
        {
            self.alone_since.get_or_insert_with(Instant::now);
        }
        if self
            .snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.connection == id)
        {
            // Whoever was taking it is gone: go on with the disk as it is now.
            self.end_snapshot();
        }
    }

    /// When something is due next; `now` is when was looked what to wait for.
    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let executions = self
            .executions
            .values()
            .flat_map(|execution| {
                let starting = execution.starting.as_ref();
                let heard_from = starting.map(|starting| starting.heard_from);
                [execution.deadline, heard_from.filter(|from| *from > now)]
            })
            .flatten();
        let counting = self.watches_disk().then(|| self.disk.due()).flatten();
        executions
            .chain(counting)
            .chain(self.alone_deadline())
            .chain(self.spares.due())
            .chain(self.tidy)
            .min()
    }

    /// When to look again whether anybody still wants the box.
    fn alone_deadline(&self) -> Option<Instant> {
        self.alone_since.map(|_| self.next_look)
    }

    /// Nobody has come for a while: the box is suspended, later stopped; at once, if its directory is no more.
    fn look_around(&mut self, now: Instant) {
        self.next_look = now + LOOK_EVERY;
        let Some(since) = self.alone_since else {
            return;
        };
        let alone = now.saturating_duration_since(since);
        let plan = &self.plan;
        if alone >= Duration::from_secs(plan.orphan_stop_secs) || !self.places.directory.exists() {
            self.stop.get_or_insert(Stop::ByItself);
        } else if alone >= Duration::from_secs(plan.orphan_freeze_secs) && !self.frozen {
            self.frozen = self.first.is_some() && self.stand_still().is_ok();
        }
    }

    fn deadlines(&mut self) {
        let now = Instant::now();
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        let late: Vec<ExecId> = self
            .executions
            .values()
            .filter(|execution| due(execution.deadline))
            .map(|execution| execution.id.clone())
            .collect();
        for id in late {
            self.end_execution(&id, ExitCause::TimedOut);
        }
        if self.watches_disk() && due(self.disk.due()) {
            let used = self.plan.groups.iter().find_map(BoxGroup::cpu_micros);
            if self.disk.begin(now, used) {
                self.check_disk();
            }
        }
        if due(self.alone_deadline()) {
            self.look_around(now);
        }
    }
}
