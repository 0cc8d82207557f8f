//! Questions: persons as requests name them, and the bodies of 270, 276 and 278 that ask about
//! them, for callers that have data instead of X12.

use serde::{Deserialize, Serialize};

use super::{Dependent, Member, Payer, outline::Outline};
use proctor_core::time::Timestamp;
use proctor_x12::{
    day::{self, Day},
    segment::{Element, Segment},
};

/// A person as a request describes one: whatever of it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Person {
    /// The member id.
    pub member_id: String,
    /// Family name.
    pub last_name: String,
    /// Given name.
    pub first_name: String,
    /// Day of birth.
    pub birth_date: Option<Day>,
    /// Whether something was sent in place of a day of birth that is none.
    #[serde(skip)]
    pub birth_date_unreadable: bool,
}

impl From<&Member> for Person {
    fn from(member: &Member) -> Self {
        Self {
            member_id: member.member_id.clone(),
            last_name: member.last_name.clone(),
            first_name: member.first_name.clone(),
            birth_date: Some(member.birth_date),
            birth_date_unreadable: false,
        }
    }
}

impl From<&Dependent> for Person {
    fn from(dependent: &Dependent) -> Self {
        Self {
            member_id: String::new(),
            last_name: dependent.last_name.clone(),
            first_name: dependent.first_name.clone(),
            birth_date: Some(dependent.birth_date),
            birth_date_unreadable: false,
        }
    }
}

impl Person {
    /// Reads the NM1 and DMG segments of a level.
    pub(super) fn read(level: &[Segment], entity: &str) -> Self {
        let name = level
            .iter()
            .find(|one| one.tag == "NM1" && one.text(1) == entity);
        let text = |number: usize| name.map_or("", |name| name.text(number)).to_owned();
        let birth = level.iter().find(|one| one.tag == "DMG");
        let birth = birth.map_or("", |birth| birth.text(2));
        let birth_date = Day::from_x12(birth);
        Self {
            member_id: text(9),
            last_name: text(3),
            first_name: text(4),
            birth_date,
            birth_date_unreadable: !birth.is_empty() && birth_date.is_none(),
        }
    }

    /// The NM1 segment that repeats the person as asked about.
    pub(super) fn name(&self, entity: &str) -> Segment {
        let qualifier = if self.member_id.is_empty() { "" } else { "MI" };
        Segment::new(
            "NM1",
            [
                entity,
                "1",
                &self.last_name,
                &self.first_name,
                "",
                "",
                "",
                qualifier,
                &self.member_id,
            ],
        )
    }

    /// The DMG segment, if a day of birth was sent.
    pub(super) fn birth(&self) -> Option<Segment> {
        let day = self.birth_date?;
        Some(Segment::new("DMG", ["D8", &day.to_x12()]))
    }
}

/// What to put into a 270.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EligibilityQuestion {
    /// BHT03 and TRN02: what the answer is matched by.
    pub reference: String,
    /// The NPI of who asks.
    pub provider_npi: String,
    /// The subscriber.
    pub subscriber: Person,
    /// The dependent, if the question is about one.
    pub dependent: Option<Person>,
    /// What is asked for; 30, or nothing, is the plan as a whole.
    pub service_types: Vec<String>,
}

/// What to put into a 276.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimStatusQuestion {
    /// BHT03 and TRN02.
    pub reference: String,
    /// The NPI of who asks.
    pub provider_npi: String,
    /// The subscriber.
    pub subscriber: Person,
    /// The payer's number of the claim, if it is known.
    pub claim_id: Option<String>,
    /// The days of service, if they are known.
    pub service_days: Option<(Day, Day)>,
}

/// What to put into a 278.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewQuestion {
    /// BHT03 and TRN02.
    pub reference: String,
    /// The NPI of who asks.
    pub provider_npi: String,
    /// The subscriber.
    pub subscriber: Person,
    /// ICD-10 codes.
    pub diagnosis_codes: Vec<String>,
    /// The HCPCS or CPT code of the service.
    pub procedure_code: String,
    /// Free text.
    pub clinical_notes: Option<String>,
}

/// TRN03: who gave a trace number its meaning; a leading `9` marks an id that the sender chose.
const ORIGIN: &str = "9000000000";

pub(super) fn header(structure: &str, purpose: &str, reference: &str, at: Timestamp) -> Segment {
    let (day, time) = (Day::of(at).to_x12(), day::minutes(at));
    Segment::new("BHT", [structure, purpose, reference, &day, &time])
}

/// A DTP segment: one day or a range.
pub(super) fn days(qualifier: &str, (first, last): (Day, Day)) -> Segment {
    let (format, value) = if first == last {
        ("D8", first.to_x12())
    } else {
        ("RD8", format!("{}-{}", first.to_x12(), last.to_x12()))
    };
    Segment::new("DTP", [qualifier, format, &value])
}

fn provider(entity: &str, npi: &str) -> Segment {
    Segment::new("NM1", [entity, "2", "PROVIDER", "", "", "", "", "XX", npi])
}

