//! The programs that run in a box: started, fed, watched, ended.

use std::{
    collections::VecDeque,
    ffi::{CString, OsStr},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    time::Instant,
};

use rustix::{
    fs::{Mode, OFlags},
    process::{Pid, WaitStatus},
};

use super::{
    control::Asker,
    enter,
    failure::{Failure, While},
    first::First,
    seccomp::Filter,
    spool::{Spool, StatusFile},
    trees,
};
use crate::{
    egress,
    local::{
        cgroup::Doors,
        plan::{BoxPlaces, Plan},
        sys::{self, Fork},
    },
    name::ExecId,
    network::Network,
    record::{Exit, ExitCause, Progress},
    spec::{ExecSpec, Stream},
};

/// What every execution of a box needs.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) plan: &'a Plan,
    pub(super) first: &'a First,
    pub(super) filter: &'a Filter,
    pub(super) places: &'a BoxPlaces,
}

/// One program, from the supervisor's side.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) id: ExecId,
    pub(super) pid: Pid,
    pub(super) stdout: Spool,
    pub(super) stderr: Spool,
    pub(super) stdin: Option<Stdin>,
    started: Instant,
    pub(super) deadline: Option<Instant>,
    /// Why it will have ended, if we ended it.
    pub(super) cause: ExitCause,
    memory_kills: u64,
    /// Until the program runs: what it says if it cannot, and who wants to know.
    pub(super) starting: Option<Starting>,
    pub(super) exit: Option<Exit>,
    /// Whether its control group is still there.
    pub(super) has_group: bool,
}

/// A program that may or may not come to run.
#[derive(Debug)]
pub(super) struct Starting {
    pub(super) pipe: OwnedFd,
    pub(super) askers: Vec<Asker>,
}

/// A program's standard input with what it has not taken yet.
#[derive(Debug)]
pub(super) struct Stdin {
    pipe: OwnedFd,
    queue: VecDeque<(Vec<u8>, usize, Asker)>,
    closing: bool,
}

impl Stdin {
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        (!self.queue.is_empty()).then(|| self.pipe.as_fd())
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>, asker: Asker) {
        self.queue.push_back((bytes, 0, asker));
    }

    /// Closes once everything is written. `true`: that is now.
    pub(super) fn close(&mut self) -> bool {
        self.closing = true;
        self.queue.is_empty()
    }

    /// Writes what the program takes. Answers whose bytes it has taken, and whether the input is to be closed:
    /// with `false`, nobody reads it any more.
    pub(super) fn pump(&mut self) -> (Vec<(Asker, bool)>, bool) {
        let mut done = Vec::new();
        while let Some((bytes, written, asker)) = self.queue.front_mut() {
            match rustix::io::write(&self.pipe, &bytes[*written..]) {
                Ok(length) => *written += length,
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => return (done, false),
                Err(_) => {
                    done.extend(self.queue.drain(..).map(|(_, _, asker)| (asker, false)));
                    return (done, true);
                }
            }
            if *written == bytes.len() {
                done.push((*asker, true));
                self.queue.pop_front();
            }
        }
        (done, self.closing)
    }

    /// Whoever still waits.
    pub(super) fn askers(self) -> impl Iterator<Item = Asker> {
        self.queue.into_iter().map(|(_, _, asker)| asker)
    }
}

