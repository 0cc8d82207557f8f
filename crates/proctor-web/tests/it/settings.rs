//! Settings, jobs, devboxes and documents, over a site without runs.

use http::{Request, StatusCode, header};
use proctor_store::credentials::{Authentication, KeyOwner, PlainKey};
use proctor_web::WebOptions;
use secrecy::ExposeSecret as _;

use crate::site::{HOST, Site};

const PAGES: [&str; 9] = [
    "/ui/jobs",
    "/ui/devboxes",
    "/ui/settings/keys",
    "/ui/settings/solvers",
    "/ui/settings/secrets",
    "/ui/docs",
    "/ui/docs/pages",
    "/ui/live?of=jobs",
    "/ui/runs/br_01M7PWNWATEWBSZ0MWY8WHBY0G/export.html",
];

fn token(page: &str) -> &str {
    let (_, rest) = page.split_once("name=token value=\"").unwrap();
    rest.split('"').next().unwrap()
}

#[tokio::test]
async fn without_a_session_these_pages_lead_to_sign_in() {
    let site = Site::open(WebOptions::default()).await;
    for path in PAGES {
        let answer = site.get(path, "").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
        assert!(
            answer.header("location").starts_with("/ui/login?next="),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_key_is_shown_once_and_revoked_by_its_typed_name() {
    let site = Site::open(WebOptions::default()).await;
    let cookie = site.sign_in().await;
    let page = site.get("/ui/settings/keys", &cookie).await;
    let form = format!("token={}&name=%3Cb%3Eci", token(&page.body));
    let made = site.post("/ui/settings/keys", &cookie, &form).await;
    assert_eq!(made.status, StatusCode::OK);
    assert_eq!(made.header("cache-control"), "no-store");
    let (_, rest) = made.body.split_once("<code id=made>").unwrap();
    let key = rest.split('<').next().unwrap();
    let is_good = async || {
        let shown = site.store.authenticate(key).await.unwrap();
        matches!(shown, Authentication::Known(_))
    };
    assert!(is_good().await);
    let again = site.get("/ui/settings/keys", &cookie).await;
    assert!(!again.body.contains(key) && again.body.contains("&lt;b&gt;ci"));
    let (before, _) = again.body.split_once("/revoke").unwrap();
    let (_, id) = before.rsplit_once("/ui/settings/keys/").unwrap();
    let revoke = format!("/ui/settings/keys/{id}/revoke");
    let form = |typed: &str| format!("token={}&typed={typed}", token(&again.body));
    let wrong = site.post(&revoke, &cookie, &form("ci")).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(is_good().await);
    let forged = site.post(&revoke, &cookie, "token=x&typed=%3Cb%3Eci").await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    let done = site.post(&revoke, &cookie, &form("%3Cb%3Eci")).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.body);
    assert!(!is_good().await);
}

#[tokio::test]
async fn of_secrets_only_names_are_shown() {
    let site = Site::open(WebOptions::default()).await;
    let cookie = site.sign_in().await;
    let page = site.get("/ui/settings/secrets", &cookie).await;
    let token = token(&page.body);
    let form = format!("token={token}&name=API_TOKEN&value=hunter2");
    let made = site.post("/ui/settings/secrets", &cookie, &form).await;
    assert_eq!(made.status, StatusCode::SEE_OTHER);
    let twice = site.post("/ui/settings/secrets", &cookie, &form).await;
    assert_eq!(twice.status, StatusCode::CONFLICT);
    let value = async || {
        let found = site
            .store
            .secret_value(site.organization, "API_TOKEN")
            .await;
        found.unwrap().map(|value| value.expose_secret().to_owned())
    };
    assert_eq!(value().await.as_deref(), Some("hunter2"));
    let page = site.get("/ui/settings/secrets", &cookie).await;
    assert!(page.body.contains("API_TOKEN") && !page.body.contains("hunter2"));
    let form = format!("token={token}&value=other");
    let replace = "/ui/settings/secrets/API_TOKEN/replace";
    assert_eq!(
        site.post(replace, &cookie, &form).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(value().await.as_deref(), Some("other"));
    let delete = "/ui/settings/secrets/API_TOKEN/delete";
    let wrong = format!("token={token}&typed=api_token");
    assert_eq!(
        site.post(delete, &cookie, &wrong).await.status,
        StatusCode::BAD_REQUEST
    );
    let right = format!("token={token}&typed=API_TOKEN");
    assert_eq!(
        site.post(delete, &cookie, &right).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(value().await, None);
    for bad in ["name=&value=x", "name=a&value=", "name=..&value=x"] {
        let form = format!("token={token}&{bad}");
        let answer = site.post("/ui/settings/secrets", &cookie, &form).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{bad}");
    }
}

#[tokio::test]
async fn a_solver_is_made_with_a_key_and_sees_no_settings() {
    let site = Site::open(WebOptions::default()).await;
    let cookie = site.sign_in().await;
    let page = site.get("/ui/settings/solvers", &cookie).await;
    let profile = "alias=night&real_name=N&agent_description=A&contact_email=n%40example.org";
    let form = format!("token={}&{profile}", token(&page.body));
    let made = site.post("/ui/settings/solvers", &cookie, &form).await;
    assert_eq!(made.status, StatusCode::SEE_OTHER, "{}", made.body);
    let place = made.header("location").to_owned();
    let twice = site.post("/ui/settings/solvers", &cookie, &form).await;
    assert_eq!(twice.status, StatusCode::CONFLICT);
    let bad = form.replace("n%40example.org", "nobody");
    let bad = site.post("/ui/settings/solvers", &cookie, &bad).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
    let own = site.get(&place, &cookie).await;
    let form = format!("token={}&name=k", token(&own.body));
    let keyed = site.post(&format!("{place}/keys"), &cookie, &form).await;
    let (_, rest) = keyed.body.split_once("<code id=made>").unwrap();
    let key = rest.split('<').next().unwrap();
    let answer = site.post("/ui/login", "", &format!("key={key}")).await;
    let solver = answer.cookie();
    for path in &PAGES[..5] {
        let answer = site.get(path, &solver).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
    let form = format!("token={}&typed=night", token(&own.body));
    let gone = site.post(&format!("{place}/delete"), &cookie, &form).await;
    assert_eq!(gone.status, StatusCode::SEE_OTHER);
    assert_eq!(
        site.get(&place, &cookie).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn what_is_empty_says_what_it_is_and_what_fills_it() {
    let site = Site::open(WebOptions::default()).await;
    let cookie = site.sign_in().await;
    for (path, says) in [
        ("/ui/jobs", "No jobs yet"),
        ("/ui/devboxes", "Devboxes do not work here"),
        ("/ui/settings/solvers", "No Solvers yet"),
        ("/ui/settings/secrets", "No secrets yet"),
        ("/ui/docs", "Keyboard shortcuts"),
        ("/ui/docs/statistics", "interval"),
    ] {
        let page = site.get(path, &cookie).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(page.body.contains(says), "{path}");
    }
    for path in [
        "/ui/jobs/bmj_01M7PWNWATEWBSZ0MWY8WHBY0G",
        "/ui/jobs/x",
        "/ui/devboxes/dbx_01M7PWNWATEWBSZ0MWY8WHBY0G",
        "/ui/docs/none",
        "/ui/settings/solvers/slv_01M7PWNWATEWBSZ0MWY8WHBY0G",
        "/ui/runs/br_01M7PWNWATEWBSZ0MWY8WHBY0G/export.zip",
    ] {
        let page = site.get(path, &cookie).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn an_export_takes_a_key_in_the_header_and_no_wrong_one() {
    let site = Site::open(WebOptions::default()).await;
    let path = "/ui/runs/br_01M7PWNWATEWBSZ0MWY8WHBY0G/export.csv";
    let ask = async |key: &str| {
        let request = Request::get(path)
            .header(header::HOST, HOST)
            .header(header::AUTHORIZATION, format!("Bearer {key}"));
        site.send(request, String::new()).await.status
    };
    assert_eq!(ask(site.secret()).await, StatusCode::NOT_FOUND);
    assert_eq!(
        ask("vk_nobody_made_this_key").await,
        StatusCode::UNAUTHORIZED
    );
    let made = site
        .store
        .create_key(
            site.organization,
            KeyOwner::Organization,
            None,
            PlainKey::Random,
        )
        .await;
    let made = made.unwrap().unwrap();
    assert_eq!(
        ask(made.secret.expose_secret()).await,
        StatusCode::NOT_FOUND
    );
}
