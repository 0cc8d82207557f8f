//! The configuration of a telephone line as authors write it, and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::environment::Simulator;
use proctor_simulation::{
    problems::ConfigProblems,
    simulator::{NotProvided, read_config},
};
use serde::Deserialize;

use crate::telephone;

use super::script::{Beat, Blueprint, Choice, Menu, Next, Node, Persona};

/// The most characters that the line says at once.
const LONGEST_SAYING: usize = 10_000;
/// The most nodes in a menu.
const MOST_NODES: usize = 1_000;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    phone_number: Option<String>,
    ivr: Option<IvrConfig>,
    persona: PersonaConfig,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IvrConfig {
    start: String,
    nodes: BTreeMap<String, NodeConfig>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeConfig {
    say: String,
    #[serde(default)]
    dtmf: BTreeMap<String, String>,
    #[serde(default)]
    speech: Vec<SpeechConfig>,
    otherwise: Option<String>,
    reprompt: Option<String>,
    goto: Option<String>,
    #[serde(default)]
    transfer: bool,
    #[serde(default)]
    hangup: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpeechConfig {
    #[serde(rename = "match")]
    phrase: String,
    to: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PersonaConfig {
    greeting: Option<String>,
    beats: Vec<BeatConfig>,
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BeatConfig {
    when: Option<String>,
    say: String,
    #[serde(default)]
    repeat: bool,
    #[serde(default)]
    hangup: bool,
}

impl Blueprint {
    /// Reads the simulator's configuration.
    pub fn read(simulator: &Simulator) -> Result<Self, NotProvided> {
        let config: Config = read_config(&simulator.config)?;
        let mut reader = Reader::default();
        reader.problems.refuse_datasets(simulator);
        if let Some(number) = &config.phone_number
            && telephone::digits(number).is_none()
        {
            reader.wrong("phone_number", "is no telephone number");
        }
        let menu = config.ivr.map(|ivr| reader.menu(ivr));
        let persona = reader.persona(config.persona);
        reader.problems.finish()?;
        Ok(Self {
            phone_number: config.phone_number,
            menu,
            persona,
        })
    }
}

/// Makes a script of a configuration and collects what is wrong.
#[derive(Default)]
struct Reader {
    problems: ConfigProblems,
}

impl Reader {
    fn wrong(&mut self, place: &str, message: impl Into<String>) {
        self.problems.add(place, message);
    }

    fn saying(&mut self, place: &str, text: String) -> String {
        if text.trim().is_empty() {
            self.wrong(place, "must say something");
        } else if text.chars().count() > LONGEST_SAYING {
            let message = format!("must have at most {LONGEST_SAYING} characters");
            self.wrong(place, message);
        }
        text
    }

    fn menu(&mut self, ivr: IvrConfig) -> Menu {
        let names: BTreeSet<String> = ivr.nodes.keys().cloned().collect();
        if !names.contains(&ivr.start) {
            let message = format!("there is no node '{}'", ivr.start);
            self.wrong("ivr.start", message);
        }
        if names.len() > MOST_NODES {
            self.wrong("ivr.nodes", format!("must be at most {MOST_NODES}"));
        }
        let nodes: BTreeMap<String, Node> = ivr
            .nodes
            .into_iter()
            .map(|(name, node)| {
                let node = self.node(&name, node, &names);
                (name, node)
            })
            .collect();
        self.check_that_passing_on_ends(&nodes);
        Menu {
            start: ivr.start,
            nodes,
        }
    }

    fn node(&mut self, name: &str, node: NodeConfig, names: &BTreeSet<String>) -> Node {
        let place = |field: &str| format!("ivr.nodes.{name}.{field}");
        let targets = node
            .dtmf
            .iter()
            .map(|(keys, to)| (format!("dtmf.{keys}"), to))
            .chain(node.otherwise.iter().map(|to| ("otherwise".to_owned(), to)))
            .chain(node.goto.iter().map(|to| ("goto".to_owned(), to)))
            .chain(
                node.speech
                    .iter()
                    .enumerate()
                    .map(|(index, choice)| (format!("speech.{index}.to"), &choice.to)),
            );
        for (field, to) in targets {
            if !names.contains(to) {
                self.wrong(&place(&field), format!("there is no node '{to}'"));
            }
        }
        for keys in node.dtmf.keys() {
            if !is_keys(keys) {
                let message = "keys are the digits, *, # and A to D";
                self.wrong(&place(&format!("dtmf.{keys}")), message);
            }
        }
        let waits = !node.dtmf.is_empty()
            || !node.speech.is_empty()
            || node.otherwise.is_some()
            || node.reprompt.is_some();
        let ways = [node.goto.is_some(), node.transfer, node.hangup, waits];
        if ways.into_iter().filter(|way| *way).count() > 1 {
            self.wrong(
                &format!("ivr.nodes.{name}"),
                "only one of goto, transfer, hangup, or waiting for an answer",
            );
        }
        let say = self.saying(&place("say"), node.say);
        let reprompt = node
            .reprompt
            .map(|text| self.saying(&place("reprompt"), text));
        let speech = node.speech.into_iter().enumerate();
        let speech = speech
            .map(|(index, choice)| Choice {
                phrase: self
                    .problems
                    .phrase(&place(&format!("speech.{index}.match")), &choice.phrase),
                to: choice.to,
            })
            .collect();
        let next = match (node.goto, node.transfer, node.hangup) {
            (Some(to), _, _) => Next::Goto(to),
            (None, true, _) => Next::Persona,
            (None, false, true) => Next::HangUp,
            (None, false, false) => Next::Wait {
                dtmf: node
                    .dtmf
                    .into_iter()
                    .map(|(keys, to)| (keys.to_ascii_uppercase(), to))
                    .collect(),
                speech,
                otherwise: node.otherwise,
                reprompt,
            },
        };
        Node { say, next }
    }

    /// A caller that is passed on for ever would never be answered.
    fn check_that_passing_on_ends(&mut self, nodes: &BTreeMap<String, Node>) {
        for (name, node) in nodes {
            let mut node = node;
            let mut passed = 0;
            while let Next::Goto(to) = &node.next {
                passed += 1;
                if to == name || passed > nodes.len() {
                    if to == name {
                        let message = "leads back to itself without waiting for an answer";
                        self.wrong(&format!("ivr.nodes.{name}.goto"), message);
                    }
                    break;
                }
                match nodes.get(to) {
                    Some(next) => node = next,
                    None => break,
                }
            }
        }
    }

    fn persona(&mut self, persona: PersonaConfig) -> Persona {
        let beats = persona.beats.into_iter().enumerate();
        let beats = beats
            .map(|(index, beat)| {
                let place = |field: &str| format!("persona.beats.{index}.{field}");
                Beat {
                    when: beat
                        .when
                        .map(|text| self.problems.phrase(&place("when"), &text)),
                    say: self.saying(&place("say"), beat.say),
                    is_repeated: beat.repeat,
                    hangs_up: beat.hangup,
                }
            })
            .collect();
        Persona {
            greeting: persona
                .greeting
                .map(|text| self.saying("persona.greeting", text)),
            beats,
            default: persona
                .default
                .map(|text| self.saying("persona.default", text)),
        }
    }
}

/// Whether these are keys of a telephone.
pub(super) fn is_keys(text: &str) -> bool {
    let is_key =
        |char: char| char.is_ascii_digit() || matches!(char, '*' | '#' | 'A'..='D' | 'a'..='d');
    !text.is_empty() && text.chars().all(is_key)
}
