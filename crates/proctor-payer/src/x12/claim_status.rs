//! 276 → 277.

use proctor_core::time::Timestamp;

use super::{
    Amount, Claim, ClaimLine, ClaimStatus, Member, Payer, find,
    outline::{Answered, follow},
    question::{Person, answer_header, days},
};
use proctor_x12::{
    day::Day,
    segment::{Element, Segment},
    syntax::{self, Level},
};

/// STC01 of a claim that the payer does not have: acknowledged, not found.
const CLAIM_NOT_FOUND: [&str; 2] = ["A4", "35"];
/// STC01 of a search that failed before any claim was looked at.
const SUBSCRIBER_NOT_FOUND: [&str; 2] = ["D0", "33"];
const PATIENT_NOT_FOUND: [&str; 2] = ["D0", "97"];
const PAYER_UNAVAILABLE: [&str; 2] = ["E1", "0"];
const PROVIDER_NOT_FOUND: [&str; 3] = ["D0", "26", "1P"];

/// The body of the 277 that answers a 276 whose syntax was accepted.
pub fn answer(
    payer: &Payer,
    members: &[Member],
    claims: &[Claim],
    question: &[Segment],
    at: Timestamp,
) -> Vec<Segment> {
    let today = Day::of(at);
    let nodes = syntax::tree(question);
    let mut provider = "";
    let mut subscriber: Option<&Member> = None;
    let levels = follow(question, &nodes, |visit| match visit.node.level {
        Level::Source => Some(Answered {
            segments: vec![payer.named("PR")],
            go_on: true,
        }),
        Level::Receiver => {
            let mut segments = vec![visit.name()?.clone()];
            if payer.unavailable {
                segments.push(Segment::new("TRN", ["2", &reference(question)]));
                segments.push(status(&PAYER_UNAVAILABLE, today));
            }
            Some(Answered {
                segments,
                go_on: !payer.unavailable,
            })
        }
        Level::Provider => {
            let name = visit.name()?;
            provider = name.text(9);
            let admitted = payer.admits(name).is_ok();
            let mut segments = vec![name.clone()];
            if !admitted {
                segments.push(Segment::new("TRN", ["1", &reference(question)]));
                segments.push(status(&PROVIDER_NOT_FOUND, today));
            }
            Some(Answered {
                segments,
                go_on: admitted,
            })
        }
        Level::Subscriber => {
            let person = Person::read(visit.segments, "IL");
            subscriber = find::member(members, &person).ok();
            let name = subscriber.map_or_else(|| person.name("IL"), |found| found.named("IL"));
            let search = subscriber.map(|member| Search {
                member,
                dependent: None,
                provider,
            });
            let reports = reports(
                visit.segments,
                search.as_ref(),
                &SUBSCRIBER_NOT_FOUND,
                claims,
                today,
            );
            Some(Answered {
                segments: std::iter::once(name).chain(reports).collect(),
                go_on: true,
            })
        }
        Level::Dependent => {
            let person = Person::read(visit.segments, "QC");
            let found = subscriber.and_then(|member| {
                let dependent = find::dependent(member, &person).ok()?;
                Some((member, dependent))
            });
            let name = found.map_or_else(|| person.name("QC"), |(_, found)| found.named("QC"));
            let search = found.map(|(member, dependent)| Search {
                member,
                dependent: Some(&dependent.first_name),
                provider,
            });
            let reports = reports(
                visit.segments,
                search.as_ref(),
                &PATIENT_NOT_FOUND,
                claims,
                today,
            );
            Some(Answered {
                segments: std::iter::once(name).chain(reports).collect(),
                go_on: false,
            })
        }
        Level::Event | Level::Service | Level::Patient => None,
    });
    let mut header = answer_header("0010", "08", question, at);
    header.elements.push("DG".into());
    let mut body = vec![header];
    body.extend(levels);
    body
}

/// Whose claims are looked at.
struct Search<'m> {
    member: &'m Member,
    dependent: Option<&'m str>,
    provider: &'m str,
}

impl Search<'_> {
    fn finds(&self, claim: &Claim) -> bool {
        let provider = claim.provider_npi.as_deref();
        claim.member_id == self.member.member_id
            && claim.dependent_first_name.as_deref() == self.dependent
            && provider.is_none_or(|npi| npi == self.provider)
    }
}

fn reference(question: &[Segment]) -> String {
    let header = question.iter().find(|one| one.tag == "BHT");
    header.map_or("", |header| header.text(3)).to_owned()
}

