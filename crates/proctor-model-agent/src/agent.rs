//! The loop: the model is asked, its calls are made, it is asked again.

use std::{io, path::PathBuf, sync::Arc};

use proctor_core::time::Clock;
use serde_json::{Map, json};
use tokio::time::Instant;

use crate::{
    conversation::{Answer, Call, CallResult, Message, Stop, trim},
    limits::{Limit, Limits, Prices},
    mcp::{Endpoint, EndpointError, Tool},
    provider::{Model, ProviderError, Question},
    trajectory::Trajectory,
    usage::Usage,
};

/// The tool that ends a task.
const COMPLETE: &str = "complete";
/// How often in a row a model may answer with its token limit before it is given up.
const MOST_CUT_ANSWERS: u32 = 3;

/// A model with a task.
pub struct Agent {
    /// The model.
    pub model: Model,
    /// The task.
    pub task: Endpoint,
    /// What it may use up.
    pub limits: Limits,
    /// What tokens cost, if that is known.
    pub prices: Option<Prices>,
    /// What time it is, for the record.
    pub clock: Arc<dyn Clock>,
    /// What the trajectory calls this run of the agent.
    pub session: String,
    /// What must not be written anywhere.
    pub secrets: Vec<String>,
    /// Where the trajectory is kept.
    pub trajectory_file: Option<PathBuf>,
    /// Where usage is kept, a line for each answer of the model.
    pub usage_file: Option<PathBuf>,
}

/// How an agent ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model called `complete`.
    Completed,
    /// The model stopped calling tools.
    Stopped,
    /// The model refuses.
    Refused,
    /// A limit was reached.
    Limit(Limit),
}

impl Ended {
    /// The word in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Refused => "refused",
            Self::Limit(limit) => limit.as_str(),
        }
    }
}

/// Why an agent could not go on. None of it is the model's doing.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The model's provider gave no answer.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The task could not be reached.
    #[error(transparent)]
    Task(#[from] EndpointError),
    /// Something could not be written down.
    #[error("what the agent did cannot be written down")]
    Record(#[from] io::Error),
}

impl Failure {
    /// The word in records.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Provider(_) => "model_provider",
            Self::Task(_) => "task_endpoint",
            Self::Record(_) => "record",
        }
    }
}

impl Agent {
    /// Works on the task until its end. Where the model does not complete the task, the agent does, unless something failed.
    pub async fn run(&self) -> Result<Ended, Failure> {
        let deadline = self.limits.time.map(|time| Instant::now() + time);
        let tools = self.task.tools().await?;
        let instruction = self.task.instruction().await?;
        let secrets = self.secrets.clone();
        let file = self.trajectory_file.as_deref();
        let mut work = Work {
            agent: self,
            trajectory: Trajectory::new(&self.session, &self.model.name, &tools, secrets, file),
            tools,
            messages: vec![Message::User(instruction.clone())],
            usage: Usage::default(),
            turns: 0,
            cut_answers: 0,
        };
        work.trajectory.user(self.clock.now(), &instruction);
        let ended = match deadline {
            Some(deadline) => match tokio::time::timeout_at(deadline, work.go_on()).await {
                Ok(ended) => ended,
                Err(_) => Ok(Ended::Limit(Limit::Time)),
            },
            None => work.go_on().await,
        };
        let finished = match ended {
            Ok(ended) => work.finish(ended).await.map(|()| ended),
            Err(failure) => Err(failure),
        };
        let word = match &finished {
            Ok(ended) => ended.as_str(),
            Err(failure) => failure.as_str(),
        };
        work.trajectory.write(&work.usage, word)?;
        finished
    }
}

/// An agent at work.
struct Work<'a> {
    agent: &'a Agent,
    tools: Vec<Tool>,
    messages: Vec<Message>,
    trajectory: Trajectory,
    usage: Usage,
    turns: u32,
    cut_answers: u32,
}

