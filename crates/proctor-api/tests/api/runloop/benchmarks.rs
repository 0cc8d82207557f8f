use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    contract::Contract,
    scenarios::{create, parameters},
};
use crate::support::{Answer, TestServer};

async fn with_scenarios(count: usize) -> (TestServer, Vec<String>) {
    let server = TestServer::start().await;
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(create(&server, parameters(&format!("s{number}"))).await);
    }
    (server, ids)
}

async fn make(server: &TestServer, body: Value) -> Answer {
    let answer = server.ask(Method::POST, "/v1/benchmarks", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer
}

fn names(page: &Value) -> Vec<&str> {
    let benchmarks = page["benchmarks"].as_array().unwrap();
    benchmarks
        .iter()
        .map(|benchmark| benchmark["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_benchmark_has_a_life() {
    let (server, ids) = with_scenarios(3).await;
    let contract = Contract::read();
    let body = json!({"name": "suite", "scenario_ids": [ids[2], ids[0], ids[2]], "metadata": {"team": "a"},
        "required_environment_variables": ["MODEL"], "required_secret_names": ["TOKEN"],
        "attribution": "us", "description": "all of it"});
    let made = make(&server, body).await;
    insta::assert_snapshot!("benchmark_made", made.shape());
    contract.check("POST", "/v1/benchmarks", &made.body);
    let path = format!("/v1/benchmarks/{}", made.text("id"));
    let read = server.read(&path).await;
    contract.check("GET", "/v1/benchmarks/{id}", &read.body);
    assert_eq!(read.body, made.body);

    let nulls = json!({"name": null, "scenario_ids": null, "metadata": null, "description": null});
    let unchanged = server.ask(Method::POST, &path, nulls).await;
    contract.check("POST", "/v1/benchmarks/{id}", &unchanged.body);
    assert_eq!(unchanged.body, made.body);
    let changes =
        json!({"name": "renamed", "scenario_ids": [ids[1]], "metadata": {}, "description": ""});
    let changed = server.ask(Method::POST, &path, changes).await;
    insta::assert_snapshot!("benchmark_changed", changed.shape());
    let blank = server.ask(Method::POST, &path, json!({"name": " "})).await;
    assert_eq!(blank.status, 400);

    let update =
        json!({"scenarios_to_add": [ids[0], ids[1], ids[2]], "scenarios_to_remove": [ids[1]]});
    let updated = server
        .ask(Method::POST, &format!("{path}/scenarios"), update)
        .await;
    contract.check("POST", "/v1/benchmarks/{id}/scenarios", &updated.body);
    assert_eq!(updated.body["scenarioIds"], json!([ids[0], ids[1], ids[2]]));
    let unknown = json!({"scenarios_to_add": ["scn_01J00000000000000000000000", "nonsense"]});
    let refused = server
        .ask(Method::POST, &format!("{path}/scenarios"), unknown)
        .await;
    assert_eq!(refused.status, 400, "{}", refused.body);

    let definitions = server.read(&format!("{path}/definitions")).await;
    contract.check("GET", "/v1/benchmarks/{id}/definitions", &definitions.body);
    assert_eq!(definitions.body["scenarios"].as_array().unwrap().len(), 3);
    let archived = server
        .ask(Method::POST, &format!("{path}/archive"), Value::Null)
        .await;
    contract.check("POST", "/v1/benchmarks/{id}/archive", &archived.body);
    assert_eq!(archived.body["status"], "archived");
    for (path, body) in [
        (path.clone(), json!({"name": "x"})),
        (format!("{path}/scenarios"), json!({})),
    ] {
        assert_eq!(server.ask(Method::POST, &path, body).await.status, 400);
    }
    assert!(names(&server.read("/v1/benchmarks").await.body).is_empty());
    let active = server
        .ask(Method::POST, &format!("{path}/unarchive"), Value::Null)
        .await;
    contract.check("POST", "/v1/benchmarks/{id}/unarchive", &active.body);
    let listed = server.read("/v1/benchmarks?name=ren").await;
    contract.check("GET", "/v1/benchmarks", &listed.body);
    assert_eq!(names(&listed.body), ["renamed"]);
}

#[rstest]
#[case("empty", json!({}))]
#[case("blank", json!({"name": " "}))]
#[case("unknown", json!({"name": "a", "scenario_ids": ["scn_01J00000000000000000000000", "x"]}))]
#[case("wrong_type", json!({"name": "a", "metadata": {"a": 1}}))]
#[tokio::test]
async fn a_wrong_benchmark_is_400(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/v1/benchmarks", body).await;
    insta::assert_snapshot!(format!("benchmark_{name}"), answer.shape());
}

#[tokio::test]
async fn what_is_archived_cannot_join() {
    let (server, ids) = with_scenarios(1).await;
    let archive = format!("/v1/scenarios/{}/archive", ids[0]);
    server.ask(Method::POST, &archive, Value::Null).await;
    let body = json!({"name": "a", "scenario_ids": ids});
    let answer = server.ask(Method::POST, "/v1/benchmarks", body).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
}

#[tokio::test]
async fn a_public_benchmark_opens_its_scenarios_too() {
    let (server, ids) = with_scenarios(2).await;
    let contract = Contract::read();
    let made = make(
        &server,
        json!({"name": "open", "scenario_ids": ids, "metadata": {"a": "b"}}),
    )
    .await;
    make(
        &server,
        json!({"name": "closed", "metadata": {"a": "c", "d": "e"}}),
    )
    .await;
    let path = format!("/v1/benchmarks/{}", made.text("id"));
    server
        .ask(Method::POST, &format!("{path}/publish"), Value::Null)
        .await;
    let other = server.foreign_key().await;
    let as_other = async |path: &str| {
        let request = server.get(path).bearer_auth(&other);
        Answer::of(request.send().await.unwrap()).await
    };
    let seen = as_other(&path).await;
    assert_eq!(seen.body["scenarioIds"], json!(ids));
    let listed = as_other("/v1/benchmarks/list_public").await.body;
    contract.check("GET", "/v1/benchmarks/list_public", &listed);
    assert_eq!(names(&listed), ["open"]);
    let definitions = as_other(&format!("{path}/definitions")).await;
    assert_eq!(definitions.body["scenarios"].as_array().unwrap().len(), 2);
    assert_eq!(
        as_other(&format!("/v1/scenarios/{}", ids[0])).await.status,
        200
    );
    for action in ["", "/archive", "/unarchive", "/scenarios"] {
        let path = format!("{path}{action}");
        let answer = server.ask(Method::POST, &path, json!({})).await;
        assert_eq!(answer.status, 403, "{path}");
    }
    let keys = server.read("/v1/benchmarks/metadata/keys").await.body;
    contract.check("GET", "/v1/benchmarks/metadata/keys", &keys);
    assert_eq!(keys, json!({"keys": ["a", "d"]}));
    let values = server
        .read("/v1/benchmarks/metadata/keys/a/values")
        .await
        .body;
    contract.check("GET", "/v1/benchmarks/metadata/keys/{key}/values", &values);
    assert_eq!(values["values"], json!(["b", "c"]));
}
