//! How the payer decides: the first rule that fits a request, else the default.
//!
//! A rule may want to see something first: answers to questions, documents, notes, facts of the chart. What comes later
//! (more information, a talk between physicians, an appeal) is looked at again.

use std::collections::BTreeMap;

use proctor_core::phrase::Phrase;
use serde::{Deserialize, Serialize};

use super::records::fold;
use crate::x12::DeterminationStatus;

/// A rule as authors write it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The procedure it is about.
    #[serde(default)]
    pub procedure_code: Option<String>,
    /// The member it is about.
    #[serde(default)]
    pub patient_member_id: Option<String>,
    /// What is decided.
    pub status: DeterminationStatus,
    /// Why, in words.
    #[serde(default)]
    pub reason: Option<String>,
    /// Why, as a decision reason code of X12.
    #[serde(default)]
    pub reason_code: Option<String>,
    /// How long after the submission it is decided.
    #[serde(default)]
    pub delay_seconds: u64,
    /// What the payer must have seen.
    #[serde(default)]
    pub when: Wanted,
    /// What is decided when something else comes in.
    #[serde(default)]
    pub then: Vec<Reconsideration>,
}

/// What the payer must have seen before it decides so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    /// Answers by the question's id, in whatever case.
    pub answers: BTreeMap<String, String>,
    /// Words that the attached documents must hold, each in one of them.
    pub documents: Vec<String>,
    /// Words that the provider must have written.
    pub notes: Vec<String>,
    /// Diagnoses, of which one must be given.
    pub diagnosis_codes: Vec<String>,
    /// What the chart of the patient must hold.
    pub chart: Vec<ChartFact>,
}

/// Something that a patient's chart must hold.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartFact {
    /// In a resource of this type.
    pub resource_type: String,
    /// These words.
    pub contains: String,
}

/// What is decided when something comes in after the decision.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reconsideration {
    /// What must come in.
    pub on: ActionKind,
    /// What the payer must have seen by then.
    #[serde(default)]
    pub when: Wanted,
    /// What is decided.
    pub status: DeterminationStatus,
    /// Why, in words.
    #[serde(default)]
    pub reason: Option<String>,
    /// Why, as a decision reason code of X12.
    #[serde(default)]
    pub reason_code: Option<String>,
    /// How long after that it is decided.
    #[serde(default)]
    pub delay_seconds: u64,
}

/// What a provider may do after a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// It sends what the payer asked for.
    Information,
    /// Its physician talks to the payer's.
    PeerToPeer,
    /// It disputes a denial.
    Appeal,
}

impl ActionKind {
    /// The words of authors.
    pub const NAMES: [&'static str; 3] = ["information", "peer_to_peer", "appeal"];
}

/// What the payer has seen of a request.
#[derive(Clone, Copy)]
pub(super) struct Seen<'s> {
    pub(super) answers: &'s BTreeMap<String, String>,
    /// The text of each document.
    pub(super) documents: &'s [String],
    /// Everything that the provider wrote.
    pub(super) notes: &'s [String],
    pub(super) diagnosis_codes: &'s [String],
    /// The text of the resources of a type in the patient's chart.
    pub(super) chart: &'s dyn Fn(&str) -> Vec<String>,
}

impl Wanted {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn is_seen(&self, seen: &Seen<'_>) -> bool {
        let holds = |texts: &[String], words: &str| {
            let phrase = Phrase::fold(words);
            texts.iter().any(|text| phrase.is_in(&Phrase::fold(text)))
        };
        let same = |one: &str, other: &str| Phrase::fold(one) == Phrase::fold(other);
        let answered = |(id, wanted): (&String, &String)| {
            let given = seen.answers.get(id);
            given.is_some_and(|given| same(given, wanted))
        };
        let codes = &self.diagnosis_codes;
        let given = |code: &String| {
            seen.diagnosis_codes
                .iter()
                .any(|one| fold(one) == fold(code))
        };
        self.answers.iter().all(answered)
            && self
                .documents
                .iter()
                .all(|words| holds(seen.documents, words))
            && self.notes.iter().all(|words| holds(seen.notes, words))
            && (codes.is_empty() || codes.iter().any(given))
            && self
                .chart
                .iter()
                .all(|fact| holds(&(seen.chart)(&fact.resource_type), &fact.contains))
    }
}

