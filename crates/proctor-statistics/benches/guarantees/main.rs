//! What the methods promise, simulated, beside their bounds; and what they cost.
//!
//! `cargo bench -p proctor-statistics` prints one line for each promise and ends with 1 if a bound is missed. The generator is seeded, so
//! every run prints the same shares. `cargo bench -p proctor-statistics -- coverage` runs only the checks whose name contains the word.
#![expect(
    clippy::print_stdout,
    reason = "a benchmark prints its table, and nobody else writes there"
)]

mod agents;
mod errors;
mod population;
mod rounds;
mod speed;

use std::{ops::RangeInclusive, process::ExitCode};

/// A figure and the bound it must keep.
pub(crate) struct Check {
    what: String,
    value: f64,
    bound: RangeInclusive<f64>,
    unit: &'static str,
}

impl Check {
    /// A share in percent.
    pub(crate) fn share(what: impl Into<String>, share: f64, bound: RangeInclusive<f64>) -> Self {
        Self {
            what: what.into(),
            value: 100.0 * share,
            bound,
            unit: "%",
        }
    }

    /// Any other figure.
    pub(crate) fn figure(
        what: impl Into<String>,
        value: f64,
        bound: RangeInclusive<f64>,
        unit: &'static str,
    ) -> Self {
        Self {
            what: what.into(),
            value,
            bound,
            unit,
        }
    }

    fn is_met(&self) -> bool {
        self.bound.contains(&self.value)
    }

    fn print(&self) {
        let (least, most) = (*self.bound.start(), *self.bound.end());
        let bound = match (least > 0.0, most < 100.0 || self.unit != "%") {
            (true, true) => format!("{least} to {most}"),
            (true, false) => format!("≥ {least}"),
            (false, _) => format!("≤ {most}"),
        };
        let mark = if self.is_met() { "met" } else { "MISSED" };
        println!(
            "{:<88} {:>8.2} {:<7} {:<14} {mark}",
            self.what, self.value, self.unit, bound
        );
    }
}

/// A group of checks by name.
type Group = (&'static str, fn() -> Vec<Check>);

fn main() -> ExitCode {
    let groups: [Group; 12] = [
        ("same agent twice", errors::same_agent_twice),
        ("coverage", errors::coverage),
        ("false pass", errors::false_pass),
        ("clusters", errors::clusters),
        ("power", errors::power),
        ("looks", rounds::looks),
        ("if_equal", rounds::if_equal),
        ("board", agents::equal_agents),
        ("order", agents::order),
        ("swap", agents::swap),
        ("speed of a comparison", speed::comparison),
        ("speed of a board", speed::board),
    ];
    // Cargo's own word comes along.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let mut all_met = true;
    for (name, checks) in groups {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word)) {
            continue;
        }
        for check in checks() {
            check.print();
            all_met &= check.is_met();
        }
    }
    match all_met {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
