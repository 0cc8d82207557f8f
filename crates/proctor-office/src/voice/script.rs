//! What a telephone line says: a menu that waits for keys and words, and a person behind it.
//!
//! All of it is a function of the script, of where the call is and of what was just said.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proctor_core::{phrase::Phrase, time::Timestamp};
use serde::{Deserialize, Serialize};

use super::understanding::SlotValue;

/// What the person says when nothing else is written.
const GREETING: &str = "Hello, how can I help you?";
/// What the person says who did not understand.
const DEFAULT: &str = "I'm sorry, I didn't get that. Could you say it again?";

/// What a caller hears who asks a menu for a person.
const CONNECTING: &str = "One moment, I connect you to a representative.";

/// What all playgrounds with this line share: the script of the other side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blueprint {
    pub(super) phone_number: Option<String>,
    pub(super) menu: Option<Menu>,
    pub(super) persona: Persona,
}

/// The menu that answers first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Menu {
    pub(super) start: String,
    pub(super) nodes: BTreeMap<String, Node>,
    /// Where callers go who ask for a person; to the person at once where nothing is said.
    pub(super) operator: Option<String>,
}

/// One place in a menu.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) say: String,
    pub(super) next: Next,
}

/// What happens when a node has said what it says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// The menu waits for an answer.
    Wait {
        dtmf: BTreeMap<String, String>,
        speech: Vec<Choice>,
        /// Where everything else leads; where nothing is said, the node asks again.
        otherwise: Option<String>,
        reprompt: Option<String>,
    },
    /// Another node goes on.
    Goto(String),
    /// A person takes over, perhaps after a while.
    Persona(Option<Hold>),
    /// The call is over.
    HangUp,
}

/// How long callers wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) time: Duration,
    /// How many are served first; nobody is told where it is none.
    pub(super) queue: u32,
}

/// Words that lead somewhere.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) phrase: Phrase,
    pub(super) to: String,
}

/// The person on the line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Persona {
    pub(super) greeting: Option<String>,
    pub(super) beats: Vec<Beat>,
    pub(super) default: Option<String>,
    /// What it listens for, by name.
    pub(super) slots: BTreeMap<String, Slot>,
}

/// Something that the person listens for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    /// Any of these is right.
    pub(super) values: Vec<SlotValue>,
    /// What it says to be told.
    pub(super) ask: String,
}

/// Something that the person says when its moment comes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Beat {
    /// Any of these must have been said; none is anything.
    pub(super) when: Vec<Phrase>,
    /// What the person must have been told by then, in this call.
    pub(super) needs: Vec<String>,
    pub(super) say: String,
    pub(super) is_repeated: bool,
    pub(super) hangs_up: bool,
}

/// Where a call is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// At this node of the menu.
    Node(String),
    /// With the person.
    Persona,
    /// Waiting for the person.
    Hold {
        /// Since when.
        since: Timestamp,
        /// Until when.
        until: Timestamp,
        /// How many were to be served first.
        queue: u32,
    },
}

/// What the agent said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard<'t> {
    Words(&'t str),
    Keys(&'t str),
}

/// What the line answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) position: Position,
    pub(super) hangs_up: bool,
    /// The beat that was used up by it.
    pub(super) beat: Option<usize>,
    /// The beat that waits for what the person asked for.
    pub(super) pending: Option<usize>,
}

/// How far a call is.
pub(super) struct Progress<'c> {
    pub(super) position: &'c Position,
    pub(super) used: &'c BTreeSet<usize>,
    pub(super) pending: Option<usize>,
    /// What the agent said before.
    pub(super) said: Vec<&'c str>,
    pub(super) now: Timestamp,
}

impl Blueprint {
    /// How a call begins.
    pub(super) fn greet(&self, now: Timestamp) -> Reply {
        match &self.menu {
            Some(menu) => self.enter(menu, &menu.start, None, now),
            None => self.meet(String::new()),
        }
    }

