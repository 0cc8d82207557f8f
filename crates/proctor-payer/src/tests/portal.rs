//! The REST interface.

use http::Method;
use proctor_simulation::{
    exchange::Request,
    simulator::{Machine, Provision},
};
use serde_json::{Value, json};

use super::support::*;
use crate::Blueprint;

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn a_request_is_one_row_that_every_look_shows_alike() {
    let mut bench = Bench::new();
    let (status, row) = bench.post("portal/prior-auths", &wanted("72148"));
    assert_eq!(status, 201);
    insta::assert_snapshot!("a_submitted_request", pretty(&row));
    let id = row["request_id"].as_str().unwrap();
    let number = row["auth_number"].as_str().unwrap();
    assert_eq!(
        bench.get(&format!("portal/prior-auths/{id}")),
        (200, row.clone())
    );
    assert_eq!(
        bench.get(&format!("portal/prior-auths/{number}")),
        (200, row.clone())
    );
    assert_eq!(
        bench.get("portal/prior-auths"),
        (200, json!({"data": [row]}))
    );
    assert_eq!(bench.rows("prior_auth_requests"), vec![row.clone()]);
    let event = &bench.events[0];
    assert_eq!(event.kind, "portal_request");
    assert_eq!(event.payload["before"], Value::Null);
    assert_eq!(event.payload["after"], row);
    assert_eq!(event.payload["request"], wanted("72148"));
    bench.assert_replays();
}

#[test]
fn a_delayed_decision_is_pending_until_its_time() {
    let mut bench = Bench::new();
    let (_, row) = bench.post("portal/prior-auths", &wanted("72148"));
    assert_eq!(row["determination"], json!({"status": "pending"}));
    bench.wait(3599);
    assert_eq!(
        bench.rows("prior_auth_requests")[0]["determination"]["status"],
        "pending"
    );
    assert_eq!(
        bench.get("portal/prior-auths?status=approved").1,
        json!({"data": []})
    );
    bench.wait(1);
    let (_, listed) = bench.get("portal/prior-auths?status=approved");
    let decided = &listed["data"][0]["determination"];
    assert_eq!(
        *decided,
        json!({"status": "approved", "decided_at": "2026-04-21T18:00:00.000Z"})
    );
    assert_eq!(bench.rows("prior_auth_requests")[0], listed["data"][0]);
}

#[test]
fn a_draft_is_filled_in_and_sent_later() {
    let mut bench = Bench::new();
    let (status, row) = bench.post(
        "portal/prior-auths",
        &json!({"status": "draft", "patient_member_id": "bcb-123456789"}),
    );
    assert_eq!(status, 201);
    assert_eq!(row["patient_member_id"], MEMBER);
    assert_eq!(row["determination"], Value::Null);
    let path = format!("portal/prior-auths/{}", row["request_id"].as_str().unwrap());
    let submit = format!("{path}/submit");
    let (status, refused) = bench.post(&submit, &json!({}));
    assert_eq!(status, 400);
    assert_eq!(
        refused["error"]["details"],
        json!({"provider_npi": ["is required"], "procedure_code": ["is required"], "diagnosis_codes": ["is required"]})
    );
    let rest = json!({"provider_npi": NPI, "procedure_code": "70450", "diagnosis_codes": ["I10"]});
    let (status, changed) = bench.call(Method::PATCH, &path, &rest);
    assert_eq!((status, &changed["status"]), (200, &json!("draft")));
    let (status, sent) = bench.post(&submit, &json!({"clinical_notes": "Headache."}));
    assert_eq!((status, &sent["status"]), (200, &json!("submitted")));
    assert_eq!(sent["determination"]["status"], "denied");
    assert_eq!(
        bench.events.last().unwrap().payload["before"]["status"],
        "draft"
    );
    assert_eq!(bench.post(&submit, &json!({})).0, 409);
    assert_eq!(bench.call(Method::PATCH, &path, &rest).0, 409);
    assert_eq!(bench.call(Method::DELETE, &path, &json!({})).0, 409);
    let (status, more) = bench.post(
        &format!("{path}/attachments"),
        &json!({"name": "visit-note.pdf", "content": "…"}),
    );
    assert_eq!(
        (status, more["attachments"].as_array().unwrap().len()),
        (201, 1)
    );
    assert_eq!(
        bench.get(&format!("{path}/attachments")).1,
        json!({"data": more["attachments"]})
    );
    bench.assert_replays();
}

