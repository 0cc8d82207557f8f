//! The base that playgrounds share, and what each of them costs.

use std::{
    io::{BufRead, BufReader},
    sync::Arc,
    time::{Duration, Instant},
};

use http::Method;
use proctor_core::time::Timestamp;
use proctor_fhir_store::{Base, BaseBuilder, Seed, Settings, State, rest::Request};
use serde_json::Value;

use crate::{
    population,
    report::{goal, heading, line, mega, resident},
};

/// Makes the base, and tells what it takes.
pub(crate) fn measure_base(patients: usize) -> Arc<Base> {
    let begin = Instant::now();
    let base = make_base(patients, true);
    heading("base");
    line("resources", &base.len().to_string());
    line(
        "loaded and indexed in",
        &format!("{:.1} s", begin.elapsed().as_secs_f64()),
    );
    line(
        "index arrays",
        &format!("{:.0} MB", mega(base.index_bytes())),
    );
    line(
        "memory of the process",
        &format!("{:.0} MB", mega(resident())),
    );
    base
}

/// A generated population, with or without the official examples.
pub(crate) fn make_base(patients: usize, with_examples: bool) -> Arc<Base> {
    let mut builder = BaseBuilder::new(Seed::from_number(1), Timestamp::from_millis(0));
    if with_examples {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../testdata/fhir-r4-examples.ndjson.zst"
        );
        let file = fs_err::File::open(path)
            .expect("the examples, made by `scripts/fhir-definitions --examples`");
        let lines = BufReader::new(zstd::Decoder::new(file).expect("zstd")).lines();
        for line in lines {
            let value: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
            // One example is in the package twice.
            let _ = builder.load_one(value);
        }
    }
    for resource in population::population(patients) {
        builder
            .load_one(resource)
            .expect("a generated resource is fine");
    }
    Arc::new(builder.finish())
}

/// A playground on a base.
pub(crate) fn branch(base: &Arc<Base>, settings: &Arc<Settings>, number: u64) -> State {
    State::branch(
        Arc::clone(base),
        Arc::clone(settings),
        Seed::from_number(number),
    )
}

/// Measures what playgrounds on a base take.
pub(crate) fn measure_branches(base: &Arc<Base>) {
    heading("playgrounds");
    let settings = Arc::new(Settings::at("http://bench/fhir"));
    let before = resident();
    let mut states: Vec<State> = (0..1_000)
        .map(|number| branch(base, &settings, number))
        .collect();
    let patients: Vec<Value> = population::population(10)
        .filter(|resource| resource["resourceType"] == "Patient")
        .collect();
    for state in &mut states {
        for patient in &patients {
            let path = format!("Patient/{}", patient["id"].as_str().expect("an id"));
            let request = Request::new(Method::PUT, &path, Timestamp::from_millis(1))
                .with_body(patient.to_string());
            assert!(state.apply(request).0.status.is_success());
        }
    }
    let grown = resident().saturating_sub(before);
    goal(
        "1,000 playgrounds, 10 updates each",
        &format!("{:.0} MB", mega(grown)),
        grown <= 500_000_000,
        "≤ 500 MB",
    );
    let (begin, before) = (Instant::now(), resident());
    // Many, so that the memory of one is more than what the allocator has lying about.
    let many: Vec<State> = (0..50_000)
        .map(|number| branch(base, &settings, number))
        .collect();
    let each = begin.elapsed() / 50_000;
    let grown = resident().saturating_sub(before) / 50_000;
    goal(
        "branch",
        &format!("{:.1} µs", each.as_secs_f64() * 1e6),
        each <= Duration::from_millis(1),
        "≤ 1 ms",
    );
    goal(
        "memory of a branch",
        &format!("{:.1} KB", grown as f64 / 1e3),
        grown <= 100_000,
        "≤ 100 KB",
    );
    drop(many);
}
