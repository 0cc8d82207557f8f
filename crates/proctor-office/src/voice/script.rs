//! What a telephone line says: a menu that waits for keys and words, and a person behind it.
//!
//! All of it is a function of the script, of where the call is and of what was just said.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::phrase::Phrase;
use serde::{Deserialize, Serialize};

/// What the person says when nothing else is written.
const GREETING: &str = "Hello, how can I help you?";
/// What the person says who did not understand.
const DEFAULT: &str = "I'm sorry, I didn't get that. Could you say it again?";

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
    /// A person takes over.
    Persona,
    /// The call is over.
    HangUp,
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
}

/// Something that the person says when its moment comes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Beat {
    /// What must have been said; none is anything.
    pub(super) when: Option<Phrase>,
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
}

impl Blueprint {
    /// How a call begins.
    pub(super) fn greet(&self) -> Reply {
        match &self.menu {
            Some(menu) => self.enter(menu, &menu.start, None),
            None => self.meet(String::new()),
        }
    }

    /// The answer to what was heard, when the call is at `position` and these beats are used up.
    pub(super) fn answer(
        &self,
        position: &Position,
        used: &BTreeSet<usize>,
        heard: &Heard<'_>,
    ) -> Reply {
        match (position, &self.menu) {
            (Position::Node(name), Some(menu)) => self.choose(menu, name, heard),
            (Position::Node(_), None) | (Position::Persona, _) => self.talk(used, heard),
        }
    }

    fn choose(&self, menu: &Menu, name: &str, heard: &Heard<'_>) -> Reply {
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
            return self.enter(menu, name, None);
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
            (Some(to), _) => self.enter(menu, to, None),
            (None, Some(reprompt)) => Reply::at(Position::Node(name.to_owned()), reprompt.clone()),
            (None, None) => Reply::at(Position::Node(name.to_owned()), node.say.clone()),
        }
    }

    /// What is said on coming to a node, and on being passed on by it. The configuration was read
    /// so that this ends.
    fn enter(&self, menu: &Menu, name: &str, said: Option<String>) -> Reply {
        let Some(node) = menu.nodes.get(name) else {
            return self.meet(said.unwrap_or_default());
        };
        let text = match said {
            Some(said) => format!("{said} {}", node.say),
            None => node.say.clone(),
        };
        match &node.next {
            Next::Wait { .. } => Reply::at(Position::Node(name.to_owned()), text),
            Next::Goto(to) => self.enter(menu, to, Some(text)),
            Next::Persona => self.meet(text),
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

    fn talk(&self, used: &BTreeSet<usize>, heard: &Heard<'_>) -> Reply {
        let (Heard::Words(text) | Heard::Keys(text)) = heard;
        let said = Phrase::fold(text);
        let beat = self.persona.beats.iter().enumerate().find(|(index, beat)| {
            !used.contains(index) && beat.when.as_ref().is_none_or(|when| when.is_in(&said))
        });
        match beat {
            Some((index, beat)) => Reply {
                hangs_up: beat.hangs_up,
                beat: (!beat.is_repeated).then_some(index),
                ..Reply::at(Position::Persona, beat.say.clone())
            },
            None => {
                let default = self.persona.default.as_deref().unwrap_or(DEFAULT);
                Reply::at(Position::Persona, default.to_owned())
            }
        }
    }
}

impl Reply {
    fn at(position: Position, text: String) -> Self {
        Self {
            text,
            position,
            hangs_up: false,
            beat: None,
        }
    }
}
