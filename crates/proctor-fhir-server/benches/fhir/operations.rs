//! What is measured: reads and searches, and the bodies of writes.

use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::population;

/// A read or a search that is measured.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) path: String,
    /// How many matches its page has; nothing for a read.
    hits: Option<usize>,
    /// The goal over HTTP, as a share of the bare handler.
    pub(crate) goal: f64,
}

impl Operation {
    /// Asserts that an answer is the one that the operation is named after.
    pub(crate) fn check(&self, status: StatusCode, body: &[u8]) {
        assert!(status.is_success(), "{}", self.path);
        let Some(hits) = self.hits else { return };
        let bundle: Value = serde_json::from_slice(body).expect("a bundle");
        let entries = bundle["entry"].as_array().map_or(0, Vec::len);
        assert_eq!(entries, hits, "matches of {}", self.path);
    }
}

/// The operations that are measured.
pub(crate) fn operations() -> Vec<Operation> {
    let search = |name, path: &str, hits, goal| Operation {
        name,
        path: path.to_owned(),
        hits: Some(hits),
        goal,
    };
    let family = format!("Patient?family={}", population::base26(777));
    vec![
        Operation {
            name: "read",
            path: "Patient/p7770".to_owned(),
            hits: None,
            goal: 0.7,
        },
        search(
            "token, 10 hits",
            "Patient?identifier=urn:group%7CG777",
            10,
            0.4,
        ),
        search(
            "identifier, 1 hit",
            "Patient?identifier=urn:mrn%7CMRN0007770",
            1,
            0.4,
        ),
        search("string prefix, 10 hits", &family, 10, 0.4),
        search(
            "birth date, 10 hits",
            "Patient?birthdate=1932-02-17",
            10,
            0.4,
        ),
        search(
            "reference, 10 hits",
            "Patient?general-practitioner=Practitioner/dr777",
            10,
            0.4,
        ),
        search(
            "chain, 3 hits",
            "Observation?patient.identifier=urn:mrn%7CMRN0007770",
            3,
            0.2,
        ),
        search(
            "_sort of 11,500, _count=10",
            "Patient?gender=female&_sort=birthdate&_count=10",
            10,
            0.1,
        ),
    ]
}

/// A patient to create.
pub(crate) fn patient_body() -> String {
    let patient = population::population(1).find(|resource| resource["resourceType"] == "Patient");
    patient.expect("a patient").to_string()
}

/// A transaction that creates so many resources.
pub(crate) fn transaction(entries: usize) -> String {
    let shared = ["Organization", "Practitioner"];
    let resources = population::population(entries)
        .filter(|resource| !shared.iter().any(|kind| resource["resourceType"] == *kind));
    let entries: Vec<Value> = resources
        .take(entries)
        .enumerate()
        .map(|(place, resource)| {
            json!({
                "fullUrl": format!("urn:uuid:{}", Uuid::from_u128(place as u128)),
                "request": {"method": "POST", "url": resource["resourceType"]},
                "resource": resource,
            })
        })
        .collect();
    json!({"resourceType": "Bundle", "type": "transaction", "entry": entries}).to_string()
}
