//! The programs that run in a box: started, fed, watched, ended.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    fs::{Mode, OFlags},
    process::{Pid, WaitStatus},
};

use super::{
    control::Asker,
    entrant::{Entrant, Part},
    failure::{Failure, While},
    first::First,
    seccomp::Filter,
    sessions::Session,
    spool::{Spool, StatusFile},
};
use crate::{
    name::ExecId,
    output_key::OutputKey,
    plan::{BoxPlaces, Plan},
    record::{Exit, ExitCause, Progress},
    spec::{ExecSpec, Stream},
};

/// What most programs end in.
const SOON: Duration = Duration::from_millis(2);

/// What every execution of a box needs.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) plan: &'a Plan,
    pub(super) first: &'a First,
    pub(super) filter: &'a Filter,
}

/// One program, from the supervisor's side.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) id: ExecId,
    pub(super) pid: Pid,
    pub(super) stdout: Spool,
    pub(super) stderr: Spool,
    pub(super) stdin: Option<Stdin>,
    /// The program's ends of its output, held as long as it runs: it is enough to hear of its end once.
    pub(super) held: Option<[OwnedFd; 2]>,
    started: Instant,
    pub(super) deadline: Option<Instant>,
    /// Why it will have ended, if we ended it.
    pub(super) cause: ExitCause,
    /// How many processes of the box had been ended for want of memory when it began.
    memory_kills: u64,
    /// Until the program runs: where it says that it cannot, and who wants to know.
    pub(super) starting: Option<Starting>,
    /// Whoever waits for the ends of its streams, if they are somebody else's.
    pub(super) session: Option<Session>,
    pub(super) exit: Option<Exit>,
    /// The control group of everything it started.
    pub(super) group: String,
    /// Whether that is still there.
    pub(super) has_group: bool,
}

/// The streams of a program that is about to be started.
#[derive(Debug)]
pub(super) struct Streams {
    stdin: Option<Stdin>,
    stdout: Spool,
    stderr: Spool,
    ends: [OwnedFd; 3],
}

impl Streams {
    /// Streams whose other ends are somebody else's.
    pub(super) fn of_session(ends: [OwnedFd; 3]) -> Self {
        Self {
            stdin: None,
            stdout: Spool::of_nothing(),
            stderr: Spool::of_nothing(),
            ends,
        }
    }

    /// Makes the streams.
    pub(super) fn open(
        places: &BoxPlaces,
        spec: &ExecSpec,
        key: Option<&OutputKey>,
        null: BorrowedFd<'_>,
    ) -> Result<Self, Failure> {
        let spool = |stream| {
            Spool::of(places, &spec.id, stream, key, spec.output_limit).doing("making a pipe")
        };
        let (stdout, stdout_end) = spool(Stream::Stdout)?;
        let (stderr, stderr_end) = spool(Stream::Stderr)?;
        let (stdin_end, stdin) = if spec.stdin {
            let (end, stdin) = Stdin::open().doing("making a pipe")?;
            (end, Some(stdin))
        } else {
            let nothing = null.try_clone_to_owned();
            (nothing.doing("taking the null device")?, None)
        };
        Ok(Self {
            stdin,
            stdout,
            stderr,
            ends: [stdin_end, stdout_end, stderr_end],
        })
    }

    /// The program's ends of its input, output and error output.
    pub(super) fn ends(&self) -> [BorrowedFd<'_>; 3] {
        self.ends.each_ref().map(AsFd::as_fd)
    }
}

/// A program that may or may not come to run.
#[derive(Debug)]
pub(super) struct Starting {
    pub(super) pipe: OwnedFd,
    pub(super) askers: Vec<Asker>,
    /// When is looked whether it runs. Not at once unless somebody waits to feed it: most programs end soon, and then it is enough to say so once.
    pub(super) heard_from: Instant,
    /// What a process was told that may have been ended before it heard it.
    pub(super) told: Option<Told>,
}

/// What a process was told to become, for another one if need be.
#[derive(Debug)]
pub(super) struct Told {
    spec: ExecSpec,
    stdin: OwnedFd,
}

impl Told {
    /// What to become, with the output of the execution.
    pub(super) fn part<'a>(&'a self, [stdout, stderr]: &'a [OwnedFd; 2]) -> Part<'a> {
        Part {
            spec: &self.spec,
            streams: [&self.stdin, stdout, stderr].map(AsFd::as_fd),
        }
    }
}

