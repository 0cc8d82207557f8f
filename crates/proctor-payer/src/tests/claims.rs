//! Claims: 837P in, 999 and 277CA at once, 835 when it is decided; the same at the portal, in 277s and in checks.

use proctor_simulation::{exchange::Request, exhibits::Exhibits, simulator::Machine};
use proctor_x12::{interchange::Document, segment::Segment};
use serde_json::{Value, json};

use super::support::*;
use crate::X12Response;

const DAY: u64 = 86_400;

fn config() -> Value {
    json!({
        "adjudications": [
            {"when": {"duplicate": true}, "status": "denied", "adjustments": [{"group": "CO", "reason": "18"}], "remarks": ["N522"], "after": "1d"},
            {"procedure_code": "72148", "when": {"authorization": "missing"}, "status": "denied",
             "adjustments": [{"group": "CO", "reason": "197"}], "remarks": ["M62"], "after": "1d"},
            {"procedure_code": "99214", "status": "paid", "allowed": 104.2,
             "adjustments": [{"group": "PR", "reason": "3", "amount": 20}, {"group": "PR", "reason": "2", "percent": 10}, {"group": "OA", "reason": "23", "amount": 1.01}],
             "delay_seconds": 172_800},
            {"procedure_code": "J0135", "status": "pending"},
        ],
        "determinations": [{"procedure_code": "72148", "status": "approved"}],
    })
}

fn bench() -> Bench {
    Bench::of(blueprint(config()))
}

fn bill(account: &str, code: &str, charge: f64) -> Value {
    json!({"patient_account": account, "member_id": MEMBER, "service_date": "2026-04-02", "diagnosis_codes": ["M54.16"],
        "lines": [{"procedure_code": code, "charge": charge}]})
}

fn segments(raw: &Value) -> Vec<Segment> {
    let document = Document::read(raw.as_str().unwrap()).unwrap();
    let all: Vec<_> = document.transactions().map(<[Segment]>::to_vec).collect();
    all.into_iter().next().unwrap()
}

/// A decimal in cents.
fn cents(text: &str) -> i64 {
    (text.parse::<f64>().unwrap() * 100.0).round() as i64
}

/// Asserts that an 835 balances: services, claims and the payment.
fn assert_balances(raw: &Value) {
    let segments = segments(raw);
    let payment = segments.iter().find(|one| one.tag == "BPR").unwrap();
    let mut total = 0;
    let claims = segments.chunk_by(|_, next| !matches!(next.tag.as_str(), "CLP" | "SE"));
    for claim in claims.filter(|chunk| chunk[0].tag == "CLP") {
        let adjusted = |segments: &[Segment]| -> i64 {
            let all = segments.iter().filter(|one| one.tag == "CAS");
            let amounts = all.flat_map(|one| (3..=18).step_by(3).map(|at| one.text(at)));
            amounts.filter(|text| !text.is_empty()).map(cents).sum()
        };
        assert_eq!(
            cents(claim[0].text(3)) - adjusted(claim),
            cents(claim[0].text(4))
        );
        let lines = claim.chunk_by(|_, next| next.tag != "SVC");
        for line in lines.filter(|chunk| chunk[0].tag == "SVC") {
            assert_eq!(
                cents(line[0].text(2)) - adjusted(line),
                cents(line[0].text(3))
            );
        }
        total += cents(claim[0].text(4));
    }
    assert_eq!(cents(payment.text(2)), total);
}

