//! Lists of jobs.

use serde_json::{Value, json};

use super::{Desk, PATH, agent, of_scenarios};
use crate::support::Answer;

#[tokio::test]
async fn jobs_are_listed_found_and_belong_to_their_organization() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let mut jobs = Vec::new();
    for name in ["Nightly", "weekly"] {
        let mut body = of_scenarios(&[&scenario], json!([agent("nop")]), Value::Null);
        body["name"] = name.into();
        jobs.push(desk.job(body).await);
    }
    for (query, expected) in [
        ("", vec![&jobs[1], &jobs[0]]),
        ("?name=night", vec![&jobs[0]]),
        ("?search=WEEK", vec![&jobs[1]]),
        ("?limit=1", vec![&jobs[1]]),
    ] {
        let page = desk.server.read(&format!("{PATH}{query}")).await;
        desk.contract.check("GET", PATH, &page.body);
        let ids: Vec<&str> = page.body["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{query}");
    }
    let stranger = desk.server.foreign_key().await;
    let path = format!("{PATH}/{}", jobs[0]);
    for request in [
        desk.server.get(&path),
        desk.server.post(&format!("{path}/cancel")),
    ] {
        let answer = request.bearer_auth(&stranger).send().await.unwrap();
        assert_eq!(answer.status(), 404);
    }
    let request = desk.server.get(PATH).bearer_auth(&stranger);
    let page = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(page.body["jobs"], json!([]));
    let unknown = desk
        .server
        .read("/v1/benchmark_jobs/bmj_01J00000000000000000000000")
        .await;
    assert_eq!(unknown.status, 404);
    for job in &jobs {
        desk.over(job).await;
    }
}
