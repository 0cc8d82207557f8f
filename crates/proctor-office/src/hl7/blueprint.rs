//! How an interface behaves, the same in every playground of an environment.

use proctor_core::{environment::Simulator, problem::Problems};
use proctor_hl7::{ErrorCode, Message, MessageError, Place, Value};
use proctor_simulation::{
    config::ConfigProblems,
    schema::{about, amount, list, object, optional, text},
};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::kind::MessageKind;

/// What all playgrounds with this interface share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blueprint {
    receiving_application: Option<String>,
    sending_application: Option<String>,
    accept: Option<Vec<MessageKind>>,
    fail_first: u64,
}

/// The configuration as authors write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// What MSH-5 must name; anything goes where it is not said.
    receiving_application: Option<String>,
    /// What MSH-3 must name; anything goes where it is not said.
    sending_application: Option<String>,
    /// The messages that are taken (`ORM` or `ORM^O01`), among those that are handled at all.
    accept: Option<Vec<String>>,
    /// So many messages are rejected because the receiver is busy, before the first is looked at.
    fail_first: u64,
}

/// The JSON Schema of the configuration.
pub(super) fn config_schema() -> Json {
    object(
        &[],
        json!({
            "receiving_application":
                about("What MSH-5 must name; anything goes where it is not said.", optional(&text())),
            "sending_application":
                about("What MSH-3 must name; anything goes where it is not said.", optional(&text())),
            "accept": about(
                "The messages that are taken (ORM or ORM^O01), among those that are handled at all.",
                optional(&list(&text())),
            ),
            "fail_first":
                about("So many messages are rejected because the receiver is busy, before the first is looked at.", amount()),
        }),
    )
}

impl Blueprint {
    /// Reads the simulator's configuration.
    pub fn read(simulator: &Simulator) -> Result<Self, Problems> {
        let (config, mut problems) = ConfigProblems::read::<Config>(&simulator.config);
        problems.refuse_datasets(simulator);
        let accept = config.accept.map(|kinds| {
            let read = kinds.iter().filter_map(|text| {
                let kind = MessageKind::read(text);
                if kind.is_none() {
                    let message = format!("'{text}' is no message type like ORM or ORM^O01");
                    problems.add("accept", message);
                }
                kind
            });
            read.collect()
        });
        problems.finish()?;
        Ok(Self {
            receiving_application: config.receiving_application,
            sending_application: config.sending_application,
            accept,
            fail_first: config.fail_first,
        })
    }

    /// What this interface objects to in a message, beyond what every receiver would; `earlier` is
    /// how many messages came before it.
    pub(super) fn objections(&self, raw: &[u8], earlier: u64) -> Vec<MessageError> {
        if earlier < self.fail_first {
            return vec![MessageError {
                code: ErrorCode::Internal,
                place: None,
                text: "the receiver is busy; send the message again".to_owned(),
            }];
        }
        let Ok(message) = Message::parse(raw) else {
            return Vec::new();
        };
        let names = [
            (3, "sending", &self.sending_application),
            (5, "receiving", &self.receiving_application),
        ];
        let mut objections: Vec<MessageError> = names
            .into_iter()
            .filter_map(|(field, role, expected)| {
                let expected = expected.as_deref()?;
                let named = application(&message, field);
                (named.text() != Some(expected)).then(|| MessageError {
                    code: ErrorCode::TableValue,
                    place: Some(Place::segment("MSH", 1).field(field)),
                    text: format!("the {role} application must be {expected}"),
                })
            })
            .collect();
        objections.extend(self.refused_kind(&message));
        objections
    }

    fn refused_kind(&self, message: &Message<'_>) -> Option<MessageError> {
        let accepted = self.accept.as_ref()?;
        let kind = MessageKind::of(message)?;
        if accepted.iter().any(|one| one.covers(&kind)) {
            return None;
        }
        let knows_code = accepted.iter().any(|one| one.code == kind.code);
        let (code, component) = if knows_code {
            (ErrorCode::UnsupportedEvent, 2)
        } else {
            (ErrorCode::UnsupportedMessageType, 1)
        };
        Some(MessageError {
            code,
            place: Some(Place::segment("MSH", 1).field(9).component(component)),
            text: format!("this interface does not take {kind}"),
        })
    }
}

/// The first component of a field of the header.
fn application<'a>(message: &Message<'a>, field: usize) -> Value<'a> {
    let field = message.header().field(field);
    let component = field
        .and_then(|field| field.repetitions().next())
        .and_then(|repetition| repetition.components().next());
    component.map(|it| it.value()).unwrap_or_default()
}
