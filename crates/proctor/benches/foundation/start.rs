//! How fast the server is there, and how much memory it takes doing nothing.

use std::{
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use proctor_testkit::{
    figures::{Report, median, resident_memory},
    server::{KEY, Server, serve},
};

const STARTS: usize = 11;

/// A server under measurement.
pub(crate) struct Served {
    server: Server,
    /// Where it listens.
    pub(crate) address: String,
    /// How long it took from exec until it answered.
    took: Duration,
}

impl Served {
    pub(crate) fn start(data: &Path) -> Self {
        let began = Instant::now();
        let mut command = serve(env!("CARGO_BIN_EXE_proctor"), data);
        command
            .env("PROCTOR_BOOTSTRAP_KEY", KEY)
            .stderr(Stdio::null());
        let server = Server::start(&mut command);
        let address = server.url("").trim_start_matches("http://").to_owned();
        crate::http::get_once(&address, "/healthz");
        Self {
            server,
            address,
            took: began.elapsed(),
        }
    }
}

pub(crate) fn measure(report: &mut Report) {
    let directory = tempfile::tempdir().unwrap();
    let first = Served::start(&directory.path().join("first"));
    report.note(
        "exec to ready, first start on an empty directory",
        format!("{:.1} ms", millis(first.took)),
    );
    drop(first);
    let again: Vec<f64> = (0..STARTS)
        .map(|_| millis(Served::start(&directory.path().join("first")).took))
        .collect();
    report.at_most("exec to ready", median(again), 150.0, "ms");
    let idle = Served::start(&directory.path().join("first"));
    thread::sleep(Duration::from_secs(1));
    report.at_most(
        "idle memory (resident)",
        resident_memory(idle.server.pid()) as f64 / f64::from(1 << 20),
        40.0,
        "MB",
    );
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}