    /// The answer to what was heard, when the call has come so far.
    pub(super) fn answer(&self, call: &Progress<'_>, heard: &Heard<'_>) -> Reply {
        match (call.position, &self.menu) {
            (Position::Node(name), Some(menu)) => self.choose(menu, name, heard, call.now),
            (Position::Node(_), None) | (Position::Persona, _) => self.talk(call, heard),
            (Position::Hold { until, .. }, _) if *until <= call.now => self.meet(String::new()),
            (position @ Position::Hold { .. }, _) => {
                Reply::at(position.clone(), still_waiting(position, call.now))
            }
        }
    }

    fn choose(&self, menu: &Menu, name: &str, heard: &Heard<'_>, now: Timestamp) -> Reply {
        let Some(node) = menu.nodes.get(name) else {
            return self.meet(String::new());
        };
        let Next::Wait {
            dtmf,
            speech,
            otherwise,
            reprompt,
        } = &node.next
        else {
            return self.enter(menu, name, None, now);
        };
        let chosen = match heard {
            Heard::Keys(keys) => {
                let keys = keys.to_ascii_uppercase();
                // A number is often ended with a hash that the menu does not name.
                dtmf.get(&keys)
                    .or_else(|| dtmf.get(keys.strip_suffix('#')?))
            }
            Heard::Words(words) => {
                let said = Phrase::fold(words);
                let choice = speech.iter().find(|choice| choice.phrase.is_in(&said));
                choice.map(|choice| &choice.to)
            }
        };
        match (chosen.or(otherwise.as_ref()), reprompt) {
            (Some(to), _) => self.enter(menu, to, None, now),
            (None, _) if menu.leads_to_a_person() && asks_for_a_person(heard) => {
                match &menu.operator {
                    Some(node) => self.enter(menu, node, None, now),
                    None => self.meet(CONNECTING.to_owned()),
                }
            }
            (None, Some(reprompt)) => Reply::at(Position::Node(name.to_owned()), reprompt.clone()),
            (None, None) => Reply::at(Position::Node(name.to_owned()), node.say.clone()),
        }
    }

    /// What is said on coming to a node, and on being passed on by it. The configuration was read
    /// so that this ends.
    fn enter(&self, menu: &Menu, name: &str, said: Option<String>, now: Timestamp) -> Reply {
        let Some(node) = menu.nodes.get(name) else {
            return self.meet(said.unwrap_or_default());
        };
        let text = match said {
            Some(said) => format!("{said} {}", node.say),
            None => node.say.clone(),
        };
        match &node.next {
            Next::Wait { .. } => Reply::at(Position::Node(name.to_owned()), text),
            Next::Goto(to) => self.enter(menu, to, Some(text), now),
            Next::Persona(None) => self.meet(text),
            Next::Persona(Some(hold)) => {
                let position = Position::Hold {
                    since: now,
                    until: now.plus(hold.time),
                    queue: hold.queue,
                };
                let waiting = still_waiting(&position, now);
                Reply::at(position, format!("{text} {waiting}"))
            }
            Next::HangUp => Reply {
                hangs_up: true,
                ..Reply::at(Position::Node(name.to_owned()), text)
            },
        }
    }

    /// The person comes to the telephone.
    fn meet(&self, said: String) -> Reply {
        let greeting = self.persona.greeting.as_deref();
        let text = match (said.is_empty(), greeting) {
            (true, greeting) => greeting.unwrap_or(GREETING).to_owned(),
            (false, Some(greeting)) => format!("{said} {greeting}"),
            (false, None) => said,
        };
        Reply::at(Position::Persona, text)
    }

