//! How the cost of selective searches grows with the base: it should not.

use std::{hint::black_box, sync::Arc};

use http::Method;
use proctor_core::time::Clock;
use proctor_fhir_store::{Settings, rest::Request};
use proctor_store::ambient::SystemClock;

use crate::{
    playgrounds::{branch, make_base},
    population,
    report::{heading, line, time},
};

/// Selective searches at three sizes.
pub(crate) fn measure() {
    heading("how cost grows (in process)");
    let settings = Arc::new(Settings::at("http://bench/fhir"));
    for patients in [770, 7_700, 77_000] {
        let base = make_base(patients, false);
        let state = branch(&base, &settings, 1);
        let group = patients / population::PER_GROUP / 2;
        let birth = jiff::civil::date(1930, 1, 1)
            + jiff::Span::new().days(i64::try_from(group).expect("a small number"));
        let number = patients / 2;
        let paths = [
            ("read", format!("Patient/p{number}")),
            ("token", format!("Patient?identifier=urn:group%7CG{group}")),
            (
                "string",
                format!("Patient?family={}", population::base26(group)),
            ),
            ("date", format!("Patient?birthdate={birth}")),
            ("reference", format!("Observation?patient=p{number}")),
            (
                "chain",
                format!("Observation?patient.identifier=urn:mrn%7CMRN{number:07}"),
            ),
        ];
        let costs: Vec<String> = paths
            .iter()
            .map(|(name, path)| {
                let request = Request::new(Method::GET, path, SystemClock.now());
                let micros = time(|| {
                    black_box(state.answer(black_box(&request)).expect("a read"));
                });
                format!("{name} {micros:.1}")
            })
            .collect();
        line(
            &format!("{} resources", base.len()),
            &format!("{} µs", costs.join(", ")),
        );
    }
}
