//! Directories of files that clients sent and boxes are shown: kept once under the digest of their content, and never changed.
//!
//! What is kept may be mounted into boxes, so everybody may read all of it, whatever modes it came with. It is written under another name first
//! and appears whole. An archive is vetted as everywhere ([`crate::archives`]): nothing of it leads out of its directory.

use std::{
    io::{self, Read},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use proctor_core::canonical::{Digest, Hasher};
use tokio::io::{AsyncRead, DuplexStream};
use tokio_util::io::SyncIoBridge;

use crate::archives::{ArchiveError, Limits, MemberKind, walk};

/// The directory for what is not whole yet.
const STAGING: &str = "staging";
/// How many bytes wait between whoever reads a directory and whoever wants it as an archive.
const PIPE_BYTES: usize = 64 << 10;

/// How large a tree may be.
pub const LARGEST_TREE: Limits = Limits {
    members: 200_000,
    bytes: 2 << 30,
};

/// Why a tree is not kept.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The disk, or what stands in the directory.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A tree that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTree {
    /// What names it: the digest of its paths, modes and contents.
    pub digest: String,
    /// Where it is.
    pub path: PathBuf,
}

/// How a tree comes into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// It is moved, because it is on the same disk and nobody else needs it.
    Moved,
    /// It is copied.
    Copied,
}

/// The trees of a server. Every method waits for the disk.
#[derive(Clone, Debug)]
pub struct TreeStore {
    root: PathBuf,
}

impl TreeStore {
    /// The trees below a directory. What a former process left half-done is removed.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        let staging = root.join(STAGING);
        if staging.exists() {
            fs_err::remove_dir_all(&staging)?;
        }
        fs_err::create_dir_all(&staging)?;
        Ok(Self { root })
    }

    /// A directory of one's own for what is not whole yet, on the disk of the store. It goes when it is dropped.
    pub fn stage(&self) -> io::Result<tempfile::TempDir> {
        tempfile::tempdir_in(self.root.join(STAGING))
    }

    /// Where the tree of this digest is.
    pub fn path(&self, digest: &str) -> PathBuf {
        self.root.join(digest)
    }

    /// Keeps a directory.
    pub fn keep(&self, directory: &Path, taking: Taking) -> Result<StoredTree, TreeError> {
        let staged = match taking {
            Taking::Moved => None,
            Taking::Copied => {
                let staged = self.stage()?;
                copy(directory, &staged.path().join("tree"))?;
                Some(staged)
            }
        };
        let whole = match &staged {
            Some(staged) => staged.path().join("tree"),
            None => directory.to_owned(),
        };
        let digest = open_to_all(&whole)?;
        let path = self.path(&digest);
        if !path.exists()
            && let Err(error) = fs_err::rename(&whole, &path)
            && !path.exists()
        {
            return Err(error.into());
        }
        Ok(StoredTree { digest, path })
    }
}

/// What names a directory that is kept, or one below it.
pub fn name_of(directory: &Path) -> io::Result<String> {
    open_to_all(directory)
}

