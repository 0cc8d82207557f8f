//! A request for prior authorization: the one row that portal, pages and X12 share.
//!
//! What the payer will decide is fixed when a request is submitted; whether it shows depends on the
//! time at which somebody looks.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::rules::{ActionKind, Outcome};
use crate::x12::{Determination, DeterminationStatus};

/// Whether a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Still being written.
    Draft,
    /// Sent to the payer.
    Submitted,
}

impl Status {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Submitted => "submitted",
        }
    }
}

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// It was there before: a scenario put it in.
    Portal,
    /// A 278.
    X12,
    /// The portal's REST interface.
    Rest,
    /// The portal's pages.
    Web,
}

/// A request for prior authorization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorAuth {
    /// What names it.
    pub request_id: String,
    /// The payer's number for it, once it is submitted.
    pub auth_number: Option<String>,
    /// Whether it was sent.
    pub status: Status,
    /// How it came.
    pub channel: Channel,
    /// For whom.
    pub patient_member_id: Option<String>,
    /// Who asks.
    pub provider_npi: Option<String>,
    /// For what.
    pub procedure_code: Option<String>,
    /// For what else, where a 278 asks for several services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_procedure_codes: Vec<String>,
    /// Why: ICD-10 codes with their dots, the principal one first.
    pub diagnosis_codes: Vec<String>,
    /// What the provider wrote.
    pub clinical_notes: Option<String>,
    /// Answers to the portal's questions, by the question's id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clinical_answers: BTreeMap<String, String>,
    /// What was attached, as it was sent.
    pub attachments: Vec<Value>,
    /// The sender's own number (TRN02), where it came as X12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_number: Option<String>,
    /// What the payer decides; nothing for a draft.
    pub decision: Option<Decision>,
    /// What came in after it was sent, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// When the provider withdrew it, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn_at: Option<Timestamp>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it was sent.
    pub submitted_at: Option<Timestamp>,
    /// When the provider last changed it.
    pub updated_at: Timestamp,
    /// What a scenario said besides.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Something that a provider did after a request was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// What.
    pub kind: ActionKind,
    /// What it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What it attached, which is among the attachments of the request too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Value>,
    /// Whether the payer decided anew.
    pub is_decided_anew: bool,
    /// When.
    pub at: Timestamp,
}

/// What the payer decides, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// What.
    pub outcome: Outcome,
    /// From when on it shows.
    pub at: Timestamp,
}

impl Decision {
    /// Whether it shows at a time.
    fn is_out(&self, now: Timestamp) -> bool {
        self.at <= now
    }
}

impl PriorAuth {
    /// An empty draft.
    pub(super) fn draft(request_id: String, channel: Channel, now: Timestamp) -> Self {
        Self {
            request_id,
            auth_number: None,
            status: Status::Draft,
            channel,
            patient_member_id: None,
            provider_npi: None,
            procedure_code: None,
            additional_procedure_codes: Vec::new(),
            diagnosis_codes: Vec::new(),
            clinical_notes: None,
            clinical_answers: BTreeMap::new(),
            attachments: Vec::new(),
            trace_number: None,
            decision: None,
            actions: Vec::new(),
            withdrawn_at: None,
            created_at: now,
            submitted_at: None,
            updated_at: now,
            extra: Map::new(),
        }
    }

    /// All procedures that are asked for.
    pub(super) fn procedure_codes(&self) -> Vec<&str> {
        let first = self.procedure_code.iter();
        let all = first.chain(&self.additional_procedure_codes);
        all.map(String::as_str).collect()
    }

    /// Sends it; `outcome` is what the rules say.
    pub(super) fn submit(&mut self, auth_number: String, outcome: Outcome, now: Timestamp) {
        self.status = Status::Submitted;
        self.auth_number = Some(auth_number);
        self.submitted_at = Some(now);
        self.decide_anew(outcome, now);
    }

    /// The payer decides, for the first time or again.
    pub(super) fn decide_anew(&mut self, outcome: Outcome, now: Timestamp) {
        self.updated_at = now;
        self.decision = Some(Decision {
            at: now.plus(Duration::from_secs(outcome.delay_seconds)),
            outcome,
        });
    }

    /// The payer's number as it is seen now: a request that is denied has none.
    pub(super) fn number_shown(&self, now: Timestamp) -> Option<&str> {
        let is_denied = self.standing(now) == Some(DeterminationStatus::Denied);
        self.auth_number.as_deref().filter(|_| !is_denied)
    }

