//! The pages, as a browser without scripts uses them.

use http::Method;
use proctor_simulation::{exchange::Request, simulator::Machine};
use serde_json::{Value, json};

use super::{browser::Browser, support::*};

#[test]
fn the_imaging_wizard_leads_from_the_patient_to_a_decision() {
    let mut config = rules();
    config["portal"] = json!("radmd");
    let mut browser = Browser::new(config);
    browser.sign_in();
    browser.click("New request");
    browser.press(
        "Find patient",
        &[("last_name", "smith"), ("dob", "1984-03-09")],
    );
    browser.shows("Ada Smith, born 1984-03-09, member BCB123456789");
    browser.press("Continue", &[("patient_member_id", MEMBER)]);
    assert!(browser.path.ends_with("/physician"));
    browser.shows("aria-current=\"step\">Physician");
    browser.press("Find provider", &[("provider_name", "rivera")]);
    browser.shows("Dr. Elena Rivera, Orthopedics, NPI 1234567893");
    browser.press("Continue", &[("provider_npi", NPI), ("npi", "")]);
    assert!(browser.path.ends_with("/clinical"));
    browser.press(
        "Continue",
        &[("procedure_code", "MRI"), ("diagnosis_codes", "M54.16")],
    );
    assert_eq!(browser.status, 400);
    browser.shows("role=\"alert\"");
    browser.shows("value=\"MRI\"");
    assert_eq!(browser.row()["procedure_code"], Value::Null);
    browser.press(
        "Continue",
        &[
            ("procedure_code", "72148"),
            ("diagnosis_codes", "m54.16, M51.26"),
            ("answer_conservative_treatment", "Yes"),
            ("clinical_notes", "Six weeks of therapy.\r\nNo relief."),
        ],
    );
    assert!(browser.path.ends_with("/summary"), "{}", browser.page);
    browser.shows("72148 – MRI of the lower back, without contrast");
    assert_eq!(browser.row()["status"], "draft");
    browser.press("Submit request", &[]);
    assert_eq!(browser.status, 200);
    browser.shows("The request was submitted.");
    browser.shows("<dt>Decision</dt><dd>Pending</dd>");
    let row = browser.row();
    insta::assert_snapshot!(
        "a_row_from_the_pages",
        serde_json::to_string_pretty(&row).unwrap()
    );
    // The same row over REST and X12, and the decision when it is out.
    let path = format!("portal/prior-auths/{}", row["request_id"].as_str().unwrap());
    assert_eq!(browser.bench.get(&path).1, row);
    browser.bench.wait(3600);
    let (_, said) = browser.bench.post(
        "clearinghouse/prior-auth",
        &json!({"auth_number": row["auth_number"]}),
    );
    assert_eq!(
        (&said["action"], &said["auth_number"]),
        (&json!("A1"), &row["auth_number"])
    );
    // The session has ended by now.
    browser.open("portal/requests");
    assert!(browser.path.ends_with("login"));
    browser.shows("Your session has ended.");
    browser.sign_in();
    browser.shows("<td>Approved</td>");
    browser.bench.assert_replays();
}

