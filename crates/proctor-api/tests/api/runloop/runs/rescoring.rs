//! Scoring again.

use serde_json::{Value, json};

use super::Desk;
use crate::runloop::scenarios::parameters;

#[tokio::test]
async fn a_scenario_run_is_scored_again_and_its_record_stays_as_it_was() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "false").await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    let path = format!("/v1/scenarios/runs/{run}/rescore");
    let early = desk.post(&path, Value::Null).await;
    insta::assert_snapshot!("rescore_early", early.shape());
    desk.shop.slow_down(true);
    desk.act(&run, "score").await;
    let meanwhile = desk.post(&path, Value::Null).await;
    insta::assert_snapshot!("rescore_meanwhile", meanwhile.shape());
    desk.shop.slow_down(false);
    desk.leaves(&run, "scoring").await;
    let completed = desk.act(&run, "complete").await;

    let again = desk.post(&path, json!({"criteria": "own"})).await;
    insta::assert_snapshot!("rescored", again.shape());
    let result = &again.body["scoring_contract_result"];
    assert_eq!(*result, again.body["original_scoring_contract_result"]);
    assert_eq!(*result, completed.body["scoring_contract_result"]);

    // A corrected scorer: the draft's, which is not that of the run.
    let mut corrected = parameters("a");
    corrected["scoring_contract"]["scoring_function_parameters"][0]["scorer"]["command"] =
        "true".into();
    desk.post(&format!("/v1/scenarios/{scenario}"), corrected)
        .await;
    let draft = desk.post(&path, json!({"criteria": "draft"})).await;
    assert_eq!(draft.status, 200, "{}", draft.body);
    assert_eq!(
        (
            &draft.body["scoring_contract_result"]["score"],
            &draft.body["original_scoring_contract_result"]["score"]
        ),
        (&json!(1.0), &json!(0.0))
    );
    assert_eq!(desk.run(&run).await, completed.body, "nothing is written");

    let wrong = desk.post(&path, json!({"criteria": "mine"})).await;
    assert_eq!(wrong.status, 400, "{}", wrong.body);
    let unknown = run
        .replace("scr_", "scr_0")
        .chars()
        .take(30)
        .collect::<String>();
    let unknown = format!("/v1/scenarios/runs/{unknown}/rescore");
    assert_eq!(desk.post(&unknown, Value::Null).await.status, 404);
}
