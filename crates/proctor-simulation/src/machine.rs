//! Simulators behind one face, so that a world can hold any of them.
//!
//! Every [`Machine`] has it. A simulator may also implement it directly, such as the FHIR store,
//! which carries a request out and takes back what fails; a world does not see the difference.

use std::any::Any;

use http::{HeaderValue, Method, StatusCode, header};
use proctor_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    json_writer::JsonObject,
    record::Write,
    simulator::{Around, Machine, NotProvided, Provision, Recorded},
};

/// A request that was answered, and what the journal keeps of it.
pub struct Answered {
    /// The answer.
    pub response: Response,
    /// What happened.
    pub happened: Happened,
}

/// Something that happened in a simulator.
pub struct Happened {
    /// Whether the state is another now.
    pub is_change: bool,
    /// Writes the JSON that the journal keeps, when it is written.
    pub body: Box<dyn FnOnce() -> Vec<u8> + Send>,
}

/// Something that happened in a simulator, as its journal tells it to people.
pub struct Told {
    /// What kind of thing.
    pub kind: String,
    /// Which way it went.
    pub direction: String,
    /// Everything about it.
    pub payload: Value,
    /// When.
    pub at: Timestamp,
}

impl Told {
    /// Reads a line as machines write it, and worlds about what reached no simulator.
    pub fn read(line: &[u8]) -> Result<Self, BadLine> {
        let body: Body = serde_json::from_slice(line)?;
        Ok(Self {
            kind: body.kind,
            direction: body.direction,
            payload: body.payload,
            at: Timestamp::from_millis(body.at),
        })
    }
}

/// Why a world does not take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// It is frozen, and the request would change it.
    Frozen,
    /// Its journal cannot be written.
    Unavailable,
}

impl NotTaken {
    /// What callers are told.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Frozen => "the world is frozen: it can be read, but no longer changed",
            Self::Unavailable => {
                "the journal cannot be written now, so nothing was changed; try again"
            }
        }
    }

    /// The answer with the header that says when to try again.
    pub fn with_retry(self, response: Response) -> Response {
        match self {
            Self::Frozen => response,
            Self::Unavailable => {
                response.with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
            }
        }
    }
}

/// A line of the journal that the simulator cannot read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadLine(pub String);

impl From<serde_json::Error> for BadLine {
    fn from(error: serde_json::Error) -> Self {
        Self(format!(
            "a change in the journal is not of this simulator: {error}"
        ))
    }
}

/// A simulator of any kind.
pub trait AnyMachine: Send + Sync {
    /// Whether a request is most likely answered without changing anything. Then it is tried while
    /// others read.
    fn is_read(&self, request: &Request) -> bool {
        matches!(request.method, Method::GET | Method::HEAD)
    }
    /// Answers a request that changes nothing; nothing for one that would.
    fn look(&self, request: &Request, around: &Around<'_>) -> Option<Answered>;
    /// Answers a request and lets happen what follows.
    fn act(&mut self, request: &Request, around: &Around<'_>) -> Answered;
    /// The answer to a request that the world does not take.
    fn refuse(&self, why: NotTaken) -> Response {
        let response = match why {
            NotTaken::Frozen => Response::conflict(why.message()),
            NotTaken::Unavailable => Response::problem(
                StatusCode::SERVICE_UNAVAILABLE,
                "UNAVAILABLE",
                why.message(),
            ),
        };
        why.with_retry(response)
    }
    /// Puts something in.
    fn provide(
        &mut self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Happened, NotProvided>;
    /// Repeats what a line of the journal tells of.
    fn replay(&mut self, line: &[u8]) -> Result<(), BadLine>;
    /// Repeats what a line of the journal tells of, and adds what it changed to `writes`.
    fn replay_noting(&mut self, line: &[u8], writes: &mut Vec<Write>) -> Result<(), BadLine>;
    /// What a line of the journal tells; `is_provision` if the playground's owner did it.
    fn tell(&self, line: &[u8], is_provision: bool) -> Result<Told, BadLine>;
    /// Shows what checks may look at.
    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>);
    /// What an agent needs to use it.
    fn credentials(&self, prefix: &str) -> Value;
    /// What other machines of the playground may look into, if anything.
    fn shared(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }
}

/// A line about a machine.
#[derive(Deserialize)]
struct Body {
    at: i64,
    #[serde(rename = "type")]
    kind: String,
    direction: String,
    payload: Value,
    #[serde(default)]
    changes: Vec<Value>,
}

impl<M: Machine> AnyMachine for M {
    fn look(&self, request: &Request, around: &Around<'_>) -> Option<Answered> {
        let decision = self.decide(request, around);
        decision.changes.is_empty().then(|| Answered {
            response: decision.response,
            happened: happened(decision.event, around.now, None),
        })
    }

    fn act(&mut self, request: &Request, around: &Around<'_>) -> Answered {
        let decision = self.decide(request, around);
        let changes = self.let_happen(decision.changes);
        Answered {
            response: decision.response,
            happened: happened(decision.event, around.now, changes),
        }
    }

    fn provide(
        &mut self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Happened, NotProvided> {
        let provided = Machine::provide(self, provision, around)?;
        let changes = self.let_happen(provided.changes);
        Ok(happened(provided.event, around.now, changes))
    }

    fn replay(&mut self, line: &[u8]) -> Result<(), BadLine> {
        let body: Body = serde_json::from_slice(line)?;
        for change in body.changes {
            self.evolve(serde_json::from_value(change)?);
        }
        Ok(())
    }

    fn replay_noting(&mut self, line: &[u8], writes: &mut Vec<Write>) -> Result<(), BadLine> {
        let body: Body = serde_json::from_slice(line)?;
        for change in body.changes {
            let change = serde_json::from_value(change)?;
            writes.extend(self.writes(&change));
            self.evolve(change);
        }
        Ok(())
    }

    fn tell(&self, line: &[u8], _: bool) -> Result<Told, BadLine> {
        Told::read(line)
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        Machine::exhibit(self, exhibits);
    }

    fn credentials(&self, prefix: &str) -> Value {
        Machine::credentials(self, prefix)
    }

    fn shared(&self) -> Option<&(dyn Any + Send + Sync)> {
        Machine::shared(self)
    }
}

/// Evolves, and returns the changes as the journal keeps them.
trait LetHappen: Machine {
    fn let_happen(&mut self, changes: Vec<Self::Change>) -> Option<Vec<u8>> {
        if changes.is_empty() {
            return None;
        }
        let kept = serde_json::to_vec(&changes).expect("a change has only string keys");
        for change in changes {
            self.evolve(change);
        }
        Some(kept)
    }
}

impl<M: Machine> LetHappen for M {}

fn happened(event: Recorded, at: Timestamp, changes: Option<Vec<u8>>) -> Happened {
    Happened {
        is_change: changes.is_some(),
        body: Box::new(move || {
            let mut line = JsonObject::with_capacity(256);
            line.field("at").number(at.as_millis());
            line.field("type").text(event.kind);
            line.field("direction").text(event.direction.as_str());
            line.field("payload")
                .raw(event.payload.to_string().as_bytes());
            if let Some(changes) = changes {
                line.field("changes").raw(&changes);
            }
            line.finish()
        }),
    }
}
