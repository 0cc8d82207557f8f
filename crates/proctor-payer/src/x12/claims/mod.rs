//! 837P → 277CA at once, 835 when it is decided.
//!
//! * `submission`: what an 837P says, claim by claim.
//! * `acknowledgment`: whether each claim was taken (277CA).
//! * `remittance`: what was paid for those that were (835).
//! * `bill`: the 837P that a provider's system sends, for callers that have data instead of X12.
//!
//! What is paid is decided by whoever implements [`Adjudicate`]; whose claim it is and whether it adds up is looked at here.

mod acknowledgment;
mod bill;
mod remittance;
mod submission;

use proctor_core::time::Timestamp;
use proctor_x12::segment::Segment;
use serde::{Deserialize, Serialize};

use super::{Amount, Member, Payer, Person, find, is_npi};

pub use bill::{Bill, BillLine, body as bills};
pub use submission::{Submission, SubmittedClaim, SubmittedLine};

/// Who decides about claims.
pub trait Adjudicate {
    /// Decides about a claim that may be decided; called once for each, in order.
    fn adjudicate(
        &mut self,
        claim: &SubmittedClaim,
        patient: &Insured<'_>,
    ) -> Result<Adjudicated, ClaimRejection>;

    /// The number of the check or transfer that pays for claims, by the payer's numbers of them.
    fn pay(&mut self, claim_ids: &[&str]) -> String;
}

/// Who a claim is for.
#[derive(Debug, Clone, Copy)]
pub struct Insured<'m> {
    /// The subscriber.
    pub member: &'m Member,
    /// The given name of the dependent, if it is for one.
    pub dependent: Option<&'m str>,
}

/// What was decided about a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjudicated {
    /// The payer's number of the claim.
    pub claim_id: String,
    /// When it is decided; none as long as it pends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// For each service what is paid, in the order of the claim's.
    pub lines: Vec<AdjudicatedLine>,
}

/// What was decided about one service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjudicatedLine {
    /// Whether it is denied.
    pub denied: bool,
    /// What is paid, in cents.
    pub paid: u64,
    /// What is allowed, in cents.
    pub allowed: u64,
    /// Why it is not the whole charge: charge less adjustments is what is paid.
    pub adjustments: Vec<Adjustment>,
    /// Remark codes (RARC).
    pub remarks: Vec<String>,
}

/// A part of a charge that is not paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// Whose part it is.
    pub group: AdjustmentGroup,
    /// Why: a claim adjustment reason code (CARC).
    pub reason: String,
    /// How much, in cents.
    pub amount: u64,
}

/// Whose an adjustment is, CAS01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AdjustmentGroup {
    /// The provider's, by contract.
    Co,
    /// The patient's.
    Pr,
    /// Nobody's, such as what another payer paid.
    Oa,
    /// The payer's own reduction.
    Pi,
}

impl AdjustmentGroup {
    /// CAS01.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Co => "CO",
            Self::Pr => "PR",
            Self::Oa => "OA",
            Self::Pi => "PI",
        }
    }
}

impl Adjudicated {
    /// Whether nothing of it is paid for any service.
    pub fn is_denied(&self) -> bool {
        self.lines.iter().all(|line| line.denied)
    }

    /// What is paid, in cents.
    pub fn paid(&self) -> u64 {
        self.lines.iter().map(|line| line.paid).sum()
    }

    /// What the patient owes, in cents.
    pub fn patient_responsibility(&self) -> u64 {
        let adjustments = self.lines.iter().flat_map(|line| &line.adjustments);
        adjustments
            .filter(|one| one.group == AdjustmentGroup::Pr)
            .map(|one| one.amount)
            .sum()
    }
}

/// Why a claim is not taken: STC01 of a 277CA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimRejection {
    /// The payer is out of order.
    Unavailable,
    /// The billing provider's NPI is missing or not one.
    ProviderNpi,
    /// The payer does not know the billing provider.
    ProviderNotFound,
    /// The subscriber is not on file.
    SubscriberNotFound,
    /// The subscriber has no such dependent.
    PatientNotFound,
    /// The day of birth is another.
    BirthDate,
    /// The name is another.
    Name,
    /// The charges of the services are not the charge of the claim, or no amounts of money.
    Charges,
    /// The frequency code is none that is taken.
    Frequency,
    /// The claim that is to be replaced is not on file.
    OriginalNotFound,
    /// The claim that is to be replaced is not decided yet.
    OriginalOpen,
    /// The claim that is to be replaced was paid or replaced already.
    OriginalPaid,
    /// It is for another payer.
    OtherPayer,
}

