//! Layers become one tree, in user space: no mounts, no device nodes, the same on every kernel and for every user.
//!
//! A layer is applied member by member to what the layers below it left. `.wh.NAME` removes what they call NAME, `.wh..wh..opq` everything that they have
//! in a directory; neither touches what the layer itself brings. All names are resolved below the tree (`tree`), so nothing outside it is ever
//! reached, whatever links it holds.

mod tree;

use std::{collections::HashSet, io::Read};

use crate::{
    error::ImageError,
    limits::Limits,
    members::{self, Member, MemberKind, refused},
};
pub(crate) use tree::Tree;
use tree::{Added, Attributes};

const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Other names with this beginning are notes of the file system that layers were first made with.
const NOTE: &[u8] = b".wh..wh.";

/// What an image is so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) members: u64,
    pub(crate) bytes: u64,
    /// Devices, which are left out.
    pub(crate) devices: u64,
}

/// Applies one layer.
pub(crate) fn apply(
    tree: &mut Tree,
    layer: &mut dyn Read,
    limits: &Limits,
    totals: &mut Totals,
) -> Result<(), ImageError> {
    let mut archive = tar::Archive::new(layer);
    let mut added: Added = HashSet::new();
    members::walk(&mut archive, &mut |member, content| {
        totals.members += 1;
        if totals.members > limits.members {
            let most = limits.members;
            return Err(ImageError::invalid(format!(
                "the image has more than {most} files"
            )));
        }
        one(tree, &mut added, member, content, limits, totals)
    })
}

fn one(
    tree: &mut Tree,
    added: &mut Added,
    member: Member,
    content: &mut dyn Read,
    limits: &Limits,
    totals: &mut Totals,
) -> Result<(), ImageError> {
    let (directory, name) = split(&member.path);
    if name == OPAQUE {
        return tree.clear(directory, added);
    }
    if name.starts_with(NOTE) {
        return Ok(());
    }
    if let Some(hidden) = name.strip_prefix(WHITEOUT) {
        if matches!(hidden, b"" | b"." | b"..") {
            return Err(refused(&member.path, "removes nothing that can be named"));
        }
        return tree.hide(directory, hidden, added);
    }
    let attributes = Attributes {
        mode: member.mode,
        owner: member.owner,
        modified: member.modified,
        capabilities: member.capabilities,
    };
    match &member.kind {
        MemberKind::File => {
            let left = limits.image_bytes.saturating_sub(totals.bytes);
            totals.bytes += tree.file(&member.path, &attributes, content, left, added)?;
        }
        MemberKind::Directory => tree.directory(&member.path, &attributes, added)?,
        MemberKind::Symlink(target) => tree.symlink(&member.path, target, &attributes, added)?,
        MemberKind::HardLink(first) => tree.hard_link(&member.path, first, added)?,
        MemberKind::Fifo => tree.fifo(&member.path, &attributes, added)?,
        MemberKind::Device => totals.devices += 1,
    }
    Ok(())
}

/// A path's directory and its last part.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}