/// What is decided about a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The decision.
    pub status: DeterminationStatus,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, as a decision reason code of X12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    /// How long after the submission it is decided.
    #[serde(default)]
    pub delay_seconds: u64,
}

impl Default for Outcome {
    fn default() -> Self {
        Self {
            status: DeterminationStatus::Pending,
            reason: None,
            reason_code: None,
            delay_seconds: 0,
        }
    }
}

/// All rules of a payer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Those that are about something, in order.
    pub rules: Vec<Rule>,
    /// For everything else.
    pub otherwise: Outcome,
}

impl Rule {
    /// Whether the rule is about anything at all.
    pub(super) fn is_about_something(&self) -> bool {
        self.procedure_code.is_some() || self.patient_member_id.is_some()
    }

    /// Whether the rule is about a request, whatever the payer has seen.
    fn fits(&self, member_id: &str, codes: &[&str]) -> bool {
        let procedure = self.procedure_code.as_deref();
        let member = self.patient_member_id.as_deref();
        procedure.is_none_or(|code| codes.iter().any(|one| fold(one) == fold(code)))
            && member.is_none_or(|id| fold(id) == fold(member_id))
    }
}

impl Rules {
    /// Whether what comes in later can change a decision.
    pub(super) fn look_again(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| !rule.when.is_nothing() || !rule.then.is_empty())
    }

    /// What is decided when something comes in after the decision; nothing if that changes nothing.
    pub(super) fn reconsider(
        &self,
        on: ActionKind,
        member_id: &str,
        codes: &[&str],
        seen: &Seen<'_>,
    ) -> Option<Outcome> {
        let fitting = self.rules.iter().filter(|rule| rule.fits(member_id, codes));
        let mut answers = fitting.flat_map(|rule| &rule.then);
        let answer = answers.find(|one| one.on == on && one.when.is_seen(seen))?;
        Some(Outcome {
            status: answer.status,
            reason: answer.reason.clone(),
            reason_code: answer.reason_code.clone(),
            delay_seconds: answer.delay_seconds,
        })
    }

    /// What is decided about procedures for a member, by what the payer has seen.
    pub(super) fn decide(&self, member_id: &str, codes: &[&str], seen: &Seen<'_>) -> Outcome {
        let mut rules = self.rules.iter();
        let first = rules.find(|rule| rule.fits(member_id, codes) && rule.when.is_seen(seen));
        first.map_or_else(
            || self.otherwise.clone(),
            |rule| Outcome {
                status: rule.status,
                reason: rule.reason.clone(),
                reason_code: rule.reason_code.clone(),
                delay_seconds: rule.delay_seconds,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_rule_that_fits_decides_and_else_the_default() {
        let rules = Rules {
            rules: serde_json::from_value(json!([
                {"procedure_code": "72148", "patient_member_id": "B-2", "status": "denied", "reason": "No."},
                {"procedure_code": "72148", "status": "approved", "delay_seconds": 60},
                {"patient_member_id": "b2", "status": "need_more_info"},
            ]))
            .unwrap(),
            otherwise: Outcome::default(),
        };
        let nothing = Seen {
            answers: &BTreeMap::new(),
            documents: &[],
            notes: &[],
            diagnosis_codes: &[],
            chart: &|_| Vec::new(),
        };
        let decide = |member, code| rules.decide(member, &[code], &nothing).status;
        assert_eq!(decide("B2", "72148"), DeterminationStatus::Denied);
        assert_eq!(decide("B1", "72148"), DeterminationStatus::Approved);
        assert_eq!(decide("B2", "70450"), DeterminationStatus::NeedMoreInfo);
        assert_eq!(decide("B1", "70450"), DeterminationStatus::Pending);
        let any = rules.decide("B1", &["99213", "72148"], &nothing);
        assert_eq!(any.delay_seconds, 60);
    }
}
