//! What no backend can do, refused before anything is made.

use std::path::Path;

use crate::{
    error::{Error, Result},
    network::Network,
    spec::{BoxSpec, Limits, Shared, View, Volume},
};

/// How many directories of the host a box may see.
pub const MOST_SHARED: usize = 16;

/// Directories that are made anew for every box, where nothing of the host can be.
const MADE: &[&str] = &["dev", "proc", "sys"];

impl BoxSpec {
    /// Refuses a box that makes no sense anywhere. Every backend calls it first.
    pub fn check(&self) -> Result<()> {
        limits(&self.limits)?;
        if self.read_only.len() + self.volumes.len() > MOST_SHARED {
            return Err(invalid(format!(
                "at most {MOST_SHARED} directories of the host can be seen in a devbox"
            )));
        }
        if self.joins.is_some() && self.network != Network::None {
            let told = "a devbox in the network of another one reaches what that one reaches";
            return Err(invalid(told.to_owned()));
        }
        for volume in &self.volumes {
            volume.check()?;
        }
        let volumes = self.volumes.iter().map(|volume| volume.at.as_str());
        apart(volumes.chain(self.read_only.iter().map(|shared| shared.at.as_str())))?;
        directories(&self.read_only.iter().collect::<Vec<_>>())
    }
}

impl Volume {
    fn check(&self) -> Result<()> {
        let name = &self.name;
        let is_plain = (1..=64).contains(&name.len())
            && !name.starts_with('.')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        match is_plain {
            true => check_place(&self.at),
            false => Err(invalid(format!("{name:?} cannot be the name of a volume"))),
        }
    }
}

impl View {
    /// Refuses a view that makes no sense anywhere.
    pub fn check(&self) -> Result<()> {
        let all: Vec<&Shared> = self.read_only.iter().chain(&self.writable).collect();
        directories(&all)
    }
}

/// Refuses directories that cannot be seen in a box, or not beside each other.
fn directories(all: &[&Shared]) -> Result<()> {
    for shared in all {
        shared.check()?;
    }
    apart(all.iter().map(|shared| shared.at.as_str()))
}

/// Refuses paths of a box that are in each other's way.
fn apart<'p>(paths: impl Iterator<Item = &'p str>) -> Result<()> {
    let mut before: Vec<&str> = Vec::new();
    for one in paths {
        let overlaps =
            |other: &&&str| Path::new(other).starts_with(one) || Path::new(one).starts_with(other);
        if let Some(two) = before.iter().find(overlaps) {
            return Err(invalid(format!("{one} and {two} are in each other's way")));
        }
        before.push(one);
    }
    Ok(())
}

/// Refuses what cannot be the place of a directory in a box.
fn check_place(at: &str) -> Result<()> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && part.len() < 256;
    let usable = at.starts_with('/') && at.len() < 1024 && !at.contains('\0');
    let mut parts = at.split('/').skip(1);
    if !usable || !at.split('/').skip(1).all(plain) {
        return Err(invalid(format!(
            "{at:?} is not an absolute path without '.', '..' or empty parts"
        )));
    }
    match parts.next().is_some_and(|top| MADE.contains(&top)) {
        true => Err(invalid(format!("{at} belongs to the devbox itself"))),
        false => Ok(()),
    }
}

fn limits(limits: &Limits) -> Result<()> {
    let nothing_left = limits.cpu_millis == Some(0)
        || limits.memory_bytes == Some(0)
        || limits.pids == Some(0)
        || limits.disk_bytes == Some(0)
        || limits.disk_files == Some(0)
        || limits.open_files.is_some_and(|most| most < 8);
    if nothing_left {
        return Err(invalid("a limit leaves nothing to run with".to_owned()));
    }
    Ok(())
}

impl Shared {
    /// The parts of its path in the box, from the root on.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.at.split('/').skip(1)
    }

    fn check(&self) -> Result<()> {
        check_place(&self.at)?;
        let host = self.host.display();
        let directory = fs_err::canonicalize(&self.host)
            .map_err(|error| invalid(format!("{host} cannot be seen in a devbox: {error}")))?;
        if !self.host.is_absolute() || !directory.is_dir() {
            return Err(invalid(format!("{host} is not a directory")));
        }
        if directory == Path::new("/") {
            return Err(invalid("the host's root would show its secrets".to_owned()));
        }
        Ok(())
    }
}

fn invalid(why: String) -> Error {
    Error::Invalid(why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{name::BoxId, spec::Base};

    fn with(paths: &[&str]) -> BoxSpec {
        let mut spec = BoxSpec::new(BoxId::new("a").unwrap(), Base::Host);
        spec.read_only = paths
            .iter()
            .map(|at| Shared {
                host: "/usr".into(),
                at: (*at).to_owned(),
            })
            .collect();
        spec
    }

    #[test]
    fn a_path_that_is_not_plain_is_refused() {
        for at in [
            "", "/", "scorer", "//a", "/a/", "/a//b", "/a/./b", "/a/../b", "/..", "/a\0b",
            "/proc/x", "/dev", "/sys/a",
        ] {
            assert!(with(&[at]).check().is_err(), "{at:?}");
        }
        for at in ["/scorer", "/opt/a/b", "/procs", "/a.b/..c"] {
            assert!(with(&[at]).check().is_ok(), "{at:?}");
        }
    }

    #[test]
    fn paths_within_each_other_are_refused() {
        assert!(with(&["/a/b", "/a/c", "/ab"]).check().is_ok());
        assert!(with(&["/a", "/a"]).check().is_err());
        assert!(with(&["/a/b", "/a"]).check().is_err());
        assert!(with(&["/a", "/a/b/c"]).check().is_err());
    }

    #[test]
    fn what_is_no_directory_of_the_host_is_refused() {
        for host in [
            "/",
            "/usr/..",
            "/etc/passwd",
            "/no/such/directory",
            "usr",
            "",
        ] {
            let mut spec = with(&["/a"]);
            spec.read_only[0].host = host.into();
            assert!(spec.check().is_err(), "{host:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_stays_below_the_root(at in "[/a.\\PC]{0,20}") {
            if with(&[&at]).check().is_ok() {
                let parts: Vec<_> = Path::new(&at).components().skip(1).collect();
                prop_assert!(!parts.is_empty());
                prop_assert!(parts.iter().all(|part| matches!(part, std::path::Component::Normal(_))));
            }
        }
    }
}