impl Work<'_> {
    async fn go_on(&mut self) -> Result<Ended, Failure> {
        loop {
            if let Some(ended) = self.turn().await? {
                return Ok(ended);
            }
            self.trajectory.write(&self.usage, "unfinished")?;
        }
    }

    /// Asks the model once and does what it says.
    async fn turn(&mut self) -> Result<Option<Ended>, Failure> {
        let limits = &self.agent.limits;
        if let Some(limit) = limits.reached(self.turns, &self.usage) {
            return Ok(Some(Ended::Limit(limit)));
        }
        let question = Question {
            messages: &self.messages,
            tools: &self.tools,
            longest: limits.answer,
        };
        let (answer, mut used) = self.agent.model.answer(&question).await?;
        self.turns += 1;
        used.cost_usd = self.agent.prices.map(|prices| prices.cost(&used));
        self.usage.add(&used);
        if let Some(file) = &self.agent.usage_file {
            used.append(file, &self.agent.model.name)?;
        }
        let at = self.agent.clock.now();
        let mut results = Vec::new();
        // What a refusal began to say is not done.
        let calls = match answer.stop {
            Stop::Refused => &[],
            Stop::Done | Stop::Length => answer.calls.as_slice(),
        };
        for call in calls {
            results.push(self.call(call).await?);
        }
        self.trajectory.answer(at, &answer, &results, &used);
        let ended = self.judge(&answer, &results);
        self.messages.push(Message::Model(answer));
        if !results.is_empty() {
            self.messages.push(Message::Results(results));
        } else if ended.is_none() {
            let more = "Your answer was cut off at its token limit. Go on, with shorter answers.";
            self.messages.push(Message::User(more.to_owned()));
            self.trajectory.user(self.agent.clock.now(), more);
        }
        if ended.is_none() && used.tokens() > self.agent.limits.context {
            self.make_room(used.tokens());
        }
        Ok(ended)
    }

    /// Makes one call. What is wrong with it is told to the model.
    async fn call(&self, call: &Call) -> Result<CallResult, Failure> {
        let (text, is_error) = match call.arguments() {
            Ok(arguments) => self.agent.task.call(&call.name, arguments).await?,
            Err(problem) => (problem, true),
        };
        Ok(CallResult {
            id: call.id.clone(),
            text,
            is_error,
        })
    }

    /// Whether an answer is the last.
    fn judge(&mut self, answer: &Answer, results: &[CallResult]) -> Option<Ended> {
        if answer.stop == Stop::Refused {
            return Some(Ended::Refused);
        }
        let is_completed = answer
            .calls
            .iter()
            .zip(results)
            .any(|(call, result)| call.name == COMPLETE && !result.is_error);
        if is_completed {
            return Some(Ended::Completed);
        }
        if !answer.calls.is_empty() {
            self.cut_answers = 0;
            return None;
        }
        self.cut_answers += 1;
        let goes_on = answer.stop == Stop::Length && self.cut_answers < MOST_CUT_ANSWERS;
        (!goes_on).then_some(Ended::Stopped)
    }

    /// Takes old results out of the conversation, and writes down which.
    fn make_room(&mut self, tokens: u64) {
        let trimmed = trim(&mut self.messages);
        if trimmed.is_empty() {
            return;
        }
        let text = format!(
            "The conversation has {tokens} tokens: the results of {} earlier calls were taken out of it.",
            trimmed.len()
        );
        let extra =
            json!({"trimmed_call_ids": trimmed, "context_limit": self.agent.limits.context});
        self.trajectory
            .system(self.agent.clock.now(), &text, &extra);
    }

    /// Completes the task if the model did not.
    async fn finish(&mut self, ended: Ended) -> Result<(), Failure> {
        if ended == Ended::Completed || self.tools.iter().all(|tool| tool.name != COMPLETE) {
            return Ok(());
        }
        let call = Call {
            id: "proctor_complete".to_owned(),
            name: COMPLETE.to_owned(),
            written: String::new(),
        };
        let (text, is_error) = self.agent.task.call(COMPLETE, Map::new()).await?;
        let result = CallResult {
            id: call.id.clone(),
            text,
            is_error,
        };
        let why = format!(
            "The agent ended ({}) and completes the task.",
            ended.as_str()
        );
        self.trajectory
            .own_call(self.agent.clock.now(), &why, &call, &result);
        Ok(())
    }
}
