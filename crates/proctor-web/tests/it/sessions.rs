use http::{Request, StatusCode, header};
use proctor_store::credentials::{KeyOwner, PlainKey};
use proctor_web::{WebOptions, pages::sign_in::ticket_path};
use rstest::rstest;
use secrecy::ExposeSecret as _;

use crate::site::{HOST, Site};

const PAGES: [&str; 7] = [
    "/ui/",
    "/ui/runs",
    "/ui/runs/br_01M7PWNWATEWBSZ0MWY8WHBY0G",
    "/ui/task-runs/tr_01M7PWNWATEWBSZ0MWY8WHBY0G?event=x",
    "/ui/criterion-runs/crun_01M7PWNWATEWBSZ0MWY8WHBY0G",
    "/ui/search?q=x",
    "/ui/live?of=runs",
];

fn token(page: &str) -> &str {
    let (_, rest) = page.split_once("name=token value=\"").unwrap();
    rest.split('"').next().unwrap()
}

#[tokio::test]
async fn without_a_session_every_page_leads_to_sign_in_and_back() {
    let site = Site::open(WebOptions::default()).await;
    for path in PAGES {
        for cookie in ["", "proctor=made-up", "__Host-proctor="] {
            let answer = site.get(path, cookie).await;
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
            assert!(
                answer
                    .header("location")
                    .starts_with("/ui/login?next=%2Fui%2F"),
                "{path}"
            );
        }
    }
    let form = format!("key={}&next=%2Fui%2Fruns%3Fstatus%3Dfailed", site.secret());
    let answer = site.post("/ui/login", "", &form).await;
    assert_eq!(answer.header("location"), "/ui/runs?status=failed");
    let away = format!(
        "key={}&next=https%3A%2F%2Fevil.example%2Fui%2F",
        site.secret()
    );
    let answer = site.post("/ui/login", "", &away).await;
    assert_eq!(answer.header("location"), "/ui/");
}

#[rstest]
#[case(WebOptions::default(), HOST, "proctor=", false)]
#[case(WebOptions { is_tls: true, ..WebOptions::default() }, HOST, "__Host-proctor=", true)]
#[case(WebOptions { public_url: Some("https://proctor.example".to_owned()), ..WebOptions::default() }, "proctor.example", "__Host-proctor=", true)]
#[tokio::test]
async fn the_cookie_is_as_safe_as_the_way(
    #[case] options: WebOptions,
    #[case] host: &str,
    #[case] begins: &str,
    #[case] is_secure: bool,
) {
    let site = Site::open(options).await;
    let request = Request::post("/ui/login")
        .header(header::HOST, host)
        .header("sec-fetch-site", "same-origin")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let answer = site.send(request, format!("key={}", site.secret())).await;
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with(begins), "{cookie}");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/")
    );
    assert_eq!(cookie.contains("Secure"), is_secure, "{cookie}");
    assert!(!cookie.contains(site.secret()));
}

#[tokio::test]
async fn over_a_network_without_tls_nobody_is_signed_in() {
    let site = Site::open(WebOptions::default()).await;
    let request = Request::post("/ui/login")
        .header(header::HOST, "192.0.2.7:7070")
        .header(header::ORIGIN, "http://192.0.2.7:7070")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let answer = site.send(request, format!("key={}", site.secret())).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(answer.header("set-cookie"), "");
    assert!(answer.body.contains("without TLS"));
}

#[tokio::test]
async fn the_kind_of_a_wrong_key_is_named() {
    let site = Site::open(WebOptions::default()).await;
    let operator = site
        .store
        .create_operator_key(None, PlainKey::Random)
        .await
        .unwrap();
    let operator = operator.secret.expose_secret().to_owned();
    for (key, words) in [
        (operator.as_str(), "operator key"),
        ("vk_made_up_by_somebody", "knows no such key"),
        ("", "knows no such key"),
    ] {
        let answer = site.post("/ui/login", "", &format!("key={key}")).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{key}");
        assert!(answer.body.contains(words), "{key}: {}", answer.body);
        assert_eq!(answer.header("set-cookie"), "");
    }
}

