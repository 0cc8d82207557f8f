//! Decision support by CDS Hooks 1.1: `cds-services`, `cds-services/{id}`,
//! `cds-services/{id}/feedback`.
//!
//! The services and their cards are configuration: a card is shown when its conditions hold in what
//! the client sent. Nothing is fetched from anywhere.

mod blueprint;
mod card;
mod condition;
mod hook;
mod plugin;
mod serve;
mod tools;

use std::sync::Arc;

use proctor_simulation::{
    exchange::Request,
    exhibits::Exhibits,
    record::Write,
    rows::{Row, Rows},
    seed::Seed,
    simulator::{Around, Decision, Machine, NotProvided, Provided, Provision},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use blueprint::Blueprint;
pub use plugin::CdsHooksPlugin;

/// The decision support of one playground.
#[derive(Clone, Debug, PartialEq)]
pub struct CdsHooks {
    blueprint: Arc<Blueprint>,
    seed: Seed,
    calls: Rows,
    feedback: Rows,
}

/// What can happen to decision support.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A service was called.
    Call(Row),
    /// The client said what became of a card.
    Feedback(Row),
}

impl CdsHooks {
    /// Services that nobody called yet.
    pub fn branch(blueprint: Arc<Blueprint>, seed: Seed) -> Self {
        Self {
            blueprint,
            seed,
            calls: Rows::default(),
            feedback: Rows::default(),
        }
    }
}

impl Machine for CdsHooks {
    type Change = Change;

    fn decide(&self, request: &Request, around: &Around<'_>) -> Decision<Change> {
        self.serve(request, around.now)
    }

    fn provide(
        &self,
        provision: &Provision<'_>,
        _around: &Around<'_>,
    ) -> Result<Provided<Change>, NotProvided> {
        Err(NotProvided::not_mine(provision, "CdsHooks"))
    }

    fn evolve(&mut self, change: Change) {
        match change {
            Change::Call(row) => self.calls.push(row),
            Change::Feedback(row) => self.feedback.push(row),
        }
    }

    fn writes(&self, change: &Change) -> Vec<Write> {
        match change {
            // Asking for advice changes nothing that anybody looks at.
            Change::Call(_) => Vec::new(),
            Change::Feedback(row) => {
                vec![Write::sent(
                    "cds-hooks",
                    "feedback",
                    &row.id,
                    row.fields.clone(),
                )]
            }
        }
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        self.calls.exhibit("cds_calls", exhibits);
        self.feedback.exhibit("cds_feedback", exhibits);
    }

    fn credentials(&self, prefix: &str) -> Value {
        json!({"cds_services_url": format!("{prefix}/cds-services")})
    }
}

#[cfg(test)]
mod tests;
