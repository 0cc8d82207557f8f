//! X12, as such and as JSON.

use http::{HeaderValue, Method, header};
use proctor_fhir_store::{BaseBuilder, LoneStore, Seed, Settings};
use proctor_simulation::{
    exchange::Request,
    exhibits::Exhibits,
    simulator::{Around, Machine},
};
use serde_json::{Value, json};

use super::support::*;
use crate::X12Response;

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

fn asked(code: &str) -> Value {
    json!({"member_id": MEMBER, "provider_npi": NPI, "procedure_code": code, "diagnosis_codes": ["M54.16", "M51.26"]})
}

#[test]
fn eligibility_is_a_270_answered_by_a_271() {
    let mut bench = Bench::new();
    let (status, answer) = bench.post(
        "clearinghouse/eligibility",
        &json!({"patient_id": "ada", "service_type": "98"}),
    );
    assert_eq!(status, 200);
    insta::assert_snapshot!("eligibility", pretty(&answer));
    let (_, inactive) = bench.post(
        "clearinghouse/eligibility",
        &json!({"member_id": "BCB987654321"}),
    );
    assert_eq!(inactive["active"], false);
    let (_, named) = bench.post(
        "clearinghouse/eligibility",
        &json!({"last_name": "smith", "dob": "1984-03-09"}),
    );
    assert_eq!(named["member"]["member_id"], MEMBER);
    let (status, unknown) =
        bench.post("clearinghouse/eligibility", &json!({"member_id": "NOBODY"}));
    assert_eq!((status, &unknown["errors"][0]["code"]), (200, &json!("72")));
    let mut exhibits = Exhibits::at(bench.now);
    bench.desk.exhibit(&mut exhibits);
    let shown = exhibits.evidence::<X12Response>().unwrap();
    assert_eq!(shown.len(), 4);
    assert_eq!(shown[0].raw, answer["raw"]);
    assert_eq!(shown[0].control_number, answer["control_number"]);
    assert_eq!(
        bench.get("clearinghouse/x12").1["data"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    let event = &bench.events[0];
    assert_eq!(event.kind, "x12_exchange");
    assert_eq!(event.payload["request_raw"], answer["request_raw"]);
    assert_eq!(event.payload["responses"][0]["raw"], answer["raw"]);
    bench.assert_replays();
}

#[test]
fn a_claim_is_found_by_what_is_known_of_it() {
    let mut bench = Bench::new();
    let (status, answer) = bench.post(
        "clearinghouse/claim-status",
        &json!({"member_id": MEMBER, "claim_id": "CLM0001"}),
    );
    assert_eq!((status, &answer["transaction"]), (200, &json!("277")));
    assert_eq!(answer["claims"][0]["category"], "F1");
    let (_, none) = bench.post(
        "clearinghouse/claim-status",
        &json!({"member_id": MEMBER, "service_date": "2020-01-01"}),
    );
    assert_eq!(none["claims"][0]["category"], "A4");
    let (_, nobody) = bench.post(
        "clearinghouse/claim-status",
        &json!({"member_id": "NOBODY"}),
    );
    assert_eq!(nobody["claims"][0]["category"], "D0");
    let (status, refused) = bench.post(
        "clearinghouse/claim-status",
        &json!({"service_to": "2026-01-01", "claim": 1}),
    );
    assert_eq!(status, 400);
    assert_eq!(
        refused["error"]["details"],
        json!({"member_id": ["is required"], "service_from": ["is required"], "claim": ["is no field of this question"]})
    );
}

#[test]
fn portal_x12_and_rest_agree_on_one_row() {
    let mut bench = Bench::new();
    let (status, said) = bench.post("clearinghouse/prior-auth", &asked("72148"));
    assert_eq!((status, &said["action"]), (200, &json!("A4")));
    let id = said["request_id"].as_str().unwrap().to_owned();
    let (_, row) = bench.get(&format!(
        "portal/prior-auths/{}",
        said["auth_number"].as_str().unwrap()
    ));
    assert_eq!(row["request_id"], json!(id));
    assert_eq!(row["channel"], "x12");
    assert_eq!(row["diagnosis_codes"], json!(["M54.16", "M51.26"]));
    assert_eq!(said["request"], row);
    assert_eq!(bench.rows("prior_auth_requests"), vec![row]);
    bench.wait(3600);
    let (_, row) = bench.get(&format!("portal/prior-auths/{id}"));
    assert_eq!(row["determination"]["status"], "approved");
    for again in [
        asked("72148"),
        json!({"request_id": id}),
        json!({"auth_number": row["auth_number"]}),
    ] {
        let (status, said) = bench.post("clearinghouse/prior-auth", &again);
        assert_eq!((status, &said["action"]), (200, &json!("A1")), "{again}");
        assert_eq!(said["request"], row);
    }
    assert_eq!(bench.rows("prior_auth_requests"), vec![row]);
    // The other way round: what was asked for at the portal is answered to a 278.
    let (_, denied) = bench.post("portal/prior-auths", &wanted("70450"));
    let (_, said) = bench.post("clearinghouse/prior-auth", &asked("70450"));
    assert_eq!(said["auth_number"], denied["auth_number"]);
    assert_eq!(
        (&said["action"], &said["reason"]),
        (&json!("A3"), &json!("Not medically necessary."))
    );
    // Other reasons are another request.
    let mut other = asked("70450");
    other["diagnosis_codes"] = json!(["R51.9"]);
    assert_ne!(
        bench.post("clearinghouse/prior-auth", &other).1["request_id"],
        denied["request_id"]
    );
    assert_eq!(bench.rows("prior_auth_requests").len(), 3);
    bench.assert_replays();
}

#[test]
fn a_long_note_is_kept_whole_where_x12_would_cut_it() {
    let mut bench = Bench::new();
    let mut long = asked("72148");
    long["clinical_notes"] = json!("pain ".repeat(200));
    long["attachments"] = json!([{"name": "note.pdf"}]);
    let (_, said) = bench.post("clearinghouse/prior-auth", &long);
    assert_eq!(said["request"]["clinical_notes"], long["clinical_notes"]);
    assert_eq!(said["request"]["attachments"], long["attachments"]);
}

#[test]
fn a_rejected_278_leaves_no_row() {
    let mut bench = Bench::new();
    let mut wrong = asked("72148");
    wrong["member_id"] = json!("NOBODY");
    let (status, said) = bench.post("clearinghouse/prior-auth", &wrong);
    assert_eq!((status, &said["status"]), (200, &Value::Null));
    assert_eq!(said["errors"][0]["code"], "72");
    assert_eq!(bench.rows("prior_auth_requests").len(), 0);
    assert_eq!(
        bench
            .post("clearinghouse/prior-auth", &json!({"request_id": "pa_0"}))
            .0,
        404
    );
    let (_, draft) = bench.post("portal/prior-auths", &json!({"status": "draft"}));
    let named = json!({"request_id": draft["request_id"]});
    assert_eq!(bench.post("clearinghouse/prior-auth", &named).0, 409);
    let (status, refused) = bench.post(
        "clearinghouse/prior-auth",
        &json!({"member_id": MEMBER, "procedure_code": "MRI"}),
    );
    assert_eq!(status, 400);
    assert_eq!(refused["error"]["details"].as_object().unwrap().len(), 3);
}

#[test]
fn a_raw_interchange_is_acknowledged_and_answered() {
    let mut bench = Bench::new();
    let (_, said) = bench.post("clearinghouse/eligibility", &json!({"member_id": MEMBER}));
    let raw = said["request_raw"].as_str().unwrap().to_owned();
    // ISA14 asks for an acknowledgment.
    let asking = raw.replacen("*0*T*:", "*1*T*:", 1);
    let (status, body) = bench.post("clearinghouse/x12", &json!({"payload": asking}));
    assert_eq!(status, 200);
    let kinds: Vec<_> = body["responses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["transaction"].clone())
        .collect();
    assert_eq!(kinds, [json!("TA1"), json!("999"), json!("271")]);
    assert_eq!(body["responses"][2]["parsed"]["active"], true);
    let mut plain = Request::new(Method::POST, "clearinghouse/x12", START).with_body(raw.clone());
    plain.headers.insert(
        header::ACCEPT,
        HeaderValue::from_static("application/edi-x12"),
    );
    let response = bench.send(plain);
    assert_eq!(response.headers["content-type"], "application/edi-x12");
    assert!(response.body.starts_with(b"ISA*"));
    let broken = raw.replace("IEA*1*", "IEA*2*");
    let (_, body) = bench.post("clearinghouse/x12", &json!({"payload": broken}));
    assert_eq!(body["responses"][0]["transaction"], "TA1");
    assert_eq!(body["responses"].as_array().unwrap().len(), 1);
    let syntax = raw.replace("BHT*0022", "BHT*9999");
    let (_, body) = bench.post("clearinghouse/x12", &json!({"payload": syntax}));
    assert_eq!(body["responses"][0]["transaction"], "999");
    for (bad, status) in [
        (json!({"payload": "hello"}), 400),
        (json!({}), 400),
        (json!({"payload": 5}), 400),
        (json!({"payload": "x".repeat(300_000)}), 413),
    ] {
        assert_eq!(bench.post("clearinghouse/x12", &bad).0, status);
    }
    let numbers: std::collections::BTreeSet<_> = bench
        .desk
        .answered
        .iter()
        .map(|one| one.control_number.clone())
        .collect();
    assert_eq!(numbers.len(), bench.desk.answered.len());
    assert_eq!(
        bench.call(Method::PUT, "clearinghouse/x12", &json!({})).0,
        405
    );
    assert_eq!(bench.get("clearinghouse/eligibility").0, 405);
    assert_eq!(bench.get("clearinghouse/nothing").0, 404);
    bench.assert_replays();
}

#[test]
fn a_patient_of_the_chart_is_found_among_the_members() {
    let resources = [
        json!({"resourceType": "Patient", "id": "by-coverage", "name": [{"family": "X"}]}),
        json!({"resourceType": "Coverage", "id": "c1", "status": "active", "subscriberId": "BCB987654321",
            "beneficiary": {"reference": "Patient/by-coverage"}, "payor": [{"display": "BHH"}]}),
        json!({"resourceType": "Patient", "id": "by-identifier", "identifier": [{"value": "MRN-1"}, {"value": MEMBER}]}),
        json!({"resourceType": "Patient", "id": "by-name", "name": [{"family": "O'Brien", "given": ["Liam"]}], "birthDate": "1970-12-01"}),
        json!({"resourceType": "Patient", "id": "stranger", "name": [{"family": "Doe", "given": ["Jo"]}], "birthDate": "1970-12-01"}),
    ];
    let mut builder = BaseBuilder::new(Seed::from_number(1), START);
    for resource in resources {
        builder.load_one(resource).unwrap();
    }
    let chart = LoneStore {
        base: builder.finish().into(),
        settings: Settings::at("http://localhost/fhir").into(),
        seed: Seed::from_number(1),
        smart: None,
    };
    let bench = Bench::new();
    let neighbours = [chart.machine()];
    let around = Around::between(START, &[], &neighbours);
    for (patient, member) in [
        ("by-coverage", json!("BCB987654321")),
        ("Patient/by-identifier", json!(MEMBER)),
        ("by-name", json!("BCB987654321")),
        ("ada", json!(MEMBER)),
        ("stranger", Value::Null),
    ] {
        let body = json!({"patient_id": patient});
        let request =
            Request::new(Method::POST, "clearinghouse/eligibility", START).with_json(&body);
        let (status, answer) = read(&bench.desk.decide(&request, &around).response);
        assert_eq!(status, 200, "{patient}");
        assert_eq!(answer["member"]["member_id"], member, "{patient}");
    }
    for patient in ["nobody", "a,b", "../x"] {
        let body = json!({"patient_id": patient});
        let request =
            Request::new(Method::POST, "clearinghouse/eligibility", START).with_json(&body);
        assert_eq!(bench.desk.decide(&request, &around).response.status, 404);
    }
}
