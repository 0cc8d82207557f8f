//! The configuration of a telephone line as authors write it, and what is wrong with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proctor_core::{environment::Simulator, phrase::Phrase, problem::Problems, time::parse_span};
use proctor_simulation::{
    config::ConfigProblems,
    schema::{about, flag, list, object, optional, text},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::telephone;

use super::{
    script::{Beat, Blueprint, Choice, Hold, Menu, Next, Node, Persona, Slot},
    understanding::SlotKind,
};

/// The most characters that the line says at once.
const LONGEST_SAYING: usize = 10_000;
/// The most callers that are served before somebody.
const MOST_QUEUED: u32 = 1_000;
/// The longest that callers wait.
const LONGEST_HOLD: Duration = Duration::from_secs(86_400);
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
    operator: Option<String>,
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
    hold: Option<String>,
    queue: Option<u32>,
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
    slots: BTreeMap<String, SlotConfig>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlotConfig {
    kind: String,
    value: Option<String>,
    #[serde(default)]
    values: Vec<String>,
    ask: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BeatConfig {
    when: Option<Value>,
    #[serde(default)]
    needs: Vec<String>,
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
            "hold": about("How long the caller waits for the persona, on the world's clock: 120s.", optional(&text())),
            "queue": about(
                "How many callers are served first, which callers on hold are told.",
                json!({"type": ["integer", "null"], "minimum": 1, "maximum": MOST_QUEUED}),
            ),
            "hangup": about("Whether the line hangs up.", flag()),
        }),
    );
    let nodes =
        json!({"type": "object", "maxProperties": MOST_NODES, "additionalProperties": node});
    let beat = object(
        &["say"],
        json!({
            "when": about(
                "Words that it answers, or a list of which any will do; anything, where nothing is said.",
                json!({"type": ["string", "array", "null"], "items": {"type": "string"}}),
            ),
            "needs": about(
                "The slots that the caller must have told by then; what is missing is asked for.",
                list(&text()),
            ),
            "say": about("What the persona says.", said()),
            "repeat": about("Whether it may say so again.", flag()),
            "hangup": about("Whether it hangs up then.", flag()),
        }),
    );
    let kinds: Vec<&str> = SlotKind::NAMES.iter().map(|(name, _)| *name).collect();
    let slot = object(
        &["kind"],
        json!({
            "kind": about("What sort of thing it is.", json!({"enum": kinds})),
            "value": about("What the caller must say, in whatever form: C88012, 1958-04-22, 240.50.", optional(&text())),
            "values": about("Several, of which any will do.", list(&text())),
            "ask": about("What the persona says to be told.", optional(&said())),
        }),
    );
    let slots = json!({"type": "object", "additionalProperties": slot});
    let persona = object(
        &[],
        json!({
            "greeting": about("What it says first.", optional(&said())),
            "beats": about("What it says, and to what.", list(&beat)),
            "default": about("What it says to anything else.", optional(&said())),
            "slots": about("What it listens for, by name.", slots),
        }),
    );
    object(
        &[],
        json!({
            "phone_number": about("The line's own number; made up where it is not said.", optional(&text())),
            "ivr": about(
                "A menu that callers go through first.",
                optional(&object(
                    &["start", "nodes"],
                    json!({
                        "start": text(),
                        "nodes": nodes,
                        "operator": about(
                            "The node that callers are led to who ask for a person, or press 0; to the persona at once, where nothing is said.",
                            optional(&text()),
                        ),
                    }),
                )),
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
        if let Some(operator) = &ivr.operator
            && !names.contains(operator)
        {
            self.wrong("ivr.operator", format!("there is no node '{operator}'"));
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
            operator: ivr.operator,
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
        let hold = self.hold(&place, node.transfer, node.hold.as_deref(), node.queue);
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
            (None, true, _) => Next::Persona(hold),
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

    /// How long callers wait for the person.
    fn hold(
        &mut self,
        place: &dyn Fn(&str) -> String,
        is_transfer: bool,
        hold: Option<&str>,
        queue: Option<u32>,
    ) -> Option<Hold> {
        if queue.is_some() && hold.is_none() {
            self.wrong(&place("queue"), "is about 'hold', which is missing");
        }
        if queue.is_some_and(|queue| !(1..=MOST_QUEUED).contains(&queue)) {
            let message = format!("must be from 1 to {MOST_QUEUED}");
            self.wrong(&place("queue"), message);
        }
        let text = hold?;
        if !is_transfer {
            self.wrong(&place("hold"), "is about 'transfer', which is missing");
        }
        let time = parse_span(text).filter(|time| *time <= LONGEST_HOLD);
        if time.is_none() {
            let message = "must be a length of time of at most a day, such as 120s";
            self.wrong(&place("hold"), message);
        }
        Some(Hold {
            time: time?,
            queue: queue.unwrap_or_default(),
        })
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

    fn slot(&mut self, name: &str, slot: SlotConfig) -> Slot {
        let place = |field: &str| format!("persona.slots.{name}.{field}");
        let known = SlotKind::NAMES.iter().find(|(word, _)| *word == slot.kind);
        let written: Vec<(String, String)> = slot
            .value
            .into_iter()
            .map(|value| ("value".to_owned(), value))
            .chain(
                slot.values
                    .into_iter()
                    .enumerate()
                    .map(|(index, value)| (format!("values.{index}"), value)),
            )
            .collect();
        if written.is_empty() {
            self.wrong(&place("value"), "is required");
        }
        let mut values = Vec::new();
        match known {
            None => {
                let names: Vec<&str> = SlotKind::NAMES.iter().map(|(word, _)| *word).collect();
                let message = format!("'{}' is none of {}", slot.kind, names.join(", "));
                self.wrong(&place("kind"), message);
            }
            Some((_, kind)) => {
                for (field, text) in written {
                    match kind.read(&text) {
                        Ok(value) => values.push(value),
                        Err(why) => self.wrong(&place(&field), why),
                    }
                }
            }
        }
        let ask = match slot.ask {
            Some(ask) => self.saying(&place("ask"), ask),
            None => {
                let what = match slot.kind.as_str() {
                    "npi" => "NPI".to_owned(),
                    "member_id" => "member ID".to_owned(),
                    "id" | "number" | "date" | "name" => name.replace('_', " "),
                    kind => kind.replace('_', " "),
                };
                format!("May I have the {what}, please?")
            }
        };
        Slot { values, ask }
    }

    /// The phrases of which a beat waits for any.
    fn phrases(&mut self, place: &str, written: Option<&Value>) -> Vec<Phrase> {
        let mut one = |place: &str, value: &Value| match value {
            Value::String(text) => Some(self.problems.phrase(place, text)),
            _ => {
                self.problems.add(place, "must be a text");
                None
            }
        };
        match written {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => {
                if items.is_empty() {
                    self.wrong(place, "must hold at least one text");
                    return Vec::new();
                }
                let phrases = items.iter().enumerate();
                phrases
                    .filter_map(|(index, item)| one(&format!("{place}.{index}"), item))
                    .collect()
            }
            Some(value) => one(place, value).into_iter().collect(),
        }
    }

    fn persona(&mut self, persona: PersonaConfig) -> Persona {
        let slots: BTreeMap<String, Slot> = persona
            .slots
            .into_iter()
            .map(|(name, slot)| {
                let slot = self.slot(&name, slot);
                (name, slot)
            })
            .collect();
        let beats = persona.beats.into_iter().enumerate();
        let beats = beats
            .map(|(index, beat)| {
                let place = |field: &str| format!("persona.beats.{index}.{field}");
                for (number, name) in beat.needs.iter().enumerate() {
                    if !slots.contains_key(name) {
                        let message = format!("there is no slot '{name}'");
                        self.wrong(&place(&format!("needs.{number}")), message);
                    }
                }
                Beat {
                    when: self.phrases(&place("when"), beat.when.as_ref()),
                    needs: beat.needs,
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
            slots,
        }
    }
}

/// Whether these are keys of a telephone.
pub(super) fn is_keys(text: &str) -> bool {
    let is_key =
        |char: char| char.is_ascii_digit() || matches!(char, '*' | '#' | 'A'..='D' | 'a'..='d');
    !text.is_empty() && text.chars().all(is_key)
}
