//! What the engine needs of boxes and of scorers, and nothing more. Whoever makes boxes, and whoever runs scorers in them,
//! says so by these two traits; tests have their own.
//!
//! Whatever comes out of a box here has no secrets in it any more: only whoever made the box knows which values it got.

use std::{collections::BTreeMap, io, time::Duration};

use async_trait::async_trait;
use futures::stream::BoxStream;
use proctor_core::{
    definition::Task,
    devbox::DevboxRequest,
    id::kinds::{CriterionId, DevboxId, OrganizationId, TaskRunId},
    limits::LimitReached,
    scorer::NotRun,
    scoring::Score,
    shell::quoted,
    task_run::{Cause, Fault},
};
use proctor_devbox::{User, View};
use proctor_fleet::RequestProblem;
use proctor_harbor::exceptions::ExceptionType;
use proctor_scorers::ScorerKinds;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The box of a task run, to be made.
#[derive(Clone, Debug)]
pub struct BoxOrder {
    /// Who pays for it.
    pub organization: OrganizationId,
    /// The task run that has it made.
    pub task_run: TaskRunId,
    /// What people call it.
    pub name: String,
    /// What it shall be: what the task says of it, and what it gets from outside.
    pub request: DevboxRequest,
    /// What it is for.
    pub purpose: BoxPurpose,
}

/// What the box of a task run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxPurpose {
    /// The task is done in it, and it is judged.
    World,
    /// Its agent works in it, from where it reaches its world. A task run has one of them, however often it is asked for.
    Agent,
}

/// Bytes of a log, oldest first.
pub type LogStream = BoxStream<'static, io::Result<bytes::Bytes>>;

/// One of the logs of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxLog {
    /// How it came to be.
    Setup,
    /// What was run in it.
    Executions,
    /// What the agent of this name printed.
    Agent(Uuid),
}

/// How a box came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoxEnd {
    /// Somebody shut it down.
    ShutDown,
    /// Its time was over.
    OutOfTime,
    /// It used more than it had.
    Exhausted,
    /// What its author wants done in it first failed; how.
    NotSetUp(String),
    /// The platform failed before anybody could work in it; how.
    NeverReady(String),
    /// It broke, or nobody knows of it.
    Lost,
}

impl BoxEnd {
    /// What it means for a task run whose box it was.
    pub fn fault(&self) -> Fault {
        match self {
            Self::ShutDown => Fault::new(Cause::AgentCrash, "the devbox was shut down"),
            Self::Exhausted => Fault::new(
                Cause::AgentCrash,
                "the devbox used up the memory or the disk that it had",
            ),
            Self::OutOfTime => Fault::new(Cause::AgentTimeout, "the time of the devbox was over"),
            Self::NotSetUp(_) => Fault::setup(),
            Self::NeverReady(why) => {
                let told = format!("the devbox never came to be: {why}");
                Fault::new(Cause::Infrastructure, told)
            }
            Self::Lost => Fault::new(
                Cause::Infrastructure,
                "the devbox broke or never came to be",
            ),
        }
    }
}

/// Something to be run in a box.
#[derive(Clone, Debug)]
pub struct BoxCommand {
    /// For a shell.
    pub script: String,
    /// What it finds on its standard input.
    pub input: String,
    /// Where it starts; at the user's home without it.
    pub directory: Option<String>,
    /// How long it may take, the box's coming to be included.
    pub time_limit: Duration,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its exit status; not zero if its time was over.
    pub status: i32,
    /// What it printed, without secrets.
    pub output: String,
}

/// What an agent does in a box.
#[derive(Clone, Debug)]
pub struct AgentWork {
    /// Its name in the box: what has begun under it is not begun again, but waited for.
    pub name: Uuid,
    /// For a shell.
    pub script: String,
    /// What it finds on its standard input, if it looks there.
    pub input: Option<String>,
    /// Where it starts; at the user's home without it.
    pub directory: Option<String>,
    /// Environment variables that it has beside those of the box.
    pub variables: BTreeMap<String, String>,
    /// Who runs it, if not the user of the box.
    pub user: Option<User>,
    /// Directories of the server's that it sees and nothing else in the box does.
    pub view: Option<View>,
    /// How long it may take; then everything that it started ends too.
    pub time_limit: Duration,
}

impl AgentWork {
    /// All of it as one text for a shell; `resolve` says where in the box a path leads.
    pub fn shell_text(&self, resolve: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        for (name, value) in &self.variables {
            text.push_str(&format!("export {name}={}\n", quoted(value)));
        }
        if let Some(directory) = &self.directory {
            text.push_str(&format!("cd -- {} || exit\n", quoted(&resolve(directory))));
        }
        text.push_str(&self.script);
        text
    }
}

/// How an agent's work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkEnd {
    /// It came to its end.
    Exited {
        /// With this status.
        status: i32,
        /// The end of what it printed, without secrets.
        said: String,
    },
    /// Its time was over.
    OutOfTime,
    /// It used up the memory of its box.
    OutOfMemory,
    /// It did not begin: this directory, where it was to start, does not exist.
    NoDirectory(String),
}

/// While this is kept, no clock ends the box.
pub type Hold = Box<dyn Send + Sync>;

/// Why something could not be done with a box.
#[derive(Debug, thiserror::Error)]
pub enum BoxError {
    /// The box cannot be made as asked.
    #[error("the devbox cannot be made as asked")]
    Invalid(Vec<RequestProblem>),
    /// This server has no boxes.
    #[error("{0}")]
    Impossible(String),
    /// The box has ended.
    #[error("the devbox has ended")]
    Ended,
    /// The organization has as many boxes as it may have.
    #[error(transparent)]
    Limit(LimitReached),
    /// The platform failed.
    #[error("the devbox failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Whoever makes boxes.
#[async_trait]
pub trait Boxes: Send + Sync {
    /// The machine that the boxes are on.
    fn machine(&self) -> String;

