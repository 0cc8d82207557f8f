//! Which agent is meant, and what its command gets.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::Context as _;
use proctor_core::{shell::quoted, usage::PriceTable};
use serde_json::Value;
use tokio::{io::AsyncReadExt as _, process::Command};
use tokio_util::sync::CancellationToken;

use super::reports::{self, Left};
use crate::{
    agent_supervisor::{self, Ending},
    exit::WrongUse,
};

/// The status with which our own model agent says that its provider failed.
pub(super) const PROVIDER_FAILED: i32 = 75;
/// How long an agent may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// What an agent may leave in the directory of its attempt.
const TRAJECTORY_FILE: &str = "trajectory.json";
const USAGE_FILE: &str = "usage.jsonl";
/// Variables that open more than the agent's own attempt.
const KEPT_BACK: [&str; 4] = [
    "PROCTOR_KEY",
    "PROCTOR_SERVER",
    "PROCTOR_BOOTSTRAP_KEY",
    "PROCTOR_MASTER_KEY",
];

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Agent {
    /// A command for a shell on this machine.
    Command(String),
    /// A language model, as `PROVIDER/NAME`: this program's own model agent.
    Model(String),
    /// Replays the solutions and references of the benchmark's file.
    Oracle,
    /// Does nothing.
    Null,
    /// One that is registered at the server, by its id or its name: a job takes the benchmark with it.
    Registered(String),
}

impl Agent {
    /// Reads what was given on the command line.
    pub(super) fn read(text: &str) -> Result<Self, WrongUse> {
        match text.trim() {
            "" => Err(WrongUse(
                "--agent is empty: give a command, oracle or null".to_owned(),
            )),
            "oracle" => Ok(Self::Oracle),
            "null" | "nop" => Ok(Self::Null),
            named if named.starts_with("model:") => {
                let model = named.trim_start_matches("model:");
                match model.split_once('/') {
                    Some(("openai" | "anthropic", name)) if !name.is_empty() => {
                        Ok(Self::Model(model.to_owned()))
                    }
                    _ => Err(WrongUse(format!(
                        "'{named}' names no model: write model:anthropic/NAME, or model:openai/NAME for whatever speaks chat/completions"
                    ))),
                }
            }
            id if id.starts_with("agt_") => Ok(Self::Registered(id.to_owned())),
            named if named.starts_with("agent:") => {
                let name = named.trim_start_matches("agent:");
                match name.is_empty() {
                    true => Err(WrongUse("agent: names no agent".to_owned())),
                    false => Ok(Self::Registered(name.to_owned())),
                }
            }
            command => Ok(Self::Command(command.to_owned())),
        }
    }

    /// What it is called if nobody says so.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Command(command) => command.chars().take(200).collect(),
            Self::Model(model) => format!("model:{model}"),
            Self::Oracle => "oracle".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Registered(named) => named.clone(),
        }
    }

    /// What a shell runs as this agent. A model is told what it costs, if that is known.
    pub(super) fn command(&self, prices: &PriceTable) -> anyhow::Result<String> {
        match self {
            Self::Command(command) => Ok(command.clone()),
            Self::Model(model) => {
                let program = std::env::current_exe().context("this program has no path")?;
                let program = quoted(&program.to_string_lossy());
                let mut command = format!("{program} agent model {}", quoted(model));
                let name = model
                    .split_once('/')
                    .map_or(model.as_str(), |(_, name)| name);
                if let Some(price) = prices.0.get(name) {
                    let (input, output) = (price.input, price.output);
                    command += &format!(" --input-price {input} --output-price {output}");
                    if let Some(cached) = price.cached {
                        command += &format!(" --cached-price {cached}");
                    }
                }
                Ok(command)
            }
            Self::Oracle | Self::Null | Self::Registered(_) => {
                anyhow::bail!("the agent {} is no command", self.name())
            }
        }
    }

    /// Refuses a command that a shell cannot read, or whose program is not there: before a run is made.
    pub(super) fn check(&self, directory: &Path) -> anyhow::Result<()> {
        let Self::Command(command) = self else {
            return Ok(());
        };
        let shell = |arguments: &[&str]| {
            std::process::Command::new("sh")
                .args(arguments)
                .current_dir(directory)
                .stdin(Stdio::null())
                .output()
                .context("no shell can be started")
        };
        let read = shell(&["-n", "-c", command])?;
        if !read.status.success() {
            let why = String::from_utf8_lossy(&read.stderr);
            return Err(WrongUse(format!(
                "a shell cannot read the agent's command: {}",
                why.trim()
            ))
            .into());
        }
        let Some(program) = program(command) else {
            return Ok(());
        };
        if !shell(&["-c", "command -v -- \"$1\"", "sh", program])?
            .status
            .success()
        {
            return Err(WrongUse(format!(
                "the agent cannot be started: there is no program '{program}' here"
            ))
            .into());
        }
        Ok(())
    }
}

/// The program that a command begins with, if it is a plain word.
fn program(command: &str) -> Option<&str> {
    let word = command.split_whitespace().next()?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    word.chars().all(is_plain).then_some(word)
}

