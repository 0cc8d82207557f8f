//! What all boxes of a server may have together, whatever each of them may have by itself.

use std::path::Path;

use super::Role;

/// Limits over all boxes of a server. What is not said follows from the machine: boxes leave it a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TotalLimits {
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
}

impl TotalLimits {
    /// Limits the group at `parent`, which holds those of all boxes. A host that does not take a limit keeps what it has.
    pub(super) fn apply(&self, parent: &Path, role: Role) {
        let set = |file: &str, value: Option<u64>| {
            if let Some(value) = value {
                let _ = fs_err::write(parent.join(file), value.to_string());
            }
        };
        let above = parent.parent().unwrap_or(parent);
        match role {
            Role::KillAndFreeze | Role::Freezer | Role::Cpu => {}
            Role::Pids => set("pids.max", self.pids(above)),
            Role::Memory => set(
                "memory.limit_in_bytes",
                self.memory(&above.join("memory.limit_in_bytes")),
            ),
            Role::Unified => {
                set("pids.max", self.pids(above));
                set("memory.max", self.memory(&above.join("memory.max")));
            }
        }
    }

    /// Three quarters of all process numbers, unless somebody chose.
    fn pids(&self, above: &Path) -> Option<u64> {
        let all = [
            number(Path::new("/proc/sys/kernel/pid_max")),
            number(Path::new("/proc/sys/kernel/threads-max")),
            number(&above.join("pids.max")),
        ];
        self.pids
            .or_else(|| Some(all.into_iter().flatten().min()? * 3 / 4))
    }

    /// Seven eighths of the memory that the server may use, unless somebody chose.
    fn memory(&self, above: &Path) -> Option<u64> {
        let all = [machine_memory(), number(above)];
        self.memory_bytes
            .or_else(|| Some(all.into_iter().flatten().min()? / 8 * 7))
    }
}

/// The number in a file; none if it says `max`.
fn number(file: &Path) -> Option<u64> {
    fs_err::read_to_string(file).ok()?.trim().parse().ok()
}

fn machine_memory() -> Option<u64> {
    let text = fs_err::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_chose_leaves_the_machine_a_part() {
        let directory = tempfile::tempdir().unwrap();
        let limits = TotalLimits::default();
        let all = number(Path::new("/proc/sys/kernel/pid_max")).unwrap();
        assert!(limits.pids(directory.path()).unwrap() <= all * 3 / 4);
        let all = machine_memory().unwrap();
        let absent = directory.path().join("memory.max");
        assert!(limits.memory(&absent).unwrap() < all);
        // A server that is limited itself leaves a part of that.
        fs_err::write(directory.path().join("pids.max"), "1000\n").unwrap();
        fs_err::write(&absent, "8000000\n").unwrap();
        assert_eq!(limits.pids(directory.path()), Some(750));
        assert_eq!(limits.memory(&absent), Some(7_000_000));
        fs_err::write(directory.path().join("pids.max"), "max\n").unwrap();
        assert!(limits.pids(directory.path()).unwrap() > 1000);
    }

    #[test]
    fn what_somebody_chose_is_set() {
        let directory = tempfile::tempdir().unwrap();
        let limits = TotalLimits {
            pids: Some(77),
            memory_bytes: Some(1 << 20),
        };
        limits.apply(directory.path(), Role::Unified);
        let content = |file: &str| fs_err::read_to_string(directory.path().join(file)).unwrap();
        assert_eq!(
            (content("pids.max"), content("memory.max")),
            ("77".to_owned(), "1048576".to_owned())
        );
    }
}
