//! `COPY --from`: files of another stage, or of an image.
//!
//! A container image without further steps is a tree of this machine and is read there, so that images without a shell can be copied from. Everything else is a disk that
//! only a box can show: a box on it packs the files, and the box of the build unpacks them.

use std::{path::PathBuf, sync::Arc};

use proctor_core::blueprint::ImageDisk;
use proctor_devbox::{Devbox, ExecSpec, User};
use proctor_images::{TreeEntry, TreeReader, TreeWriter};
use tokio::io::AsyncReadExt as _;
use tokio_util::io::SyncIoBridge;

use super::{
    build::{Broken, Builder, base_of},
    steps::{CopyStep, Step, joined},
};
use crate::{
    archives::{self, ArchiveError, Owner, Unpacker},
    mounts::fresh_exec,
};

/// What a copy takes from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) disk: ImageDisk,
    /// Its tree, if it is one of this machine.
    pub(super) tree: Option<PathBuf>,
    /// The stage that it is.
    pub(super) stage: Option<usize>,
}

/// One path that is copied, and whether it is a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    path: String,
    is_directory: bool,
}

impl Builder<'_> {
    pub(super) async fn copy_from(
        &self,
        devbox: &dyn Devbox,
        step: &Step,
        copy: &CopyStep,
        source: &Source,
    ) -> Result<(), Broken> {
        match &source.tree {
            Some(tree) => {
                let tree = TreeReader::open(tree).map_err(Broken::because)?;
                let found = find_in_tree(&tree, copy)?;
                self.put(devbox, step, copy, found, Packed::Tree(tree))
                    .await
            }
            None => {
                let id = super::source_box_of(self.blueprint.id);
                let other = self.fresh_box(id, base_of(&source.disk)?).await?;
                let copied = async {
                    other.start().await?;
                    let found = self.find_in_box(&*other, copy).await?;
                    self.put(devbox, step, copy, found, Packed::Box(Arc::clone(&other)))
                        .await
                }
                .await;
                other.destroy().await?;
                copied
            }
        }
    }

    /// Puts what was found where it goes.
    async fn put(
        &self,
        devbox: &dyn Devbox,
        step: &Step,
        copy: &CopyStep,
        found: Vec<Found>,
        packed: Packed,
    ) -> Result<(), Broken> {
        let target = joined(&step.directory, &copy.target);
        let must_be_directory = copy.target.ends_with('/')
            || found.len() > 1
            || found.iter().any(|one| one.is_directory);
        let is_directory = self
            .prepare_target(devbox, &target, must_be_directory)
            .await?;
        let named = found.into_iter().map(|one| {
            let name = match (one.is_directory, is_directory) {
                // A directory's content is copied, not the directory.
                (true, _) => target.clone(),
                (false, true) => joined(&target, base_name(&one.path)),
                (false, false) => target.clone(),
            };
            (one, name.trim_start_matches('/').to_owned())
        });
        let named: Vec<(Found, String)> = named.collect();
        match packed {
            Packed::Tree(tree) => {
                let (owner, mode) = (owner(copy), copy.mode);
                archives::pour(devbox, self.unpacker(copy), move |sink| {
                    let adjust = |header: &mut tar::Header| adjust(header, &owner, mode);
                    let mut writer = TreeWriter::new(sink, &adjust);
                    for (one, name) in &named {
                        tree.append(&mut writer, &one.path, name)
                            .map_err(|error| damaged(&error))?;
                    }
                    writer.finish().map(drop).map_err(|error| damaged(&error))
                })
                .await
                .map_err(Broken::because)
            }
            Packed::Box(other) => {
                for (one, name) in named {
                    self.take_from_box(devbox, &*other, copy, (&one, &name))
                        .await?;
                }
                Ok(())
            }
        }
    }

    fn unpacker(&self, copy: &CopyStep) -> Unpacker {
        Unpacker {
            exec: fresh_exec(self.store),
            user: User::Root,
            target: "/".to_owned(),
            owner: owner(copy),
            time_limit: self.time_limit,
        }
    }

    /// The paths of a box that are copied.
    async fn find_in_box(&self, other: &dyn Devbox, copy: &CopyStep) -> Result<Vec<Found>, Broken> {
        let mut found = Vec::new();
        for source in &copy.sources {
            let pattern = joined("/", source);
            let mut spec = ExecSpec::new(
                fresh_exec(self.store),
                ["/bin/sh", "-c", LIST, "list", &pattern],
            );
            spec.cwd = Some("/".to_owned());
            spec.timeout = Some(self.time_limit);
            let mut listing = String::new();
            let session = other.session(spec).await?;
            let mut output = session.output.take(LONGEST_LISTING);
            let read = output.read_to_string(&mut listing).await;
            read.map_err(|error| Broken::because(format!("'{source}': {error}")))?;
            session.execution.wait().await?;
            let before = found.len();
            for line in listing.split('\0').filter(|line| !line.is_empty()) {
                let (kind, path) = line.split_at(1);
                found.push(Found {
                    path: path.to_owned(),
                    is_directory: kind == "d",
                });
            }
            if found.len() == before {
                return Err(not_there(copy, source));
            }
        }
        Ok(found)
    }

    /// One path of a box, packed there and unpacked here.
    async fn take_from_box(
        &self,
        devbox: &dyn Devbox,
        other: &dyn Devbox,
        copy: &CopyStep,
        (found, name): (&Found, &str),
    ) -> Result<(), Broken> {
        let argv = ["/bin/sh", "-c", PACK, "pack", &found.path];
        let mut spec = ExecSpec::new(fresh_exec(self.store), argv);
        spec.cwd = Some("/".to_owned());
        spec.timeout = Some(self.time_limit);
        let session = other.session(spec).await?;
        let (owner, mode, name) = (owner(copy), copy.mode, name.to_owned());
        let is_directory = found.is_directory;
        let packed = SyncIoBridge::new(session.output);
        archives::pour(devbox, self.unpacker(copy), move |sink| {
            let adjust = |header: &mut tar::Header| adjust(header, &owner, mode);
            let mut writer = TreeWriter::new(sink, &adjust);
            let place = |path: &[u8]| placed(&name, is_directory, path);
            writer
                .copy_tar(packed, &place)
                .map_err(|error| damaged(&error))?;
            writer.finish().map(drop).map_err(|error| damaged(&error))
        })
        .await
        .map_err(Broken::because)?;
        let exit = session.execution.wait().await?;
        match exit.success() {
            true => Ok(()),
            false => Err(Broken::because(format!(
                "packing {} failed with status {}; the stage needs tar to be copied from",
                found.path,
                exit.status()
            ))),
        }
    }
}

