//! Where one scorer runs: a box, a user, an environment, and so much time.
//!
//! Whatever a program started is ended when it has ended, and its output is forgotten by the box once it was read.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use proctor_core::causes::with_causes;
use proctor_devbox::{
    BoxId, Devbox, Error as DevboxError, ExecId, ExecSpec, Execution, Exit, ExitCause, LayerId,
    Stream, User, name::InvalidName,
};

use crate::{
    error::JudgeError,
    scored::{Finding, NoResult},
    shell::{NOT_RUN, TRUSTED_PATH, loading_argv},
};

/// How much of each stream of a scorer is looked at.
const OUTPUT_LIMIT: u64 = 4 << 20;

/// Tells what runs the agent's code which pipe is the scorer's own.
const PIPE_NOTE: &str = "export PROCTOR_SCORE_PIPE=\"$(/usr/bin/readlink \"/proc/$$/fd/1\")\"\n";

/// How long a program that cleans up after itself may take for that when its time is over.
pub(crate) const CLEANING_TIME: Duration = Duration::from_secs(10);

/// The names of everything that one judging makes.
#[derive(Debug)]
pub(crate) struct Names {
    prefix: String,
    next: AtomicU32,
}

impl Names {
    pub(crate) fn new(prefix: &str) -> Result<Self, InvalidName> {
        // All names have the same rules; the longest of ours stands for the others.
        BoxId::new(format!("{prefix}-artifacts"))?;
        Ok(Self {
            prefix: prefix.to_owned(),
            next: AtomicU32::new(0),
        })
    }

    pub(crate) fn of_box(&self, role: &str) -> BoxId {
        BoxId::new(format!("{}-{role}", self.prefix)).expect("a short role fits, as `new` tried")
    }

    pub(crate) fn of_layer(&self) -> LayerId {
        LayerId::new(format!("{}-disk", self.prefix)).expect("a short role fits, as `new` tried")
    }

    pub(crate) fn of_next_execution(&self) -> ExecId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        ExecId::new(format!("{}-{number}", self.prefix)).expect("a number fits, as `new` tried")
    }

    /// The names of all executions so far.
    pub(crate) fn executions(&self) -> impl Iterator<Item = ExecId> + '_ {
        (0..self.next.load(Ordering::Relaxed))
            .filter_map(|number| ExecId::new(format!("{}-{number}", self.prefix)).ok())
    }
}

/// Where one scorer runs.
pub struct Bench<'a> {
    /// The box.
    pub devbox: &'a dyn Devbox,
    pub(crate) names: &'a Names,
    /// Whom the scorer runs as.
    pub user: User,
    /// Where the scorer starts; at the user's home without it.
    pub working_directory: Option<String>,
    /// The variables that the scorer has.
    pub environment: BTreeMap<String, String>,
    /// The scripts that were registered, by their types.
    pub(crate) custom: &'a BTreeMap<String, String>,
    /// How long the scorer may take.
    pub limit: Duration,
    /// Whether the scorer's pipe is to be kept from what it starts as the agent.
    pub(crate) guards_pipe: bool,
}

/// A script to be run, and what it needs.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What the shell is to do.
    pub text: String,
    /// Variables over those of the bench.
    pub environment: BTreeMap<String, String>,
    /// What takes away whatever it put into the box. Such a script keeps to the time limit by itself and does this in the end; if
    /// it is ended before, this is done for it.
    pub undo: Option<String>,
}

impl Script {
    /// A script that needs nothing.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A script that ends the scorer's part when its time is over, and then does what `undo` does.
    pub fn that_cleans_up(text: impl Into<String>, undo: impl Into<String>) -> Self {
        Self {
            undo: Some(undo.into()),
            ..Self::new(text)
        }
    }
}

/// What stands before a scorer's standard error.
const STDERR_HEADING: &str = "--- standard error ---\n";
/// How many bytes of it are shown.
const STDERR_KEPT: usize = 8 << 10;

/// What became of a script.
#[derive(Debug)]
pub enum Ran {
    /// It ran.
    Ended(Ended),
    /// It could not be started; why.
    NotStarted(String),
}

/// A script that ran.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// Whether there was more on the standard output than is looked at.
    pub cut: bool,
    limit: Duration,
}

