//! How a supervisor and its box come up.

use std::{
    collections::{BTreeMap, HashSet},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    time::Instant,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType},
    process::DumpableBehavior,
    thread::LinkNameSpaceType,
};

use super::{
    failure::{Failure, While},
    first,
    launcher::Order,
    seccomp::Filter,
    spares::Spares,
    supervisor::Supervisor,
    usage::DiskWatch,
};
use crate::{
    plan::{BoxPlaces, Ids, Places},
    sys,
};

impl Supervisor {
    /// Brings the box up.
    pub(super) fn boot(
        order: Order,
        connection: &OwnedFd,
        filter: Filter,
    ) -> Result<Self, Failure> {
        sys::close_all_but(0, connection.as_fd()).doing("closing descriptors")?;
        // Descriptors 0 to 2 must be taken, or something of ours would become a program's standard stream.
        for _ in 0..3 {
            let null = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())
                .doing("opening /dev/null")?;
            if null.as_raw_fd() < 3 {
                std::mem::forget(null);
            }
        }
        sys::default_signals();
        sys::block_signals().doing("blocking signals")?;
        let _ = rustix::process::setsid();
        let _ = rustix::process::chdir("/");
        rustix::thread::set_name(c"proctor-box").doing("naming the process")?;

        let data = Places { data: order.data };
        let places = data.of(&order.id);
        let plan = places
            .read_plan()
            .map_err(|error| std::io::Error::other(error.to_string()))
            .doing("reading the plan")?;
        let lock = lock(&places).doing("taking the box's lock")?;
        // Before anything forks: children are found by this descriptor.
        let children = sys::child_signal_fd().doing("watching children")?;
        let listener = listen(&places).doing("opening the control socket")?;
        for group in &plan.groups {
            group
                .create(&plan.spec.limits)
                .doing("making a control group")?;
        }
        if plan.ids == Ids::Single {
            become_own_root().doing("making a user namespace")?;
        }
        let own_pid_space = rustix::fs::open(
            "/proc/self/ns/pid",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .doing("opening a namespace")?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let null =
            rustix::fs::open("/dev/null", flags, Mode::empty()).doing("opening the null device")?;
        let now = Instant::now();
        let mut supervisor = Self {
            disk: DiskWatch::new(places.disk(), now),
            data,
            places,
            plan,
            filter,
            first: None,
            executions: BTreeMap::new(),
            over: BTreeMap::new(),
            helpers: HashSet::new(),
            leaving: HashSet::new(),
            spares: Spares::of_new_box(now),
            left_groups: Vec::new(),
            tidy: None,
            connections: Vec::new(),
            frozen: false,
            snapshot: None,
            stop: None,
            buffer: vec![0; 64 << 10],
            next_connection: 0,
            alone_since: Some(now),
            next_look: now,
            listener,
            children,
            own_pid_space,
            null,
            lock,
        };
        if let Err(failure) = supervisor.start_first() {
            supervisor.clean_up();
            return Err(failure);
        }
        Ok(supervisor)
    }

    /// Brings the box's first process up; from then on children of this process are born into the box.
    pub(super) fn start_first(&mut self) -> Result<(), Failure> {
        if self.plan.ids != Ids::Single {
            let space = Some(LinkNameSpaceType::ProcessID);
            rustix::thread::move_into_link_name_space(self.own_pid_space.as_fd(), space)
                .doing("leaving the box's processes")?;
        }
        // An unprivileged supervisor writes the new process's id maps, which only a dumpable process allows.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).doing("preparing")?;
        let first = first::start(&self.data, &self.plan)?;
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .doing("hiding the supervisor")?;
        let space = Some(LinkNameSpaceType::ProcessID);
        rustix::thread::move_into_link_name_space(first.processes.as_fd(), space)
            .doing("entering the box's processes")?;
        self.first = Some(first);
        Ok(())
    }
}

fn lock(places: &BoxPlaces) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let lock = rustix::fs::open(places.lock(), flags, Mode::from_raw_mode(0o600))?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    let pid = rustix::process::getpid().as_raw_nonzero().to_string();
    rustix::fs::ftruncate(&lock, 0)?;
    rustix::io::write(&lock, pid.as_bytes())?;
    Ok(lock)
}

/// The control socket. Its path may be longer than an address can be, so it is named through its directory.
fn listen(places: &BoxPlaces) -> std::io::Result<OwnedFd> {
    let _ = fs_err::remove_file(places.directory.join("control"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(&places.directory, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/control", directory.as_raw_fd());
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket)
}

/// An unprivileged supervisor becomes root of a user namespace of its own, so that it may do for the box, which is in one below, what
/// a privileged supervisor does.
fn become_own_root() -> std::io::Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    leave_the_rest_of_what_is_counted()?;
    sys::unshare(libc::CLONE_NEWUSER)?;
    fs_err::write("/proc/self/setgroups", "deny")?;
    fs_err::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs_err::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    for counted in ["max_inotify_instances", "max_inotify_watches"] {
        // A bound for this namespace and all below; the user's own bound holds in any case.
        let path = format!("/proc/sys/user/{counted}");
        let all = fs_err::read_to_string(&path).unwrap_or_default();
        if let Ok(all) = all.trim().parse::<u64>() {
            let _ = fs_err::write(&path, (all / SHARES).max(1).to_string());
        }
    }
    Ok(())
}

/// What the kernel counts for a user, a box without ids of its own takes from whoever runs the server. It may take one of so many parts.
const SHARES: u64 = 4;

/// Lowers the limits that the next user namespace remembers as its own.
fn leave_the_rest_of_what_is_counted() -> rustix::io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    for counted in [Resource::Sigpending, Resource::Msgqueue, Resource::Memlock] {
        let limit = getrlimit(counted);
        let current = limit.current.map(|most| (most / SHARES).max(1));
        setrlimit(counted, Rlimit { current, ..limit })?;
    }
    Ok(())
}
