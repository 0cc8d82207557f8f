//! Jobs in planned rounds: they look after each round from the second on, and stop by themselves.
//!
//! `go` changes a box and `nop` does not, so at scenarios whose scorer wants a change `nop` is worse. With twelve of them and the policy of these tests, two
//! agents that do the same are told apart from worse ones after round 3 of 4, and one that does nothing after round 2.

use proctor_testkit::eventually;
use rstest::rstest;
use serde_json::{Value, json};

use super::{Desk, PATH, agent};

/// An agent of this name that changes its box.
fn goes(name: &str) -> Value {
    json!({"name": name, "type": "job_agent", "kwargs": {"command": "go"}})
}

fn not_worse_by(margin: f64) -> Value {
    json!({"about": "suite", "line": [{"kind": "change", "at": -margin}]})
}

/// A benchmark of so many scenarios that want their box changed.
async fn suite(desk: &Desk, scenarios: usize) -> String {
    let mut made = Vec::new();
    for number in 0..scenarios {
        made.push(
            desk.scenario(&format!("scenario {number}"), "is changed")
                .await,
        );
    }
    desk.benchmark(&made.iter().collect::<Vec<_>>()).await
}

fn in_rounds(benchmark: &str, agents: &[Value], rounds: u32, policy: &Value) -> Value {
    json!({
        "spec": {"type": "benchmark", "benchmark_id": benchmark, "agent_configs": agents,
                 "orchestrator_config": {"n_concurrent_trials": 8}},
        "rounds": rounds, "policy": policy,
    })
}

