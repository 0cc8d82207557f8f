use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use proctor_core::{
    blueprint::{Build, BuildFailure, Recipe},
    id::{Dialect, kinds::BlueprintId},
};

use super::contract::Contract;
use crate::support::{Answer, TestServer};

/// A scenario's parameters with one scorer.
pub(super) fn parameters(name: &str) -> Value {
    json!({
        "name": name,
        "input_context": {"problem_statement": "echo hello", "additional_context": {"limit": 1.5}},
        "scoring_contract": {"scoring_function_parameters": [
            {"name": "cmd-zero", "weight": 1, "scorer": {"type": "command_scorer", "command": "true"}},
        ]},
    })
}

/// The parameters with some others in their place.
fn with(mut body: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else {
        panic!("no parameters: {changes}");
    };
    for (name, value) in changes {
        body[name] = value;
    }
    body
}

pub(super) async fn create(server: &TestServer, body: Value) -> String {
    let answer = server.ask(Method::POST, "/v1/scenarios", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.text("id")
}

async fn post(server: &TestServer, path: &str) -> Answer {
    server.ask(Method::POST, path, Value::Null).await
}

fn names(page: &Value) -> Vec<&str> {
    let scenarios = page["scenarios"].as_array().unwrap();
    scenarios
        .iter()
        .map(|scenario| scenario["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_scenario_has_a_life() {
    let server = TestServer::start().await;
    let contract = Contract::read();
    let body = with(
        parameters("fix the bug"),
        json!({
            "environment_parameters": {"blueprint_id": blueprint(&server).await, "working_directory": "/home/user", "unknown": 1,
                "launch_parameters": {"resource_size_request": "X_SMALL", "launch_commands": ["true"],
                    "after_idle": {"idle_time_seconds": 60, "on_idle": "suspend"}, "keep_alive_time_seconds": null}},
            "metadata": {"team": "a"}, "reference_output": "--- a\n+++ b\n",
            "required_environment_variables": ["MODEL"], "required_secret_names": ["TOKEN"],
            "scorer_timeout_sec": 60, "validation_type": "FORWARD", "new_in_some_version": true,
        }),
    );
    let made = server.ask(Method::POST, "/v1/scenarios", body).await;
    insta::assert_snapshot!("scenario_made", made.shape());
    contract.check_schema("ScenarioDefinitionView", &made.body);
    let path = format!("/v1/scenarios/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);

    let nulls = json!({"name": null, "metadata": null, "reference_output": null, "scoring_contract": null,
        "input_context": null, "environment_parameters": null, "required_secret_names": null});
    let unchanged = server.ask(Method::POST, &path, nulls).await;
    assert_eq!(unchanged.body, made.body, "null keeps what is there");

    let changes = json!({"name": "renamed", "metadata": {}, "reference_output": "",
    "required_secret_names": [], "input_context": {"problem_statement": "other"},
    "scoring_contract": {"scoring_function_parameters": [
        {"name": "a", "weight": 0.5, "scorer": {"type": "bash_script_scorer", "bash_script": "echo score=1"}},
        {"name": "b", "weight": 0.5, "scorer": {"type": "test_based_scorer", "test_command": "pytest",
            "test_files": [{"file_path": "t.py", "file_contents": "x"}]}},
    ]}});
    let changed = server.ask(Method::POST, &path, changes).await;
    insta::assert_snapshot!("scenario_changed", changed.shape());
    contract.check_schema("ScenarioDefinitionView", &changed.body);
    assert_eq!(server.read(&path).await.body, changed.body);

    let archived = post(&server, &format!("{path}/archive")).await;
    assert_eq!(archived.body["status"], "archived");
    contract.check_schema("ScenarioDefinitionView", &archived.body);
    assert_eq!(server.read(&path).await.body, archived.body);
    let refused = server
        .ask(Method::POST, &path, json!({"name": "again"}))
        .await;
    insta::assert_snapshot!("scenario_archived", refused.shape());
    assert!(names(&server.read("/v1/scenarios").await.body).is_empty());
    let active = post(&server, &format!("{path}/unarchive")).await;
    assert_eq!(active.body, changed.body);
    let listed = server.read("/v1/scenarios").await;
    contract.check_schema("ScenarioDefinitionListView", &listed.body);
    assert_eq!(names(&listed.body), ["renamed"]);
}

/// The id of a blueprint of the server's organization.
pub(super) async fn blueprint(server: &TestServer) -> String {
    let recipe = Recipe {
        name: "base".to_owned(),
        ..Recipe::default()
    };
    let made = server
        .store
        .create_blueprint(server.organization, recipe, None)
        .await;
    made.unwrap().id.wire(Dialect::Runloop)
}

#[rstest]
#[case(json!({"blueprint_id": "bpt_01J00000000000000000000000"}), "blueprint_id: there is no blueprint 'bpt_01J00000000000000000000000'")]
#[case(json!({"blueprint_id": "x"}), "blueprint_id: not the id of a blueprint")]
#[case(json!({"snapshot_id": "snp_01J00000000000000000000000"}), "snapshot_id: the snapshot snp_01J00000000000000000000000 does not exist")]
#[case(json!({"snapshot_id": "x"}), "snapshot_id: not the id of a")]
#[case(json!({"launch_parameters": {"network_policy_id": "npo_01J00000000000000000000000"}}), "launch_parameters.network_policy_id: there is no")]
#[case(json!({"mounts": [{"type": "file_mount", "target": "/a", "content": "b"}]}), "mounts: belongs to whoever starts the scenario")]
#[case(json!({"file_mounts": {"/a": "b"}}), "file_mounts: belongs to")]
#[case(json!({"environment_variables": {"A": "b"}}), "environment_variables: belongs to")]
#[case(json!({"blueprint_name": "b"}), "blueprint_name: a scenario's box is made from")]
#[tokio::test]
async fn what_a_box_cannot_be_made_of_is_refused_when_it_is_named(
    #[case] environment: Value,
    #[case] message: &str,
) {
    let server = TestServer::start().await;
    let body = with(
        parameters("a"),
        json!({"environment_parameters": environment}),
    );
    let id = create(&server, parameters("b")).await;
    for path in ["/v1/scenarios".to_owned(), format!("/v1/scenarios/{id}")] {
        let refused = server.ask(Method::POST, &path, body.clone()).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let told = refused.text("message");
        let message = format!("environment_parameters.{message}");
        assert!(told.starts_with(&message), "{told}");
    }
}

#[tokio::test]
async fn a_blueprint_that_could_not_be_built_is_refused_when_it_is_named() {
    let server = TestServer::start().await;
    let id = blueprint(&server).await;
    let own = BlueprintId::from_wire(&id, Dialect::Runloop).unwrap();
    let store = &server.store;
    let found = store.blueprint(server.organization, own).await.unwrap();
    let failed = Build::Failed {
        finished_at: store.now(),
        reason: BuildFailure::BuildFailed,
        message: "no".to_owned(),
    };
    let found = found.unwrap();
    let written = store.write_build(&found, failed, Vec::new(), None).await;
    written.unwrap();
    let environment = json!({"environment_parameters": {"blueprint_id": id}});
    let body = with(parameters("a"), environment);
    let refused = server.ask(Method::POST, "/v1/scenarios", body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let told = refused.text("message");
    assert!(told.contains("could not be built"), "{told}");
}

#[tokio::test]
async fn a_box_is_made_of_the_organizations_own_things_only() {
    let server = TestServer::start().await;
    let environment = |id: &str| {
        let nothing = json!({"mounts": [], "file_mounts": null, "entrypoint": ""});
        with(nothing, json!({"blueprint_id": id}))
    };
    let of = |id: &str| {
        with(
            parameters("a"),
            json!({"environment_parameters": environment(id)}),
        )
    };
    create(&server, of(&blueprint(&server).await)).await;
    let other = server.store.create_organization("Other").await.unwrap();
    let theirs = server
        .store
        .create_blueprint(other.id, Recipe::default(), None)
        .await
        .unwrap();
    let theirs = theirs.id.wire(Dialect::Runloop);
    let refused = server.ask(Method::POST, "/v1/scenarios", of(&theirs)).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
}

#[rstest]
#[case("empty", json!({}))]
#[case("nulls", json!({"name": null, "input_context": null, "scoring_contract": null}))]
#[case("blank", with(parameters(" "), json!({"input_context": {}})))]
#[case("critical_scorers", with(parameters("a"), json!({"metadata": {"proctor.critical": "nobody, somebody"}})))]
#[case("weights", with(parameters("a"), json!({"scoring_contract": {"scoring_function_parameters": [
    {"name": "a b", "weight": 0.5, "scorer": {"type": "command_scorer", "command": "true"}},
    {"name": "b", "weight": 0.4, "scorer": {"type": "luck"}},
    {"name": "c", "weight": -1, "scorer": {"type": "ast_grep_scorer"}}]}})))]