impl Ended {
    /// Everything that it printed: its own words, and apart from them the end of its standard error, on which also the agent's code writes if it
    /// runs any. Neither can be taken for the other, and however much is complained about, the scorer's words are not lost.
    pub fn output(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(STDERR_HEADING);
            let from = self.stderr.len().saturating_sub(STDERR_KEPT);
            text.push_str(&self.stderr[self.stderr.ceil_char_boundary(from)..]);
        }
        text
    }

    /// Why it did not come to its own end, if it did not.
    pub fn interrupted(&self) -> Option<String> {
        let limit = self.limit.as_secs_f64();
        match self.exit.cause {
            ExitCause::TimedOut => Some(format!("the scorer took longer than {limit:.1} seconds")),
            // A script that keeps time ends its scorer's part the way the box would have ended all of it.
            ExitCause::Itself if self.exit.status() == 128 + 9 && self.exit.wall >= self.limit => {
                Some(format!("the scorer took longer than {limit:.1} seconds"))
            }
            ExitCause::OutOfMemory => Some("the devbox had no memory left".to_owned()),
            ExitCause::OutOfDisk => Some("the devbox had no room left on its disk".to_owned()),
            ExitCause::Killed | ExitCause::BoxEnded => Some("the scorer was ended".to_owned()),
            ExitCause::Itself => None,
        }
    }

    /// The finding of a scorer that is judged by `rule`, unless it did not come to its own end.
    pub fn finding(&self, rule: impl FnOnce(&Self) -> Result<f64, NoResult>) -> Finding {
        let score = match self.interrupted() {
            Some(why) => Err(NoResult::of_run(why)),
            None => rule(self),
        };
        Finding {
            score,
            output: self.output(),
        }
    }

    /// By the exit status: 0 is all, anything else nothing.
    pub fn by_status(&self) -> Result<f64, NoResult> {
        Ok(if self.exit.success() { 1.0 } else { 0.0 })
    }

    /// The same, where our own part of the script may have failed before the scorer's.
    pub fn by_status_if_run(&self) -> Result<f64, NoResult> {
        self.check_run()?;
        self.by_status()
    }

    /// Refuses a script of which only our own part ran, because it failed.
    pub fn check_run(&self) -> Result<(), NoResult> {
        match self.exit.code {
            Some(NOT_RUN) => Err(NoResult::not_started("the scorer could not be prepared")),
            _ => Ok(()),
        }
    }

    /// By what was printed, if all of it is known.
    pub fn by_output(
        &self,
        read: impl FnOnce(&str) -> Result<f64, crate::output::NoScore>,
    ) -> Result<f64, NoResult> {
        if self.cut {
            return Err(NoResult::of_run(format!(
                "the output is longer than {OUTPUT_LIMIT} bytes, and a score at its end would be lost"
            )));
        }
        read(&self.stdout).map_err(|none| NoResult::of_run(none.to_string()))
    }
}

impl Bench<'_> {
    /// A directory that nothing else in the box is called, for one scorer.
    pub fn scratch(&self) -> String {
        format!("/tmp/{}", self.names.of_next_execution())
    }

    /// Runs a script to its end, ends whatever it left, and takes away what it could not.
    pub async fn run(&self, script: &Script) -> Result<Ran, JudgeError> {
        let ran = self.run_once(script).await?;
        if let (Ran::Ended(ended), Some(undo)) = (&ran, &script.undo)
            && ended.exit.signal.is_some()
        {
            self.run_once(&Script::new(undo)).await?;
        }
        Ok(ran)
    }

    async fn run_once(&self, script: &Script) -> Result<Ran, JudgeError> {
        let mut spec = ExecSpec::new(self.names.of_next_execution(), loading_argv());
        spec.env.insert("PATH".to_owned(), TRUSTED_PATH.to_owned());
        spec.env.extend(self.environment.clone());
        spec.env.extend(script.environment.clone());
        spec.cwd = self.working_directory.clone();
        spec.user = self.user.clone();
        spec.stdin = true;
        spec.output_limit = OUTPUT_LIMIT;
        let cleaning = script
            .undo
            .as_ref()
            .map_or(Duration::ZERO, |_| CLEANING_TIME);
        spec.timeout = Some(self.limit.saturating_add(cleaning));
        let execution = match self.devbox.exec(spec).await {
            Ok(execution) => execution,
            Err(error @ (DevboxError::CannotRun { .. } | DevboxError::Invalid(_))) => {
                return Ok(Ran::NotStarted(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        if self.guards_pipe {
            feed(&execution, &format!("{PIPE_NOTE}{}", script.text)).await?;
        } else {
            feed(&execution, &script.text).await?;
        }
        let exit = execution.wait().await?;
        if exit.cause == ExitCause::BoxEnded {
            return Err(JudgeError::BoxLost);
        }
        execution.kill().await?;
        let stdout = read(&execution, Stream::Stdout).await?;
        let stderr = read(&execution, Stream::Stderr).await?;
        let cut = execution.progress().stdout_dropped > 0;
        if let Err(error) = execution.forget().await {
            tracing::debug!(error = %with_causes(&error), "the output of a scorer is kept longer than needed");
        }
        Ok(Ran::Ended(Ended {
            exit,
            stdout,
            stderr,
            cut,
            limit: self.limit,
        }))
    }

    /// Runs a script and judges it by `rule`.
    pub async fn finding(
        &self,
        script: &Script,
        rule: impl FnOnce(&Ended) -> Result<f64, NoResult>,
    ) -> Result<Finding, JudgeError> {
        Ok(match self.run(script).await? {
            Ran::Ended(ended) => ended.finding(rule),
            Ran::NotStarted(why) => NoResult::not_started(why).into(),
        })
    }
}

/// Gives a program its input, all of it, and nothing after. One that ends before it has read it all is no failure.
async fn feed(execution: &Arc<dyn Execution>, text: &str) -> Result<(), JudgeError> {
    let fed = async {
        execution.write_stdin(text.as_bytes()).await?;
        execution.close_stdin().await
    };
    match fed.await {
        Ok(()) | Err(DevboxError::StdinClosed | DevboxError::NoSuchExecution(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn read(execution: &Arc<dyn Execution>, stream: Stream) -> Result<String, JudgeError> {
    let mut all = Vec::new();
    loop {
        let chunk = execution
            .read_output(stream, all.len() as u64, 1 << 20)
            .await?;
        all.extend_from_slice(&chunk.bytes);
        if chunk.last {
            return Ok(String::from_utf8_lossy(&all).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_no_room_for_ours_is_refused() {
        assert!(Names::new(&"a".repeat(40)).is_ok());
        assert!(Names::new(&"a".repeat(60)).is_err());
        assert!(Names::new("a/b").is_err());
    }
}
