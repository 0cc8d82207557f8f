//! A telephone line behind HTTP: `voice/calls`, `voice/voicemails`.
//!
//! The agent calls, and talks in text or keys; at the other end is a script: a menu, a person, or
//! one behind the other. The same words at the same place get the same answer, always.

mod config;
mod evidence;
mod plugin;
mod script;
mod serve;
mod tools;
mod understanding;

use std::{collections::BTreeSet, sync::Arc};

use proctor_core::time::Timestamp;
use proctor_simulation::{
    exchange::Request,
    exhibits::Exhibits,
    record::Write,
    seed::Seed,
    simulator::{Around, Decision, Machine, NotProvided, Provided, Provision, Recorded},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::telephone;

pub use evidence::{Call, Speaker, Turn};
pub use plugin::VoicePlugin;
use plugin::VoicemailLeft;
pub use script::{Blueprint, Position};

/// The telephone line of one playground.
#[derive(Clone, Debug, PartialEq)]
pub struct Voice {
    blueprint: Arc<Blueprint>,
    seed: Seed,
    calls: Vec<Line>,
    voicemails: Vec<Voicemail>,
}

/// A call, and how far its script is.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    call: Call,
    position: Position,
    used_beats: BTreeSet<usize>,
    /// What the person will say when it is told what it asked for.
    pending: Option<usize>,
}

/// Something that was said to the answering machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Voicemail {
    /// Its name.
    pub id: String,
    /// What was said.
    pub text: String,
    /// When.
    pub received_at: Timestamp,
}

/// What can happen to the line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The agent called, and somebody answered.
    Call {
        /// The call's name.
        id: String,
        /// What the other side said first.
        turn: Turn,
        /// Where the call is.
        position: Position,
        /// Whether that was all.
        is_over: bool,
    },
    /// The agent said something and was answered.
    Talk {
        /// The call's name.
        id: String,
        /// What the agent said.
        said: Turn,
        /// What the other side answered.
        turn: Turn,
        /// Where the call is now.
        position: Position,
        /// What the person will not say again.
        used_beat: Option<usize>,
        /// What the person will say when it is told what it asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_beat: Option<usize>,
        /// Whether the other side hung up.
        is_over: bool,
    },
    /// The agent hung up.
    HangUp {
        /// The call's name.
        id: String,
        /// When.
        at: Timestamp,
    },
    /// Somebody left a message.
    Voicemail(Voicemail),
}

impl Voice {
    /// A line that nobody used yet.
    pub fn branch(blueprint: Arc<Blueprint>, seed: Seed) -> Self {
        Self {
            blueprint,
            seed,
            calls: Vec::new(),
            voicemails: Vec::new(),
        }
    }

    /// The number of the line.
    fn number(&self) -> String {
        match &self.blueprint.phone_number {
            Some(number) => number.clone(),
            None => telephone::fictional_number(&self.seed, "voice number"),
        }
    }

    fn line(&self, id: &str) -> Option<&Line> {
        self.calls.iter().find(|line| line.call.id == id)
    }

    fn line_mut(&mut self, id: &str) -> Option<&mut Line> {
        self.calls.iter_mut().find(|line| line.call.id == id)
    }
}

impl Machine for Voice {
    type Change = Change;

    fn decide(&self, request: &Request, around: &Around<'_>) -> Decision<Change> {
        self.serve(request, around.now)
    }

    fn provide(
        &self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Provided<Change>, NotProvided> {
        let Some(VoicemailLeft { text }) = provision.action() else {
            return Err(NotProvided::not_mine(provision, "Voice"));
        };
        if text.trim().is_empty() {
            return Err(NotProvided("text: must not be empty".to_owned()));
        }
        let number = self.voicemails.len() as u64;
        let voicemail = Voicemail {
            id: format!("vm_{}", self.seed.short_id("voicemail", number)),
            text: text.clone(),
            received_at: around.now,
        };
        Ok(Provided {
            event: Recorded::arrival("voicemail", json!(voicemail)),
            changes: vec![Change::Voicemail(voicemail)],
        })
    }

    fn evolve(&mut self, change: Change) {
        match change {
            Change::Call {
                id,
                turn,
                position,
                is_over,
            } => {
                let at = turn.at;
                self.calls.push(Line {
                    call: Call {
                        id,
                        turns: vec![turn],
                        started_at: at,
                        ended_at: is_over.then_some(at),
                    },
                    position,
                    used_beats: BTreeSet::new(),
                    pending: None,
                });
            }
            Change::Talk {
                id,
                said,
                turn,
                position,
                used_beat,
                pending_beat,
                is_over,
            } => {
                if let Some(line) = self.line_mut(&id) {
                    line.call.ended_at = is_over.then_some(turn.at);
                    line.call.turns.extend([said, turn]);
                    line.position = position;
                    line.used_beats.extend(used_beat);
                    line.pending = pending_beat;
                }
            }
            Change::HangUp { id, at } => {
                if let Some(line) = self.line_mut(&id) {
                    line.call.ended_at = Some(at);
                }
            }
            Change::Voicemail(voicemail) => self.voicemails.push(voicemail),
        }
    }

    fn writes(&self, change: &Change) -> Vec<Write> {
        let call = |id: &str, turns: &[&Turn]| {
            let content = json!({"id": id, "turns": turns});
            vec![Write::sent("voice", "calls", id, content)]
        };
        match change {
            Change::Call { id, turn, .. } => call(id, &[turn]),
            Change::Talk { id, said, turn, .. } => {
                let before = self.line(id).into_iter().flat_map(|line| &line.call.turns);
                let turns: Vec<&Turn> = before.chain([said, turn]).collect();
                call(id, &turns)
            }
            Change::HangUp { .. } | Change::Voicemail(_) => Vec::new(),
        }
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        exhibits.show(self.calls.iter().map(|line| &line.call));
    }

    fn credentials(&self, prefix: &str) -> Value {
        json!({
            "phone_number": self.number(),
            "calls_url": format!("{prefix}/voice/calls"),
        })
    }
}

#[cfg(test)]
mod tests;
