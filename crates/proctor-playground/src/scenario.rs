//! What happens in a playground before the agent comes: the steps of a task's scenario.
//!
//! Reading a step checks its shape; whether it can happen is known to the simulator that carries it
//! out. All steps of a scenario happen, or none does.

use base64::{Engine, engine::general_purpose::STANDARD};
use proctor_core::environment::SimulatorType;
use serde::Deserialize;
use serde_json::{Map, Value};

/// One step of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The simulator it is for, by name, where the environment has more than one of the type.
    pub simulator: Option<String>,
    /// What happens.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A file appears below `inbox/`.
    DropFileInbox {
        /// Where, below the inbox.
        path: String,
        /// What is in it.
        content: Vec<u8>,
    },
    /// An HL7 message arrives.
    Hl7Inbound {
        /// The message.
        payload: String,
    },
    /// A resource is stored.
    FhirUpsert {
        /// The resource.
        resource: Value,
    },
    /// A transaction is carried out.
    FhirTransaction {
        /// The bundle.
        bundle: Value,
    },
    /// Rows appear in the payer's records.
    PortalSeed {
        /// The kind of row.
        resource: String,
        /// The rows.
        rows: Vec<Map<String, Value>>,
    },
    /// A fax arrives.
    FaxInbound {
        /// Who sent it.
        from_number: String,
        /// What it says.
        text: String,
        /// The name of the document, if it has one.
        file: Option<String>,
    },
    /// Somebody left a message on the telephone.
    Voicemail {
        /// What was said.
        text: String,
    },
    /// A patient wrote.
    MessageInbound {
        /// Who.
        patient_id: String,
        /// By which channel.
        channel: String,
        /// What.
        body: String,
    },
    /// Somebody becomes a member of the payer.
    X12Member {
        /// The member, as the payer keeps it.
        member: Value,
    },
}

/// Why a value is no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadStep(pub String);

impl Step {
    /// Reads a step: an object whose `type` says what happens.
    pub fn read(value: &Value) -> Result<Self, BadStep> {
        let Value::Object(map) = value else {
            return Err(BadStep("a step is an object with a 'type'".to_owned()));
        };
        let mut map = map.clone();
        let kind = match map.remove("type") {
            Some(Value::String(kind)) => kind,
            Some(_) => return Err(BadStep("type: must be a text".to_owned())),
            None => return Err(BadStep("type: is required".to_owned())),
        };
        let simulator = match map.remove("simulator") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return Err(BadStep("simulator: must be a text".to_owned())),
        };
        let action = Action::read(&kind, map)?;
        Ok(Self { simulator, action })
    }

    /// The name of what it does, as authors write it.
    pub const fn kind(&self) -> &'static str {
        match &self.action {
            Action::DropFileInbox { .. } => "drop_file_inbox",
            Action::Hl7Inbound { .. } => "hl7_inbound",
            Action::FhirUpsert { .. } => "fhir_upsert",
            Action::FhirTransaction { .. } => "fhir_transaction",
            Action::PortalSeed { .. } => "portal_seed",
            Action::FaxInbound { .. } => "fax_inbound",
            Action::Voicemail { .. } => "voicemail",
            Action::MessageInbound { .. } => "message_inbound",
            Action::X12Member { .. } => "x12_member",
        }
    }

    /// The types of simulator that can carry it out.
    pub const fn targets(&self) -> &'static [SimulatorType] {
        match &self.action {
            Action::DropFileInbox { .. } => &[SimulatorType::Files],
            Action::Hl7Inbound { .. } => &[SimulatorType::Hl7],
            Action::FhirUpsert { .. } | Action::FhirTransaction { .. } => &[SimulatorType::Fhir],
            Action::PortalSeed { .. } | Action::X12Member { .. } => {
                &[SimulatorType::Payer, SimulatorType::Clearinghouse]
            }
            Action::FaxInbound { .. } => &[SimulatorType::Fax],
            Action::Voicemail { .. } => &[SimulatorType::Voice],
            Action::MessageInbound { .. } => &[SimulatorType::Message],
        }
    }
}

