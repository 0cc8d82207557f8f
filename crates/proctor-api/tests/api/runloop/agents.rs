use proctor_core::{
    devbox::{DevboxFailure, DevboxLife, DevboxSetup, Initiator},
    id::{Dialect, kinds::AgentId},
    mount::Mount,
};
use proctor_store::{OnDisk, devboxes::DevboxRecord};
use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::TestServer;

#[tokio::test]
async fn agents_come_from_packages_repositories_and_objects() {
    let server = TestServer::start().await;
    let object = server
        .ask(
            Method::POST,
            "/v1/objects",
            json!({"name": "a.tgz", "content_type": "tgz"}),
        )
        .await
        .text("id");
    for (name, source) in [
        (
            "npm",
            json!({"type": "npm", "npm": {"package_name": "@acme/agent", "registry_url": "https://r.example", "agent_setup": ["agent init"]}}),
        ),
        (
            "pip",
            json!({"type": "pip", "pip": {"package_name": "agent"}}),
        ),
        (
            "git",
            json!({"type": "git", "git": {"repository": "https://example.com/a.git", "ref": "main"}, "npm": null}),
        ),
        (
            "object",
            json!({"type": "object", "object": {"object_id": object}}),
        ),
    ] {
        let body = json!({"name": name, "version": "1.2.3", "source": source});
        let made = server.ask(Method::POST, "/v1/agents", body).await;
        insta::assert_snapshot!(format!("agent_{name}"), made.shape());
        let path = format!("/v1/agents/{}", made.text("id"));
        assert_eq!(server.read(&path).await.body, made.body);
    }
    let bare = server
        .ask(
            Method::POST,
            "/v1/agents",
            json!({"name": "bare", "source": null}),
        )
        .await;
    assert_eq!(bare.status, 200);
    let delete = format!("/v1/agents/{}/delete", bare.text("id"));
    assert_eq!(
        server.ask(Method::POST, &delete, json!({})).await.body,
        bare.body
    );
    assert_eq!(
        server.ask(Method::POST, &delete, json!({})).await.status,
        404
    );
    assert_eq!(
        server.read("/v1/agents").await.body["total_count"],
        json!(4)
    );
}

#[tokio::test]
async fn lists_look_by_name_and_version() {
    let server = TestServer::start().await;
    for (name, version) in [("coder", "1"), ("coder", "2"), ("Coder Pro", "1")] {
        let body = json!({"name": name, "version": version});
        server.ask(Method::POST, "/v1/agents", body).await;
    }
    let found = async |query: &str| -> Vec<String> {
        let page = server.read(&format!("/v1/agents?{query}")).await;
        let agents = page.body["agents"].as_array().unwrap().clone();
        let text = |agent: &Value, field: &str| agent[field].as_str().unwrap().to_owned();
        agents
            .iter()
            .map(|agent| format!("{}@{}", text(agent, "name"), text(agent, "version")))
            .collect()
    };
    assert_eq!(found("name=coder").await, ["coder@2", "coder@1"]);
    assert_eq!(
        found("name=CODER").await,
        ["Coder Pro@1", "coder@2", "coder@1"]
    );
    assert_eq!(found("version=1").await, ["Coder Pro@1", "coder@1"]);
    assert_eq!(found("version=latest").await, ["Coder Pro@1", "coder@2"]);
    assert_eq!(found("version=latest&name=coder").await, ["coder@2"]);
    assert_eq!(found("is_public=true").await, Vec::<String>::new());
    assert_eq!(found("is_public=false&search=pro").await, ["Coder Pro@1"]);
    let public = server
        .read("/v1/agents/list_public?include_total_count=false")
        .await;
    assert_eq!(public.body, json!({"agents": [], "has_more": false}));
}

#[rstest]
#[case("empty", Value::Null)]
#[case("no_type", json!({"name": "a", "source": {}}))]
#[case("other_member", json!({"name": "a", "source": {"type": "npm", "pip": {"package_name": "x"}}}))]
#[case("option", json!({"name": "a", "source": {"type": "pip", "pip": {"package_name": "--index-url=x"}}}))]
#[case("foreign_object", json!({"name": "a", "source": {"type": "object", "object": {"object_id": "obj_01K00000000000000000000000"}}}))]
#[tokio::test]
async fn a_wrong_agent_is_400(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/v1/agents", body).await;
    insta::assert_snapshot!(format!("agent_wrong_{name}"), answer.shape());
}

