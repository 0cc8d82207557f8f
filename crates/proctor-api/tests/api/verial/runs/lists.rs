//! Lists of runs, task runs and criterion runs: filters, pages, and what they refuse.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::Clinic;
use crate::support::Answer;

fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let rows = answer.body["data"].as_array().unwrap();
    rows.iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn runs_are_filtered_by_what_is_known_of_them() {
    let clinic = Clinic::open(1, 1).await;
    let first = clinic
        .begin(json!({"benchmark": "clinic-day@1", "agent": "night clerk", "scored": true}))
        .await;
    clinic.server.clock.advance(Duration::from_secs(60));
    let later = clinic.server.store.now();
    let second = clinic.begin(json!({"benchmark": "clinic-day@1"})).await;
    let draft = json!({"benchmark_id": clinic.benchmark, "draft": true});
    let draft = clinic
        .server
        .ask(Method::POST, "/benchmark-runs", draft)
        .await;
    let draft = draft.text("benchmark_run_id");
    let cancel = format!("/benchmark-runs/{}/cancel", second.id);
    clinic.server.ask(Method::POST, &cancel, json!({})).await;
    let solver = clinic.server.read("/solvers").await.body["data"][0]["id"].clone();
    let solver = solver.as_str().unwrap();

    let list = async |query: &str| {
        ids(&clinic
            .server
            .read(&format!("/benchmark-runs?{query}"))
            .await)
    };
    let (first, second) = (first.id, second.id);
    assert_eq!(list("").await, [draft.as_str(), &second, &first]);
    assert_eq!(list("agent=night+clerk").await, [first.as_str()]);
    assert_eq!(list("agent=night").await, [] as [&str; 0]);
    assert_eq!(list("scored=true").await, [first.as_str()]);
    assert_eq!(list("scored=false").await, [draft.as_str(), &second]);
    assert_eq!(list("status=active").await, [draft.as_str(), &first]);
    assert_eq!(list("status=cancelled").await, [second.as_str()]);
    assert_eq!(list("status=completed").await, [] as [&str; 0]);
    assert_eq!(
        list(&format!("solver_id={solver}")).await,
        [second.as_str(), &first]
    );
    assert_eq!(list("slug=clinic-day").await, [second.as_str(), &first]);
    assert_eq!(list("slug=other").await, [] as [&str; 0]);
    assert_eq!(
        list(&format!("since={later}")).await,
        [draft.as_str(), &second]
    );
    assert_eq!(
        list(&format!(
            "slug=clinic-day&status=active&benchmark_id={}",
            clinic.benchmark
        ))
        .await,
        [first.as_str()]
    );

    let wrong = "scored=yes&status=done&solver_id=x&slug=A+B&since=yesterday&benchmark_id=y";
    let refused = clinic
        .server
        .read(&format!("/benchmark-runs?{wrong}"))
        .await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let details = refused.body["error"]["details"].as_object().unwrap();
    let fields: Vec<_> = details.keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "benchmark_id",
            "scored",
            "since",
            "slug",
            "solver_id",
            "status"
        ],
        "all problems at once"
    );
}

#[tokio::test]
async fn every_list_refuses_parameters_that_it_does_not_know() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    let server = &clinic.server;
    let document = server.read("/openapi.json").await.body;
    let mut asked = Vec::new();
    for (template, operations) in document["paths"].as_object().unwrap() {
        let operation = &operations["get"];
        let tag = operation["tags"][0].as_str().unwrap_or_default();
        let parameters = operation["parameters"].as_array().cloned();
        let parameters = parameters.unwrap_or_default();
        let has_limit = parameters.iter().any(|one| one["name"] == "limit");
        let is_list = has_limit || template.ends_with("/leaderboard");
        if !tag.starts_with("Verial") || !is_list || tag == "Verial: organizations" {
            continue;
        }
        let id = match template.split('/').nth(1) {
            Some("benchmarks") => clinic.benchmark.clone(),
            _ => "none".to_owned(),
        };
        let path = template.replace("{id}", &id);
        let unknown = server
            .read(&format!("{path}?limti=5&limit=5&colour=red"))
            .await;
        if path.contains("/none") {
            continue;
        }
        assert_eq!(unknown.status, 400, "{template}: {}", unknown.body);
        let details = unknown.body["error"]["details"].as_object().unwrap();
        assert!(
            details.contains_key("limti") && details.contains_key("colour"),
            "{details:?}"
        );
        asked.push(template.clone());
    }
    assert!(asked.len() >= 12, "{asked:?}");
    for path in [
        format!("/task-runs?benchmark_run_id={}&x=1", run.id),
        format!("/criterion-runs?task_run_id={}&x=1", run.task_runs[0]),
        "/benchmark-runs?x=1".to_owned(),
        "/tasks?x=1".to_owned(),
        "/criteria?x=1".to_owned(),
    ] {
        let refused = server.read(&path).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.body);
        let message = refused.body["error"]["message"].as_str().unwrap();
        assert!(message.contains("it has "), "{message}");
    }
    let other = server.read("/v1/devboxes?x=1").await;
    assert_ne!(
        other.status, 400,
        "newer clients of the other dialect send more"
    );
}

