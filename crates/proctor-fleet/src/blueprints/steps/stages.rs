//! Which stages of a Dockerfile are needed, and what each builds on.

use std::collections::{BTreeMap, BTreeSet};

use proctor_images::Platform;

use super::super::dockerfile::{Argument, Dockerfile, DockerfileError, Instruction, Stage, expand};

/// What a stage builds on, or copies from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A stage before it, by its number.
    Stage(usize),
    /// An image or a blueprint, by its name, with the line that names it.
    Image(usize, String),
}

/// The stages that a build needs.
#[derive(Clone, Debug)]
pub(crate) struct Needed {
    /// What each needed stage builds on, by its number.
    pub(crate) bases: BTreeMap<usize, Origin>,
    /// Images that are only copied from, with the line that names them.
    pub(crate) copied: Vec<(usize, String)>,
    /// The stage whose result is the image.
    pub(crate) target: usize,
}

impl Needed {
    /// Every image, with the first line that names it.
    pub(crate) fn images(&self) -> BTreeMap<&str, usize> {
        let bases = self.bases.values().filter_map(|base| match base {
            Origin::Image(line, name) => Some((*line, name)),
            Origin::Stage(_) => None,
        });
        let copied = self.copied.iter().map(|(line, name)| (*line, name));
        let mut images = BTreeMap::new();
        for (line, name) in bases.chain(copied) {
            images.entry(name.as_str()).or_insert(line);
        }
        images
    }
}

/// What `COPY --from` means in a stage.
pub(crate) fn copied_from(
    dockerfile: &Dockerfile,
    stage: usize,
    line: usize,
    name: &str,
) -> Origin {
    match dockerfile.stage_named(name, stage) {
        Some(number) => Origin::Stage(number),
        None => Origin::Image(line, name.to_owned()),
    }
}

/// The stages that the target needs, itself included. Others are never looked at.
pub(crate) fn needed(
    dockerfile: &Dockerfile,
    build_args: &BTreeMap<String, String>,
    target: Option<&str>,
) -> Result<Needed, DockerfileError> {
    let globals = global_arguments(dockerfile, build_args)?;
    let count = dockerfile.stages.len();
    let target = match target {
        None => count - 1,
        Some(name) => dockerfile
            .stage_named(name, count)
            .ok_or_else(|| DockerfileError::at(1, format!("there is no stage '{name}'")))?,
    };
    let (mut bases, mut copied) = (BTreeMap::new(), Vec::new());
    let mut wanted = BTreeSet::from([target]);
    // Stages know only those before them.
    while let Some(number) = wanted.pop_last() {
        let stage = &dockerfile.stages[number];
        let base = base(dockerfile, number, stage, &globals)?;
        if let Origin::Stage(below) = base {
            wanted.insert(below);
        }
        bases.insert(number, base);
        for located in &stage.instructions {
            let (Instruction::Copy(transfer) | Instruction::Add(transfer)) = &located.instruction
            else {
                continue;
            };
            let Some(name) = &transfer.from else { continue };
            match copied_from(dockerfile, number, located.line, name) {
                Origin::Stage(number) => drop(wanted.insert(number)),
                Origin::Image(line, name) => copied.push((line, name)),
            }
        }
    }
    Ok(Needed {
        bases,
        copied,
        target,
    })
}

fn base(
    dockerfile: &Dockerfile,
    number: usize,
    stage: &Stage,
    globals: &BTreeMap<String, String>,
) -> Result<Origin, DockerfileError> {
    let refuse = |message: String| DockerfileError::at(stage.line, message);
    let expanded = |word: &str| expand(word, &|name| global(globals, name)).map_err(refuse);
    let image = expanded(&stage.from)?;
    if image.is_empty() {
        return Err(refuse("FROM without an image".to_owned()));
    }
    if let Some(platform) = &stage.platform {
        let wanted = expanded(platform)?;
        check_platform(&wanted).map_err(refuse)?;
    }
    if image == "scratch" {
        return Err(refuse(
            "FROM scratch: a stage without a shell cannot be built here; what others copy from it can be copied from an image".to_owned(),
        ));
    }
    // A number is no name of a stage here, only in COPY --from.
    let named = dockerfile.stages[..number]
        .iter()
        .position(|other| other.name.as_deref() == Some(image.to_ascii_lowercase().as_str()));
    Ok(match named {
        Some(number) => Origin::Stage(number),
        None => Origin::Image(stage.line, image),
    })
}

