//! What is left of a member of an archive once it was vetted.

/// A member that may be unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Where it goes, below the directory that the archive is unpacked in: no `.`, no `..`, not absolute.
    pub path: String,
    /// What it is.
    pub kind: MemberKind,
    /// Its permission bits; only read, write and execute.
    pub mode: u32,
    /// When it was last changed, in seconds since 1970.
    pub modified: u64,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A file with so many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A symbolic link that stays inside.
    Symlink(String),
    /// Another name for a file that came before.
    HardLink(String),
}
