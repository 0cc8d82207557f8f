//! What holds for any requests at all.

use http::{Method, header};
use proctor_simulation::{exchange::Request, exhibits::Exhibits, simulator::Machine};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::*;

fn method() -> impl Strategy<Value = Method> {
    prop::sample::select(vec![
        Method::GET,
        Method::POST,
        Method::PATCH,
        Method::PUT,
        Method::DELETE,
        Method::HEAD,
    ])
}

/// An id as it may be there, or anything.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "portal",
            "clearinghouse",
            "prior-auths",
            "patients",
            "providers",
            "requests",
            "new",
            "patient",
            "physician",
            "clinical",
            "summary",
            "submit",
            "attachments",
            "documents",
            "discard",
            "login",
            "logout",
            "drafts",
            "x12",
            "eligibility",
            "claim-status",
            "prior-auth",
            "LAST",
            "",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,8}",
        "\\PC{0,4}",
    ]
}

fn known_path() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "portal/prior-auths",
        "portal/prior-auths/LAST",
        "portal/prior-auths/LAST/submit",
        "portal/prior-auths/LAST/attachments",
        "portal/patients?last_name=s",
        "portal/providers?name=r",
        "portal/requests",
        "portal/requests/new/patient?dob=1",
        "portal/requests/LAST",
        "portal/requests/LAST/patient",
        "portal/requests/LAST/physician",
        "portal/requests/LAST/clinical",
        "portal/requests/LAST/summary",
        "portal/requests/LAST/documents",
        "portal/requests/LAST/discard",
        "portal/drafts",
        "portal/login",
        "clearinghouse/eligibility",
        "clearinghouse/claim-status",
        "clearinghouse/prior-auth",
        "clearinghouse/x12",
    ])
    .prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => known_path(),
        1 => prop::collection::vec(word(), 0..5).prop_map(|words| words.join("/")),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            json!(MEMBER),
            json!(NPI),
            json!("72148"),
            json!("70450"),
            json!(["M54.16"]),
            json!(["I10", 5]),
            json!("draft"),
            json!("2026-01-02"),
            json!({"a": 1}),
            json!([{"name": "x"}]),
            json!("LAST"),
        ]),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let field = prop::sample::select(vec![
        "patient_member_id",
        "provider_npi",
        "procedure_code",
        "diagnosis_codes",
        "clinical_notes",
        "attachments",
        "status",
        "clinical_answers",
        "member_id",
        "patient_id",
        "service_type",
        "claim_id",
        "service_from",
        "payload",
        "request_id",
        "dependent",
        "birth_date",
        "last_name",
        "csrf_token",
        "name",
        "npi",
    ]);
    prop_oneof![
        2 => Just(wanted("72148").to_string().into_bytes()),
        1 => Just(json!({"status": "draft"}).to_string().into_bytes()),
        1 => Just(json!({"member_id": MEMBER, "provider_npi": NPI, "procedure_code": "72148", "diagnosis_codes": ["I10"]}).to_string().into_bytes()),
        3 => prop::collection::btree_map(field, value(), 0..6).prop_map(|map| json!(map).to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..60),
        1 => "ISA[*A-Z0-9~^:>]{0,150}".prop_map(String::into_bytes),
    ]
}

/// A request, whether a signed-in browser sends it, and how long after the last one.
type Sent = (Method, String, Vec<u8>, bool, u64);

fn sent() -> impl Strategy<Value = Vec<Sent>> {
    prop::collection::vec(
        (method(), path(), body(), any::<bool>(), 0_u64..4000),
        1..12,
    )
}

/// The fields as a page of the session would send them.
fn as_form(fields: &serde_json::Map<String, Value>, token: &str) -> Vec<u8> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("csrf_token", token);
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(all) => all
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(","),
            other => other.to_string(),
        };
        form.append_pair(name, &text);
    }
    form.finish().into_bytes()
}

/// Sends everything; what was answered, and the desk after it.
fn run(all: &[Sent]) -> (Vec<(u16, Vec<u8>)>, Bench) {
    let mut bench = Bench::new();
    let (cookie, token) = crate::web::test_session(&bench.desk, START);
    let mut answers = Vec::new();
    for (method, path, body, is_browser, wait) in all {
        bench.wait(*wait);
        let last = bench
            .desk
            .requests
            .last()
            .map_or("pa_0", |one| &one.request_id);
        let target = path.replace("LAST", last);
        let body = match std::str::from_utf8(body) {
            Ok(text) => text.replace("LAST", last).into_bytes(),
            Err(_) => body.clone(),
        };
        let body = match (*is_browser, serde_json::from_slice(&body)) {
            (true, Ok(Value::Object(fields))) => as_form(&fields, &token),
            _ => body,
        };
        let mut request = Request::new(method.clone(), &target, START).with_body(body);
        if *is_browser {
            request.headers.insert(header::COOKIE, cookie.clone());
        }
        let response = bench.send(request);
        answers.push((response.status.as_u16(), response.body.to_vec()));
    }
    (answers, bench)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_requests_are_answered_and_can_be_replayed_and_repeated(all in sent()) {
        let (answers, bench) = run(&all);
        for (status, _) in &answers {
            prop_assert!(*status < 500, "{all:?}");
        }
        prop_assert_eq!(bench.events.len(), all.len());
        bench.assert_replays();
        let (again, other) = run(&all);
        prop_assert_eq!(&answers, &again);
        prop_assert!(bench.desk == other.desk);
        prop_assert_eq!(&bench.events, &other.events);
        let mut exhibits = Exhibits::at(bench.now);
        bench.desk.exhibit(&mut exhibits);
        prop_assert_eq!(exhibits.rows["prior_auth_requests"].len(), bench.desk.requests.len());
    }

    #[test]
    fn any_rows_of_a_scenario_are_taken_or_refused_whole(
        resource in prop_oneof![Just("prior_auth_requests".to_owned()), "[a-z]{0,5}"],
        rows in prop::collection::vec(prop::collection::btree_map(
            prop::sample::select(vec!["request_id", "patient_member_id", "status", "determination", "procedure_code", "submitted_at", "id", "x"]),
            value(), 0..5), 0..4),
    ) {
        let mut bench = Bench::new();
        let before = bench.desk.requests.len();
        let step = json!({"type": "portal_seed", "resource": resource, "rows": rows});
        if bench.step(&step).is_err() {
            prop_assert_eq!(bench.desk.requests.len(), before);
            prop_assert!(bench.changes.is_empty());
        }
        bench.assert_replays();
    }
}