    fn talk(&self, call: &Progress<'_>, heard: &Heard<'_>) -> Reply {
        let (Heard::Words(text) | Heard::Keys(text)) = heard;
        let said = Phrase::fold(text);
        let told = Told {
            slots: &self.persona.slots,
            now: text,
            before: &call.said,
        };
        let beats = self.persona.beats.iter().enumerate();
        let unused = || {
            beats
                .clone()
                .filter(|(index, _)| !call.used.contains(index))
        };
        let is_wanted = |index: usize, beat: &Beat| {
            let is_named = beat.when.iter().any(|when| when.is_in(&said));
            match (beat.when.is_empty(), beat.needs.is_empty()) {
                (true, true) => true,
                (false, true) => is_named,
                (true, false) => told.adds_to(beat),
                (false, false) => is_named || (call.pending == Some(index) && told.adds_to(beat)),
            }
        };
        let wanted = || unused().filter(|(index, beat)| is_wanted(*index, beat));
        if let Some((index, beat)) = wanted().find(|(_, beat)| told.missing(beat).next().is_none())
        {
            return Reply {
                hangs_up: beat.hangs_up,
                beat: (!beat.is_repeated).then_some(index),
                ..Reply::at(Position::Persona, beat.say.clone())
            };
        }
        // Whoever says something that several beats wait for most likely means the one that lacks least.
        if let Some((index, beat)) = wanted().min_by_key(|(_, beat)| told.missing(beat).count()) {
            let asks: Vec<&str> = told.missing(beat).map(|slot| slot.ask.as_str()).collect();
            return Reply {
                pending: Some(index),
                ..Reply::at(Position::Persona, asks.join(" "))
            };
        }
        let default = self.persona.default.as_deref().unwrap_or(DEFAULT);
        Reply {
            pending: call.pending,
            ..Reply::at(Position::Persona, default.to_owned())
        }
    }
}

/// What the person was told in a call.
struct Told<'c> {
    slots: &'c BTreeMap<String, Slot>,
    now: &'c str,
    before: &'c [&'c str],
}

impl Told<'_> {
    /// Whether something that a beat needs was just said.
    fn adds_to(&self, beat: &Beat) -> bool {
        let mut needed = beat.needs.iter().filter_map(|name| self.slots.get(name));
        needed.any(|slot| slot.is_said_in(self.now))
    }

    /// What a beat needs and nobody has said so far.
    fn missing<'b>(&'b self, beat: &'b Beat) -> impl Iterator<Item = &'b Slot> {
        let needed = beat.needs.iter().filter_map(|name| self.slots.get(name));
        needed.filter(|slot| {
            let mut texts = self.before.iter().copied().chain([self.now]);
            !texts.any(|text| slot.is_said_in(text))
        })
    }
}

impl Slot {
    fn is_said_in(&self, text: &str) -> bool {
        self.values.iter().any(|value| value.is_said_in(text))
    }
}

impl Menu {
    fn leads_to_a_person(&self) -> bool {
        let mut nodes = self.nodes.values();
        nodes.any(|node| matches!(node.next, Next::Persona(_)))
    }
}

/// Whether a caller asks a menu for a person.
fn asks_for_a_person(heard: &Heard<'_>) -> bool {
    const WORDS: [&str; 16] = [
        "representative",
        "agent please",
        "an agent",
        "live agent",
        "operator",
        "human",
        "real person",
        "a person",
        "live person",
        "speak to someone",
        "speak with someone",
        "talk to someone",
        "talk to somebody",
        "speak to somebody",
        "customer service",
        "a rep",
    ];
    match heard {
        Heard::Keys(keys) => matches!(*keys, "0" | "0#" | "00"),
        Heard::Words(words) => {
            let said = Phrase::fold(words);
            let is_all = |word: &str| Phrase::fold(word) == said;
            ["agent", "person", "rep", "0"].into_iter().any(is_all)
                || WORDS.iter().any(|word| Phrase::fold(word).is_in(&said))
        }
    }
}

/// What somebody hears who waits.
fn still_waiting(position: &Position, now: Timestamp) -> String {
    let Position::Hold {
        since,
        until,
        queue,
    } = position
    else {
        return String::new();
    };
    let (whole, left) = (
        until.since(*since).as_millis(),
        until.since(now).as_millis(),
    );
    let place = match whole {
        0 => 0,
        whole => (u128::from(*queue) * left).div_ceil(whole),
    };
    match place {
        0 => "Please hold. A representative will be with you shortly.".to_owned(),
        1 => "Please hold. You are next in the queue.".to_owned(),
        place => format!("Please hold. You are number {place} in the queue."),
    }
}

impl Reply {
    fn at(position: Position, text: String) -> Self {
        Self {
            text,
            position,
            hangs_up: false,
            beat: None,
            pending: None,
        }
    }
}
