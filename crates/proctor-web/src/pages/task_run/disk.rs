//! Files and diff: what was changed on the frozen disk of a task run's box, against what the box began with.

use proctor_core::{causes::with_causes, task_run::TaskRun};
use proctor_devbox::{DiskChange, FileVersion};
use proctor_fleet::Masks;
use similar::{ChangeTag, TextDiff};

use crate::{
    error::PageError,
    html::{self, Html},
    state::WebState,
};

/// How much of all differences is on the page.
const MOST: usize = 400 << 10;
/// How many lines stand around a difference.
const AROUND: usize = 3;

/// What was changed.
pub(crate) struct DiskView {
    pub(crate) files: Vec<FileView>,
    /// Why nothing can be told.
    pub(crate) problem: Option<String>,
    pub(crate) is_cut: bool,
}

/// A file that was changed.
pub(crate) struct FileView {
    pub(crate) path: Html,
    pub(crate) what: &'static str,
    pub(crate) size: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) diff: Option<Html>,
}

/// Whether the disk of a task run is kept here.
pub(crate) async fn is_kept(state: &WebState, task_run: &TaskRun) -> Result<bool, PageError> {
    if task_run.devbox.is_none() || state.fleet().is_none() {
        return Ok(false);
    }
    Ok(state.store().kept_disk_of(task_run.id).await?.is_some())
}

pub(crate) async fn view(state: &WebState, task_run: &TaskRun) -> DiskView {
    let found = match state.fleet() {
        Some(fleet) => fleet.disk_changes(task_run.id).await,
        None => Ok(None),
    };
    match found {
        Ok(Some((changes, masks))) => draw(&changes, &masks),
        Ok(None) => DiskView {
            files: Vec::new(),
            problem: Some("the disk is not kept any more".to_owned()),
            is_cut: false,
        },
        Err(error) => DiskView {
            files: Vec::new(),
            problem: Some(with_causes(&error).to_string()),
            is_cut: false,
        },
    }
}

fn draw(changes: &[DiskChange], masks: &Masks) -> DiskView {
    let mut size = 0;
    let mut is_cut = false;
    let mut files = Vec::with_capacity(changes.len());
    for change in changes {
        let mut file = one(change, masks);
        size += file.diff.as_ref().map_or(0, |diff| diff.as_str().len());
        if size > MOST {
            is_cut |= file.diff.take().is_some();
        }
        files.push(file);
    }
    DiskView {
        files,
        problem: None,
        is_cut,
    }
}

fn one(change: &DiskChange, masks: &Masks) -> FileView {
    use FileVersion::{File, Missing, Other};
    let (what, size) = match (&change.before, &change.after) {
        (Missing, File { size, .. }) => ("added", html::bytes(*size)),
        (_, Missing) => ("deleted", String::new()),
        (_, File { size, .. }) => ("changed", html::bytes(*size)),
        (Missing, Other(kind)) => ("added", (*kind).to_owned()),
        (_, Other(kind)) => ("changed", (*kind).to_owned()),
    };
    let mut view = FileView {
        path: html::short(masks.apply(&change.path), 300),
        what,
        size,
        added: 0,
        removed: 0,
        diff: None,
    };
    let texts = text(&change.before, masks).zip(text(&change.after, masks));
    match texts {
        Some((before, after)) => {
            let drawn = unified(&before, &after, &mut view.added, &mut view.removed);
            view.diff = Some(drawn);
        }
        None if matches!(change.before, File { .. }) || matches!(change.after, File { .. }) => {
            view.size += if view.size.is_empty() {
                "binary"
            } else {
                ", binary"
            };
        }
        None => {}
    }
    view
}

/// The text of a file; none if it is no text, or if not all of it was read.
fn text(version: &FileVersion, masks: &Masks) -> Option<String> {
    match version {
        FileVersion::Missing => Some(String::new()),
        FileVersion::Other(_) => None,
        FileVersion::File { size, beginning } => {
            let is_whole = *size == beginning.len() as u64 && !beginning.contains(&0);
            let text = std::str::from_utf8(beginning).ok().filter(|_| is_whole)?;
            Some(masks.apply(text))
        }
    }
}

fn unified(before: &str, after: &str, added: &mut usize, removed: &mut usize) -> Html {
    let diff = TextDiff::from_lines(before, after);
    let mut out = String::new();
    for group in diff.grouped_ops(AROUND) {
        if !out.is_empty() {
            out.push_str("<span class=hunk>⋯</span>\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (class, sign) = match change.tag() {
                ChangeTag::Insert => ("add", '+'),
                ChangeTag::Delete => ("del", '-'),
                ChangeTag::Equal => ("", ' '),
            };
            *added += usize::from(change.tag() == ChangeTag::Insert);
            *removed += usize::from(change.tag() == ChangeTag::Delete);
            let line = change.value().trim_end_matches('\n');
            let line = html::short(line, 2000);
            match class.is_empty() {
                true => out.push_str(&format!("{sign}{line}\n")),
                false => out.push_str(&format!("<span class={class}>{sign}{line}</span>\n")),
            }
        }
    }
    Html::trusted(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> FileVersion {
        FileVersion::File {
            size: text.len() as u64,
            beginning: text.to_vec(),
        }
    }

    #[test]
    fn texts_are_compared_and_binaries_named() {
        let change = |before, after| DiskChange {
            path: "/home/<b>".to_owned(),
            before,
            after,
        };
        let masks = Masks::default();
        let changes = [
            change(file(b"a\nb\n"), file(b"a\n<c>\n")),
            change(FileVersion::Missing, file(b"\x7fELF\0")),
            change(file(b"x\n"), FileVersion::Missing),
            change(FileVersion::Missing, FileVersion::Other("link")),
        ];
        let view = draw(&changes, &masks);
        let told: Vec<String> = view
            .files
            .iter()
            .map(|file| {
                format!(
                    "{} {} +{} -{}",
                    file.what, file.size, file.added, file.removed
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "changed 6 B +1 -1",
                "added 5 B, binary +0 -0",
                "deleted  +0 -1",
                "added link +0 -0"
            ]
        );
        let diff = view.files[0].diff.as_ref().unwrap().as_str();
        assert_eq!(
            diff,
            " a\n<span class=del>-b</span>\n<span class=add>+&lt;c&gt;</span>\n"
        );
    }
}
