//! Figures beside their goals.

/// Collects figures and prints them as one table.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<(String, String, String, bool)>,
}

impl Report {
    /// A ratio that should be at least `goal`.
    pub(crate) fn at_least(&mut self, what: &str, detail: &str, ratio: f64, goal: f64) {
        self.lines.push((
            what.to_owned(),
            format!("{ratio:.2} × ({detail})"),
            format!("≥ {goal} ×"),
            ratio >= goal,
        ));
    }

    /// A quantity that should be at most `goal`.
    pub(crate) fn at_most(&mut self, what: &str, value: f64, goal: f64, unit: &str) {
        self.lines.push((
            what.to_owned(),
            format!("{value:.1} {unit}"),
            format!("≤ {goal} {unit}"),
            value <= goal,
        ));
    }

    /// A figure without a goal.
    pub(crate) fn note(&mut self, what: &str, value: String) {
        self.lines
            .push((what.to_owned(), value, String::new(), true));
    }

    pub(crate) fn print(&self) {
        println!();
        for (what, value, goal, met) in &self.lines {
            let mark = if goal.is_empty() {
                ""
            } else if *met {
                "met"
            } else {
                "MISSED"
            };
            println!("{what:<48} {value:<52} {goal:<12} {mark}");
        }
    }
}

/// The middle of some measurements.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
