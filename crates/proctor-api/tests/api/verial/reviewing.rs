use reqwest::Method;
use serde_json::{Value, json};

use super::studio::Studio;
use crate::support::{Answer, TestServer};

async fn review(server: &TestServer, benchmark: &str) -> Answer {
    let path = format!("/benchmarks/{benchmark}/check");
    server.ask(Method::POST, &path, json!({})).await
}

/// Whatever an assertion says, for the criterion of the studio.
async fn assert_instead(server: &TestServer, studio: &Studio, label: &str, assertion: Value) {
    let path = format!("/criteria/{}", studio.criterion);
    let body = json!({"label": label, "assertion": assertion});
    let changed = server.ask(Method::PATCH, &path, body).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
}

#[tokio::test]
async fn a_draft_is_judged_as_if_nobody_did_anything() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let honest = review(&server, &studio.benchmark).await;
    insta::assert_snapshot!("review_honest", honest.shape());

    let given = json!({"assert": "fhir-resource-state", "resource_type": "Patient",
        "search": {"_id": "{{task_run.id}},eve"},
        "fields": [{"path": "id", "expected": "eve"}, {"path": "active", "expected": true}]});
    assert_instead(&server, &studio, "Eve is in the chart", given).await;
    let half = review(&server, &studio.benchmark).await;
    insta::assert_snapshot!("review_given_away", half.shape());
    assert_eq!(half.body["null_agent"][0]["score"], 0.5);

    let unknown = json!({"assert": "telepathy"});
    assert_instead(&server, &studio, "It is known", unknown).await;
    let step = json!({"scenario": [{"type": "voicemail", "text": "Call me"}]});
    let task = format!("/tasks/{}", studio.task);
    server.ask(Method::PATCH, &task, step).await;
    let unfit = review(&server, &studio.benchmark).await;
    insta::assert_snapshot!("review_unfit", unfit.shape());
    let versions = format!("/benchmarks/{}/versions", studio.benchmark);
    assert_eq!(server.read(&versions).await.body["data"], json!([]));
}

#[tokio::test]
async fn a_benchmark_is_shown_whole_as_draft_and_as_version() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let benchmark = format!("/benchmarks/{}", studio.benchmark);
    let draft = server.read(&format!("{benchmark}/definition")).await;
    assert_eq!(draft.status, 200, "{}", draft.body);
    let publish = format!("{benchmark}/publish");
    let version = server
        .ask(Method::POST, &publish, json!({"slug": "fax-referral"}))
        .await;
    assert_eq!(version.body["digest"], draft.body["digest"]);
    let frozen = format!("{benchmark}/versions/1/definition");
    assert_eq!(server.read(&frozen).await.body, draft.body);
    let change = json!({"name": "Another name"});
    server.ask(Method::PATCH, &benchmark, change).await;
    assert_eq!(server.read(&frozen).await.body, draft.body);
    let edited = server.read(&format!("{benchmark}/definition")).await;
    assert_eq!(edited.body["definition"]["name"], "Another name");
    assert_ne!(edited.body["digest"], draft.body["digest"]);
    for unknown in ["2", "0", "x", "-1", "4294967296"] {
        let path = format!("{benchmark}/versions/{unknown}/definition");
        assert_eq!(server.read(&path).await.status, 404, "{unknown}");
    }
}

#[tokio::test]
async fn only_the_owner_sees_what_is_checked_and_how_it_is_solved() {
    let server = TestServer::start().await;
    let nobody = "bench_01K0000000000000000000000A";
    assert_eq!(review(&server, nobody).await.status, 404);
    let studio = Studio::open(&server).await;
    for path in ["definition", "versions/1/definition"] {
        let path = format!("/benchmarks/{}/{path}", studio.benchmark);
        let address = format!("http://{}{path}", server.address);
        let answer = server.client.get(address).send().await.unwrap();
        assert_eq!(answer.status(), 401, "{path}");
    }
}

#[tokio::test]
async fn no_view_of_a_run_shows_the_solution() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let task = format!("/tasks/{}", studio.task);
    let solution = json!({"solution": [{"call": "GET fhir/Patient/the-way-to-do-it"}]});
    server.ask(Method::PATCH, &task, solution).await;
    let body = json!({"benchmark_id": studio.benchmark});
    let run = server.ask(Method::POST, "/benchmark-runs", body).await;
    assert_eq!(run.status, 201, "{}", run.body);
    let id = run.text("benchmark_run_id");
    let task_runs = server
        .read(&format!("/task-runs?benchmark_run_id={id}"))
        .await;
    let task_run = task_runs.body["data"][0]["id"].as_str().unwrap().to_owned();
    let shown = server.read(&format!("/task-runs/{task_run}")).await;
    assert_eq!(shown.body["snapshot"]["name"], "Register the patient");
    for answer in [run, task_runs, shown] {
        let text = answer.body.to_string();
        assert!(!text.contains("the-way-to-do-it"), "{text}");
    }
}
