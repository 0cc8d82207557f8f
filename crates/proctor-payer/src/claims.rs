//! Claims that came through the clearinghouse: what was billed, what is decided, and what of it shows by now.
//!
//! What will be decided is known when a claim comes, and shows from its time on, like decisions about prior authorizations.

use proctor_core::time::Timestamp;
use proctor_x12::day::Day;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    adjudication::{ClaimDecision, ClaimFacts},
    desk::PayerDesk,
    prior_auth::PriorAuth,
    records::fold,
};
use crate::x12::{
    Amount, Claim, ClaimLine, ClaimStatus, DeterminationStatus,
    claims::{
        Adjudicate, Adjudicated, AdjudicatedLine, ClaimRejection, Insured, SubmittedClaim,
        SubmittedLine,
    },
};

/// A claim that the payer took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivedClaim {
    /// What the provider sent.
    pub submitted: SubmittedClaim,
    /// The subscriber, as on file.
    pub member_id: String,
    /// The given name of the dependent it is for; none for the subscriber.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependent_first_name: Option<String>,
    /// When it came.
    pub received_at: Timestamp,
    /// What is decided.
    pub decided: Adjudicated,
    /// The check or transfer that pays for it, or the number of the remittance that says why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_number: Option<String>,
    /// The claim that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
}

/// The rows of claims.
pub(super) const CLAIMS: &str = "claims";

impl ReceivedClaim {
    /// What is decided, if it shows.
    fn decision(&self, now: Timestamp) -> Option<&Adjudicated> {
        Some(&self.decided).filter(|decided| decided.at.is_some_and(|at| at <= now))
    }

    /// When it last changed.
    pub(super) fn changed_at(&self, now: Timestamp) -> Timestamp {
        let decided = self.decision(now).and_then(|decided| decided.at);
        decided.unwrap_or(self.received_at)
    }

    /// What a claim-status answer says of it.
    pub(super) fn as_of(&self, now: Timestamp) -> Claim {
        let decided = self.decision(now);
        let status = match (decided, self.decided.at) {
            (Some(decided), _) => ClaimDecision::status(decided.is_denied()),
            (None, Some(_)) => ClaimStatus::Accepted,
            (None, None) => ClaimStatus::Pending,
        };
        let day = Day::of(self.changed_at(now));
        let (from, to) = self.submitted.days().unwrap_or((day, day));
        let paid = decided.map(Adjudicated::paid);
        let lines = self.submitted.lines.iter().enumerate();
        Claim {
            claim_id: self.decided.claim_id.clone(),
            member_id: self.member_id.clone(),
            dependent_first_name: self.dependent_first_name.clone(),
            patient_account: Some(self.submitted.patient_account.clone()),
            provider_npi: Some(self.submitted.provider_npi.clone()),
            service_from: from,
            service_to: Some(to).filter(|to| *to != from),
            charge: Amount::of_cents(self.charge()),
            paid: paid.map(Amount::of_cents),
            status,
            status_code: None,
            status_date: day,
            paid_date: paid.filter(|paid| *paid > 0).map(|_| day),
            check_number: decided.and(self.check_number.clone()),
            lines: lines
                .map(|(index, line)| {
                    let decided = decided.and_then(|decided| decided.lines.get(index));
                    ClaimLine {
                        procedure_code: line.procedure_code.clone(),
                        charge: Amount::of_cents(line.cents()),
                        paid: decided.map(|one| Amount::of_cents(one.paid)),
                        units: Amount::parse(&line.units),
                        status: decided.map(|one| ClaimDecision::status(one.denied)),
                    }
                })
                .collect(),
        }
    }

    fn charge(&self) -> u64 {
        self.submitted.lines.iter().map(SubmittedLine::cents).sum()
    }

    /// The row that portal, clearinghouse and checks show.
    pub(super) fn view(&self, now: Timestamp) -> Value {
        let decided = self.decision(now);
        let mut row = of_claim(&self.as_of(now));
        let told = [
            ("received_at", json!(self.received_at)),
            ("decided_at", json!(decided.and_then(|one| one.at))),
            (
                "authorization_number",
                json!(self.submitted.authorization_number),
            ),
            ("diagnosis_codes", json!(self.submitted.diagnosis_codes)),
            ("place_of_service", json!(self.submitted.place_of_service)),
            ("frequency", json!(self.submitted.frequency)),
            ("original_claim_id", json!(self.submitted.original_claim_id)),
            ("replaced_by", json!(self.replaced_by)),
            (
                "patient_responsibility",
                json!(decided.map(|one| Amount::of_cents(one.patient_responsibility()))),
            ),
        ];
        row.extend(told.map(|(name, value)| (name.to_owned(), value)));
        let lines = self
            .submitted
            .lines
            .iter()
            .enumerate()
            .map(|(index, line)| {
                let decided = decided.and_then(|decided| decided.lines.get(index));
                line_view(line, decided)
            });
        row.insert("lines".to_owned(), lines.collect());
        Value::Object(row)
    }
}

