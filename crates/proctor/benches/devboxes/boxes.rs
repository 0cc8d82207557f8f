//! A devbox from its making to the end of its first command, and commands in one that runs.

use std::time::{Duration, Instant};

use proctor_testkit::{
    figures::{Report, Times},
    server::{BenchServer, Caller},
};
use serde_json::json;

use crate::{
    docker::{Container, Docker},
    load::keep_up,
};

const ROUNDS: usize = 10;
const IN_A_ROW: usize = 8;
const EXECUTIONS: usize = 400;
const AT_ONCE: usize = 4;
const SPAN: Duration = Duration::from_secs(6);
/// For whoever came before to be done: an engine is busy with a container for long after it says that it is gone.
pub(crate) const REST: Duration = Duration::from_secs(1);

/// A devbox over HTTP.
pub(crate) struct Devbox<'a> {
    caller: &'a Caller,
    path: String,
}

impl<'a> Devbox<'a> {
    /// Asks for a devbox, and waits until it can be worked with.
    pub(crate) async fn running(caller: &'a Caller) -> Self {
        let made = caller.post("/v1/devboxes", json!({})).await;
        let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
        let this = Self { caller, path };
        this.wait().await;
        this
    }

    /// One that something else has made.
    pub(crate) async fn known(caller: &'a Caller, id: &str) -> Self {
        let path = format!("/v1/devboxes/{id}");
        let this = Self { caller, path };
        this.wait().await;
        this
    }

    async fn wait(&self) {
        let path = format!("{}/wait_for_status", self.path);
        let view = self.caller.wait(&path, &["running", "failure"]).await;
        assert_eq!(view["status"], "running", "{view}");
    }

    /// Runs a command to its end.
    pub(crate) async fn execute(&self, command: &str) {
        let path = format!("{}/execute_sync", self.path);
        let ended = self.caller.post(&path, json!({"command": command})).await;
        assert_eq!(ended["exit_status"], 0, "{ended}");
    }

    pub(crate) async fn shut_down(&self) {
        let path = format!("{}/shutdown", self.path);
        self.caller.post(&path, json!({})).await;
    }
}

pub(crate) async fn measure(report: &mut Report, server: &BenchServer, docker: Option<&Docker>) {
    create(report, server, docker).await;
    execute(report, server.caller(), docker).await;
}

async fn create(report: &mut Report, server: &BenchServer, docker: Option<&Docker>) {
    let caller = server.caller();
    let (mut ours, mut theirs) = (Times::default(), Times::default());
    let (mut ours_after_rest, mut theirs_after_rest) = (Times::default(), Times::default());
    // In turns, so that a machine that is busy for a while is busy for both.
    for _ in 0..ROUNDS {
        tokio::time::sleep(REST).await;
        for number in 0..IN_A_ROW {
            let begun = Instant::now();
            let devbox = Devbox::running(caller).await;
            devbox.execute("true").await;
            match number {
                0 => ours_after_rest.push(begun.elapsed()),
                _ => ours.push(begun.elapsed()),
            }
            devbox.shut_down().await;
        }
        let Some(docker) = docker else { continue };
        tokio::time::sleep(REST).await;
        for number in 0..IN_A_ROW {
            let begun = Instant::now();
            let container = Container::ran(docker, "true").await;
            match number {
                0 => theirs_after_rest.push(begun.elapsed()),
                _ => theirs.push(begun.elapsed()),
            }
            container.remove().await;
        }
    }
    report.note("devbox: create to first exec done", ours.to_string());
    report.note("the same after a rest", ours_after_rest.to_string());
    if docker.is_some() {
        report.note("docker run of the same command", theirs.to_string());
        report.note("the same after a rest", theirs_after_rest.to_string());
        report.at_least(
            "docker run : devbox, create to first exec done",
            &format!("{:.1} ms : {:.1} ms", theirs.median(), ours.median()),
            theirs.median() / ours.median(),
            20.0,
        );
    }

    let boxes = keep_up(AT_ONCE, SPAN, async || {
        let devbox = Devbox::running(caller).await;
        devbox.execute("true").await;
        devbox.shut_down().await;
    })
    .await;
    let boxes = boxes.until(server.leftovers().are_gone()).await;
    let what = format!("devboxes made, used and ended, {AT_ONCE} at a time");
    report.note(&what, format!("{:.0}/s", boxes.per_second()));
    if let Some(docker) = docker {
        let containers = keep_up(AT_ONCE, SPAN, async || {
            Container::ran(docker, "true").await.remove().await;
        })
        .await;
        report.note(
            "devboxes : containers made, used and ended",
            format!(
                "{:.1} × ({:.0}/s : {:.1}/s)",
                boxes.per_second() / containers.per_second(),
                boxes.per_second(),
                containers.per_second()
            ),
        );
    }
}

async fn execute(report: &mut Report, caller: &Caller, docker: Option<&Docker>) {
    tokio::time::sleep(REST).await;
    let devbox = Devbox::running(caller).await;
    let mut ours = Times::default();
    for _ in 0..EXECUTIONS {
        ours.measure(|| devbox.execute("true")).await;
    }
    report.note("exec in a running devbox", ours.to_string());
    report.at_most("exec in a running devbox, median", ours.median(), 3.0, "ms");
    let many = keep_up(AT_ONCE, SPAN, async || devbox.execute("true").await).await;
    report.note(
        &format!("exec in a running devbox, {AT_ONCE} at a time"),
        format!("{:.0}/s", many.per_second()),
    );
    devbox.shut_down().await;
    if let Some(docker) = docker {
        let container = Container::waiting(docker).await;
        let mut theirs = Times::default();
        for _ in 0..EXECUTIONS / 10 {
            theirs.measure(|| container.execute("true")).await;
        }
        container.remove().await;
        report.note(
            "docker exec : exec in a running devbox",
            format!("{:.1} × ({theirs})", theirs.median() / ours.median()),
        );
    }
}
