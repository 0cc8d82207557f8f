//! A seeded population: patients with what a year of care leaves behind.
//!
//! 23,000 patients give about 150,000 resources. The same number gives the same population.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

const FAMILIES: [&str; 40] = [
    "Smith",
    "Johnson",
    "Williams",
    "Brown",
    "Jones",
    "Garcia",
    "Miller",
    "Davis",
    "Rodriguez",
    "Martinez",
    "Hernandez",
    "Lopez",
    "Gonzalez",
    "Wilson",
    "Anderson",
    "Thomas",
    "Taylor",
    "Moore",
    "Jackson",
    "Martin",
    "Lee",
    "Perez",
    "Thompson",
    "White",
    "Harris",
    "Sanchez",
    "Clark",
    "Ramirez",
    "Lewis",
    "Robinson",
    "Walker",
    "Young",
    "Allen",
    "King",
    "Wright",
    "Scott",
    "Torres",
    "Nguyen",
    "Hill",
    "Flores",
];
const GIVEN: [&str; 20] = [
    "James",
    "Mary",
    "Robert",
    "Patricia",
    "John",
    "Jennifer",
    "Michael",
    "Linda",
    "David",
    "Elizabeth",
    "William",
    "Barbara",
    "Richard",
    "Susan",
    "Joseph",
    "Jessica",
    "Thomas",
    "Sarah",
    "Carlos",
    "Karen",
];
const CODES: [(&str, &str, &str); 6] = [
    ("29463-7", "Body weight", "kg"),
    ("8302-2", "Body height", "cm"),
    ("8867-4", "Heart rate", "/min"),
    ("2339-0", "Glucose", "mg/dL"),
    ("718-7", "Hemoglobin", "g/dL"),
    ("8310-5", "Body temperature", "Cel"),
];
const CONDITIONS: [(&str, &str); 5] = [
    ("38341003", "Hypertension"),
    ("44054006", "Diabetes mellitus type 2"),
    ("195967001", "Asthma"),
    ("55822004", "Hyperlipidemia"),
    ("13645005", "Chronic obstructive lung disease"),
];

/// How many patients the benchmark's narrow searches find.
pub(crate) const PER_GROUP: usize = 10;

/// The resources around one patient.
pub(crate) fn patient(number: usize, rng: &mut StdRng) -> Vec<Value> {
    let id = format!("p{number}");
    let reference = json!({"reference": format!("Patient/{id}")});
    let group = number / PER_GROUP;
    let pick = |rng: &mut StdRng, list: &[&str]| list[rng.random_range(0..list.len())].to_owned();
    // Ten patients share a birth date, the beginning of a family name and a practitioner.
    let birth =
        jiff::civil::date(1930, 1, 1) + jiff::Span::new().days(i64::try_from(group).unwrap_or(0));
    let family = format!("{}{}", pick(rng, &FAMILIES), base26(group));
    let mut resources = vec![json!({
        "resourceType": "Patient", "id": id,
        "identifier": [
            {"system": "urn:mrn", "value": format!("MRN{number:07}")},
            {"system": "urn:group", "value": format!("G{group}")},
        ],
        "active": true,
        "name": [{"use": "official", "family": format!("{}{family}", base26(group)), "given": [pick(rng, &GIVEN), pick(rng, &GIVEN)]}],
        "gender": if number.is_multiple_of(2) { "female" } else { "male" },
        "birthDate": birth.to_string(),
        "telecom": [{"system": "phone", "value": format!("555-{number:07}")}],
        "address": [{"line": [format!("{} Main St", rng.random_range(1..999))], "city": pick(rng, &FAMILIES), "postalCode": format!("{:05}", rng.random_range(10_000..99_999)), "country": "US"}],
        "managingOrganization": {"reference": format!("Organization/org{}", number % 100)},
        "generalPractitioner": [{"reference": format!("Practitioner/dr{group}")}],
    })];
    let encounter = format!("e{number}");
    let day = |rng: &mut StdRng| {
        format!(
            "2025-{:02}-{:02}T{:02}:{:02}:00Z",
            rng.random_range(1..13),
            rng.random_range(1..29),
            rng.random_range(8..18),
            rng.random_range(0..60)
        )
    };
    let start = day(rng);
    resources.push(json!({
        "resourceType": "Encounter", "id": encounter, "status": "finished",
        "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"},
        "subject": reference, "period": {"start": start, "end": start},
    }));
    let (code, name) = CONDITIONS[rng.random_range(0..CONDITIONS.len())];
    resources.push(json!({
        "resourceType": "Condition", "id": format!("c{number}"),
        "clinicalStatus": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": "active"}]},
        "code": {"coding": [{"system": "http://snomed.info/sct", "code": code, "display": name}], "text": name},
        "subject": reference, "onsetDateTime": day(rng),
    }));
    for place in 0..3 + number % 2 {
        let (code, name, unit) = CODES[rng.random_range(0..CODES.len())];
        let value = f64::from(rng.random_range(200..2_000)) / 10.0;
        resources.push(json!({
            "resourceType": "Observation", "id": format!("o{number}-{place}"), "status": "final",
            "code": {"coding": [{"system": "http://loinc.org", "code": code, "display": name}], "text": name},
            "subject": reference, "encounter": {"reference": format!("Encounter/{encounter}")},
            "effectiveDateTime": day(rng),
            "valueQuantity": {"value": value, "unit": unit, "system": "http://unitsofmeasure.org", "code": unit},
        }));
    }
    resources
}

/// The whole population, patient by patient.
pub(crate) fn population(patients: usize) -> impl Iterator<Item = Value> {
    let mut rng = StdRng::seed_from_u64(20_260_421);
    let organizations = (0..100).map(|number| {
        json!({"resourceType": "Organization", "id": format!("org{number}"), "name": format!("Clinic {number}")})
    });
    let practitioners = (0..patients.div_ceil(PER_GROUP)).map(|number| {
        json!({"resourceType": "Practitioner", "id": format!("dr{number}"), "name": [{"family": base26(number)}]})
    });
    let patients = (0..patients).flat_map(move |number| patient(number, &mut rng));
    organizations.chain(practitioners).chain(patients)
}

/// A number as letters, so that names of groups begin differently.
pub(crate) fn base26(number: usize) -> String {
    let mut rest = number;
    let mut letters = String::new();
    for _ in 0..4 {
        letters.insert(0, char::from(b'a' + u8::try_from(rest % 26).unwrap_or(0)));
        rest /= 26;
    }
    letters
}
