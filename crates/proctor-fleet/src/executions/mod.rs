//! Commands in devboxes: started once, followed into the log, found again.

use std::sync::Arc;

use proctor_core::id::kinds::{DevboxId, DevboxKind, OrganizationId};
use proctor_devbox::{ExecId, Execution, User, View};
use uuid::Uuid;

use crate::{
    error::FleetError,
    fleet::Fleet,
    live::Live,
    logs::{self, Source, Trace, What},
    shells::{self, Turn},
    workplace::Workplace,
};
use proctor_macros::boxed_futures;

mod command;
mod following;
mod keeping;

use self::command::{KILLED, State};
pub(crate) use self::following::Followed;
pub(crate) use self::keeping::Kept;
pub use self::{command::Command, keeping::Keeping};

/// The longest command, in bytes: what Linux takes as one argument.
const LONGEST_COMMAND: usize = 128 << 10;

/// A command to be run.
#[derive(Clone, Debug)]
pub struct NewCommand {
    /// What a shell shall run.
    pub command: String,
    /// What logs show of it, if it is more than what somebody asked for.
    pub shown: Option<String>,
    /// Its name; the same name again is the same execution. One of its own if absent.
    pub id: Option<Uuid>,
    /// The named shell to run it in.
    pub shell: Option<String>,
    /// Whether something will be written to its standard input.
    pub stdin: bool,
    /// Who runs it, if not the usual user. Not for one in a named shell.
    pub user: Option<User>,
    /// Directories of the server's that it sees and nothing else in the box does. Not for one in a named shell.
    pub view: Option<View>,
}

#[boxed_futures]
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
            .unwrap_or_else(|| self.store().repeatable_id::<DevboxKind>().uuid());
        let command = {
            let mut commands = live.commands();
            if let Some(known) = commands.get(&id) {
                return Ok(Arc::clone(known));
            }
            live.kept().must_not_be_gone(id)?;
            let command = Command::new(devbox, id, new.shell.clone(), State::Waiting);
            commands.insert(id, Arc::clone(&command));
            command
        };
        let turn = Turn {
            command: Arc::clone(&command),
            text: new.command,
            shown: new.shown,
            stdin: new.stdin,
            user: new.user,
            view: new.view,
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
            if let Some(known) = live.commands().get(&id).cloned() {
                return Ok(known);
            }
            live.kept().must_not_be_gone(id)?;
            return Err(FleetError::not_found("execution", id));
        }
        self.devbox(organization, devbox).await?;
        self.past_command(devbox, id).await
    }

    /// Finds a command that is to be told something. A devbox that stands still is brought back first, unless the command has ended.
    pub async fn command_awake(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        id: Uuid,
    ) -> Result<Arc<Command>, FleetError> {
        let command = self.command(organization, devbox, id).await?;
        if command.exit_status().is_none()
            && let Some(live) = self.live_of(organization, devbox)
        {
            self.awake(&live).await?;
        }
        Ok(command)
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
        if let Some(user) = &turn.user {
            spec.user = user.clone();
        }
        spec.view = turn.view.clone();
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
            command: workplace
                .masks
                .apply(turn.shown.as_deref().unwrap_or(&turn.text)),
        };
        let shell = command.shell.as_deref();
        live.log
            .add(&[self.entry(&name, shell, Source::Exec, what)]);
        let followed = Followed {
            name,
            shell: command.shell.clone(),
            source: Source::Exec,
            trace: Trace::default(),
            command: Some(Arc::clone(command)),
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
                shown: None,
                stdin: false,
                user: None,
                view: None,
            };
            live.shells.queue(self, live, shell, turn);
        }
        if trace.ended.is_none() {
            let followed = Followed {
                name,
                shell: trace.shell.clone(),
                source: Source::Exec,
                trace,
                command: Some(command),
            };
            self.follow(live, workplace, execution, followed);
        } else {
            live.kept().note_ended(id, command.output_bytes());
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
            shown: None,
            stdin: waiting.stdin,
            user: None,
            view: None,
        };
        live.shells.queue(self, live, &shell, turn);
    }
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
