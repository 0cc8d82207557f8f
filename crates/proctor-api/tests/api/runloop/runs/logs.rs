//! The logs of runs.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Desk, files};

/// Whether the first entry of an archive asks for a reader of ZIP64, or has its sizes behind it in eight bytes each.
fn is_zip64(archive: &[u8]) -> bool {
    const LOCAL_HEADER: &[u8] = b"PK\x03\x04";
    const DESCRIPTOR: &[u8] = b"PK\x07\x08";
    assert!(archive.starts_with(LOCAL_HEADER));
    let version = u16::from_le_bytes([archive[4], archive[5]]);
    let place = |mark: &[u8], from: usize| {
        let found = archive[from..].windows(4).position(|bytes| bytes == mark);
        from + found.unwrap()
    };
    let descriptor = place(DESCRIPTOR, 4);
    let next = place(LOCAL_HEADER, descriptor);
    version >= 45 || next - descriptor != 16
}

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

    for (path, name) in [
        (path.clone(), "scenario_run_logs.zip"),
        (
            format!("/v1/benchmark_runs/{run}/download_logs"),
            "benchmark_run_logs.zip",
        ),
        (
            format!("/v1/benchmarks/runs/{run}/download_logs"),
            "benchmark_run_logs.zip",
        ),
    ] {
        let answer = desk.server.own(Method::POST, &path).send().await.unwrap();
        assert_eq!(
            answer.headers()["content-disposition"],
            format!("attachment; filename=\"{name}\"")
        );
        let bytes = answer.bytes().await.unwrap();
        assert!(!is_zip64(&bytes), "a small archive needs no large numbers");
    }

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
