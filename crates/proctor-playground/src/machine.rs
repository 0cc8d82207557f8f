//! Machines behind one face, so that a world can hold any of them.

use proctor_core::time::Timestamp;
use serde_json::Value;

use crate::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    simulator::{Around, Machine, NotProvided, Provision, Recorded},
};

/// A request that was answered, and what the journal keeps of it.
pub(crate) struct Answered {
    pub(crate) response: Response,
    pub(crate) happened: Happened,
}

/// Something that happened in a simulator.
pub(crate) struct Happened {
    /// Whether the state is another now.
    pub(crate) is_change: bool,
    /// Writes the JSON that the journal keeps, when it is written.
    pub(crate) body: Box<dyn FnOnce() -> Vec<u8> + Send>,
}

/// A change in the journal that the simulator does not know.
#[derive(Debug, thiserror::Error)]
#[error("a change in the journal is not of this simulator: {0}")]
pub(crate) struct BadChange(#[from] serde_json::Error);

/// A machine of any kind.
pub(crate) trait AnyMachine: Send + Sync {
    /// Answers a request that changes nothing; nothing for one that would.
    fn look(&self, request: &Request, around: &Around<'_>) -> Option<Answered>;
    /// Answers a request and lets happen what follows.
    fn act(&mut self, request: &Request, around: &Around<'_>) -> Answered;
    /// Puts something in.
    fn provide(
        &mut self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Happened, NotProvided>;
    /// Repeats changes that the journal tells of.
    fn replay(&mut self, changes: Vec<Value>) -> Result<(), BadChange>;
    /// Shows what checks may look at.
    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>);
    /// What an agent needs to use it.
    fn credentials(&self, prefix: &str) -> Value;
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

    fn replay(&mut self, changes: Vec<Value>) -> Result<(), BadChange> {
        for change in changes {
            self.evolve(serde_json::from_value(change)?);
        }
        Ok(())
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        Machine::exhibit(self, exhibits);
    }

    fn credentials(&self, prefix: &str) -> Value {
        Machine::credentials(self, prefix)
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
            let mut line = crate::fhir::json_writer::JsonObject::with_capacity(256);
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
