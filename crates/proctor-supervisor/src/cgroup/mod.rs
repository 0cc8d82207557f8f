//! Control groups: limits, ending and suspending everything in a box at once.
//!
//! The server finds out once what the host offers ([`Groups::discover`]: it makes a group and tries); each box gets a group in
//! every useful hierarchy ([`BoxGroup`]), and each execution one below it in the hierarchy that can kill. Boxes are put below the
//! server's own group wherever possible, so that they never escape a limit that the server is under.

mod discover;
mod totals;

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

pub use discover::Groups;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
pub use totals::TotalLimits;

use crate::{record::Usage, spec::Limits};

/// What a hierarchy does for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Version 2 with controllers: everything in one group.
    Unified,
    /// Version 2 without controllers, beside version 1: it can kill and freeze.
    KillAndFreeze,
    /// Version 1: it can freeze.
    Freezer,
    /// Version 1: memory.
    Memory,
    /// Version 1: number of processes.
    Pids,
    /// Version 1: processor time.
    Cpu,
}

/// Makes a group, and says whether it was not there.
fn make(group: &Path) -> io::Result<bool> {
    match rustix::fs::mkdir(group, Mode::from_raw_mode(0o755)) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// A box's group in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxGroup {
    /// What the group is for.
    pub role: Role,
    /// Where the group is.
    pub directory: PathBuf,
    /// Whether it is that of all boxes: this one has no limit of its own here, and is under theirs.
    #[serde(default)]
    pub shared: bool,
}

impl BoxGroup {
    /// Whether executions get groups of their own below this one.
    fn has_executions(&self) -> bool {
        matches!(
            self.role,
            Role::Unified | Role::KillAndFreeze | Role::Freezer
        )
    }

    /// Makes the group and sets the limits that it is there for.
    pub fn create(&self, limits: &Limits) -> io::Result<()> {
        if self.shared {
            return Ok(());
        }
        make(&self.directory)?;
        let set = |file: &str, value: String| fs_err::write(self.directory.join(file), value);
        match self.role {
            Role::KillAndFreeze | Role::Freezer => {}
            Role::Memory => {
                if let Some(bytes) = limits.memory_bytes {
                    set("memory.limit_in_bytes", bytes.to_string())?;
                }
            }
            Role::Pids => {
                if let Some(most) = limits.pids {
                    set("pids.max", most.to_string())?;
                }
            }
            Role::Cpu => {
                if let Some(millis) = limits.cpu_millis {
                    set("cpu.cfs_period_us", CPU_PERIOD.to_string())?;
                    set("cpu.cfs_quota_us", cpu_quota(millis).to_string())?;
                }
            }
            Role::Unified => {
                if let Some(bytes) = limits.memory_bytes {
                    set("memory.max", bytes.to_string())?;
                    // Hosts without swap accounting have no such file, and then nothing to limit.
                    let _ = set("memory.swap.max", "0".to_owned());
                }
                if let Some(most) = limits.pids {
                    set("pids.max", most.to_string())?;
                }
                // Not every host hands processor time down; the box's record says so then.
                if let Some(millis) = limits.cpu_millis
                    && self.directory.join("cpu.max").exists()
                {
                    set("cpu.max", format!("{} {CPU_PERIOD}", cpu_quota(millis)))?;
                }
            }
        }
        Ok(())
    }

    /// The way into the group below this one called `name`, made if it is not there; into this one, if executions have none here.
    pub fn door(&self, name: &str) -> io::Result<Door> {
        let group = if self.has_executions() {
            let group = self.directory.join(name);
            make(&group)?;
            group
        } else {
            self.directory.clone()
        };
        let open = |path: &Path, flags| {
            Ok(rustix::fs::open(
                path,
                flags | OFlags::CLOEXEC,
                Mode::empty(),
            )?)
        };
        match self.role {
            Role::Unified | Role::KillAndFreeze => {
                open(&group, OFlags::RDONLY | OFlags::DIRECTORY).map(Door::Born)
            }
            Role::Freezer | Role::Memory | Role::Pids | Role::Cpu => {
                open(&group.join("tasks"), OFlags::WRONLY).map(Door::Join)
            }
        }
    }

    /// Whether this group can end and suspend processes.
    pub fn holds_executions(&self) -> bool {
        self.has_executions()
    }

    /// Ends every process in the group below this one called `name`, or everywhere in it.
    pub fn kill(&self, name: Option<&str>) -> io::Result<()> {
        let group = name.map_or_else(|| self.directory.clone(), |name| self.directory.join(name));
        if !group.exists() {
            return Ok(());
        }
        match self.role {
            Role::Unified | Role::KillAndFreeze => fs_err::write(group.join("cgroup.kill"), "1"),
            Role::Freezer => kill_by_freezer(&group),
            Role::Memory | Role::Pids | Role::Cpu => Ok(()),
        }
    }

