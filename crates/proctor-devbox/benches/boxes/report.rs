//! Figures and how they are printed.

use std::{
    fmt,
    time::{Duration, Instant},
};

/// How long something took, again and again.
#[derive(Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) async fn measure<F: Future<Output = ()>>(&mut self, work: impl FnOnce() -> F) {
        let begun = Instant::now();
        work().await;
        self.push(begun.elapsed());
    }

    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
        self.0.sort();
    }

    fn at(&self, percent: usize) -> f64 {
        let at = (self.0.len() * percent / 100).min(self.0.len() - 1);
        self.0[at].as_secs_f64() * 1e3
    }

    /// In milliseconds.
    pub(crate) fn median(&self) -> f64 {
        self.at(50)
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} / {:.2} ms (median / 95 of 100)",
            self.at(50),
            self.at(95)
        )
    }
}

pub(crate) fn line(what: &str, figure: &str) {
    println!("{what:<62} {figure}");
}

pub(crate) fn kilobytes(bytes: u64) -> String {
    format!("{} kB", bytes / 1024)
}

fn field(text: &str, name: &str) -> u64 {
    text.lines()
        .find_map(|line| {
            line.strip_prefix(name)?
                .trim()
                .strip_suffix("kB")?
                .trim()
                .parse::<u64>()
                .ok()
        })
        .unwrap_or(0)
        * 1024
}

/// What the machine could still give.
pub(crate) fn available_memory() -> u64 {
    field(
        &fs_err::read_to_string("/proc/meminfo").unwrap(),
        "MemAvailable:",
    )
}

/// The memory of every supervisor and first process, what they share counted once.
pub(crate) fn supervisors_pss() -> u64 {
    fs_err::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            fs_err::read_to_string(entry.path().join("comm"))
                .is_ok_and(|name| matches!(name.trim(), "proctor-box" | "box"))
        })
        .map(|entry| {
            field(
                &fs_err::read_to_string(entry.path().join("smaps_rollup")).unwrap_or_default(),
                "Pss:",
            )
        })
        .sum()
}
