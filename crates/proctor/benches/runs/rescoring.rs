//! Judging again what is stored: from the journal on disk to findings.

use std::time::{Duration, Instant};

use http::Method;
use proctor_core::time::Timestamp;
use proctor_engine::runs::{Judges, Rubrics};
use proctor_simulation::exchange::Request;
use proctor_testkit::figures::{Report, median};
use serde_json::json;

use crate::clinic::{CRITERIA, Clinic};

const STORED: usize = 50;
const SPAN: Duration = Duration::from_secs(3);

/// On one thread: the figure is per core.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn measure(report: &mut Report) {
    let directory = tempfile::tempdir().unwrap();
    let clinic = Clinic::open(directory.path()).await;
    let mut stored = Vec::new();
    for _ in 0..STORED {
        let created = clinic.begin().await;
        let (run, task_run) = (created.run.id, created.task_runs[0].id);
        clinic.engine.start_task(run, task_run).await.unwrap();
        let world = clinic.engine.world_of_run(run, None).await.unwrap();
        for number in 0..5 {
            let observation = json!({"resourceType": "Observation", "status": "final", "code": {"text": "BP"},
                "subject": {"reference": format!("Patient/p{}", number * 4)}});
            let request = Request::new(Method::POST, "fhir/Observation", Timestamp::from_millis(0))
                .with_json(&observation);
            assert_eq!(world.handle(0, request).await.status, 201);
        }
        let began = Instant::now();
        clinic.engine.complete_task(run, task_run).await.unwrap();
        stored.push((task_run, began.elapsed()));
    }
    let completes = stored
        .iter()
        .map(|(_, took)| took.as_secs_f64() * 1000.0)
        .collect();
    report.at_most(
        "freeze, verify 20 criteria, record (median)",
        median(completes),
        5.0,
        "ms",
    );
    let (began, mut rounds) = (Instant::now(), 0usize);
    while began.elapsed() < SPAN {
        let (task_run, _) = stored[rounds % STORED];
        let again = clinic
            .engine
            .rescore(task_run, Rubrics::Own, Judges::Recorded)
            .await
            .unwrap();
        assert_eq!(again.criterion_runs.len(), CRITERIA);
        rounds += 1;
    }
    let rate = (rounds * CRITERIA) as f64 / began.elapsed().as_secs_f64();
    report.at_least(
        "criteria scored again per second, one core : 10,000",
        &format!("{rate:.0}/s"),
        rate / 10_000.0,
        1.0,
    );
    clinic.close().await;
}
