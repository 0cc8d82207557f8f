//! Trials of small tasks: what each agent is worth.

use super::support::{Files, Harbor, outcomes, reward};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_oracle_solves_a_task_and_doing_nothing_does_not() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    let yaml = "job_name: first\nagents: [{name: oracle}, {name: nop}]\ntasks:\n  - path: tasks:own/plain\n";
    let job = harbor.job(yaml).await;
    assert_eq!(job["state"], "completed", "{job:#}");
    assert_eq!(job["name"], "first");
    assert_eq!(job["job_source"]["type"], "harbor");
    assert_eq!(job["job_source"]["inline_yaml"], yaml);
    let outcomes = outcomes(&job);
    assert_eq!(reward(&outcomes[0]), Ok(1.0), "{job:#}");
    assert_eq!(reward(&outcomes[1]), Ok(0.0), "{job:#}");
    harbor.end().await;
}
