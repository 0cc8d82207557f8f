//! Bases from packages, for machines that no registry can be asked from: `debian:12`, `ubuntu:24.04`, `python:3.12`.
//!
//! An image is made only under a name that is true. What a tree is, is read from the tree (`/etc/os-release`, the interpreter's files), not believed of
//! the program that made it.

mod python;
mod system;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    thread,
};

pub use python::Interpreter;
pub use system::System;

use crate::{
    documents::RunConfig,
    error::{Doing as _, ImageError},
    images::{Images, Progress},
    reference::Reference,
    store::{NamedImage, StoredImage},
    tree_reader::{TreeReader, TreeWriter},
};

/// What bases are made with.
#[derive(Clone, Debug)]
pub struct Maker {
    /// The program that makes a root file system of packages.
    pub debootstrap: PathBuf,
    /// Where packages come from, by distribution (`debian`, `ubuntu`).
    pub mirrors: BTreeMap<String, String>,
    /// The directory of an interpreter, for `python:X.Y`.
    pub python: Option<PathBuf>,
}

impl Default for Maker {
    fn default() -> Self {
        Self {
            debootstrap: "debootstrap".into(),
            mirrors: BTreeMap::new(),
            python: None,
        }
    }
}

/// What an image is to be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plan {
    system: System,
    python: Option<String>,
}

const EXAMPLES: &str =
    "debian:12, debian:bookworm-slim, ubuntu:24.04, python:3.11, python:3.12-slim-bookworm";

/// What a name asks for.
fn plan(name: &Reference) -> Result<Plan, ImageError> {
    let tag = name.tag().unwrap_or("latest");
    let unknown = || {
        ImageError::invalid(format!(
            "how to make '{name}' is not known; what can be made is called as in {EXAMPLES}"
        ))
    };
    match name.full_repository().as_str() {
        "docker.io/library/debian" | "docker.io/library/ubuntu" => {
            let system = System::named(name.repository().trim_start_matches("library/"), tag);
            Ok(Plan {
                system: system.ok_or_else(unknown)?,
                python: None,
            })
        }
        "docker.io/library/python" => {
            let mut parts = tag.splitn(2, '-');
            let version = parts.next().unwrap_or_default();
            let is_version = {
                let mut numbers = version.split('.');
                numbers.next() == Some("3")
                    && numbers
                        .next()
                        .is_some_and(|minor| minor.parse::<u8>().is_ok())
                    && numbers.next().is_none()
            };
            let rest = parts.next().unwrap_or_default();
            let (is_slim, suite) = match rest {
                "" => (false, "bookworm"),
                "slim" => (true, "bookworm"),
                other => match other.strip_prefix("slim-") {
                    Some(suite) => (true, suite),
                    None => (false, other),
                },
            };
            let release = if is_slim {
                format!("{suite}-slim")
            } else {
                suite.to_owned()
            };
            match (is_version, System::named("debian", &release)) {
                (true, Some(system)) => Ok(Plan {
                    system,
                    python: Some(version.to_owned()),
                }),
                _ => Err(unknown()),
            }
        }
        _ => Err(unknown()),
    }
}

impl Images {
    /// Makes a base of packages and gives it its name. Takes minutes.
    pub fn make(
        &self,
        name: &str,
        maker: &Maker,
        progress: Progress<'_>,
    ) -> Result<NamedImage, ImageError> {
        let name: Reference = name.parse()?;
        if name.digest().is_some() {
            return Err(ImageError::invalid(
                "what is made has no digest before it is there",
            ));
        }
        let plan = plan(&name)?;
        let Some(version) = &plan.python else {
            if maker.python.is_some() {
                return Err(ImageError::invalid(format!(
                    "'{name}' has no place for an interpreter"
                )));
            }
            let image = self.make_system(&plan.system, &[], maker, progress)?;
            return self.put(name, image, format!("made of {}", plan.system));
        };
        let image = match &maker.python {
            Some(directory) => {
                let interpreter = Interpreter::open(directory, version)?;
                let base = self.base(&plan.system, maker, progress)?;
                progress(format!("adding the interpreter of {}", directory.display()));
                self.with_interpreter(&base, &interpreter)?
            }
            None => {
                let there = plan.system.python();
                if there != Some(version.as_str()) {
                    return Err(ImageError::invalid(format!(
                        "{} has Python {}, so '{name}' cannot be made of it; --python DIR gives another interpreter",
                        plan.system,
                        there.unwrap_or("in no version that is known here"),
                    )));
                }
                let packages = [
                    "python3",
                    "python3-pip",
                    "python3-venv",
                    "python-is-python3",
                    "ca-certificates",
                ];
                let image = self.make_system(&plan.system, &packages, maker, progress)?;
                python::check(&image, version)?;
                image
            }
        };
        self.put(
            name,
            image,
            format!("made of {} and Python {version}", plan.system),
        )
    }