    /// Makes a box. Answers as soon as it has a name; it comes to be in the background.
    async fn create(&self, order: BoxOrder) -> Result<DevboxId, BoxError>;

    /// Runs a command as soon as the box can be worked with, and waits for its end.
    async fn run(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        command: BoxCommand,
    ) -> Result<CommandEnd, BoxError>;

    /// Returns when the box can be worked with; [`BoxError::Ended`] if it never can be.
    async fn ready(&self, organization: OrganizationId, devbox: DevboxId) -> Result<(), BoxError>;

    /// Lets an agent work in a box that is ready, and waits for its end. What it prints is in the box's log.
    async fn work(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        work: AgentWork,
    ) -> Result<WorkEnd, BoxError>;

    /// A file of a box, without secrets; none if it is not there, is not a regular file or is larger than this.
    async fn read_file(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        path: &str,
        most: u64,
    ) -> Result<Option<Vec<u8>>, BoxError>;

    /// Returns when the box has ended, and how. At once, if it has.
    async fn ended(&self, organization: OrganizationId, devbox: DevboxId) -> BoxEnd;

    /// Ends a box. What has ended stays as it is.
    async fn shut_down(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
    ) -> Result<(), BoxError>;

    /// Keeps every clock from ending the box.
    async fn hold(&self, organization: OrganizationId, devbox: DevboxId) -> Result<Hold, BoxError>;

    /// A log of a box, also after its end. No secret is in it.
    async fn log(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        log: BoxLog,
    ) -> Result<LogStream, BoxError>;
}

/// A task run to be scored in its box.
#[derive(Clone, Debug)]
pub struct ScoringOrder {
    /// Who pays for it.
    pub organization: OrganizationId,
    /// The task run.
    pub task_run: TaskRunId,
    /// Its box.
    pub devbox: DevboxId,
    /// The frozen task: its scorers, and how it wants to be scored.
    pub task: Task,
    /// The kinds of scorers that there are.
    pub kinds: ScorerKinds,
    /// How long all scorers together may take.
    pub time_limit: Duration,
    /// Ends the scoring early.
    pub cancel: CancellationToken,
}

/// What one scorer said.
#[derive(Clone, Debug, PartialEq)]
pub struct ScorerFinding {
    /// Whose.
    pub criterion: CriterionId,
    /// The score; zero if there is none.
    pub score: Score,
    /// Whether the scorer came to a result.
    pub state: ScorerState,
    /// Why it did not even run, if it did not.
    pub not_run: Option<NotRun>,
    /// What it printed, without secrets.
    pub output: String,
    /// How long it took.
    pub took: Duration,
    /// What else it found, as an object; null if that is nothing.
    pub evidence: Value,
}

/// Whether a scorer came to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScorerState {
    /// It did.
    Complete,
    /// It did not; its output says why.
    Error,
}

impl ScorerState {
    /// The state of this word.
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::Complete, Self::Error];
        all.into_iter().find(|state| state.as_str() == word)
    }

    /// The word on the wire and in evidence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Error => "error",
        }
    }
}

/// What all scorers of a task said.
#[derive(Clone, Debug, PartialEq)]
pub struct Scoring {
    /// In which way they were run.
    pub mode: String,
    /// One for each scorer, in order.
    pub findings: Vec<ScorerFinding>,
    /// Whether the time was over before all were done.
    pub timed_out: bool,
    /// What became of the disk as it was before the first of them ran.
    pub disk: Disk,
}

impl Scoring {
    /// Whether the time was over before the box could be worked with: then no scorer said anything.
    pub fn had_no_box(&self) -> bool {
        self.timed_out && self.findings.is_empty()
    }

    /// The scorers that did not even run, and why.
    pub fn not_run(&self) -> Vec<(CriterionId, NotRun)> {
        let findings = self.findings.iter();
        findings
            .filter_map(|finding| Some((finding.criterion, finding.not_run?)))
            .collect()
    }
}

/// What became of the disk of a box that was scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disk {
    /// It is kept under this name, and can be scored again.
    Kept(String),
    /// It is not; why.
    NotKept(String),
}

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
pub enum ScoringError {
    /// The box ended.
    #[error("the devbox ended while it was scored")]
    BoxLost,
    /// The scoring was ended early.
    #[error("the scoring was cancelled")]
    Cancelled,
    /// Nothing is kept that could be scored again; why.
    #[error("{0}")]
    NotKept(String),
    /// The verifier of a Harbor task came to no reward.
    #[error("{exception}: {message}")]
    NotVerified {
        /// What that is called.
        exception: ExceptionType,
        /// What happened.
        message: String,
    },
    /// The scorers cannot be run as the task has them.
    #[error("the scorers cannot be run: {0}")]
    Unfit(String),
    /// The platform failed.
    #[error("the devbox could not be scored")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Whoever runs scorers.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Runs the scorers of a task run in its box, or in others made for it.
    async fn score(&self, order: ScoringOrder) -> Result<Scoring, ScoringError>;

    /// Runs the scorers of a task run on the disk that was kept when it was scored, in boxes made for it. Its own box need not
    /// be there any more.
    async fn rescore(&self, order: ScoringOrder) -> Result<Scoring, ScoringError>;
}