fn line_view(line: &SubmittedLine, decided: Option<&AdjudicatedLine>) -> Value {
    let adjustments = decided.map(|one| {
        let adjustments = one.adjustments.iter();
        let adjustments = adjustments.map(|one| {
            json!({
                "group": one.group.code(),
                "reason": one.reason,
                "amount": Amount::of_cents(one.amount),
            })
        });
        adjustments.collect::<Vec<_>>()
    });
    json!({
        "procedure_code": line.procedure_code,
        "modifiers": line.modifiers,
        "charge": Amount::of_cents(line.cents()),
        "units": Amount::parse(&line.units),
        "service_from": line.days.0,
        "service_to": line.days.1,
        "status": decided.map(|one| ClaimDecision::status(one.denied)),
        "allowed": decided.map(|one| Amount::of_cents(one.allowed)),
        "paid": decided.map(|one| Amount::of_cents(one.paid)),
        "adjustments": adjustments,
        "remarks": decided.map(|one| &one.remarks),
    })
}

/// The row of a claim of a data set.
pub(super) fn of_claim(claim: &Claim) -> Map<String, Value> {
    match json!(claim) {
        Value::Object(mut row) => {
            let code = claim.status_code.as_deref();
            let code = code.unwrap_or(claim.status.usual_status_code());
            row.insert("category".to_owned(), claim.status.code().into());
            row.insert("status_code".to_owned(), code.into());
            row
        }
        _ => Map::new(),
    }
}

impl PayerDesk {
    /// All claims as they stand, those of data sets first.
    pub(super) fn claims_as_of(&self, now: Timestamp) -> Vec<Claim> {
        let on_file = self.claims.iter().cloned();
        let received = self.received.iter().map(|one| one.as_of(now));
        on_file.chain(received).collect()
    }

    /// The rows of all claims, those of data sets first.
    pub(super) fn claim_rows(&self, now: Timestamp) -> Vec<(String, Value)> {
        let on_file = self
            .claims
            .iter()
            .map(|one| (one.claim_id.clone(), Value::Object(of_claim(one))));
        let received = self
            .received
            .iter()
            .map(|one| (one.decided.claim_id.clone(), one.view(now)));
        let seeded = self.rows_of(CLAIMS).iter();
        let seeded = seeded.map(|row| (row.key.clone(), row.fields.clone()));
        on_file.chain(received).chain(seeded).collect()
    }

    /// Whether the payer gave an authorization of this number for a member's service.
    fn authorizes(&self, number: &str, member_id: &str, code: &str, now: Timestamp) -> bool {
        let fits = |request: &&PriorAuth| {
            let member = request.patient_member_id.as_deref().unwrap_or_default();
            let mut codes = request.procedure_codes().into_iter();
            request.is_called(number)
                && fold(member) == fold(member_id)
                && codes.any(|one| fold(one) == fold(code))
        };
        let given = self.requests.iter().find(fits);
        given.is_some_and(|request| {
            matches!(
                request.determination(now).status,
                DeterminationStatus::Approved
                    | DeterminationStatus::PartiallyApproved
                    | DeterminationStatus::Modified
            )
        })
    }
}

/// Decides about the claims of one exchange by the desk's rules.
pub(super) struct Adjudicator<'d> {
    pub(super) desk: &'d PayerDesk,
    pub(super) now: Timestamp,
    /// What was taken, and claims that were replaced.
    pub(super) received: Vec<ReceivedClaim>,
    paid: u64,
}

impl<'d> Adjudicator<'d> {
    pub(super) fn new(desk: &'d PayerDesk, now: Timestamp) -> Self {
        Self {
            desk,
            now,
            received: Vec::new(),
            paid: 0,
        }
    }

    /// A number that no other claim or check of the desk has.
    fn number(&self, purpose: &str, of_exchange: u64) -> u64 {
        let before = u64::try_from(self.desk.answered.len()).unwrap_or(u64::MAX);
        let seed = &self.desk.seed;
        let bytes = seed.derive(&format!("{purpose} {before}"), of_exchange);
        let mut first = [0; 8];
        first.copy_from_slice(&bytes[..8]);
        u64::from_be_bytes(first)
    }

