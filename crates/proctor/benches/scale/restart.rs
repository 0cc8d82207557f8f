//! A server that starts beside a finished job, and one that starts beside nothing.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use proctor_testkit::{
    cpu::CpuTime,
    figures::{Report, median},
    server::{BenchServer, KEY, Server, serve},
};

use crate::{jobs, millis, rounds};

const TRIALS: usize = 1000;
/// What a server does in the background after its start is counted for so long.
const SETTLED: Duration = Duration::from_secs(3);

pub(crate) async fn measure(report: &mut Report, program: &str) {
    let server = BenchServer::start(program);
    let scenarios = jobs::make_scenarios(server.caller(), TRIALS).await;
    // The first boxes wait for what is prepared once.
    jobs::run(server.caller(), &scenarios[..1]).await;
    jobs::run(server.caller(), &scenarios).await;
    server.leftovers().are_gone().await;
    let used = server.end();
    let empty = BenchServer::start(program).end();
    let (mut beside, mut alone) = (Starts::default(), Starts::default());
    for _ in 0..rounds() {
        beside.add(program, used.path()).await;
        alone.add(program, empty.path()).await;
    }
    let (beside, alone) = (beside.medians(), alone.medians());
    for (what, (ready, cpu)) in [("a finished job of 1,000", beside), ("nothing", alone)] {
        report.note(
            &format!("a start beside {what}"),
            format!("{ready:.0} ms until it answers, {cpu:.0} ms CPU in 3 s"),
        );
    }
    let what = "a start beside a finished job of 1,000 takes longer by";
    report.at_most(what, beside.0 - alone.0, 50.0, "ms");
    let what = "a start beside a finished job of 1,000 uses more CPU by";
    report.at_most(what, beside.1 - alone.1, 50.0, "ms");
}

/// Starts of one server, in milliseconds.
#[derive(Default)]
struct Starts {
    /// From exec until the first answer.
    ready: Vec<f64>,
    /// Of the processors, by the server itself and by what it waited for.
    cpu: Vec<f64>,
}

impl Starts {
    async fn add(&mut self, program: &str, data: &Path) {
        let mut command = serve(program, data);
        command
            .args(["--log", "warn"])
            .env("PROCTOR_BOOTSTRAP_KEY", KEY)
            .stderr(Stdio::null());
        let began = Instant::now();
        let server = Server::start(&mut command);
        server.caller().text("/healthz").await;
        self.ready.push(millis(began.elapsed()));
        tokio::time::sleep(SETTLED.saturating_sub(began.elapsed())).await;
        let CpuTime {
            own,
            ended_children,
        } = CpuTime::of(server.pid());
        self.cpu.push(millis(own + ended_children));
        server.signal("TERM");
        assert_eq!(server.exit_code(), Some(0));
    }

    fn medians(self) -> (f64, f64) {
        (median(self.ready), median(self.cpu))
    }
}
