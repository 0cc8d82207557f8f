//! Models behind their providers' HTTP interfaces.
//!
//! Answers are streamed. What may pass (429, 5xx, a connection that breaks, a stream that ends in its middle) is tried again, with
//! growing pauses or as long as `Retry-After` says; what remains is a [`ProviderError`].

mod anthropic;
mod openai;
mod sse;

use std::time::Duration;

use reqwest::{Client, Response, StatusCode, header};
use secrecy::SecretString;
use serde_json::Value;

use crate::{
    conversation::{Answer, Message},
    mcp::Tool,
    usage::Usage,
};

/// How much of an answer that is not understood is shown.
const SHOWN: usize = 300;

/// The interface that a model is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `POST …/chat/completions`.
    OpenAi,
    /// `POST …/messages`.
    Anthropic,
}

/// A model, and how to reach it.
pub struct Model {
    /// The interface.
    pub dialect: Dialect,
    /// The provider's name for it.
    pub name: String,
    /// The address before `/chat/completions` or `/messages`, without a slash at the end.
    pub base_url: String,
    /// The key.
    pub key: Option<SecretString>,
    /// How often, and after which pauses, something is tried again.
    pub retries: Retries,
    client: Client,
}

/// How often, and after which pauses, something is tried again.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    /// How often in all.
    pub tries: u32,
    /// The first pause; each further one is twice as long.
    pub first: Duration,
    /// The longest pause, also if the provider asks for a longer one.
    pub longest: Duration,
    /// How long nothing may come from the provider.
    pub silence: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            tries: 6,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            silence: Duration::from_secs(300),
        }
    }
}

/// Why a provider gave no answer, after all tries.
#[derive(Debug, thiserror::Error)]
#[error("the model's provider gave no answer after {tries} tries: {last}")]
pub struct ProviderError {
    /// How often it was tried.
    pub tries: u32,
    /// What went wrong at last.
    pub last: Broken,
}

/// What can go wrong with one try.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// It answered with an error.
    #[error("it answered with {status}: {body}")]
    Status {
        /// The status.
        status: StatusCode,
        /// The beginning of the body.
        body: String,
        /// How long to wait, as it says.
        retry_after: Option<Duration>,
    },
    /// The stream ended before the answer did.
    #[error("its answer broke off in the middle")]
    Cut,
    /// It answered with something else.
    #[error("its answer is not one of a model: {0}")]
    Unreadable(String),
}

impl Broken {
    /// Whether another try may go better.
    fn may_pass(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Cut => true,
            Self::Status { status, .. } => {
                status.is_server_error()
                    || matches!(
                        *status,
                        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
                    )
            }
            Self::Unreadable(_) => false,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    fn unreadable(text: &str) -> Self {
        Self::Unreadable(shown(text))
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// What the model is asked.
pub struct Question<'a> {
    /// The conversation so far.
    pub messages: &'a [Message],
    /// The tools that it may call.
    pub tools: &'a [Tool],
    /// How many tokens the answer may have.
    pub longest: u64,
}

impl Model {
    /// A model behind an interface.
    pub fn new(
        dialect: Dialect,
        name: impl Into<String>,
        base_url: &str,
        key: Option<SecretString>,
    ) -> Result<Self, reqwest::Error> {
        Ok(Self {
            dialect,
            name: name.into(),
            base_url: base_url.trim_end_matches('/').to_owned(),
            key,
            retries: Retries::default(),
            client: Client::builder().build()?,
        })
    }

    /// The model's answer, with what it used up.
    pub async fn answer(&self, question: &Question<'_>) -> Result<(Answer, Usage), ProviderError> {
        let mut pause = self.retries.first;
        let mut tries = 0;
        loop {
            tries += 1;
            let broken = match self.ask_once(question).await {
                Ok(answered) => return Ok(answered),
                Err(broken) => broken,
            };
            if !broken.may_pass() || tries >= self.retries.tries {
                return Err(ProviderError {
                    tries,
                    last: broken,
                });
            }
            let wanted = broken.retry_after().unwrap_or(pause);
            tokio::time::sleep(wanted.min(self.retries.longest)).await;
            pause = pause.saturating_mul(2).min(self.retries.longest);
        }
    }

    async fn ask_once(&self, question: &Question<'_>) -> Result<(Answer, Usage), Broken> {
        let (path, body) = match self.dialect {
            Dialect::OpenAi => ("chat/completions", openai::body(&self.name, question)),
            Dialect::Anthropic => ("messages", anthropic::body(&self.name, question)),
        };
        let request = self
            .client
            .post(format!("{}/{path}", self.base_url))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string());
        let request = match self.dialect {
            Dialect::OpenAi => openai::authorize(request, self.key.as_ref()),
            Dialect::Anthropic => anthropic::authorize(request, self.key.as_ref()),
        };
        let sent = tokio::time::timeout(self.retries.silence, request.send()).await;
        let answer = sent
            .map_err(|_| Broken::Connection("nothing came for too long".to_owned()))?
            .map_err(|error| connection(&error))?;
        let status = answer.status();
        if !status.is_success() {
            let retry_after = retry_after(&answer);
            let body = answer.text().await.unwrap_or_default();
            return Err(Broken::Status {
                status,
                body: shown(&body),
                retry_after,
            });
        }
        match self.dialect {
            Dialect::OpenAi => openai::read(Incoming::of(answer, self.retries.silence)).await,
            Dialect::Anthropic => anthropic::read(Incoming::of(answer, self.retries.silence)).await,
        }
    }
}

fn connection(error: &reqwest::Error) -> Broken {
    Broken::Connection(proctor_core::causes::with_causes(error).to_string())
}

/// How long the provider asks to wait. Dates are not read: the usual pause is fine.
fn retry_after(answer: &Response) -> Option<Duration> {
    let value = answer.headers().get(header::RETRY_AFTER)?;
    let seconds: f64 = value.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A streamed answer.
struct Incoming {
    response: Response,
    events: sse::Events,
    silence: Duration,
}

impl Incoming {
    fn of(response: Response, silence: Duration) -> Self {
        Self {
            response,
            events: sse::Events::default(),
            silence,
        }
    }

    /// Whether events come. Some providers answer in one piece.
    fn is_stream(&self) -> bool {
        let kind = self.response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|value| value.to_str().ok());
        kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// All of an answer that does not stream.
    async fn whole(self) -> Result<Value, Broken> {
        let text = tokio::time::timeout(self.silence, self.response.text()).await;
        let text = text
            .map_err(|_| Broken::Cut)?
            .map_err(|error| connection(&error))?;
        serde_json::from_str(&text).map_err(|_| Broken::unreadable(&text))
    }

    /// The data of the next event; none when the stream has ended.
    async fn next(&mut self) -> Result<Option<String>, Broken> {
        loop {
            if let Some(data) = self.events.next() {
                return Ok(Some(data));
            }
            let chunk = tokio::time::timeout(self.silence, self.response.chunk()).await;
            match chunk {
                Ok(Ok(Some(bytes))) => self.events.push(&bytes),
                Ok(Ok(None)) => return Ok(None),
                // A connection that breaks in an answer is an answer that breaks off.
                Ok(Err(_)) | Err(_) => return Err(Broken::Cut),
            }
        }
    }
}