/// `linux/amd64` on such a machine, and what means the same.
fn check_platform(wanted: &str) -> Result<(), String> {
    let host = Platform::host();
    let mut parts = wanted.split('/');
    let os = parts.next().unwrap_or_default();
    let architecture = match parts.next().unwrap_or_default() {
        "x86_64" | "x86-64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let architecture_fits = architecture == host.architecture
        // The architecture alone, or the system alone.
        || (architecture.is_empty() && (os == host.os || os == host.architecture));
    let fits = architecture_fits && (os == host.os || os == host.architecture);
    match fits {
        true => Ok(()),
        false => Err(format!(
            "the platform {wanted} is not this server's, which is {host}"
        )),
    }
}

/// Arguments that are declared before `FROM`, with their values.
pub(crate) fn global_arguments(
    dockerfile: &Dockerfile,
    build_args: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, DockerfileError> {
    let mut globals = BTreeMap::new();
    for (line, argument) in &dockerfile.before {
        let known = globals.clone();
        let value = match build_args.get(&argument.name) {
            Some(given) => Some(given.clone()),
            None => default_of(argument, *line, &|name| global(&known, name))?,
        };
        globals.extend(value.map(|value| (argument.name.clone(), value)));
    }
    Ok(globals)
}

/// What a name means outside of stages.
fn global(globals: &BTreeMap<String, String>, name: &str) -> Option<String> {
    globals
        .get(name)
        .cloned()
        .or_else(|| platform_argument(name))
}

/// Arguments that every build has: what it builds on and for.
pub(crate) fn platform_argument(name: &str) -> Option<String> {
    let host = Platform::host();
    let of = name
        .strip_prefix("TARGET")
        .or_else(|| name.strip_prefix("BUILD"))?;
    match of {
        "PLATFORM" => Some(host.to_string()),
        "OS" => Some(host.os),
        "ARCH" => Some(host.architecture),
        "VARIANT" => Some(String::new()),
        _ => None,
    }
}

pub(crate) fn default_of(
    argument: &Argument,
    line: usize,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, DockerfileError> {
    argument
        .default
        .as_ref()
        .map(|word| expand(word, lookup).map_err(|message| DockerfileError::at(line, message)))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Needed, DockerfileError> {
        needed(&Dockerfile::parse(text).unwrap(), &BTreeMap::new(), None)
    }

    #[test]
    fn only_stages_that_the_last_one_needs_are_needed() {
        let needed = of(
            "ARG V=1\nFROM a:$V AS one\nFROM unused:1\nFROM one AS two\nCOPY --from=0 x y\nFROM b\nCOPY --from=TWO x y\nCOPY --from=img:2 /x /y",
        )
        .unwrap();
        assert_eq!(needed.target, 3);
        assert_eq!(needed.bases.keys().copied().collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(needed.bases[&2], Origin::Stage(0));
        let images: Vec<&str> = needed.images().into_keys().collect();
        assert_eq!(images, ["a:1", "b", "img:2"]);
    }

    #[test]
    fn a_platform_must_be_the_servers() {
        let host = Platform::host();
        for good in [
            host.to_string(),
            "$TARGETPLATFORM".to_owned(),
            "${BUILDPLATFORM}".to_owned(),
            "linux/$TARGETARCH".to_owned(),
            host.os.clone(),
            host.architecture,
        ] {
            of(&format!("FROM --platform={good} a")).unwrap();
        }
        for bad in ["linux/s390x", "windows/amd64", "plan9"] {
            let refused = of(&format!("FROM --platform={bad} a")).unwrap_err();
            assert!(refused.message.contains(bad), "{refused}");
        }
    }

    #[test]
    fn a_stage_copies_from_no_later_one_and_not_from_itself() {
        let needed =
            of("FROM a AS one\nCOPY --from=one x y\nCOPY --from=1 x y\nFROM one AS two").unwrap();
        let images: Vec<&str> = needed.images().into_keys().collect();
        assert_eq!(images, ["1", "a", "one"]);
    }
}