impl ClaimRejection {
    /// STC01: category, status code and, where it is about somebody, whom.
    pub const fn codes(self) -> [&'static str; 3] {
        match self {
            Self::Unavailable => ["A3", "0", ""],
            Self::ProviderNpi => ["A7", "562", "85"],
            Self::ProviderNotFound => ["A3", "26", "85"],
            Self::SubscriberNotFound => ["A3", "33", "IL"],
            Self::PatientNotFound => ["A3", "97", "QC"],
            Self::BirthDate => ["A7", "158", "QC"],
            Self::Name => ["A7", "125", "QC"],
            Self::Charges => ["A7", "178", ""],
            Self::Frequency => ["A7", "535", ""],
            Self::OriginalNotFound => ["A7", "464", ""],
            Self::OriginalOpen => ["A3", "40", ""],
            Self::OriginalPaid => ["A3", "54", ""],
            Self::OtherPayer => ["A3", "116", ""],
        }
    }
}

/// What became of one claim of an 837P.
struct Receipt<'s> {
    claim: &'s SubmittedClaim,
    verdict: Result<Adjudicated, ClaimRejection>,
}

/// What a payer answers to an 837P.
#[derive(Debug)]
pub struct Answer {
    /// The body of the 277CA.
    pub acknowledgment: Vec<Segment>,
    /// The bodies of the 835s that follow from it, each with its time, the earliest first.
    pub remittances: Vec<(Timestamp, Vec<Segment>)>,
}

/// Takes the claims of an 837P whose syntax was accepted.
pub fn answer(
    payer: &Payer,
    members: &[Member],
    question: &[Segment],
    adjudicate: &mut dyn Adjudicate,
    now: Timestamp,
) -> Answer {
    let submission = Submission::read(question);
    let receipts: Vec<Receipt<'_>> = submission
        .claims
        .iter()
        .map(|claim| Receipt {
            verdict: looked_at(payer, members, claim)
                .and_then(|patient| adjudicate.adjudicate(claim, &patient)),
            claim,
        })
        .collect();
    let acknowledgment = acknowledgment::body(payer, &submission, &receipts, now);
    Answer {
        acknowledgment,
        remittances: remittances(payer, &receipts, adjudicate),
    }
}

/// Whose claim it is, if it may be decided.
fn looked_at<'m>(
    payer: &Payer,
    members: &'m [Member],
    claim: &SubmittedClaim,
) -> Result<Insured<'m>, ClaimRejection> {
    if payer.unavailable {
        return Err(ClaimRejection::Unavailable);
    }
    if records_differ(&claim.payer_id, &payer.id) {
        return Err(ClaimRejection::OtherPayer);
    }
    if !is_npi(&claim.provider_npi) {
        return Err(ClaimRejection::ProviderNpi);
    }
    if !payer.providers.is_empty() && !payer.providers.contains(&claim.provider_npi) {
        return Err(ClaimRejection::ProviderNotFound);
    }
    let member = find::member(members, &claim.subscriber).map_err(|wrong| match wrong {
        super::Rejection::BirthDate | super::Rejection::BirthDateDiffers => {
            ClaimRejection::BirthDate
        }
        super::Rejection::MemberName => ClaimRejection::Name,
        _ => ClaimRejection::SubscriberNotFound,
    })?;
    let dependent = match &claim.dependent {
        None => None,
        Some(person) => Some(dependent(member, person)?),
    };
    if !claim.adds_up() {
        return Err(ClaimRejection::Charges);
    }
    Ok(Insured { member, dependent })
}

/// Ids of payers are compared without spaces and case.
fn records_differ(one: &str, other: &str) -> bool {
    !one.trim().eq_ignore_ascii_case(other.trim())
}

fn dependent<'m>(member: &'m Member, person: &Person) -> Result<&'m str, ClaimRejection> {
    let found = find::dependent(member, person).map_err(|wrong| match wrong {
        super::Rejection::BirthDate | super::Rejection::BirthDateDiffers => {
            ClaimRejection::BirthDate
        }
        _ => ClaimRejection::PatientNotFound,
    })?;
    Ok(&found.first_name)
}

/// One 835 for all claims of a provider that are decided at the same time.
fn remittances(
    payer: &Payer,
    receipts: &[Receipt<'_>],
    adjudicate: &mut dyn Adjudicate,
) -> Vec<(Timestamp, Vec<Segment>)> {
    let mut batches: Vec<(Timestamp, &str, Vec<remittance::Decided<'_>>)> = Vec::new();
    for receipt in receipts {
        let Ok(decided) = &receipt.verdict else {
            continue;
        };
        let Some(at) = decided.at else { continue };
        let provider = receipt.claim.provider_npi.as_str();
        let one = remittance::Decided {
            claim: receipt.claim,
            decided,
        };
        match batches
            .iter_mut()
            .find(|(time, npi, _)| (*time, *npi) == (at, provider))
        {
            Some((_, _, batch)) => batch.push(one),
            None => batches.push((at, provider, vec![one])),
        }
    }
    batches.sort_by_key(|(at, _, _)| *at);
    batches
        .into_iter()
        .map(|(at, _, batch)| {
            let ids = batch.iter().map(|one| one.decided.claim_id.as_str());
            let number = adjudicate.pay(&ids.collect::<Vec<_>>());
            (at, remittance::body(payer, &number, &batch, at))
        })
        .collect()
}

fn money(cents: u64) -> String {
    Amount::of_cents(cents).to_x12()
}