/// Where files come from.
enum Packed {
    Tree(TreeReader),
    Box(Arc<dyn Devbox>),
}

/// The longest list of paths that a pattern may mean.
const LONGEST_LISTING: u64 = 4 << 20;

/// Lists what the pattern `$1` means: `d` or `f` and the path, each with a NUL.
const LIST: &str = r#"IFS=
for path in $1; do
    if [ -d "$path" ]; then printf 'd%s\0' "$path"
    elif [ -e "$path" ]; then printf 'f%s\0' "$path"; fi
done"#;

/// Packs a directory's content, or a file behind links.
const PACK: &str = r#"if [ -d "$1" ]; then exec tar -c --numeric-owner -f - -C "$1" .; fi
exec tar -c -h --numeric-owner -f - -C "$(dirname "$1")" "./$(basename "$1")""#;

fn find_in_tree(tree: &TreeReader, copy: &CopyStep) -> Result<Vec<Found>, Broken> {
    let mut found = Vec::new();
    for source in &copy.sources {
        let before = found.len();
        for path in tree
            .matching(&joined("/", source))
            .map_err(Broken::because)?
        {
            let entry = tree.look(&path).map_err(Broken::because)?;
            found.push(Found {
                is_directory: entry == Some(TreeEntry::Directory),
                path,
            });
        }
        if found.len() == before {
            return Err(not_there(copy, source));
        }
    }
    Ok(found)
}

fn not_there(copy: &CopyStep, source: &str) -> Broken {
    Broken::because(format!(
        "Dockerfile line {}: '{source}' is not in what is copied from",
        copy.line
    ))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whose copies are: root's, unless something else is said.
fn owner(copy: &CopyStep) -> Owner {
    let (user, group) = copy
        .owner
        .clone()
        .unwrap_or_else(|| ("0".to_owned(), "0".to_owned()));
    Owner::Given { user, group }
}

fn adjust(header: &mut tar::Header, owner: &Owner, mode: Option<u32>) {
    archives::set_owner(header, owner);
    let has_mode = header.entry_type().is_file() || header.entry_type().is_dir();
    if let Some(mode) = mode.filter(|_| has_mode) {
        header.set_mode(mode);
    }
}

fn damaged(error: &proctor_images::ImageError) -> ArchiveError {
    ArchiveError::Damaged(error.to_string())
}

/// Where a member of a packed path goes: below `name` if a directory's content was packed, else exactly there.
fn placed(name: &str, is_directory: bool, path: &[u8]) -> Vec<u8> {
    match (is_directory, path) {
        (false, _) | (true, []) => name.as_bytes().to_vec(),
        (true, path) if name.is_empty() => path.to_vec(),
        (true, path) => [name.as_bytes(), b"/", path].concat(),
    }
}