#[test]
fn a_draft_can_be_thrown_away_and_its_id_is_not_given_again() {
    let mut bench = Bench::new();
    let draft = json!({"status": "draft"});
    let (_, first) = bench.post("portal/prior-auths", &draft);
    let path = format!(
        "portal/prior-auths/{}",
        first["request_id"].as_str().unwrap()
    );
    assert_eq!(bench.call(Method::DELETE, &path, &json!({})).0, 204);
    assert_eq!(bench.get(&path).0, 404);
    let (_, second) = bench.post("portal/prior-auths", &draft);
    assert_ne!(first["request_id"], second["request_id"]);
    bench.assert_replays();
}

#[test]
fn everything_that_is_wrong_with_a_request_is_named() {
    let mut bench = Bench::new();
    let (status, refused) = bench.post(
        "portal/prior-auths",
        &json!({"patient_member_id": "NOBODY", "provider_npi": "1234567890", "procedure_code": "MRI",
            "diagnosis_codes": ["back pain"], "clinical_notes": 5, "urgency": "high", "status": "sent"}),
    );
    assert_eq!(status, 400);
    insta::assert_snapshot!("a_refused_request", pretty(&refused));
    assert_eq!(bench.desk.requests.len(), 0);
    let event = bench.events.last().unwrap();
    assert_eq!(event.payload["status"], 400);
    assert_eq!(event.payload["error"], refused["error"]);
    let wrong = Request::new(Method::POST, "portal/prior-auths", START).with_body("[1]");
    assert_eq!(bench.send(wrong).status, 400);
    let large =
        Request::new(Method::POST, "portal/prior-auths", START).with_body(vec![b' '; 3_000_000]);
    assert_eq!(bench.send(large).status, 413);
}

#[test]
fn a_full_desk_takes_no_more_and_still_shows_what_it_has() {
    let mut bench = Bench::new();
    let (_, row) = bench.post("portal/prior-auths", &wanted("72148"));
    let one = bench.desk.requests[0].clone();
    bench.desk.requests.resize(10_000, one);
    assert_eq!(bench.post("portal/prior-auths", &wanted("72148")).0, 413);
    assert_eq!(bench.desk.requests.len(), 10_000);
    let path = format!("portal/prior-auths/{}", row["request_id"].as_str().unwrap());
    assert_eq!(bench.get(&path), (200, row));
}

#[test]
fn without_members_any_member_id_will_do() {
    let payer = simulator("Payer", Value::Null, None);
    let mut bench = Bench::of(Blueprint::read(&[&payer]).unwrap().into());
    let (status, row) = bench.post("portal/prior-auths", &wanted("72148"));
    assert_eq!(status, 201);
    assert_eq!(row["determination"], json!({"status": "pending"}));
    assert_eq!(bench.get("clearinghouse/x12").0, 404);
    bench
        .step(&json!({"type": "portal_seed", "resource": "patients", "rows": [{"member_id": "Z1", "last_name": "Zed"}]}))
        .unwrap();
    assert_eq!(bench.post("portal/prior-auths", &wanted("72148")).0, 400);
    let (_, found) = bench.get("portal/patients?last_name=ze");
    assert_eq!(
        found,
        json!({"data": [{"member_id": "Z1", "last_name": "Zed"}]})
    );
}

