//! Runs as their organization sees them.

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::{Clinic, solver_key};
use crate::support::Answer;

#[tokio::test]
async fn the_organization_sees_runs_task_runs_and_findings() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.solve().await;
    run.complete(0).await;
    let server = &clinic.server;
    let list = server
        .read(&format!(
            "/benchmark-runs?benchmark_id={}",
            clinic.benchmark
        ))
        .await;
    insta::assert_snapshot!("runs", list.shape());
    let whole = server.read(&format!("/benchmark-runs/{}", run.id)).await;
    assert_eq!(
        whole.body["task_runs"][0]["criterion_runs"]
            .as_array()
            .unwrap()
            .len(),
        6
    );
    let mut task_run = server
        .read(&format!("/task-runs/{}", run.task_runs[0]))
        .await;
    task_run.body["snapshot"]["criteria"] = json!("…");
    insta::assert_snapshot!("task_run", task_run.shape());
    let lines = server
        .read(&format!("/task-runs?benchmark_run_id={}", run.id))
        .await;
    assert_eq!(lines.body["data"].as_array().unwrap().len(), 1);
    let found = server
        .read(&format!("/criterion-runs?task_run_id={}", run.task_runs[0]))
        .await;
    let first = found.body["data"][0]["id"].as_str().unwrap().to_owned();
    let record = server.read(&format!("/criterion-runs/{first}")).await;
    insta::assert_snapshot!("criterion_run", record.shape());
    assert_eq!(found.body["data"][0], record.body);
}

#[tokio::test]
async fn a_draft_can_be_run_as_it_stands() {
    let clinic = Clinic::open(1, 1).await;
    let label = json!({"label": "Renamed since it was published"});
    let path = format!("/criteria/{}", clinic.criteria[0]);
    assert_eq!(
        clinic.server.ask(Method::PATCH, &path, label).await.status,
        200
    );
    let begin = async |body: Value| {
        let made = clinic
            .server
            .ask(Method::POST, "/benchmark-runs", body)
            .await;
        assert_eq!(made.status, 201, "{}", made.body);
        made
    };
    let published = begin(json!({"benchmark_id": clinic.benchmark})).await;
    assert_eq!(published.body["benchmark"]["version"], "1");
    let draft = begin(json!({"benchmark_id": clinic.benchmark, "draft": true})).await;
    assert_eq!(draft.body["benchmark"]["version"], Value::Null);
    let task_run = draft.body["task_runs"][0]["id"].as_str().unwrap();
    let ask = async |path: String| {
        let request = clinic
            .server
            .post(&path)
            .bearer_auth(draft.text("bearer_token"));
        Answer::of(request.send().await.unwrap()).await
    };
    assert_eq!(
        ask(format!("/v1/task-runs/{task_run}/start")).await.status,
        200
    );
    let completed = ask(format!("/v1/task-runs/{task_run}/complete")).await;
    assert_eq!(
        completed.body["checks"][0]["label"],
        "Renamed since it was published"
    );
}

#[tokio::test]
async fn a_label_without_a_text_is_refused() {
    let clinic = Clinic::open(1, 1).await;
    let body =
        json!({"benchmark_id": clinic.benchmark, "labels": {"branch": "main", "commit": null}});
    let made = clinic
        .server
        .ask(Method::POST, "/benchmark-runs", body)
        .await;
    assert_eq!(made.status, 400, "{}", made.body);
    let message = made.body["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("labels.commit: "), "{message}");
}

#[tokio::test]
async fn a_trend_is_drawn_with_the_names_of_its_agents() {
    let clinic = Clinic::open(1, 1).await;
    for agent in ["night-shift", "day <b>"] {
        let body = json!({"benchmark_id": clinic.benchmark, "agent": agent});
        let made = clinic
            .server
            .ask(Method::POST, "/benchmark-runs", body)
            .await;
        let path = format!("/benchmark-runs/{}/complete", made.text("benchmark_run_id"));
        let completed = clinic.server.ask(Method::POST, &path, json!({})).await;
        assert_eq!(completed.status, 200, "{}", completed.body);
    }
    let path = format!("/benchmarks/{}/trend.svg", clinic.benchmark);
    let drawn = clinic.server.own(Method::GET, &path).send().await.unwrap();
    assert_eq!(drawn.headers()["content-type"], "image/svg+xml");
    let svg = drawn.text().await.unwrap();
    for name in [">night-shift</text>", ">day &lt;b&gt;</text>"] {
        // Beside its line and in the legend.
        assert_eq!(svg.matches(name).count(), 2, "{name} in {svg}");
    }
}

#[tokio::test]
async fn a_finished_task_run_can_be_scored_again() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    let rescore = format!("/task-runs/{}/rescore", run.task_runs[0]);
    let early = clinic.server.ask(Method::POST, &rescore, json!({})).await;
    assert_eq!(early.status, 409, "{}", early.body);
    run.start(0).await;
    run.solve().await;
    let completed = run.complete(0).await;
    let record = clinic
        .server
        .read(&format!("/task-runs/{}", run.task_runs[0]))
        .await;
    let own = clinic.server.ask(Method::POST, &rescore, json!({})).await;
    assert_eq!(own.body["score"], 1.0);
    assert_eq!(
        own.body["checks"], completed.body["checks"],
        "the same world and rubric, the same evidence"
    );
    let other = json!({"assertion": {"assert": "fhir-resource-state", "resource_type": "Appointment",
        "search": {"status": "cancelled"}}});
    let path = format!("/criteria/{}", clinic.criteria[0]);
    assert_eq!(
        clinic.server.ask(Method::PATCH, &path, other).await.status,
        200
    );
    let draft = clinic
        .server
        .ask(Method::POST, &rescore, json!({"criteria": "draft"}))
        .await;
    assert_eq!(draft.body["checks"][0]["result"], "fail");
    assert_eq!(draft.body["original_score"], 1.0);
    let after = clinic
        .server
        .read(&format!("/task-runs/{}", run.task_runs[0]))
        .await;
    assert_eq!(after.body, record.body, "the record is as it was");
    let wrong = clinic
        .server
        .ask(Method::POST, &rescore, json!({"criteria": "mine"}))
        .await;
    insta::assert_snapshot!("rescore_wrong", wrong.shape());
}

