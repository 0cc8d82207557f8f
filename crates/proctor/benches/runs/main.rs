//! What runs cost: `cargo bench -p proctor --bench runs [worlds] [rescoring] [http]`. Figures stand beside
//! their goals, and beside what one durable commit costs on the same machine in the same run.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod clinic;
mod commits;
mod http;
#[path = "../foundation/report.rs"]
mod report;
mod rescoring;
mod worlds;

use crate::report::Report;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let wanted =
        |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    let mut report = Report::default();
    let commit = commits::per_second();
    report.note(
        "durable commits of one row, one writer",
        format!("{commit:.0}/s"),
    );
    if wanted("worlds") {
        worlds::measure(&mut report, commit);
    }
    if wanted("rescoring") {
        rescoring::measure(&mut report);
    }
    if wanted("http") {
        http::measure(&mut report, commit);
    }
    report.print();
}
