use reqwest::{Method, header::CONTENT_TYPE};
use rstest::rstest;
use serde_json::{Value, json};

use super::studio::{Studio, patient_exists, remove};
use crate::support::{Answer, TestServer};

#[tokio::test]
async fn a_criterion_is_made_shown_changed_and_removed() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let body = json!({"task_id": studio.task, "label": "Safe", "weight": 0.1, "axis": "safety",
        "input_entity_id": studio.entity, "assertion": patient_exists()});
    let made = server.ask(Method::POST, "/criteria", body).await;
    insta::assert_snapshot!("criterion_made", made.shape());
    let path = format!("/criteria/{}", made.text("id"));
    let shown = server.read(&path).await;
    insta::assert_snapshot!("criterion_shown", shown.shape());
    let changed = server
        .ask(
            Method::PATCH,
            &path,
            json!({"weight": 0, "axis": null, "input_entity_id": null}),
        )
        .await;
    insta::assert_snapshot!("criterion_changed", changed.shape());
    assert_eq!(remove(&server, &path).await.status, 204);
    assert_eq!(server.read(&path).await.status, 404);
}

#[rstest]
#[case("unknown_assert", "Safe", json!({"assert": "telepathy", "dose": 1}))]
#[case("no_assert", "Safe", json!({}))]
#[case("not_an_object", "Safe", json!(["anything"]))]
#[case("label_tells", "Booked with Dr. Rivera", json!({"assert": "fhir-resource-state",
    "resource_type": "Appointment", "fields": [{"path": "participant.0.actor.display", "expected": "Dr. Rivera"}]}))]
#[tokio::test]
async fn what_the_author_should_know_is_said_and_kept_as_given(
    #[case] name: &str,
    #[case] label: &str,
    #[case] assertion: Value,
) {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let body = json!({"task_id": studio.task, "label": label, "assertion": assertion});
    let made = server.ask(Method::POST, "/criteria", body).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.body["assertion"], assertion);
    let warnings = serde_json::to_string_pretty(&made.body["warnings"]).unwrap();
    insta::assert_snapshot!(format!("criterion_warned_{name}"), warnings);
    let path = format!("/criteria/{}", made.text("id"));
    let changed = server.ask(Method::PATCH, &path, json!({})).await;
    assert_eq!(changed.body["warnings"], made.body["warnings"]);
}

#[rstest]
#[case("empty", json!({}))]
#[case("weight", json!({"label": "l", "weight": -0.5, "assertion": {}}))]
#[case("weight_text", json!({"label": "l", "weight": "1", "assertion": {}}))]
#[case("too_long", json!({"label": "l".repeat(501), "axis": "a".repeat(101), "assertion": {}}))]
#[case("blank", json!({"label": " ", "axis": "", "assertion": {}}))]
#[tokio::test]
async fn a_wrong_criterion_is_refused(#[case] name: &str, #[case] mut body: Value) {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let path = format!("/criteria/{}", studio.criterion);
    let before = server.read(&path).await.body;
    if name != "empty" {
        let change = server.ask(Method::PATCH, &path, body.clone()).await;
        assert_eq!(change.status, 400, "{}", change.body);
        body["task_id"] = json!(studio.task);
    }
    let answer = server.ask(Method::POST, "/criteria", body).await;
    insta::assert_snapshot!(format!("criterion_refused_{name}"), answer.shape());
    assert_eq!(server.read(&path).await.body, before);
}

#[tokio::test]
async fn a_weight_beyond_all_numbers_is_refused() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let path = format!("/criteria/{}", studio.criterion);
    let request = server
        .own(Method::PATCH, &path)
        .header(CONTENT_TYPE, "application/json")
        .body(r#"{"weight": 1e999}"#);
    let answer = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
}

#[tokio::test]
async fn a_criterion_of_unknown_things_is_404() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let unknown_task =
        json!({"task_id": "task_01K0000000000000000000000A", "label": "l", "assertion": {}});
    let answer = server.ask(Method::POST, "/criteria", unknown_task).await;
    assert_eq!(answer.status, 404);
    let unknown_entity = json!({"task_id": studio.task, "label": "l", "assertion": {}, "input_entity_id": "ent_01K0000000000000000000000A"});
    let answer = server.ask(Method::POST, "/criteria", unknown_entity).await;
    assert_eq!(answer.status, 404);
    let path = format!("/criteria/{}", studio.criterion);
    let nulls = json!({"label": null, "weight": null, "assertion": null});
    let answer = server.ask(Method::PATCH, &path, nulls).await;
    insta::assert_snapshot!("criterion_nulls", answer.shape());
}

#[tokio::test]
async fn the_name_of_having_no_axis_is_no_name_of_an_axis() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let body = json!({"task_id": studio.task, "label": "Safe", "axis": "__default__",
        "assertion": patient_exists()});
    let refused = server.ask(Method::POST, "/criteria", body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body["error"]["details"].get("axis").is_some());
    let path = format!("/criteria/{}", studio.criterion);
    let refused = server
        .ask(Method::PATCH, &path, json!({"axis": "__default__"}))
        .await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let fine = server
        .ask(Method::PATCH, &path, json!({"axis": "default"}))
        .await;
    assert_eq!(fine.status, 200, "{}", fine.body);
}

#[rstest]
#[case("1")]
#[case("2.50")]
#[case("0.1")]
#[case("3.0")]
#[tokio::test]
async fn a_weight_is_shown_as_it_was_written(#[case] written: &str) {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let weight: Value = serde_json::from_str(written).unwrap();
    let body = json!({"task_id": studio.task, "label": "Safe", "weight": weight,
        "assertion": patient_exists()});
    let made = server.ask(Method::POST, "/criteria", body).await;
    assert_eq!(made.body["weight"].to_string(), written);
    let publish = format!("/benchmarks/{}/publish", studio.benchmark);
    server
        .ask(Method::POST, &publish, json!({"slug": "fax"}))
        .await;
    let definition = format!("/benchmarks/{}/versions/1/definition", studio.benchmark);
    let definition = server.read(&definition).await.body;
    let frozen = &definition["definition"]["tasks"][0]["criteria"][1]["weight"];
    assert_eq!(frozen.to_string(), written, "{definition}");
    let absent = json!({"task_id": studio.task, "label": "Plain", "assertion": patient_exists()});
    let absent = server.ask(Method::POST, "/criteria", absent).await;
    assert_eq!(absent.body["weight"].to_string(), "1");
}