    /// Makes every process in the box stand still, or lets them go on.
    pub fn freeze(&self, frozen: bool) -> io::Result<()> {
        match self.role {
            Role::Unified | Role::KillAndFreeze => {
                fs_err::write(
                    self.directory.join("cgroup.freeze"),
                    if frozen { "1" } else { "0" },
                )?;
                wait_until(|| {
                    let events = fs_err::read_to_string(self.directory.join("cgroup.events"))?;
                    Ok(events.contains("frozen 1") == frozen)
                })
            }
            Role::Freezer => {
                let wanted = if frozen { "FROZEN" } else { "THAWED" };
                fs_err::write(self.directory.join("freezer.state"), wanted)?;
                wait_until(|| {
                    let state = fs_err::read_to_string(self.directory.join("freezer.state"))?;
                    Ok(state.trim() == wanted)
                })
            }
            Role::Memory | Role::Pids | Role::Cpu => Ok(()),
        }
    }

    /// Whether any process is in the group below this one called `name`.
    pub fn populated(&self, name: &str) -> bool {
        fs_err::read_to_string(self.directory.join(name).join("cgroup.procs"))
            .is_ok_and(|procs| !procs.trim().is_empty())
    }

    /// How many times the kernel ended a process here for want of memory.
    pub fn out_of_memory_kills(&self) -> Option<u64> {
        if self.shared {
            return None;
        }
        let file = match self.role {
            Role::Unified => "memory.events",
            Role::Memory => "memory.oom_control",
            Role::KillAndFreeze | Role::Freezer | Role::Pids | Role::Cpu => return None,
        };
        field(
            &fs_err::read_to_string(self.directory.join(file)).ok()?,
            "oom_kill",
        )
    }

    /// Adds what this hierarchy counts.
    pub fn usage(&self, usage: &mut Usage) {
        if self.shared {
            return;
        }
        let read = |file: &str| fs_err::read_to_string(self.directory.join(file)).ok();
        let number = |file: &str| read(file).and_then(|text| text.trim().parse::<u64>().ok());
        match self.role {
            Role::KillAndFreeze | Role::Freezer | Role::Cpu => {}
            Role::Memory => usage.memory_bytes = number("memory.usage_in_bytes"),
            Role::Pids => usage.pids = number("pids.current"),
            Role::Unified => {
                usage.memory_bytes = number("memory.current");
                usage.pids = number("pids.current");
            }
        }
        if let Some(micros) = self.cpu_micros() {
            usage.cpu_micros = Some(micros);
        }
    }

    /// Processor time that was used here, if this hierarchy counts it.
    pub fn cpu_micros(&self) -> Option<u64> {
        match self.role {
            Role::Unified | Role::KillAndFreeze => {
                let text = fs_err::read_to_string(self.directory.join("cpu.stat")).ok()?;
                field(&text, "usage_usec")
            }
            Role::Freezer | Role::Memory | Role::Pids | Role::Cpu => None,
        }
    }

    /// Removes the group below this one called `name` if nothing is in it.
    pub fn remove_execution(&self, name: &str) -> bool {
        !self.has_executions() || rustix::fs::rmdir(self.directory.join(name)).is_ok()
    }

    /// Ends what is left in the group and removes it with everything below.
    pub fn remove(&self) -> io::Result<()> {
        if self.shared || !self.directory.exists() {
            return Ok(());
        }
        let _ = self.kill(None);
        if self.role == Role::Freezer {
            // In version 1 a frozen process dies only when it may go on.
            let _ = fs_err::write(self.directory.join("freezer.state"), "THAWED");
        }
        wait_until(|| Ok(remove_tree(&self.directory)))
    }
}

/// A way into a control group.
#[derive(Debug)]
pub enum Door {
    /// A process is born into it.
    Born(OwnedFd),
    /// A process of one thread joins by moving that thread: by writing 0 here itself. It is the list of threads and not that of processes, because
    /// for a whole process, and for anybody else's thread, the kernel takes a lock that waits until every processor has come by: for some milliseconds,
    /// in which nobody on the machine can start or end a process.
    Join(OwnedFd),
}

/// The ways into all groups of a box.
#[derive(Debug)]
pub struct Doors(Vec<Door>);

impl Doors {
    /// The ways into the groups called `name` below `groups`.
    pub fn open<'a>(
        groups: impl IntoIterator<Item = &'a BoxGroup>,
        name: &str,
    ) -> io::Result<Self> {
        let doors = groups.into_iter().map(|group| group.door(name));
        doors.collect::<io::Result<_>>().map(Self)
    }

    /// The group to be born into.
    pub fn birth(&self) -> Option<BorrowedFd<'_>> {
        self.0.iter().find_map(|door| match door {
            Door::Born(group) => Some(group.as_fd()),
            Door::Join(_) => None,
        })
    }

    /// Puts the process with this number, 0 for the own one, into the groups that are joined.
    pub fn join(&self, pid: i32) -> rustix::io::Result<()> {
        for door in &self.0 {
            if let Door::Join(procs) = door {
                rustix::io::write(procs, pid.to_string().as_bytes())?;
            }
        }
        Ok(())
    }
}