#[test]
fn a_claim_is_acknowledged_at_once_and_paid_or_denied_later() {
    let mut bench = bench();
    let (status, answer) = bench.post("clearinghouse/claims", &bill("CLM1", "72148", 1240.5));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["transaction"], "277CA");
    assert_eq!(answer["claims"][0]["category"], "A2");
    assert_eq!(answer["claims"][0]["patient_account"], "CLM1");
    let id = answer["claim"]["claim_id"].clone();
    assert_eq!(answer["claims"][0]["claim_id"], id);
    assert_eq!(answer["claim"]["status"], "accepted");
    let sent = bench.get("clearinghouse/x12").1;
    let kinds: Vec<&Value> = sent["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["transaction"])
        .collect();
    assert_eq!(kinds, ["999", "277CA"]);
    assert_eq!(bench.get("clearinghouse/remittances").1["data"], json!([]));
    // Nobody sees what will be decided.
    assert!(
        !bench
            .get("portal/claims/CLM1")
            .1
            .to_string()
            .contains("197")
    );

    bench.wait(DAY);
    let remittance = &bench
        .get("clearinghouse/remittances?patient_account=CLM1")
        .1["data"][0];
    let parsed = &remittance["parsed"];
    assert_eq!(parsed["claims"][0]["status"], "denied");
    assert_eq!(parsed["claims"][0]["claim_id"], id);
    assert_eq!(parsed["paid"], json!(0));
    let service = &parsed["claims"][0]["services"][0];
    assert_eq!(
        service["adjustments"],
        json!([{"group": "CO", "reason": "197", "amount": 1240.5}])
    );
    assert_eq!(service["remarks"], json!(["M62"]));
    assert_balances(&remittance["raw"]);
    let raw = segments(&remittance["raw"]);
    assert!(
        raw.iter()
            .any(|one| one.tag == "TRN" && one.text(2) == parsed["trace_number"])
    );
    // The desk is one: portal, clearinghouse, 277 and checks agree.
    let row = bench.get("portal/claims/CLM1").1;
    assert_eq!(
        row,
        bench
            .get(&format!("clearinghouse/claims/{}", id.as_str().unwrap()))
            .1
    );
    assert_eq!(
        (&row["status"], &row["check_number"]),
        (&json!("denied"), &parsed["trace_number"])
    );
    assert_eq!(bench.rows("claims"), [row]);
    let (_, asked) = bench.post(
        "clearinghouse/claim-status",
        &json!({"member_id": MEMBER, "claim_id": id}),
    );
    assert_eq!(asked["claims"][0]["category"], "F2");
    let mut exhibits = Exhibits::at(bench.now);
    bench.desk.exhibit(&mut exhibits);
    let shown: Vec<&X12Response> = exhibits.evidence().unwrap();
    assert!(shown.iter().any(|one| one.transaction == "835"));
    bench.assert_replays();
}

#[test]
fn what_is_paid_follows_from_what_is_allowed_and_adjusted() {
    let mut bench = bench();
    let (_, answer) = bench.post("clearinghouse/claims", &bill("CLM2", "99214", 120.0));
    assert_eq!(answer["claims"][0]["accepted"], true);
    bench.wait(2 * DAY);
    let remittance = &bench.get("clearinghouse/remittances").1["data"][0];
    let service = &remittance["parsed"]["claims"][0]["services"][0];
    assert_eq!(
        service["adjustments"],
        json!([
            {"group": "CO", "reason": "45", "amount": 15.8},
            {"group": "PR", "reason": "3", "amount": 20},
            {"group": "PR", "reason": "2", "amount": 10.42},
            {"group": "OA", "reason": "23", "amount": 1.01},
        ])
    );
    assert_eq!(service["paid"], json!(72.77));
    assert_eq!(
        remittance["parsed"]["claims"][0]["patient_responsibility"],
        json!(30.42)
    );
    assert_balances(&remittance["raw"]);
    // Where nothing is configured it is paid at once, and where it pends nothing comes.
    let (_, answer) = bench.post("clearinghouse/claims", &bill("CLM3", "20610", 0.07));
    assert_eq!(answer["claim"]["status"], "paid");
    let (_, answer) = bench.post("clearinghouse/claims", &bill("CLM4", "J0135", 500.0));
    assert_eq!(answer["claim"]["status"], "pending");
    bench.wait(90 * DAY);
    let all = bench.get("clearinghouse/remittances").1;
    assert_eq!(all["data"].as_array().unwrap().len(), 2);
    for one in all["data"].as_array().unwrap() {
        assert_balances(&one["raw"]);
    }
    assert_eq!(
        bench.get("portal/claims?status=pending").1["data"][0]["patient_account"],
        "CLM4"
    );
}

