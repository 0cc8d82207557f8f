//! The logs of runs.

use serde_json::{Value, json};

use super::{Desk, files};

#[tokio::test]
async fn logs_are_an_archive_of_flat_files() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let run = desk.start_benchmark(&benchmark).await;
    let first = desk.in_run(&run, &scenario).await;
    let second = desk.in_run(&run, &scenario).await;
    desk.scored(&first).await;
    let path = format!("/v1/scenarios/runs/{first}/download_logs");
    let zip = files(&desk, &path).await;
    let names: Vec<&str> = zip.iter().map(|(name, _)| name.as_str()).collect();
    let endings = [
        "setup.log",
        "exec.log",
        "agent.log",
        "scoring.log",
        "results.json",
    ];
    let of = |run: &str| -> Vec<String> {
        endings
            .iter()
            .map(|ending| format!("{run}_{ending}"))
            .collect()
    };
    assert_eq!(names, of(&first));
    assert!(zip[1].1.ends_with("Executions 999\n"));
    assert_eq!(zip[3].1, "=== cmd-zero: complete, score 1\nran true\n");
    let results: Value = serde_json::from_str(&zip[4].1).unwrap();
    assert_eq!(
        (&results["score"], &results["scoring_mode"]),
        (&json!(1.0), &json!("live"))
    );

    let all = files(&desk, &format!("/v1/benchmark_runs/{run}/download_logs")).await;
    let mut names: Vec<String> = all.into_iter().map(|(name, _)| name).collect();
    names.sort();
    let mut expected = [of(&first), of(&second)].concat();
    expected.sort();
    assert_eq!(names, expected);

    let many = (0..50).map(|_| files(&desk, &path));
    for zip in futures::future::join_all(many).await {
        assert_eq!(zip.len(), 5);
    }
}
