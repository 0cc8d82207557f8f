//! What a layer changed: its files beside those below them. Nothing is mounted and no link is followed out of a tree.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::{
    layers,
    plan::{Bottom, Places, UPPER_ROOT, UPPER_USR},
};
use crate::{
    backend::{DiskChange, FileVersion},
    error::{Error, Result},
    name::LayerId,
};

/// How much of a file is read.
const LONGEST_FILE: u64 = 128 << 10;
/// How many files are looked at.
const MOST_FILES: usize = 2_000;

/// A part of a disk: where it is in a box, and what it is called in a layer.
const PARTS: [(&str, &str); 2] = [("", UPPER_ROOT), ("usr", UPPER_USR)];

/// What the layer and those above `start` changed. Layers whose name begins with `same_box` belong to the same disk.
pub(super) fn of_layer(places: &Places, id: &LayerId, same_box: &str) -> Result<Vec<DiskChange>> {
    let (stack, bottom) = layers::stack(places, id)?;
    let own = 1 + stack[1..]
        .iter()
        .take_while(|layer| layer.as_str().starts_with(same_box))
        .count();
    let (own, below) = stack.split_at(own);
    let doing = |source: io::Error| Error::platform("reading a layer", source);
    let mut changes = BTreeMap::new();
    for (part, upper) in PARTS {
        let below = lower_trees(places, below, &bottom, part, upper);
        for layer in own {
            let tree = places.layer(layer).join(upper);
            walk(&tree, Path::new(""), &mut |path, entry| {
                let place = format!("/{}", Path::new(part).join(path).display());
                if changes.len() >= MOST_FILES || changes.contains_key(&place) {
                    return;
                }
                let before = version_below(&below, path);
                let after = match entry {
                    Entry::Whiteout => FileVersion::Missing,
                    Entry::Other(kind) => FileVersion::Other(kind),
                    Entry::File => read(&tree, path),
                };
                if before != after {
                    let change = DiskChange {
                        path: place.clone(),
                        before,
                        after,
                    };
                    changes.insert(place, change);
                }
            })
            .map_err(doing)?;
        }
    }
    Ok(changes.into_values().collect())
}

/// Where a part of the disk was before, topmost first.
fn lower_trees(
    places: &Places,
    below: &[LayerId],
    bottom: &Bottom,
    part: &str,
    upper: &str,
) -> Vec<PathBuf> {
    let mut trees: Vec<PathBuf> = below
        .iter()
        .map(|layer| places.layer(layer).join(upper))
        .collect();
    trees.push(match bottom {
        Bottom::Host { skeleton } if part.is_empty() => places.bases().join(skeleton),
        Bottom::Host { .. } => Path::new("/").join(part),
        Bottom::RootFs { directory, .. } => directory.join(part),
    });
    trees
}

enum Entry {
    File,
    Whiteout,
    Other(&'static str),
}

/// Shows every entry below a directory that is none itself.
fn walk(tree: &Path, within: &Path, see: &mut dyn FnMut(&Path, Entry)) -> io::Result<()> {
    let entries = match fs_err::read_dir(tree.join(within)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name());
    }
    names.sort();
    for name in names {
        let path = within.join(name);
        // Not followed: a link is an entry like any other.
        let found = fs_err::symlink_metadata(tree.join(&path))?;
        let kind = found.file_type();
        if kind.is_dir() {
            walk(tree, &path, see)?;
            continue;
        }
        let entry = if kind.is_file() {
            Entry::File
        } else if kind.is_char_device() && found.rdev() == 0 {
            Entry::Whiteout
        } else if kind.is_symlink() {
            Entry::Other("link")
        } else {
            Entry::Other("special file")
        };
        see(&path, entry);
    }
    Ok(())
}

/// A file as it was in the topmost of these trees that has it.
fn version_below(trees: &[PathBuf], path: &Path) -> FileVersion {
    for tree in trees {
        match read(tree, path) {
            FileVersion::Missing => {}
            // Taken away by a layer between.
            FileVersion::Other("whiteout") => return FileVersion::Missing,
            found => return found,
        }
    }
    FileVersion::Missing
}

/// Reads a file of a tree. Links on the way stay within the tree, and the last one is not followed.
fn read(tree: &Path, path: &Path) -> FileVersion {
    let opened = openat2(
        CWD,
        tree,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::empty(),
    )
    .and_then(|root| {
        openat2(
            root,
            path,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
        )
    });
    let file = match opened {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return FileVersion::Missing,
        Err(rustix::io::Errno::LOOP) => return FileVersion::Other("link"),
        // A device without a driver: how a layer says that something is gone.
        Err(rustix::io::Errno::NXIO | rustix::io::Errno::NODEV) => {
            return FileVersion::Other("whiteout");
        }
        Err(_) => return FileVersion::Other("file that cannot be read"),
    };
    let Ok(about) = file.metadata() else {
        return FileVersion::Other("file that cannot be read");
    };
    let kind = about.file_type();
    if kind.is_char_device() && about.rdev() == 0 {
        return FileVersion::Other("whiteout");
    }
    if kind.is_dir() {
        return FileVersion::Other("directory");
    }
    if !kind.is_file() {
        return FileVersion::Other("special file");
    }
    let mut beginning = Vec::new();
    match file.take(LONGEST_FILE).read_to_end(&mut beginning) {
        Ok(_) => FileVersion::File {
            size: about.len(),
            beginning,
        },
        Err(_) => FileVersion::Other("file that cannot be read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_within_their_tree() {
        let place = tempfile::tempdir().unwrap();
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        fs_err::create_dir_all(tree.join("a")).unwrap();
        fs_err::create_dir_all(&outside).unwrap();
        fs_err::write(outside.join("secret"), "no").unwrap();
        fs_err::write(tree.join("a/file"), "yes").unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("out")).unwrap();
        std::os::unix::fs::symlink("file", tree.join("a/link")).unwrap();
        let version = |path: &str| read(&tree, Path::new(path));
        assert_eq!(
            version("a/file"),
            FileVersion::File {
                size: 3,
                beginning: b"yes".to_vec()
            }
        );
        assert_eq!(version("a/none"), FileVersion::Missing);
        assert_eq!(version("out/secret"), FileVersion::Missing);
        assert_eq!(version("../outside/secret"), FileVersion::Missing);
        assert_eq!(version("a/link"), FileVersion::Other("link"));
        let mut seen = Vec::new();
        walk(&tree, Path::new(""), &mut |path, _| {
            seen.push(path.display().to_string());
        })
        .unwrap();
        assert_eq!(seen, ["a/file", "a/link", "out"]);
        let below = [tree.join("a"), tree.clone()];
        assert!(matches!(
            version_below(&below, Path::new("file")),
            FileVersion::File { size: 3, .. }
        ));
    }
}
