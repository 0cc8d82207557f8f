use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn config(text: &str) -> JobConfig {
    JobConfig::read(text).unwrap().0
}

fn trial(name: &str, reward: Option<f64>, exception: Option<&str>) -> TrialRecord {
    TrialRecord {
        id: "00000000-0000-0000-0000-000000000001".to_owned(),
        name: name.to_owned(),
        task: TaskRecord {
            name: "hello".to_owned(),
            digest: "ab".repeat(32),
            from: local("tasks:own/hello"),
            source: Some("own".to_owned()),
            is_separate: false,
        },
        agent: AgentEntry::default(),
        agent_version: "1".to_owned(),
        started_at: at(1),
        agent_began_at: Some(at(2)),
        verified: reward.map(|_| (at(3), at(4))),
        finished_at: at(5),
        rewards: reward.map(|reward| Rewards::from([("reward".to_owned(), reward)])),
        exception: exception.map(|name| ExceptionRecord {
            name: name.to_owned(),
            message: "told".to_owned(),
            at: at(5),
        }),
        steps: Vec::new(),
        proctor: ProctorRecord::default(),
    }
}

fn job(text: &str, trials: Vec<TrialRecord>) -> JobRecord {
    JobRecord {
        id: "00000000-0000-0000-0000-000000000002".to_owned(),
        name: "nightly".to_owned(),
        config: config(text),
        started_at: at(0),
        finished_at: Some(at(9)),
        planned: 3,
        trials,
    }
}

const FILE: &str = "tasks: [{path: 'tasks:own/hello'}]";

#[test]
fn what_was_tried_again_is_a_retry_and_counts_nowhere_else() {
    let mut superseded = trial("hello__1", None, Some("HealthcheckError"));
    superseded.proctor.superseded_by = Some("hello__2".to_owned());
    let late = trial("hello__3", Some(0.5), Some("AgentTimeoutError"));
    let trials = vec![superseded, trial("hello__2", Some(1.0), None), late];
    let result = job(FILE, trials).result();
    let stats = &result["stats"];
    assert_eq!(stats["n_completed_trials"], 2);
    assert_eq!(stats["n_errored_trials"], 1);
    assert_eq!(stats["n_pending_trials"], 1);
    assert_eq!(stats["n_retries"], 1);
    let own = &stats["evals"]["oracle__own"];
    assert_eq!(own["n_trials"], 2);
    assert_eq!(own["metrics"], json!([{"mean": 0.75}]));
    assert_eq!(own["reward_stats"]["reward"]["1.0"], json!(["hello__2"]));
    assert_eq!(
        own["exception_stats"],
        json!({"AgentTimeoutError": ["hello__3"]})
    );
}

#[test]
fn every_metric_of_the_file_is_told() {
    let text = format!("{FILE}\nmetrics: [{{type: sum}}, {{type: min}}]");
    let trials = vec![
        trial("a", Some(1.0), None),
        trial("b", None, Some("RewardFileNotFoundError")),
    ];
    let result = job(&text, trials).result();
    let own = &result["stats"]["evals"]["oracle__own"];
    assert_eq!(own["metrics"], json!([{"sum": 1.0}, {"min": 0.0}]));
}

#[test]
fn values_that_are_secret_by_their_names_are_not_shown() {
    let text = format!(
        "{FILE}\nenvironment: {{env: {{API_KEY: hush, OTHER: '${{API_KEY}}', PLAIN: seen}}}}"
    );
    let config = job(&text, Vec::new()).config();
    assert_eq!(
        config["environment"]["env"],
        json!({"API_KEY": "${API_KEY}", "OTHER": "${API_KEY}", "PLAIN": "seen"})
    );
    assert_eq!(config["environment"]["import_path"], "proctor:Box");
    assert!(config.get("agent_timeout_multiplier").is_none());
}

#[test]
fn a_log_is_in_the_order_of_events() {
    let log = trial("a", Some(1.0), None).log();
    let times: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(times.len(), 5);
    assert!(times.is_sorted(), "{log}");
}