#[test]
fn patients_and_providers_are_found_by_what_is_known_of_them() {
    let mut bench = Bench::new();
    for (query, count) in [
        ("", 2),
        ("?member_id=bcb123456789", 1),
        ("?last_name=smi", 1),
        ("?last_name=smith&dob=1984-03-09", 1),
        ("?last_name=smith&dob=1984-03-10", 0),
    ] {
        let (status, found) = bench.get(&format!("portal/patients{query}"));
        assert_eq!(
            (status, found["data"].as_array().unwrap().len()),
            (200, count),
            "{query}"
        );
    }
    assert_eq!(bench.get("portal/patients?dob=March").0, 400);
    let (_, patient) = bench.get(&format!("portal/patients/{MEMBER}"));
    insta::assert_snapshot!("a_patient", pretty(&patient));
    let (_, found) = bench.get("portal/providers?name=rivera%20elena");
    assert_eq!(found["data"][0]["npi"], NPI);
    assert_eq!(
        bench.get("portal/providers/1111111112").1["name"],
        "Northside Imaging"
    );
    assert_eq!(bench.get("portal/providers/0000000000").0, 404);
}

#[test]
fn wrong_methods_and_paths_are_refused_as_such() {
    let mut bench = Bench::new();
    let response = bench.send(Request::new(Method::PUT, "portal/prior-auths", START));
    assert_eq!(response.status, 405);
    assert_eq!(response.headers["allow"], "GET, HEAD, POST");
    for path in [
        "portal/prior-auths/pa_0",
        "portal/prior-auths/pa_0/letters",
        "portal/patients/a/b",
        "desk",
        "",
        "portal/prior-auths/%ff",
    ] {
        let (status, body) = bench.get(path);
        assert_eq!(
            (status, &body["error"]["code"]),
            (404, &json!("NOT_FOUND")),
            "{path}"
        );
    }
}

#[test]
fn a_scenario_brings_requests_rows_and_members() {
    let mut bench = Bench::new();
    bench
        .step(&json!({"type": "portal_seed", "resource": "prior_auth_requests", "rows": [
            {"request_id": "PA-100", "patient_member_id": MEMBER, "procedure_code": "72148", "diagnosis_codes": ["M54.16"],
             "submitted_at": "2026-04-20T09:00:00Z", "determination": {"status": "need_more_info", "reason": "Notes."}, "queue": "east"},
            {"patient_member_id": MEMBER, "procedure_code": "70450", "status": "draft"},
            {"patient_member_id": MEMBER, "procedure_code": "70450", "determination": "approved"},
        ]}))
        .unwrap();
    let (_, row) = bench.get("portal/prior-auths/PA-100");
    insta::assert_snapshot!("a_seeded_request", pretty(&row));
    let stands: Vec<_> = bench
        .rows("prior_auth_requests")
        .iter()
        .map(|row| row["determination"]["status"].clone())
        .collect();
    assert_eq!(
        stands,
        [json!("need_more_info"), Value::Null, json!("approved")]
    );
    bench
        .step(&json!({"type": "portal_seed", "resource": "eligibility_checks", "rows": [{"id": 7, "result": "active"}, {"note": "x"}]}))
        .unwrap();
    bench
        .step(&json!({"type": "portal_seed", "resource": "eligibility_checks", "rows": [{"id": 7, "result": "inactive"}]}))
        .unwrap();
    assert_eq!(bench.rows("eligibility_checks")[0]["result"], "inactive");
    assert_eq!(bench.rows("eligibility_checks").len(), 2);
    bench
        .step(&json!({"type": "x12_member", "member_id": "N1", "last_name": "New", "first_name": "Nia", "birth_date": "2000-01-01", "patient_id": "nia"}))
        .unwrap();
    assert_eq!(bench.get("portal/patients/N1").1["patient_id"], "nia");
    let refused = bench.step(
        &json!({"type": "portal_seed", "resource": "prior_auth_requests", "rows": [
            {"status": "lost"}, {"determination": {"status": "perhaps"}}, {"procedure_code": "MRI"},
        ]}),
    );
    insta::assert_snapshot!("refused_rows", refused.unwrap_err().0.replace("; ", "\n"));
    assert!(
        bench
            .step(&json!({"type": "fhir_upsert", "resource": {}}))
            .is_err()
    );
    bench.assert_replays();
}