const CPU_PERIOD: u64 = 100_000;

fn cpu_quota(millis: u32) -> u64 {
    // The kernel refuses less than a millisecond per period.
    (u64::from(millis) * CPU_PERIOD / 1000).max(1000)
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

/// Waits for the kernel to finish what it was told; it takes microseconds, or for ever if something is wrong.
fn wait_until(mut done: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let mut pause = Duration::from_micros(20);
    for _ in 0..400 {
        if done()? {
            return Ok(());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn remove_tree(group: &Path) -> bool {
    if rustix::fs::rmdir(group).is_ok() || !group.exists() {
        return true;
    }
    if let Ok(entries) = fs_err::read_dir(group) {
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_tree(&entry.path());
            }
        }
    }
    rustix::fs::rmdir(group).is_ok()
}

/// Without `cgroup.kill`: stop everything, so that nothing can fork away, then end it and let it go.
fn kill_by_freezer(group: &Path) -> io::Result<()> {
    let state = group.join("freezer.state");
    fs_err::write(&state, "FROZEN")?;
    let mut groups = vec![group.to_owned()];
    while let Some(group) = groups.pop() {
        for pid in fs_err::read_to_string(group.join("cgroup.procs"))?.lines() {
            if let Some(pid) = pid.parse().ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        for entry in fs_err::read_dir(&group)?.flatten() {
            if entry.file_type()?.is_dir() {
                groups.push(entry.path());
            }
        }
    }
    fs_err::write(&state, "THAWED")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with the files that a group of version 2 has.
    fn version_2(files: &[(&str, &str)]) -> (tempfile::TempDir, BoxGroup) {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs_err::write(directory.path().join(name), content).unwrap();
        }
        let group = BoxGroup {
            role: Role::Unified,
            directory: directory.path().to_owned(),
            shared: false,
        };
        (directory, group)
    }

    fn content(group: &BoxGroup, file: &str) -> String {
        fs_err::read_to_string(group.directory.join(file)).unwrap()
    }

    const LIMITS: Limits = Limits {
        cpu_millis: Some(1500),
        memory_bytes: Some(64 << 20),
        pids: Some(20),
        disk_bytes: None,
        disk_files: None,
        open_files: None,
    };

    #[test]
    fn a_group_of_version_2_holds_all_limits() {
        let (_directory, group) = version_2(&[("cpu.max", "max 100000")]);
        group.create(&LIMITS).unwrap();
        assert_eq!(content(&group, "memory.max"), "67108864");
        assert_eq!(content(&group, "memory.swap.max"), "0");
        assert_eq!(content(&group, "pids.max"), "20");
        assert_eq!(content(&group, "cpu.max"), "150000 100000");
    }

    #[test]
    fn a_group_of_version_2_without_processor_time_has_the_other_limits() {
        let (_directory, group) = version_2(&[]);
        group.create(&LIMITS).unwrap();
        assert_eq!(content(&group, "pids.max"), "20");
        assert!(!group.directory.join("cpu.max").exists());
    }

    #[test]
    fn a_group_of_version_2_says_what_is_used_and_who_was_ended() {
        let (_directory, group) = version_2(&[
            ("memory.current", "4096\n"),
            ("pids.current", "3\n"),
            ("cpu.stat", "usage_usec 77\nuser_usec 50\n"),
            ("memory.events", "low 0\noom 2\noom_kill 1\n"),
        ]);
        let mut usage = Usage::default();
        group.usage(&mut usage);
        assert_eq!(usage.memory_bytes, Some(4096));
        assert_eq!(usage.pids, Some(3));
        assert_eq!(usage.cpu_micros, Some(77));
        assert_eq!(group.out_of_memory_kills(), Some(1));
    }

    #[test]
    fn a_group_of_version_2_is_frozen_and_ended_by_its_own_files() {
        let (_directory, group) = version_2(&[("cgroup.events", "populated 1\nfrozen 1\n")]);
        group.freeze(true).unwrap();
        assert_eq!(content(&group, "cgroup.freeze"), "1");
        fs_err::create_dir(group.directory.join("x-1")).unwrap();
        group.kill(Some("x-1")).unwrap();
        assert_eq!(content(&group, "x-1/cgroup.kill"), "1");
        assert!(matches!(group.door("x-2").unwrap(), Door::Born(_)));
        fs_err::write(group.directory.join("x-2/cgroup.procs"), "12\n").unwrap();
        assert!(group.populated("x-2"));
        assert!(!group.populated("x-1"));
    }

    #[test]
    fn a_share_of_a_processor_becomes_a_quota() {
        assert_eq!(cpu_quota(500), 50_000);
        assert_eq!(cpu_quota(1), 1000);
        assert_eq!(cpu_quota(4000), 400_000);
    }
}
