//! What devboxes and scenarios cost over HTTP, against the real server, beside containers that do the same on a Docker
//! engine in the same run: `cargo bench -p proctor --bench devboxes [boxes] [memory] [scenarios]`.
//!
//! `PROCTOR_BASELINE` names an older program, with which scenarios take turns too.
//!
//! The engine is the benchmark's own: started for it, and gone with it (`docker.sh`). Where none is installed or none can
//! start, the figures stand alone and a line says why.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod boxes;
mod docker;
mod load;
mod memory;
mod scenarios;

use std::env;

use proctor_testkit::{
    figures::{Parts, Report},
    server::{BenchServer, program_to_measure},
};

use crate::docker::Docker;

fn main() {
    let parts = Parts::wanted();
    let mut report = Report::default();
    let docker = Docker::start();
    let docker = match &docker {
        Ok(docker) => {
            report.note("the containers' root", docker::ROOT.to_owned());
            Some(docker)
        }
        Err(why) => {
            report.note("no containers beside", why.clone());
            None
        }
    };
    let server = BenchServer::start(&program_to_measure(env!("CARGO_BIN_EXE_proctor")));
    let baseline = env::var("PROCTOR_BASELINE").ok();
    let baseline = baseline.map(|program| BenchServer::start(&program));
    // One thread asks: what it takes of the machine is taken from the server as little as can be.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        if parts.include("boxes") {
            boxes::measure(&mut report, &server, docker).await;
        }
        if parts.include("memory") {
            memory::measure(&mut report, server.server()).await;
        }
        if parts.include("scenarios") {
            scenarios::measure(&mut report, &server, baseline.as_ref(), docker).await;
        }
    });
    drop(server.end());
    drop(baseline.map(BenchServer::end));
    report.print();
}