#[case("total", with(parameters("a"), json!({"scoring_contract": {"scoring_function_parameters": [
    {"name": "a", "weight": 0.998, "scorer": {"type": "command_scorer", "command": "true"}}]}})))]
#[case("custom", with(parameters("a"), json!({"scoring_contract": {"scoring_function_parameters": [
    {"name": "a", "weight": 1, "scorer": {"type": "custom_scorer", "custom_scorer_type": "nobody"}}]}})))]
#[case("rest", with(parameters("a"), json!({"validation_type": "SIDEWAYS", "scorer_timeout_sec": 0,
    "environment_parameters": {"blueprint_id": "a", "snapshot_id": "b"},
    "input_context": {"problem_statement": "x", "additional_context": [1]}})))]
#[case("size", with(parameters("a"), json!({"environment_parameters": {"launch_parameters": {"resource_size_request": "HUGE"}}})))]
#[case("mode", with(parameters("a"), json!({"metadata": {"proctor.scoring": "loud"}})))]
#[case("artifacts", with(parameters("a"), json!({"metadata": {"proctor.scoring": "artifacts"}})))]
#[tokio::test]
async fn a_wrong_scenario_is_400(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/v1/scenarios", body).await;
    insta::assert_snapshot!(format!("scenario_{name}"), answer.shape());
}

