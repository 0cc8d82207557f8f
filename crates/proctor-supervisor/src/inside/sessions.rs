//! Programs whose streams are the server's, and sockets of the box's network.
//!
//! What a session reads and writes never passes the supervisor and is kept nowhere: it may be of any length. All else is as with
//! any execution: it has a name, a control group and an end that is noted.

use std::{
    os::fd::{AsFd, OwnedFd},
    time::Instant,
};

use rustix::{
    fs::Mode,
    net::{AddressFamily, SocketFlags, SocketType},
    pipe::PipeFlags,
    process::DumpableBehavior,
};

use super::{
    entrant::Part,
    executions::{Execution, Streams, memory_kills, note_new},
    failure::{Failure, While},
    files,
    launcher::send_with_fds,
    supervisor::Supervisor,
};
use crate::{
    spec::ExecSpec,
    wire::{Answer, Event, frame},
};

/// Whoever waits for the streams of a program that is being started.
#[derive(Debug)]
pub(super) struct Session {
    socket: OwnedFd,
    /// The server's ends of the streams.
    pub(super) ends: Vec<OwnedFd>,
}

impl Session {
    /// Says what came of it, and gives the streams away if the program runs.
    pub(super) fn answer(self, answer: &Answer) {
        let ends = match answer {
            Answer::Done => self.ends,
            _ => Vec::new(),
        };
        let answer = answer.clone();
        let event = Event::Answer { number: 0, answer };
        let ends: Vec<_> = ends.iter().map(AsFd::as_fd).collect();
        if let Ok(bytes) = frame(&event, &[]) {
            // Whoever asked and has gone closes the streams by that.
            let _ = send_with_fds(self.socket.as_fd(), &bytes, &ends);
        }
    }
}

impl Supervisor {
    /// Starts a program for whoever is at the other end of a connection.
    pub(super) fn session(&mut self, connection: u64, spec: &ExecSpec) {
        let Some((socket, _)) = self.take_connection(connection) else {
            return;
        };
        let mut session = Session {
            socket,
            ends: Vec::new(),
        };
        if self.frozen || self.snapshot.is_some() {
            return session.answer(&Answer::NotNow("the devbox is suspended".to_owned()));
        }
        match note_new(&self.places, &spec.id).doing("noting an execution") {
            Ok(true) => {}
            Ok(false) => {
                let why = format!("there is an execution {}", spec.id);
                return session.answer(&Answer::Failed(why));
            }
            Err(failure) => return session.answer(&Answer::Failed(failure.to_string())),
        }
        match self.begin_session(spec, &mut session) {
            Ok(mut execution) => {
                execution.session = Some(session);
                self.executions.insert(spec.id.clone(), execution);
            }
            Err(failure) => {
                let _ = self.places.forget_execution(&spec.id);
                session.answer(&Answer::Failed(failure.to_string()));
            }
        }
    }

    fn begin_session(
        &mut self,
        spec: &ExecSpec,
        session: &mut Session,
    ) -> Result<Execution, Failure> {
        let now = Instant::now();
        let streams = match spec.terminal {
            Some(_) => {
                // It opens its own; these are only for its way there.
                let null = || self.null.try_clone().doing("taking the null device");
                Streams::of_session([null()?, null()?, null()?])
            }
            None => {
                let [stdin, stdout, stderr] = [pipe()?, pipe()?, pipe()?];
                session.ends = vec![stdin.1, stdout.0, stderr.0];
                Streams::of_session([stdin.0, stdout.1, stderr.1])
            }
        };
        let memory_kills = memory_kills(&self.plan);
        let part = Part {
            spec,
            streams: streams.ends(),
        };
        let entrant = self.entrant(part, now)?;
        let beginning = (now, memory_kills);
        Ok(Execution::begin(spec, streams, entrant, None, beginning))
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Failure> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).doing("making a pipe")?;
    // For programs that open `/dev/stdin` and the like with ids of their own.
    rustix::fs::fchmod(&read, Mode::from_raw_mode(0o666)).doing("making a pipe")?;
    Ok((read, write))
}

/// Makes the sockets and gives them away. Must run inside the box.
pub(super) fn give_sockets(connection: &OwnedFd) {
    let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let made = hidden.and_then(|()| {
        let socket = |family| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            rustix::net::socket_with(family, SocketType::STREAM, flags, None)
        };
        let old = socket(AddressFamily::INET)?;
        // A host may have no IPv6 at all.
        let new = socket(AddressFamily::INET6).ok();
        Ok((old, new))
    });
    match made {
        Ok((old, new)) => {
            let fds: Vec<_> = [Some(&old), new.as_ref()]
                .into_iter()
                .flatten()
                .map(AsFd::as_fd)
                .collect();
            if let Ok(bytes) = frame(&Event::Sockets, &[]) {
                let _ = send_with_fds(connection.as_fd(), &bytes, &fds);
            }
        }
        Err(error) => {
            if let Ok(connection) = connection.try_clone() {
                files::refuse(connection, error.to_string());
            }
        }
    }
}