/// Unpacks an archive into an empty directory.
pub fn unpack(archive: impl Read + Send, into: &Path, limits: Limits) -> Result<(), TreeError> {
    fs_err::create_dir_all(into)?;
    let failed = |error: io::Error| ArchiveError::Box(error.to_string());
    walk(archive, limits, &mut |member, content| {
        let path = into.join(&member.path);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).map_err(failed)?;
        }
        match &member.kind {
            MemberKind::Directory => fs_err::create_dir_all(&path).map_err(failed)?,
            MemberKind::Symlink(target) => symlink(target, &path).map_err(failed)?,
            MemberKind::HardLink(first) => {
                fs_err::hard_link(into.join(first), &path).map_err(failed)?;
            }
            MemberKind::File(_) => {
                let mut file = fs_err::File::create_new(&path).map_err(failed)?;
                io::copy(content, &mut file).map_err(failed)?;
                let mode = std::fs::Permissions::from_mode(member.mode | 0o600);
                fs_err::set_permissions(&path, mode).map_err(failed)?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// What stands in a directory, in order, without following links.
fn sorted(directory: &Path) -> io::Result<Vec<fs_err::DirEntry>> {
    let mut entries = fs_err::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs_err::DirEntry::file_name);
    Ok(entries)
}

/// Copies a directory with its links as they are.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs_err::create_dir(to)?;
    for entry in sorted(from)? {
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            symlink(fs_err::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            fs_err::copy(entry.path(), &target)?;
        } else {
            let path = entry.path();
            let message = format!(
                "{} is neither a file, a directory nor a link",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
    }
    Ok(())
}

/// Lets everybody read a tree, and says what names it.
fn open_to_all(root: &Path) -> io::Result<String> {
    let mut hasher = Hasher::default();
    open_below(root, "", &mut hasher)?;
    Ok(hasher.finish().hex())
}

fn open_below(directory: &Path, prefix: &str, hasher: &mut Hasher) -> io::Result<()> {
    fs_err::set_permissions(directory, std::fs::Permissions::from_mode(0o755))?;
    for entry in sorted(directory)? {
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            hasher.part(format!("directory {name}").as_bytes());
            open_below(&path, &format!("{name}/"), hasher)?;
        } else if kind.is_symlink() {
            let target = fs_err::read_link(&path)?;
            hasher.part(format!("link {name} {}", target.display()).as_bytes());
        } else {
            let is_program = entry.metadata()?.permissions().mode() & 0o111 != 0;
            let mode = if is_program { 0o755 } else { 0o644 };
            fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
            let content = digest_of(&path)?.hex();
            hasher.part(format!("file {name} {mode:o} {content}").as_bytes());
        }
    }
    Ok(())
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut file = fs_err::File::open(path)?;
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Writes paths of a directory, which are in order, as an archive below a directory of another name: a tar, compressed with gzip. The same
/// content is the same bytes, whatever its owners and times. Links are written as they are.
pub fn pack(
    directory: &Path,
    prefix: &str,
    paths: &[String],
    out: impl io::Write,
) -> io::Result<()> {
    let out = flate2::GzBuilder::new().write(out, flate2::Compression::default());
    let mut archive = tar::Builder::new(out);
    let header = |kind: tar::EntryType, size: u64, mode: u32| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(mode);
        header.set_mtime(0);
        header
    };
    let mut above = header(tar::EntryType::Directory, 0, 0o755);
    archive.append_data(&mut above, prefix, io::empty())?;
    for path in paths {
        let (source, name) = (directory.join(path), format!("{prefix}/{path}"));
        let found = fs_err::symlink_metadata(&source)?;
        if found.is_dir() {
            let mut header = header(tar::EntryType::Directory, 0, 0o755);
            archive.append_data(&mut header, name, io::empty())?;
        } else if found.is_symlink() {
            let mut header = header(tar::EntryType::Symlink, 0, 0o777);
            archive.append_link(&mut header, name, fs_err::read_link(&source)?)?;
        } else {
            let is_program = found.permissions().mode() & 0o111 != 0;
            let mode = if is_program { 0o755 } else { 0o644 };
            let mut header = header(tar::EntryType::Regular, found.len(), mode);
            let content = fs_err::File::open(&source)?.take(found.len());
            archive.append_data(&mut header, name, content)?;
        }
    }
    archive.into_inner()?.finish()?.flush()
}

/// A directory as an archive, made while it is read. Whatever goes wrong is an archive that ends early.
pub fn archived(directory: PathBuf) -> impl AsyncRead + Send + Unpin + 'static {
    let (reader, writer): (DuplexStream, DuplexStream) = tokio::io::duplex(PIPE_BYTES);
    // Nobody needs to wait for it: it ends when its reader does.
    drop(tokio::task::spawn_blocking(move || {
        let mut archive = tar::Builder::new(SyncIoBridge::new(writer));
        archive.follow_symlinks(false);
        let written = archive
            .append_dir_all("", &directory)
            .and_then(|()| archive.finish());
        if let Err(error) = written {
            tracing::warn!(directory = %directory.display(), %error, "a directory could not be read to its end");
        }
    }));
    reader
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(members: &[(&str, &str, u32)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content, mode) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(*mode);
            builder
                .append_data(&mut header, path, content.as_bytes())
                .unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpacked(store: &TreeStore, members: &[(&str, &str, u32)]) -> StoredTree {
        let staged = store.stage().unwrap();
        let tree = staged.path().join("tree");
        unpack(archive(members).as_slice(), &tree, LARGEST_TREE).unwrap();
        store.keep(&tree, Taking::Moved).unwrap()
    }

    #[test]
    fn a_tree_is_kept_once_under_what_it_holds() {
        let data = tempfile::tempdir().unwrap();
        let store = TreeStore::open(data.path().join("trees")).unwrap();
        let members = [("tests/test.sh", "echo", 0o700), ("task.toml", "x", 0o600)];
        let first = unpacked(&store, &members);
        let again = unpacked(&store, &[members[1], members[0]]);
        assert_eq!(first, again, "whatever the order of its members");
        let mode = |path: &str| {
            let path = first.path.join(path);
            fs_err::metadata(path).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(mode("tests/test.sh"), 0o755);
        assert_eq!(mode("task.toml"), 0o644, "everybody may read it");
        let copied = store.keep(&first.path, Taking::Copied).unwrap();
        assert_eq!(copied, first);
        let other = unpacked(&store, &[("task.toml", "y", 0o600)]);
        assert_ne!(other.digest, first.digest);
        let left = fs_err::read_dir(data.path().join("trees/staging")).unwrap();
        assert_eq!(left.count(), 0, "nothing half-done stays");
    }

    #[test]
    fn an_archive_that_leads_out_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, "tests", "/etc").unwrap();
        let bytes = builder.into_inner().unwrap();
        let error = unpack(bytes.as_slice(), &data.path().join("tree"), LARGEST_TREE).unwrap_err();
        assert!(matches!(error, TreeError::Archive(_)), "{error}");
    }

    #[tokio::test]
    async fn a_directory_is_read_as_an_archive() {
        let data = tempfile::tempdir().unwrap();
        let from = data.path().join("from");
        fs_err::create_dir_all(from.join("sub")).unwrap();
        fs_err::write(from.join("sub/file"), "content").unwrap();
        let mut bytes = Vec::new();
        let mut reader = archived(from);
        tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut bytes)
            .await
            .unwrap();
        let into = data.path().join("into");
        unpack(bytes.as_slice(), &into, LARGEST_TREE).unwrap();
        assert_eq!(
            fs_err::read_to_string(into.join("sub/file")).unwrap(),
            "content"
        );
    }
}
