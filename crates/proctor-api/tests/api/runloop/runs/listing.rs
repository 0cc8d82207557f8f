//! Lists of runs, and where older clients look for them.

use serde_json::{Value, json};

use super::{Desk, files};
use crate::runloop::scenarios::{create, parameters};

#[tokio::test]
async fn lists_are_filtered_by_metadata() {
    let desk = Desk::new().await;
    let scenario = |team: &str| {
        let mut body = parameters(team);
        body["metadata"] = json!({"team": team, "stage": "x"});
        body
    };
    let (a, b) = (scenario("a"), scenario("b"));
    let (a, b) = (create(&desk.server, a).await, create(&desk.server, b).await);
    let benchmark = json!({"name": "one", "scenario_ids": [a, b], "metadata": {"team": "a"}});
    let benchmark = desk.post("/v1/benchmarks", benchmark).await.text("id");
    let other = json!({"name": "two", "metadata": {"team": "b"}});
    desk.post("/v1/benchmarks", other).await;
    let mut benchmark_runs = Vec::new();
    let mut runs = Vec::new();
    for team in ["a", "b"] {
        // What looks like a label elsewhere is none.
        let profile = json!({"envVars": {"team": "c"}});
        let body =
            json!({"benchmark_id": benchmark, "metadata": {"team": team}, "runProfile": profile});
        let run = desk.post("/v1/benchmarks/start_run", body).await.text("id");
        let body = json!({"scenario_id": a, "benchmark_run_id": run, "metadata": {"team": team}, "runProfile": profile});
        runs.push(desk.start(body).await);
        benchmark_runs.push(run);
        let object = json!({"name": team, "content_type": "text", "metadata": {"team": team}});
        desk.post("/v1/objects", object).await;
    }
    let list = async |path: &str, member: &str, query: &str| -> Vec<String> {
        let answer = desk.server.read(&format!("{path}?{query}")).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let items = answer.body[member].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["team"].as_str().unwrap().to_owned())
            .collect()
    };
    let of_benchmark = format!("/v1/benchmarks/{benchmark}/runs");
    let of_scenario = format!("/v1/scenarios/{a}/runs");
    for (path, member) in [
        ("/v1/scenarios", "scenarios"),
        ("/v1/benchmarks", "benchmarks"),
        ("/v1/benchmark_runs", "runs"),
        ("/v1/benchmarks/runs", "runs"),
        (&of_benchmark, "runs"),
        ("/v1/scenarios/runs", "runs"),
        (&of_scenario, "runs"),
        ("/v1/objects", "objects"),
    ] {
        let found = async |query: &str| list(path, member, query).await;
        assert_eq!(found("metadata[team]=a").await, ["a"], "{path}");
        assert_eq!(
            found("metadata%5Bteam%5D%5Bin%5D=a,b").await,
            ["b", "a"],
            "{path}"
        );
        assert!(found("metadata[team]=c").await.is_empty(), "{path}");
        assert!(found("metadata[tea]=a").await.is_empty(), "{path}");
        assert_eq!(found("newer=1").await, ["b", "a"], "{path}");
    }
    let inside = format!("/v1/benchmark_runs/{}/scenario_runs", benchmark_runs[1]);
    assert_eq!(list(&inside, "runs", "metadata[team]=b").await, ["b"]);
    assert!(list(&inside, "runs", "metadata[team]=a").await.is_empty());
}

#[tokio::test]
async fn lists_of_runs_are_filtered_and_belong_to_their_organization() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "true").await;
    let other = desk.scenario("b", "true").await;
    let benchmark = desk.benchmark(&[&scenario, &other]).await;
    let run = desk.start_benchmark(&benchmark).await;
    let alone = desk
        .start(json!({"scenario_id": other, "run_name": "By Itself"}))
        .await;
    let inside = desk.in_run(&run, &scenario).await;
    desk.act(&inside, "cancel").await;
    let ids = |page: &Value| -> Vec<String> {
        let runs = page["runs"].as_array().unwrap();
        runs.iter()
            .map(|run| run["id"].as_str().unwrap().to_owned())
            .collect()
    };
    for (query, expected) in [
        (String::new(), vec![&inside, &alone]),
        (format!("scenario_id={other}"), vec![&alone]),
        (format!("benchmark_run_id={run}"), vec![&inside]),
        ("state=canceled".to_owned(), vec![&inside]),
        ("state=running,canceled".to_owned(), vec![&inside, &alone]),
        ("name=itself".to_owned(), vec![&alone]),
        (format!("search={inside}"), vec![&inside]),
    ] {
        let page = desk
            .server
            .read(&format!("/v1/scenarios/runs?{query}"))
            .await;
        desk.contract
            .check_schema("ScenarioRunListView", &page.body);
        assert_eq!(
            ids(&page.body),
            expected.into_iter().cloned().collect::<Vec<_>>(),
            "{query}"
        );
    }
    let bad = desk.server.read("/v1/scenarios/runs?state=asleep").await;
    assert_eq!(bad.status, 400);
    let of = desk
        .server
        .read(&format!("/v1/scenarios/{other}/runs"))
        .await;
    assert_eq!(ids(&of.body), std::slice::from_ref(&alone));
    for path in ["/v1/benchmark_runs", "/v1/benchmarks/runs"] {
        let page = desk
            .server
            .read(&format!("{path}?benchmark_id={benchmark}&state=running"))
            .await;
        desk.contract.check("GET", path, &page.body);
        assert_eq!(ids(&page.body), std::slice::from_ref(&run));
        let inner = desk
            .server
            .read(&format!("{path}/{run}/scenario_runs"))
            .await;
        desk.contract
            .check("GET", &format!("{path}/{{id}}/scenario_runs"), &inner.body);
        assert_eq!(ids(&inner.body), std::slice::from_ref(&inside));
        let none = desk
            .server
            .read(&format!("{path}/{run}/scenario_runs?state=running"))
            .await;
        assert!(ids(&none.body).is_empty());
    }
    let of = desk
        .server
        .read(&format!("/v1/benchmarks/{benchmark}/runs"))
        .await;
    desk.contract
        .check("GET", "/v1/benchmarks/{id}/runs", &of.body);
    assert_eq!(ids(&of.body), std::slice::from_ref(&run));

    let stranger = desk.server.foreign_key().await;
    for path in [
        format!("/v1/scenarios/runs/{inside}"),
        format!("/v1/benchmark_runs/{run}"),
        format!("/v1/benchmark_runs/{run}/scenario_runs"),
    ] {
        let request = desk.server.get(&path).bearer_auth(&stranger);
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
    for action in ["score", "complete", "cancel", "download_logs"] {
        let path = format!("/v1/scenarios/runs/{inside}/{action}");
        let request = desk.server.post(&path).bearer_auth(&stranger);
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
}

#[tokio::test]
async fn older_clients_find_benchmark_runs_below_benchmarks() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    for action in ["complete", "cancel"] {
        let run = desk.start_benchmark(&benchmark).await;
        let base = format!("/v1/benchmarks/runs/{run}");
        let read = desk.server.read(&base).await;
        desk.contract
            .check("GET", "/v1/benchmarks/runs/{id}", &read.body);
        let ended = desk.post(&format!("{base}/{action}"), Value::Null).await;
        desk.contract.check(
            "POST",
            &format!("/v1/benchmarks/runs/{{id}}/{action}"),
            &ended.body,
        );
        assert_eq!(ended.body, desk.benchmark_run(&run).await);
        let zip = files(&desk, &format!("{base}/download_logs")).await;
        assert!(zip.is_empty());
    }
}
