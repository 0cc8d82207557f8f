//! What is open to everybody can be run by everybody.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    runs::Desk,
    scenarios::{blueprint, create, parameters},
};
use crate::support::Answer;

impl Desk {
    async fn as_other(&self, key: &str, path: &str, body: &Value) -> Answer {
        let request = self.server.request(Method::POST, path).bearer_auth(key);
        Answer::of(request.json(body).send().await.unwrap()).await
    }
}

#[tokio::test]
async fn what_is_public_is_run_by_all() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let other = desk.server.foreign_key().await;
    let start = json!({"benchmark_id": benchmark});
    let refused = desk
        .as_other(&other, "/v1/benchmarks/start_run", &start)
        .await;
    assert_eq!(refused.status, 404);
    let path = format!("/v1/benchmarks/{benchmark}/publish");
    assert_eq!(desk.post(&path, Value::Null).await.status, 200);
    let run = desk
        .as_other(&other, "/v1/benchmarks/start_run", &start)
        .await;
    assert_eq!(run.status, 200, "{}", run.body);
    for body in [
        json!({"scenario_id": scenario, "benchmark_run_id": run.text("id")}),
        json!({"scenario_id": scenario}),
    ] {
        let taken = desk
            .as_other(&other, "/v1/scenarios/start_run", &body)
            .await;
        assert_eq!(taken.status, 200, "{}", taken.body);
        let mine = format!("/v1/scenarios/runs/{}", taken.text("id"));
        assert_eq!(
            desk.server.read(&mine).await.status,
            404,
            "the owner of a scenario does not see who takes it"
        );
        let scored = desk
            .as_other(&other, &format!("{mine}/score"), &Value::Null)
            .await;
        assert_eq!(scored.body["state"], "scoring", "{}", scored.body);
    }
}

#[tokio::test]
async fn what_only_its_owner_could_run_is_not_published() {
    let desk = Desk::new().await;
    let mut body = parameters("own");
    let blueprint = blueprint(&desk.server).await;
    let policy = desk
        .post("/v1/network-policies", json!({"name": "p"}))
        .await;
    let policy = policy.text("id");
    body["environment_parameters"] = json!({"blueprint_id": blueprint,
        "launch_parameters": {"network_policy_id": policy}});
    let own = create(&desk.server, body).await;
    let benchmark = desk.benchmark(&[&own]).await;
    for path in [
        format!("/v1/scenarios/{own}/publish"),
        format!("/v1/benchmarks/{benchmark}/publish"),
    ] {
        let refused = desk.post(&path, Value::Null).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let message = refused.text("message");
        for part in [
            &own,
            &format!("blueprint '{blueprint}'"),
            &format!("network policy '{policy}'"),
        ] {
            assert!(message.contains(part.as_str()), "{message}");
        }
    }
    let seen = desk.server.read(&format!("/v1/scenarios/{own}")).await;
    assert_eq!(seen.body["is_public"], false);
}
