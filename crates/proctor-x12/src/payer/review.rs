//! 278 request → 278 response. The determination itself is made elsewhere, so that a portal and
//! X12 come to the same one; here it is put into words.

use std::collections::HashMap;

use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Member, Payer, Rejection, find,
    outline::Outline,
    question::{Person, answer_header, answer_traces},
};
use crate::{
    day::Day,
    segment::Segment,
    syntax::{self, Level},
};

/// What the payer decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeterminationStatus {
    /// A1: certified in total.
    Approved,
    /// A2: certified in part.
    PartiallyApproved,
    /// A3: not certified.
    Denied,
    /// A4: pended.
    Pending,
    /// A4, with what is needed said in the reason.
    NeedMoreInfo,
    /// A6: certified with changes.
    Modified,
}

impl DeterminationStatus {
    /// HCR01.
    pub const fn action(self) -> &'static str {
        match self {
            Self::Approved => "A1",
            Self::PartiallyApproved => "A2",
            Self::Denied => "A3",
            Self::Pending | Self::NeedMoreInfo => "A4",
            Self::Modified => "A6",
        }
    }
}

/// A decision about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Determination {
    /// What was decided.
    pub status: DeterminationStatus,
    /// Why, in words: at most 264 characters of it are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, as a decision reason code (code source 886).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    /// The number of the authorization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_number: Option<String>,
}

/// Who decides.
pub trait Determine {
    /// Decides about one request; called once for each that reaches a decision, in order.
    fn determine(&mut self, request: &ReviewRequest) -> Determination;
}

impl<F: FnMut(&ReviewRequest) -> Determination> Determine for F {
    fn determine(&mut self, request: &ReviewRequest) -> Determination {
        self(request)
    }
}

/// What is asked for, in the words that determination rules use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewRequest {
    /// The sender's own number of the request (TRN02).
    pub trace_number: String,
    /// The subscriber's id.
    pub patient_member_id: String,
    /// The patient's family name.
    pub patient_last_name: String,
    /// The patient's given name.
    pub patient_first_name: String,
    /// The patient's day of birth.
    pub patient_birth_date: Day,
    /// The NPI of who asks.
    pub provider_npi: String,
    /// UM01: `HS` health services, `SC` specialty care, `AR` admission, `IN` individual.
    pub category: String,
    /// UM02: `I` initial, `R` renewal, `3` cancel, …
    pub certification_type: String,
    /// ICD-10 codes without dots, the principal one first.
    pub diagnosis_codes: Vec<String>,
    /// The services, one per SS level; empty when only the event is asked for.
    pub services: Vec<ReviewService>,
    /// What was written to the reviewer (MSG).
    pub clinical_notes: Option<String>,
}

/// One service that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewService {
    /// HCPCS, CPT, revenue or dental code.
    pub procedure_code: String,
    /// How many units; empty when not said.
    pub quantity: String,
}

