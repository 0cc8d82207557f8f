//! Claims as JSON, for those who do not write X12.

use proctor_core::problem::Problem;
use proctor_simulation::{exchange::Response, simulator::Around};
use proctor_x12::day::Day;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ask, fields::Fields};
use crate::{
    desk::PayerDesk,
    intake, records,
    x12::{
        Amount, Person,
        claims::{Bill, BillLine},
    },
};

/// Why fields are no claim.
pub(super) enum NotABill {
    /// Fields are missing or wrong.
    Fields(Vec<Problem>),
    /// Nobody knows the patient.
    Nobody(String),
}

/// A service as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    procedure_code: String,
    #[serde(default)]
    modifiers: Vec<String>,
    charge: Amount,
    #[serde(default)]
    units: Option<Amount>,
    #[serde(default)]
    service_date: Option<Day>,
    #[serde(default)]
    service_to: Option<Day>,
}

/// Reads the fields of a claim.
pub(super) fn read(
    desk: &PayerDesk,
    map: Map<String, Value>,
    around: &Around<'_>,
) -> Result<Bill, NotABill> {
    let mut fields = Fields::of(map);
    let mut subscriber = ask::subject(desk, &mut fields, around)
        .map_err(|nobody| NotABill::Nobody(said(&nobody)))?;
    let member = desk.members.get(&records::fold(&subscriber.member_id));
    if let Some(member) = member {
        complete(&mut subscriber, &Person::from(member));
    }
    if subscriber.last_name.is_empty() {
        subscriber.last_name = "UNKNOWN".to_owned();
    }
    let asked: Option<Person> = fields.read(&["dependent"], records::read);
    let dependent = asked.map(|person| {
        let dependents = member.map_or(&[][..], |member| &member.dependents);
        let known = dependents
            .iter()
            .find(|one| records::fold(&one.first_name) == records::fold(&person.first_name));
        let mut person = person;
        let (relationship, gender) = match known {
            Some(known) => {
                complete(&mut person, &Person::from(known));
                (known.relationship, known.gender)
            }
            None => (crate::x12::Relationship::Other, None),
        };
        (person, relationship, gender)
    });
    let provider_npi = ask::npi(desk, &mut fields);
    let provider = desk.providers.get(&records::fold(&provider_npi));
    let patient_account = fields.text(&["patient_account", "claim_number"]);
    fields.require("patient_account", patient_account.is_some());
    let day = fields.day(&["service_date", "service_from"]);
    let diagnosis_codes = fields.texts(&["diagnosis_codes"]);
    fields.require("diagnosis_codes", !diagnosis_codes.is_empty());
    let place_of_service = fields.text(&["place_of_service"]);
    let frequency = fields.text(&["frequency", "frequency_code"]);
    let authorization_number = fields.text(&["authorization_number", "auth_number"]);
    let original_claim_id = fields.text(&["original_claim_id"]);
    let lines = lines(&mut fields, day);
    fields.finish_with(NotABill::Fields)?;
    Ok(Bill {
        reference: ask::reference(desk),
        patient_account: patient_account.unwrap_or_default(),
        provider_name: provider.map_or("PROVIDER", |one| &one.name).to_owned(),
        provider_address: provider.and_then(|one| one.address.clone()),
        provider_npi,
        gender: member.and_then(|member| member.gender),
        subscriber,
        dependent,
        place_of_service: place_of_service.unwrap_or_else(|| "11".to_owned()),
        frequency: frequency.unwrap_or_else(|| "1".to_owned()),
        diagnosis_codes,
        authorization_number,
        original_claim_id,
        lines,
    })
}

/// Fills in what a question left out and the payer has on file.
fn complete(person: &mut Person, known: &Person) {
    for (asked, known) in [
        (&mut person.last_name, &known.last_name),
        (&mut person.first_name, &known.first_name),
    ] {
        if asked.is_empty() {
            asked.clone_from(known);
        }
    }
    person.birth_date = person.birth_date.or(known.birth_date);
}

fn lines(fields: &mut Fields, day: Option<Day>) -> Vec<BillLine> {
    let Some(value) = fields.value("lines") else {
        fields.require("lines", false);
        return Vec::new();
    };
    let Value::Array(written) = value else {
        fields
            .problems
            .push(Problem::error("lines", "must be a list"));
        return Vec::new();
    };
    if !(1..=50).contains(&written.len()) {
        let message = "must have one service to fifty";
        fields.problems.push(Problem::error("lines", message));
    }
    let mut lines = Vec::new();
    for (index, written) in written.iter().enumerate() {
        match line(written, day) {
            Ok(line) => lines.push(line),
            Err(problem) => {
                let place = format!("lines.{index}");
                fields.problems.push(Problem::error(place, problem));
            }
        }
    }
    lines
}

fn line(written: &Value, day: Option<Day>) -> Result<BillLine, String> {
    let line: Line = records::read(written)?;
    let first = line
        .service_date
        .or(day)
        .ok_or("service_date: is required")?;
    let last = line.service_to.unwrap_or(first);
    if last < first {
        return Err("service_to: is before service_date".to_owned());
    }
    if line.charge.cents().is_none() {
        return Err("charge: is not an amount of money".to_owned());
    }
    if line.modifiers.len() > 4 || line.modifiers.iter().any(|one| one.len() != 2) {
        return Err("modifiers: are at most four of two characters".to_owned());
    }
    let one = Amount::of_cents(100);
    Ok(BillLine {
        procedure_code: intake::procedure(&line.procedure_code)
            .map_err(|problem| format!("procedure_code: {problem}"))?,
        modifiers: line.modifiers,
        charge: line.charge,
        units: line.units.unwrap_or(one),
        days: (first, last),
    })
}

/// What a refusal says.
fn said(refusal: &Response) -> String {
    let body: Value = serde_json::from_slice(&refusal.body).unwrap_or_default();
    let message = body.pointer("/error/message").and_then(Value::as_str);
    message.unwrap_or("nobody knows the patient").to_owned()
}
