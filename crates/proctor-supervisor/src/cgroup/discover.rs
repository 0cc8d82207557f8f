//! Which control groups this host offers: found out by making one.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{BoxGroup, Role, TotalLimits, make};
use crate::spec::Limits;

/// A hierarchy in which boxes can have groups.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    pub role: Role,
    /// The group under which the boxes' groups are made.
    pub parent: PathBuf,
}

/// The hierarchies that this host offers.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// One for each role that is served.
    pub hierarchies: Vec<Hierarchy>,
    /// What all boxes may have together.
    pub totals: TotalLimits,
}

impl Groups {
    /// Tries every mounted hierarchy. `tag` tells the groups of this data directory from those of others.
    pub fn discover(tag: &str, totals: TotalLimits) -> Self {
        let mounts = fs_err::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs_err::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let name = format!("proctor-{tag}");
        let mut hierarchies: Vec<Hierarchy> = Vec::new();
        for mount in mounts.lines().filter_map(Mounted::parse) {
            for (role, own) in mount.roles(&own) {
                if hierarchies.iter().any(|known| known.role == role) {
                    continue;
                }
                if let Some(found) = nearest(&mount.at, &own, role, &name) {
                    hierarchies.push(found);
                }
            }
        }
        let has = |role| hierarchies.iter().any(|known| known.role == role);
        let (unified, killing) = (has(Role::Unified), has(Role::KillAndFreeze));
        let (hierarchies, unneeded) = hierarchies.into_iter().partition(|known| {
            known.role == Role::Unified || !unified && (known.role != Role::Freezer || !killing)
        });
        let unneeded = Self {
            hierarchies: unneeded,
            totals,
        };
        unneeded.remove_parents();
        let groups = Self {
            hierarchies,
            totals,
        };
        for known in &groups.hierarchies {
            totals.apply(&known.parent, known.role);
        }
        groups
    }

    /// Whether any of these roles is served.
    pub fn has(&self, wanted: &[Role]) -> bool {
        self.hierarchies
            .iter()
            .any(|known| wanted.contains(&known.role))
    }

    /// Whether processor time can be limited, which not every host hands down with the rest.
    pub fn limits_cpu(&self) -> bool {
        self.hierarchies.iter().any(|known| match known.role {
            Role::Cpu => true,
            Role::Unified => lists(&known.parent.join("cgroup.subtree_control"), "cpu"),
            Role::KillAndFreeze | Role::Freezer | Role::Memory | Role::Pids => false,
        })
    }

    /// The groups that a box with these limits needs. Where it has no limit of its own it is in the group of all boxes, whose limit holds for it too.
    pub fn for_box(&self, name: &str, limits: &Limits) -> Vec<BoxGroup> {
        let groups = self.hierarchies.iter().filter_map(|known| {
            let own = match known.role {
                Role::Unified | Role::KillAndFreeze | Role::Freezer => true,
                Role::Memory => limits.memory_bytes.is_some(),
                Role::Pids => limits.pids.is_some(),
                Role::Cpu if limits.cpu_millis.is_none() => return None,
                Role::Cpu => true,
            };
            let directory = match own {
                true => known.parent.join(name),
                false => known.parent.clone(),
            };
            Some(BoxGroup {
                role: known.role,
                directory,
                shared: !own,
            })
        });
        groups.collect()
    }

    /// The names of all groups of boxes that exist.
    pub fn existing(&self) -> Vec<BoxGroup> {
        let mut existing = Vec::new();
        for known in &self.hierarchies {
            let Ok(entries) = fs_err::read_dir(&known.parent) else {
                continue;
            };
            for entry in entries.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    existing.push(BoxGroup {
                        role: known.role,
                        directory: entry.path(),
                        shared: false,
                    });
                }
            }
        }
        existing
    }

    /// Removes the groups that hold the boxes' groups, if they are empty.
    pub fn remove_parents(&self) {
        for known in &self.hierarchies {
            // Another process may use it, or a box may still be there: then it stays.
            let _ = rustix::fs::rmdir(&known.parent);
        }
    }

    /// Makes the groups that hold the boxes' groups again, in case an empty one was removed.
    pub fn ensure_parents(&self) {
        for known in &self.hierarchies {
            let Ok(fresh) = make(&known.parent) else {
                continue;
            };
            if known.role == Role::Unified {
                let _ = enable_controllers(&known.parent);
            }
            if fresh {
                self.totals.apply(&known.parent, known.role);
            }
        }
    }
}

/// A line of `/proc/self/mountinfo` that is about control groups.
struct Mounted {
    at: PathBuf,
    root: String,
    version: u8,
    options: Vec<String>,
}

impl Mounted {
    fn parse(line: &str) -> Option<Self> {
        let (front, back) = line.split_once(" - ")?;
        let front: Vec<&str> = front.split(' ').collect();
        let back: Vec<&str> = back.split(' ').collect();
        let version = match *back.first()? {
            "cgroup" => 1,
            "cgroup2" => 2,
            _ => return None,
        };
        Some(Self {
            at: PathBuf::from(front.get(4)?),
            root: (*front.get(3)?).to_owned(),
            version,
            options: back.get(2)?.split(',').map(str::to_owned).collect(),
        })
    }

