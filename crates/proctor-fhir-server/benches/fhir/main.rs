//! What the FHIR store costs, beside the limit of this machine.
//!
//! `cargo bench -p proctor-playground --bench fhir` loads the official examples and a generated
//! population (23,000 patients, about 150,000 resources), then measures each operation in process,
//! over HTTP, and beside a bare handler that returns the same bytes over the same connections. The
//! load comes from a process of its own. `FHIR_BENCH_PATIENTS` and `FHIR_BENCH_SECONDS` make it
//! smaller; `FHIR_BENCH_GROWTH=0` leaves the growth table out.

mod growth;
mod house;
mod in_process;
mod load;
mod operations;
mod over_http;
mod playgrounds;
mod population;
mod report;

use report::{print, setting};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--load") {
        print(&load::child(&arguments[1..]));
        return;
    }
    let patients = setting("FHIR_BENCH_PATIENTS", 23_000.0) as usize;
    let seconds = setting("FHIR_BENCH_SECONDS", 2.0);
    let base = playgrounds::measure_base(patients);
    playgrounds::measure_branches(&base);
    in_process::measure(&base);
    over_http::measure(&base, seconds);
    if setting("FHIR_BENCH_GROWTH", 1.0) > 0.0 {
        drop(base);
        growth::measure();
    }
}
