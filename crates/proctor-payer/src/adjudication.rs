//! How the payer decides about claims: for each service the first rule that fits, else the default.

use std::time::Duration;

use proctor_core::time::Timestamp;
use proctor_simulation::scenario::read_wait;
use proctor_x12::day::Day;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::records::fold;
use crate::x12::{
    Amount, ClaimStatus,
    claims::{AdjudicatedLine, Adjustment, AdjustmentGroup, SubmittedClaim, SubmittedLine},
};

/// What authors say is decided about a service.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimRule {
    /// The procedure it is about.
    #[serde(default)]
    pub procedure_code: Option<String>,
    /// The member it is about.
    #[serde(default)]
    pub patient_member_id: Option<String>,
    /// What the provider calls the claim it is about.
    #[serde(default)]
    pub patient_account: Option<String>,
    /// What the claim must be like.
    #[serde(default)]
    pub when: ClaimWanted,
    /// What is decided.
    pub status: ClaimDecision,
    /// The most that is allowed for the service; what is billed beyond it is adjusted with CO 45.
    #[serde(default)]
    pub allowed: Option<Amount>,
    /// What else is not paid, in this order.
    #[serde(default)]
    pub adjustments: Vec<AdjustmentRule>,
    /// Remark codes (RARC).
    #[serde(default)]
    pub remarks: Vec<String>,
    /// How long after the claim came it is decided; at once, where nothing is said.
    #[serde(default, alias = "delay_seconds")]
    pub after: Wait,
}

/// What a claim must be like for a rule to fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClaimWanted {
    /// Whether it names an authorization that the payer gave for the member and the procedure.
    pub authorization: Option<AuthorizationWanted>,
    /// Whether an earlier claim bills the same service of the same day.
    pub duplicate: Option<bool>,
    /// Diagnoses, of which one must be on the claim.
    pub diagnosis_codes: Vec<String>,
    /// More days than this between the service and the claim.
    pub filed_after_days: Option<u32>,
}

/// What is wanted of an authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuthorizationWanted {
    /// The claim names none that the payer gave.
    Missing,
    /// The claim names one that the payer gave.
    OnFile,
}

/// What is decided about a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClaimDecision {
    /// What is allowed is paid, less the adjustments.
    Paid,
    /// Nothing is paid.
    Denied,
    /// Nothing is decided, and no remittance comes.
    Pending,
}

/// A part of a charge that is not paid, as authors write it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdjustmentRule {
    /// Whose part it is.
    pub group: AdjustmentGroup,
    /// Why: a claim adjustment reason code (CARC).
    pub reason: String,
    /// How much; all that is left, where nothing is said.
    #[serde(default)]
    pub amount: Option<Amount>,
    /// How much of what is allowed, in percent.
    #[serde(default)]
    pub percent: Option<Amount>,
}

/// How long something takes: `1d` as scenario steps say it, or a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait(pub(crate) Duration);

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        read_wait(&value)
            .map(Self)
            .map_err(|problem| D::Error::custom(problem.message))
    }
}

/// Everything that decides about claims.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct ClaimRules {
    pub(super) rules: Vec<ClaimRule>,
    /// Paid in full at once, where nothing is said.
    pub(super) otherwise: Option<ClaimRule>,
}

/// What a rule says, wherever it stands.
#[derive(Clone, Copy)]
struct Verdict<'r> {
    status: ClaimDecision,
    allowed: Option<&'r Amount>,
    adjustments: &'r [AdjustmentRule],
    remarks: &'r [String],
    after: Duration,
}

/// What the payer knows of a claim besides what it says.
pub(super) struct ClaimFacts<'f> {
    /// The member's id as it is on file.
    pub(super) member_id: &'f str,
    /// Whether an authorization fits the service.
    pub(super) authorized: &'f dyn Fn(&SubmittedLine) -> bool,
    /// Whether the service was billed before.
    pub(super) duplicate: &'f dyn Fn(&SubmittedLine) -> bool,
}

/// What the rules say of a claim.
pub(super) struct Decided {
    /// When; none while anything of it pends.
    pub(super) at: Option<Timestamp>,
    pub(super) lines: Vec<AdjudicatedLine>,
}

impl ClaimRules {
    /// Decides about every service. The claim is decided when the last of them is.
    pub(super) fn decide(
        &self,
        claim: &SubmittedClaim,
        facts: &ClaimFacts<'_>,
        now: Timestamp,
    ) -> Decided {
        let verdicts: Vec<_> = claim
            .lines
            .iter()
            .map(|line| self.verdict(claim, line, facts, now))
            .collect();
        let pends = verdicts
            .iter()
            .any(|one| one.status == ClaimDecision::Pending);
        let wait = verdicts.iter().map(|one| one.after).max();
        let lines = claim.lines.iter().zip(&verdicts);
        Decided {
            at: (!pends).then(|| now.plus(wait.unwrap_or_default())),
            lines: lines.map(|(line, verdict)| verdict.apply(line)).collect(),
        }
    }

