//! The pages, as a browser without scripts uses them.

use http::{HeaderValue, Method, header};
use serde_json::{Value, json};

use super::support::*;
use crate::{exchange::Request, simulator::Machine};

/// A browser: an address, cookies, and the page it shows.
struct Browser {
    bench: Bench,
    cookie: Option<String>,
    /// The address below the playground, as relative links see it.
    path: String,
    status: u16,
    page: String,
}

impl Browser {
    fn new(config: Value) -> Self {
        Self {
            bench: Bench::of(blueprint(config)),
            cookie: None,
            path: String::new(),
            status: 0,
            page: String::new(),
        }
    }

    fn send(&mut self, method: Method, target: &str, form: Option<&[(&str, &str)]>) {
        let mut request = Request::new(method, target, START);
        if let Some(fields) = form {
            let body = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(fields)
                .finish();
            request = request.with_body(body);
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers.insert(header::CONTENT_TYPE, kind);
        }
        if let Some(cookie) = &self.cookie {
            let value = HeaderValue::from_str(&format!("other=1; {cookie}")).unwrap();
            request.headers.insert(header::COOKIE, value);
        }
        let response = self.bench.send(request);
        if let Some(set) = response.headers.get(header::SET_COOKIE) {
            let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
            self.cookie = Some(pair).filter(|pair| !pair.ends_with('='));
        }
        self.path = target.split('?').next().unwrap().to_owned();
        self.status = response.status.as_u16();
        self.page = String::from_utf8(response.body.to_vec()).unwrap();
        if let Some(place) = response.headers.get(header::LOCATION) {
            assert_eq!(self.status, 303);
            let next = self.resolve(place.to_str().unwrap());
            self.send(Method::GET, &next, None);
        }
    }

    /// A relative address from the page that is shown.
    fn resolve(&self, relative: &str) -> String {
        let mut parts: Vec<&str> = self.path.split('/').collect();
        parts.pop();
        let mut rest = relative;
        loop {
            if let Some(up) = rest.strip_prefix("../") {
                assert!(parts.pop().is_some(), "{relative} leaves the playground");
                rest = up;
            } else if let Some(here) = rest.strip_prefix("./") {
                rest = here;
            } else {
                break;
            }
        }
        parts.push(rest);
        parts.join("/")
    }

    fn open(&mut self, target: &str) {
        self.send(Method::GET, target, None);
    }

    /// Follows the link with this text.
    fn click(&mut self, text: &str) {
        let end = self
            .page
            .find(&format!(">{text}</a>"))
            .unwrap_or_else(|| panic!("no link {text}:\n{}", self.page));
        let start = self.page[..end].rfind("href=\"").unwrap() + 6;
        let href = self.page[start..]
            .split('"')
            .next()
            .unwrap()
            .replace("&amp;", "&");
        let target = self.resolve(&href);
        self.open(&target);
    }

    /// Sends the form whose button has this text, with these fields and its hidden ones.
    fn press(&mut self, button: &str, fields: &[(&str, &str)]) {
        let end = self
            .page
            .find(&format!(">{button}</button>"))
            .unwrap_or_else(|| panic!("no button {button}:\n{}", self.page));
        let start = self.page[..end].rfind("<form").unwrap();
        let form = self.page[start..end].to_owned();
        let attribute = |text: &str, name: &str| {
            let from = text.find(&format!("{name}=\""))? + name.len() + 2;
            Some(text[from..].split('"').next()?.to_owned())
        };
        let mut all: Vec<(String, String)> = form
            .split("<input type=\"hidden\"")
            .skip(1)
            .map(|rest| {
                (
                    attribute(rest, "name").unwrap(),
                    attribute(rest, "value").unwrap(),
                )
            })
            .collect();
        all.extend(
            fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let target = self.resolve(&attribute(&form, "action").unwrap());
        let pairs: Vec<(&str, &str)> = all
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        if attribute(&form, "method").unwrap() == "get" {
            let query = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(&pairs)
                .finish();
            self.send(Method::GET, &format!("{target}?{query}"), None);
        } else {
            self.send(Method::POST, &target, Some(&pairs));
        }
    }

    fn sign_in(&mut self) {
        self.open("portal");
        assert!(self.path.ends_with("portal/login"), "{}", self.path);
        let (user, password) = (self.bench.desk.username(), self.bench.desk.password());
        self.press("Sign in", &[("username", &user), ("password", &password)]);
        assert_eq!((self.status, self.path.as_str()), (200, "portal/requests"));
    }

    fn shows(&self, text: &str) {
        assert!(
            self.page.contains(text),
            "{text:?} is not on the page:\n{}",
            self.page
        );
    }

    fn row(&self) -> Value {
        self.bench.rows("prior_auth_requests").pop().unwrap()
    }
}

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
    browser.open("portal/requests/pa_1");
    assert_eq!(browser.path, "portal/login");
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
    other.bench.desk.seed = crate::seed::Seed::from_number(8);
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
    browser.click(sent["auth_number"].as_str().unwrap());
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