#[tokio::test]
async fn task_runs_and_criterion_runs_come_in_pages() {
    let clinic = Clinic::open(3, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.complete(0).await;
    for (path, expected) in [
        (format!("/task-runs?benchmark_run_id={}", run.id), 3),
        (
            format!("/criterion-runs?task_run_id={}", run.task_runs[0]),
            6,
        ),
    ] {
        let whole = clinic.server.read(&path).await;
        let all = ids(&whole);
        assert_eq!(all.len(), expected);
        assert_eq!(
            whole.body["_meta"],
            json!({"next": null, "prev": null, "limit": 20})
        );
        let mut walked = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = clinic.server.read(&format!("{path}&limit=2{cursor}")).await;
            assert!(ids(&page).len() <= 2);
            walked.extend(ids(&page));
            match page.body["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(walked, all);
        let last = clinic.server.read(&format!("{path}&limit=2{cursor}")).await;
        let back = last.body["_meta"]["prev"].as_str().unwrap();
        let back = clinic
            .server
            .read(&format!("{path}&limit=2&cursor={back}"))
            .await;
        let end = all.len() - ids(&last).len();
        assert_eq!(ids(&back), all[end - 2..end]);
        for wrong in ["limit=0", "cursor=nonsense"] {
            let refused = clinic.server.read(&format!("{path}&{wrong}")).await;
            assert_eq!(refused.status, 400, "{wrong}");
        }
    }
}

#[tokio::test]
async fn what_a_task_asks_is_hidden_from_others_until_it_starts() {
    let clinic = Clinic::open(2, 1).await;
    let publish = format!("/benchmarks/{}/publish", clinic.benchmark);
    let public = json!({"slug": "clinic-day", "visibility": "Public"});
    clinic.server.ask(Method::POST, &publish, public).await;
    let foreign = clinic.server.foreign_key().await;
    let as_foreign = async |method: Method, path: &str, body: Value| {
        let mut request = clinic.server.request(method, path).bearer_auth(&foreign);
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        Answer::of(request.send().await.unwrap()).await
    };
    let begin = json!({"benchmark_id": clinic.benchmark});
    let run = as_foreign(Method::POST, "/benchmark-runs", begin).await;
    assert_eq!(run.status, 201, "{}", run.body);
    let secrets = ["A referral came in", "Referral for Ada Ray", "see fax"];
    let tells = |answer: &Answer| {
        let text = answer.body.to_string();
        secrets
            .iter()
            .filter(|secret| text.contains(**secret))
            .count()
    };
    assert_eq!(tells(&run), 0, "{}", run.body);
    let id = run.text("benchmark_run_id");
    let task_runs = run.body["task_runs"].as_array().unwrap().iter();
    let task_runs: Vec<_> = task_runs.map(|one| one["id"].as_str().unwrap()).collect();
    for path in [
        format!("/benchmark-runs/{id}"),
        format!("/task-runs?benchmark_run_id={id}"),
        format!("/task-runs/{}", task_runs[0]),
    ] {
        let read = as_foreign(Method::GET, &path, Value::Null).await;
        assert_eq!(
            (read.status, tells(&read)),
            (200, 0),
            "{path}: {}",
            read.body
        );
    }
    let token = run.text("bearer_token");
    let as_run = async |path: &str| {
        let request = clinic.server.get(path).bearer_auth(&token);
        Answer::of(request.send().await.unwrap()).await
    };
    let shown = as_run(&format!("/v1/benchmark-runs/{id}")).await;
    assert_eq!((shown.status, tells(&shown)), (200, 0), "{}", shown.body);
    for path in [
        format!("/task-runs/{}", task_runs[0]),
        format!("/benchmark-runs/{id}"),
        "/tasks".to_owned(),
        format!("/benchmarks/{}/definition", clinic.benchmark),
    ] {
        for key in [&token, &clinic.solver_key] {
            let refused = clinic
                .server
                .get(&path)
                .bearer_auth(key)
                .send()
                .await
                .unwrap();
            assert_eq!(refused.status(), 401, "{path}");
        }
    }
    // Whose own it is, or who has begun, reads it.
    let start = format!("/task-runs/{}/start", task_runs[0]);
    let started = as_foreign(Method::POST, &start, json!({})).await;
    assert_eq!(started.status, 200, "{}", started.body);
    assert_eq!(started.body["phase"], "started");
    assert!(started.body["task_item"].to_string().contains(secrets[0]));
    let again = as_foreign(Method::POST, &start, json!({})).await;
    assert_eq!(again.body, started.body, "starting again does nothing");
    let read = as_foreign(
        Method::GET,
        &format!("/task-runs/{}", task_runs[0]),
        Value::Null,
    )
    .await;
    assert_eq!(tells(&read), 3, "{}", read.body);
    let next = as_foreign(
        Method::GET,
        &format!("/task-runs/{}", task_runs[1]),
        Value::Null,
    )
    .await;
    assert_eq!(tells(&next), 0, "{}", next.body);
    let own = clinic.begin_open().await;
    let own = format!("/task-runs/{}", own.task_runs[0]);
    assert_eq!(
        tells(&clinic.server.read(&own).await),
        3,
        "the owner reads all"
    );
    let stranger = as_foreign(Method::POST, &format!("{own}/start"), json!({})).await;
    assert_eq!(stranger.status, 404);
}