/// What is known of each claim that a level asks about: each a TRN segment and what follows it.
/// Without a search to make, each is answered with the codes in `otherwise`.
fn reports(
    level: &[Segment],
    search: Option<&Search<'_>>,
    otherwise: &[&str],
    claims: &[Claim],
    today: Day,
) -> Vec<Segment> {
    let chunks = level.chunk_by(|_, next| next.tag != "TRN");
    let mut all = Vec::new();
    for asked in chunks.filter(|chunk| chunk[0].tag == "TRN") {
        let trace = Segment::new("TRN", ["2", asked[0].text(2)]);
        let Some(search) = search else {
            all.extend([trace, status(otherwise, today)]);
            continue;
        };
        let fitting = claims
            .iter()
            .filter(|claim| search.finds(claim) && fits(claim, asked));
        let before = all.len();
        for claim in fitting {
            all.push(trace.clone());
            all.extend(claim_segments(claim));
        }
        if all.len() == before {
            all.extend([trace, status(&CLAIM_NOT_FOUND, today)]);
        }
    }
    all
}

/// Whether a claim is what was asked for: by everything that was sent to tell it apart.
fn fits(claim: &Claim, asked: &[Segment]) -> bool {
    let by_line = asked.iter().position(|one| one.tag == "SVC");
    let whole = &asked[..by_line.unwrap_or(asked.len())];
    whole
        .iter()
        .all(|one| match (one.tag.as_str(), one.text(1)) {
            ("REF", "1K") => one.text(2) == claim.claim_id,
            ("REF", "EJ") => claim.patient_account.as_deref() == Some(one.text(2)),
            ("AMT", "T3") => {
                Amount::parse(one.text(2)).is_some_and(|amount| amount.equals(&claim.charge))
            }
            ("DTP", "472") => {
                Day::range_from_x12(one.text(2), one.text(3)).is_some_and(|(first, last)| {
                    let end = claim.service_to.unwrap_or(claim.service_from);
                    claim.service_from <= last && first <= end
                })
            }
            _ => true,
        })
}

fn status(codes: &[&str], day: Day) -> Segment {
    let codes = Element::composite(codes.iter().copied());
    Segment::new("STC", [codes, day.to_x12().into()])
}

fn claim_segments(claim: &Claim) -> Vec<Segment> {
    let text = |day: Option<Day>| day.map_or_else(String::new, Day::to_x12);
    let code = claim.status_code.as_deref();
    let code = code.unwrap_or(claim.status.usual_status_code());
    let adjudicated = match claim.status {
        ClaimStatus::Paid | ClaimStatus::Denied => Some(claim.status_date),
        _ => None,
    };
    let paid = claim
        .paid
        .as_ref()
        .map_or_else(|| "0".to_owned(), Amount::to_x12);
    let mut segments = vec![Segment::new(
        "STC",
        [
            Element::composite([claim.status.code(), code]),
            claim.status_date.to_x12().into(),
            Element::empty(),
            claim.charge.to_x12().into(),
            paid.into(),
            text(adjudicated).into(),
            Element::empty(),
            text(claim.paid_date).into(),
            claim.check_number.as_deref().unwrap_or("").into(),
        ],
    )];
    segments.push(Segment::new("REF", ["1K", &claim.claim_id]));
    if let Some(account) = &claim.patient_account {
        segments.push(Segment::new("REF", ["EJ", account]));
    }
    let period = (
        claim.service_from,
        claim.service_to.unwrap_or(claim.service_from),
    );
    segments.push(days("472", period));
    segments.extend(
        claim
            .lines
            .iter()
            .flat_map(|line| line_segments(claim, line)),
    );
    segments
}

fn line_segments(claim: &Claim, line: &ClaimLine) -> [Segment; 3] {
    let standing = line.status.unwrap_or(claim.status);
    let code = match (&line.status, &claim.status_code) {
        (None, Some(code)) => code,
        _ => standing.usual_status_code(),
    };
    let amount = |amount: Option<&Amount>, otherwise: &str| {
        amount.map_or_else(|| otherwise.to_owned(), Amount::to_x12)
    };
    let service = Segment::new(
        "SVC",
        [
            Element::composite(["HC", &line.procedure_code]),
            line.charge.to_x12().into(),
            amount(line.paid.as_ref(), "0").into(),
            Element::empty(),
            Element::empty(),
            Element::empty(),
            amount(line.units.as_ref(), "1").into(),
        ],
    );
    let day = days("472", (claim.service_from, claim.service_from));
    [
        service,
        status(&[standing.code(), code], claim.status_date),
        day,
    ]
}
