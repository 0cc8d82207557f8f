//! Comparisons and gates over stored runs, in boxes that exist only in memory.
//!
//! `nop` leaves a box as it is, `go` changes it. So at a scenario whose scorer wants it unchanged, `go` is worse, and at one that wants it changed, better.

use proctor_core::id::{
    Dialect,
    kinds::{BenchmarkId, RunId},
};
use proctor_engine::scenarios::BoxEnd;
use proctor_testkit::eventually;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    jobs::{agent, runs},
    runs::Desk,
};
use crate::support::Answer;

/// A benchmark of scenarios with these scorers.
async fn suite(desk: &Desk, scorers: &[&str]) -> String {
    let mut scenarios = Vec::new();
    for (number, scorer) in scorers.iter().enumerate() {
        scenarios.push(desk.scenario(&format!("scenario {number}"), scorer).await);
    }
    desk.benchmark(&scenarios.iter().collect::<Vec<_>>()).await
}

fn nop() -> Value {
    agent("nop")
}

fn go() -> Value {
    runs("go")
}

impl Desk {
    /// The runs of a job in which these agents take a benchmark, in their order.
    async fn taken(&self, benchmark: &str, agents: &[Value]) -> Vec<String> {
        let spec = json!({"type": "benchmark", "benchmark_id": benchmark, "agent_configs": agents,
                          "orchestrator_config": {"n_concurrent_trials": 8}});
        let job = self.job(json!({ "spec": spec })).await;
        let seen = self.over(&job).await;
        let outcomes = seen["benchmark_outcomes"].as_array().unwrap();
        let run = |one: &Value| one["benchmark_run_id"].as_str().unwrap().to_owned();
        outcomes.iter().map(run).collect()
    }

    async fn compare(&self, a: &[String], b: &[String], more: Value) -> Answer {
        let mut body = json!({"a": {"runs": a}, "b": {"runs": b}});
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        self.post("/comparisons", body).await
    }

    async fn compared(&self, a: &[String], b: &[String], more: Value) -> Value {
        let answer = self.compare(a, b, more).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body
    }

    async fn gate(&self, run: &[String], baseline: &[String], policy: Value) -> Answer {
        let body = json!({"runs": run, "baseline": {"runs": baseline}, "policy": policy});
        self.post("/gates", body).await
    }

    async fn decided(&self, run: &[String], baseline: &[String], policy: Value) -> Value {
        let answer = self.gate(run, baseline, policy).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body
    }
}

fn not_worse_by(margin: f64) -> Value {
    json!({"about": "suite", "line": [{"kind": "change", "at": -margin}]})
}

#[tokio::test]
async fn the_same_agent_twice_is_not_different() {
    let desk = Desk::new().await;
    let suite = suite(
        &desk,
        &["true", "is unchanged", "is changed", "true", "is unchanged"],
    )
    .await;
    let runs = desk.taken(&suite, &[nop(), nop()]).await;
    let found = desk
        .compared(&runs[..1], &runs[1..], json!({"axes": true}))
        .await;
    let numbers = &found["comparison"];
    assert_eq!(
        (&numbers["difference"], &numbers["tasks"], &numbers["same"]),
        (&json!(0.0), &json!(5), &json!(5))
    );
    assert!(numbers["p"].as_f64().unwrap() > 0.05);
    assert!(
        numbers["low"].as_f64().unwrap() < 0.0,
        "an interval never has width zero"
    );
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.contains("no difference seen"), "{sentence}");
    assert_eq!(
        (&found["flips"], &found["comparable"]),
        (&json!([]), &json!(true))
    );
    assert_eq!(found["a"]["digest"], found["b"]["digest"]);
    assert_eq!(found["a"]["attempts_digest"].as_str().unwrap().len(), 71);
    // It is kept as it was answered, and listed.
    let id = found["id"].as_str().unwrap();
    let kept = desk.server.read(&format!("/comparisons/{id}")).await;
    assert_eq!((kept.status, &kept.body), (200, &found));
    let listed = desk.server.read("/comparisons").await.body;
    assert_eq!(listed["data"][0]["id"], id);
    assert_eq!(listed["data"][0]["sentence"], sentence);
    assert!(listed["data"][0].get("flips").is_none(), "lists are short");
    // A run compared with itself too.
    let same = desk.compared(&runs[..1], &runs[..1], json!({})).await;
    assert_eq!(same["comparison"]["difference"], 0.0);
}

