//! What an 837P says, claim by claim.

use proctor_x12::{
    day::Day,
    segment::Segment,
    syntax::{self, Level},
};
use serde::{Deserialize, Serialize};

use crate::x12::{Amount, Person};

/// An 837P.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// BHT03: what the sender calls it.
    pub reference: String,
    /// Who sends it: the name and the id of NM1 with 41.
    pub submitter: (String, String),
    /// Its claims in order.
    pub claims: Vec<SubmittedClaim>,
}

/// A claim as a provider sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmittedClaim {
    /// CLM01: what the provider calls it, and every answer after that.
    pub patient_account: String,
    /// CLM02.
    pub charge: String,
    /// CLM05-1.
    pub place_of_service: String,
    /// CLM05-3: 1 is an original, 7 replaces an earlier one.
    pub frequency: String,
    /// Who bills.
    pub provider_name: String,
    /// The NPI of who bills.
    pub provider_npi: String,
    /// The payer it is for.
    pub payer_id: String,
    /// SBR09: what kind of plan it is.
    pub filing_indicator: String,
    /// The subscriber.
    pub subscriber: Person,
    /// The dependent it is for, if it is for one.
    pub dependent: Option<Person>,
    /// ICD-10 codes, without dots.
    pub diagnosis_codes: Vec<String>,
    /// REF G1: the payer's authorization.
    pub authorization_number: Option<String>,
    /// REF F8: the payer's number of the claim that this one replaces.
    pub original_claim_id: Option<String>,
    /// The services.
    pub lines: Vec<SubmittedLine>,
}

/// One service of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmittedLine {
    /// HCPCS or CPT code.
    pub procedure_code: String,
    /// Its modifiers.
    pub modifiers: Vec<String>,
    /// SV102.
    pub charge: String,
    /// SV104.
    pub units: String,
    /// First and last day.
    pub days: (Day, Day),
    /// REF 6R: what the provider calls the service.
    pub control_number: Option<String>,
    /// REF G1 of the service.
    pub authorization_number: Option<String>,
}

impl SubmittedClaim {
    /// Whether all charges are money, and those of the services make that of the claim.
    pub(super) fn adds_up(&self) -> bool {
        let cents = |text: &str| Amount::parse(text).and_then(|amount| amount.cents());
        let lines: Option<u64> = self.lines.iter().map(|line| cents(&line.charge)).sum();
        lines.is_some() && lines == cents(&self.charge)
    }

    /// First and last day of all services.
    pub fn days(&self) -> Option<(Day, Day)> {
        let first = self.lines.iter().map(|line| line.days.0).min()?;
        let last = self.lines.iter().map(|line| line.days.1).max()?;
        Some((first, last))
    }

    /// The NM1 segment of the person it is for, with the subscriber's id.
    pub(super) fn patient(&self) -> Segment {
        let person = self.dependent.as_ref().unwrap_or(&self.subscriber);
        let (last, first) = (&person.last_name, &person.first_name);
        let id = &self.subscriber.member_id;
        Segment::new("NM1", ["QC", "1", last, first, "", "", "", "MI", id])
    }
}

impl SubmittedLine {
    /// What is billed, in cents. Claims that are decided have charges that are money.
    pub fn cents(&self) -> u64 {
        let amount = Amount::parse(&self.charge);
        amount.and_then(|amount| amount.cents()).unwrap_or_default()
    }
}

