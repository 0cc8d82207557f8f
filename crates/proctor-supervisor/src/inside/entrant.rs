//! Processes that have entered the box and become a program there.
//!
//! Entering (a copy of the supervisor, control groups, namespaces, limits, the system call filter) takes about as long as
//! starting a program, and is the same for every program. So a box that is being used keeps one process that has entered already
//! and waits to be told what to become. It holds none of the supervisor's descriptors, cannot be looked into, and
//! ends with the supervisor; if anything in the box ends it, the next program enters for itself.

use std::{
    ffi::{CString, OsStr},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::Mode,
    net::{AddressFamily, SendFlags, SocketFlags, SocketType},
    process::{DumpableBehavior, Pid, Signal, WaitOptions},
};

use super::{
    enter,
    executions::Surroundings,
    failure::{Failure, While},
    identity::Identity,
    launcher::{receive_at_once, receive_with_fds, send_with_fds},
    terminal, trees, view,
};
use crate::{
    cgroup::Doors,
    network,
    network::Network,
    plan::Plan,
    spec::{ExecSpec, Terminal, User, View},
    sys::{self, Fork},
};

/// The longest specification that is told to a process that waits: what a socket takes as one packet on every host.
const LONGEST_TOLD: usize = 64 << 10;

/// What a process that waited says when it has been told what to become: one that something in the box had ended before never says it.
const BEGUN: u8 = b'+';
/// What stands before something that was found on the way, and is worth a note.
pub(super) const NOTE: u8 = b'N';
/// What comes with the server's end of a terminal.
const TERMINAL: u8 = b'T';
/// What stands before the reason why a process could not become its program.
const REFUSED: u8 = b'-';

/// A process that has entered the box, or is about to.
#[derive(Debug)]
pub(super) struct Entrant {
    pub(super) pid: Pid,
    /// The control group of it and everything that it will start.
    pub(super) group: String,
    /// Whether it waited, and was told what to become.
    pub(super) told: bool,
    /// Where it is told what to become and says why it cannot. Closed when it has become it.
    socket: OwnedFd,
}

/// What to become: a program, and its standard streams.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) spec: &'a ExecSpec,
    pub(super) streams: [BorrowedFd<'a>; 3],
}

impl Entrant {
    /// Has a process enter the box: to become `part`, or to wait for one.
    pub(super) fn start(
        around: Surroundings<'_>,
        group: String,
        part: Option<Part<'_>>,
    ) -> Result<Self, Failure> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .doing("making a socket")?;
        let doors = Doors::open(&around.plan.groups, &group).doing("making a control group")?;
        let fork = sys::fork_into(doors.birth()).doing("making a process");
        match fork.inspect_err(|_| drop_group(around.plan, &group))? {
            Fork::Parent(pid) => Ok(Self {
                pid,
                group,
                told: false,
                socket: ours,
            }),
            Fork::Child => {
                let entered = match part {
                    Some(part) => enter_and_become(around, &doors, part, theirs.as_fd()),
                    None => enter_and_wait(around, &doors, theirs.as_fd()),
                };
                refuse(entered, theirs.as_fd())
            }
        }
    }

    /// Has a process enter the box with a view of its own, to become `part`. If it is sealed, processes must be born outside of the box.
    pub(super) fn start_with_view(
        around: Surroundings<'_>,
        group: String,
        part: Part<'_>,
        view: &View,
    ) -> Result<Self, Failure> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .doing("making a socket")?;
        let doors = Doors::open(&around.plan.groups, &group).doing("making a control group")?;
        let namespaces = if view.sealed { libc::CLONE_NEWPID } else { 0 };
        let fork = sys::fork_with(namespaces, doors.birth()).doing("making a process");
        match fork.inspect_err(|_| drop_group(around.plan, &group))? {
            Fork::Parent(pid) => Ok(Self {
                pid,
                group,
                told: false,
                socket: ours,
            }),
            Fork::Child => {
                let entered = view::enter_and_become(around, &doors, part, view, theirs.as_fd());
                refuse(entered, theirs.as_fd())
            }
        }
    }

    /// Tells a process that waits what to become. If that fails, another one must be started.
    pub(super) fn tell(&mut self, part: Part<'_>) -> io::Result<()> {
        let told = serde_json::to_vec(part.spec)?;
        if told.len() > LONGEST_TOLD {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        send_with_fds(self.socket.as_fd(), &told, &part.streams)?;
        // Somebody in the box may have stopped it while it waited.
        let _ = rustix::process::kill_process(self.pid, Signal::CONT);
        self.told = true;
        Ok(())
    }

    /// Ends a process that waits, and leaves nothing of it.
    pub(super) fn dismiss(self, plan: &Plan) {
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
        drop_group(plan, &self.group);
    }

    /// The process with its group, and where it says why it could not become its program.
    pub(super) fn into_parts(self) -> (Pid, String, OwnedFd) {
        (self.pid, self.group, self.socket)
    }
}