    /// The system as an image that is here, or made now.
    fn base(
        &self,
        system: &System,
        maker: &Maker,
        progress: Progress<'_>,
    ) -> Result<StoredImage, ImageError> {
        for name in system.names() {
            if let Some(image) = self.find(&name)? {
                progress(format!("on the image {name}, which is here"));
                return Ok(image);
            }
        }
        self.make_system(system, &[], maker, progress)
    }

    fn make_system(
        &self,
        system: &System,
        packages: &[&str],
        maker: &Maker,
        progress: Progress<'_>,
    ) -> Result<StoredImage, ImageError> {
        let directory = tempfile::tempdir().doing("making a directory for packages")?;
        let root = directory.path().join("root");
        system.bootstrap(&root, packages, maker, progress)?;
        let made = self.take_tree(&root, system.run_config());
        // Files of packages may close themselves to their owner.
        crate::store::remove_tree(&root).doing("removing a directory")?;
        made
    }

    /// Takes over the tree in a directory as an image.
    fn take_tree(&self, root: &Path, run: RunConfig) -> Result<StoredImage, ImageError> {
        let reader = TreeReader::open(root)?;
        self.take_written(run, move |sink| reader.write_tar(sink).map(drop))
    }

    /// Takes over what `write` writes, a tar.
    fn take_written(
        &self,
        run: RunConfig,
        write: impl FnOnce(io::PipeWriter) -> Result<(), ImageError> + Send,
    ) -> Result<StoredImage, ImageError> {
        let (source, sink) = io::pipe().doing("opening a pipe")?;
        thread::scope(|scope| {
            let writing = scope.spawn(move || write(sink));
            let taken = self.take_root(source, run);
            let written = writing
                .join()
                .unwrap_or_else(|_| Err(ImageError::invalid("writing a tar ended early")));
            match (taken, written) {
                (Ok(image), Ok(())) => Ok(image),
                // What cannot be taken over cannot be written either: the pipe is closed.
                (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            }
        })
    }

    fn with_interpreter(
        &self,
        base: &StoredImage,
        interpreter: &Interpreter,
    ) -> Result<StoredImage, ImageError> {
        let reader = TreeReader::open(&base.root)?;
        let mut run = base.config.config.clone();
        interpreter.add_to(&mut run);
        self.take_written(run, move |sink| {
            let is_ours = std::cell::Cell::new(true);
            let adjust = |header: &mut tar::Header| {
                if !is_ours.get() {
                    header.set_uid(0);
                    header.set_gid(0);
                }
            };
            let mut writer = TreeWriter::new(sink, &adjust);
            reader.append(&mut writer, "/", "")?;
            is_ours.set(false);
            interpreter.append(&mut writer)?;
            writer.finish().map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(name: &str) -> Result<Plan, ImageError> {
        plan(&name.parse().unwrap())
    }

    #[test]
    fn names_say_what_is_made() {
        assert_eq!(
            planned("debian:12").unwrap(),
            planned("debian:bookworm").unwrap()
        );
        assert_ne!(
            planned("debian:12").unwrap(),
            planned("debian:12-slim").unwrap()
        );
        let python = planned("python:3.12-slim-bookworm").unwrap();
        assert_eq!(python.python.as_deref(), Some("3.12"));
        assert_eq!(python.system, planned("debian:12-slim").unwrap().system);
        assert_eq!(planned("python:3.12-slim").unwrap(), python);
        assert_eq!(
            planned("python:3.13-trixie").unwrap().system,
            planned("debian:13").unwrap().system
        );
        for wrong in [
            "debian",
            "debian:99",
            "alpine:3",
            "python:2.7",
            "python:3",
            "python:3.12.1",
            "python:3.12-alpine",
            "acme/debian:12",
            "ghcr.io/debian:12",
        ] {
            assert!(planned(wrong).is_err(), "{wrong}");
        }
    }
}
