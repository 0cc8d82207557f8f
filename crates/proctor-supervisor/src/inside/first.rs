//! The box's first process: makes the box's world from inside its namespaces, then only reaps.
//!
//! It never executes a program, takes no orders once the box is up, has all signals blocked and cannot be traced. The box
//! ends when it ends, and it ends with its supervisor.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags},
    mount::OpenTreeFlags,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType},
    process::{DumpableBehavior, Pid, Signal, Uid, WaitOptions},
    thread::{CapabilitySet, LinkNameSpaceType},
};

use super::{
    capabilities,
    failure::{Failure, While},
    launcher::{receive_with_fds, send_with_fds},
    mounts::{self, Sources},
};
use crate::{
    cgroup::Doors,
    image,
    name::BoxId,
    network,
    network::Network,
    plan::{Bottom, Ids, Places, Plan},
    sys::{self, Fork},
    wire::{Request, frame},
};

/// How many ids a box has.
const RANGE: u32 = 65_536;

/// A box's first process, seen from its supervisor.
#[derive(Debug)]
pub(super) struct First {
    pub(super) pid: Pid,
    /// Where its other processes live; children of the supervisor are born there.
    pub(super) processes: OwnedFd,
    /// Its other namespaces, in the order in which they must be entered: the user namespace gives the right to the rest.
    pub(super) spaces: Vec<(OwnedFd, LinkNameSpaceType)>,
    /// Its disk, if that is a file system of its own.
    pub(super) disk: Option<OwnedFd>,
    /// The listener of the box's proxy, in the box's network: the server accepts on it.
    pub(super) outlet: Option<OwnedFd>,
}

impl First {
    /// One of its namespaces.
    pub(super) fn space(&self, kind: LinkNameSpaceType) -> Option<BorrowedFd<'_>> {
        let mut spaces = self.spaces.iter();
        let found = spaces.find(|(_, one)| *one == kind);
        found.map(|(space, _)| space.as_fd())
    }

    /// The listener of the box's proxy.
    pub(super) fn outlet(&self) -> Option<BorrowedFd<'_>> {
        self.outlet.as_ref().map(OwnedFd::as_fd)
    }

    /// The network that it is in.
    pub(super) fn network(&self) -> Option<BorrowedFd<'_>> {
        self.space(LinkNameSpaceType::Network)
    }
}

/// Starts the first process and waits until the box's world is made.
pub(super) fn start(places: &Places, plan: &Plan) -> Result<First, Failure> {
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .doing("making a socket")?;
    let mut namespaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    // Entered before anything of the box is there: nobody in a box has rights over the network of another one.
    let visit = match &plan.spec.joins {
        Some(other) => Some(Visit::begin(places, other)?),
        None => {
            namespaces |= libc::CLONE_NEWNET;
            None
        }
    };
    let killing = plan.groups.iter().filter(|group| group.holds_executions());
    let doors = Doors::open(killing, "init").doing("making a control group")?;
    let made = fork_as_owner(plan.ids, namespaces, doors.birth());
    if let (Some(visit), Ok(Fork::Parent(_)) | Err(_)) = (&visit, &made) {
        visit.end()?;
    }
    let pid = match made.doing("making namespaces")? {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            drop(ours);
            live(&theirs, places, plan);
        }
    };
    drop(theirs);
    let outcome = prepare(places, plan, pid, &doors, ours.as_fd()).and_then(|disk| {
        let outlet = expect(ours.as_fd(), b"ready")?.pop();
        let first = First {
            disk,
            outlet,
            ..open_spaces(pid, visit.is_some())?
        };
        send_with_fds(ours.as_fd(), b"hide", &[]).doing("hiding the first process")?;
        expect(ours.as_fd(), b"hidden")?;
        Ok(first)
    });
    if outcome.is_err() {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    }
    outcome
}

/// Copies the process into new namespaces that belong to the box's own first id, not to root.
///
/// The kernel counts much of what a process takes (inotify instances, timers, queued signals, message queues, locked memory) for its user, and again for whoever
/// made its user namespace. If that was root, all boxes and the host's root would share one count, and one box could use it up.
fn fork_as_owner(
    ids: Ids,
    namespaces: libc::c_int,
    group: Option<BorrowedFd<'_>>,
) -> io::Result<Fork> {
    let Ids::Range { first } = ids else {
        return sys::fork_with(namespaces, group);
    };
    let capabilities = rustix::thread::capabilities(None)?;
    rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::from_raw(first), Uid::ROOT)?;
    // The change of user took them away; being born into a control group needs them.
    let forked = rustix::thread::set_capabilities(None, capabilities)
        .and_then(|()| rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable))
        .map_err(io::Error::from)
        .and_then(|()| sys::fork_with(namespaces, group));
    match forked {
        // It becomes root of the box as soon as there is one.
        Ok(Fork::Child) => Ok(Fork::Child),
        other => {
            rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)?;
            other
        }
    }
}