#[test]
fn the_medication_portal_keeps_drafts_and_shows_a_formulary() {
    let mut config = rules();
    config["portal"] = json!("covermymeds");
    config["username"] = json!("dr.rivera");
    config["password"] = json!("corn flakes & milk");
    config["questions"] = json!([
        {"id": "tried", "text": "What was tried before?", "required": true},
        {"id": "urgent", "text": "Is it urgent?", "options": ["Yes", "No"]},
    ]);
    let mut browser = Browser::new(config);
    browser.sign_in();
    browser.click("Formulary");
    browser.press("Search", &[("q", "adali")]);
    browser.shows("J0135");
    browser.click("Start request");
    browser.press("Find patient", &[("member_id", MEMBER)]);
    browser.press("Continue", &[("patient_member_id", MEMBER)]);
    assert!(browser.path.ends_with("/medication"));
    browser.shows("value=\"J0135\"");
    browser.press(
        "Continue",
        &[
            ("procedure_code", "J0135"),
            ("quantity", "2"),
            ("days_supply", "28"),
        ],
    );
    assert!(browser.path.ends_with("/prescriber"));
    // Later, from the drafts.
    browser.click("Drafts");
    let id = browser.row()["request_id"].as_str().unwrap().to_owned();
    browser.click(&id);
    assert!(browser.path.ends_with("/prescriber"));
    browser.press("Continue", &[("npi", "1234567890")]);
    assert_eq!(browser.status, 400);
    browser.press("Continue", &[("npi", NPI)]);
    // A step that was answered keeps its answer until another is given.
    browser.open(&format!("portal/requests/{id}/prescriber"));
    browser.shows("Prescriber of this request: <strong>Dr. Elena Rivera (NPI 1234567893)</strong>");
    browser.press("Continue", &[("provider_npi", "1111111112"), ("npi", "")]);
    assert_eq!(browser.row()["provider_npi"], "1111111112");
    browser.open(&format!("portal/requests/{id}/prescriber"));
    browser.press("Continue", &[("npi", "")]);
    assert_eq!(browser.row()["provider_npi"], "1111111112");
    browser.press(
        "Continue",
        &[
            ("diagnosis_codes", "L40.50"),
            ("answer_urgent", "No"),
            ("clinical_notes", ""),
        ],
    );
    assert!(browser.path.ends_with("/review"));
    browser.press("Send to plan", &[]);
    assert_eq!(browser.status, 400);
    browser.shows("What was tried before?: is required");
    browser.click("Clinical questions");
    browser.shows("value=\"L40.50\"");
    browser.press(
        "Continue",
        &[
            ("diagnosis_codes", "L40.50"),
            ("answer_tried", "Methotrexate <1y>"),
            ("answer_urgent", "No"),
        ],
    );
    browser.shows("Methotrexate &#60;1y&#62;");
    browser.press("Send to plan", &[]);
    browser.shows("More information needed");
    browser.shows("Send the last visit note.");
    browser.press(
        "Add document",
        &[("name", "visit-note.txt"), ("content", "Seen on Monday.")],
    );
    browser.shows("The document was added.");
    let row = browser.row();
    assert_eq!(
        row["attachments"],
        json!([{"name": "visit-note.txt", "content": "Seen on Monday."}])
    );
    assert_eq!(
        row["clinical_answers"],
        json!({"quantity": "2", "days_supply": "28", "tried": "Methotrexate <1y>", "urgent": "No"})
    );
    // What was sent cannot be changed any more.
    browser.open(&format!("portal/requests/{id}/clinical"));
    assert_eq!(browser.path, format!("portal/requests/{id}"));
    browser.bench.assert_replays();
}

