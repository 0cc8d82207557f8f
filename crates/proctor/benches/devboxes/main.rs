//! What devboxes and scenarios cost over HTTP, against the real server, beside containers that do the same on a Docker
//! engine in the same run: `cargo bench -p proctor --bench devboxes [boxes] [memory] [scenarios]`.
//!
//! The engine is the benchmark's own: started for it, and gone with it (`docker.sh`). Where none is installed or none can
//! start, the figures stand alone and a line says why.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod boxes;
mod docker;
mod leftovers;
mod load;
mod memory;
mod scenarios;

use std::process::Stdio;

use proctor_testkit::{
    figures::{Parts, Report},
    server::{KEY, Server, serve},
};

use crate::{docker::Docker, leftovers::Leftovers};

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
    // On a disk, as a server has it; temporary directories may be memory.
    let data = tempfile::Builder::new()
        .prefix("proctor-bench-")
        .tempdir_in("/var/tmp")
        .unwrap();
    let mut command = serve(env!("CARGO_BIN_EXE_proctor"), data.path());
    command
        .args(["--log", "warn"])
        .env("PROCTOR_BOOTSTRAP_KEY", KEY)
        .stderr(Stdio::null());
    let server = Server::start(&mut command);
    let leftovers = Leftovers {
        server: server.url(""),
        boxes: data.path().join("devboxes/local/boxes"),
    };
    // One thread asks: what it takes of the machine is taken from the server as little as can be.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        if parts.include("boxes") {
            boxes::measure(&mut report, server.caller(), &leftovers, docker).await;
        }
        if parts.include("memory") {
            memory::measure(&mut report, &server).await;
        }
        if parts.include("scenarios") {
            scenarios::measure(&mut report, server.caller(), &leftovers, docker).await;
        }
    });
    drop(leftovers);
    server.signal("TERM");
    assert_eq!(server.exit_code(), Some(0));
    report.print();
}
