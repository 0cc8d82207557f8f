//! 278 request → 278 response. The determination itself is made elsewhere, so that a portal and
//! X12 come to the same one; here it is put into words.

use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Member, Payer, Rejection, find,
    outline::{Answered, Visit, follow},
    question::{Person, answer_header, answer_traces},
};
use proctor_x12::{
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
    let mut provider_npi = "";
    let mut patient: Option<Person> = None;
    let mut subscriber: Option<&Member> = None;
    let mut decision: Option<Determination> = None;
    let levels = follow(question, &nodes, |visit| match visit.node.level {
        Level::Source => {
            let entity = visit.name().map_or("X3", |name| name.text(1));
            Some(payer.answer_as_source(entity))
        }
        Level::Receiver => {
            let name = visit.name()?;
            provider_npi = name.text(9);
            Some(payer.answer_receiver(name))
        }
        Level::Subscriber => {
            let asked = Person::read(visit.segments, "IL");
            let found = find::member(members, &asked);
            subscriber = found.ok();
            patient = subscriber.map(Person::from);
            Some(identified(
                &asked,
                "IL",
                found.map(|member| member.named("IL")),
                patient.as_ref(),
            ))
        }
        Level::Dependent => {
            let asked = Person::read(visit.segments, "QC");
            let found = find::dependent(subscriber?, &asked);
            patient = found.ok().map(|found| Person {
                member_id: patient.take().unwrap_or_default().member_id,
                ..Person::from(found)
            });
            Some(identified(
                &asked,
                "QC",
                found.map(|found| found.named("QC")),
                patient.as_ref(),
            ))
        }
        Level::Event => {
            let request = read_request(visit, patient.as_ref()?, provider_npi)?;
            let decided = determine.determine(&request);
            let mut segments = repeated(visit.segments, &decided, &["DTP", "HI"]);
            let reason = decided.reason.as_deref();
            segments.extend(reason.map(|reason| Segment::new("MSG", [reason])));
            decision = Some(decided);
            Some(Answered {
                segments,
                go_on: true,
            })
        }
        Level::Service => {
            let kept = ["DTP", "HI", "SV1", "SV2", "SV3", "TOO", "HSD"];
            Some(Answered {
                segments: repeated(visit.segments, decision.as_ref()?, &kept),
                go_on: false,
            })
        }
        Level::Provider | Level::Patient => None,
    });
    let mut body = vec![answer_header("0007", "11", question, at)];
    body.extend(levels);
    body
}

/// The level of a person: as on file, or as asked about with the reason why that is not enough.
fn identified(
    asked: &Person,
    entity: &str,
    found: Result<Segment, Rejection>,
    on_file: Option<&Person>,
) -> Answered {
    let go_on = found.is_ok();
    let mut segments = match found {
        Ok(name) => vec![name],
        Err(rejection) => vec![asked.name(entity), rejection.segment()],
    };
    segments.extend(on_file.unwrap_or(asked).birth());
    Answered { segments, go_on }
}

/// A level of the question with the decision in it: traces and UM, then HCR, then what is `kept`.
fn repeated(level: &[Segment], decision: &Determination, kept: &[&str]) -> Vec<Segment> {
    let named = |tags: &[&str]| {
        let named = level.iter().filter(|one| tags.contains(&one.tag.as_str()));
        named.cloned().collect::<Vec<_>>()
    };
    let mut segments: Vec<_> = answer_traces(level).collect();
    segments.extend(named(&["UM"]));
    let number = decision.auth_number.as_deref().unwrap_or("");
    let code = decision.reason_code.as_deref().unwrap_or("");
    segments.push(Segment::new(
        "HCR",
        [decision.status.action(), number, code],
    ));
    segments.extend(named(kept));
    segments
}

fn read_request(visit: &Visit<'_>, patient: &Person, provider_npi: &str) -> Option<ReviewRequest> {
    let event = visit.segments;
    Some(ReviewRequest {
        trace_number: first_text(event, "TRN", 2),
        patient_member_id: patient.member_id.clone(),
        patient_last_name: patient.last_name.clone(),
        patient_first_name: patient.first_name.clone(),
        patient_birth_date: patient.birth_date?,
        provider_npi: provider_npi.to_owned(),
        category: first_text(event, "UM", 1),
        certification_type: first_text(event, "UM", 2),
        diagnosis_codes: diagnosis_codes(event),
        services: visit
            .children
            .iter()
            .filter_map(|level| service(level))
            .collect(),
        clinical_notes: Some(first_text(event, "MSG", 1)).filter(|notes| !notes.is_empty()),
    })
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
