//! `proctor run`: agents of all kinds take benchmarks of both kinds, and what they leave is ended.

mod agents;
mod full_disk;
mod harbor;
mod in_box;
mod list;
mod model;
mod reports;
mod resume;
mod tokens;

use std::{
    path::Path,
    process::{Command, Output},
};

use proctor_testkit::server::proctor;
use serde_json::Value;

use crate::PROCTOR;

/// A short clinical task that any agent may take.
const TASK: &str = "Register*";

/// `proctor run` on a data directory, to be told more.
fn command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = proctor(PROCTOR);
    command.arg("run").args(arguments).arg("--data").arg(data);
    command
}

fn run(data: &Path, arguments: &[&str]) -> Output {
    command(data, arguments).output().unwrap()
}

/// What `--json` prints; it must end with this exit code.
fn json(data: &Path, arguments: &[&str], code: i32) -> Value {
    let output = command(data, arguments).arg("--json").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"))
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The only attempt of a run.
fn attempt(results: &Value) -> &Value {
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1, "{results:#}");
    &attempts[0]
}

/// Whether a process has this text among its arguments.
fn is_running(text: &str) -> bool {
    let entries = fs_err::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.filter_map(|entry| fs_err::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(text) && !line.contains("proctor")
    })
}
