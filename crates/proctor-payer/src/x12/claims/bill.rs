//! The 837P that a provider's system sends, for callers that have data instead of X12.

use proctor_core::time::Timestamp;
use proctor_x12::{
    day::Day,
    segment::{Element, Segment},
};

use crate::x12::{
    Address, Amount, Gender, Payer, Person, Relationship,
    outline::Outline,
    question::{days, header},
};

/// A claim to put into an 837P.
#[derive(Debug, Clone)]
pub struct Bill {
    /// BHT03.
    pub reference: String,
    /// CLM01.
    pub patient_account: String,
    /// Who bills.
    pub provider_name: String,
    /// The NPI of who bills.
    pub provider_npi: String,
    /// Where the practice is.
    pub provider_address: Option<Address>,
    /// The subscriber.
    pub subscriber: Person,
    /// The subscriber's gender.
    pub gender: Option<Gender>,
    /// The dependent it is for, and what that person is to the subscriber.
    pub dependent: Option<(Person, Relationship, Option<Gender>)>,
    /// CLM05-1.
    pub place_of_service: String,
    /// CLM05-3.
    pub frequency: String,
    /// ICD-10 codes.
    pub diagnosis_codes: Vec<String>,
    /// REF G1.
    pub authorization_number: Option<String>,
    /// REF F8.
    pub original_claim_id: Option<String>,
    /// The services.
    pub lines: Vec<BillLine>,
}

/// One service of a [`Bill`].
#[derive(Debug, Clone)]
pub struct BillLine {
    /// HCPCS or CPT code.
    pub procedure_code: String,
    /// Its modifiers.
    pub modifiers: Vec<String>,
    /// What is billed.
    pub charge: Amount,
    /// How many units.
    pub units: Amount,
    /// First and last day.
    pub days: (Day, Day),
}

/// The body of one 837P with all the bills; none without any.
pub fn body(bills: &[Bill], payer: &Payer, at: Timestamp) -> Vec<Segment> {
    let Some(first) = bills.first() else {
        return Vec::new();
    };
    let mut begin = header("0019", "00", &first.reference, at);
    begin.elements.push("CH".into());
    let (name, npi) = (&first.provider_name, &first.provider_npi);
    let receiver = ["40", "2", &payer.name, "", "", "", "", "46", &payer.id];
    let mut body = vec![
        begin,
        Segment::new("NM1", ["41", "2", name, "", "", "", "", "46", npi]),
        Segment::new("PER", ["IC", "BILLING", "TE", "5550100000"]),
        Segment::new("NM1", receiver),
    ];
    let mut outline = Outline::default();
    for bill in bills {
        bill.add_to(&mut outline, payer);
    }
    body.extend(outline.finish());
    body
}

impl Bill {
    fn add_to(&self, outline: &mut Outline, payer: &Payer) {
        let source = outline.add(None, "20", self.provider());
        let relation = if self.dependent.is_some() { "" } else { "18" };
        let kind = Segment::new("SBR", ["P", relation, "", "", "", "", "", "", "12"]);
        let mut subscriber = vec![kind, self.subscriber.name("IL")];
        if self.dependent.is_none()
            && let Some(born) = self.subscriber.birth_date
        {
            subscriber.extend(home());
            subscriber.push(birth(born, self.gender));
        }
        subscriber.push(payer.named("PR"));
        match &self.dependent {
            None => {
                subscriber.extend(self.claim());
                outline.add(Some(source), "22", subscriber);
            }
            Some((person, relationship, gender)) => {
                let subscriber = outline.add(Some(source), "22", subscriber);
                let mut patient = vec![
                    Segment::new("PAT", [relationship.code()]),
                    Segment::new("NM1", ["QC", "1", &person.last_name, &person.first_name]),
                ];
                patient.extend(home());
                patient.extend(person.birth_date.map(|born| birth(born, *gender)));
                patient.extend(self.claim());
                outline.add(Some(subscriber), "23", patient);
            }
        }
    }

    fn provider(&self) -> Vec<Segment> {
        let name = self.provider_name.as_str();
        let npi = self.provider_npi.as_str();
        let mut segments = vec![Segment::new(
            "NM1",
            ["85", "2", name, "", "", "", "", "XX", npi],
        )];
        match &self.provider_address {
            Some(Address {
                line,
                city,
                state,
                postal_code,
            }) => {
                segments.push(Segment::new("N3", [line.as_str()]));
                let place = [city, state, postal_code].map(String::as_str);
                segments.push(Segment::new("N4", place));
            }
            None => segments.extend(home()),
        }
        segments.push(Segment::new("REF", ["EI", "999999999"]));
        segments
    }

    fn claim(&self) -> Vec<Segment> {
        let cents = self.lines.iter().filter_map(|line| line.charge.cents());
        let total = Amount::of_cents(cents.sum()).to_x12();
        let place = [self.place_of_service.as_str(), "B", &self.frequency];
        let text = |text: &str| Element::from(text);
        let mut segments = vec![Segment::new(
            "CLM",
            [
                text(&self.patient_account),
                text(&total),
                Element::empty(),
                Element::empty(),
                Element::composite(place),
                text("Y"),
                text("A"),
                text("Y"),
                text("Y"),
            ],
        )];
        if let Some(number) = &self.authorization_number {
            segments.push(Segment::new("REF", ["G1", number]));
        }
        if let Some(number) = &self.original_claim_id {
            segments.push(Segment::new("REF", ["F8", number]));
        }
        let codes = self.diagnosis_codes.iter().take(12).enumerate();
        let codes = codes.map(|(index, code)| {
            let qualifier = if index == 0 { "ABK" } else { "ABF" };
            Element::composite([qualifier.to_owned(), code.replace('.', "")])
        });
        segments.push(Segment::new("HI", codes));
        for (index, line) in self.lines.iter().enumerate() {
            segments.push(Segment::new("LX", [(index + 1).to_string()]));
            let code = ["HC", &line.procedure_code].map(str::to_owned);
            let code = code.into_iter().chain(line.modifiers.iter().cloned());
            segments.push(Segment::new(
                "SV1",
                [
                    Element::composite(code),
                    line.charge.to_x12().into(),
                    text("UN"),
                    line.units.to_x12().into(),
                    Element::empty(),
                    Element::empty(),
                    text("1"),
                ],
            ));
            segments.push(days("472", line.days));
            let number = format!("{}-{}", self.patient_account, index + 1);
            segments.push(Segment::new("REF", ["6R", &number]));
        }
        segments
    }
}

/// Where somebody lives whose address nobody gave: the guide wants one.
fn home() -> [Segment; 2] {
    [
        Segment::new("N3", ["1 MAIN ST"]),
        Segment::new("N4", ["SPRINGFIELD", "IL", "62701"]),
    ]
}

fn birth(day: Day, gender: Option<Gender>) -> Segment {
    let gender = gender.unwrap_or(Gender::Unknown).code();
    Segment::new("DMG", ["D8", &day.to_x12(), gender])
}