/// A program's standard input with what it has not taken yet.
#[derive(Debug)]
pub(super) struct Stdin {
    pipe: OwnedFd,
    queue: VecDeque<(Vec<u8>, usize, Asker)>,
    closing: bool,
}

impl Stdin {
    /// A standard input, and the end of the pipe for the program.
    fn open() -> io::Result<(OwnedFd, Self)> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // The same for `/dev/stdin`.
        rustix::fs::fchmod(&read, rustix::fs::Mode::from_raw_mode(0o666))?;
        rustix::io::ioctl_fionbio(&write, true)?;
        let stdin = Self {
            pipe: write,
            queue: VecDeque::new(),
            closing: false,
        };
        Ok((read, stdin))
    }

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
    /// A program that `entrant` becomes. Whether it runs is known when [`Starting::pipe`] says so.
    pub(super) fn begin(
        spec: &ExecSpec,
        streams: Streams,
        entrant: Entrant,
        asker: Option<Asker>,
        (now, memory_kills): (Instant, u64),
    ) -> Self {
        let [stdin, stdout, stderr] = streams.ends;
        let told = entrant.told.then(|| Told {
            spec: spec.clone(),
            stdin,
        });
        let (pid, group, pipe) = entrant.into_parts();
        Self {
            id: spec.id.clone(),
            pid,
            stdout: streams.stdout,
            stderr: streams.stderr,
            stdin: streams.stdin,
            held: Some([stdout, stderr]),
            started: now,
            deadline: spec.timeout.and_then(|timeout| now.checked_add(timeout)),
            cause: ExitCause::Itself,
            memory_kills,
            starting: Some(Starting {
                pipe,
                heard_from: if spec.stdin || asker.is_none() {
                    now
                } else {
                    now + SOON
                },
                askers: asker.into_iter().collect(),
                told,
            }),
            session: None,
            exit: None,
            group,
            has_group: true,
        }
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

    /// Goes on with another process, which becomes the program instead of the one that was told to.
    pub(super) fn begin_again(&mut self, entrant: Entrant, held: [OwnedFd; 2], askers: Vec<Asker>) {
        self.held = Some(held);
        let (pid, group, pipe) = entrant.into_parts();
        (self.pid, self.group, self.has_group) = (pid, group, true);
        self.starting = Some(Starting {
            pipe,
            askers,
            heard_from: self.started,
            told: None,
        });
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
        self.held = None;
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
        let _ = write_status(places, &self.id, self.progress(), OFlags::empty());
    }

    /// Whether nothing of it is left.
    pub(super) fn is_over(&self) -> bool {
        self.exit.is_some()
            && !self.has_group
            && self.stdout.pipe().is_none()
            && self.stderr.pipe().is_none()
    }

    /// Removes its control group if nothing it started is left.
    pub(super) fn drop_group(&mut self, plan: &Plan) {
        if self.has_group {
            self.has_group = !plan
                .groups
                .iter()
                .all(|group| group.remove_execution(&self.group));
        }
    }
}

/// Notes that there will be an execution. `false`: there was one of that name.
pub(super) fn note_new(places: &BoxPlaces, id: &ExecId) -> io::Result<bool> {
    match write_status(places, id, Progress::default(), OFlags::EXCL) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => {
            if matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ) {
                // Made just now, and there was no room for what belongs into it.
                let _ = places.forget_execution(id);
            }
            Err(error)
        }
        Ok(()) => Ok(true),
    }
}

/// Notes how far an execution is. In place and without emptying the file first, which some file systems answer with writing to the disk at
/// once: the note of an end is always longer than that of a beginning.
fn write_status(
    places: &BoxPlaces,
    id: &ExecId,
    progress: Progress,
    flags: OFlags,
) -> io::Result<()> {
    let status = serde_json::to_vec(&StatusFile { progress })?;
    let flags = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let file = rustix::fs::open(places.status(id), flags, Mode::from_raw_mode(0o600))?;
    if rustix::io::write(&file, &status)? < status.len() {
        return Err(io::ErrorKind::StorageFull.into());
    }
    Ok(())
}

/// How many times the kernel has ended a process of the box for want of memory.
pub(super) fn memory_kills(plan: &Plan) -> u64 {
    plan.groups
        .iter()
        .find_map(super::super::cgroup::BoxGroup::out_of_memory_kills)
        .unwrap_or(0)
}
