//! What the foundation costs, each figure as a ratio to something measured beside it in the same
//! run: `cargo bench -p proctor --bench foundation [journal] [http] [start]`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod bare;
mod http;
mod journal;
mod report;
mod start;

use crate::report::Report;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    if let [role, port_file] = arguments.as_slice()
        && role == bare::ROLE
    {
        return bare::serve(port_file.as_ref());
    }
    let wanted =
        |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    let mut report = Report::default();
    if wanted("journal") {
        journal::measure(&mut report);
    }
    if wanted("http") {
        http::measure(&mut report);
    }
    if wanted("start") {
        start::measure(&mut report);
    }
    report.print();
}