#[test]
fn rows_without_a_name_get_one_that_is_free() {
    let mut bench = Bench::new();
    for resource in ["prior_auth_requests", "notes"] {
        let named = json!({"request_id": "PA-1", "status": "draft"});
        let nameless = json!({"status": "draft"});
        for rows in [
            json!([named]),
            json!([named, nameless, nameless]),
            json!([nameless]),
        ] {
            bench
                .step(&json!({"type": "portal_seed", "resource": resource, "rows": rows}))
                .unwrap();
        }
        assert_eq!(bench.rows(resource).len(), 4, "{resource}");
    }
    bench.assert_replays();
}

#[test]
fn a_data_set_comes_and_goes_and_what_was_changed_since_stays() {
    let mut bench = Bench::new();
    let member = |id: &str| json!({"member_id": id, "last_name": "New", "first_name": "Nia", "birth_date": "2000-01-01"});
    let more = dataset(
        json!({"members": [member("N1"), member("N2")], "providers": [{"npi": "1245319599", "name": "Dr. New"}]}),
    );
    bench.provide(&Provision::Load(&more)).unwrap();
    assert_eq!(
        bench.get("portal/patients?last_name=new").1["data"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let mut changed = member("N2");
    changed["type"] = json!("x12_member");
    changed["first_name"] = json!("Nora");
    bench.step(&changed).unwrap();
    bench.provide(&Provision::Unload(&more)).unwrap();
    let (_, left) = bench.get("portal/patients?last_name=new");
    assert_eq!(left["data"].as_array().unwrap().len(), 1);
    assert_eq!(left["data"][0]["first_name"], "Nora");
    assert_eq!(bench.get("portal/providers/1245319599").0, 404);
    let other = dataset(json!({"payer": {"name": "Other", "id": "O"}, "members": []}));
    assert!(bench.provide(&Provision::Load(&other)).is_err());
    bench.assert_replays();
}

#[test]
fn all_problems_of_an_environment_are_named_at_once() {
    let mut payer = simulator(
        "Payer",
        json!({"portal": "radmd", "determinations": [{"status": "approved"}]}),
        Some(members()),
    );
    payer.datasets.push(dataset(members()));
    let house = simulator(
        "Clearinghouse",
        json!({"portal": "covermymeds", "provider_npi": "5"}),
        Some(json!("members")),
    );
    let fax = simulator("Fax", json!({"speed": 1}), None);
    let problem = Blueprint::read(&[&payer, &house, &fax]).unwrap_err();
    insta::assert_snapshot!(
        "refused_environment",
        problem.to_string().replace("; ", "\n")
    );
}

#[test]
fn credentials_say_what_the_desk_has() {
    let bench = Bench::new();
    insta::assert_snapshot!(
        "credentials",
        pretty(&bench.desk.credentials("/sandboxes/sbx_1"))
    );
}

#[test]
fn only_what_is_surely_a_page_counts_as_one() {
    for page in [
        "portal",
        "portal/",
        "portal/login",
        "portal/requests/PA-1/patient",
        "portal/drafts/",
    ] {
        assert!(crate::is_page(page), "{page}");
    }
    for other in [
        "",
        "fhir",
        "portals",
        "portal/prior-auths",
        "portal/patients/1",
        "portal/providers/",
        "portal//prior-auths",
        "portal/prior%2Dauths",
        "portal/./prior-auths",
        "portal/requests/../prior-auths",
        "clearinghouse/raw",
    ] {
        assert!(!crate::is_page(other), "{other}");
    }
}
