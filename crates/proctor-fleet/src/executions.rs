//! Commands in devboxes: started once, followed into the log, found again.

use std::{sync::Arc, time::Duration};

use proctor_core::{
    id::kinds::{DevboxId, DevboxKind, OrganizationId},
    time::Timestamp,
};
use proctor_devbox::{Error, ExecId, Execution, Stream};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    error::FleetError,
    fleet::Fleet,
    live::Live,
    logs::{self, Lines, LogEntry, Source, Trace, What},
    output::{self, Tail},
    shells::{self, Turn},
    workplace::Workplace,
};

/// The longest command, in bytes: what Linux takes as one argument.
const LONGEST_COMMAND: usize = 128 << 10;
/// How much of a stream is read at once for the log.
const PIECE: usize = 64 << 10;
/// What a shell says of a command that cannot be run.
const CANNOT_RUN: i32 = 126;
/// 128 and the signal that cannot be ignored.
const KILLED: i32 = 137;

/// A command to be run.
#[derive(Clone, Debug)]
pub struct NewCommand {
    /// What a shell shall run.
    pub command: String,
    /// Its name; the same name again is the same execution. A fresh one if absent.
    pub id: Option<Uuid>,
    /// The named shell to run it in.
    pub shell: Option<String>,
    /// Whether something will be written to its standard input.
    pub stdin: bool,
}

/// A command that waits, runs or has ended.
pub struct Command {
    /// The devbox it belongs to.
    pub devbox: DevboxId,
    /// Its name.
    pub id: Uuid,
    /// The named shell it runs in.
    pub shell: Option<String>,
    state: watch::Sender<State>,
}

#[derive(Clone)]
enum State {
    Waiting,
    Started(Arc<dyn Execution>),
    /// It never ran.
    GivenUp(i32, String),
    /// Its box is no more; this is what the log has of it.
    Past(i32, [String; 2]),
}

impl Command {
    fn new(devbox: DevboxId, id: Uuid, shell: Option<String>, state: State) -> Arc<Self> {
        Arc::new(Self {
            devbox,
            id,
            shell,
            state: watch::Sender::new(state),
        })
    }

    /// How it ended, once it has: its code, or 128 and the signal.
    pub fn exit_status(&self) -> Option<i32> {
        match &*self.state.borrow() {
            State::Waiting => None,
            State::Started(execution) => execution.progress().exit.map(|exit| exit.status()),
            State::GivenUp(status, _) | State::Past(status, _) => Some(*status),
        }
    }

    /// Waits for its end.
    pub async fn completed(&self) -> Result<i32, FleetError> {
        let mut states = self.state.subscribe();
        let state = states
            .wait_for(|state| !matches!(state, State::Waiting))
            .await
            .map(|state| state.clone());
        match state {
            Ok(State::Started(execution)) => Ok(execution.wait().await?.status()),
            Ok(State::GivenUp(status, _) | State::Past(status, _)) => Ok(status),
            Ok(State::Waiting) | Err(_) => Ok(KILLED),
        }
    }

    /// Waits for its end, but no longer than `patience`; whether it has ended.
    pub async fn completes_within(&self, patience: Duration) -> Result<bool, FleetError> {
        match tokio::time::timeout(patience, self.completed()).await {
            Ok(completed) => completed.map(|_| true),
            Err(_) => Ok(false),
        }
    }

    /// The last lines of what it wrote so far.
    pub async fn tail(&self, stream: Stream, lines: usize) -> Result<Tail, FleetError> {
        let state = self.state.borrow().clone();
        match state {
            State::Waiting => Ok(Tail::default()),
            State::Started(execution) => {
                let tail = output::tail(&*execution, stream, lines).await;
                // A box may end between two looks at it.
                Ok(tail.or_else(|error| match error {
                    Error::BoxEnded | Error::Platform { .. } => Ok(Tail::default()),
                    other => Err(other),
                })?)
            }
            State::GivenUp(_, why) => Ok(match stream {
                Stream::Stdout => Tail::default(),
                Stream::Stderr => Tail {
                    text: why,
                    truncated: false,
                },
            }),
            State::Past(_, [stdout, stderr]) => {
                let text = match stream {
                    Stream::Stdout => stdout,
                    Stream::Stderr => stderr,
                };
                Ok(output::tail_of_text(&text, lines))
            }
        }
    }

