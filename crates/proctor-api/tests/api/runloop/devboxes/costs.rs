//! How much a scenario asks of the database when its box is a real one.

use serde_json::json;

use super::support::Boxes;
use crate::{runloop::costs::of_a_scenario, support::costs};

/// What happens in a real box is told as it happens, so a record may be written once more than it must be. The least of a few is what a scenario asks for.
const TIMES: usize = 5;

#[tokio::test]
async fn a_scenario_in_a_real_box_asks_so_much_of_the_database() {
    let boxes = Boxes::start().await;
    let scorer = json!({"type": "command_scorer", "command": "true"});
    let body = json!({"name": "fix", "input_context": {"problem_statement": "Fix it."},
        "scoring_contract": {"scoring_function_parameters": [{"name": "fixed", "weight": 1, "scorer": scorer}]}});
    let scenario = boxes.post("/v1/scenarios", body).await;
    let scenario = scenario["id"].as_str().unwrap();
    of_a_scenario(&boxes.server, scenario).await;
    let mut least = None;
    for _ in 0..TIMES {
        let (_, all) = of_a_scenario(&boxes.server, scenario).await;
        least = least
            .into_iter()
            .chain([all])
            .min_by_key(|counts| (counts.statements, counts.commits, counts.rows_read));
    }
    insta::assert_snapshot!("costs_of_a_scenario", costs(least.unwrap()));
    boxes.end().await;
}
