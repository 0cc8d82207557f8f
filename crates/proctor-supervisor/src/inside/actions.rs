//! What a supervisor does on request.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

use super::{
    control::Asker,
    enter,
    entrant::{Entrant, LastWords, Part},
    executions::{Execution, Streams, memory_kills, note_new},
    failure::{Failure, While},
    files,
    first::First,
    launcher::send_with_fds,
    sessions::{self, Session},
    sftp,
    supervisor::{Stop, Supervisor},
    trees,
};
use crate::{
    cgroup::Doors,
    image,
    name::ExecId,
    output_key::OutputKey,
    plan::{Ids, Plan},
    record::{ExitCause, Usage},
    spec::{ExecSpec, User},
    sys::{self, Fork},
    tree,
    wire::{Action, Answer, Request},
};

/// A snapshot that is being taken.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) connection: u64,
    /// Whether the box stands still only for it.
    stands_still: bool,
}

impl Supervisor {
    /// Does what has come on a connection.
    pub(super) fn requests(&mut self, id: u64) {
        loop {
            let Some(connection) = self.connection(id) else {
                return;
            };
            let frame = match connection.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => return,
                Err(_) => {
                    self.connections.retain(|connection| connection.id != id);
                    return;
                }
            };
            match frame.message {
                Request::Attach => self.attach(id),
                Request::Do { number, action } => {
                    let asker = Asker {
                        connection: id,
                        number,
                    };
                    if let Some(answer) = self.act(asker, action, frame.bytes) {
                        self.answer(asker, answer);
                    }
                }
                Request::Outlet => return self.give(id, First::outlet),
                Request::NetworkSpace => return self.give(id, First::network),
                Request::Sockets => {
                    return self.file(id, &User::Root, |socket, _| sessions::give_sockets(&socket));
                }
                Request::Session(spec) => return self.session(id, &spec),
                Request::Sftp { user, directory } => {
                    return self.file(id, &user, move |socket, received| {
                        sftp::serve(socket, received, &directory);
                    });
                }
                Request::ReadFile { path, user, limit } => {
                    return self.file(id, &user, move |socket, _| {
                        files::read(socket, &path, limit);
                    });
                }
                Request::WriteFile { path, user, mode } => {
                    return self.file(id, &user, move |socket, received| {
                        files::write(socket, received, &path, mode);
                    });
                }
            }
        }
    }

    /// Does one thing. `None`: the answer comes later.
    fn act(&mut self, asker: Asker, action: Action, bytes: Vec<u8>) -> Option<Answer> {
        match action {
            Action::Exec(spec) => self.exec(asker, &spec, OutputKey::from_bytes(&bytes).as_ref()),
            Action::Stdin(id) => match self.executions.get_mut(&id) {
                None if self.over.contains_key(&id) => Some(Answer::StdinClosed),
                None => Some(Answer::NoSuchExecution),
                Some(Execution {
                    stdin: Some(stdin), ..
                }) => {
                    stdin.push(bytes, asker);
                    self.pump_stdin(&id);
                    None
                }
                Some(_) => Some(Answer::StdinClosed),
            },
            Action::CloseStdin(id) => {
                if let Some(execution) = self.executions.get_mut(&id)
                    && execution.stdin.as_mut().is_some_and(|stdin| stdin.close())
                {
                    execution.stdin = None;
                }
                Some(self.if_known(&id))
            }
            Action::Signal(id, signal) => Some(self.signal(&id, signal)),
            Action::Kill(id) => {
                self.end_execution(&id, ExitCause::Killed);
                Some(self.if_known(&id))
            }
            Action::Forget(id) => match self.executions.get(&id) {
                Some(execution) if execution.exit.is_none() => {
                    Some(Answer::NotNow("the execution runs".to_owned()))
                }
                _ => {
                    self.over.remove(&id);
                    let forgotten = self.executions.remove(&id);
                    // What it left running is still there.
                    self.left_groups.extend(
                        forgotten
                            .filter(|execution| execution.has_group)
                            .map(|execution| execution.group),
                    );
                    Some(Answer::Done)
                }
            },
            Action::Freeze => Some(self.freeze(true)),
            Action::Thaw => Some(self.freeze(false)),
            Action::BeginSnapshot => Some(self.begin_snapshot(asker.connection, false)),
            Action::BeginCopy => Some(self.begin_snapshot(asker.connection, true)),
            Action::EndSnapshot => Some(self.end_snapshot()),
            Action::Usage => Some(Answer::Usage(self.usage())),
            Action::Stop => {
                self.stop = Some(Stop::Asked(asker));
                None
            }
        }
    }

    /// What is said about an execution with which has been done what could be done.
    fn if_known(&self, id: &ExecId) -> Answer {
        if self.executions.contains_key(id) || self.over.contains_key(id) {
            Answer::Done
        } else {
            Answer::NoSuchExecution
        }
    }

    fn exec(&mut self, asker: Asker, spec: &ExecSpec, key: Option<&OutputKey>) -> Option<Answer> {
        if let Some(known) = self.executions.get_mut(&spec.id) {
            return match &mut known.starting {
                Some(starting) => {
                    starting.askers.push(asker);
                    None
                }
                None => Some(Answer::Done),
            };
        }
        if self.frozen || self.snapshot.is_some() {
            return Some(Answer::NotNow("the devbox is suspended".to_owned()));
        }
        match note_new(&self.places, &spec.id).doing("noting an execution") {
            // One of an earlier supervisor, or one that is over: it has run, and is not run twice.
            Ok(false) => return Some(Answer::Done),
            Ok(true) => {}
            Err(failure) => return Some(Answer::Failed(failure.to_string())),
        }
        match self.begin(asker, spec, key) {
            Ok(execution) => {
                self.executions.insert(spec.id.clone(), execution);
                None
            }
            Err(failure) => {
                let _ = self.places.forget_execution(&spec.id);
                Some(Answer::Failed(failure.to_string()))
            }
        }
    }

    fn begin(
        &mut self,
        asker: Asker,
        spec: &ExecSpec,
        key: Option<&OutputKey>,
    ) -> Result<Execution, Failure> {
        let now = Instant::now();
        let streams = Streams::open(&self.places, spec, key, self.null.as_fd())?;
        let memory_kills = memory_kills(&self.plan);
        let part = Part {
            spec,
            streams: streams.ends(),
        };
        let entrant: Entrant = self.entrant(part, now)?;
        let beginning = (now, memory_kills);
        Ok(Execution::begin(
            spec,
            streams,
            entrant,
            Some(asker),
            beginning,
        ))
    }

    /// The program runs now, or has said why it cannot.
    pub(super) fn started(&mut self, id: &ExecId) {
        let Some(execution) = self.executions.get_mut(id) else {
            return;
        };
        let Some(starting) = execution.starting.take() else {
            return;
        };
        let mut session = execution.session.take();
        let mut words = LastWords::hear(&starting.pipe);
        if let (Some(session), Some(terminal)) = (&mut session, words.terminal) {
            session.ends = vec![terminal];
        }
        let answer = if let Some(why) = words.refusal {
            self.withdraw(id);
            Answer::CannotRun(why)
        } else if let Some(told) = starting.told.filter(|_| !words.begun)
            && self.ended_by_others(id)
            && let Some(held) = self.hold_of(id)
        {
            match self.fresh_entrant(told.part(&held)) {
                Ok(entrant) => {
                    self.replace(id, entrant, held, starting.askers);
                    return self.keep_waiting(id, session);
                }
                Err(failure) => {
                    self.withdraw(id);
                    Answer::Failed(failure.to_string())
                }
            }
        } else {
            // Also for a server that has come since it was asked for.
            self.note(id);
            match std::mem::take(&mut words.notes) {
                notes if notes.is_empty() => Answer::Done,
                notes => Answer::Noted(notes),
            }
        };
        if let Some(session) = session {
            session.answer(&answer);
        }
        for asker in starting.askers {
            self.answer(asker, answer.clone());
        }
    }

    fn keep_waiting(&mut self, id: &ExecId, session: Option<Session>) {
        if let Some(execution) = self.executions.get_mut(id) {
            execution.session = session;
        }
    }

    /// Whether the process of an execution that is gone was ended by nobody who meant the execution.
    fn ended_by_others(&self, id: &ExecId) -> bool {
        let known = self.executions.get(id);
        self.stop.is_none() && known.is_some_and(|known| known.cause == ExitCause::Itself)
    }

    /// The program's ends of the output of an execution that runs.
    fn hold_of(&mut self, id: &ExecId) -> Option<[OwnedFd; 2]> {
        self.executions.get_mut(id)?.held.take()
    }

    /// Gives an execution another process.
    fn replace(&mut self, id: &ExecId, entrant: Entrant, held: [OwnedFd; 2], askers: Vec<Asker>) {
        if let Some(execution) = self.executions.get_mut(id) {
            self.helpers.insert(execution.pid);
            self.left_groups.push(std::mem::take(&mut execution.group));
            execution.begin_again(entrant, held, askers);
        }
    }

    /// Forgets an execution that never came to run.
    pub(super) fn withdraw(&mut self, id: &ExecId) {
        if let Some(execution) = self.executions.remove(id) {
            self.helpers.insert(execution.pid);
            self.left_groups.push(execution.group);
        }
        let _ = self.places.forget_execution(id);
    }

    pub(super) fn pump_stdin(&mut self, id: &ExecId) {
        let Some(execution) = self.executions.get_mut(id) else {
            return;
        };
        let Some(stdin) = &mut execution.stdin else {
            return;
        };
        let (done, close) = stdin.pump();
        if close {
            execution.stdin = None;
        }
        for (asker, taken) in done {
            self.answer(
                asker,
                if taken {
                    Answer::Done
                } else {
                    Answer::StdinClosed
                },
            );
        }
    }

    fn signal(&self, id: &ExecId, signal: i32) -> Answer {
        let Some(signal) = rustix::process::Signal::from_named_raw(signal) else {
            return Answer::Failed(format!("there is no signal {signal}"));
        };
        if let Some(execution) = self.executions.get(id)
            && execution.exit.is_none()
        {
            // It leads a session, so its group has its number.
            let _ = rustix::process::kill_process_group(execution.pid, signal);
        }
        self.if_known(id)
    }

    fn freeze(&mut self, frozen: bool) -> Answer {
        self.dismiss_spares();
        let Some(first) = &self.first else {
            return Answer::NotNow("a snapshot is being taken".to_owned());
        };
        if self.snapshot.is_some() {
            return Answer::NotNow("a snapshot is being taken".to_owned());
        }
        match trees::freeze(&self.plan, first, frozen) {
            Ok(()) => {
                self.frozen = frozen;
                Answer::Done
            }
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    /// Makes everything in the box stand still. What waits is let go first: where it stood still too, it could not be ended.
    pub(super) fn stand_still(&mut self) -> std::io::Result<()> {
        self.dismiss_spares();
        match &self.first {
            Some(first) => trees::freeze(&self.plan, first, true),
            None => Ok(()),
        }
    }

    /// Brings the disk to rest. With nothing running the first process goes too, and the disk is free to become a layer, unless it is
    /// only to be copied.
    fn begin_snapshot(&mut self, connection: u64, copy: bool) -> Answer {
        if !copy {
            self.dismiss_spares();
        }
        let Some(first) = &self.first else {
            return Answer::NotNow("a snapshot is being taken".to_owned());
        };
        if self.snapshot.is_some() {
            return Answer::NotNow("a snapshot is being taken".to_owned());
        }
        let with_groups = self
            .executions
            .values()
            .filter(|known| known.has_group)
            .map(|known| &known.group)
            .chain(&self.left_groups)
            .map(String::as_str);
        let runs = !self.helpers.is_empty()
            || self.executions.values().any(|known| known.exit.is_none())
            || trees::anything_runs(&self.plan, first, with_groups);
        let stays = copy
            || self.frozen
            // An unprivileged supervisor cannot leave a process namespace in order to make another.
            || self.plan.ids == Ids::Single
            // A file system of its own is no directory that could become a layer.
            || self.plan.exact_disk
            || runs
            || trees::memory_holds_files(first);
        if stays {
            let stands_still = runs && !self.frozen;
            if stands_still && let Err(error) = self.stand_still() {
                return Answer::Failed(error.to_string());
            }
            self.snapshot = Some(Snapshot {
                connection,
                stands_still,
            });
            return Answer::DiskFrozen;
        }
        // Not waited for: nothing of the box can run any more, and the kernel takes a world with many files down for long. It is to do
        // that when nothing else wants a processor.
        let _ = rustix::process::setpriority_process(Some(first.pid), 19);
        let _ = rustix::process::kill_process(first.pid, rustix::process::Signal::KILL);
        self.leaving.insert(first.pid);
        self.first = None;
        self.snapshot = Some(Snapshot {
            connection,
            stands_still: false,
        });
        Answer::DiskFree
    }

    /// Goes on after a snapshot, with what the plan says now.
    pub(super) fn end_snapshot(&mut self) -> Answer {
        let Some(snapshot) = self.snapshot.take() else {
            return Answer::Done;
        };
        if let Some(first) = &self.first {
            if snapshot.stands_still {
                let _ = trees::freeze(&self.plan, first, false);
            }
            return Answer::Done;
        }
        match self.reload() {
            Ok(()) => Answer::Done,
            Err(why) => {
                self.stop = Some(Stop::ByItself);
                Answer::Failed(why)
            }
        }
    }

    fn reload(&mut self) -> Result<(), String> {
        let plan: Plan = self.places.read_plan().map_err(|error| error.to_string())?;
        self.plan.layers = plan.layers;
        self.plan
            .layers
            .retain(|layer| self.data.layer(layer).exists());
        for work in self.places.works() {
            tree::remove(&work).map_err(|error| error.to_string())?;
        }
        self.places
            .prepare_disk()
            .map_err(|error| error.to_string())?;
        if self.start_first().is_ok() {
            return Ok(());
        }
        // Where the kernel does not accept a layer that is still being let go.
        for pid in self.leaving.drain() {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        }
        self.start_first().map_err(|failure| failure.to_string())
    }

    fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for group in &self.plan.groups {
            group.usage(&mut usage);
        }
        let exact = self.first.as_ref().and_then(|first| first.disk.as_ref());
        let counted = match exact.map(|disk| image::usage(disk.as_fd())) {
            Some(Ok(counted)) => Some(counted),
            Some(Err(_)) => None,
            None => self.disk.last.map(|count| (count.bytes, count.files)),
        };
        (usage.disk_bytes, usage.disk_files) = counted.unzip();
        usage
    }

    /// Whether the disk has a limit and something that could exceed it.
    pub(super) fn watches_disk(&self) -> bool {
        let limits = &self.plan.spec.limits;
        (limits.disk_bytes.is_some() || limits.disk_files.is_some())
            && !self.plan.exact_disk
            && (!self.left_groups.is_empty()
                || self
                    .executions
                    .values()
                    .any(|execution| execution.has_group))
            && !self.frozen
    }

    /// Ends what runs if the box has used up its disk.
    pub(super) fn check_disk(&mut self) {
        let Some(count) = self.disk.last else { return };
        let limits = &self.plan.spec.limits;
        let over = limits.disk_bytes.is_some_and(|most| count.bytes > most)
            || limits.disk_files.is_some_and(|most| count.files > most);
        if over {
            let ids: Vec<ExecId> = self.executions.keys().cloned().collect();
            for id in ids {
                self.end_execution(&id, ExitCause::OutOfDisk);
            }
            for name in &self.left_groups {
                for hierarchy in &self.plan.groups {
                    let _ = hierarchy.kill(Some(name));
                }
            }
        }
        self.drop_left_groups();
        self.tidy = Some(Instant::now());
    }

    /// Takes a connection out of the loop, with what was received and not read yet.
    pub(super) fn take_connection(&mut self, id: u64) -> Option<(OwnedFd, Vec<u8>)> {
        let at = self.connections.iter().position(|known| known.id == id)?;
        self.connections.remove(at).hand_over().ok()
    }

    /// Sends something of the box's first process, if it has it, and closes the connection.
    fn give(
        &mut self,
        connection: u64,
        what: impl for<'f> Fn(&'f First) -> Option<BorrowedFd<'f>>,
    ) {
        let Some((socket, _)) = self.take_connection(connection) else {
            return;
        };
        if let Some(found) = self.first.as_ref().and_then(what) {
            // Whoever asked and has gone asks again.
            let _ = send_with_fds(socket.as_fd(), b"1", &[found]);
        }
    }

    /// Gives a connection to a child inside the box, which reads or writes a file with it.
    fn file(&mut self, connection: u64, user: &User, work: impl FnOnce(OwnedFd, Vec<u8>)) {
        let Some((socket, received)) = self.take_connection(connection) else {
            return;
        };
        if self.frozen || self.snapshot.is_some() {
            return files::refuse(socket, "the devbox is suspended".to_owned());
        }
        let Some(around) = self.surroundings() else {
            return;
        };
        let doors = match Doors::open(&around.plan.groups, "files") {
            Ok(doors) => doors,
            Err(error) => return files::refuse(socket, error.to_string()),
        };
        match sys::fork_into(doors.birth()) {
            Ok(Fork::Parent(pid)) => {
                self.helpers.insert(pid);
            }
            Ok(Fork::Child) => {
                let entered = enter::join(around.first, &doors, around.plan.ids)
                    .and_then(|()| enter::renounce(around.plan, around.filter))
                    .and_then(|()| enter::become_user(around.plan, user));
                match entered {
                    // Our other descriptors would keep pipes and connections open for as long as this takes.
                    Ok(_) if sys::close_all_but(3, socket.as_fd()).is_ok() => {
                        work(socket, received);
                    }
                    Ok(_) => {}
                    Err(failure) => files::refuse(socket, failure.to_string()),
                }
                sys::exit_now(0);
            }
            Err(error) => files::refuse(socket, error.to_string()),
        }
    }
}