    /// The program behind it, as soon as it runs; `None` if it never does or is no more.
    pub async fn program(&self) -> Option<Arc<dyn Execution>> {
        let mut states = self.state.subscribe();
        let state = states
            .wait_for(|state| !matches!(state, State::Waiting))
            .await
            .ok()?;
        match &*state {
            State::Started(execution) => Some(Arc::clone(execution)),
            State::Waiting | State::GivenUp(..) | State::Past(..) => None,
        }
    }

    /// Everything that a program that is no more wrote to a stream, as far as the log has it.
    pub fn remains(&self, stream: Stream) -> String {
        match (&*self.state.borrow(), stream) {
            (State::Past(_, [stdout, _]), Stream::Stdout) => stdout.clone(),
            (State::Past(_, [_, stderr]), Stream::Stderr) => stderr.clone(),
            (State::GivenUp(_, why), Stream::Stderr) => why.clone(),
            _ => String::new(),
        }
    }

    /// Ends it and everything that it started. Ending what has ended is fine.
    pub async fn kill(&self) -> Result<(), FleetError> {
        self.give_up_as(KILLED, String::new());
        match self.running() {
            Some(execution) => {
                execution.kill().await?;
                execution.wait().await?;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Writes to its standard input.
    pub async fn write_stdin(&self, bytes: &[u8]) -> Result<(), FleetError> {
        Ok(self.taking_input()?.write_stdin(bytes).await?)
    }

    /// Ends its standard input.
    pub async fn close_stdin(&self) -> Result<(), FleetError> {
        Ok(self.taking_input()?.close_stdin().await?)
    }

    /// Interrupts it, as a terminal does.
    pub async fn interrupt(&self) -> Result<(), FleetError> {
        const INTERRUPT: i32 = 2;
        Ok(self.taking_input()?.signal(INTERRUPT).await?)
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(*self.state.borrow(), State::Waiting)
    }

    /// It will never run.
    pub(crate) fn give_up(&self, why: &str) {
        self.give_up_as(CANNOT_RUN, why.to_owned());
    }

    fn give_up_as(&self, status: i32, why: String) {
        self.state.send_if_modified(|state| {
            let waiting = matches!(state, State::Waiting);
            if waiting {
                *state = State::GivenUp(status, why);
            }
            waiting
        });
    }

    fn running(&self) -> Option<Arc<dyn Execution>> {
        match &*self.state.borrow() {
            State::Started(execution) => Some(Arc::clone(execution)),
            State::Waiting | State::GivenUp(..) | State::Past(..) => None,
        }
    }

    fn taking_input(&self) -> Result<Arc<dyn Execution>, FleetError> {
        let running = self.running();
        let running = running.filter(|execution| execution.progress().exit.is_none());
        running.ok_or(FleetError::Box(Error::StdinClosed))
    }
}

impl Fleet {
    /// Runs a command. The answer comes as soon as it runs, or waits for its shell.
    pub async fn execute(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        new: NewCommand,
    ) -> Result<Arc<Command>, FleetError> {
        check(&new)?;
        let (live, workplace) = self.at_work(organization, devbox).await?;
        let id = new
            .id
            .unwrap_or_else(|| self.store().fresh_id::<DevboxKind>().uuid());
        let command = {
            let mut commands = live.commands();
            if let Some(known) = commands.get(&id) {
                return Ok(Arc::clone(known));
            }
            let command = Command::new(devbox, id, new.shell.clone(), State::Waiting);
            commands.insert(id, Arc::clone(&command));
            command
        };
        let turn = Turn {
            command: Arc::clone(&command),
            text: new.command,
            stdin: new.stdin,
        };
        match &command.shell {
            Some(shell) => {
                let what = What::Queued {
                    command: turn.text.clone(),
                    stdin: turn.stdin,
                };
                live.log
                    .add(&[self.entry(&id.to_string(), Some(shell), Source::Exec, what)]);
                live.shells.queue(self, &live, shell, turn);
            }
            None => {
                if let Err(error) = self.start_command(&live, &workplace, &turn).await {
                    command.give_up(&error.to_string());
                    live.commands().remove(&id);
                    return Err(error);
                }
            }
        }
        Ok(command)
    }

    /// Finds a command.
    pub async fn command(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        id: Uuid,
    ) -> Result<Arc<Command>, FleetError> {
        if let Some(live) = self.live_of(organization, devbox) {
            let known = live.commands().get(&id).cloned();
            return known.ok_or_else(|| FleetError::not_found("execution", id));
        }
        self.devbox(organization, devbox).await?;
        self.past_command(devbox, id).await
    }

    /// What the log has of a command whose box is no more.
    async fn past_command(&self, devbox: DevboxId, id: Uuid) -> Result<Arc<Command>, FleetError> {
        let path = self.log_file(devbox);
        let (entries, _) = tokio::task::spawn_blocking(move || logs::read(&path, 0))
            .await
            .map_err(std::io::Error::other)??;
        let name = id.to_string();
        let (mut found, mut shell, mut status) = (false, None, KILLED);
        let mut streams = [String::new(), String::new()];
        for entry in entries {
            if entry.execution.as_deref() != Some(&name) {
                continue;
            }
            found = true;
            shell = entry.shell;
            match entry.what {
                What::Line { error, text, .. } => {
                    let stream = &mut streams[usize::from(error)];
                    stream.push_str(&text);
                    stream.push('\n');
                }
                What::Ended { status: ended } => status = ended,
                What::Queued { .. } | What::Started { .. } | What::Note { .. } => {}
            }
        }
        if !found {
            return Err(FleetError::not_found("execution", id));
        }
        let state = State::Past(status, streams);
        Ok(Command::new(devbox, id, shell, state))
    }

    /// Starts a command whose turn it is, and follows it.
    pub(crate) async fn start_command(
        &self,
        live: &Arc<Live>,
        workplace: &Workplace,
        turn: &Turn,
    ) -> Result<(), FleetError> {
        let command = &turn.command;
        let id = exec_id(command.id);
        let mut spec = match &command.shell {
            None => workplace.shell_command(id, &turn.text),
            Some(shell) => {
                let secrets = &workplace.secret_variables;
                shells::in_shell(workplace, id, shell, &turn.text, secrets)
            }
        };
        spec.stdin = turn.stdin;
        let execution = workplace.devbox.exec(spec).await?;
        let wanted = command.state.send_if_modified(|state| {
            let waiting = matches!(state, State::Waiting);
            if waiting {
                *state = State::Started(Arc::clone(&execution));
            }
            waiting
        });
        if !wanted {
            // Somebody ended it before it began.
            execution.kill().await?;
        }
        let name = command.id.to_string();
        let what = What::Started {
            command: workplace.masks.apply(&turn.text),
        };
        let shell = command.shell.as_deref();
        live.log
            .add(&[self.entry(&name, shell, Source::Exec, what)]);
        let followed = Followed {
            name,
            shell: command.shell.clone(),
            source: Source::Exec,
            trace: Trace::default(),
        };
        self.follow(live, workplace, execution, followed);
        Ok(())
    }

    /// Takes up an execution that an earlier process started.
    pub(crate) fn adopt(
        &self,
        live: &Arc<Live>,
        workplace: &Workplace,
        execution: Arc<dyn Execution>,
        trace: Trace,
    ) {
        let name = execution.id().to_string();
        let Ok(id) = Uuid::parse_str(&name) else {
            return;
        };
        let state = State::Started(Arc::clone(&execution));
        let command = Command::new(live.id, id, trace.shell.clone(), state);
        live.commands().insert(id, Arc::clone(&command));
        if let Some(shell) = trace
            .shell
            .as_deref()
            .filter(|_| command.exit_status().is_none())
        {
            // Those that wait for the shell wait for this one.
            let turn = Turn {
                command: Arc::clone(&command),
                text: String::new(),
                stdin: false,
            };
            live.shells.queue(self, live, shell, turn);
        }
        if trace.ended.is_none() {
            let followed = Followed {
                name,
                shell: trace.shell.clone(),
                source: Source::Exec,
                trace,
            };
            self.follow(live, workplace, execution, followed);
        }
    }

    /// Puts a command that waited for its shell when an earlier process ended back into the queue.
    pub(crate) fn queue_again(&self, live: &Arc<Live>, waiting: logs::Waiting) {
        let Ok(id) = Uuid::parse_str(&waiting.execution) else {
            return;
        };
        let shell = waiting.shell;
        let command = Command::new(live.id, id, Some(shell.clone()), State::Waiting);
        live.commands().insert(id, Arc::clone(&command));
        let turn = Turn {
            command,
            text: waiting.command,
            stdin: waiting.stdin,
        };
        live.shells.queue(self, live, &shell, turn);
    }

    /// Writes what an execution does into the log, until it ends or the server does.
    pub(crate) fn follow(
        &self,
        live: &Arc<Live>,
        workplace: &Workplace,
        execution: Arc<dyn Execution>,
        followed: Followed,
    ) {
        let (fleet, live, workplace) = (self.clone(), Arc::clone(live), workplace.clone());
        let tracker = live.followers.clone();
        tracker.spawn(async move {
            let work = async {
                tokio::join!(
                    fleet.follow_stream(&live, &workplace, &*execution, &followed, Stream::Stdout),
                    fleet.follow_stream(&live, &workplace, &*execution, &followed, Stream::Stderr),
                );
                let exit = execution.wait().await;
                let status = exit.map_or(KILLED, |exit| exit.status());
                live.log
                    .add(&[fleet.entry_of(&followed, What::Ended { status })]);
                live.touch(fleet.now());
            };
            tokio::select! {
                () = work => {}
                () = fleet.closing().cancelled() => {}
            }
        });
    }

    async fn follow_stream(
        &self,
        live: &Live,
        workplace: &Workplace,
        execution: &dyn Execution,
        followed: &Followed,
        stream: Stream,
    ) {
        let offset = match stream {
            Stream::Stdout => followed.trace.stdout,
            Stream::Stderr => followed.trace.stderr,
        };
        let mut lines = Lines::from(stream, offset);
        while let Ok(chunk) = execution.read_output(stream, lines.read_at(), PIECE).await {
            let mut found = lines.push(&chunk.bytes, &workplace.masks);
            if chunk.last {
                found.extend(lines.finish(&workplace.masks));
            }
            let full = lines.is_full() && !chunk.last;
            if full {
                found.push(What::Note {
                    text: "what follows is not in the log; the execution has it".to_owned(),
                });
            }
            let entries: Vec<_> = found
                .into_iter()
                .map(|what| self.entry_of(followed, what))
                .collect();
            if !entries.is_empty() {
                live.log.add(&entries);
            }
            if chunk.last || full {
                return;
            }
        }
    }

    fn entry_of(&self, followed: &Followed, what: What) -> LogEntry {
        self.entry(
            &followed.name,
            followed.shell.as_deref(),
            followed.source,
            what,
        )
    }

    pub(crate) fn entry(
        &self,
        execution: &str,
        shell: Option<&str>,
        source: Source,
        what: What,
    ) -> LogEntry {
        let now: Timestamp = self.now();
        LogEntry {
            at: now.as_millis(),
            source,
            execution: Some(execution.to_owned()),
            shell: shell.map(str::to_owned),
            what,
        }
    }
}

/// An execution on its way into the log.
pub(crate) struct Followed {
    pub(crate) name: String,
    pub(crate) shell: Option<String>,
    pub(crate) source: Source,
    pub(crate) trace: Trace,
}

fn exec_id(id: Uuid) -> ExecId {
    ExecId::new(id.to_string()).expect("a UUID is digits, letters and hyphens")
}

fn check(new: &NewCommand) -> Result<(), FleetError> {
    if new.command.contains('\0') {
        return Err(FleetError::invalid("command", "must not contain a NUL"));
    }
    if new.command.len() > LONGEST_COMMAND - 1 {
        let message = format!("must have at most {} bytes", LONGEST_COMMAND - 1);
        return Err(FleetError::invalid("command", message));
    }
    match &new.shell {
        Some(name) => shells::check_name(name),
        None => Ok(()),
    }
}
