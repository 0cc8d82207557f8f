//! Agents that jobs start by their names or ids alone.

use proctor_core::agent::AgentManifest;
use proctor_engine::Extensions;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Desk, PATH, of_scenarios};
use crate::support::{Answer, Setup};

const MANIFEST: &str = r#"
command = 'mine --problem "$PROCTOR_PROBLEM_FILE"'
env = ["MINE_KEY"]
hosts = ["api.example.org"]
errors = [{regex = "429", exception_type = "ApiRateLimitError"}]
"#;

/// A server whose settings know how `claude-code` is started.
async fn desk_with_settings() -> Desk {
    let manifest = json!({"command": "claude --print", "env": ["ANTHROPIC_API_KEY"]});
    let manifest = AgentManifest::read(&manifest).unwrap();
    Desk::with(Setup {
        extensions: Extensions {
            agents: [("claude-code".to_owned(), manifest)].into(),
            ..Extensions::shipped()
        },
        ..Setup::default()
    })
    .await
}

impl Desk {
    /// Registers an agent.
    async fn register(&self, name: &str) -> String {
        let source = json!({"type": "npm", "npm": {"package_name": name}});
        let made = self
            .post("/v1/agents", json!({"name": name, "source": source}))
            .await;
        assert_eq!(made.status, 200, "{}", made.body);
        made.text("id")
    }

    async fn manifest(&self, agent: &str, kind: &str, text: &str) -> Answer {
        let path = format!("/v1/agents/{agent}/manifest");
        let request = self.server.own(Method::POST, &path);
        let request = request.header("content-type", kind).body(text.to_owned());
        Answer::of(request.send().await.unwrap()).await
    }

    async fn secret(&self, name: &str) {
        let body = json!({"name": name, "value": "hush"});
        assert_eq!(self.post("/v1/secrets", body).await.status, 200);
    }

    /// The message of the refusal of a job with this agent.
    async fn job_refused(&self, scenario: &String, agent: Value) -> String {
        let body = of_scenarios(&[scenario], json!([agent]), Value::Null);
        let answer = self.post(PATH, body).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
        answer.text("message")
    }
}

#[tokio::test]
async fn a_registered_agent_with_a_manifest_starts_by_its_name_or_its_id_alone() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let id = desk.register("mine").await;
    let kept = desk.manifest(&id, "application/toml", MANIFEST).await;
    assert_eq!(kept.status, 200, "{}", kept.body);
    desk.secret("MINE_KEY").await;
    for agent in [
        json!({"name": "mine", "type": "job_agent"}),
        json!({"name": "whatever", "agent_id": id, "type": "job_agent"}),
    ] {
        let body = of_scenarios(&[&scenario], json!([agent]), Value::Null);
        let (seen, outcome) = desk.outcome(body).await;
        assert_eq!(outcome["n_completed"], 1, "{seen:#}");
        let work = desk.shop.works().pop().unwrap();
        assert_eq!(work.script, "mine --problem \"$PROCTOR_PROBLEM_FILE\"");
        assert!(work.variables.contains_key("PROCTOR_AGENT_PATH"));
        let order = desk.shop.orders().pop().unwrap();
        assert_eq!(
            json!(order.request.secrets),
            json!({"MINE_KEY": "MINE_KEY"})
        );
        assert_eq!(order.request.mounts.len(), 3, "the agent is mounted too");
    }
}