    /// What this hierarchy can do, with this process's own group in it, relative to the mount.
    fn roles(&self, own: &str) -> Vec<(Role, PathBuf)> {
        let own_group = |wanted: &dyn Fn(&str) -> bool| {
            own.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let controllers = parts.next()?;
                let path = parts.next()?;
                let path = path
                    .strip_prefix(self.root.trim_end_matches('/'))
                    .unwrap_or(path);
                wanted(controllers).then(|| PathBuf::from(path.trim_start_matches('/')))
            })
        };
        if self.version == 2 {
            let has = |name: &str| lists(&self.at.join("cgroup.controllers"), name);
            let role = if has("memory") && has("pids") {
                Role::Unified
            } else {
                Role::KillAndFreeze
            };
            return own_group(&str::is_empty)
                .map(|path| (role, path))
                .into_iter()
                .collect();
        }
        [
            ("freezer", Role::Freezer),
            ("memory", Role::Memory),
            ("pids", Role::Pids),
            ("cpu", Role::Cpu),
        ]
        .into_iter()
        .filter(|(name, _)| self.options.iter().any(|option| option == name))
        .filter_map(|(name, role)| {
            own_group(&|listed| listed.split(',').any(|known| known == name))
                .map(|path| (role, path))
        })
        .collect()
    }
}

/// Whether a file of words has this one.
fn lists(file: &Path, word: &str) -> bool {
    fs_err::read_to_string(file)
        .is_ok_and(|text| text.split_whitespace().any(|listed| listed == word))
}

/// The nearest group, from our own upwards, below which boxes can be limited.
fn nearest(mount: &Path, own: &Path, role: Role, name: &str) -> Option<Hierarchy> {
    own.ancestors().find_map(|above| {
        let above = mount.join(above);
        let parent = above.join(name);
        let fresh = !parent.exists();
        let usable = (role != Role::Unified || enable_controllers(&above).is_ok())
            && make(&parent).is_ok()
            && (role != Role::Unified || enable_controllers(&parent).is_ok())
            && try_group(&parent, role);
        if !usable && fresh {
            let _ = rustix::fs::rmdir(&parent);
        }
        usable.then_some(Hierarchy { role, parent })
    })
}

fn enable_controllers(group: &Path) -> io::Result<()> {
    fs_err::write(group.join("cgroup.subtree_control"), "+memory +pids")?;
    // Processor time cannot be delegated on hosts with realtime groups; the rest is still worth having.
    let _ = fs_err::write(group.join("cgroup.subtree_control"), "+cpu");
    Ok(())
}

/// Whether a group can be made, written to and removed here.
fn try_group(parent: &Path, role: Role) -> bool {
    let group = parent.join(format!("probe-{}", std::process::id()));
    let file = match role {
        Role::Unified => "memory.max",
        Role::KillAndFreeze => "cgroup.kill",
        Role::Freezer => "freezer.state",
        Role::Memory => "memory.limit_in_bytes",
        Role::Pids => "pids.max",
        Role::Cpu => "cpu.cfs_quota_us",
    };
    let usable = make(&group).is_ok()
        && rustix::fs::access(group.join(file), rustix::fs::Access::WRITE_OK).is_ok()
        && rustix::fs::access(group.join("cgroup.procs"), rustix::fs::Access::WRITE_OK).is_ok();
    let _ = rustix::fs::rmdir(&group);
    usable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_hierarchy_is_recognised_with_our_own_group_in_it() {
        let line =
            "31 23 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory";
        let mount = Mounted::parse(line).unwrap();
        let own = "4:memory:/a/b\n3:cpu,cpuacct:/\n0::/x\n";
        assert_eq!(mount.roles(own), [(Role::Memory, PathBuf::from("a/b"))]);
    }

    #[test]
    fn version_2_is_what_it_has_controllers_for() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().display();
        let line = format!("42 32 0:39 / {at} rw,nosuid shared:10 - cgroup2 cgroup2 rw,nsdelegate");
        let mount = Mounted::parse(&line).unwrap();
        for (controllers, role) in [
            (
                "cpuset cpu io memory hugetlb pids rdma misc\n",
                Role::Unified,
            ),
            ("memory pids\n", Role::Unified),
            ("cpu pids\n", Role::KillAndFreeze),
            ("hugetlb\n", Role::KillAndFreeze),
            ("", Role::KillAndFreeze),
        ] {
            fs_err::write(directory.path().join("cgroup.controllers"), controllers).unwrap();
            let own = "0::/user.slice/session\n";
            let expected = [(role, PathBuf::from("user.slice/session"))];
            assert_eq!(mount.roles(own), expected, "{controllers}");
        }
    }

    #[test]
    fn processor_time_is_limited_only_where_it_is_handed_down() {
        let directory = tempfile::tempdir().unwrap();
        let groups = |role| Groups {
            hierarchies: vec![Hierarchy {
                role,
                parent: directory.path().to_owned(),
            }],
            ..Groups::default()
        };
        let control = directory.path().join("cgroup.subtree_control");
        enable_controllers(directory.path()).unwrap();
        assert!(control.exists());
        fs_err::write(&control, "memory pids\n").unwrap();
        assert!(!groups(Role::Unified).limits_cpu());
        fs_err::write(&control, "cpu memory pids\n").unwrap();
        assert!(groups(Role::Unified).limits_cpu());
        assert!(!groups(Role::KillAndFreeze).limits_cpu());
        assert!(groups(Role::Cpu).limits_cpu());
    }

    #[test]
    fn a_line_about_another_file_system_is_passed_over() {
        assert!(Mounted::parse("23 1 254:0 / / rw - ext4 /dev/vda rw").is_none());
        assert!(Mounted::parse("garbage").is_none());
    }
}