#[tokio::test]
async fn the_leaderboard_shows_what_was_published() {
    let clinic = Clinic::open(1, 1).await;
    let (idle, busy) = (clinic.begin_open().await, clinic.begin_open().await);
    let board = format!("/benchmarks/{}/leaderboard", clinic.benchmark);
    let publish = async |run: &str, verb: &str| {
        let path = format!("/benchmark-runs/{run}/{verb}");
        clinic.server.ask(Method::POST, &path, json!({})).await
    };
    insta::assert_snapshot!(
        "publish_unfinished",
        publish(&idle.id, "publish").await.shape()
    );
    idle.start(0).await;
    idle.complete(0).await;
    busy.start(0).await;
    busy.solve().await;
    busy.complete(0).await;
    for run in [&idle.id, &busy.id] {
        assert_eq!(publish(run, "publish").await.body["published"], true);
    }
    insta::assert_snapshot!("leaderboard", clinic.server.read(&board).await.shape());
    assert_eq!(
        publish(&busy.id, "unpublish").await.body["published"],
        false
    );
    let left = clinic.server.read(&board).await;
    assert_eq!(left.body["data"].as_array().unwrap().len(), 1);
    let foreign = clinic.server.foreign_key().await;
    let hidden = clinic
        .server
        .get(&board)
        .bearer_auth(foreign)
        .send()
        .await
        .unwrap();
    assert_eq!(hidden.status(), 404);
}

#[tokio::test]
async fn a_public_benchmark_can_be_taken_by_others_and_only_its_owner_sees_why() {
    let clinic = Clinic::open(1, 1).await;
    let publish = format!("/benchmarks/{}/publish", clinic.benchmark);
    let public = json!({"slug": "clinic-day", "visibility": "Public"});
    assert!(
        clinic
            .server
            .ask(Method::POST, &publish, public)
            .await
            .status
            < 300
    );
    let foreign = clinic.server.foreign_key().await;
    let as_foreign = async |method: Method, path: &str, body: Value| {
        let request = clinic.server.request(method, path).bearer_auth(&foreign);
        Answer::of(request.body(body.to_string()).send().await.unwrap()).await
    };
    let solver = as_foreign(Method::POST, "/solvers", super::super::solver("visitor")).await;
    let keys = format!("/solvers/{}/api-keys", solver.text("id"));
    let key = as_foreign(Method::POST, &keys, json!({})).await.text("key");
    let begin = async |benchmark: &str| {
        let body = json!({"benchmark": benchmark, "scored": true});
        let request = clinic.server.post("/v1/benchmark-runs").bearer_auth(&key);
        Answer::of(request.body(body.to_string()).send().await.unwrap()).await
    };
    assert_eq!(
        begin("clinic-day@1").await.status,
        404,
        "version 1 is private"
    );
    let run = begin("clinic-day@2").await;
    assert_eq!(run.status, 201, "{}", run.body);
    let task_run = run.body["task_runs"][0]["id"].as_str().unwrap();
    for verb in ["start", "complete"] {
        let path = format!("/v1/task-runs/{task_run}/{verb}");
        let request = clinic
            .server
            .post(&path)
            .bearer_auth(run.text("bearer_token"));
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
    let findings = format!("/criterion-runs?task_run_id={task_run}");
    assert_eq!(
        as_foreign(Method::GET, &findings, json!({})).await.status,
        404
    );
    let owner = clinic.server.read(&findings).await;
    assert_eq!(owner.body["data"].as_array().unwrap().len(), 6);
    let taken = as_foreign(Method::GET, &format!("/task-runs/{task_run}"), json!({})).await;
    assert_eq!(taken.status, 200, "{}", taken.body);
    for hidden in ["criteria", "entities", "reference"] {
        assert_eq!(taken.body["snapshot"].get(hidden), None, "{hidden}");
    }
    let rescore = format!("/task-runs/{task_run}/rescore");
    assert_eq!(
        as_foreign(Method::POST, &rescore, json!({})).await.status,
        404
    );
    let stranger = solver_key(&clinic.server, "other").await;
    let internal = clinic.server.get("/benchmark-runs").bearer_auth(stranger);
    assert_eq!(internal.send().await.unwrap().status(), 401);
}
