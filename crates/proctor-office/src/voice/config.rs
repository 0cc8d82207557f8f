//! The configuration of a telephone line as authors write it, and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::{environment::Simulator, problem::Problems};
use proctor_simulation::{
    config::ConfigProblems,
    schema::{about, flag, list, object, optional, text},
};
use serde::Deserialize;
use serde_json::{Value, json};

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

/// The JSON Schema of the configuration.
pub(super) fn config_schema() -> Value {
    let said = || json!({"type": "string", "pattern": "\\S", "maxLength": LONGEST_SAYING});
    let speech = object(
        &["match", "to"],
        json!({
            "match": about("Words that lead there.", text()),
            "to": about("The node that follows.", text()),
        }),
    );
    let keys = json!({
        "type": "object",
        "propertyNames": {"pattern": "^[0-9*#A-Da-d]+$"},
        "additionalProperties": {"type": "string"},
    });
    let node = object(
        &["say"],
        json!({
            "say": about("What the line says.", said()),
            "dtmf": about("The nodes that keys lead to.", keys),
            "speech": about("The nodes that words lead to; the first that matches.", list(&speech)),
            "otherwise": about("The node that any other answer leads to.", optional(&text())),
            "reprompt": about("What is said to an answer that leads nowhere.", optional(&said())),
            "goto": about("The node that follows without an answer.", optional(&text())),
            "transfer": about("Whether the caller is put through to the persona.", flag()),
            "hangup": about("Whether the line hangs up.", flag()),
        }),
    );
    let nodes =
        json!({"type": "object", "maxProperties": MOST_NODES, "additionalProperties": node});
    let beat = object(
        &["say"],
        json!({
            "when": about("Words that it answers; the next thing it says, where nothing is said.", optional(&text())),
            "say": about("What the persona says.", said()),
            "repeat": about("Whether it may say so again.", flag()),
            "hangup": about("Whether it hangs up then.", flag()),
        }),
    );
    let persona = object(
        &[],
        json!({
            "greeting": about("What it says first.", optional(&said())),
            "beats": about("What it says, and to what.", list(&beat)),
            "default": about("What it says to anything else.", optional(&said())),
        }),
    );
    object(
        &[],
        json!({
            "phone_number": about("The line's own number; made up where it is not said.", optional(&text())),
            "ivr": about(
                "A menu that callers go through first.",
                optional(&object(&["start", "nodes"], json!({"start": text(), "nodes": nodes}))),
            ),
            "persona": about("Who answers.", persona),
        }),
    )
}

impl Blueprint {
    /// Reads the simulator's configuration.
    pub fn read(simulator: &Simulator) -> Result<Self, Problems> {
        let (config, problems) = ConfigProblems::read::<Config>(&simulator.config);
        let mut reader = Reader { problems };
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
