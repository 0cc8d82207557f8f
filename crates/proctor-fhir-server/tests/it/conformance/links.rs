//! Search through references.

use serde_json::{Value, json};

use super::support::{Group, Store};
use crate::checks;

fn observation(id: &str, subject: &str, code: &str) -> Value {
    json!({"resourceType": "Observation", "id": id, "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": code}]}, "subject": {"reference": subject}})
}

fn clinic() -> Store {
    let mut store = Store::new();
    store.put(json!({"resourceType": "Organization", "id": "top", "name": "Top"}));
    store.put(json!({"resourceType": "Organization", "id": "org", "name": "Clinic", "partOf": {"reference": "Organization/top"}}));
    store.put(json!({"resourceType": "Patient", "id": "a", "name": [{"family": "Smith"}], "managingOrganization": {"reference": "Organization/org"}}));
    store.put(json!({"resourceType": "Patient", "id": "b", "name": [{"family": "Jones"}]}));
    store.put(observation("o1", "Patient/a", "1"));
    store.put(observation("o2", "Patient/a", "2"));
    store.put(observation("o3", "Patient/b", "1"));
    store.put(observation("o4", "Group/g", "1"));
    store.put(json!({"resourceType": "Encounter", "id": "e", "status": "finished", "class": {"code": "AMB"}, "subject": {"reference": "Patient/a"}}));
    store
}

pub(crate) fn group() -> Group {
    checks! {
        "Search through references":
        "chains: `subject.name`, `subject:Patient.name`, two steps deep" => || {
            let mut store = clinic();
            assert_eq!(store.ids("Observation?patient.name=smith"), ["o1", "o2"]);
            assert_eq!(store.ids("Observation?subject:Patient.family=jones"), ["o3"]);
            assert_eq!(store.ids("Observation?subject.name=smith"), ["o1", "o2"]);
            assert_eq!(store.ids("Observation?patient.organization.name=clinic&code=2"), ["o2"]);
            assert_eq!(store.ids("Observation?patient.organization.partof.name=top"), ["o1", "o2"]);
        },
        "`_has`: reversed, with a second condition, nested" => || {
            let mut store = clinic();
            assert_eq!(store.ids("Patient?_has:Observation:patient:code=1"), ["a", "b"]);
            assert_eq!(store.ids("Patient?_has:Observation:patient:code=2"), ["a"]);
            assert_eq!(store.ids("Patient?_has:Observation:patient:code=1&_has:Encounter:patient:status=finished"), ["a"]);
            assert_eq!(store.ids("Organization?_has:Patient:organization:_has:Observation:patient:code=2"), ["org"]);
            assert_eq!(store.ids("Organization?_has:Patient:organization:name=smith"), ["org"]);
            assert_eq!(store.ids("Observation?patient._has:Encounter:patient:status=finished"), ["o1", "o2"]);
        },
        "`_include`: `Type:parameter`, with a target type, `*`; each resource once" => || {
            let mut store = clinic();
            assert_eq!(store.found("Observation?code=1&_include=Observation:subject", "include"), ["a", "b"]);
            assert_eq!(store.found("Observation?code=1&_include=Observation:subject:Group", "include"), [""; 0]);
            assert_eq!(store.found("Observation?_id=o1,o2&_include=*", "include"), ["a"]);
            assert_eq!(store.ids("Observation?code=1&_include=Observation:subject"), ["o1", "o3", "o4"]);
        },
        "`_include:iterate` follows what came along" => || {
            let mut store = clinic();
            let path = "Observation?_id=o1&_include=Observation:subject&_include:iterate=Patient:organization&_include:iterate=Organization:partof";
            assert_eq!(store.found(path, "include"), ["a", "org", "top"]);
        },
        "`_revinclude`" => || {
            let mut store = clinic();
            assert_eq!(store.found("Patient?_id=a&_revinclude=Observation:subject", "include"), ["o1", "o2"]);
            let path = "Organization?_id=org&_revinclude=Patient:organization&_revinclude:iterate=Encounter:patient";
            assert_eq!(store.found(path, "include"), ["a", "e"]);
        },
        "a deleted target is neither found through a chain nor included" => || {
            let mut store = clinic();
            store.delete("Patient/a");
            assert_eq!(store.ids("Observation?patient.name=smith"), [""; 0]);
            assert_eq!(store.found("Observation?_id=o1&_include=Observation:subject", "include"), [""; 0]);
            assert_eq!(store.ids("Observation?patient=a"), ["o1", "o2"]);
        },
        "compartments: `Patient/id/Type`, `Patient/id/*`" => || {
            let mut store = clinic();
            assert_eq!(store.ids("Patient/a/Observation"), ["o1", "o2"]);
            assert_eq!(store.ids("Patient/a/Observation?code=2"), ["o2"]);
            assert_eq!(store.set("Patient/a/*"), ["a", "e", "o1", "o2"]);
            store.get("Patient/zzz/Observation").expect(404);
            store.get("Patient/a/Organization").expect(400);
        },
        "references of other servers are not taken for ours" => || {
            let mut store = clinic();
            store.put(observation("foreign", "http://other.org/fhir/Patient/a", "9"));
            assert_eq!(store.ids("Observation?patient=a"), ["o1", "o2"]);
            assert_eq!(store.ids("Observation?patient.name=smith"), ["o1", "o2"]);
            assert_eq!(store.ids("Observation?subject=http://other.org/fhir/Patient/a"), ["foreign"]);
        },
    }
}