#[tokio::test]
async fn a_one_time_link_is_not_spent_by_looking() {
    let site = Site::open(WebOptions::default()).await;
    let ticket = site.store.issue_web_ticket(site.key.key.id).await.unwrap();
    let link = ticket_path(&ticket, Some("/ui/runs"));
    for _ in 0..3 {
        assert_eq!(site.get(&link, "").await.status, StatusCode::OK);
    }
    let form = format!("ticket={}&next=%2Fui%2Fruns", ticket.expose_secret());
    let answer = site.post("/ui/login", "", &form).await;
    assert_eq!(answer.header("location"), "/ui/runs");
    assert_eq!(
        site.get("/ui/runs", &answer.cookie()).await.status,
        StatusCode::OK
    );
    let again = site.post("/ui/login", "", &form).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn whoever_has_a_key_gets_a_link_and_nobody_else() {
    let site = Site::open(WebOptions::default()).await;
    let ask = |key: &str| {
        let request = Request::post("/ui/tickets?next=%2Fui%2Fruns");
        request.header(header::AUTHORIZATION, format!("Bearer {key}"))
    };
    let answer = site.send(ask(site.secret()), String::new()).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    assert!(answer.body.contains("/ui/login?ticket=") && answer.body.contains("next=%2Fui%2Fruns"));
    let refused = site.send(ask("vk_made_up"), String::new()).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let cookie = site.sign_in().await;
    let by_cookie = site.post("/ui/tickets", &cookie, "").await;
    assert_eq!(by_cookie.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_session_ends_with_its_key_and_by_signing_out() {
    let site = Site::open(WebOptions::default()).await;
    let cookie = site.sign_in().await;
    let page = site.get("/ui/", &cookie).await;
    let form = format!("token={}", token(&page.body));
    let out = site.post("/ui/logout", &cookie, &form).await;
    assert_eq!(out.status, StatusCode::SEE_OTHER);
    assert_eq!(
        site.get("/ui/", &cookie).await.status,
        StatusCode::SEE_OTHER
    );
    let cookie = site.sign_in().await;
    assert_eq!(site.get("/ui/", &cookie).await.status, StatusCode::OK);
    let revoked = site
        .store
        .revoke_key(site.organization, KeyOwner::Organization, site.key.key.id);
    assert!(revoked.await.unwrap());
    assert_eq!(
        site.get("/ui/", &cookie).await.status,
        StatusCode::SEE_OTHER
    );
}

#[rstest]
#[case::another_site(&[("origin", "http://evil.example")])]
#[case::another_port(&[("origin", "http://127.0.0.1:7071")])]
#[case::the_browser_says_cross_site(&[("sec-fetch-site", "cross-site"), ("origin", "http://127.0.0.1:7070")])]
#[case::a_sibling(&[("sec-fetch-site", "same-site")])]
#[case::no_origin(&[])]
#[case::a_null_origin(&[("origin", "null")])]
#[tokio::test]
async fn a_form_from_elsewhere_changes_nothing(#[case] headers: &[(&str, &str)]) {
    let site = Site::open(WebOptions::default()).await;
    let cookie = site.sign_in().await;
    let page = site.get("/ui/", &cookie).await;
    let mut request = Request::post("/ui/logout")
        .header(header::COOKIE, &cookie)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = site
        .send(request, format!("token={}", token(&page.body)))
        .await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(site.get("/ui/", &cookie).await.status, StatusCode::OK);
    let forged = site.post("/ui/logout", &cookie, "token=forged").await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert_eq!(site.get("/ui/", &cookie).await.status, StatusCode::OK);
}

#[tokio::test]
async fn every_answer_has_the_policy_and_unknown_hosts_get_nothing() {
    let site = Site::open(WebOptions::default()).await;
    let cookie = site.sign_in().await;
    for path in
        PAGES
            .iter()
            .take(6)
            .chain(&["/ui/login", "/ui/nothing", "/ui/runs?status=nonsense"])
    {
        let answer = site.get(path, &cookie).await;
        let policy = answer.header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'; script-src 'self'"),
            "{path}: {policy}"
        );
        assert!(
            policy.ends_with("trusted-types proctor"),
            "{path}: {policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(
            answer.header("cross-origin-opener-policy"),
            "same-origin",
            "{path}"
        );
        assert_eq!(answer.header("x-robots-tag"), "noindex", "{path}");
        assert!(!answer.status.is_server_error(), "{path}");
        assert!(
            !answer.body.contains("style=\"") && !answer.body.contains("onclick"),
            "{path}"
        );
    }
    for host in ["evil.example", "127.0.0.1.evil.example:7070"] {
        let request = Request::get("/ui/login").header(header::HOST, host);
        let answer = site.send(request, String::new()).await;
        assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST, "{host}");
    }
}
