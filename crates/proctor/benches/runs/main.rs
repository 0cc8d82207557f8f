//! What runs cost: `cargo bench -p proctor --bench runs [worlds] [rescoring] [http]`. Figures stand beside
//! their goals, and beside what one durable commit costs on the same machine in the same run.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod clinic;
mod commits;
mod http;
mod rescoring;
mod worlds;

use proctor_testkit::figures::{Parts, Report};

fn main() {
    let parts = Parts::wanted();
    let mut report = Report::default();
    let commit = commits::per_second();
    report.note(
        "durable commits of one row, one writer",
        format!("{commit:.0}/s"),
    );
    if parts.include("worlds") {
        worlds::measure(&mut report, commit);
    }
    if parts.include("rescoring") {
        rescoring::measure(&mut report);
    }
    if parts.include("http") {
        http::measure(&mut report, commit);
    }
    report.print();
}
