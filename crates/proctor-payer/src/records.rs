//! What a payer has on file besides requests: members, providers, claims, and the data sets and
//! steps that bring them.

use proctor_core::{
    environment::{Dataset, DatasetType},
    problem::{Problem, Problems},
};
use proctor_simulation::{
    config::{read_every, read_value},
    simulator::NotProvided,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::shelf::Kept;
use crate::x12::{Address, Claim, Member, Payer, is_npi};

/// Letters and digits only, in lower case: `BCB-123` and `bcb123` are one id.
pub(super) fn fold(id: &str) -> String {
    let kept = id.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// A provider in the payer's directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The NPI.
    pub npi: String,
    /// The name, as people search for it.
    pub name: String,
    /// What the provider practises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialty: Option<String>,
    /// The practice or hospital.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// A telephone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// A fax number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fax: Option<String>,
    /// Where the practice is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
}

/// The patient of a chart that a member is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatientLink {
    /// The member.
    pub member_id: String,
    /// The id of the FHIR Patient.
    pub patient_id: String,
}

/// A member as data sets and steps write one: a payer's member, perhaps with a patient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolled {
    /// The member.
    pub member: Member,
    /// The id of the FHIR Patient that the member is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patient_id: Option<String>,
}

impl Enrolled {
    /// Reads a member; `patient_id` stands among its fields.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(map) = value else {
            return Err("a member is an object with a member_id".to_owned());
        };
        let mut map = map.clone();
        let patient_id = match map.remove("patient_id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(bare_patient_id(&id).to_owned()),
            Some(_) => return Err("patient_id: must be a text".to_owned()),
        };
        let member: Member = read(&Value::Object(map))?;
        if fold(&member.member_id).is_empty() {
            return Err("member_id: has no letter and no digit".to_owned());
        }
        Ok(Self { member, patient_id })
    }

    /// The same, naming everything that has not its shape.
    pub(super) fn read_every(mut map: Map<String, Value>) -> Result<Self, Problems> {
        let patient = map.remove("patient_id");
        let mut problems = Vec::new();
        if !matches!(patient, None | Some(Value::Null | Value::String(_))) {
            problems.push(Problem::error("patient_id", "must be a text"));
        }
        if let Err(wrong) = read_every::<Member>(&Value::Object(map.clone())) {
            problems.extend(wrong.into_vec());
        }
        Problems::none_of(problems)?;
        map.extend(patient.map(|id| ("patient_id".to_owned(), id)));
        Self::read(&Value::Object(map)).map_err(|message| Problem::error("", message).into())
    }

    pub(super) fn link(&self) -> Option<PatientLink> {
        Some(PatientLink {
            member_id: self.member.member_id.clone(),
            patient_id: self.patient_id.clone()?,
        })
    }
}

/// The id in `Patient/id`, or the id itself.
pub(super) fn bare_patient_id(text: &str) -> &str {
    text.strip_prefix("Patient/").unwrap_or(text)
}

impl Kept for Member {
    fn key(&self) -> String {
        fold(&self.member_id)
    }
}

impl Kept for PatientLink {
    fn key(&self) -> String {
        fold(&self.member_id)
    }
}

impl Kept for Provider {
    fn key(&self) -> String {
        fold(&self.npi)
    }
}

impl Kept for Claim {
    fn key(&self) -> String {
        fold(&self.claim_id)
    }
}

/// What one data set of type Members holds.
#[derive(Debug, Default)]
pub(super) struct Roster {
    pub(super) payer: Option<Payer>,
    pub(super) members: Vec<Enrolled>,
    pub(super) providers: Vec<Provider>,
    pub(super) claims: Vec<Claim>,
}

impl Roster {
    /// Reads a data set, naming everything that is wrong with it.
    pub(super) fn read(dataset: &Dataset) -> Result<Self, NotProvided> {
        let mut problems = Vec::new();
        let roster = match dataset.kind {
            DatasetType::Members => Self::of(&dataset.data, &mut problems),
            DatasetType::Fhir | DatasetType::Files => {
                problems.push(format!(
                    "is of type {}, a payer takes Members",
                    dataset.kind.as_str()
                ));
                Self::default()
            }
        };
        match problems.as_slice() {
            [] => Ok(roster),
            _ => Err(NotProvided(format!(
                "data set '{}': {}",
                dataset.name,
                problems.join("; ")
            ))),
        }
    }

    fn of(data: &Value, problems: &mut Vec<String>) -> Self {
        let mut roster = Self::default();
        match data {
            Value::Array(members) => roster.members = each(members, "", Enrolled::read, problems),
            Value::Object(map) => roster.take(map, problems),
            _ => problems.push(
                "the data are a list of members, or an object with members, providers and claims"
                    .to_owned(),
            ),
        }
        roster
    }

    fn take(&mut self, map: &Map<String, Value>, problems: &mut Vec<String>) {
        for (name, value) in map {
            match (name.as_str(), value) {
                (_, Value::Null) => {}
                ("payer", value) => match read(value) {
                    Ok(payer) => self.payer = Some(payer),
                    Err(problem) => problems.push(format!("payer: {problem}")),
                },
                ("members", Value::Array(all)) => {
                    self.members = each(all, "members", Enrolled::read, problems);
                }
                ("providers", Value::Array(all)) => {
                    self.providers = each(all, "providers", read_provider, problems);
                }
                ("claims", Value::Array(all)) => {
                    self.claims = each(all, "claims", read, problems);
                }
                ("members" | "providers" | "claims", _) => {
                    problems.push(format!("{name}: must be a list"));
                }
                _ => problems.push(format!(
                    "{name}: is none of payer, members, providers and claims"
                )),
            }
        }
    }
}

fn each<T>(
    values: &[Value],
    name: &str,
    read: impl Fn(&Value) -> Result<T, String>,
    problems: &mut Vec<String>,
) -> Vec<T> {
    let mut all = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        match read(value) {
            Ok(one) => all.push(one),
            Err(problem) => problems.push(format!("{name}[{index}]: {problem}")),
        }
    }
    all
}

fn read_provider(value: &Value) -> Result<Provider, String> {
    let provider: Provider = read(value)?;
    if is_npi(&provider.npi) {
        Ok(provider)
    } else {
        Err(format!("npi: '{}' is not an NPI", provider.npi))
    }
}

/// Reads a value, saying where in it something is wrong.
pub(super) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    read_value(value).map_err(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(data: &Value) -> Vec<String> {
        let mut problems = Vec::new();
        let _ = Roster::of(data, &mut problems);
        problems
    }

    #[test]
    fn a_list_of_members_and_an_object_with_everything_are_read() {
        let member = json!({"member_id": "B-1", "last_name": "Ray", "first_name": "Ada",
            "birth_date": "1990-01-02", "patient_id": "Patient/ada"});
        let mut problems = Vec::new();
        let roster = Roster::of(&json!([member]), &mut problems);
        assert_eq!(
            roster.members[0].link(),
            Some(PatientLink {
                member_id: "B-1".to_owned(),
                patient_id: "ada".to_owned()
            })
        );
        let all = json!({"payer": {"name": "P", "id": "1"}, "members": [member],
            "providers": [{"npi": "1234567893", "name": "Dr. Rivera"}], "claims": []});
        let roster = Roster::of(&all, &mut problems);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(roster.providers[0].key(), "1234567893");
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        let told = told(&json!({
            "members": [{"member_id": "B1"}, 5],
            "providers": [{"npi": "1", "name": "X"}],
            "claims": {},
            "patients": [],
        }));
        insta::assert_snapshot!("refused_roster", told.join("\n"));
    }
}