/// Says why a process could not become its program, if it could not, and ends it.
fn refuse(entered: Result<(), Failure>, socket: BorrowedFd<'_>) -> ! {
    if let Err(failure) = entered {
        let mut why = vec![REFUSED];
        why.extend_from_slice(failure.to_string().as_bytes());
        let _ = rustix::net::send(socket, &why, SendFlags::NOSIGNAL);
    }
    sys::exit_now(127);
}

/// What a process said before it became its program or ended.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    /// It heard what it was told.
    pub(super) begun: bool,
    /// Why it could not become its program.
    pub(super) refusal: Option<String>,
    /// The other end of its terminal.
    pub(super) terminal: Option<OwnedFd>,
    /// What it found on its way.
    pub(super) notes: Vec<String>,
}

impl LastWords {
    /// Hears a process out whose end of the socket is closed.
    pub(super) fn hear(socket: &OwnedFd) -> Self {
        let mut words = Self::default();
        let mut packet = [0; 1024];
        while let Ok((length @ 1.., mut fds)) = receive_at_once(socket.as_fd(), &mut packet) {
            match packet[0] {
                BEGUN => words.begun = true,
                TERMINAL => words.terminal = fds.pop(),
                NOTE => {
                    let note = String::from_utf8_lossy(&packet[1..length.min(packet.len())]);
                    words.notes.push(note.into_owned());
                }
                _ => {
                    let why = String::from_utf8_lossy(&packet[1..length.min(packet.len())]);
                    words.refusal = Some(why.into_owned());
                }
            }
        }
        words
    }
}

fn drop_group(plan: &Plan, name: &str) {
    for group in &plan.groups {
        group.remove_execution(name);
    }
}

fn enter_and_become(
    around: Surroundings<'_>,
    doors: &Doors,
    part: Part<'_>,
    socket: BorrowedFd<'_>,
) -> Result<(), Failure> {
    enter::join(around.first, doors, around.plan.ids)?;
    enter::renounce(around.plan, around.filter)?;
    become_program(around.plan, part, socket)
}

/// Returns without an error if nobody will tell anything any more.
fn enter_and_wait(
    around: Surroundings<'_>,
    doors: &Doors,
    socket: BorrowedFd<'_>,
) -> Result<(), Failure> {
    enter::join(around.first, doors, around.plan.ids)?;
    enter::renounce(around.plan, around.filter)?;
    // It waits among programs that may be hostile.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).doing("hiding")?;
    // Our copies would keep pipes and connections of others open for as long as we wait.
    sys::close_all_but(3, socket).doing("closing descriptors")?;
    // All but becoming a user and the program has been done; this was the rest of it for root, and pages that a copy of a process shares until it writes
    // to them are its own by now.
    drop(Identity::find(&User::Root));
    let mut told = vec![0; LONGEST_TOLD];
    let (length, fds) = receive_with_fds(socket, &mut told).doing("waiting for a program")?;
    if length == 0 {
        return Ok(());
    }
    rustix::net::send(socket, &[BEGUN], SendFlags::NOSIGNAL).doing("beginning")?;
    // What was sent to a process that waits is not for the program that it becomes.
    sys::discard_signals();
    let [stdin, stdout, stderr] = fds.as_slice() else {
        return Err(io::Error::from(io::ErrorKind::InvalidData)).doing("taking the streams over");
    };
    let spec: ExecSpec = serde_json::from_slice(&told[..length])
        .map_err(io::Error::from)
        .doing("reading what to run")?;
    let part = Part {
        spec: &spec,
        streams: [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()],
    };
    become_program(around.plan, part, socket)
}

