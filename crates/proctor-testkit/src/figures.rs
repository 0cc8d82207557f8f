//! What benchmarks measure, and how they print it: a figure beside its goal.

use std::{
    env, fmt,
    time::{Duration, Instant},
};

/// The parts of a benchmark that its arguments name; all of them if they name none.
pub struct Parts(Vec<String>);

impl Parts {
    /// As this process was called.
    #[must_use]
    pub fn wanted() -> Self {
        // Cargo's own word comes along.
        let named = env::args().skip(1).filter(|word| word != "--bench");
        Self(named.collect())
    }

    /// Whether a part is wanted.
    #[must_use]
    pub fn include(&self, part: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|named| named == part)
    }

    /// Everything that was named, in order.
    #[must_use]
    pub fn named(&self) -> &[String] {
        &self.0
    }
}

/// Collects figures and prints them as one table.
#[derive(Default)]
pub struct Report {
    lines: Vec<(String, String, String, bool)>,
}

impl Report {
    /// A ratio that should be at least `goal`.
    pub fn at_least(&mut self, what: &str, detail: &str, ratio: f64, goal: f64) {
        self.lines.push((
            what.to_owned(),
            format!("{ratio:.2} × ({detail})"),
            format!("≥ {goal} ×"),
            ratio >= goal,
        ));
    }

    /// A quantity that should be at most `goal`.
    pub fn at_most(&mut self, what: &str, value: f64, goal: f64, unit: &str) {
        self.lines.push((
            what.to_owned(),
            format!("{value:.1} {unit}"),
            format!("≤ {goal} {unit}"),
            value <= goal,
        ));
    }

    /// A figure without a goal.
    pub fn note(&mut self, what: &str, value: String) {
        self.lines
            .push((what.to_owned(), value, String::new(), true));
    }

    /// Prints the table.
    pub fn print(&self) {
        print("");
        for (what, value, goal, met) in &self.lines {
            let mark = if goal.is_empty() {
                ""
            } else if *met {
                "met"
            } else {
                "MISSED"
            };
            print(&format!("{what:<56} {value:<52} {goal:<12} {mark}"));
        }
    }
}

/// The middle of some measurements.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How long something took, again and again.
#[derive(Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Does the work and keeps how long it took.
    pub async fn measure<F: Future<Output = ()>>(&mut self, work: impl FnOnce() -> F) {
        let begun = Instant::now();
        work().await;
        self.push(begun.elapsed());
    }

    /// Keeps how long it took.
    pub fn push(&mut self, time: Duration) {
        let at = self.0.partition_point(|other| *other < time);
        self.0.insert(at, time);
    }

    /// Takes others over.
    pub fn append(&mut self, others: Self) {
        self.extend(others.0);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What `percent` of 100 took at most, in milliseconds.
    #[must_use]
    pub fn at(&self, percent: usize) -> f64 {
        let at = (self.0.len() * percent / 100).min(self.0.len() - 1);
        self.0[at].as_secs_f64() * 1e3
    }

    /// In milliseconds.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.at(50)
    }
}

impl Extend<Duration> for Times {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, times: I) {
        for time in times {
            self.push(time);
        }
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

/// Prints one figure at once.
pub fn line(what: &str, figure: &str) {
    print(&format!("{what:<62} {figure}"));
}

/// A time as people read it.
#[must_use]
pub fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// A quantity of memory as people read it.
#[must_use]
pub fn kilobytes(bytes: u64) -> String {
    format!("{} kB", bytes / 1024)
}

/// What the machine could still give, in bytes.
#[must_use]
pub fn available_memory() -> u64 {
    kernel_bytes("/proc/meminfo", "MemAvailable:")
}

/// What a process occupies, in bytes.
#[must_use]
pub fn resident_memory(pid: u32) -> u64 {
    kernel_bytes(&format!("/proc/{pid}/status"), "VmRSS:")
}

/// The memory of every process of such a name, what they share counted once, in bytes.
#[must_use]
pub fn shared_memory(is_counted: impl Fn(&str) -> bool) -> u64 {
    let processes = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .map(|entry| entry.path())
        .filter(|path| {
            fs_err::read_to_string(path.join("comm")).is_ok_and(|name| is_counted(name.trim()))
        })
        .map(|path| kernel_bytes(&path.join("smaps_rollup").to_string_lossy(), "Pss:"))
        .sum()
}

/// A field that the kernel gives in kilobytes; nothing for a process that has ended.
fn kernel_bytes(file: &str, name: &str) -> u64 {
    let text = fs_err::read_to_string(file).unwrap_or_default();
    let kilobytes = text.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.trim().strip_suffix("kB")?;
        value.trim().parse::<u64>().ok()
    });
    kilobytes.unwrap_or(0) * 1024
}

#[expect(clippy::print_stdout, reason = "a benchmark is there to print")]
fn print(text: &str) {
    println!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_by_their_rank_in_whatever_order_they_come() {
        let mut times = Times::default();
        times.extend([5, 1, 4, 2, 3].map(Duration::from_millis));
        assert_eq!(times.median(), 3.0);
        assert_eq!(times.at(95), 5.0);
        assert_eq!(times.to_string(), "3.00 / 5.00 ms (median / 95 of 100)");
    }

    #[test]
    fn this_process_occupies_memory_and_one_that_is_not_there_none() {
        assert!(resident_memory(std::process::id()) > 0);
        assert_eq!(resident_memory(u32::MAX), 0);
        assert!(available_memory() > 0);
    }
}
