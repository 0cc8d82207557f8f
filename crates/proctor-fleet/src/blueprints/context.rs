//! The build context: an archive, of which copies take what they need as it streams by.
//!
//! It is read twice for a copy and never unpacked on the server: once to learn what is in it, so that a step's result
//! can be found again by its content, and once to send the chosen members into the box. What its `.dockerignore` covers is not there.

use std::{collections::HashMap, io, path::PathBuf, sync::Arc, time::Duration};

use futures::TryStreamExt as _;
use globset::{GlobBuilder, GlobMatcher};
use proctor_core::{
    canonical::{Digest, Hasher},
    object::StoredObject,
};
use proctor_devbox::{Devbox, ExecId, User};
use proctor_store::Store;
use tokio::io::AsyncRead;
use tokio_util::io::{StreamReader, SyncIoBridge};

use super::{
    ignore::{self, Ignored},
    steps::{CopyStep, joined},
};
use crate::{
    archives::{
        self, ArchiveError, CleanTar, Limits, Member, MemberKind, Owner, Unpacker,
        has_archive_name, walk,
    },
    objects::{self, ObjectError},
    trees,
};

/// Why something cannot be copied from a context.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContextError {
    /// Its object.
    #[error("the build context: {0}")]
    Object(#[from] ObjectError),
    /// Its archive.
    #[error("the build context: {0}")]
    Archive(#[from] ArchiveError),
    /// What it leaves out.
    #[error("the build context: {0}")]
    Ignore(String),
    /// What was asked for.
    #[error("Dockerfile line {line}: {message}")]
    Copy {
        /// The line.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

/// A context whose members are known.
#[derive(Clone)]
pub(crate) struct Context {
    source: ContextSource,
    members: Arc<Vec<Known>>,
}

/// Where the files of a context are.
#[derive(Clone)]
pub(crate) enum ContextSource {
    /// An archive that a client sent.
    Object(Store, StoredObject),
    /// A directory of the server's, which is read as if it were an archive.
    Directory(PathBuf),
}

/// A member and what its content hashes to.
struct Known {
    member: Member,
    content: Option<Digest>,
}

/// What a copy takes.
pub(crate) struct Selection {
    /// Members by path, each with the source that it belongs to.
    taken: HashMap<String, Taken>,
    /// What it all hashes to.
    pub(crate) digest: Digest,
    /// Whether the target must be a directory.
    pub(crate) into_directory: bool,
}

#[derive(Clone)]
struct Taken {
    /// Its path below the target, if that is a directory. Empty for a directory's own root.
    below: String,
    /// Whether it is an archive to unpack.
    unpacks: bool,
}

impl Context {
    /// Reads the whole context once.
    pub(crate) async fn read(source: ContextSource) -> Result<Self, ContextError> {
        let bytes = source.open().await?;
        let indexed = tokio::task::spawn_blocking(move || {
            let mut members = Vec::new();
            let mut ignored = String::new();
            walk(
                SyncIoBridge::new(bytes),
                Limits::default(),
                &mut |member, content| {
                    let content = match member.kind {
                        MemberKind::File(_) if member.path == ignore::FILE => {
                            let text = beginning_of(content)?;
                            ignored = String::from_utf8_lossy(&text).into_owned();
                            Some(Digest::of_bytes(&text))
                        }
                        MemberKind::File(_) => Some(digest_of(content)?),
                        _ => None,
                    };
                    members.push(Known {
                        member: member.clone(),
                        content,
                    });
                    Ok(())
                },
            )?;
            let ignored = Ignored::read(&ignored).map_err(ContextError::Ignore)?;
            members.retain(|known: &Known| !ignored.covers(&known.member.path));
            Ok::<_, ContextError>(members)
        });
        let members = indexed
            .await
            .map_err(|error| ArchiveError::Damaged(error.to_string()))??;
        Ok(Self {
            source,
            members: Arc::new(members),
        })
    }

    /// What a copy takes.
    pub(crate) fn select(&self, copy: &CopyStep) -> Result<Selection, ContextError> {
        let refuse = |message| ContextError::Copy {
            line: copy.line,
            message,
        };
        let mut taken = HashMap::new();
        let mut files = 0;
        let mut has_directory = false;
        for source in &copy.sources {
            let pattern = Pattern::read(source).map_err(refuse)?;
            let before = taken.len();
            let roots: Vec<(&str, bool)> = self.roots(&pattern);
            if roots.is_empty() {
                return Err(refuse(format!("'{source}' is not in the build context")));
            }
            for (root, is_directory) in roots {
                has_directory |= is_directory;
                files += usize::from(!is_directory);
                self.take_below(root, is_directory, copy.unpacks, &mut taken);
            }
            if taken.len() == before && !has_directory {
                return Err(refuse(format!("'{source}' is not in the build context")));
            }
        }
        let into_directory = has_directory || files > 1 || copy.target.ends_with('/');
        Ok(Selection {
            digest: self.digest(&taken),
            taken,
            into_directory,
        })
    }

    /// Paths that a pattern means, each with whether it is a directory; some are there only because something is in them.
    fn roots<'c>(&'c self, pattern: &Pattern) -> Vec<(&'c str, bool)> {
        if pattern.is_everything() {
            return vec![("", true)];
        }
        let mut roots: Vec<(&str, bool)> = Vec::new();
        for Known { member, .. } in self.members.iter() {
            let path = member.path.as_str();
            let mut end = 0;
            while let Some(slash) = path[end..].find('/') {
                let parent = &path[..end + slash];
                if pattern.matches(parent) {
                    roots.push((parent, true));
                }
                end += slash + 1;
            }
            if pattern.matches(path) {
                roots.push((path, member.kind == MemberKind::Directory));
            }
        }
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    fn take_below(
        &self,
        root: &str,
        is_directory: bool,
        unpacks: bool,
        taken: &mut HashMap<String, Taken>,
    ) {
        for Known { member, .. } in self.members.iter() {
            let below = if !is_directory {
                (member.path == root).then(|| base_name(root))
            } else if root.is_empty() {
                Some(member.path.as_str())
            } else {
                member
                    .path
                    .strip_prefix(root)
                    .and_then(|rest| rest.strip_prefix('/'))
            };
            let Some(below) = below else {
                continue;
            };
            let is_archive = !is_directory
                && unpacks
                && matches!(member.kind, MemberKind::File(_))
                && has_archive_name(&member.path);
            taken.insert(
                member.path.clone(),
                Taken {
                    below: below.to_owned(),
                    unpacks: is_archive,
                },
            );
        }
    }

    fn digest(&self, taken: &HashMap<String, Taken>) -> Digest {
        let mut lines: Vec<String> = self
            .members
            .iter()
            .filter_map(|known| Some((known, taken.get(&known.member.path)?)))
            .map(|(known, taken)| {
                format!(
                    "{}\n{:?}\n{:o}\n{:?}\n{}",
                    taken.below, known.member.kind, known.member.mode, known.content, taken.unpacks
                )
            })
            .collect();
        lines.sort_unstable();
        let mut hasher = Hasher::default();
        for line in lines {
            hasher.part(line.as_bytes());
        }
        hasher.finish()
    }

    /// Sends what was selected into a box, as root.
    pub(crate) async fn send(
        &self,
        devbox: &dyn Devbox,
        exec: ExecId,
        (copy, selection): (&CopyStep, Selection),
        (target, into_directory): (String, bool),
        time_limit: Duration,
    ) -> Result<(), ContextError> {
        let bytes = self.source.open().await?;
        let place = Place {
            target,
            into_directory,
            mode: copy.mode,
        };
        let owner = match &copy.owner {
            None => Owner::Given {
                user: "0".to_owned(),
                group: "0".to_owned(),
            },
            Some((user, group)) => Owner::Given {
                user: user.clone(),
                group: group.clone(),
            },
        };
        let unpacker = Unpacker {
            exec,
            user: User::Root,
            target: "/".to_owned(),
            owner: owner.clone(),
            time_limit,
        };
        archives::pour(devbox, unpacker, move |sink| {
            let mut clean = CleanTar::new(sink, owner);
            walk(
                SyncIoBridge::new(bytes),
                Limits::default(),
                &mut |member, content| {
                    let Some(taken) = selection.taken.get(&member.path) else {
                        return Ok(());
                    };
                    if taken.unpacks {
                        return unpack_into(&mut clean, &place.directory(), content);
                    }
                    let mut member = member.clone();
                    if let MemberKind::HardLink(first) = &member.kind {
                        let Some(first) = selection.taken.get(first) else {
                            return Err(ArchiveError::Member {
                                name: member.path.clone(),
                                why: "is a hard link to a file that is not copied",
                            });
                        };
                        member.kind = MemberKind::HardLink(place.inside(&first.below));
                    }
                    if let (Some(mode), MemberKind::File(_) | MemberKind::Directory) =
                        (place.mode, &member.kind)
                    {
                        member.mode = mode;
                    }
                    clean.add(&place.inside(&taken.below), &member, content)
                },
            )?;
            clean.finish()
        })
        .await?;
        Ok(())
    }
}

/// Where copied members go.
struct Place {
    target: String,
    into_directory: bool,
    mode: Option<u32>,
}

impl Place {
    /// The path of a member in the box, without the slash at its beginning.
    fn inside(&self, below: &str) -> String {
        let path = if self.into_directory {
            joined(&self.target, below)
        } else {
            self.target.clone()
        };
        path.trim_start_matches('/').to_owned()
    }

    /// Where archives are unpacked.
    fn directory(&self) -> String {
        self.target.trim_start_matches('/').to_owned()
    }
}

/// Adds the members of an archive that is itself a member.
fn unpack_into<W: io::Write + Send>(
    clean: &mut CleanTar<W>,
    directory: &str,
    archive: &mut dyn io::Read,
) -> Result<(), ArchiveError> {
    // The inner archive is read by a walk of its own, which wants a reader that may move between threads.
    let mut whole = tempfile::tempfile().map_err(|error| ArchiveError::reading(&error))?;
    io::copy(archive, &mut whole).map_err(|error| ArchiveError::reading(&error))?;
    io::Seek::rewind(&mut whole).map_err(|error| ArchiveError::reading(&error))?;
    walk(whole, Limits::default(), &mut |member, content| {
        let mut member = member.clone();
        if let MemberKind::HardLink(first) = &member.kind {
            member.kind = MemberKind::HardLink(format!("{directory}/{first}"));
        }
        let path = joined(directory, &member.path);
        clean.add(path.trim_start_matches('/'), &member, content)
    })?;
    Ok(())
}

impl ContextSource {
    async fn open(&self) -> Result<Box<dyn AsyncRead + Send + Unpin>, ObjectError> {
        match self {
            Self::Object(store, object) => {
                let (_, bytes) = objects::open(store, object).await?;
                Ok(Box::new(StreamReader::new(bytes.map_err(io::Error::other))))
            }
            Self::Directory(directory) => Ok(Box::new(trees::archived(directory.clone()))),
        }
    }
}

/// What a `.dockerignore` has, all of it unless it is out of all proportion.
fn beginning_of(content: &mut dyn io::Read) -> Result<Vec<u8>, ArchiveError> {
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(content, ignore::LONGEST), &mut text)
        .map_err(|error| ArchiveError::reading(&error))?;
    Ok(text)
}

fn digest_of(content: &mut dyn io::Read) -> Result<Digest, ArchiveError> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) => return Err(ArchiveError::reading(&error)),
        }
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A source of a copy.
enum Pattern {
    Everything,
    Path(String),
    Glob(Box<GlobMatcher>),
}

impl Pattern {
    fn read(source: &str) -> Result<Self, String> {
        let inner = joined("/", source);
        let inner = inner.trim_start_matches('/');
        if source.split('/').any(|part| part == "..") {
            return Err(format!("'{source}' leads out of the build context"));
        }
        if inner.is_empty() {
            return Ok(Self::Everything);
        }
        if !inner.contains(['*', '?', '[']) {
            return Ok(Self::Path(inner.to_owned()));
        }
        GlobBuilder::new(inner)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map(|glob| Self::Glob(Box::new(glob.compile_matcher())))
            .map_err(|error| format!("'{source}' is no pattern: {error}"))
    }

    const fn is_everything(&self) -> bool {
        matches!(self, Self::Everything)
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Path(wanted) => wanted == path,
            Self::Glob(glob) => glob.is_match(path),
        }
    }
}