impl Submission {
    /// Reads the segments of an 837P whose syntax was accepted.
    pub fn read(segments: &[Segment]) -> Self {
        let header = segments.iter().find(|one| one.tag == "BHT");
        let submitter = named(segments, "41");
        let mut claims = Vec::new();
        let mut payer_id = String::new();
        let mut provider = (String::new(), String::new());
        let mut subscriber = Person::default();
        let mut filing_indicator = String::new();
        for node in syntax::tree(segments) {
            let level = &segments[node.segments.clone()];
            let until = level.iter().position(|one| one.tag == "CLM");
            let head = &level[..until.unwrap_or(level.len())];
            let dependent = match node.level {
                Level::Source => {
                    provider = named(head, "85");
                    continue;
                }
                Level::Subscriber => {
                    subscriber = Person::read(head, "IL");
                    payer_id = named(head, "PR").1;
                    let kind = head.iter().find(|one| one.tag == "SBR");
                    filing_indicator = kind.map_or("", |one| one.text(9)).to_owned();
                    None
                }
                Level::Dependent => Some(Person::read(head, "QC")),
                _ => continue,
            };
            let billed = level.chunk_by(|_, next| next.tag != "CLM");
            for billed in billed.filter(|chunk| chunk[0].tag == "CLM") {
                claims.push(SubmittedClaim {
                    provider_name: provider.0.clone(),
                    provider_npi: provider.1.clone(),
                    payer_id: payer_id.clone(),
                    filing_indicator: filing_indicator.clone(),
                    subscriber: subscriber.clone(),
                    dependent: dependent.clone(),
                    ..claim(billed)
                });
            }
        }
        Self {
            reference: header.map_or("", |one| one.text(3)).to_owned(),
            submitter,
            claims,
        }
    }
}

/// Name and id of an NM1 segment.
fn named(segments: &[Segment], entity: &str) -> (String, String) {
    let found = segments
        .iter()
        .find(|one| one.tag == "NM1" && one.text(1) == entity);
    let text = |number: usize| found.map_or("", |one| one.text(number));
    let name = [text(4), text(3)].join(" ").trim().to_owned();
    (name, text(9).to_owned())
}

fn reference(segments: &[Segment], qualifier: &str) -> Option<String> {
    let found = segments
        .iter()
        .find(|one| one.tag == "REF" && one.text(1) == qualifier)?;
    Some(found.text(2).to_owned())
}

/// What the segments of a claim say, from its CLM on.
fn claim(segments: &[Segment]) -> SubmittedClaim {
    let first = segments.iter().position(|one| one.tag == "LX");
    let (whole, lines) = segments.split_at(first.unwrap_or(segments.len()));
    let header = &segments[0];
    let diagnoses = whole.iter().filter(|one| one.tag == "HI");
    let diagnoses = diagnoses.flat_map(|one| (1..=one.elements.len()).map(move |at| (one, at)));
    SubmittedClaim {
        patient_account: header.text(1).to_owned(),
        charge: header.text(2).to_owned(),
        place_of_service: header.component(5, 1).to_owned(),
        frequency: header.component(5, 3).to_owned(),
        provider_name: String::new(),
        provider_npi: String::new(),
        payer_id: String::new(),
        filing_indicator: String::new(),
        subscriber: Person::default(),
        dependent: None,
        diagnosis_codes: diagnoses
            .filter(|(one, at)| matches!(one.component(*at, 1), "ABK" | "ABF" | "BK" | "BF"))
            .map(|(one, at)| one.component(at, 2).to_owned())
            .collect(),
        authorization_number: reference(whole, "G1"),
        original_claim_id: reference(whole, "F8"),
        lines: lines
            .chunk_by(|_, next| next.tag != "LX")
            .filter_map(line)
            .collect(),
    }
}

/// What the segments of a service say, from its LX on.
fn line(segments: &[Segment]) -> Option<SubmittedLine> {
    let service = segments.iter().find(|one| one.tag == "SV1")?;
    let day = segments
        .iter()
        .find(|one| one.tag == "DTP" && one.text(1) == "472")?;
    let modifiers = (3..=6).map(|at| service.component(1, at).to_owned());
    Some(SubmittedLine {
        procedure_code: service.component(1, 2).to_owned(),
        modifiers: modifiers.filter(|one| !one.is_empty()).collect(),
        charge: service.text(2).to_owned(),
        units: service.text(4).to_owned(),
        days: Day::range_from_x12(day.text(2), day.text(3))?,
        control_number: reference(segments, "6R"),
        authorization_number: reference(segments, "G1"),
    })
}
