//! Measuring and printing.

use std::time::{Duration, Instant};

/// Microseconds of one call in the quickest of many short rounds: whatever else the machine does
/// disturbs some of them, not all.
pub(crate) fn time(mut call: impl FnMut()) -> f64 {
    let mut calls = 1u32;
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        let round = Instant::now();
        for _ in 0..calls {
            call();
        }
        let took = round.elapsed();
        best = best.min(took.as_secs_f64() * 1e6 / f64::from(calls));
        if took < Duration::from_millis(1) {
            calls *= 2;
        }
    }
    best
}

/// Bytes of memory that this process occupies.
pub(crate) fn resident() -> usize {
    let text = fs_err::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}

pub(crate) fn mega(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

pub(crate) fn setting(name: &str, default: f64) -> f64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

pub(crate) fn heading(text: &str) {
    print(&format!("\n{text}"));
}

pub(crate) fn line(name: &str, value: &str) {
    print(&format!("  {name:<38} {value}"));
}

pub(crate) fn goal(name: &str, value: &str, is_met: bool, wanted: &str) {
    let verdict = if is_met { "met" } else { "MISSED" };
    line(name, &format!("{value}   goal {wanted}: {verdict}"));
}

#[expect(clippy::print_stdout, reason = "a benchmark is there to print")]
pub(crate) fn print(text: &str) {
    println!("{text}");
}
