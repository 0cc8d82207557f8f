use proctor_model_agent::{Ended, Failure, mcp::EndpointError, provider::Dialect};

use crate::support::{Play, Stage, anthropic, openai};

#[tokio::test]
async fn what_passes_is_tried_again() {
    let stage = Stage::new(
        Dialect::OpenAi,
        vec![
            Play::Status(429, vec![("retry-after", "0.01")], "slow down"),
            Play::Status(503, vec![], "busy"),
            Play::Cut(vec![openai::delta(
                &serde_json::json!({"content": "I will"}),
            )]),
            Play::Events(openai::calls(&[("c1", "complete", "{}")])),
        ],
    )
    .await;
    assert_eq!(stage.agent().run().await.unwrap(), Ended::Completed);
    assert_eq!(stage.questions(), 4);
    let steps = stage.trajectory()["steps"].as_array().unwrap().len();
    assert_eq!(steps, 2, "what broke off is nowhere");
    assert_eq!(stage.usage().len(), 1);
}

#[tokio::test]
async fn retry_after_is_obeyed() {
    let stage = Stage::new(
        Dialect::Anthropic,
        vec![
            Play::Status(529, vec![("retry-after", "1")], "overloaded"),
            Play::Events(anthropic::calls(&[("c1", "complete", "{}")])),
        ],
    )
    .await;
    let begun = std::time::Instant::now();
    assert_eq!(stage.agent().run().await.unwrap(), Ended::Completed);
    assert!(begun.elapsed().as_millis() >= 1_000);
}

#[tokio::test]
async fn a_provider_that_stays_away_is_a_failure_of_the_provider() {
    for (play, questions, said) in [
        (
            (|| Play::Status(500, vec![], "broken")) as fn() -> Play,
            4,
            "500 Internal Server Error: broken",
        ),
        (
            || Play::Cut(vec![openai::delta(&serde_json::json!({"content": "x"}))]),
            4,
            "broke off",
        ),
        (
            || Play::Status(401, vec![], "bad key"),
            1,
            "401 Unauthorized: bad key",
        ),
        (|| Play::Page("<html>hello</html>"), 1, "<html>hello</html>"),
    ] {
        let stage = Stage::new(Dialect::OpenAi, (0..8).map(|_| play()).collect()).await;
        let failure = stage.agent().run().await.unwrap_err();
        assert!(matches!(failure, Failure::Provider(_)), "{failure}");
        assert!(failure.to_string().contains(said), "{failure}");
        assert_eq!(stage.questions(), questions);
        assert_eq!(stage.counter.lock().unwrap().completions, 0);
        assert_eq!(stage.trajectory()["extra"]["ended"], "model_provider");
    }
}

#[tokio::test]
async fn a_stream_of_anthropic_that_ends_early_or_reports_an_error_is_tried_again() {
    let error = serde_json::json!({"type": "error", "error": {"type": "overloaded_error"}});
    let mut cut = anthropic::says("half", "end_turn");
    cut.pop();
    let stage = Stage::new(
        Dialect::Anthropic,
        vec![
            Play::Cut(cut),
            Play::Events(vec![error]),
            Play::Events(anthropic::calls(&[("c1", "complete", "{}")])),
        ],
    )
    .await;
    assert_eq!(stage.agent().run().await.unwrap(), Ended::Completed);
    assert_eq!(stage.questions(), 3);
}

#[tokio::test]
async fn a_task_that_does_not_let_the_agent_in_is_no_failure_of_the_model() {
    let stage = Stage::new(Dialect::OpenAi, vec![]).await;
    let mut agent = stage.agent();
    let url = "http://127.0.0.1:9/mcp";
    agent.task = proctor_model_agent::mcp::Endpoint::new(url, "wrong".to_owned().into()).unwrap();
    let failure = agent.run().await.unwrap_err();
    assert!(matches!(
        failure,
        Failure::Task(EndpointError::Unreachable(_))
    ));
    assert_eq!(failure.as_str(), "task_endpoint");
    assert_eq!(stage.questions(), 0);
}