#[test]
fn without_the_token_of_the_session_a_form_changes_nothing() {
    let mut browser = Browser::new(rules());
    browser.sign_in();
    for token in [None, Some(""), Some("AAAA"), Some("not base64 !")] {
        let mut fields = vec![("patient_member_id", MEMBER)];
        fields.extend(token.map(|token| ("csrf_token", token)));
        browser.send(Method::POST, "portal/requests/new/patient", Some(&fields));
        assert_eq!(browser.status, 403, "{token:?}");
    }
    // A token of another session is none of this one.
    browser.open("portal/requests/new/patient");
    let foreign = browser
        .page
        .split("csrf_token\" value=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    browser.bench.wait(1);
    browser.cookie = None;
    browser.sign_in();
    browser.send(
        Method::POST,
        "portal/requests/new/patient",
        Some(&[("csrf_token", &foreign), ("patient_member_id", MEMBER)]),
    );
    assert_eq!(browser.status, 403);
    assert_eq!(browser.bench.desk.requests.len(), 0);
}

#[test]
fn only_the_right_password_opens_the_portal() {
    let mut browser = Browser::new(rules());
    for way in [
        "portal",
        "portal/",
        "portal/requests/pa_1",
        "portal/requests/new",
    ] {
        browser.open(way);
        assert_eq!(browser.path, "portal/login", "{way}");
    }
    let (user, password) = (browser.bench.desk.username(), browser.bench.desk.password());
    for (user, password) in [
        (user.as_str(), "wrong"),
        ("wrong", password.as_str()),
        (user.as_str(), ""),
        ("", ""),
    ] {
        browser.press("Sign in", &[("username", user), ("password", password)]);
        assert_eq!(browser.status, 401);
        assert_eq!(browser.cookie, None);
        browser.shows("User name or password is wrong.");
    }
    let told = &browser.bench.events.last().unwrap().payload;
    assert_eq!(told["request"]["password"], "(not kept)");
    browser.send(
        Method::POST,
        "portal/login",
        Some(&[("username", &user), ("password", &password)]),
    );
    assert_eq!(browser.status, 403);
    for forged in [
        "portal_session=AAAA",
        "portal_session=",
        "portal_session",
        "portal_session=%%%",
    ] {
        browser.cookie = Some(forged.to_owned());
        browser.open("portal/requests");
        assert_eq!(browser.path, "portal/login", "{forged}");
    }
    browser.cookie = None;
    browser.sign_in();
    let stolen = browser.cookie.clone();
    browser.press("Sign out", &[]);
    browser.shows("You are signed out.");
    assert_eq!(browser.cookie, None);
    // Another playground's cookie is worth nothing here.
    let mut other = Browser::new(rules());
    other.bench.desk.seed = proctor_simulation::seed::Seed::from_number(8);
    other.cookie = stolen;
    other.open("portal/requests");
    assert_eq!(other.path, "portal/login");
}

#[test]
fn drafts_are_discarded_and_unknown_requests_are_not_found() {
    let mut browser = Browser::new(rules());
    browser.sign_in();
    browser.open("portal/requests/pa_0");
    assert_eq!(browser.status, 404);
    browser.shows("<html");
    let (_, draft) = browser
        .bench
        .post("portal/prior-auths", &json!({"status": "draft"}));
    let (_, sent) = browser.bench.post("portal/prior-auths", &wanted("70450"));
    browser.open(&format!(
        "portal/requests/{}",
        draft["request_id"].as_str().unwrap()
    ));
    browser.press("Discard draft", &[]);
    browser.shows("The draft is gone.");
    assert_eq!(browser.bench.desk.requests.len(), 1);
    assert_eq!(
        browser.bench.events[browser.bench.events.len() - 2].payload["after"],
        Value::Null
    );
    browser.click("Requests");
    browser.click(sent["request_id"].as_str().unwrap());
    browser.shows("Not medically necessary.");
    browser.click("Requests");
    browser.press("Search", &[("member_id", ""), ("status", "approved")]);
    browser.shows("0 requests");
    for path in [
        "portal/wizard",
        "portal/formulary",
        "portal/requests/a/b",
        "portal/requests/a/b/c",
    ] {
        browser.open(path);
        assert_eq!(browser.status, 404, "{path}");
    }
    let response = browser
        .bench
        .send(Request::new(Method::DELETE, "portal/login", START));
    assert_eq!(response.status, 405);
}

#[test]
fn a_page_runs_nothing_and_loads_nothing_from_elsewhere() {
    let mut bench = Bench::new();
    let response = bench.send(Request::new(Method::GET, "portal/login", START));
    assert_eq!(response.headers["cache-control"], "no-store");
    assert!(
        response.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .starts_with("default-src 'none'")
    );
    let page = String::from_utf8(response.body.to_vec()).unwrap();
    for absent in ["<script", "http://", "https://", "href=\"/", "action=\"/"] {
        assert!(!page.contains(absent), "{absent}");
    }
    let credentials = bench.desk.credentials("");
    assert_eq!(credentials["username"], json!(bench.desk.username()));
}