/// What only the supervisor may do for the new namespaces: ids, mapped mounts, control groups.
fn prepare(
    places: &Places,
    plan: &Plan,
    pid: Pid,
    doors: &Doors,
    socket: BorrowedFd<'_>,
) -> Result<Option<OwnedFd>, Failure> {
    let proc = format!("/proc/{}", pid.as_raw_nonzero());
    let mut sources = Vec::new();
    let mut disk = None;
    match plan.ids {
        Ids::Range { first } => {
            let map = format!("0 {first} {RANGE}");
            fs_err::write(format!("{proc}/uid_map"), &map).doing("mapping users")?;
            fs_err::write(format!("{proc}/gid_map"), &map).doing("mapping groups")?;
            let users = rustix::fs::open(
                format!("{proc}/ns/user"),
                OFlags::RDONLY | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .doing("opening the user namespace")?;
            for source in mounted_sources(places, plan) {
                sources.push(mapped_clone(source, users.as_fd())?);
            }
            if plan.exact_disk {
                let mount =
                    image::mount(&places.of(&plan.spec.id).image()).doing("mounting the disk")?;
                sys::idmap_mount(mount.as_fd(), users.as_fd()).doing("mapping the disk's ids")?;
                disk = Some(mount.try_clone().doing("keeping the disk")?);
                sources.push(mount);
            }
            for shared in &plan.spec.read_only {
                let mount = mapped_clone(&shared.host, users.as_fd())?;
                sys::seal_mount(mount.as_fd()).doing("making a mount read-only")?;
                sources.push(mount);
            }
            for volume in &plan.spec.volumes {
                let mount = mapped_clone(&places.volume(&plan.spec, volume), users.as_fd())?;
                sys::tame_mount(mount.as_fd()).doing("restricting a volume")?;
                sources.push(mount);
            }
        }
        Ids::Single => {
            fs_err::write(format!("{proc}/setgroups"), "deny").doing("fixing groups")?;
            fs_err::write(format!("{proc}/uid_map"), "0 0 1").doing("mapping users")?;
            fs_err::write(format!("{proc}/gid_map"), "0 0 1").doing("mapping groups")?;
        }
    }
    doors
        .join(pid.as_raw_nonzero().get())
        .doing("joining a control group")?;
    let fds: Vec<BorrowedFd<'_>> = sources.iter().map(AsFd::as_fd).collect();
    send_with_fds(socket, b"go", &fds).doing("releasing the first process")?;
    Ok(disk)
}

/// Opens the namespaces of the first process, which is possible as long as it does not hide.
///
/// A network that belongs to another box must be entered first: the user namespace of this one gives no right to it.
fn open_spaces(pid: Pid, is_joined: bool) -> Result<First, Failure> {
    use LinkNameSpaceType as Space;
    let open = |name: &str| {
        let path = format!("/proc/{}/ns/{name}", pid.as_raw_nonzero());
        rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .doing("opening a namespace")
    };
    let mut spaces = [
        ("user", Space::User),
        ("mnt", Space::Mount),
        ("net", Space::Network),
        ("ipc", Space::InterProcessCommunication),
        ("uts", Space::HostNameAndNISDomainName),
    ];
    if is_joined {
        spaces[..3].rotate_right(1);
    }
    Ok(First {
        pid,
        processes: open("pid")?,
        spaces: spaces
            .into_iter()
            .map(|(name, kind)| Ok((open(name)?, kind)))
            .collect::<Result<_, Failure>>()?,
        disk: None,
        outlet: None,
    })
}

/// The supervisor in the network of another box, for as long as its own box is born into it.
struct Visit {
    own: OwnedFd,
}

impl Visit {
    fn begin(places: &Places, other: &BoxId) -> Result<Self, Failure> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let own = rustix::fs::open("/proc/self/ns/net", flags, Mode::empty())
            .doing("opening a namespace")?;
        let space = network_of(places, other).doing("finding the network of another devbox")?;
        let kind = Some(LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(space.as_fd(), kind)
            .doing("entering the network of another devbox")?;
        // Root of this box is nobody in that network, and services listen on low ports. Where it cannot be said they listen on others.
        let _ = fs_err::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
        Ok(Self { own })
    }

    fn end(&self) -> Result<(), Failure> {
        let kind = Some(LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(self.own.as_fd(), kind)
            .doing("leaving the network of another devbox")
    }
}

/// Asks the supervisor of another box for its network.
fn network_of(places: &Places, other: &BoxId) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(places.of(other).directory, flags, Mode::empty())?;
    // Its path may be longer than an address can be, so it is named through its directory.
    let path = format!("/proc/self/fd/{}/control", directory.as_raw_fd());
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let request = frame(&Request::NetworkSpace, &[]).map_err(io::Error::other)?;
    let mut rest = &request[..];
    while !rest.is_empty() {
        let sent = rustix::net::send(&socket, rest, rustix::net::SendFlags::NOSIGNAL)?;
        rest = &rest[sent..];
    }
    let (_, fds) = receive_with_fds(socket.as_fd(), &mut [0; 8])?;
    let found = fds.into_iter().next();
    found.ok_or_else(|| io::ErrorKind::NotConnected.into())
}

/// The directories whose mounts are needed, in the order in which they are sent.
fn mounted_sources<'a>(places: &'a Places, plan: &'a Plan) -> [&'a Path; 2] {
    let below = match &plan.bottom {
        Bottom::Host { .. } => Path::new("/usr"),
        Bottom::RootFs { directory, .. } => directory,
    };
    [&places.data, below]
}