#[tokio::test]
async fn a_wrong_change_is_400_and_changes_nothing() {
    let server = TestServer::start().await;
    let id = create(&server, parameters("a")).await;
    let path = format!("/v1/scenarios/{id}");
    let before = server.read(&path).await.body;
    for body in [
        json!({"name": ""}),
        json!({"name": "   "}),
        json!({"scoring_contract": {"scoring_function_parameters": []}}),
        json!({"validation_type": "x"}),
        json!({"name": 5}),
    ] {
        let answer = server.ask(Method::POST, &path, body).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
    }
    assert_eq!(server.read(&path).await.body, before);
}

#[tokio::test]
async fn lists_are_filtered() {
    let server = TestServer::start().await;
    let mut ids = Vec::new();
    for (name, kind) in [
        ("Alpha", "FORWARD"),
        ("alpha two", "REVERSE"),
        ("beta", "FORWARD"),
    ] {
        let body = with(
            parameters(name),
            json!({"validation_type": kind, "metadata": {"kind": kind, "by": name}}),
        );
        ids.push(create(&server, body).await);
    }
    let body = json!({"name": "bench", "scenario_ids": [ids[0], ids[2]]});
    let benchmark = server
        .ask(Method::POST, "/v1/benchmarks", body)
        .await
        .text("id");
    for (query, expected) in [
        ("name=Alpha".to_owned(), vec!["Alpha"]),
        ("name=ALPHA".to_owned(), vec!["alpha two", "Alpha"]),
        ("name=nothing".to_owned(), vec![]),
        ("search=BET".to_owned(), vec!["beta"]),
        (format!("search={}", ids[1]), vec!["alpha two"]),
        ("validation_type=FORWARD".to_owned(), vec!["beta", "Alpha"]),
        (
            "validation_type=FORWARD,REVERSE".to_owned(),
            vec!["beta", "alpha two", "Alpha"],
        ),
        (format!("benchmark_id={benchmark}"), vec!["beta", "Alpha"]),
        (
            format!("starting_after={}", ids[2]),
            vec!["alpha two", "Alpha"],
        ),
        ("limit=1".to_owned(), vec!["beta"]),
    ] {
        let page = server.read(&format!("/v1/scenarios?{query}")).await.body;
        assert_eq!(names(&page), expected, "{query}");
    }
    for bad in ["validation_type=UP", "benchmark_id=5", "limit=-1"] {
        let answer = server.read(&format!("/v1/scenarios?{bad}")).await;
        assert_eq!(answer.status, 400, "{bad}");
    }
    let keys = server.read("/v1/scenarios/metadata/keys").await.body;
    assert_eq!(keys, json!({"keys": ["by", "kind"]}));
    let values = server.read("/v1/scenarios/metadata/keys/kind/values").await;
    assert_eq!(
        values.body,
        json!({"key": "kind", "values": ["FORWARD", "REVERSE"]})
    );
    let none = server
        .read("/v1/scenarios/metadata/keys/a%2Fb/values")
        .await;
    assert_eq!(none.status, 400, "{}", none.body);
}