    /// The word for how far it is.
    fn status_shown(&self) -> &'static str {
        match self.withdrawn_at {
            Some(_) => "withdrawn",
            None => self.status.as_str(),
        }
    }

    /// Whether it goes by this id or number.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.request_id == name || self.auth_number.as_deref() == Some(name)
    }

    /// What the payer has decided by now; nothing for a draft.
    pub(super) fn standing(&self, now: Timestamp) -> Option<DeterminationStatus> {
        if self.withdrawn_at.is_some() {
            return None;
        }
        let decision = self.decision.as_ref()?;
        Some(match decision.is_out(now) {
            true => decision.outcome.status,
            false => DeterminationStatus::Pending,
        })
    }

    /// Why the payer decided so, once it has.
    pub(super) fn reason(&self, now: Timestamp) -> Option<&str> {
        let decision = self.decision.as_ref().filter(|one| one.is_out(now))?;
        decision.outcome.reason.as_deref()
    }

    /// The decision as a 278 says it.
    pub(super) fn determination(&self, now: Timestamp) -> Determination {
        let out = self.decision.as_ref().filter(|one| one.is_out(now));
        Determination {
            status: self.standing(now).unwrap_or(DeterminationStatus::Pending),
            reason: out.and_then(|one| one.outcome.reason.clone()),
            reason_code: out.and_then(|one| one.outcome.reason_code.clone()),
            auth_number: self.number_shown(now).map(str::to_owned),
        }
    }

    /// When the row last changed, as seen now: also when a decision came out.
    pub(super) fn changed_at(&self, now: Timestamp) -> Timestamp {
        let out = self.decision.as_ref().filter(|one| one.is_out(now));
        out.map_or(self.updated_at, |one| one.at.max(self.updated_at))
    }

    /// The row as it is seen now.
    pub(super) fn view(&self, now: Timestamp) -> Value {
        let mut row = self.extra.clone();
        let decided = self.decision.as_ref().filter(|one| one.is_out(now));
        let determination = self.standing(now).map(|status| {
            let mut words = Map::new();
            words.insert("status".to_owned(), json!(status));
            if let Some(decision) = decided {
                if let Some(reason) = &decision.outcome.reason {
                    words.insert("reason".to_owned(), json!(reason));
                }
                if let Some(code) = &decision.outcome.reason_code {
                    words.insert("reason_code".to_owned(), json!(code));
                }
                if status != DeterminationStatus::Pending {
                    words.insert("decided_at".to_owned(), json!(decision.at));
                }
            }
            Value::Object(words)
        });
        let fields = json!({
            "request_id": self.request_id,
            "auth_number": self.number_shown(now),
            "status": self.status_shown(),
            "channel": self.channel,
            "patient_member_id": self.patient_member_id,
            "provider_npi": self.provider_npi,
            "procedure_code": self.procedure_code,
            "diagnosis_codes": self.diagnosis_codes,
            "clinical_notes": self.clinical_notes,
            "attachments": self.attachments,
            "determination": determination,
            "created_at": self.created_at,
            "submitted_at": self.submitted_at,
            "updated_at": self.changed_at(now),
        });
        if let Value::Object(fields) = fields {
            row.extend(fields);
        }
        if !self.additional_procedure_codes.is_empty() {
            row.insert(
                "additional_procedure_codes".to_owned(),
                json!(self.additional_procedure_codes),
            );
        }
        if !self.clinical_answers.is_empty() {
            row.insert("clinical_answers".to_owned(), json!(self.clinical_answers));
        }
        if !self.actions.is_empty() {
            row.insert("actions".to_owned(), json!(self.actions));
        }
        if let Some(at) = self.withdrawn_at {
            row.insert("withdrawn_at".to_owned(), json!(at));
        }
        if let Some(number) = &self.trace_number {
            row.insert("trace_number".to_owned(), json!(number));
        }
        Value::Object(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delayed_decision_shows_from_its_time_on() {
        let start = Timestamp::from_millis(1_000_000);
        let after = |seconds| start.plus(Duration::from_secs(seconds));
        let mut row = PriorAuth::draft("pa_1".to_owned(), Channel::Rest, start);
        assert_eq!(row.view(start)["determination"], Value::Null);
        let outcome = Outcome {
            status: DeterminationStatus::Denied,
            reason: Some("Not necessary.".to_owned()),
            reason_code: None,
            delay_seconds: 60,
        };
        row.submit("A1".to_owned(), outcome, start);
        assert_eq!(
            row.view(after(59))["determination"],
            json!({"status": "pending"})
        );
        assert_eq!(row.view(after(59))["updated_at"], json!(start));
        assert_eq!(
            row.view(after(60))["determination"],
            json!({"status": "denied", "reason": "Not necessary.", "decided_at": after(60)})
        );
        assert_eq!(row.view(after(61))["updated_at"], json!(after(60)));
        assert_eq!(row.determination(after(59)).reason, None);
        assert_eq!(
            row.determination(after(60)).status,
            DeterminationStatus::Denied
        );
    }
}
