//! Systems of a distribution, made by `debootstrap`.

use std::{
    fmt,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use super::Maker;
use crate::{
    documents::RunConfig,
    error::{Doing as _, ImageError},
    images::Progress,
};

/// A release of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    release: &'static Release,
    is_slim: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Release {
    distribution: &'static str,
    version: &'static str,
    suite: &'static str,
    /// The version of Python that it has.
    python: &'static str,
}

const RELEASES: &[Release] = &[
    Release {
        distribution: "debian",
        version: "11",
        suite: "bullseye",
        python: "3.9",
    },
    Release {
        distribution: "debian",
        version: "12",
        suite: "bookworm",
        python: "3.11",
    },
    Release {
        distribution: "debian",
        version: "13",
        suite: "trixie",
        python: "3.13",
    },
    Release {
        distribution: "ubuntu",
        version: "22.04",
        suite: "jammy",
        python: "3.10",
    },
    Release {
        distribution: "ubuntu",
        version: "24.04",
        suite: "noble",
        python: "3.12",
    },
];

/// How many lines of a failed program are told.
const TOLD_LINES: usize = 10;

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.release.distribution {
            "debian" => "Debian",
            _ => "Ubuntu",
        };
        write!(f, "{name} {}", self.release.version)
    }
}

impl System {
    /// What a tag of a distribution means.
    pub(super) fn named(distribution: &str, tag: &str) -> Option<Self> {
        let (tag, is_slim) = match tag.strip_suffix("-slim") {
            Some(tag) if distribution == "debian" => (tag, true),
            _ => (tag, false),
        };
        let release = RELEASES
            .iter()
            .filter(|one| one.distribution == distribution)
            .find(|one| one.version == tag || one.suite == tag)?;
        Some(Self { release, is_slim })
    }

    /// What images of it are called.
    pub(super) fn names(&self) -> Vec<String> {
        let Release {
            distribution,
            version,
            suite,
            ..
        } = self.release;
        let ending = if self.is_slim { "-slim" } else { "" };
        [version, suite]
            .map(|tag| format!("{distribution}:{tag}{ending}"))
            .into()
    }

    /// The version of Python that it has.
    pub(super) const fn python(&self) -> Option<&'static str> {
        Some(self.release.python)
    }

    pub(super) fn run_config(&self) -> RunConfig {
        RunConfig {
            env: vec![
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            ],
            cmd: vec!["bash".to_owned()],
            ..RunConfig::default()
        }
    }

    /// Makes the system in `root`, which is not there yet.
    pub(super) fn bootstrap(
        &self,
        root: &Path,
        packages: &[&str],
        maker: &Maker,
        progress: Progress<'_>,
    ) -> Result<(), ImageError> {
        let distribution = self.release.distribution;
        let mirror = maker.mirrors.get(distribution);
        if mirror.is_none() && distribution != "debian" {
            return Err(ImageError::invalid(format!(
                "{self} is made only from a mirror that is named: --mirror {distribution}=URL, or image-mirrors in the settings"
            )));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(ImageError::invalid(
                "only root can install packages into a directory; an image that was made elsewhere can be imported",
            ));
        }
        let mut command = Command::new(&maker.debootstrap);
        command.arg("--variant=minbase");
        if !packages.is_empty() {
            command.arg(format!("--include={}", packages.join(",")));
        }
        command.arg(self.release.suite).arg(root);
        command.args(mirror);
        run(command, progress)?;
        self.tidy(root)?;
        self.check(root)
    }

    /// Removes what installing leaves, and what a slim system does without.
    fn tidy(&self, root: &Path) -> Result<(), ImageError> {
        let always = ["var/cache/apt/archives", "var/lib/apt/lists"];
        let slim = [
            "usr/share/doc",
            "usr/share/man",
            "usr/share/info",
            "usr/share/locale",
        ];
        let doomed = always
            .iter()
            .chain(if self.is_slim { &slim[..] } else { &[] });
        for path in doomed {
            let path = root.join(path);
            if fs_err::symlink_metadata(&path).is_ok_and(|it| it.is_dir()) {
                crate::store::remove_tree(&path).doing("removing what is not needed")?;
                fs_err::create_dir(&path).doing("removing what is not needed")?;
            }
        }
        Ok(())
    }

    /// The system must be what its name says.
    fn check(&self, root: &Path) -> Result<(), ImageError> {
        let path = root.join("etc/os-release");
        let text = fs_err::read_to_string(&path).doing("reading what was made")?;
        let member = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim_matches('"').to_owned()
        };
        let (id, version) = (member("ID="), member("VERSION_ID="));
        let Release {
            distribution,
            version: wanted,
            ..
        } = self.release;
        if id == *distribution && version == *wanted {
            return Ok(());
        }
        Err(ImageError::invalid(format!(
            "what was made is {id} {version}, not {distribution} {wanted}"
        )))
    }
}

/// Runs a program and tells what it says.
fn run(mut command: Command, progress: Progress<'_>) -> Result<(), ImageError> {
    let program = command.get_program().to_string_lossy().into_owned();
    progress(format!("running {program}"));
    let spawned = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => ImageError::Missing(format!(
            "there is no program '{program}' on this machine; the distribution's package of that name has it"
        )),
        _ => ImageError::io(format!("running {program}"), error),
    })?;
    let mut last: Vec<String> = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line.doing(format!("running {program}"))?;
            progress(line.clone());
            last.push(line);
            if last.len() > TOLD_LINES {
                last.remove(0);
            }
        }
    }
    let status = child.wait().doing(format!("running {program}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(ImageError::invalid(format!(
            "{program} failed ({status}): {}",
            last.join("\n")
        ))),
    }
}