#[tokio::test]
async fn a_secret_of_another_name_is_given_by_the_job() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let id = desk.register("mine").await;
    desk.manifest(&id, "text/plain", MANIFEST).await;
    let told = desk.job_refused(&scenario, json!({"name": "mine"})).await;
    assert_eq!(
        told,
        "spec.agent_configs.0.agent_environment.secrets.MINE_KEY: the agent needs a secret in MINE_KEY, and there is none of this \
         name: name one here, or make one at /v1/secrets that is called MINE_KEY"
    );
    let plain = json!({"environment_variables": {"MINE_KEY": "plain"}});
    let plain = json!({"name": "mine", "agent_environment": plain});
    let told = desk.job_refused(&scenario, plain).await;
    assert!(told.contains("not a plain text"), "{told}");
    desk.secret("my key.1").await;
    let environment = json!({"secrets": {"MINE_KEY": "my key.1"}});
    let agent = json!({"name": "mine", "agent_environment": environment});
    let body = of_scenarios(&[&scenario], json!([agent]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(outcome["n_completed"], 1, "{seen:#}");
    let order = desk.shop.orders().pop().unwrap();
    assert_eq!(
        json!(order.request.secrets),
        json!({"MINE_KEY": "my key.1"})
    );
}

#[tokio::test]
async fn the_servers_settings_know_agents_by_their_names() {
    let desk = desk_with_settings().await;
    let scenario = desk.scenario("fix", "true").await;
    desk.secret("ANTHROPIC_API_KEY").await;
    let registered = desk.register("claude-code").await;
    let by_id = json!({"name": "x", "agent_id": registered});
    for agent in [json!({"name": "claude-code"}), by_id] {
        let body = of_scenarios(&[&scenario], json!([agent]), Value::Null);
        let (seen, outcome) = desk.outcome(body).await;
        assert_eq!(outcome["n_completed"], 1, "{seen:#}");
        let work = desk.shop.works().pop().unwrap();
        assert_eq!(work.script, "claude --print");
    }
    // What an organization says itself goes before, and what the job says before that.
    desk.manifest(&registered, "application/json", r#"{"command": "own"}"#)
        .await;
    for (agent, script) in [
        (json!({"name": "claude-code"}), "own"),
        (
            json!({"name": "claude-code", "kwargs": {"command": "now"}}),
            "now",
        ),
    ] {
        let body = of_scenarios(&[&scenario], json!([agent]), Value::Null);
        desk.outcome(body).await;
        assert_eq!(desk.shop.works().pop().unwrap().script, script);
    }
}

#[tokio::test]
async fn an_agent_that_is_only_a_name_and_a_manifest_is_not_mounted() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let made = desk.post("/v1/agents", json!({"name": "bare"})).await;
    desk.manifest(&made.text("id"), "application/toml", "command = 'go'")
        .await;
    let body = of_scenarios(&[&scenario], json!([{"name": "bare"}]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(outcome["n_completed"], 1, "{seen:#}");
    let work = desk.shop.works().pop().unwrap();
    assert!(!work.variables.contains_key("PROCTOR_AGENT_PATH"));
}

#[tokio::test]
async fn a_manifest_is_shown_replaced_and_checked() {
    let desk = Desk::new().await;
    let id = desk.register("mine").await;
    let path = format!("/v1/agents/{id}/manifest");
    let agent = desk.server.read(&format!("/v1/agents/{id}")).await.body;
    assert_eq!(desk.server.read(&path).await.status, 404);
    let whole = format!("install = \"npm install --global mine\"\n{MANIFEST}");
    let kept = desk.manifest(&id, "application/toml", &whole).await;
    insta::assert_snapshot!("agent_manifest", kept.shape());
    assert_eq!(desk.server.read(&path).await.body, kept.body);
    let seen = desk.server.read(&format!("/v1/agents/{id}")).await.body;
    assert_eq!(seen, agent, "the dialect's own view stays as it is");
    for (kind, text, part) in [
        ("application/toml", "", "command: is required and missing"),
        ("application/toml", "command = ", "the body is not TOML"),
        ("application/json", "{", "the body is not JSON"),
        (
            "application/json",
            r#"{"command": "x", "env": ["A B"]}"#,
            "env.0: must be the name",
        ),
    ] {
        let refused = desk.manifest(&id, kind, text).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.text("message").contains(part), "{}", refused.body);
    }
    assert_eq!(desk.server.read(&path).await.body, kept.body);
    let unknown = "agt_01J00000000000000000000000";
    let nobody = desk.manifest(unknown, "application/toml", MANIFEST).await;
    assert_eq!(nobody.status, 404);
}
