//! How the payer decides: the first rule that fits a request, else the default.

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

    fn fits(&self, member_id: &str, codes: &[&str]) -> bool {
        let procedure = self.procedure_code.as_deref();
        let member = self.patient_member_id.as_deref();
        procedure.is_none_or(|code| codes.iter().any(|one| fold(one) == fold(code)))
            && member.is_none_or(|id| fold(id) == fold(member_id))
    }
}

impl Rules {
    /// What is decided about procedures for a member.
    pub(super) fn decide(&self, member_id: &str, codes: &[&str]) -> Outcome {
        let first = self.rules.iter().find(|rule| rule.fits(member_id, codes));
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
        let decide = |member, code| rules.decide(member, &[code]).status;
        assert_eq!(decide("B2", "72148"), DeterminationStatus::Denied);
        assert_eq!(decide("B1", "72148"), DeterminationStatus::Approved);
        assert_eq!(decide("B2", "70450"), DeterminationStatus::NeedMoreInfo);
        assert_eq!(decide("B1", "70450"), DeterminationStatus::Pending);
        let any = rules.decide("B1", &["99213", "72148"]);
        assert_eq!(any.delay_seconds, 60);
    }
}
