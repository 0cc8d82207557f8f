use std::time::Duration;

use proctor_model_agent::{
    Ended,
    limits::{Limit, Limits, Prices},
    provider::Dialect,
};

use crate::support::{Play, Stage, anthropic, openai};

fn adding(count: usize) -> Vec<Play> {
    (0..count)
        .map(|number| {
            let id = format!("c{number}");
            Play::Events(openai::calls(&[(&id, "add", "{\"number\": 1}")]))
        })
        .collect()
}

#[tokio::test]
async fn a_model_that_stops_without_completing_is_done() {
    let plays = vec![Play::Events(openai::says("I am done.", "stop"))];
    let stage = Stage::new(Dialect::OpenAi, plays).await;
    assert_eq!(stage.agent().run().await.unwrap(), Ended::Stopped);
    assert_eq!(stage.counter.lock().unwrap().completions, 1);
    let last = stage.trajectory()["steps"][2].clone();
    assert_eq!(last["llm_call_count"], 0);
    assert_eq!(last["tool_calls"][0]["function_name"], "complete");
    assert_eq!(last.get("metrics"), None);
}

#[tokio::test]
async fn a_refusal_is_the_agents_own_end() {
    let refusing = [
        (
            Dialect::OpenAi,
            vec![
                openai::delta(&serde_json::json!({"refusal": "I will not."})),
                openai::stop("stop"),
            ],
        ),
        (Dialect::OpenAi, openai::says("", "content_filter")),
        (Dialect::Anthropic, anthropic::says("No.", "refusal")),
    ];
    for (dialect, events) in refusing {
        let stage = Stage::new(dialect, vec![Play::Events(events)]).await;
        assert_eq!(stage.agent().run().await.unwrap(), Ended::Refused);
        assert_eq!(stage.trajectory()["extra"]["ended"], "refused");
        assert_eq!(stage.counter.lock().unwrap().completions, 1);
    }
}

#[tokio::test]
async fn limits_end_the_loop_and_the_task_is_completed() {
    let unlimited = Limits::default;
    for (limits, limit, questions) in [
        (
            Limits {
                turns: 3,
                ..unlimited()
            },
            Limit::Turns,
            3,
        ),
        (
            Limits {
                tokens: Some(16),
                ..unlimited()
            },
            Limit::Tokens,
            2,
        ),
        (
            Limits {
                cost: Some(14.0),
                ..unlimited()
            },
            Limit::Cost,
            2,
        ),
    ] {
        let stage = Stage::new(Dialect::OpenAi, adding(10)).await;
        let mut agent = stage.agent();
        agent.limits = limits;
        agent.prices = Some(Prices {
            input: 1e6,
            cached: 0.0,
            output: 1e6,
        });
        assert_eq!(agent.run().await.unwrap(), Ended::Limit(limit));
        assert_eq!(stage.questions(), questions, "{limit:?}");
        assert_eq!(stage.counter.lock().unwrap().completions, 1);
        assert_eq!(stage.trajectory()["extra"]["ended"], limit.as_str());
    }
}

#[tokio::test]
async fn time_ends_the_loop_also_while_a_model_is_silent() {
    let mut plays = adding(1);
    plays.push(Play::Hang);
    let stage = Stage::new(Dialect::OpenAi, plays).await;
    let mut agent = stage.agent();
    agent.limits.time = Some(Duration::from_millis(1_500));
    let ended = agent.run().await.unwrap();
    assert_eq!(ended, Ended::Limit(Limit::Time));
    assert_eq!(stage.counter.lock().unwrap().completions, 1);
    assert_eq!(stage.trajectory()["extra"]["ended"], "time_limit");
}

#[tokio::test]
async fn an_answer_that_is_cut_at_its_limit_goes_on() {
    let plays = vec![
        Play::Events(openai::says("Let me think", "length")),
        Play::Events(openai::calls(&[("c1", "complete", "{}")])),
    ];
    let stage = Stage::new(Dialect::OpenAi, plays).await;
    assert_eq!(stage.agent().run().await.unwrap(), Ended::Completed);
    let asked = stage.asked.lock().unwrap();
    let last = asked[1].1["messages"][2]["content"].as_str().unwrap();
    assert!(last.starts_with("Your answer was cut off"), "{last}");
}

#[tokio::test]
async fn old_results_are_taken_out_of_a_long_conversation_and_that_is_written_down() {
    let mut plays = adding(8);
    plays.push(Play::Events(openai::calls(&[("end", "complete", "{}")])));
    let stage = Stage::new(Dialect::OpenAi, plays).await;
    let mut agent = stage.agent();
    agent.limits.context = 1;
    assert_eq!(agent.run().await.unwrap(), Ended::Completed);
    assert_eq!(stage.counter.lock().unwrap().value, 8);
    let asked = stage.asked.lock().unwrap();
    let messages = asked[8].1["messages"].as_array().unwrap();
    let results: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert!(results[0].starts_with("[an earlier result:"), "{results:?}");
    assert_eq!(results[7], "8");
    let trajectory = stage.trajectory();
    let trimmed = trajectory["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["source"] == "system")
        .unwrap();
    assert_eq!(trimmed["extra"]["trimmed_call_ids"][0], "c0");
}
