use http::StatusCode;
use proctor_web::WebOptions;
use rstest::rstest;

use crate::site::Site;

#[rstest]
#[case("/ui/compare", "Choose two runs.")]
#[case("/ui/comparisons", "None yet.")]
#[case("/ui/gates", "No gate was decided yet.")]
#[case("/ui/benchmarks", "No benchmark yet.")]
#[case("/ui/leaderboards", "No run is ranked.")]
#[case("/ui/runs", "No runs yet.")]
#[case("/ui/runs?label=branch%3Dmain", "Nothing matches.")]
#[case("/ui/", "First steps")]
#[tokio::test]
async fn a_page_without_content_says_what_it_is(#[case] path: &str, #[case] says: &str) {
    let site = Site::open(WebOptions::default()).await;
    let away = site.get(path, "").await;
    assert_eq!(away.status, StatusCode::SEE_OTHER, "{path}");
    let cookie = site.sign_in().await;
    let answer = site.get(path, &cookie).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
    assert!(answer.body.contains(says), "{path}: {}", answer.body);
}

#[rstest]
#[case("/ui/compare?a=x&b=y", StatusCode::NOT_FOUND)]
#[case(
    "/ui/compare?a=br_01M7PWNWATEWBSZ0MWY8WHBY0G&b=br_01M7PWNWATEWBSZ0MWY8WHBY0G",
    StatusCode::NOT_FOUND
)]
#[case("/ui/compare?run=%3Cscript%3E", StatusCode::NOT_FOUND)]
#[case("/ui/compare.csv", StatusCode::BAD_REQUEST)]
#[case("/ui/compare/task-runs", StatusCode::BAD_REQUEST)]
#[case("/ui/compare/task-runs?a=x&b=y", StatusCode::NOT_FOUND)]
#[case("/ui/comparisons/x", StatusCode::NOT_FOUND)]
#[case("/ui/comparisons?after=x", StatusCode::BAD_REQUEST)]
#[case("/ui/gates/x", StatusCode::NOT_FOUND)]
#[case("/ui/benchmarks/no-such", StatusCode::NOT_FOUND)]
#[case("/ui/benchmarks/no-such@1/tasks/x", StatusCode::NOT_FOUND)]
#[case("/ui/benchmarks/%2F%25%23/leaderboard", StatusCode::NOT_FOUND)]
#[case("/ui/benchmarks/no-such/trend", StatusCode::NOT_FOUND)]
#[case("/ui/runs?verdict=lovely", StatusCode::BAD_REQUEST)]
#[case("/ui/runs?sort=colour", StatusCode::BAD_REQUEST)]
#[case("/ui/runs?label=branch", StatusCode::BAD_REQUEST)]
#[case("/ui/runs?since=tomorrow", StatusCode::BAD_REQUEST)]
#[case("/ui/runs?version=one", StatusCode::BAD_REQUEST)]
#[case("/ui/runs?void=perhaps", StatusCode::BAD_REQUEST)]
#[case("/ui/runs?solver=me", StatusCode::BAD_REQUEST)]
#[tokio::test]
async fn an_address_of_nothing_is_refused_in_words(#[case] path: &str, #[case] status: StatusCode) {
    let site = Site::open(WebOptions::default()).await;
    let cookie = site.sign_in().await;
    let answer = site.get(path, &cookie).await;
    assert_eq!(answer.status, status, "{path}: {}", answer.body);
    assert!(answer.body.contains("request id"), "{path}");
    assert!(!answer.body.contains("<script>"), "{path}");
}
