//! A payer with members and claims, read from the same kind of file that a data set is, and what
//! it takes to ask it something.

use proctor_core::time::Timestamp;
use proctor_payer::x12::{
    Amount, Claim, ClaimStatusQuestion, Determination, DeterminationStatus, EligibilityQuestion,
    Gender, Member, Payer, Person, ReviewQuestion, ReviewRequest,
    claims::{
        Adjudicate, Adjudicated, AdjudicatedLine, Adjustment, AdjustmentGroup, Bill, BillLine,
        ClaimRejection, Insured, SubmittedClaim, bills,
    },
    exchange::{self, Acknowledge, Deciders, Knowledge, Reply},
};
use proctor_x12::{
    build::{ControlNumbers, Envelope, Party},
    interchange::Document,
    segment::Segment,
    transaction_set::TransactionSet,
};
use serde::Deserialize;

/// A payer and all it knows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct World {
    pub(crate) payer: Payer,
    pub(crate) members: Vec<Member>,
    pub(crate) claims: Vec<Claim>,
}

pub(crate) const NPI: &str = "1234567893";
/// 2026-04-21 17:00 UTC.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_776_790_800_000);

pub(crate) fn world() -> World {
    serde_json::from_str(include_str!("../fixtures/payer.json")).unwrap()
}

/// Approves 72148, denies 70450, wants more about 70551, and pends the rest.
pub(crate) fn determine(request: &ReviewRequest) -> Determination {
    let code = request
        .services
        .first()
        .map_or("", |one| &one.procedure_code);
    let (status, reason, auth_number) = match code {
        "72148" => (DeterminationStatus::Approved, None, Some("AUTH-0001")),
        "70450" => (
            DeterminationStatus::Denied,
            Some("Not medically necessary."),
            None,
        ),
        "70551" => (
            DeterminationStatus::NeedMoreInfo,
            Some("Send the last two progress notes."),
            None,
        ),
        "97110" => (
            DeterminationStatus::PartiallyApproved,
            Some("12 of 20 visits."),
            Some("AUTH-0002"),
        ),
        "70553" => (
            DeterminationStatus::Modified,
            Some("Certified without contrast."),
            Some("AUTH-0003"),
        ),
        _ => (DeterminationStatus::Pending, None, None),
    };
    Determination {
        status,
        reason: reason.map(str::to_owned),
        reason_code: None,
        auth_number: auth_number.map(str::to_owned),
    }
}

/// Pays half of every service the next day, and nothing for 70450. Of what is left half is the contract's, half the patient's.
#[derive(Default)]
pub(crate) struct Halves {
    taken: usize,
}

impl Adjudicate for Halves {
    fn adjudicate(
        &mut self,
        claim: &SubmittedClaim,
        _: &Insured<'_>,
    ) -> Result<Adjudicated, ClaimRejection> {
        self.taken += 1;
        let lines = claim.lines.iter().map(|line| {
            let charge = line.cents();
            let denied = line.procedure_code == "70450";
            let paid = if denied { 0 } else { charge / 2 };
            let contract = if denied { charge } else { charge / 4 };
            let adjustment = |group, reason: &str, amount| Adjustment {
                group,
                reason: reason.to_owned(),
                amount,
            };
            let mut adjustments = vec![if denied {
                adjustment(AdjustmentGroup::Co, "197", contract)
            } else {
                adjustment(AdjustmentGroup::Co, "45", contract)
            }];
            if !denied {
                let rest = charge - paid - contract;
                adjustments.push(adjustment(AdjustmentGroup::Pr, "2", rest));
            }
            AdjudicatedLine {
                denied,
                paid,
                allowed: charge - contract,
                adjustments,
                remarks: if denied {
                    vec!["M62".to_owned()]
                } else {
                    Vec::new()
                },
            }
        });
        Ok(Adjudicated {
            claim_id: format!("C{:09}", self.taken),
            at: Some(NOW.plus(std::time::Duration::from_secs(86_400))),
            lines: lines.collect(),
        })
    }

    fn pay(&mut self, claim_ids: &[&str]) -> String {
        format!("{:08}", 1000 + claim_ids.len())
    }
}

