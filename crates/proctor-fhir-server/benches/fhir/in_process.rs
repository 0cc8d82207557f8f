//! Operations on a state, without HTTP and without a journal.

use std::{hint::black_box, sync::Arc, time::Instant};

use http::Method;
use proctor_core::time::Clock;
use proctor_fhir_store::{Base, Settings, State, rest::Request};
use proctor_store::ambient::SystemClock;

use crate::{
    operations::{Operation, operations, patient_body, transaction},
    playgrounds::branch,
    report::{heading, line, time},
};

/// Measures every operation on one thread.
pub(crate) fn measure(base: &Arc<Base>) {
    heading("in process, one thread, nothing recorded");
    let settings = Arc::new(Settings::at("http://bench/fhir"));
    let mut state = branch(base, &settings, 1);
    for operation in operations() {
        line(
            operation.name,
            &format!("{:.2} µs", micros(&state, &operation)),
        );
    }
    let body = patient_body();
    let create = Request::new(Method::POST, "Patient", SystemClock.now()).with_body(body);
    for _ in 0..100 {
        assert_eq!(state.apply(create.clone()).0.status, 201);
    }
    for operation in operations() {
        if operation.path.contains("_sort") {
            let cost = micros(&state, &operation);
            line("the same after 100 creates", &format!("{cost:.2} µs"));
        }
    }
    let cost = time(|| {
        assert_eq!(state.apply(create.clone()).0.status, 201);
    });
    line("create", &format!("{cost:.2} µs"));
    let mut state = branch(base, &settings, 2);
    let request = Request::new(Method::POST, "", SystemClock.now()).with_body(transaction(240));
    let begin = Instant::now();
    for _ in 0..20 {
        assert_eq!(state.apply(request.clone()).0.status, 200);
    }
    line(
        "transaction of 240 entries",
        &format!("{:.2} ms", begin.elapsed().as_secs_f64() * 1e3 / 20.0),
    );
}

fn micros(state: &State, operation: &Operation) -> f64 {
    let request = Request::new(Method::GET, &operation.path, SystemClock.now());
    let answer = state.answer(&request).expect("a read");
    operation.check(answer.status, &answer.body);
    time(|| {
        black_box(state.answer(black_box(&request)).expect("a read"));
    })
}