    fn all(&self) -> impl Iterator<Item = &ReceivedClaim> {
        let changed = |old: &&ReceivedClaim| {
            let id = &old.decided.claim_id;
            self.received.iter().all(|new| new.decided.claim_id != *id)
        };
        self.desk
            .received
            .iter()
            .filter(changed)
            .chain(&self.received)
    }

    /// The claim that another one replaces.
    fn original(
        &self,
        claim: &SubmittedClaim,
        member_id: &str,
    ) -> Result<Option<ReceivedClaim>, ClaimRejection> {
        match claim.frequency.as_str() {
            "1" => Ok(None),
            "7" => {
                let number = claim.original_claim_id.as_deref().unwrap_or_default();
                let found = self.all().find(|one| {
                    fold(&one.decided.claim_id) == fold(number) && one.member_id == member_id
                });
                let found = found.ok_or(ClaimRejection::OriginalNotFound)?;
                match found.decision(self.now) {
                    None => Err(ClaimRejection::OriginalOpen),
                    Some(decided) if decided.paid() > 0 || found.replaced_by.is_some() => {
                        Err(ClaimRejection::OriginalPaid)
                    }
                    Some(_) => Ok(Some(found.clone())),
                }
            }
            _ => Err(ClaimRejection::Frequency),
        }
    }

    /// Whether a service was billed before: the same member, provider, procedure and day.
    fn is_billed(
        &self,
        claim: &SubmittedClaim,
        line: &SubmittedLine,
        member_id: &str,
        dependent: Option<&str>,
    ) -> bool {
        let mut received = self.all().filter(|one| one.replaced_by.is_none());
        let in_received = received.any(|one| {
            one.member_id == member_id
                && one.dependent_first_name.as_deref() == dependent
                && one.submitted.provider_npi == claim.provider_npi
                && one.submitted.lines.iter().any(|other| {
                    fold(&other.procedure_code) == fold(&line.procedure_code)
                        && other.modifiers == line.modifiers
                        && other.days.0 == line.days.0
                })
        });
        let mut on_file = self.desk.claims.iter();
        in_received
            || on_file.any(|one| {
                let npi = one.provider_npi.as_deref();
                one.member_id == member_id
                    && one.dependent_first_name.as_deref() == dependent
                    && npi.is_none_or(|npi| npi == claim.provider_npi)
                    && one.service_from == line.days.0
                    && one
                        .lines
                        .iter()
                        .any(|other| fold(&other.procedure_code) == fold(&line.procedure_code))
            })
    }
}

impl Adjudicate for Adjudicator<'_> {
    fn adjudicate(
        &mut self,
        claim: &SubmittedClaim,
        patient: &Insured<'_>,
    ) -> Result<Adjudicated, ClaimRejection> {
        let member_id = patient.member.member_id.as_str();
        let original = self.original(claim, member_id)?;
        let place = u64::try_from(self.received.len()).unwrap_or(u64::MAX);
        let number = self.number("claim", place) % 1_000_000_000;
        let day = Day::of(self.now).to_x12();
        let claim_id = format!("C{day}{number:09}");
        if let Some(mut original) = original {
            original.replaced_by = Some(claim_id.clone());
            self.received.push(original);
        }
        let authorized = |line: &SubmittedLine| {
            let number = line.authorization_number.as_deref();
            let number = number.or(claim.authorization_number.as_deref());
            number.is_some_and(|number| {
                let code = &line.procedure_code;
                self.desk.authorizes(number, member_id, code, self.now)
            })
        };
        let duplicate =
            |line: &SubmittedLine| self.is_billed(claim, line, member_id, patient.dependent);
        let facts = ClaimFacts {
            member_id,
            authorized: &authorized,
            duplicate: &duplicate,
        };
        let decided = self
            .desk
            .blueprint
            .claim_rules
            .decide(claim, &facts, self.now);
        let decided = Adjudicated {
            claim_id,
            at: decided.at,
            lines: decided.lines,
        };
        self.received.push(ReceivedClaim {
            submitted: claim.clone(),
            member_id: member_id.to_owned(),
            dependent_first_name: patient.dependent.map(str::to_owned),
            received_at: self.now,
            decided: decided.clone(),
            check_number: None,
            replaced_by: None,
        });
        Ok(decided)
    }

    fn pay(&mut self, claim_ids: &[&str]) -> String {
        self.paid += 1;
        let number = self.number("check", self.paid) % 100_000_000;
        let number = format!("{number:08}");
        for one in &mut self.received {
            if claim_ids.contains(&one.decided.claim_id.as_str()) {
                one.check_number = Some(number.clone());
            }
        }
        number
    }
}
