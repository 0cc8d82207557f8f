//! The programs that run in a box: started, fed, watched, ended.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
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
    spool::{Spool, StatusFile},
};
use crate::{
    local::plan::{BoxPlaces, Plan},
    name::ExecId,
    record::{Exit, ExitCause, Progress},
    spec::{ExecSpec, Stream},
};

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
    started: Instant,
    pub(super) deadline: Option<Instant>,
    /// Why it will have ended, if we ended it.
    pub(super) cause: ExitCause,
    memory_kills: u64,
    /// Until the program runs: where it says that it cannot, and who wants to know.
    pub(super) starting: Option<Starting>,
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
    /// Makes the streams, and notes that there will be an execution.
    pub(super) fn open(places: &BoxPlaces, spec: &ExecSpec) -> Result<Self, Failure> {
        write_status(places, &spec.id, Progress::default()).doing("noting an execution")?;
        let spool = |stream| {
            let path = places.output(&spec.id, stream);
            Spool::new(path, spec.output_limit).doing("making a pipe")
        };
        let (stdout, stdout_end) = spool(Stream::Stdout)?;
        let (stderr, stderr_end) = spool(Stream::Stderr)?;
        let (stdin_end, stdin) = stdin(spec.stdin).doing("making a pipe")?;
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
    /// What a process was told that may have been ended before it heard it.
    pub(super) told: Option<Told>,
}

/// What a process was told to become, for another one if need be.
#[derive(Debug)]
pub(super) struct Told {
    spec: ExecSpec,
    ends: [OwnedFd; 3],
}

impl Told {
    pub(super) fn part(&self) -> Part<'_> {
        Part {
            spec: &self.spec,
            streams: self.ends.each_ref().map(AsFd::as_fd),
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
        asker: Asker,
        (now, memory_kills): (Instant, u64),
    ) -> Self {
        let told = entrant.told.then(|| Told {
            spec: spec.clone(),
            ends: streams.ends,
        });
        let (pid, group, pipe) = entrant.into_parts();
        Self {
            id: spec.id.clone(),
            pid,
            stdout: streams.stdout,
            stderr: streams.stderr,
            stdin: streams.stdin,
            started: now,
            deadline: spec.timeout.and_then(|timeout| now.checked_add(timeout)),
            cause: ExitCause::Itself,
            memory_kills,
            starting: Some(Starting {
                pipe,
                askers: vec![asker],
                told,
            }),
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
    pub(super) fn begin_again(&mut self, entrant: Entrant, askers: Vec<Asker>) {
        let (pid, group, pipe) = entrant.into_parts();
        (self.pid, self.group, self.has_group) = (pid, group, true);
        self.starting = Some(Starting {
            pipe,
            askers,
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

/// How many times the kernel has ended a process of the box for want of memory.
pub(super) fn memory_kills(plan: &Plan) -> u64 {
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
