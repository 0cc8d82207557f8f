//! What the foundation costs, each figure as a ratio to something measured beside it in the same
//! run: `cargo bench -p proctor --bench foundation [journal] [http] [start]`.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod bare;
mod http;
mod journal;
mod start;

use proctor_testkit::figures::{Parts, Report};

fn main() {
    let parts = Parts::wanted();
    if let [role, port_file] = parts.named()
        && role == bare::ROLE
    {
        return bare::serve(port_file.as_ref());
    }
    let mut report = Report::default();
    if parts.include("journal") {
        journal::measure(&mut report);
    }
    if parts.include("http") {
        http::measure(&mut report);
    }
    if parts.include("start") {
        start::measure(&mut report);
    }
    report.print();
}
