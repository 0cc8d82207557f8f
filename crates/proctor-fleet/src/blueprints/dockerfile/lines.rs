//! From lines of text to instructions: comments go, continued lines become one, here-documents stay with the instruction that begins them.

use super::{
    DockerfileError,
    here_documents::{self, HereDocument},
};

/// An instruction's text, the number of its first line, and the documents that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogicalLine {
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) documents: Vec<HereDocument>,
}

pub(super) fn logical_lines(text: &str) -> Result<Vec<LogicalLine>, DockerfileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(number) = text.lines().position(|line| line.contains('\0')) {
        return Err(DockerfileError::at(number + 1, "a NUL"));
    }
    let mut lines = Vec::new();
    let mut open: Option<LogicalLine> = None;
    let mut may_direct = true;
    let mut raw = text.lines().enumerate();
    while let Some((number, line)) = raw.next() {
        let trimmed = line.trim();
        if let Some(comment) = trimmed.strip_prefix('#') {
            if may_direct {
                check_directive(number + 1, comment)?;
            }
            continue;
        }
        // Directives stand before everything else.
        may_direct = false;
        if trimmed.is_empty() {
            continue;
        }
        let (part, goes_on) = match trimmed.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (trimmed, false),
        };
        let mut line = open.take().unwrap_or(LogicalLine {
            number: number + 1,
            text: String::new(),
            documents: Vec::new(),
        });
        line.text.push_str(part);
        if goes_on {
            open = Some(line);
            continue;
        }
        for start in here_documents::begun_by(&line.text) {
            let document = start.read(&mut raw.by_ref().map(|(_, line)| line));
            let document = document.map_err(|why| DockerfileError::at(line.number, why))?;
            line.documents.push(document);
        }
        lines.push(line);
    }
    // A last line that wants to be continued has ended all the same.
    lines.extend(open.filter(|line| !line.text.trim().is_empty()));
    for line in &mut lines {
        line.text = line.text.trim().to_owned();
    }
    lines.retain(|line| !line.text.is_empty());
    Ok(lines)
}

/// `# escape=…` would change how everything else is read.
fn check_directive(number: usize, comment: &str) -> Result<(), DockerfileError> {
    match comment.split_once('=') {
        Some((name, value))
            if name.trim().eq_ignore_ascii_case("escape") && value.trim() != "\\" =>
        {
            Err(DockerfileError::at(
                number,
                "another escape character than '\\' is not supported",
            ))
        }
        _ => Ok(()),
    }
}