impl Desk {
    async fn job_results(&self, job: &str) -> Value {
        let answer = self.server.read(&format!("{PATH}/{job}/results")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }
}

/// The verdicts of each look, in the order of the agents.
fn verdicts(rounds: &Value) -> Vec<(u64, Vec<&str>)> {
    let looks = rounds["looks"].as_array().unwrap().iter();
    looks
        .map(|look| {
            let decisions = look["decisions"].as_array().unwrap().iter();
            let verdicts = decisions.map(|one| one["verdict"].as_str().unwrap_or("-"));
            (look["round"].as_u64().unwrap(), verdicts.collect())
        })
        .collect()
}

#[tokio::test]
async fn a_job_stops_as_soon_as_its_plan_allows_and_says_what_it_saved() {
    let desk = Desk::new().await;
    let suite = suite(&desk, 12).await;
    let agents = [goes("main"), goes("branch")];
    let job = desk
        .job(in_rounds(&suite, &agents, 4, &not_worse_by(0.3)))
        .await;
    let seen = desk.over(&job).await;
    assert_eq!(seen["state"], "completed");
    assert_eq!(
        seen["job_spec"]["agent_configs"].as_array().unwrap().len(),
        2,
        "each agent is told once"
    );
    let outcomes = seen["benchmark_outcomes"].as_array().unwrap();
    assert_eq!(outcomes.len(), 6, "three rounds of two agents");
    let results = desk.job_results(&job).await;
    let rounds = &results["rounds"];
    assert_eq!(
        verdicts(rounds),
        [(2, vec!["INCONCLUSIVE"]), (3, vec!["PASS"])],
        "{rounds:#}"
    );
    for look in rounds["looks"].as_array().unwrap() {
        let round = u32::try_from(look["round"].as_u64().unwrap()).unwrap();
        let level = proctor_statistics::look(round, 4).unwrap().value();
        assert_eq!(look["level"].as_f64(), Some(level));
    }
    for (member, expected) in [
        ("planned", json!(4)),
        ("done", json!(3)),
        ("stopped_after", json!(3)),
        ("attempts_planned", json!(96)),
        ("attempts_saved", json!(24)),
        (
            "sentence",
            json!("stopped after round 3 of 4: 24 of 96 planned attempts were not needed"),
        ),
        ("policy", not_worse_by(0.3)),
    ] {
        assert_eq!(rounds[member], expected, "{member}");
    }
    assert_eq!(desk.shop.orders().len(), 72);
    for agent in results["agents"].as_array().unwrap() {
        assert_eq!(
            (&agent["summary"]["planned"], &agent["summary"]["void"]),
            (&json!(36), &json!(0)),
            "rounds that were not needed are no attempts"
        );
        let last = agent["attempts"].as_array().unwrap().last().unwrap();
        assert_eq!(last["attempt"], 3);
    }
    let run = outcomes[5]["benchmark_run_id"].as_str().unwrap();
    let labels = &desk.benchmark_run(run).await["metadata"];
    assert_eq!(
        (&labels["proctor.round"], &labels["proctor.rounds"]),
        (&json!("3"), &json!("4"))
    );
    // The decision is a gate like any other.
    let decision = &rounds["looks"][1]["decisions"][0];
    let gate = decision["gate_id"].as_str().unwrap();
    let gate = desk.server.read(&format!("/gates/{gate}")).await.body;
    assert_eq!(gate["verdict"], "PASS");
    assert_eq!(gate["sentences"], decision["sentences"]);
    assert_eq!(gate["b"]["runs"].as_array().unwrap().len(), 3);
    let sentence = gate["sentences"][0].as_str().unwrap();
    assert!(sentence.contains("not worse than main"), "{sentence}");
    let listed = desk.server.read("/gates").await.body;
    assert_eq!(
        listed["data"].as_array().unwrap().len(),
        1,
        "looks that settle nothing are not kept as gates"
    );
}

#[tokio::test]
async fn the_plan_is_there_before_the_first_round_and_no_look_before_the_second() {
    let desk = Desk::new().await;
    let suite = suite(&desk, 12).await;
    desk.shop.rest(true);
    // However bad it is, one round says nothing about how much these tasks move.
    let agents = [goes("main"), agent("nop")];
    let job = desk
        .job(in_rounds(&suite, &agents, 5, &not_worse_by(0.05)))
        .await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    let rounds = desk.job_results(&job).await["rounds"].clone();
    assert_eq!(
        (&rounds["planned"], &rounds["done"], &rounds["looks"]),
        (&json!(5), &json!(0), &json!([]))
    );
    assert_eq!(rounds["policy"], not_worse_by(0.05));
    assert_eq!(rounds["sentence"], "round 1 of at most 5");
    assert_eq!(rounds["attempts_saved"], Value::Null);
    desk.shop.rest(false);
    desk.over(&job).await;
    let rounds = desk.job_results(&job).await["rounds"].clone();
    let looks = verdicts(&rounds);
    assert_eq!(looks[0].0, 2);
    let (last, decided) = looks.last().unwrap();
    assert_eq!(decided, &["FAIL"]);
    assert!(*last < 5, "{rounds:#}");
    assert_eq!(rounds["stopped_after"], *last);
}

#[tokio::test]
async fn who_is_decided_over_takes_no_part_in_further_rounds() {
    let desk = Desk::new().await;
    let suite = suite(&desk, 12).await;
    let agents = [goes("main"), agent("nop"), goes("branch")];
    let job = desk
        .job(in_rounds(&suite, &agents, 4, &not_worse_by(0.3)))
        .await;
    let seen = desk.over(&job).await;
    let rounds = desk.job_results(&job).await["rounds"].clone();
    assert_eq!(
        verdicts(&rounds),
        [(2, vec!["FAIL", "INCONCLUSIVE"]), (3, vec!["PASS"])],
        "{rounds:#}"
    );
    assert_eq!(rounds["looks"][1]["decisions"][0]["candidate"], "branch");
    let outcomes = seen["benchmark_outcomes"].as_array().unwrap().iter();
    let of_nop = outcomes.clone().filter(|one| one["agent_name"] == "nop");
    assert_eq!((outcomes.len(), of_nop.count()), (8, 2));
    assert_eq!(
        rounds["attempts_saved"],
        12 * 4,
        "a round of two agents, and one more of the one that failed first"
    );
}

#[tokio::test]
async fn when_the_data_never_say_all_rounds_are_run_and_nothing_is_saved() {
    let desk = Desk::new().await;
    let suite = suite(&desk, 3).await;
    let agents = [goes("main"), goes("branch")];
    let mut body = in_rounds(&suite, &agents, 2, &Value::Null);
    body.as_object_mut().unwrap().remove("policy");
    let job = desk.job(body).await;
    desk.over(&job).await;
    let rounds = desk.job_results(&job).await["rounds"].clone();
    assert_eq!(verdicts(&rounds), [(2, vec!["INCONCLUSIVE"])]);
    assert_eq!(
        rounds["policy"],
        not_worse_by(0.05),
        "what is looked at where nobody says it"
    );
    assert_eq!(
        rounds["sentence"],
        "all 2 rounds were needed: none of 12 planned attempts was saved"
    );
    let gate = rounds["looks"][0]["decisions"][0]["gate_id"].as_str();
    let gate = desk.server.read(&format!("/gates/{}", gate.unwrap())).await;
    assert_eq!(gate.body["verdict"], "INCONCLUSIVE");
}

#[tokio::test]
async fn one_agent_can_be_held_against_a_level() {
    let desk = Desk::new().await;
    let suite = suite(&desk, 12).await;
    let policy = json!({"about": "suite", "line": [{"kind": "level", "at": 0.4}]});
    let job = desk
        .job(in_rounds(&suite, &[goes("main")], 6, &policy))
        .await;
    desk.over(&job).await;
    let rounds = desk.job_results(&job).await["rounds"].clone();
    let looks = verdicts(&rounds);
    let (last, decided) = looks.last().unwrap();
    assert_eq!(decided, &["PASS"], "{rounds:#}");
    assert!(*last < 6, "{rounds:#}");
    assert_eq!(rounds["looks"][0]["decisions"][0]["baseline"], Value::Null);
}

#[tokio::test]
async fn rounds_go_on_when_the_server_comes_back_in_the_middle_of_one() {
    let desk = Desk::new().await;
    let suite = suite(&desk, 12).await;
    let agents = [goes("main"), goes("branch")];
    let job = desk
        .job(in_rounds(&suite, &agents, 4, &not_worse_by(0.3)))
        .await;
    // In the middle of the second round: some of it is done, some is at work.
    eventually("the second round goes on", async || {
        desk.shop.orders().len() > 30
    })
    .await;
    desk.shop.rest(true);
    desk.server.engine.close().await;
    let before = desk.job_results(&job).await["rounds"].clone();
    desk.shop.rest(false);
    let engine = desk.shop.next_engine(&desk.server).await;
    desk.over(&job).await;
    let rounds = desk.job_results(&job).await["rounds"].clone();
    assert_eq!(
        verdicts(&rounds),
        [(2, vec!["INCONCLUSIVE"]), (3, vec!["PASS"])],
        "{rounds:#}"
    );
    assert_eq!(
        desk.shop.orders().len(),
        72,
        "nothing was begun twice: {before:#}"
    );
    let listed = desk.server.read("/gates").await.body;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    engine.close().await;
}

#[tokio::test]
async fn a_job_that_is_cancelled_saved_nothing() {
    let desk = Desk::new().await;
    let suite = suite(&desk, 3).await;
    desk.shop.rest(true);
    let agents = [goes("main"), goes("branch")];
    let job = desk
        .job(in_rounds(&suite, &agents, 3, &not_worse_by(0.3)))
        .await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    desk.post(&format!("{PATH}/{job}/cancel"), Value::Null)
        .await;
    let results = desk.job_results(&job).await;
    let rounds = &results["rounds"];
    assert_eq!(
        (&rounds["stopped_after"], &rounds["attempts_saved"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        rounds["sentence"],
        "ended in round 1 of 3, before the plan was carried out"
    );
    assert_eq!(results["agents"][0]["summary"]["planned"], 3);
    assert_eq!(desk.shop.live(), 0);
}

#[tokio::test]
async fn a_round_in_which_nothing_could_be_set_up_is_the_last() {
    let desk = Desk::new().await;
    let boxless = desk.boxless().await;
    let benchmark = desk.benchmark(&[&boxless]).await;
    let agents = [goes("main"), goes("branch")];
    let job = desk
        .job(in_rounds(&benchmark, &agents, 5, &not_worse_by(0.3)))
        .await;
    let seen = desk.over(&job).await;
    assert_eq!(seen["state"], "failed");
    assert_eq!(seen["benchmark_outcomes"].as_array().unwrap().len(), 2);
}

#[rstest]
#[case(json!({"rounds": 0}), "rounds")]
#[case(json!({"rounds": 1}), "rounds")]
#[case(json!({"rounds": -3}), "rounds")]
#[case(json!({"rounds": 21}), "rounds")]
#[case(json!({"rounds": 1e30}), "rounds")]
#[case(json!({"rounds": 2.5}), "rounds")]
#[case(json!({"rounds": "three"}), "rounds")]
#[case(json!({"rounds": 2, "agents": ["main"]}), "rounds")]
#[case(json!({"rounds": 20, "agents": ["a", "b", "c", "d", "e", "f"]}), "rounds")]
#[case(json!({"rounds": 3, "agents": ["main", "main"]}), "spec.agent_configs.1.name")]
#[case(json!({"policy": {"about": "suite", "line": [{"kind": "level", "at": 0.5}]}}), "policy")]
#[case(json!({"rounds": 3, "policy": {}}), "policy.about")]
#[case(json!({"rounds": 3, "policy": {"about": "suite", "line": []}}), "policy.line")]
#[case(json!({"rounds": 3, "policy": "strict"}), "policy")]
#[case(json!({"rounds": 3, "policy": {"about": "suite", "lnie": 1, "line": [{"kind": "level", "at": 0.5}]}}), "policy.lnie")]
#[case(json!({"rounds": 3, "policy": {"about": "suite", "baseline": {"labels": {"branch": "main"}},
    "line": [{"kind": "change", "at": -0.1}]}}), "policy.baseline")]
