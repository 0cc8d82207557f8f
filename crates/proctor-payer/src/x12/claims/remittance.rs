//! The 835. It balances by construction: for each service the charge less its adjustments is what is paid, and the payment is
//! the sum of what is paid.

use proctor_core::time::Timestamp;
use proctor_x12::{
    day::Day,
    segment::{Element, Segment},
};

use super::{Adjudicated, AdjudicatedLine, AdjustmentGroup, SubmittedClaim, SubmittedLine, money};
use crate::x12::{Address, Payer};

/// A claim and what was decided about it.
pub(super) struct Decided<'c> {
    pub(super) claim: &'c SubmittedClaim,
    pub(super) decided: &'c Adjudicated,
}

/// CLP02: processed as primary, denied.
const PROCESSED: &str = "1";
const DENIED: &str = "4";
/// CLP06 where the claim does not say what kind of plan it is.
const OTHER_PLAN: &str = "12";
/// CAS has room for six reasons of one group.
const MOST_REASONS: usize = 6;

/// The body of the 835 that pays for the claims of one provider.
pub(super) fn body(
    payer: &Payer,
    check_number: &str,
    batch: &[Decided<'_>],
    at: Timestamp,
) -> Vec<Segment> {
    let day = Day::of(at).to_x12();
    let paid: u64 = batch.iter().map(|one| one.decided.paid()).sum();
    let (handling, method) = match paid {
        0 => ("H", "NON"),
        _ => ("I", "CHK"),
    };
    let mut payment = vec![handling, "", "C", method];
    payment.extend([""; 11]);
    payment.push(&day);
    let mut payment = Segment::new("BPR", payment);
    payment.elements[1] = money(paid).into();
    let originator = format!("1{:0>9}", payer.tax_id.as_deref().unwrap_or("999999999"));
    let mut body = vec![
        payment,
        Segment::new("TRN", ["1", check_number, &originator]),
        Segment::new("DTM", ["405", &day]),
        Segment::new("N1", ["PR", payer.name.as_str()]),
    ];
    body.extend(address(payer));
    let phone = payer.phone.as_deref().unwrap_or("8005550100");
    let phone: String = phone.chars().filter(char::is_ascii_digit).collect();
    body.push(Segment::new(
        "PER",
        ["BL", "PROVIDER SERVICES", "TE", &phone],
    ));
    if let Some(first) = batch.first() {
        let name = first.claim.provider_name.as_str();
        let npi = first.claim.provider_npi.as_str();
        body.push(Segment::new("N1", ["PE", name, "XX", npi]));
    }
    body.push(Segment::new("LX", ["1"]));
    for one in batch {
        body.extend(claim(one));
    }
    body
}

fn address(payer: &Payer) -> [Segment; 2] {
    let usual = Address {
        line: "PO BOX 100".to_owned(),
        city: "SPRINGFIELD".to_owned(),
        state: "IL".to_owned(),
        postal_code: "62701".to_owned(),
    };
    let Address {
        line,
        city,
        state,
        postal_code,
    } = payer.address.as_ref().unwrap_or(&usual);
    [
        Segment::new("N3", [line.as_str()]),
        Segment::new("N4", [city, state, postal_code].map(String::as_str)),
    ]
}

fn claim(one: &Decided<'_>) -> Vec<Segment> {
    let Decided { claim, decided } = one;
    let is_denied = decided.is_denied();
    let charge: u64 = claim.lines.iter().map(SubmittedLine::cents).sum();
    let owed = decided.patient_responsibility();
    let owed = if owed == 0 {
        String::new()
    } else {
        money(owed)
    };
    let kind = match claim.filing_indicator.as_str() {
        known @ ("12" | "13" | "14" | "15" | "16" | "17" | "AM" | "CH" | "DS" | "HM" | "LM"
        | "MA" | "MB" | "MC" | "OF" | "TV" | "VA" | "WC" | "ZZ") => known,
        _ => OTHER_PLAN,
    };
    let mut segments = vec![Segment::new(
        "CLP",
        [
            claim.patient_account.as_str(),
            if is_denied { DENIED } else { PROCESSED },
            &money(charge),
            &money(decided.paid()),
            &owed,
            kind,
            &decided.claim_id,
            &claim.place_of_service,
            &claim.frequency,
        ],
    )];
    segments.push(claim.patient());
    if claim.dependent.is_some() {
        segments.push(claim.subscriber.name("IL"));
    }
    if let Some(number) = &claim.original_claim_id {
        segments.push(Segment::new("REF", ["F8", number]));
    }
    if let Some(number) = &claim.authorization_number {
        segments.push(Segment::new("REF", ["G1", number]));
    }
    if let Some((first, last)) = claim.days() {
        segments.push(Segment::new("DTM", ["232", &first.to_x12()]));
        segments.push(Segment::new("DTM", ["233", &last.to_x12()]));
    }
    let lines = claim.lines.iter().zip(&decided.lines);
    segments.extend(lines.flat_map(|(billed, decided)| line(billed, decided)));
    segments
}

fn line(billed: &SubmittedLine, decided: &AdjudicatedLine) -> Vec<Segment> {
    let code = ["HC", &billed.procedure_code].map(str::to_owned);
    let code = code.into_iter().chain(billed.modifiers.iter().cloned());
    let mut segments = vec![Segment::new(
        "SVC",
        [
            Element::composite(code),
            money(billed.cents()).into(),
            money(decided.paid).into(),
            Element::empty(),
            billed.units.as_str().into(),
        ],
    )];
    let (first, last) = billed.days;
    if first == last {
        segments.push(Segment::new("DTM", ["472", &first.to_x12()]));
    } else {
        segments.push(Segment::new("DTM", ["150", &first.to_x12()]));
        segments.push(Segment::new("DTM", ["151", &last.to_x12()]));
    }
    for group in [
        AdjustmentGroup::Co,
        AdjustmentGroup::Pr,
        AdjustmentGroup::Oa,
        AdjustmentGroup::Pi,
    ] {
        let adjustments = decided.adjustments.iter();
        let of_group: Vec<_> = adjustments.filter(|one| one.group == group).collect();
        for some in of_group.chunks(MOST_REASONS) {
            let mut elements = vec![group.code().to_owned()];
            for (index, one) in some.iter().enumerate() {
                if index > 0 {
                    // The number of units, which does not change.
                    elements.push(String::new());
                }
                elements.extend([one.reason.clone(), money(one.amount)]);
            }
            segments.push(Segment::new("CAS", elements));
        }
    }
    if let Some(number) = &billed.control_number {
        segments.push(Segment::new("REF", ["6R", number]));
    }
    if !decided.denied {
        segments.push(Segment::new("AMT", ["B6", &money(decided.allowed)]));
    }
    let remarks = decided.remarks.iter();
    segments.extend(remarks.map(|code| Segment::new("LQ", ["HE", code])));
    segments
}