    fn verdict(
        &self,
        claim: &SubmittedClaim,
        line: &SubmittedLine,
        facts: &ClaimFacts<'_>,
        now: Timestamp,
    ) -> Verdict<'_> {
        let rule = self
            .rules
            .iter()
            .find(|rule| rule.fits(claim, line, facts, now));
        match rule.or(self.otherwise.as_ref()) {
            Some(rule) => Verdict {
                status: rule.status,
                allowed: rule.allowed.as_ref(),
                adjustments: &rule.adjustments,
                remarks: &rule.remarks,
                after: rule.after.0,
            },
            None => Verdict {
                status: ClaimDecision::Paid,
                allowed: None,
                adjustments: &[],
                remarks: &[],
                after: Duration::ZERO,
            },
        }
    }
}

impl ClaimRule {
    /// Whether it says which claims it is about.
    pub(super) fn is_about_something(&self) -> bool {
        self.procedure_code.is_some()
            || self.patient_member_id.is_some()
            || self.patient_account.is_some()
            || self.when != ClaimWanted::default()
    }

    fn fits(
        &self,
        claim: &SubmittedClaim,
        line: &SubmittedLine,
        facts: &ClaimFacts<'_>,
        now: Timestamp,
    ) -> bool {
        let is = |wanted: &Option<String>, given: &str| {
            wanted
                .as_deref()
                .is_none_or(|wanted| fold(wanted) == fold(given))
        };
        let when = &self.when;
        let authorized = match when.authorization {
            None => true,
            Some(AuthorizationWanted::Missing) => !(facts.authorized)(line),
            Some(AuthorizationWanted::OnFile) => (facts.authorized)(line),
        };
        let mut codes = when.diagnosis_codes.iter();
        let diagnosed = when.diagnosis_codes.is_empty()
            || codes.any(|code| {
                let mut given = claim.diagnosis_codes.iter();
                given.any(|one| fold(one) == fold(code))
            });
        let late = when
            .filed_after_days
            .is_none_or(|days| line.days.0.until(Day::of(now)) > i64::from(days));
        is(&self.procedure_code, &line.procedure_code)
            && is(&self.patient_member_id, facts.member_id)
            && is(&self.patient_account, &claim.patient_account)
            && authorized
            && diagnosed
            && late
            && when
                .duplicate
                .is_none_or(|wanted| wanted == (facts.duplicate)(line))
    }
}

impl Verdict<'_> {
    /// What is paid for a service: its charge less what is adjusted.
    fn apply(&self, line: &SubmittedLine) -> AdjudicatedLine {
        let charge = line.cents();
        let denied = self.status == ClaimDecision::Denied;
        let allowed = match self.allowed.and_then(Amount::cents) {
            Some(most) if !denied => charge.min(most),
            _ => charge,
        };
        let mut left = charge;
        let mut adjustments = Vec::new();
        let mut adjust = |group, reason: &str, wanted: u64| {
            let amount = wanted.min(left);
            left -= amount;
            if amount > 0 {
                adjustments.push(Adjustment {
                    group,
                    reason: reason.to_owned(),
                    amount,
                });
            }
        };
        adjust(AdjustmentGroup::Co, CONTRACTUAL, charge - allowed);
        for rule in self.adjustments {
            let fixed = rule.amount.as_ref().and_then(Amount::cents);
            let share = rule.percent.as_ref().map(|percent| share(percent, allowed));
            adjust(
                rule.group,
                &rule.reason,
                fixed.or(share).unwrap_or(u64::MAX),
            );
        }
        if denied {
            adjust(AdjustmentGroup::Co, NOT_COVERED, u64::MAX);
        }
        AdjudicatedLine {
            denied,
            paid: if self.status == ClaimDecision::Pending {
                0
            } else {
                left
            },
            allowed,
            adjustments,
            remarks: self.remarks.to_vec(),
        }
    }
}

/// CARC of what is billed beyond what is allowed.
const CONTRACTUAL: &str = "45";
/// CARC of what is left of a denied charge that no adjustment explains.
const NOT_COVERED: &str = "96";

/// So many percent of an amount, rounded to cents.
fn share(percent: &Amount, of: u64) -> u64 {
    let hundredths = percent.cents().unwrap_or_default();
    let exact = u128::from(of) * u128::from(hundredths);
    u64::try_from((exact + 5_000) / 10_000).unwrap_or(u64::MAX)
}

impl ClaimDecision {
    /// Where a claim stands after it.
    pub(super) fn status(is_denied: bool) -> ClaimStatus {
        if is_denied {
            ClaimStatus::Denied
        } else {
            ClaimStatus::Paid
        }
    }
}
