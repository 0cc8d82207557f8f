//! How fast the server is there, and how much memory it takes doing nothing.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::report::{Report, median};

/// The key of every server that the benchmark starts.
pub(crate) const KEY: &str = "vk_bench_0123456789abcdef";
const STARTS: usize = 11;

/// A server under measurement.
pub(crate) struct Served {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
    /// How long it took from exec until it answered.
    took: Duration,
}

impl Served {
    pub(crate) fn start(data: &Path) -> Self {
        let began = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_proctor"))
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .env("PROCTOR_BOOTSTRAP_KEY", KEY)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = ready["url"]
            .as_str()
            .unwrap()
            .trim_start_matches("http://")
            .to_owned();
        crate::http::get_once(&address, "/healthz");
        Self {
            child,
            address,
            took: began.elapsed(),
        }
    }

    fn resident_megabytes(&self) -> f64 {
        let status = fs_err::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<f64>()
            .unwrap()
            / 1024.0
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
        idle.resident_megabytes(),
        40.0,
        "MB",
    );
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}