impl Execution {
    /// Starts a program. Whether it runs is known when [`Starting::pipe`] says so.
    pub(super) fn start(
        around: Surroundings<'_>,
        spec: &ExecSpec,
        asker: Asker,
        now: Instant,
    ) -> Result<Self, Failure> {
        write_status(around.places, &spec.id, Progress::default()).doing("noting an execution")?;
        let spool = |stream| {
            let path = around.places.output(&spec.id, stream);
            Spool::new(path, spec.output_limit).doing("making a pipe")
        };
        let (stdout, stdout_end) = spool(Stream::Stdout)?;
        let (stderr, stderr_end) = spool(Stream::Stderr)?;
        let (stdin_end, stdin) = stdin(spec.stdin).doing("making a pipe")?;
        let (starting, starting_end) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).doing("making a pipe")?;
        let group = trees::group_name(&spec.id);
        let doors = Doors::open(&around.plan.groups, &group).doing("making a control group")?;
        let memory_kills = memory_kills(around.plan);
        let pid = match sys::fork_into(doors.birth()).doing("making a process")? {
            Fork::Parent(pid) => pid,
            Fork::Child => {
                let ends = [stdin_end.as_fd(), stdout_end.as_fd(), stderr_end.as_fd()];
                let failure = become_program(around, spec, &doors, ends);
                let _ = rustix::io::write(&starting_end, failure.to_string().as_bytes());
                sys::exit_now(127);
            }
        };
        Ok(Self {
            id: spec.id.clone(),
            pid,
            stdout,
            stderr,
            stdin,
            started: now,
            deadline: spec.timeout.and_then(|timeout| now.checked_add(timeout)),
            cause: ExitCause::Itself,
            memory_kills,
            starting: Some(Starting {
                pipe: starting,
                askers: vec![asker],
            }),
            exit: None,
            has_group: true,
        })
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            stdout: self.stdout.kept,
            stderr: self.stderr.kept,
            stdout_dropped: self.stdout.dropped,
            stderr_dropped: self.stderr.dropped,
            exit: self.exit,
        }
    }

    /// Notes its end and writes it down.
    pub(super) fn end(
        &mut self,
        plan: &Plan,
        places: &BoxPlaces,
        status: WaitStatus,
        now: Instant,
        buffer: &mut [u8],
    ) {
        self.stdout.end(buffer);
        self.stderr.end(buffer);
        if self.cause == ExitCause::Itself
            && status.terminating_signal() == Some(libc::SIGKILL)
            && memory_kills(plan) > self.memory_kills
        {
            self.cause = ExitCause::OutOfMemory;
        }
        self.deadline = None;
        self.exit = Some(Exit {
            code: status.exit_status(),
            signal: status.terminating_signal(),
            cause: self.cause,
            wall: now.saturating_duration_since(self.started),
        });
        // If the host's disk is full the server still hears of it, as long as this process lives.
        let _ = write_status(places, &self.id, self.progress());
        self.drop_group(plan);
    }

    /// Removes its control group if nothing it started is left.
    pub(super) fn drop_group(&mut self, plan: &Plan) {
        if self.has_group {
            let name = trees::group_name(&self.id);
            self.has_group = !plan
                .groups
                .iter()
                .all(|group| group.remove_execution(&name));
        }
    }
}

/// Notes how far an execution is. In place and without emptying the file first, which some file systems answer with writing to the disk at
/// once: the note of an end is always longer than that of a beginning.
fn write_status(places: &BoxPlaces, id: &ExecId, progress: Progress) -> io::Result<()> {
    let status = serde_json::to_vec(&StatusFile { progress })?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let file = rustix::fs::open(places.status(id), flags, Mode::from_raw_mode(0o600))?;
    if rustix::io::write(&file, &status)? < status.len() {
        return Err(io::ErrorKind::StorageFull.into());
    }
    Ok(())
}

fn memory_kills(plan: &Plan) -> u64 {
    plan.groups
        .iter()
        .find_map(super::super::cgroup::BoxGroup::out_of_memory_kills)
        .unwrap_or(0)
}

fn stdin(wanted: bool) -> io::Result<(OwnedFd, Option<Stdin>)> {
    if !wanted {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        return Ok((rustix::fs::open("/dev/null", flags, Mode::empty())?, None));
    }
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // The same for `/dev/stdin`.
    rustix::fs::fchmod(&read, rustix::fs::Mode::from_raw_mode(0o666))?;
    rustix::io::ioctl_fionbio(&write, true)?;
    let stdin = Stdin {
        pipe: write,
        queue: VecDeque::new(),
        closing: false,
    };
    Ok((read, Some(stdin)))
}

/// In the forked child: enters the box and becomes the program. Returns only if that is not possible.
fn become_program(
    around: Surroundings<'_>,
    spec: &ExecSpec,
    doors: &Doors,
    ends: [BorrowedFd<'_>; 3],
) -> Failure {
    match try_become_program(around, spec, doors, ends) {
        Ok(never) => match never {},
        Err(failure) => failure,
    }
}

fn try_become_program(
    around: Surroundings<'_>,
    spec: &ExecSpec,
    doors: &Doors,
    ends: [BorrowedFd<'_>; 3],
) -> Result<std::convert::Infallible, Failure> {
    enter::join(around.first, doors, around.plan.ids)?;
    let identity = enter::settle(around.plan, &spec.user, around.filter)?;
    for (end, target) in ends.into_iter().zip(0..) {
        sys::install_fd(end, target).doing("connecting the streams")?;
    }
    sys::close_on_exec_from(3).doing("closing descriptors")?;
    let _ = rustix::process::setsid();
    rustix::process::umask(Mode::from_raw_mode(0o022));

    let mut env = std::collections::BTreeMap::from([
        (
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ),
        ("HOME", identity.home.as_str()),
        ("USER", identity.name.as_str()),
        ("LOGNAME", identity.name.as_str()),
        ("LANG", "C.UTF-8"),
    ]);
    if matches!(around.plan.spec.network, Network::Allow(_)) {
        env.extend(egress::ENVIRONMENT.iter().copied());
    }
    for (key, value) in around.plan.spec.env.iter().chain(&spec.env) {
        env.insert(key, value);
    }
    if !around.plan.can_kill() {
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