/// Declares the shape of a step's fields where they differ from the action's.
macro_rules! fields {
    ($map:expr, { $($name:ident : $type:ty),+ $(,)? }) => {{
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields { $(#[serde(default)] $name: Option<$type>),+ }
        let read: Result<Fields, _> = serde_path_to_error::deserialize(Value::Object($map));
        let fields = read.map_err(|error| BadStep(error.to_string()))?;
        ($(fields.$name),+,)
    }};
}

fn required<T>(name: &str, value: Option<T>) -> Result<T, BadStep> {
    value.ok_or_else(|| BadStep(format!("{name}: is required")))
}

impl Action {
    fn read(kind: &str, map: Map<String, Value>) -> Result<Self, BadStep> {
        match kind {
            "drop_file_inbox" => {
                let (path, content, content_base64) =
                    fields!(map, { path: String, content: String, content_base64: String });
                let content = match (content, content_base64) {
                    (Some(text), None) => text.into_bytes(),
                    (None, Some(text)) => STANDARD
                        .decode(text.trim())
                        .map_err(|error| BadStep(format!("content_base64: {error}")))?,
                    (None, None) => {
                        return Err(BadStep("content or content_base64: is required".to_owned()));
                    }
                    (Some(_), Some(_)) => {
                        return Err(BadStep(
                            "content and content_base64: only one of them".to_owned(),
                        ));
                    }
                };
                let path = required("path", path)?;
                Ok(Self::DropFileInbox { path, content })
            }
            "hl7_inbound" => {
                let (payload,) = fields!(map, { payload: String });
                let payload = required("payload", payload)?;
                Ok(Self::Hl7Inbound { payload })
            }
            "fhir_upsert" => {
                let (resource,) = fields!(map, { resource: Value });
                let resource = required("resource", resource)?;
                Ok(Self::FhirUpsert { resource })
            }
            "fhir_transaction" => {
                let (bundle,) = fields!(map, { bundle: Value });
                let bundle = required("bundle", bundle)?;
                Ok(Self::FhirTransaction { bundle })
            }
            "portal_seed" => {
                let (resource, rows) =
                    fields!(map, { resource: String, rows: Vec<Map<String, Value>> });
                Ok(Self::PortalSeed {
                    resource: required("resource", resource)?,
                    rows: required("rows", rows)?,
                })
            }
            "fax_inbound" => {
                let (from_number, text, file) =
                    fields!(map, { from_number: String, text: String, file: String });
                if text.is_none() && file.is_none() {
                    return Err(BadStep("text or file: is required".to_owned()));
                }
                Ok(Self::FaxInbound {
                    from_number: required("from_number", from_number)?,
                    text: text.unwrap_or_default(),
                    file,
                })
            }
            "voicemail" => {
                let (text,) = fields!(map, { text: String });
                let text = required("text", text)?;
                Ok(Self::Voicemail { text })
            }
            "message_inbound" => {
                let (patient_id, channel, body) =
                    fields!(map, { patient_id: String, channel: String, body: String });
                Ok(Self::MessageInbound {
                    patient_id: required("patient_id", patient_id)?,
                    channel: required("channel", channel)?,
                    body: required("body", body)?,
                })
            }
            "x12_member" => {
                if !map.contains_key("member_id") {
                    return Err(BadStep("member_id: is required".to_owned()));
                }
                Ok(Self::X12Member {
                    member: Value::Object(map),
                })
            }
            unknown => Err(BadStep(format!(
                "type: '{unknown}' is no step; the steps are drop_file_inbox, hl7_inbound, fhir_upsert, \
                 fhir_transaction, portal_seed, fax_inbound, voicemail, message_inbound and x12_member"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_step_is_read_and_names_itself() {
        for value in [
            json!({"type": "drop_file_inbox", "path": "a.txt", "content": "x"}),
            json!({"type": "drop_file_inbox", "path": "a.bin", "content_base64": "AAE="}),
            json!({"type": "hl7_inbound", "payload": "MSH|…"}),
            json!({"type": "fhir_upsert", "resource": {"resourceType": "Patient"}}),
            json!({"type": "fhir_transaction", "bundle": {"resourceType": "Bundle"}}),
            json!({"type": "portal_seed", "resource": "prior_auth_requests", "rows": [{"a": 1}]}),
            json!({"type": "fax_inbound", "from_number": "+1555", "text": "Referral"}),
            json!({"type": "voicemail", "text": "Call me"}),
            json!({"type": "message_inbound", "patient_id": "ada", "channel": "sms", "body": "Hi"}),
            json!({"type": "x12_member", "member_id": "B1", "last_name": "Ray"}),
        ] {
            let step = Step::read(&value).unwrap();
            assert_eq!(value["type"], step.kind());
            assert!(!step.targets().is_empty());
        }
    }

    #[test]
    fn what_is_wrong_is_said_by_field() {
        let told = |value| Step::read(&value).unwrap_err().0;
        assert_eq!(told(json!(5)), "a step is an object with a 'type'");
        assert_eq!(told(json!({})), "type: is required");
        assert!(
            told(json!({"type": "smoke_signal"})).starts_with("type: 'smoke_signal' is no step")
        );
        assert_eq!(told(json!({"type": "hl7_inbound"})), "payload: is required");
        assert!(
            told(json!({"type": "hl7_inbound", "payload": 5})).starts_with("payload: invalid type")
        );
        assert!(
            told(json!({"type": "voicemail", "text": "x", "txt": "y"}))
                .contains("unknown field `txt`")
        );
        assert!(
            told(json!({"type": "drop_file_inbox", "path": "a", "content_base64": "*"}))
                .starts_with("content_base64:")
        );
    }

    proptest! {
        #[test]
        fn any_text_in_any_place_is_a_step_or_a_refusal(kind in ".{0,20}", text in ".{0,20}") {
            let _ = Step::read(&json!({"type": kind, "payload": text}));
            let _ = Step::read(&json!({"type": "drop_file_inbox", "path": text, "content_base64": kind}));
        }
    }
}