#[rstest]
#[case("file:///etc")]
#[case("ext::sh -c x")]
#[case("-oProxyCommand=x")]
#[case("")]
#[case("https://user:hush@git.example/a.git")]
#[tokio::test]
async fn an_address_that_is_none_or_holds_a_password_is_refused(#[case] address: &str) {
    let server = TestServer::start().await;
    for (source, field) in [
        (
            json!({"type": "git", "git": {"repository": address}}),
            "source.git.repository",
        ),
        (
            json!({"type": "npm", "npm": {"package_name": "a", "registry_url": address}}),
            "source.npm.registry_url",
        ),
    ] {
        let body = json!({"name": "a", "source": source});
        let refused = server.ask(Method::POST, "/v1/agents", body).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let message = refused.text("message");
        assert!(message.starts_with(field), "{message}");
        assert!(!message.contains("hush"), "{message}");
    }
    let source = json!({"type": "git", "git": {"repository": "https://git.example/a", "ref": "--upload-pack=x"}});
    let body = json!({"name": "a", "source": source});
    let refused = server.ask(Method::POST, "/v1/agents", body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
}

#[tokio::test]
async fn agents_of_others_are_not_there() {
    let server = TestServer::start().await;
    let made = server
        .ask(Method::POST, "/v1/agents", json!({"name": "mine"}))
        .await;
    let foreign = server.foreign_key().await;
    let path = format!("/v1/agents/{}", made.text("id"));
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::POST, format!("{path}/delete")),
    ] {
        let request = server.request(method, &path).bearer_auth(&foreign);
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
}

#[tokio::test]
async fn devboxes_are_counted_by_the_agents_that_are_mounted_in_them() {
    let server = TestServer::start().await;
    assert_eq!(
        server.read("/v1/agents/devbox_counts").await.body,
        json!({"counts": {}, "total_count": 0})
    );
    let agent = async |name: &str| {
        let made = server
            .ask(Method::POST, "/v1/agents", json!({"name": name}))
            .await;
        AgentId::from_wire(&made.text("id"), Dialect::Runloop).unwrap()
    };
    let (coder, tester) = (agent("coder").await, agent("tester").await);
    let mount = |agent: Option<AgentId>, name: Option<&str>| Mount::Agent {
        agent,
        name: name.map(str::to_owned),
        target: None,
        token: None,
    };
    let note = Mount::File {
        target: "~/note".to_owned(),
        content: "{\"agent\":{}}".to_owned(),
    };
    let now = server.store.now();
    for (mounts, over) in [
        (vec![mount(Some(coder), None)], false),
        (
            vec![mount(None, Some("coder")), mount(Some(tester), None)],
            false,
        ),
        (
            vec![mount(Some(coder), None), mount(Some(coder), None)],
            false,
        ),
        (vec![mount(Some(tester), None)], true),
        (vec![note], false),
    ] {
        let life = DevboxLife::begin(now);
        let devbox = DevboxRecord {
            id: server.store.fresh_id(),
            organization: server.organization,
            node: "here".to_owned(),
            name: None,
            metadata: Default::default(),
            initiator: Initiator::Invocation,
            setup: DevboxSetup {
                mounts,
                ..DevboxSetup::default()
            },
            life: match over {
                true => life.fail(now, DevboxFailure::OutOfMemory, "x").into_inner(),
                false => life,
            },
            caveats: Vec::new(),
            deadline: None,
            created_at: now,
            tunnel: None,
        };
        server
            .store
            .create_devbox(devbox, OnDisk::AtOnce)
            .await
            .unwrap();
    }
    assert_eq!(
        server.read("/v1/agents/devbox_counts").await.body,
        json!({"counts": {"coder": 3, "tester": 1}, "total_count": 4})
    );
    let foreign = server.foreign_key().await;
    let request = server.request(Method::GET, "/v1/agents/devbox_counts");
    let answer = request.bearer_auth(&foreign).send().await.unwrap();
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body, json!({"counts": {}, "total_count": 0}));
}
