//! The process trees of executions: ended and suspended by control groups where there are any.
//!
//! Without them, processes are found by a mark in their environment, by their parents, and by the box's process
//! namespace. A program that hides from all of this is found no later than when the box ends.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal};

use super::first::First;
use crate::{name::ExecId, plan::Plan};

/// The variable that marks what belongs to an execution, where no control group does.
pub(super) const MARK: &str = "PROCTOR_EXECUTION";

/// Ends everything that the execution `id` started, which is in its `group`.
pub(super) fn kill(plan: &Plan, first: &First, id: &ExecId, group: &str, program: Option<Pid>) {
    if plan.can_kill() {
        for hierarchy in &plan.groups {
            let _ = hierarchy.kill(Some(group));
        }
        return;
    }
    let mark = format!("{MARK}={id}");
    let mut known: HashSet<Pid> = program.into_iter().collect();
    // Stopped processes do not fork, so what a round finds only grows; a few rounds find everything.
    for _ in 0..16 {
        let before = known.len();
        for process in of_box(first) {
            if known.contains(&process.parent) || process.is_marked(&mark) {
                known.insert(process.pid);
            }
        }
        for &pid in &known {
            let _ = rustix::process::kill_process(pid, Signal::STOP);
        }
        if known.len() == before {
            break;
        }
    }
    for &pid in &known {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Makes everything in the box stand still, or lets it go on.
pub(super) fn freeze(plan: &Plan, first: &First, frozen: bool) -> std::io::Result<()> {
    if plan.can_kill() {
        return plan
            .groups
            .iter()
            .try_for_each(|group| group.freeze(frozen));
    }
    let signal = if frozen { Signal::STOP } else { Signal::CONT };
    for process in of_box(first) {
        let _ = rustix::process::kill_process(process.pid, signal);
    }
    Ok(())
}

/// Whether any program is left in the box. `groups` are those that executions have left.
pub(super) fn anything_runs<'a>(
    plan: &Plan,
    first: &First,
    mut groups: impl Iterator<Item = &'a str>,
) -> bool {
    if plan.can_kill() {
        groups.any(|name| plan.groups.iter().any(|group| group.populated(name)))
    } else {
        !of_box(first).is_empty()
    }
}

/// Whether something lies in the box's memory that its first process would take along.
pub(super) fn memory_holds_files(first: &First) -> bool {
    let shared = format!("/proc/{}/root/dev/shm", first.pid.as_raw_nonzero());
    // Never through a link: somebody in the box may have made one of it.
    fs_err::symlink_metadata(&shared).is_ok_and(|found| found.is_dir())
        && fs_err::read_dir(&shared).is_ok_and(|mut entries| entries.next().is_some())
}

struct Process {
    pid: Pid,
    parent: Pid,
}

impl Process {
    fn is_marked(&self, mark: &str) -> bool {
        fs_err::read(format!("/proc/{}/environ", self.pid.as_raw_nonzero())).is_ok_and(|environ| {
            environ
                .split(|&byte| byte == 0)
                .any(|entry| entry == mark.as_bytes())
        })
    }
}

/// Every process of the box but the first.
fn of_box(first: &First) -> Vec<Process> {
    let space = |pid: Pid| fs_err::read_link(format!("/proc/{}/ns/pid", pid.as_raw_nonzero())).ok();
    // The first process hides, so its namespace is known by the descriptor that was opened before.
    let Ok(stat) = rustix::fs::fstat(&first.processes) else {
        return Vec::new();
    };
    let own = PathBuf::from(format!("pid:[{}]", stat.st_ino));
    let Ok(entries) = fs_err::read_dir(Path::new("/proc")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(|&pid| pid != first.pid && space(pid).as_ref() == Some(&own))
        .filter_map(|pid| {
            let stat =
                fs_err::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
            // The name in parentheses may hold anything, also parentheses.
            let parent = stat
                .rsplit_once(')')?
                .1
                .split_whitespace()
                .nth(1)?
                .parse()
                .ok()?;
            Some(Process {
                pid,
                parent: Pid::from_raw(parent).unwrap_or(Pid::INIT),
            })
        })
        .collect()
}