#[tokio::test]
async fn planted_regressions_are_found_worse_first_with_the_criteria_that_flipped() {
    let desk = Desk::new().await;
    let mut scorers = vec!["is unchanged"; 8];
    scorers.extend(["is changed", "true", "true", "true"]);
    let suite = suite(&desk, &scorers).await;
    let runs = desk.taken(&suite, &[nop(), go()]).await;
    let found = desk
        .compared(&runs[..1], &runs[1..], json!({"about": "tasks"}))
        .await;
    let numbers = &found["comparison"];
    assert_eq!(
        (&numbers["better"], &numbers["worse"], &numbers["same"]),
        (&json!(1), &json!(8), &json!(3))
    );
    assert!(numbers["p"].as_f64().unwrap() <= 0.05);
    let flips = found["flips"].as_array().unwrap();
    assert_eq!((flips.len(), &found["flips_total"]), (9, &json!(9)));
    let changes: Vec<f64> = flips
        .iter()
        .map(|one| one["difference"].as_f64().unwrap())
        .collect();
    assert!(changes.is_sorted(), "worse first: {changes:?}");
    let criterion = &flips[0]["criteria"][0];
    assert_eq!(
        (&criterion["a"], &criterion["b"], &criterion["details"]),
        (&json!(1.0), &json!(0.0), &json!("ran is unchanged"))
    );
    assert_eq!(
        (&flips[0]["passes_a"], &flips[0]["passes_b"]),
        (&json!([1, 1]), &json!([0, 1]))
    );
    assert_eq!(
        found["settings"][0],
        json!({"what": "agent", "a": "nop", "b": "mine"})
    );
    // Swapping the sides mirrors every number.
    let swapped = desk
        .compared(&runs[1..], &runs[..1], json!({"about": "tasks"}))
        .await;
    let mirrored = &swapped["comparison"];
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
    assert_eq!(
        number(mirrored, "difference"),
        -number(numbers, "difference")
    );
    assert_eq!(number(mirrored, "low"), -number(numbers, "high"));
    assert_eq!(number(mirrored, "p"), number(numbers, "p"));
    let gate = desk
        .decided(
            &runs[1..],
            &runs[..1],
            json!({"about": "tasks", "line": [{"kind": "change", "at": -0.05}]}),
        )
        .await;
    assert_eq!(gate["verdict"], "FAIL");
    let sentence = gate["sentences"][0].as_str().unwrap();
    assert!(sentence.contains("Worst: scenario "), "{sentence}");
    let kept = desk
        .server
        .read(&format!("/gates/{}", gate["id"].as_str().unwrap()))
        .await;
    assert_eq!(kept.body, gate);
    let failed = desk.server.read("/gates?verdict=FAIL").await.body;
    assert_eq!(failed["data"][0]["id"], gate["id"]);
    assert_eq!(
        desk.server.read("/gates?verdict=PASS").await.body["data"],
        json!([])
    );
}

#[tokio::test]
async fn inconclusive_says_how_many_more_and_running_them_settles_it() {
    let desk = Desk::new().await;
    let suite = suite(&desk, &["is unchanged"; 6]).await;
    // An agent that does the right thing two times of three.
    let mut a = desk.taken(&suite, &[nop(), nop(), go()]).await;
    let mut b = desk.taken(&suite, &[nop(), nop(), go()]).await;
    let policy = not_worse_by(0.3);
    let open = desk.decided(&b, &a, policy.clone()).await;
    assert_eq!(open["verdict"], "INCONCLUSIVE", "{}", open["sentences"]);
    let more = &open["lines"][0]["result"]["more"]["if_equal"]["attempts_per_task"];
    let more = more.as_u64().expect("it says how many more");
    let sentence = open["sentences"][0].as_str().unwrap();
    assert!(
        sentence.contains(&format!("{more} more attempts per task")),
        "{sentence}"
    );
    for attempt in 0..more {
        let same = if attempt % 3 == 2 { go() } else { nop() };
        a.extend(desk.taken(&suite, std::slice::from_ref(&same)).await);
        b.extend(desk.taken(&suite, &[same]).await);
    }
    let settled = desk.decided(&b, &a, policy).await;
    assert_eq!(settled["verdict"], "PASS", "{}", settled["sentences"]);
}

