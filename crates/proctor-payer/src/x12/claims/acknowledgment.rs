//! The 277CA: what of an 837P was taken, and why the rest was not.

use std::collections::BTreeMap;

use proctor_core::time::Timestamp;
use proctor_x12::{
    day::Day,
    segment::{Element, Segment},
};

use super::{ClaimRejection, Receipt, Submission, money};
use crate::x12::{
    Amount, Payer,
    outline::Outline,
    question::{days, header},
};

/// STC01 of what was received, and of a claim that was taken.
const RECEIVED: [&str; 3] = ["A1", "19", ""];
const TAKEN: [&str; 3] = ["A2", "20", ""];

/// The body of the 277CA.
pub(super) fn body(
    payer: &Payer,
    submission: &Submission,
    receipts: &[Receipt<'_>],
    now: Timestamp,
) -> Vec<Segment> {
    let today = Day::of(now);
    let day = |qualifier: &str| days(qualifier, (today, today));
    let mut outline = Outline::default();
    let source = outline.add(
        None,
        "20",
        vec![
            payer.named("PR"),
            Segment::new("TRN", ["1", submission.reference.as_str()]),
            day("050"),
            day("009"),
        ],
    );
    let unavailable = payer.unavailable.then_some(ClaimRejection::Unavailable);
    let (name, id) = &submission.submitter;
    let mut receiver = vec![
        Segment::new("NM1", ["41", "2", name, "", "", "", "", "46", id]),
        Segment::new("TRN", ["2", submission.reference.as_str()]),
        status(
            unavailable.map_or(RECEIVED, ClaimRejection::codes),
            Some(today),
            unavailable.is_none(),
            &money(charges(receipts.iter())),
        ),
    ];
    receiver.extend(counts(receipts.iter(), ["90", "AA"]));
    let receiver = outline.add(Some(source), "21", receiver);
    for (npi, of_provider) in by_provider(receipts) {
        let name = &of_provider[0].claim.provider_name;
        let total = money(charges(of_provider.iter().copied()));
        let mut provider = vec![
            Segment::new("NM1", ["85", "2", name, "", "", "", "", "XX", npi]),
            Segment::new("TRN", ["1", "0"]),
            // The guide has no day here.
            status(RECEIVED, None, true, &total),
        ];
        provider.extend(counts(of_provider.iter().copied(), ["QA", "QC"]));
        let provider = outline.add(Some(receiver), "19", provider);
        for receipt in of_provider {
            outline.add(Some(provider), "PT", patient(receipt, today));
        }
    }
    let mut first = header("0085", "08", &submission.reference, now);
    first.elements.push("TH".into());
    let mut body = vec![first];
    body.extend(outline.finish());
    body
}

/// The receipts of each billing provider, in the order in which they first stand.
fn by_provider<'a, 's>(receipts: &'a [Receipt<'s>]) -> Vec<(&'a str, Vec<&'a Receipt<'s>>)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<(&str, Vec<&Receipt<'s>>)> = Vec::new();
    for receipt in receipts {
        let npi = receipt.claim.provider_npi.as_str();
        let place = *places.entry(npi).or_insert(all.len());
        match all.get_mut(place) {
            Some((_, of_provider)) => of_provider.push(receipt),
            None => all.push((npi, vec![receipt])),
        }
    }
    all
}

fn charges<'a, 's: 'a>(receipts: impl Iterator<Item = &'a Receipt<'s>>) -> u64 {
    receipts.map(|one| charge(one)).sum()
}

/// What a claim bills, in cents; what is no amount of money counts nothing.
fn charge(receipt: &Receipt<'_>) -> u64 {
    let amount = Amount::parse(&receipt.claim.charge);
    amount.and_then(|amount| amount.cents()).unwrap_or_default()
}

/// How many claims were taken and how many were not, and what they bill.
fn counts<'a, 's: 'a>(
    receipts: impl Iterator<Item = &'a Receipt<'s>>,
    qualifiers: [&str; 2],
) -> Vec<Segment> {
    let (taken, refused): (Vec<_>, Vec<_>) = receipts.partition(|one| one.verdict.is_ok());
    let mut quantities = Vec::new();
    let mut amounts = Vec::new();
    for (group, quantity, amount) in [(taken, qualifiers[0], "YU"), (refused, qualifiers[1], "YY")]
    {
        if group.is_empty() {
            continue;
        }
        quantities.push(Segment::new("QTY", [quantity, &group.len().to_string()]));
        let total = money(charges(group.into_iter()));
        amounts.push(Segment::new("AMT", [amount, &total]));
    }
    quantities.into_iter().chain(amounts).collect()
}

fn status(codes: [&str; 3], day: Option<Day>, is_taken: bool, amount: &str) -> Segment {
    let action = if is_taken { "WQ" } else { "U" };
    Segment::new(
        "STC",
        [
            Element::composite(codes),
            day.map_or_else(Element::empty, |day| day.to_x12().into()),
            action.into(),
            amount.into(),
        ],
    )
}

fn patient(receipt: &Receipt<'_>, today: Day) -> Vec<Segment> {
    let claim = receipt.claim;
    let codes = match &receipt.verdict {
        Ok(_) => TAKEN,
        Err(rejection) => rejection.codes(),
    };
    let total = money(charge(receipt));
    let mut segments = vec![
        claim.patient(),
        Segment::new("TRN", ["2", claim.patient_account.as_str()]),
        status(codes, Some(today), receipt.verdict.is_ok(), &total),
    ];
    if let Ok(taken) = &receipt.verdict {
        segments.push(Segment::new("REF", ["1K", taken.claim_id.as_str()]));
    }
    let served = claim.days().unwrap_or((today, today));
    segments.push(days("472", served));
    segments
}