impl EligibilityQuestion {
    /// The body of the 270.
    pub fn body(&self, payer: &Payer, at: Timestamp) -> Vec<Segment> {
        let mut outline = Outline::default();
        let source = outline.add(None, "20", vec![payer.named("PR")]);
        let asking = provider("1P", &self.provider_npi);
        let receiver = outline.add(Some(source), "21", vec![asking]);
        let trace = Segment::new("TRN", ["1", self.reference.as_str(), ORIGIN]);
        let asked = match self.service_types.as_slice() {
            [] => Element::from("30"),
            some => Element::repeated(some.iter().cloned()),
        };
        let asked = Segment::new("EQ", [asked]);
        let mut subscriber = vec![self.subscriber.name("IL")];
        subscriber.extend(self.subscriber.birth());
        match &self.dependent {
            None => {
                subscriber.insert(0, trace);
                subscriber.push(asked);
                outline.add(Some(receiver), "22", subscriber);
            }
            Some(person) => {
                let subscriber = outline.add(Some(receiver), "22", subscriber);
                let mut dependent = vec![trace, person.name("03")];
                dependent.extend(person.birth());
                dependent.push(asked);
                outline.add(Some(subscriber), "23", dependent);
            }
        }
        let mut body = vec![header("0022", "13", &self.reference, at)];
        body.extend(outline.finish());
        body
    }
}

impl ClaimStatusQuestion {
    /// The body of the 276.
    pub fn body(&self, payer: &Payer, at: Timestamp) -> Vec<Segment> {
        let mut outline = Outline::default();
        let source = outline.add(None, "20", vec![payer.named("PR")]);
        let asking = [
            "41",
            "2",
            "PROVIDER",
            "",
            "",
            "",
            "",
            "46",
            &self.provider_npi,
        ];
        let asking = vec![Segment::new("NM1", asking)];
        let receiver = outline.add(Some(source), "21", asking);
        let serving = vec![provider("1P", &self.provider_npi)];
        let serving = outline.add(Some(receiver), "19", serving);
        let mut subscriber: Vec<_> = self.subscriber.birth().into_iter().collect();
        subscriber.push(self.subscriber.name("IL"));
        subscriber.push(Segment::new("TRN", ["1", &self.reference]));
        if let Some(claim) = &self.claim_id {
            subscriber.push(Segment::new("REF", ["1K", claim]));
        }
        if let Some(days) = self.service_days {
            subscriber.push(self::days("472", days));
        }
        outline.add(Some(serving), "22", subscriber);
        let mut body = vec![header("0010", "13", &self.reference, at)];
        body.extend(outline.finish());
        body
    }
}

impl ReviewQuestion {
    /// The body of the 278.
    pub fn body(&self, payer: &Payer, at: Timestamp) -> Vec<Segment> {
        let mut outline = Outline::default();
        let source = outline.add(None, "20", vec![payer.named("X3")]);
        let asking = provider("1P", &self.provider_npi);
        let receiver = outline.add(Some(source), "21", vec![asking]);
        let mut person = vec![self.subscriber.name("IL")];
        person.extend(self.subscriber.birth());
        let subscriber = outline.add(Some(receiver), "22", person);
        let mut event = vec![
            Segment::new("TRN", ["1", self.reference.as_str(), ORIGIN]),
            Segment::new("UM", ["HS", "I", "2"]),
        ];
        if !self.diagnosis_codes.is_empty() {
            let codes = self.diagnosis_codes.iter().enumerate();
            let codes = codes.take(12).map(|(index, code)| {
                let qualifier = if index == 0 { "ABK" } else { "ABF" };
                Element::composite([qualifier.to_owned(), code.replace('.', "")])
            });
            event.push(Segment::new("HI", codes));
        }
        if let Some(notes) = &self.clinical_notes {
            event.push(Segment::new("MSG", [notes.as_str()]));
        }
        let event = outline.add(Some(subscriber), "EV", event);
        let service = Element::composite(["HC", &self.procedure_code]);
        let empty = Element::empty;
        let service = Segment::new("SV1", [service, empty(), "UN".into(), "1".into()]);
        outline.add(Some(event), "SS", vec![service]);
        let mut body = vec![header("0007", "13", &self.reference, at)];
        body.extend(outline.finish());
        body
    }
}

impl Payer {
    /// The NM1 segment that names the payer.
    pub(super) fn named(&self, entity: &str) -> Segment {
        Segment::new(
            "NM1",
            [entity, "2", &self.name, "", "", "", "", "PI", &self.id],
        )
    }
}

/// The BHT of an answer: it repeats the reference of the question.
pub(super) fn answer_header(
    structure: &str,
    purpose: &str,
    question: &[Segment],
    at: Timestamp,
) -> Segment {
    let asked = question.iter().find(|one| one.tag == "BHT");
    header(
        structure,
        purpose,
        asked.map_or("", |asked| asked.text(3)),
        at,
    )
}

/// The trace of an answer: the sender's own number, marked as referenced.
pub(super) fn answer_traces(level: &[Segment]) -> impl Iterator<Item = Segment> {
    let traces = level.iter().filter(|one| one.tag == "TRN");
    traces.map(|one| Segment::new("TRN", ["2", one.text(2), one.text(3), one.text(4)]))
}