#[tokio::test]
async fn what_is_public_is_read_by_all_and_changed_by_none() {
    let server = TestServer::start().await;
    let body = with(
        parameters("open"),
        json!({"reference_output": "the answer"}),
    );
    let id = create(&server, body).await;
    let path = format!("/v1/scenarios/{id}");
    let other = server.foreign_key().await;
    let as_other = async |method: Method, path: &str| {
        let request = server.request(method, path).bearer_auth(&other);
        Answer::of(request.send().await.unwrap()).await
    };
    assert_eq!(as_other(Method::GET, &path).await.status, 404);
    assert_eq!(
        as_other(Method::POST, &format!("{path}/publish"))
            .await
            .status,
        404
    );
    let published = post(&server, &format!("{path}/publish")).await;
    assert_eq!(published.body["is_public"], true);
    let seen = as_other(Method::GET, &path).await;
    assert_eq!((seen.status, &seen.body["name"]), (200, &json!("open")));
    assert!(
        seen.body.get("reference_output").is_none(),
        "no taker sees the answer"
    );
    let listed = as_other(Method::GET, "/v1/scenarios/list_public")
        .await
        .body;
    assert_eq!(names(&listed), ["open"]);
    assert!(names(&as_other(Method::GET, "/v1/scenarios").await.body).is_empty());
    let refused = server
        .ask(Method::POST, &path, json!({"name": "mine"}))
        .await;
    insta::assert_snapshot!("scenario_public", refused.shape());
    for action in ["", "/archive", "/unarchive"] {
        let path = format!("{path}{action}");
        assert_eq!(post(&server, &path).await.status, 403, "{path}");
        assert_eq!(as_other(Method::POST, &path).await.status, 403, "{path}");
    }
}

#[tokio::test]
async fn scorers_are_registered_once_and_named_by_their_type() {
    let server = TestServer::start().await;
    let body = json!({"type": "lint", "bash_script": "echo score=1.0"});
    let made = server
        .ask(Method::POST, "/v1/scenarios/scorers", body.clone())
        .await;
    insta::assert_snapshot!("scorer_made", made.shape());
    let again = server
        .ask(Method::POST, "/v1/scenarios/scorers", body)
        .await;
    insta::assert_snapshot!("scorer_taken", again.shape());
    let path = format!("/v1/scenarios/scorers/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    let body = json!({"type": "lint-2", "bash_script": "echo score=0.5"});
    let changed = server.ask(Method::POST, &path, body.clone()).await;
    assert_eq!(changed.body["type"], "lint-2");
    let listed = server.read("/v1/scenarios/scorers?search=LINT").await.body;
    assert_eq!(listed["scorers"], json!([changed.body]));
    let custom = json!({"scoring_contract": {"scoring_function_parameters": [
        {"name": "a", "weight": 1, "scorer": {"type": "custom_scorer", "custom_scorer_type": "lint-2",
            "scorer_params": {"limit": 3}}}]}});
    create(&server, with(parameters("custom"), custom)).await;
    for bad in [
        json!({}),
        json!({"type": " ", "bash_script": ""}),
        json!({"type": "x"}),
    ] {
        let answer = server.ask(Method::POST, "/v1/scenarios/scorers", bad).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
    }
    let unknown = "/v1/scenarios/scorers/scs_01J00000000000000000000000";
    assert_eq!(server.read(unknown).await.status, 404);
}
