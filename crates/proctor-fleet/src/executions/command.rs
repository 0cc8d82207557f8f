//! A command as its owner sees it: before it begins, while it runs, and after its box is gone.

use std::{sync::Arc, time::Duration};

use proctor_core::id::kinds::DevboxId;
use proctor_devbox::{Error, Execution, ExitCause, Stream};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    error::FleetError,
    output::{self, Tail},
};

/// What a shell says of a command that cannot be run.
const CANNOT_RUN: i32 = 126;
/// 128 and the signal that cannot be ignored.
pub(super) const KILLED: i32 = 137;

/// A command that waits, runs or has ended.
pub struct Command {
    /// The devbox it belongs to.
    pub devbox: DevboxId,
    /// Its name.
    pub id: Uuid,
    /// The named shell it runs in.
    pub shell: Option<String>,
    pub(super) state: watch::Sender<State>,
}

/// How far a command is.
#[derive(Clone)]
pub(super) enum State {
    Waiting,
    Started(Arc<dyn Execution>),
    /// It never ran.
    GivenUp(i32, String),
    /// Its box is no more; this is what the log has of it.
    Past(i32, [String; 2]),
}

impl Command {
    pub(super) fn new(
        devbox: DevboxId,
        id: Uuid,
        shell: Option<String>,
        state: State,
    ) -> Arc<Self> {
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

    /// Whether it ended because its box had no memory left, as far as that is known.
    pub async fn is_out_of_memory(&self) -> Result<bool, FleetError> {
        let state = self.state.borrow().clone();
        match state {
            State::Started(execution) => {
                Ok(execution.wait().await?.cause == ExitCause::OutOfMemory)
            }
            State::Waiting | State::GivenUp(..) | State::Past(..) => Ok(false),
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

    /// How many bytes of its output are kept.
    pub(super) fn output_bytes(&self) -> u64 {
        self.running().map_or(0, |execution| {
            let progress = execution.progress();
            progress.stdout + progress.stderr
        })
    }

    /// The program behind it, if it has ended.
    pub(super) fn ended_program(&self) -> Option<Arc<dyn Execution>> {
        self.running()
            .filter(|execution| execution.progress().exit.is_some())
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(*self.state.borrow(), State::Waiting)
    }

    /// Whether it never ran and never will.
    pub(crate) fn was_given_up(&self) -> bool {
        matches!(*self.state.borrow(), State::GivenUp(..))
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