pub(super) fn mapped_clone(source: &Path, users: BorrowedFd<'_>) -> Result<OwnedFd, Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let mount = rustix::mount::open_tree(rustix::fs::CWD, source, flags)
        .doing(format_args!("cloning the mount of {}", source.display()))?;
    sys::idmap_mount(mount.as_fd(), users)
        .doing(format_args!("mapping the ids of {}", source.display()))?;
    Ok(mount)
}

/// Waits for a word of the first process and what comes with it, or for what it could not do.
fn expect(socket: BorrowedFd<'_>, word: &[u8]) -> Result<Vec<OwnedFd>, Failure> {
    let mut buffer = [0; 512];
    let (length, fds) =
        receive_with_fds(socket, &mut buffer).doing("waiting for the first process")?;
    match &buffer[..length] {
        said if said == word => Ok(fds),
        [low, high, doing @ ..] => {
            let errno = i32::from(u16::from_le_bytes([*low, *high]));
            Err(io::Error::from_raw_os_error(errno)).doing(String::from_utf8_lossy(doing))
        }
        [] | [_] => Err(io::Error::from(io::ErrorKind::BrokenPipe)).doing("the first process died"),
    }
}

/// The first process's whole life.
fn live(socket: &OwnedFd, places: &Places, plan: &Plan) -> ! {
    if let Err(failure) = make_world(socket, places, plan) {
        let errno = u16::try_from(failure.errno()).unwrap_or(0).to_le_bytes();
        let _ = rustix::net::send(
            socket,
            &[&errno[..], failure.doing.as_bytes()].concat(),
            rustix::net::SendFlags::NOSIGNAL,
        );
        sys::exit_now(1);
    }
    let _ = sys::close_all_but(0, socket.as_fd());
    loop {
        // Reap whatever was orphaned; with nothing left to reap, sleep until a child signals.
        if rustix::process::wait(WaitOptions::empty()).is_err() {
            sys::wait_for_signal();
        }
    }
}

fn make_world(socket: &OwnedFd, places: &Places, plan: &Plan) -> Result<(), Failure> {
    let mut buffer = [0; 8];
    let (length, fds) =
        receive_with_fds(socket.as_fd(), &mut buffer).doing("waiting for the supervisor")?;
    if length == 0 {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe)).doing("waiting for the supervisor");
    }
    super::enter::become_root(plan.ids).doing("becoming root of the box")?;
    // After the change of user, which clears it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .doing("tying the box to its supervisor")?;

    let mut fds = fds.into_iter();
    let sources = match (plan.ids, fds.next(), fds.next()) {
        (Ids::Range { .. }, Some(data), Some(below)) => Sources::Mapped {
            data,
            below,
            disk: if plan.exact_disk { fds.next() } else { None },
            shared: fds.collect(),
        },
        (Ids::Single, None, None) => Sources::Plain {
            data: &places.data,
            below: mounted_sources(places, plan)[1],
        },
        _ => {
            return Err(io::Error::from(io::ErrorKind::InvalidData))
                .doing("taking over the mounts");
        }
    };
    mounts::build(sources, plan)?;
    rustix::system::sethostname(plan.spec.id.as_str().as_bytes()).doing("naming the host")?;
    if plan.spec.joins.is_none() {
        let probe = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
            .doing("making a socket")?;
        sys::raise_loopback(probe.as_fd()).doing("raising the loopback interface")?;
    }
    rustix::thread::set_name(c"box").doing("naming the process")?;
    capabilities::drop_bounding_set(CapabilitySet::empty()).doing("dropping capabilities")?;
    capabilities::keep_capabilities(CapabilitySet::empty()).doing("dropping capabilities")?;
    rustix::thread::set_no_new_privs(true).doing("giving up new privileges")?;
    let outlet = match plan.spec.network {
        Network::None => None,
        Network::Allow(_) => Some(outlet().doing("opening the way out")?),
    };
    let fds: Vec<BorrowedFd<'_>> = outlet.iter().map(AsFd::as_fd).collect();
    send_with_fds(socket.as_fd(), b"ready", &fds).doing("reporting")?;
    expect(socket.as_fd(), b"hide")?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .doing("hiding the first process")?;
    send_with_fds(socket.as_fd(), b"hidden", &[]).doing("reporting")
}

/// The listener of the box's proxy. Its port is free: nothing else is in this network yet.
fn outlet() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    rustix::net::bind(
        &socket,
        &SocketAddrV4::new(Ipv4Addr::LOCALHOST, network::PROXY_PORT),
    )?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket)
}
