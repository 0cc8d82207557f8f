//! A task directory on disk.

use std::{
    collections::BTreeMap,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use proctor_harbor::tree::{Entry, TaskTree};
use sha2::{Digest as _, Sha256};

/// How many files a task may have.
const MOST_ENTRIES: usize = 200_000;

/// A task directory on disk. Links are noted, never followed.
pub struct DirectoryTree {
    root: PathBuf,
    entries: BTreeMap<String, Entry>,
}

impl DirectoryTree {
    /// Looks at everything below a directory.
    pub fn open(root: &Path) -> io::Result<Self> {
        let mut tree = Self {
            root: root.to_owned(),
            entries: BTreeMap::new(),
        };
        let mut to_go = vec![String::new()];
        while let Some(directory) = to_go.pop() {
            for found in fs_err::read_dir(root.join(&directory))? {
                let found = found?;
                let name = found.file_name();
                let name = name.to_str().ok_or_else(|| {
                    let path = found.path();
                    let message = format!("the name of {} is not UTF-8", path.display());
                    io::Error::new(io::ErrorKind::InvalidData, message)
                })?;
                let path = match directory.as_str() {
                    "" => name.to_owned(),
                    directory => format!("{directory}/{name}"),
                };
                let kind = found.file_type()?;
                let entry = if kind.is_symlink() {
                    let target = fs_err::read_link(found.path())?;
                    Entry::Link {
                        target: target.to_string_lossy().into_owned(),
                    }
                } else if kind.is_dir() {
                    to_go.push(path.clone());
                    Entry::Directory
                } else if kind.is_file() {
                    Entry::File {
                        size: found.metadata()?.len(),
                    }
                } else {
                    let message = format!("{path} is neither a file, a directory nor a link");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                };
                tree.entries.insert(path, entry);
                if tree.entries.len() > MOST_ENTRIES {
                    let message = format!("a task has at most {MOST_ENTRIES} files");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
            }
        }
        Ok(tree)
    }
}

impl TaskTree for DirectoryTree {
    fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        fs_err::read(self.root.join(path))
    }

    fn sha256(&self, path: &str) -> io::Result<[u8; 32]> {
        let mut file = fs_err::File::open(self.root.join(path))?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hasher.finalize().into()),
                read => hasher.update(&buffer[..read]),
            }
        }
    }
}