/// What the command of one attempt gets, and where it leaves things.
pub(super) struct CommandRun {
    /// The directory of the attempt.
    pub(super) place: PathBuf,
    /// Where it works.
    pub(super) directory: PathBuf,
    /// Its variables.
    pub(super) variables: BTreeMap<String, String>,
    /// How long it may take.
    pub(super) limit: Duration,
}

impl CommandRun {
    /// What the agent printed.
    pub(super) fn log(&self) -> PathBuf {
        self.place.join("agent.log")
    }

    /// Writes the problem and the task as files, and names them and what the agent may leave in variables.
    pub(super) fn write_files(&mut self, problem: &str, task: &Value) -> anyhow::Result<()> {
        fs_err::create_dir_all(&self.place)?;
        let written = [
            ("PROCTOR_PROBLEM_FILE", "problem.md", problem.to_owned()),
            ("PROCTOR_TASK_FILE", "task.json", format!("{task:#}\n")),
        ];
        for (variable, name, text) in written {
            let path = self.place.join(name);
            let mut file = fs_err::File::create(&path)?;
            file.write_all(text.as_bytes())?;
            self.name(variable, &path);
        }
        for (variable, name) in [
            ("PROCTOR_TRAJECTORY_FILE", TRAJECTORY_FILE),
            ("PROCTOR_USAGE_FILE", USAGE_FILE),
        ] {
            let path = self.place.join(name);
            self.name(variable, &path);
        }
        Ok(())
    }

    fn name(&mut self, variable: &str, path: &Path) {
        let path = path.to_string_lossy().into_owned();
        self.variables.insert(variable.to_owned(), path);
    }

    /// Where the agent may leave what it used up.
    pub(super) fn usage_file(&self) -> PathBuf {
        self.place.join(USAGE_FILE)
    }

    /// What the agent left about itself.
    pub(super) fn left(&self) -> Left {
        Left {
            trajectory: reports::read(&self.place.join(TRAJECTORY_FILE)),
            usage: reports::read(&self.usage_file()),
        }
    }

    /// Lets the command work until it ends, its time is over, or nobody wants it any more.
    pub(super) async fn work(
        &self,
        command: &str,
        cancel: &CancellationToken,
    ) -> anyhow::Result<Ending> {
        let milliseconds = |time: Duration| time.as_millis().to_string();
        let mut supervisor = Command::new("/proc/self/exe");
        supervisor
            .arg(agent_supervisor::NAME)
            .arg(self.log())
            .arg(milliseconds(self.limit))
            .arg(milliseconds(GRACE))
            .arg(command)
            .envs(&self.variables)
            .current_dir(&self.directory)
            // Ctrl-C at the terminal is ours to hear; the supervisor is told by the end of its input.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for variable in KEPT_BACK {
            supervisor.env_remove(variable);
        }
        let mut supervisor = supervisor
            .spawn()
            .context("the agent's supervisor cannot be started")?;
        let mut input = supervisor.stdin.take();
        let mut output = supervisor
            .stdout
            .take()
            .context("the supervisor has no output")?;
        let mut said = String::new();
        let mut reading = std::pin::pin!(output.read_to_string(&mut said));
        tokio::select! {
            read = &mut reading => drop(read?),
            () = cancel.cancelled() => {
                // It kills everything when this ends, and says so.
                drop(input.take());
                reading.await?;
            }
        }
        drop(input);
        supervisor.wait().await?;
        serde_json::from_str(&said).context("the agent's supervisor was lost")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_told_apart_by_their_words() {
        assert_eq!(Agent::read("nop").unwrap(), Agent::Null);
        assert_eq!(Agent::read("oracle").unwrap(), Agent::Oracle);
        let command = Agent::read("python3 agent.py").unwrap();
        assert_eq!(command.name(), "python3 agent.py");
        let registered = Agent::read("agent:mine").unwrap();
        assert_eq!(registered, Agent::Registered("mine".to_owned()));
        assert!(Agent::read("agent:").is_err());
        assert!(Agent::read(" ").is_err() && Agent::read("model:x/y").is_err());
        let model = Agent::read("model:openai/small").unwrap();
        assert_eq!(model, Agent::Model("openai/small".to_owned()));
        assert_eq!(model.name(), "model:openai/small");
        assert!(
            model
                .command(&PriceTable::default())
                .unwrap()
                .ends_with(" agent model 'openai/small'")
        );
    }

    #[test]
    fn a_command_that_cannot_be_started_is_refused() {
        let here = Path::new("/");
        let told = |command: &str| {
            let checked = Agent::read(command).unwrap().check(here);
            checked.err().map(|error| error.to_string())
        };
        assert_eq!(told("true"), None);
        assert_eq!(
            told("A=1 missing-program"),
            None,
            "only a shell knows what this runs"
        );
        assert!(
            told("no-such-program --x")
                .unwrap()
                .contains("no program 'no-such-program'")
        );
        assert!(told("/no/such/file").unwrap().contains("cannot be started"));
        assert!(told("if true").unwrap().contains("a shell cannot read"));
    }
}