#[case(json!({"rounds": 3, "policy": {"about": "suite", "line": [{"kind": "level", "at": 0.5, "axis": "kindness"}]}}), "policy.line.0.axis")]
#[case(json!({"rounds": 3, "policy": {"about": "suite", "line": [{"kind": "never", "criteria": "critical"}]}}), "policy.line.0.criteria")]
#[case(json!({"rounds": 3, "hurried": true}), "spec.agent_configs.1.timeout_seconds")]
#[tokio::test]
async fn rounds_that_cannot_be_planned_are_400(#[case] wanted: Value, #[case] field: &str) {
    let desk = Desk::new().await;
    let suite = suite(&desk, 1).await;
    let names = wanted["agents"].as_array().cloned();
    let names = names.unwrap_or_else(|| vec![json!("main"), json!("branch")]);
    let mut agents: Vec<Value> = names
        .iter()
        .map(|name| goes(name.as_str().unwrap()))
        .collect();
    if wanted["hurried"] == true {
        agents[1]["timeout_seconds"] = json!(5);
    }
    let mut body =
        json!({"spec": {"type": "benchmark", "benchmark_id": suite, "agent_configs": agents}});
    for member in ["rounds", "policy"] {
        if let Some(value) = wanted.get(member) {
            body[member] = value.clone();
        }
    }
    let answer = desk.post(PATH, body).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    let told = answer.body.to_string();
    assert!(told.contains(field), "{field} is not in {told}");
    assert_eq!(desk.server.read(PATH).await.body["jobs"], json!([]));
}