/// Becomes the program. Returns only if that is not possible.
pub(super) fn become_program(
    plan: &Plan,
    part: Part<'_>,
    socket: BorrowedFd<'_>,
) -> Result<(), Failure> {
    let Part { spec, streams } = part;
    let identity = enter::become_user(plan, &spec.user)?;
    let _ = rustix::process::setsid();
    let terminal = match spec.terminal {
        Some(size) => Some(open_terminal(size, socket)?),
        None => None,
    };
    let streams = match &terminal {
        Some(terminal) => [terminal.as_fd(); 3],
        None => streams,
    };
    for (stream, target) in streams.into_iter().zip(0..) {
        sys::install_fd(stream, target).doing("connecting the streams")?;
    }
    sys::close_on_exec_from(3).doing("closing descriptors")?;
    rustix::process::umask(Mode::from_raw_mode(0o022));

    let mut env = std::collections::BTreeMap::from([
        (
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ),
        ("HOME", identity.home.as_str()),
        ("USER", identity.name.as_str()),
        ("LOGNAME", identity.name.as_str()),
        // Spared looking it up: shells ask the account database for it otherwise.
        ("SHELL", "/bin/bash"),
    ]);
    if matches!(plan.spec.network, Network::Allow(_)) {
        env.extend(network::PROXY_ENVIRONMENT.iter().copied());
    }
    for (key, value) in plan.spec.env.iter().chain(&spec.env) {
        env.insert(key, value);
    }
    if !["LANG", "LC_ALL", "LC_CTYPE"]
        .into_iter()
        .any(|name| env.contains_key(name))
    {
        // All that is not plain C about `C.UTF-8`. As `LANG` it would have every program open a dozen files more.
        env.insert("LC_CTYPE", "C.UTF-8");
    }
    if !plan.can_kill() {
        env.insert(trees::MARK, spec.id.as_str());
    }
    match &spec.cwd {
        Some(cwd) => rustix::process::chdir(cwd.as_str()).doing(format_args!("entering {cwd}"))?,
        None => {
            let _ = rustix::process::chdir(identity.home.as_str());
        }
    }
    let texts = |texts: Vec<String>| -> Result<Vec<CString>, Failure> {
        texts
            .into_iter()
            .map(|text| CString::new(text).map_err(io::Error::other))
            .collect::<io::Result<_>>()
            .doing("a null byte in the command")
    };
    let path = (*env.get("PATH").unwrap_or(&"")).to_owned();
    let env = texts(
        env.into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect(),
    )?;
    let argv = texts(spec.argv.clone())?;
    sys::unblock_signals().doing("unblocking signals")?;
    Err(execute(&argv, &env, &path))
}

/// Opens a terminal as the user, which owns it then, and gives its other end away.
fn open_terminal(size: Terminal, socket: BorrowedFd<'_>) -> Result<OwnedFd, Failure> {
    // Nobody in the box may choose which descriptor is given away.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).doing("hiding")?;
    let (ours, theirs) = terminal::open(size).doing("opening a terminal")?;
    send_with_fds(socket, &[TERMINAL], &[ours.as_fd()]).doing("handing the terminal over")?;
    Ok(theirs)
}

/// Looks the program up as a shell would.
fn execute(argv: &[CString], env: &[CString], path: &str) -> Failure {
    let failed = |error: io::Error| Failure {
        doing: argv
            .first()
            .map(|program| program.to_string_lossy().into_owned())
            .unwrap_or_default(),
        error,
    };
    let Some(program) = argv.first() else {
        return failed(io::ErrorKind::InvalidInput.into());
    };
    if program.to_bytes().contains(&b'/') {
        return failed(sys::execve(program, argv, env));
    }
    let mut worst = io::Error::from_raw_os_error(libc::ENOENT);
    for directory in path.split(':') {
        let candidate = Path::new(directory).join(OsStr::from_bytes(program.to_bytes()));
        let Ok(candidate) = CString::new(candidate.as_os_str().as_bytes()) else {
            continue;
        };
        let error = sys::execve(&candidate, argv, env);
        if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) {
            worst = error;
        }
    }
    failed(worst)
}
