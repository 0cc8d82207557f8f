//! Named shells: the directory, variables, functions and options of one command are there for the next, and commands
//! of one shell run one after the other.
//!
//! Every command is an execution of its own, with its own output, input, status and end: what it leaves running keeps
//! nothing of the next one waiting, and a command that ends its shell (`exit`) ends only itself. The shell between two
//! commands is a file in the box. Secrets are not written there; each command gets them anew.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use proctor_core::{canonical::hex, devbox::DevboxStatus};
use proctor_devbox::{ExecId, ExecSpec, User, View};
use tokio::sync::mpsc;

use crate::{
    error::FleetError, executions::Command, fleet::Fleet, live::Live, workplace::Workplace,
};

/// The longest name of a shell, in bytes: it becomes a file name.
pub(crate) const LONGEST_NAME: usize = 100;
/// Where shells are kept in a box.
const PLACE: &str = "/tmp/.shells";

/// Restores the shell in the file `$1`, runs the command `$2` in it, and keeps the shell. `$3` names what is not kept.
const RESTORE_RUN_KEEP: &str = r#"__shell=$1 __command=$2 __secret=" $3 "
set --
__keep() {
    [[ -n ${__kept-} ]] && return 0
    __kept=1
    {
        compgen -v | while IFS= read -r __name; do
            case $__name in
            BASH* | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS | HISTCMD | LINENO | OLDPWD | PIPESTATUS | \
                PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SHLVL | SRANDOM | UID | _ | __*) continue ;;
            esac
            [[ $__secret == *" $__name "* ]] || declare -p "$__name" || :
        done
        compgen -A function | while IFS= read -r __name; do
            [[ $__name == __* ]] || declare -f "$__name" || :
        done
        alias -p || :
        printf 'cd -- %q\nOLDPWD=%q\n' "$PWD" "${OLDPWD-}"
        shopt -p || :
        set +o
    } >|"$__shell.new" || :
    command mv -f -- "$__shell.new" "$__shell" || :
}
[[ -d ${__shell%/*} ]] || mkdir -p -- "${__shell%/*}"
if [[ -r $__shell ]]; then
    for __name in $(compgen -e); do
        [[ $__name == __* || $__secret == *" $__name "* ]] || unset -v "$__name"
    done
    . "$__shell" 2>/dev/null
fi
trap '{ __keep; } 2>/dev/null' EXIT
eval "$__command"
{
    __done=$?
    __keep
    exit $__done
} 2>/dev/null
"#;

/// A command that waits for its turn.
pub(crate) struct Turn {
    pub(crate) command: Arc<Command>,
    pub(crate) text: String,
    /// What logs show instead of the text.
    pub(crate) shown: Option<String>,
    pub(crate) stdin: bool,
    /// Who runs it, if not the usual user.
    pub(crate) user: Option<User>,
    /// What it sees of the host.
    pub(crate) view: Option<View>,
}

/// The named shells of a devbox.
#[derive(Default)]
pub(crate) struct Shells {
    queues: Mutex<HashMap<String, mpsc::UnboundedSender<Turn>>>,
}

impl Shells {
    /// Puts a command behind those that wait for the shell.
    pub(crate) fn queue(&self, fleet: &Fleet, live: &Arc<Live>, name: &str, turn: Turn) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.entry(name.to_owned()).or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            fleet.in_background(live, |fleet, live| take_turns(fleet, live, receiver));
            sender
        });
        // The receiver is there until the devbox ends, and then nobody waits.
        let _ = queue.send(turn);
    }
}

/// Runs the commands of one shell, one after the other, until the devbox ends.
async fn take_turns(fleet: Fleet, live: Arc<Live>, mut turns: mpsc::UnboundedReceiver<Turn>) {
    loop {
        // The end is looked for first, or a turn might be taken after it.
        let turn = tokio::select! {
            biased;
            () = live.ending.cancelled() => None,
            () = fleet.closing().cancelled() => None,
            turn = turns.recv() => turn,
        };
        let Some(turn) = turn else { break };
        let taken = tokio::select! {
            biased;
            () = live.ending.cancelled() => false,
            () = fleet.closing().cancelled() => false,
            () = take_turn(&fleet, &live, &turn) => true,
        };
        if !taken {
            turn.command.give_up("the devbox ended before its turn");
        }
    }
    turns.close();
    while let Ok(turn) = turns.try_recv() {
        turn.command.give_up("the devbox ended before its turn");
    }
}

async fn take_turn(fleet: &Fleet, live: &Arc<Live>, turn: &Turn) {
    // A devbox that stands still goes on with the queue when it is back.
    let mut changes = live.watch();
    let running = changes.wait_for(|record| record.value.status() == DevboxStatus::Running);
    if running.await.is_err() {
        return;
    }
    // Else it was ended before its turn, or an earlier process started it.
    if turn.command.is_waiting() {
        let started = match live.running() {
            Ok(workplace) => fleet.start_command(live, &workplace, turn).await,
            Err(error) => Err(error),
        };
        if let Err(error) = started {
            turn.command.give_up(&error.to_string());
        }
    }
    let _ = turn.command.completed().await;
    if turn.command.was_given_up() {
        fleet.keep(live, &turn.command).await;
    }
}

/// How a command is run in a named shell.
pub(crate) fn in_shell(
    workplace: &Workplace,
    id: ExecId,
    shell: &str,
    command: &str,
    secrets: &str,
) -> ExecSpec {
    let file = format!("{PLACE}/{}", hex(shell.as_bytes()));
    let argv = [
        "/bin/bash",
        "-c",
        RESTORE_RUN_KEEP,
        "bash",
        &file,
        command,
        secrets,
    ];
    workplace.program(id, argv)
}

/// Refuses what cannot be the name of a shell.
pub(crate) fn check_name(name: &str) -> Result<(), FleetError> {
    let fault = if name.trim().is_empty() {
        "must not be blank"
    } else if name.len() > LONGEST_NAME {
        "must have at most 100 bytes"
    } else if name.chars().any(char::is_control) {
        "must not contain control characters"
    } else {
        return Ok(());
    };
    Err(FleetError::invalid("shell_name", fault))
}