#[test]
fn claims_that_cannot_be_decided_are_rejected_with_their_codes() {
    let mut bench = bench();
    let mut told = Vec::new();
    let mut ask = |bench: &mut Bench, change: fn(&mut Value)| {
        let mut claim = bill("CLM5", "20610", 50.0);
        change(&mut claim);
        let (status, answer) = bench.post("clearinghouse/claims", &claim);
        let one = &answer["claims"][0];
        told.push(format!(
            "{status} {} {}:{} {}",
            one["accepted"], one["category"], one["status_code"], one["entity"]
        ));
    };
    ask(&mut bench, |claim| claim["member_id"] = json!("NOBODY"));
    ask(&mut bench, |claim| {
        claim["provider_npi"] = json!("1234567890");
    });
    ask(&mut bench, |claim| {
        claim["birth_date"] = json!("1990-01-01");
    });
    ask(&mut bench, |claim| claim["last_name"] = json!("Jones"));
    ask(&mut bench, |claim| {
        claim["dependent"] =
            json!({"first_name": "Nobody", "last_name": "Smith", "birth_date": "2015-01-01"});
    });
    ask(&mut bench, |claim| claim["frequency"] = json!("8"));
    ask(&mut bench, |claim| {
        claim["frequency"] = json!("7");
        claim["original_claim_id"] = json!("C999");
    });
    insta::assert_snapshot!("claims_rejected", told.join("\n"));
    assert_eq!(
        bench.get("clearinghouse/claims").1["data"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(bench.rows("claims").len(), 0);
}

#[test]
fn a_broken_837_gets_a_999_with_what_is_wrong_and_nothing_else() {
    let mut bench = bench();
    let (_, answer) = bench.post("clearinghouse/claims", &bill("CLM6", "20610", 50.0));
    let good = answer["request_raw"].as_str().unwrap().to_owned();
    let broken =
        good.replacen("CLM*CLM6*50", "CLM**fifty", 1)
            .replacen("SV1*HC:20610", "SV1*XX:20610", 1);
    let (status, answer) = bench.post("clearinghouse/x12", &json!({"payload": broken}));
    assert_eq!(status, 200);
    let responses = answer["responses"].as_array().unwrap();
    assert_eq!(responses.len(), 1, "{answer}");
    let notes = segments(&responses[0]["raw"]);
    let found: Vec<String> = notes
        .iter()
        .filter(|one| matches!(one.tag.as_str(), "IK3" | "IK4" | "IK5" | "AK9"))
        .map(|one| {
            let elements: Vec<String> = one
                .elements
                .iter()
                .map(proctor_x12::segment::Element::joined)
                .collect();
            format!("{}*{}", one.tag, elements.join("*"))
        })
        .collect();
    insta::assert_snapshot!("claim_999", found.join("\n"));
    // The same interchange that is right is taken, whatever ISA14 says.
    let (_, answer) = bench.post("clearinghouse/x12", &json!({"payload": good}));
    let kinds: Vec<&Value> = answer["responses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["transaction"])
        .collect();
    assert_eq!(kinds[..2], ["999", "277CA"]);
}

#[test]
fn a_duplicate_is_denied_and_a_corrected_claim_takes_the_place_of_a_denied_one() {
    let mut bench = bench();
    bench.post("clearinghouse/claims", &bill("CLM7", "72148", 1240.5));
    bench.post("clearinghouse/claims", &bill("CLM8", "72148", 1240.5));
    let denied = bench.get("clearinghouse/claims/CLM7").1["claim_id"].clone();
    let authorization = bench.post("portal/prior-auths", &wanted("72148")).1["auth_number"].clone();
    let mut corrected = bill("CLM7", "72148", 1240.5);
    corrected["frequency"] = json!("7");
    corrected["original_claim_id"] = denied;
    corrected["authorization_number"] = authorization;
    let (_, early) = bench.post("clearinghouse/claims", &corrected);
    assert_eq!(
        (
            &early["claims"][0]["accepted"],
            &early["claims"][0]["status_code"]
        ),
        (&json!(false), &json!("40"))
    );
    bench.wait(DAY);
    let duplicate = bench.get("clearinghouse/claims/CLM8").1;
    assert_eq!(duplicate["lines"][0]["adjustments"][0]["reason"], "18");
    // The first is no duplicate of the one that it is a duplicate of; correct the second away, then the first.
    let (_, answer) = bench.post("clearinghouse/claims", &{
        let mut second = corrected.clone();
        second["patient_account"] = json!("CLM8");
        second["original_claim_id"] = duplicate["claim_id"].clone();
        second["lines"][0]["procedure_code"] = json!("20610");
        second
    });
    assert_eq!(answer["claims"][0]["accepted"], true, "{answer}");
    let (_, answer) = bench.post("clearinghouse/claims", &corrected);
    assert_eq!(answer["claim"]["status"], "paid", "{answer}");
    let (_, again) = bench.post("clearinghouse/claims", &corrected);
    assert_eq!(again["claims"][0]["status_code"], "54");
    let rows = bench.get("portal/claims?patient_account=CLM7").1;
    let rows = rows["data"].as_array().unwrap();
    assert_eq!(
        (rows.len(), &rows[1]["replaced_by"]),
        (2, &rows[0]["claim_id"])
    );
    bench.assert_replays();
}

#[test]
fn a_scenario_sends_claims_as_one_837_and_they_share_a_remittance() {
    let mut bench = bench();
    let mut second = bill("CLM10", "99214", 120.0);
    second["service_date"] = json!("2026-04-03");
    let mut first = bill("CLM9", "72148", 1240.5);
    first["lines"][0]["units"] = json!(2);
    bench.step(&json!({"type": "x12_claim", "claims": [first, {"patient_account": "CLM11", "member_id": MEMBER,
        "service_date": "2026-04-05", "diagnosis_codes": ["M54.16"], "lines": [{"procedure_code": "72148", "charge": 10}]}, second]})).unwrap();
    assert_eq!(
        bench.get("clearinghouse/claims").1["data"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    bench.wait(3 * DAY);
    let all = bench.get("clearinghouse/remittances").1;
    let accounts: Vec<Vec<&Value>> = all["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            one["parsed"]["claims"]
                .as_array()
                .unwrap()
                .iter()
                .map(|claim| &claim["patient_account"])
                .collect()
        })
        .collect();
    assert_eq!(accounts, [vec!["CLM9", "CLM11"], vec!["CLM10"]]);
    let wrong = bench.step(&json!({"type": "x12_claim", "claims": [{"patient_account": "X", "member_id": MEMBER, "colour": "red"},
        {"member_id": MEMBER, "diagnosis_codes": ["M54.16"], "lines": [{"procedure_code": "72148"}]}]}));
    insta::assert_snapshot!(
        "claims_step_refused",
        wrong.unwrap_err().0.replace("; ", "\n")
    );
    let unknown = bench.step(&json!({"type": "x12_claim", "claims": [bill_of("NOBODY")]}));
    assert!(
        unknown.unwrap_err().0.contains(
            "claims.0: the payer does not take it (A3:33): the subscriber is not on file"
        )
    );
    bench.assert_replays();
}

fn bill_of(member: &str) -> Value {
    let mut claim = bill("CLM12", "20610", 50.0);
    claim["member_id"] = json!(member);
    claim
}

#[test]
fn what_is_wrong_with_rules_about_claims_is_named_at_once() {
    let wrong = json!({
        "adjudications": [
            {"status": "denied"},
            {"procedure_code": "1", "status": "paid", "adjustments": [{"group": "XX", "reason": "1"}]},
            {"procedure_code": "1", "status": "paid", "after": "soon", "colour": 1},
            {"procedure_code": "1", "status": "paid", "adjustments": [{"group": "CO", "reason": "too long", "amount": 1, "percent": 2}, {"group": "CO", "reason": "1", "amount": 0.001}]},
        ],
        "default_adjudication": {"status": "lost"},
        "payer": {"name": "P", "id": "1", "tax_id": "12"},
    });
    let told = crate::blueprint::check_config(&wrong).unwrap_err();
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!("refused_claim_rules", told.join("\n"));
}

#[test]
fn methods_and_parameters_that_are_not_there_are_refused() {
    let mut bench = bench();
    for (method, path, expected) in [
        ("DELETE", "clearinghouse/claims", 405),
        ("POST", "clearinghouse/remittances", 405),
        ("POST", "portal/claims", 405),
        ("GET", "clearinghouse/claims?colour=red", 400),
        ("GET", "clearinghouse/remittances?colour=red", 400),
        ("GET", "clearinghouse/claims/NONE", 404),
        ("GET", "portal/claims/NONE", 404),
    ] {
        let method = method.parse().unwrap();
        let response = bench.send(Request::new(method, path, START));
        assert_eq!(response.status.as_u16(), expected, "{path}");
    }
    let (status, answer) = bench.post("clearinghouse/claims", &json!({"member_id": MEMBER, "lines": [{"charge": 5}, {"procedure_code": "72148", "charge": 1.005}], "colour": "red"}));
    assert_eq!(status, 400);
    let fields: Vec<&String> = answer["error"]["details"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(
        fields,
        [
            "colour",
            "diagnosis_codes",
            "lines.0",
            "lines.1",
            "patient_account"
        ]
    );
}