#[tokio::test]
async fn a_killed_box_makes_a_void_that_turns_neither_gate_nor_mean() {
    let desk = Desk::new().await;
    let suite = suite(&desk, &["is changed"; 6]).await;
    let baseline = desk.taken(&suite, &[go(), go()]).await;
    desk.shop.rest(true);
    let spec = json!({"type": "benchmark", "benchmark_id": suite, "agent_configs": [go(), go()]});
    let job = desk.job(json!({ "spec": spec })).await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    desk.shop.end_newest(BoxEnd::Lost);
    desk.shop.rest(false);
    let seen = desk.over(&job).await;
    let runs: Vec<String> = seen["benchmark_outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["benchmark_run_id"].as_str().unwrap().to_owned())
        .collect();
    let found = desk
        .compared(&baseline, &runs, json!({"about": "suite"}))
        .await;
    let b = &found["b"]["summary"];
    assert_eq!(
        (&b["score"], &b["planned"], &b["scored"], &b["void"]),
        (&json!(1.0), &json!(12), &json!(11), &json!(1)),
        "the mean is that of the others"
    );
    assert!(b["worst"].as_f64().unwrap() < 1.0);
    assert_eq!(found["void"][0]["causes"], json!({"infrastructure": 1}));
    assert_eq!(found["void"][0]["side"], "b");
    // Without the void it would pass, with it as a failure it would not: it is neither.
    let gate = desk.decided(&runs, &baseline, not_worse_by(0.9)).await;
    let with_void = gate["verdict"].as_str().unwrap();
    assert_ne!(with_void, "FAIL");
    let strict =
        json!({"about": "suite", "max-void": 0.01, "line": [{"kind": "change", "at": -0.99}]});
    let gate = desk.decided(&runs, &baseline, strict).await;
    assert_eq!(gate["verdict"], "INCONCLUSIVE");
    let said = gate["sentences"].as_array().unwrap().last().unwrap();
    assert!(
        said.as_str().unwrap().contains("are void, more than"),
        "{said}"
    );
}

#[rstest]
#[case(json!({}), "policy.about")]
#[case(json!({"about": "suite", "line": []}), "policy.line")]
#[case(json!({"about": "suite", "max-viod": 1, "line": [{"kind": "level", "at": 0.5}]}), "policy.max-viod")]
#[case(json!({"about": "suite", "line": [{"kind": "level", "at": 0.5, "axis": "kindness"}]}), "policy.line.0.axis")]
#[case(json!({"about": "suite", "line": [{"kind": "level", "at": 0.5, "tags": ["x"]}]}), "policy.line.0.tags")]
#[case(json!({"about": "suite", "line": [{"kind": "never", "keys": ["nothing"]}]}), "policy.line.0.keys")]
#[case(json!({"about": "suite", "line": [{"kind": "never", "criteria": "critical"}]}), "policy.line.0.criteria")]
#[tokio::test]
async fn a_policy_that_decides_nothing_is_refused(#[case] policy: Value, #[case] field: &str) {
    let desk = Desk::new().await;
    let suite = suite(&desk, &["true", "true"]).await;
    let runs = desk.taken(&suite, &[nop(), nop()]).await;
    let answer = desk.gate(&runs[..1], &runs[1..], policy).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(
        answer.body["error"]["details"][field].is_array(),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn levels_and_what_must_never_happen_need_no_baseline() {
    let desk = Desk::new().await;
    let suite = suite(&desk, &["is unchanged", "true", "true", "true"]).await;
    let runs = desk.taken(&suite, &[nop(), nop(), go()]).await;
    let first = |policy: Value, run: &String| {
        let body = json!({"run": run, "policy": policy});
        desk.post("/gates", body)
    };
    let level = |at: f64| json!({"about": "tasks", "line": [{"kind": "level", "at": at}]});
    assert_eq!(first(level(0.1), &runs[0]).await.body["verdict"], "PASS");
    assert_eq!(
        first(level(0.95), &runs[2]).await.body["verdict"],
        "INCONCLUSIVE"
    );
    let label = "cmd-zero";
    let never =
        json!({"about": "tasks", "line": [{"kind": "never", "keys": [label], "max-rate": 0.9}]});
    let fine = first(never.clone(), &runs[0]).await.body;
    assert_eq!(
        (&fine["verdict"], &fine["lines"][0]["checked"]),
        (&json!("PASS"), &json!(4)),
        "{fine}"
    );
    let bad = first(never, &runs[2]).await.body;
    assert_eq!(bad["verdict"], "FAIL");
    assert_eq!(bad["lines"][0]["violations"][0]["name"], "scenario 0");
    let sentence = bad["sentences"][0].as_str().unwrap();
    assert!(
        sentence.contains("1 of 4 attempts (scenario 0, attempt 1"),
        "{sentence}"
    );
    let change = first(not_worse_by(0.1), &runs[0]).await;
    assert_eq!(change.status, 400);
    assert!(
        change.body["error"]["details"]["baseline"].is_array(),
        "{}",
        change.body
    );
}

#[tokio::test]
async fn runs_that_are_not_of_the_same_exam_are_refused_by_what_differs() {
    let desk = Desk::new().await;
    let suite_id = suite(&desk, &["true", "is unchanged"]).await;
    let before = desk.taken(&suite_id, &[nop()]).await;
    let added = desk.scenario("a third one", "true").await;
    let path = format!("/v1/benchmarks/{suite_id}/scenarios");
    desk.post(&path, json!({"scenarios_to_add": [added]})).await;
    let after = desk.taken(&suite_id, &[nop()]).await;
    let refused = desk.compare(&before, &after, json!({})).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    let message = refused.body["error"]["message"].as_str().unwrap();
    for part in [
        "not comparable",
        "benchmark version",
        "only in the second: a third one",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    let gate = desk
        .gate(
            &after,
            &before,
            json!({"about": "tasks", "line": [{"kind": "change", "at": -0.5}]}),
        )
        .await;
    assert_eq!(gate.status, 409, "{}", gate.body);
    let found = desk
        .compared(&before, &after, json!({"even_though": true}))
        .await;
    assert_eq!(found["comparable"], false);
    assert!(!found["differences"].as_array().unwrap().is_empty());
    assert_eq!(
        found["comparison"]["unpaired"], 1,
        "a missing task is not a zero"
    );
    assert_eq!(found["unpaired"][0]["name"], "a third one");
    // Time limits are part of the exam.
    let mut slow = nop();
    slow["timeout_seconds"] = json!(5);
    let hurried = desk.taken(&suite_id, &[slow]).await;
    let refused = desk.compare(&after, &hurried, json!({})).await;
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("resource envelope: timeout_seconds"),
        "{message}"
    );
}

#[tokio::test]
async fn labels_choose_the_newest_completed_runs_of_the_benchmark() {
    let desk = Desk::new().await;
    let suite_id = suite(&desk, &["true", "is unchanged"]).await;
    let other = suite(&desk, &["true"]).await;
    let main: Vec<String> = [
        desk.taken(&suite_id, &[nop()]).await,
        desk.taken(&suite_id, &[nop()]).await,
        desk.taken(&suite_id, &[nop()]).await,
    ]
    .concat();
    desk.taken(&other, &[nop()]).await;
    let candidate = desk.taken(&suite_id, &[go()]).await;
    let body = json!({"a": {"labels": {"agent": "nop"}, "newest": 2}, "b": {"run": candidate[0]}});
    let found = desk.post("/comparisons", body).await.body;
    let bare = |id: &Value| id.as_str().unwrap().split_once('_').unwrap().1.to_owned();
    let chosen: Vec<String> = found["a"]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(bare)
        .collect();
    let wanted: Vec<String> = main[1..].iter().rev().map(|id| bare(&json!(id))).collect();
    assert_eq!(chosen, wanted);
    assert_eq!(found["a"]["chosen_by"], "agent=nop, newest 2");
    assert_eq!(
        found["a"]["summary"]["planned"], 4,
        "attempts of several runs pool"
    );
    let nobody = json!({"a": {"labels": {"agent": "nobody"}}, "b": {"run": candidate[0]}});
    let refused = desk.post("/comparisons", nobody).await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.body["error"]["details"]["a"].is_array(),
        "{}",
        refused.body
    );
}

#[rstest]
#[case(json!({}), &["a", "b"])]
#[case(json!({"a": {}, "b": {"runs": []}}), &["a", "b.runs"])]
#[case(json!({"a": {"rnus": ["x"]}, "b": {"run": "br_x"}}), &["a.rnus", "b.run"])]
#[case(json!({"a": "br_01M00000000000000000000000", "b": "br_01M00000000000000000000000"}), &["b"])]
#[case(json!({"a": "x", "b": "x", "abuot": "suite"}), &["abuot"])]
#[tokio::test]
async fn what_is_wrong_with_a_comparison_is_named(#[case] body: Value, #[case] fields: &[&str]) {
    let desk = Desk::new().await;
    let answer = desk.post("/comparisons", body).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    for field in fields {
        assert!(
            answer.body["error"]["details"][field].is_array(),
            "{field}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn a_run_that_goes_on_is_not_compared_and_strangers_see_nothing() {
    let desk = Desk::new().await;
    let suite = suite(&desk, &["true"]).await;
    let runs = desk.taken(&suite, &[nop()]).await;
    let open = desk.start_benchmark(&suite).await;
    let answer = desk.compare(&runs, &[open], json!({})).await;
    assert_eq!(answer.status, 409);
    assert!(
        answer.body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("is not over")
    );
    for path in [
        "/comparisons/cmp_01M00000000000000000000000",
        "/gates/gate_01M00000000000000000000000",
    ] {
        assert_eq!(desk.server.read(path).await.status, 404);
    }
    assert_eq!(desk.server.read("/gates?verdict=MAYBE").await.status, 400);
    assert_eq!(
        desk.server.read("/comparisons?verdict=FAIL").await.status,
        400
    );
}

/// An agent of this name that changes its box.
fn goes(name: &str) -> Value {
    json!({"name": name, "type": "job_agent", "kwargs": {"command": "go"}})
}

#[tokio::test]
async fn agents_of_equal_ability_share_a_rank_and_a_worse_one_stands_alone() {
    let desk = Desk::new().await;
    let suite = suite(&desk, &["is changed"; 12]).await;
    let agents = [nop(), goes("one"), goes("two"), goes("three")];
    let runs = desk.taken(&suite, &agents).await;
    let benchmark = BenchmarkId::from_wire(&suite, Dialect::Runloop).unwrap();
    let publish = async |run: &str, verb: &str, reason: &str| {
        let run = RunId::from_wire(run, Dialect::Runloop).unwrap();
        let path = format!("/benchmark-runs/{run}/{verb}");
        let answer = desk.post(&path, json!({ "reason": reason })).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        run.to_string()
    };
    for run in &runs {
        publish(run, "publish", "ready to be shown").await;
    }
    let board = format!("/benchmarks/{benchmark}/leaderboard");
    let shown = desk.server.read(&board).await.body;
    assert_eq!(shown["warnings"], json!([]));
    let rows = shown["data"].as_array().unwrap();
    let ranks: Vec<(u64, u64, &str)> = rows
        .iter()
        .map(|row| {
            let rank = &row["rank"];
            assert_eq!(rank["agents"], 4);
            let number = |name: &str| rank[name].as_u64().unwrap();
            (
                number("low"),
                number("high"),
                rank["letters"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(ranks, [(1, 3, "a"), (1, 3, "a"), (1, 3, "a"), (4, 4, "b")]);
    assert_eq!(rows[3]["agent"], "nop");
    let removed = publish(&runs[0], "unpublish", "it was the wrong model").await;
    let left = desk.server.read(&board).await.body;
    assert_eq!(left["data"].as_array().unwrap().len(), 3);
    let log = desk.server.read(&format!("{board}/log")).await.body;
    let newest = &log["data"][0];
    assert_eq!(
        (
            &newest["benchmark_run_id"],
            &newest["change"],
            &newest["reason"]
        ),
        (
            &json!(removed),
            &json!("removed"),
            &json!("it was the wrong model")
        )
    );
    assert_eq!(log["data"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn what_more_attempts_cost_is_told_if_every_run_says_what_it_cost() {
    let desk = Desk::new().await;
    let suite = suite(&desk, &["true"; 6]).await;
    // What is completed before it is scored counts 0.
    let taken = async |cost: Option<&str>, missed: usize| {
        let mut body = json!({"benchmark_id": suite});
        if let Some(cost) = cost {
            body["metadata"] = json!({"cost_usd": cost});
        }
        let run = desk.post("/v1/benchmarks/start_run", body).await.text("id");
        let scenarios = desk
            .server
            .read(&format!("/v1/benchmarks/{suite}/definitions"))
            .await;
        for (place, scenario) in (0..).zip(scenarios.body["scenarios"].as_array().unwrap()) {
            let taken = desk.in_run(&run, scenario["id"].as_str().unwrap()).await;
            if place >= missed {
                desk.scored(&taken).await;
            }
            desk.act(&taken, "complete").await;
        }
        desk.post(&format!("/v1/benchmark_runs/{run}/complete"), Value::Null)
            .await;
        run
    };
    let mut a = vec![taken(Some("3"), 0).await, taken(Some("3"), 2).await];
    let b = [taken(Some("1.5"), 0).await, taken(Some("4.5"), 2).await];
    let open = desk.decided(&b, &a, not_worse_by(0.3)).await;
    let more = open["lines"][0]["result"]["more"]["if_equal"]["attempts_per_task"].as_u64();
    let all = 12 * more.expect("it says how many more");
    let sentence = open["sentences"][0].as_str().unwrap();
    // Twelve dollars for 24 attempts.
    assert!(
        sentence.contains(&format!("({all} in all, about ${})", all / 2)),
        "{sentence}"
    );
    a.push(taken(None, 1).await);
    let open = desk.decided(&b, &a, not_worse_by(0.3)).await;
    let sentence = open["sentences"][0].as_str().unwrap();
    assert!(!sentence.contains('$'), "unknown is not free: {sentence}");
}
