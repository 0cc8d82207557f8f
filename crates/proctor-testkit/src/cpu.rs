//! How much of the processors a process has used, as the kernel counts it.

use std::{ops::Sub, time::Duration};

/// The kernel's unit in `/proc/<pid>/stat` on every platform that we run on: a hundredth of a second. What is shown is rounded down to it,
/// so differences of a second and more are right to a few parts of a hundred.
const TICK: Duration = Duration::from_millis(10);

/// User and system time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Of the process itself, with all of its threads, also those that have ended.
    pub own: Duration,
    /// Of its children that have ended and that it has waited for, with theirs. The processes of boxes are not among them: they belong to
    /// a supervisor, which outlives the server.
    pub ended_children: Duration,
}

impl CpuTime {
    /// What a process has used so far; nothing for one that is not there.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        Self::parse(&stat)
    }

    fn parse(stat: &str) -> Self {
        // The name before it may have spaces and brackets.
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        let fields: Vec<&str> = after_name.split(' ').collect();
        let ticks = |field: usize| {
            // Fields are numbered from 1, and two are before these.
            let text = fields.get(field - 3).copied().unwrap_or_default();
            text.parse::<u32>().unwrap_or(0)
        };
        Self {
            own: TICK * (ticks(14) + ticks(15)),
            ended_children: TICK * (ticks(16) + ticks(17)),
        }
    }
}

/// What all processes of the machine have used of its processors so far.
///
/// # Panics
/// Where the kernel does not say.
#[must_use]
pub fn of_machine() -> Duration {
    let stat = fs_err::read_to_string("/proc/stat").expect("the kernel says");
    machine(&stat)
}

fn machine(stat: &str) -> Duration {
    let all = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    let fields = all.unwrap_or_default().split_whitespace();
    let fields: Vec<u32> = fields.map(|field| field.parse().unwrap_or(0)).collect();
    // All but waiting: idle and for disks. What guests use is counted as user time.
    let busy = fields.iter().take(8).enumerate();
    let busy = busy.filter(|(place, _)| !matches!(place, 3 | 4));
    TICK * busy.map(|(_, ticks)| ticks).sum::<u32>()
}

impl Sub for CpuTime {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            own: self.own.saturating_sub(earlier.own),
            ended_children: self.ended_children.saturating_sub(earlier.ended_children),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_any_name() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194304 100 200 0 0 150 50 30 20 20 0 4 0 100 1 1 0";
        let expected = CpuTime {
            own: Duration::from_secs(2),
            ended_children: Duration::from_millis(500),
        };
        assert_eq!(CpuTime::parse(stat), expected);
        let stat = "cpu  100 2 50 9000 800 3 5 40 7 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(machine(stat), Duration::from_secs(2));
        assert_eq!(CpuTime::of(u32::MAX), CpuTime::default());
    }
}