/// The body of the 278 that answers a 278 whose syntax was accepted.
pub fn answer(
    payer: &Payer,
    members: &[Member],
    question: &[Segment],
    determine: &mut dyn Determine,
    at: Timestamp,
) -> Vec<Segment> {
    let nodes = syntax::tree(question);
    let level = |index: usize| &question[nodes[index].segments.clone()];
    let mut outline = Outline::default();
    let mut answers: HashMap<usize, usize> = HashMap::new();
    let mut provider_npi = String::new();
    let mut patient: Option<(&Member, Person)> = None;
    let mut decided: HashMap<usize, Determination> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let parent = node.parent.and_then(|parent| answers.get(&parent).copied());
        let here = level(index);
        let name = here.iter().find(|one| one.tag == "NM1");
        let answered = match (node.level, parent) {
            (Level::Source, _) => {
                let mut segments = vec![payer.named(name.map_or("X3", |name| name.text(1)))];
                if payer.unavailable {
                    segments.push(Rejection::UnableToRespond.segment());
                }
                let place = outline.add(None, "20", segments);
                (!payer.unavailable).then_some(place)
            }
            (Level::Receiver, Some(parent)) => name.and_then(|name| {
                let admitted = payer.admits(name);
                name.text(9).clone_into(&mut provider_npi);
                let mut segments = vec![name.clone()];
                segments.extend(admitted.err().map(Rejection::segment));
                let place = outline.add(Some(parent), "21", segments);
                admitted.is_ok().then_some(place)
            }),
            (Level::Subscriber, Some(parent)) => {
                let person = Person::read(here, "IL");
                match find::member(members, &person) {
                    Err(rejection) => {
                        let segments = rejected(&person, "IL", rejection);
                        outline.add(Some(parent), "22", segments);
                        None
                    }
                    Ok(member) => {
                        let found = Person {
                            member_id: member.member_id.clone(),
                            last_name: member.last_name.clone(),
                            first_name: member.first_name.clone(),
                            birth_date: Some(member.birth_date),
                            birth_date_unreadable: false,
                        };
                        let mut segments = vec![member.named("IL")];
                        segments.extend(found.birth());
                        patient = Some((member, found));
                        Some(outline.add(Some(parent), "22", segments))
                    }
                }
            }
            (Level::Dependent, Some(parent)) => {
                let person = Person::read(here, "QC");
                let found = patient.as_mut().map(|(member, patient)| {
                    find::dependent(member, &person).map(|found| {
                        patient.last_name.clone_from(&found.last_name);
                        patient.first_name.clone_from(&found.first_name);
                        patient.birth_date = Some(found.birth_date);
                        let mut segments = vec![found.named("QC")];
                        segments.extend(patient.birth());
                        segments
                    })
                });
                found.and_then(|found| match found {
                    Err(rejection) => {
                        let segments = rejected(&person, "QC", rejection);
                        outline.add(Some(parent), "23", segments);
                        None
                    }
                    Ok(segments) => Some(outline.add(Some(parent), "23", segments)),
                })
            }
            (Level::Event, Some(parent)) => patient.as_ref().and_then(|(member, person)| {
                let services = (index + 1..nodes.len())
                    .filter(|child| nodes[*child].parent == Some(index))
                    .filter_map(|child| service(level(child)));
                let request = ReviewRequest {
                    patient_member_id: member.member_id.clone(),
                    patient_last_name: person.last_name.clone(),
                    patient_first_name: person.first_name.clone(),
                    patient_birth_date: person.birth_date.unwrap_or(member.birth_date),
                    provider_npi: provider_npi.clone(),
                    trace_number: first_text(here, "TRN", 2),
                    category: first_text(here, "UM", 1),
                    certification_type: first_text(here, "UM", 2),
                    diagnosis_codes: diagnosis_codes(here),
                    services: services.collect(),
                    clinical_notes: Some(first_text(here, "MSG", 1)).filter(|it| !it.is_empty()),
                };
                let decision = determine.determine(&request);
                let segments = repeated(here, &decision, &["UM"], &["DTP", "HI"], true);
                decided.insert(index, decision);
                Some(outline.add(Some(parent), "EV", segments))
            }),
            (Level::Service, Some(parent)) => {
                let decision = node.parent.and_then(|parent| decided.get(&parent));
                decision.map(|decision| {
                    let after = ["DTP", "HI", "SV1", "SV2", "SV3", "TOO", "HSD"];
                    let segments = repeated(here, decision, &["UM"], &after, false);
                    outline.add(Some(parent), "SS", segments)
                })
            }
            _ => None,
        };
        answers.extend(answered.map(|place| (index, place)));
    }
    let mut body = vec![answer_header("0007", "11", question, at)];
    body.extend(outline.finish());
    body
}

fn rejected(person: &Person, entity: &str, rejection: Rejection) -> Vec<Segment> {
    let mut segments = vec![person.name(entity), rejection.segment()];
    segments.extend(person.birth());
    segments
}

/// A level of the question with the decision in it.
fn repeated(
    level: &[Segment],
    decision: &Determination,
    before: &[&str],
    after: &[&str],
    with_reason: bool,
) -> Vec<Segment> {
    let named = |tags: &[&str]| {
        let kept = level.iter().filter(|one| tags.contains(&one.tag.as_str()));
        kept.cloned().collect::<Vec<_>>()
    };
    let mut segments: Vec<_> = answer_traces(level).collect();
    segments.extend(named(before));
    let number = decision.auth_number.as_deref().unwrap_or("");
    let code = decision.reason_code.as_deref().unwrap_or("");
    segments.push(Segment::new(
        "HCR",
        [decision.status.action(), number, code],
    ));
    segments.extend(named(after));
    if let (true, Some(reason)) = (with_reason, &decision.reason) {
        let reason: String = reason.chars().take(264).collect();
        segments.push(Segment::new("MSG", [reason]));
    }
    segments
}

fn first_text(level: &[Segment], tag: &str, element: usize) -> String {
    let first = level.iter().find(|one| one.tag == tag);
    first.map_or("", |one| one.text(element)).to_owned()
}

fn diagnosis_codes(level: &[Segment]) -> Vec<String> {
    let codes = level.iter().find(|one| one.tag == "HI");
    codes
        .map_or(&[][..], |one| &one.elements)
        .iter()
        .filter_map(|element| element.repetition(1))
        .map(|one| one.component(2).to_owned())
        .filter(|code| !code.is_empty())
        .collect()
}

fn service(level: &[Segment]) -> Option<ReviewService> {
    level.iter().find_map(|one| {
        let (code, quantity) = match one.tag.as_str() {
            "SV1" => (one.component(1, 2), 4),
            "SV2" => (one.component(2, 2), 5),
            "SV3" => (one.component(1, 2), 6),
            _ => return None,
        };
        Some(ReviewService {
            procedure_code: code.to_owned(),
            quantity: one.text(quantity).to_owned(),
        })
    })
}
