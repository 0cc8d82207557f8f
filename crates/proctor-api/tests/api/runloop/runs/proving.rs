//! Scenarios that are proved by their reference.

use rstest::rstest;
use serde_json::{Value, json};

use super::Desk;

const PATCH: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

#[rstest]
#[case("forward", "is changed", "FORWARD", PATCH, true)]
#[case("unsolved", "false", "FORWARD", PATCH, false)]
#[case("conflict", "is changed", "FORWARD", "conflict", false)]
#[case("commands", "is changed", "UNSPECIFIED", "touch x", true)]
#[case("reverse", "is unchanged", "REVERSE", PATCH, true)]
#[case("unbroken", "true", "REVERSE", PATCH, false)]
#[case("not_solved", "is changed", "REVERSE", PATCH, false)]
#[tokio::test]
async fn a_scenario_is_proved_by_its_reference(
    #[case] name: &str,
    #[case] command: &str,
    #[case] kind: &str,
    #[case] reference: &str,
    #[case] holds: bool,
) {
    let desk = Desk::new().await;
    let scenario = desk.scenario(name, command).await;
    let path = format!("/v1/scenarios/{scenario}");
    let body = json!({"reference_output": reference, "validation_type": kind});
    desk.post(&path, body).await;
    let answer = desk.post(&format!("{path}/validate"), Value::Null).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["valid"], holds, "{}", answer.body);
    insta::assert_snapshot!(format!("validate_{name}"), answer.text("verdict"));
    let trials = [&answer.body["untouched"], &answer.body["reference"]];
    for trial in trials {
        desk.contract.check_schema("ScenarioRunView", &trial["run"]);
        assert_eq!(trial["run"]["state"], "completed");
    }
    assert_eq!(desk.shop.live(), 0, "nothing is left behind");
}

#[rstest]
#[case(json!({}))]
#[case(json!({"reference_output": "touch x", "validation_type": "REVERSE"}))]
#[tokio::test]
async fn what_cannot_be_proved_is_400(#[case] body: Value) {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "true").await;
    let path = format!("/v1/scenarios/{scenario}");
    desk.post(&path, body).await;
    let answer = desk.post(&format!("{path}/validate"), Value::Null).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(desk.shop.orders().is_empty());
}