/// A bill of Ada Smith's for some services, each with what it costs.
pub(crate) fn bill(account: &str, lines: &[(&str, &str)]) -> Bill {
    let lines = lines.iter().map(|(code, charge)| BillLine {
        procedure_code: (*code).to_owned(),
        modifiers: Vec::new(),
        charge: Amount::parse(charge).unwrap(),
        units: Amount::parse("1").unwrap(),
        days: ("2026-04-02".parse().unwrap(), "2026-04-02".parse().unwrap()),
    });
    let mut subscriber = person("BCB123456789");
    subscriber.birth_date = world().members[0].birth_date.into();
    Bill {
        reference: "REQ-4".to_owned(),
        patient_account: account.to_owned(),
        provider_name: "Lakeside Family Medicine".to_owned(),
        provider_npi: NPI.to_owned(),
        provider_address: None,
        subscriber,
        gender: Some(Gender::Female),
        dependent: None,
        place_of_service: "11".to_owned(),
        frequency: "1".to_owned(),
        diagnosis_codes: vec!["M54.16".to_owned()],
        authorization_number: Some("AUTH-0001".to_owned()),
        original_claim_id: None,
        lines: lines.collect(),
    }
}

pub(crate) fn sent_837(all: &[Bill]) -> String {
    let body = bills(all, &world().payer, NOW);
    sent(TransactionSet::ProfessionalClaim, body, false)
}

pub(crate) fn person(member_id: &str) -> Person {
    let (last_name, first_name) = match member_id {
        "BCB987654321" => ("O'Brien", "Liam"),
        _ => ("Smith", "Ada"),
    };
    Person {
        member_id: member_id.to_owned(),
        last_name: last_name.to_owned(),
        first_name: first_name.to_owned(),
        ..Person::default()
    }
}

pub(crate) fn inquiry(subscriber: Person, service_types: &[&str]) -> EligibilityQuestion {
    EligibilityQuestion {
        reference: "REQ-1".to_owned(),
        provider_npi: NPI.to_owned(),
        subscriber,
        dependent: None,
        service_types: service_types.iter().map(|&code| code.to_owned()).collect(),
    }
}

pub(crate) fn claim_question(claim_id: Option<&str>) -> ClaimStatusQuestion {
    ClaimStatusQuestion {
        reference: "REQ-2".to_owned(),
        provider_npi: NPI.to_owned(),
        subscriber: person("BCB123456789"),
        claim_id: claim_id.map(str::to_owned),
        service_days: None,
    }
}

pub(crate) fn review_question(procedure_code: &str) -> ReviewQuestion {
    ReviewQuestion {
        reference: "REQ-3".to_owned(),
        provider_npi: NPI.to_owned(),
        subscriber: person("BCB123456789"),
        diagnosis_codes: vec!["M54.16".to_owned(), "M51.26".to_owned()],
        procedure_code: procedure_code.to_owned(),
        clinical_notes: Some("Six weeks of therapy without relief.".to_owned()),
    }
}

/// An interchange from the provider to the payer.
pub(crate) fn sent(set: TransactionSet, body: Vec<Segment>, acknowledge: bool) -> String {
    let mut envelope = Envelope::between(Party::agreed("CLINIC"), Party::agreed("PROCTOR"), NOW);
    envelope.acknowledge = acknowledge;
    envelope.write(&mut ControlNumbers::from_seed(1), set, &[body])
}

pub(crate) fn sent_270(question: &EligibilityQuestion) -> String {
    let body = question.body(&world().payer, NOW);
    sent(TransactionSet::EligibilityInquiry, body, false)
}

pub(crate) fn sent_276(question: &ClaimStatusQuestion) -> String {
    let body = question.body(&world().payer, NOW);
    sent(TransactionSet::ClaimStatusRequest, body, false)
}

pub(crate) fn sent_278(question: &ReviewQuestion) -> String {
    let body = question.body(&world().payer, NOW);
    sent(TransactionSet::ReviewRequest, body, false)
}

/// Everything the payer answers.
pub(crate) fn replies(world: &World, input: &str) -> Vec<Reply> {
    let knowledge = Knowledge {
        payer: &world.payer,
        members: &world.members,
        claims: &world.claims,
    };
    let mut numbers = ControlNumbers::from_seed(7);
    let acknowledge = Acknowledge::WhenAsked;
    let mut deciders = Deciders {
        determine: &mut determine,
        adjudicate: &mut Halves::default(),
    };
    exchange::answer(
        input.as_bytes(),
        knowledge,
        &mut deciders,
        acknowledge,
        &mut numbers,
        NOW,
    )
    .unwrap()
}

/// The one interchange the payer answers.
pub(crate) fn reply(world: &World, input: &str) -> String {
    match replies(world, input).as_slice() {
        [only] => only.text.clone(),
        several => panic!("expected one reply, got {several:#?}"),
    }
}

/// The segments of the only transaction of an interchange.
pub(crate) fn transaction(text: &str) -> Vec<Segment> {
    let document = Document::read(text).unwrap();
    let all: Vec<_> = document.transactions().map(<[Segment]>::to_vec).collect();
    assert_eq!(all.len(), 1, "{text}");
    all.into_iter().next().unwrap()
}
