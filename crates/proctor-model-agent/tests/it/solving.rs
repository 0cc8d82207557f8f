use proctor_model_agent::{Ended, limits::Prices, provider::Dialect};
use serde_json::json;

use crate::support::{KEY, Play, Stage, TOKEN, anthropic, openai};

#[tokio::test]
async fn a_model_of_openai_solves_a_task_with_several_calls_at_once() {
    let stage = Stage::new(
        Dialect::OpenAi,
        vec![
            Play::Events(openai::calls(&[
                ("c1", "add", "{\"number\": 2}"),
                ("c2", "add", "{\"number\": 3}"),
            ])),
            Play::Events(openai::calls(&[("c3", "complete", "{}")])),
        ],
    )
    .await;
    assert_eq!(stage.agent().run().await.unwrap(), Ended::Completed);
    assert_eq!(stage.counter.lock().unwrap().value, 5);
    assert_eq!(stage.counter.lock().unwrap().completions, 1);
    let asked = stage.asked.lock().unwrap();
    let (headers, first) = &asked[0];
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(first["model"], "toy-1");
    assert_eq!(first["stream"], true);
    assert_eq!(first["tools"][0]["function"]["name"], "add");
    let messages = &asked[1].1["messages"];
    assert_eq!(messages[1]["tool_calls"][1]["id"], "c2");
    assert_eq!(
        messages[1]["tool_calls"][1]["function"]["arguments"],
        "{\"number\": 3}"
    );
    let result = json!({"role": "tool", "tool_call_id": "c2", "content": "5"});
    assert_eq!(messages[3], result);
    let line = json!({"input_tokens": 10, "cached_tokens": 2, "output_tokens": 5,
        "cost_usd": null, "model": "toy-1"});
    assert_eq!(stage.usage(), [line.clone(), line]);
    let trajectory = stage.trajectory();
    assert_eq!(trajectory["schema_version"], "ATIF-v1.7");
    assert_eq!(trajectory["extra"]["ended"], "completed");
    assert_eq!(trajectory["steps"].as_array().unwrap().len(), 3);
    let second = &trajectory["steps"][1];
    assert_eq!(second["tool_calls"][0]["arguments"], json!({"number": 2}));
    assert_eq!(second["observation"]["results"][1]["content"], "5");
    assert_eq!(trajectory["final_metrics"]["total_prompt_tokens"], 20);
    let text = trajectory.to_string();
    assert!(
        !text.contains(TOKEN) && text.contains("Your token is ***."),
        "{text}"
    );
}

#[tokio::test]
async fn a_model_of_anthropic_solves_a_task_and_its_cost_is_counted() {
    let stage = Stage::new(
        Dialect::Anthropic,
        vec![
            Play::Events(anthropic::calls(&[
                ("t1", "add", "{\"number\": 2}"),
                ("t2", "add", "{\"number\": 3}"),
            ])),
            Play::Events(anthropic::calls(&[("t3", "complete", "{}")])),
        ],
    )
    .await;
    let mut agent = stage.agent();
    agent.prices = Some(Prices {
        input: 1e6,
        cached: 0.0,
        output: 1e6,
    });
    assert_eq!(agent.run().await.unwrap(), Ended::Completed);
    assert_eq!(stage.counter.lock().unwrap().value, 5);
    let asked = stage.asked.lock().unwrap();
    let (headers, first) = &asked[0];
    assert_eq!(headers["x-api-key"], KEY);
    assert!(headers.contains_key("anthropic-version"));
    assert_eq!(first["tools"][0]["input_schema"]["type"], "object");
    let messages = &asked[1].1["messages"];
    let call = json!({"type": "tool_use", "id": "t2", "name": "add", "input": {"number": 3}});
    assert_eq!(messages[1]["content"][1], call);
    let result =
        json!({"type": "tool_result", "tool_use_id": "t2", "content": "5", "is_error": false});
    assert_eq!(messages[2]["content"][1], result);
    assert_eq!(stage.usage()[0]["input_tokens"], 10);
    assert_eq!(stage.usage()[0]["cost_usd"], 13.0);
    let total = &stage.trajectory()["final_metrics"]["total_cost_usd"];
    assert_eq!(*total, json!(26.0));
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_told_to_the_model() {
    let stage = Stage::new(
        Dialect::OpenAi,
        vec![
            Play::Events(openai::calls(&[
                ("c1", "add", "{\"number\": "),
                ("c2", "subtract", "{}"),
                ("c3", "add", "{}"),
            ])),
            Play::Events(openai::calls(&[("c4", "add", "{\"number\": 5}")])),
            Play::Events(openai::calls(&[("c5", "complete", "")])),
        ],
    )
    .await;
    assert_eq!(stage.agent().run().await.unwrap(), Ended::Completed);
    assert_eq!(stage.counter.lock().unwrap().value, 5);
    let asked = stage.asked.lock().unwrap();
    let messages = &asked[1].1["messages"];
    let said = |place: usize| messages[place]["content"].as_str().unwrap();
    assert!(said(2).starts_with("error: the arguments are not JSON: "));
    assert_eq!(said(3), "error: there is no such tool");
    assert_eq!(said(4), "error: number: is required");
    let call = &stage.trajectory()["steps"][1]["tool_calls"][0];
    assert_eq!(call["arguments"], json!({}));
    assert_eq!(call["extra"]["written"], "{\"number\": ");
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_too() {
    let whole = "{\"choices\": [{\"message\": {\"role\": \"assistant\", \"content\": null, \"tool_calls\": \
                 [{\"id\": \"c1\", \"type\": \"function\", \"function\": {\"name\": \"complete\", \"arguments\": \"{}\"}}]}, \
                 \"finish_reason\": \"tool_calls\"}], \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 4}}";
    let headers = vec![("content-type", "application/json")];
    let stage = Stage::new(Dialect::OpenAi, vec![Play::Status(200, headers, whole)]).await;
    assert_eq!(stage.agent().run().await.unwrap(), Ended::Completed);
    assert_eq!(stage.usage()[0]["output_tokens"], 4);
}
