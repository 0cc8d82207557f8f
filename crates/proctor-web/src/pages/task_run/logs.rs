//! Logs of a box in blocks by byte range: `/ui/task-runs/{id}/logs/{log}?from=BYTE`. A log is never held in memory, however long.

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::Response,
    routing::get,
};
use futures::StreamExt as _;
use proctor_core::task_run::TaskRun;
use proctor_engine::scenarios::{BoxLog, LogStream};

use super::{Found, page, task_run_id};
use crate::{
    error::PageError,
    html::{self, Html},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How much of a log is on a page.
const A_PAGE: usize = 128 << 10;
/// How long a line may be before it is cut: what is one line of a megabyte is not read.
const LONGEST_LINE: usize = 4 << 10;
/// How many hits of a search are listed.
const HITS: usize = 200;

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/task-runs/{id}/logs/{log}", get(log))
}

/// The logs of a box, by the word in their address.
const LOGS: [(&str, &str); 3] = [
    ("setup", "Setup log"),
    ("exec", "Commands"),
    ("agent", "Agent log"),
];

/// A link to a log.
pub(crate) struct LogLink {
    pub(crate) href: String,
    pub(crate) label: &'static str,
}

/// The logs that a task run has.
pub(crate) fn links(task_run: &TaskRun) -> Vec<LogLink> {
    let id = task_run.id;
    let link = |(word, label): (&str, &'static str)| LogLink {
        href: format!("/ui/task-runs/{id}/logs/{word}"),
        label,
    };
    match task_run.devbox {
        None => Vec::new(),
        Some(_) => LOGS.into_iter().map(link).collect(),
    }
}

#[derive(Template)]
#[template(path = "log.html")]
struct LogPage<'p> {
    shell: Shell,
    task_run: &'p TaskRun,
    task_name: &'p str,
    label: &'static str,
    params: Params,
    block: Block,
    next: Option<String>,
    hits: Option<Vec<Hit>>,
}

/// A part of a log.
#[derive(Default)]
struct Block {
    lines: Html,
    from: u64,
    to: u64,
    is_end: bool,
}

/// A line that a search found.
struct Hit {
    byte: u64,
    href: String,
    line: Html,
}

async fn log(
    State(state): State<WebState>,
    visitor: Visitor,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let found = Found::find(&state, &visitor, task_run_id(&id)?).await?;
    let known = LOGS.iter().find(|(known, _)| *known == word);
    let (_, label) = known.ok_or_else(|| PageError::not_found("log"))?;
    if !found.model.shows_evidence {
        return Err(PageError::not_found("log"));
    }
    let which = match word.as_str() {
        "setup" => BoxLog::Setup,
        "exec" => BoxLog::Executions,
        _ => BoxLog::Agent(found.task_run.id.uuid()),
    };
    let open = || {
        state
            .engine()
            .log_of_box(visitor.organization(), &found.task_run, which)
    };
    let params = Params::read(query.as_deref());
    let from = params.number("from").unwrap_or(0);
    let hits = match params.get("q") {
        Some(sought) => Some(search(open(), sought, &params).await?),
        None => None,
    };
    let block = match hits {
        Some(_) => Block::default(),
        None => read(open(), from).await?,
    };
    let next =
        (!block.is_end && hits.is_none()).then(|| params.link_with("from", &block.to.to_string()));
    page(&LogPage {
        shell: visitor.shell(*label, Section::Runs),
        task_name: &found.task()?.name,
        task_run: &found.task_run,
        label,
        params,
        block,
        next,
        hits,
    })
}

fn broken(error: &std::io::Error) -> PageError {
    PageError::new(
        http::StatusCode::INTERNAL_SERVER_ERROR,
        format!("This log cannot be read: {error}"),
    )
}

/// A page of a log from a byte on, up to the end of a line.
async fn read(mut stream: LogStream, from: u64) -> Result<Block, PageError> {
    let mut at = 0_u64;
    let mut kept: Vec<u8> = Vec::new();
    let mut is_end = true;
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|error| broken(&error))?;
        let end = at + piece.len() as u64;
        if end > from {
            let skip = usize::try_from(from.saturating_sub(at)).unwrap_or(usize::MAX);
            kept.extend_from_slice(&piece[skip.min(piece.len())..]);
        }
        at = end;
        if kept.len() > A_PAGE {
            is_end = false;
            break;
        }
    }
    if !is_end {
        let end = kept[..A_PAGE].iter().rposition(|byte| *byte == b'\n');
        kept.truncate(end.map_or(A_PAGE, |end| end + 1));
    }
    let to = from + kept.len() as u64;
    Ok(Block {
        lines: lines(&kept, from),
        from,
        to,
        is_end,
    })
}

/// Lines with their byte as their name, so that a link to a line holds however the log grows.
fn lines(bytes: &[u8], from: u64) -> Html {
    let mut out = String::with_capacity(bytes.len() * 2);
    let mut at = from;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        out.push_str(&format!(
            "<span id=b{at}><a href=\"?from={at}#b{at}\">{at}</a>"
        ));
        ansi(&mut out, text.trim_end_matches(['\n', '\r']));
        out.push_str("</span>\n");
        at += line.len() as u64;
    }
    Html::trusted(out)
}

/// Text of a terminal: colours and bold stay, everything else that a terminal would obey is shown or dropped.
fn ansi(out: &mut String, text: &str) {
    let mut letters = text.chars().peekable();
    let mut shown = 0;
    let mut is_open = false;
    while let Some(letter) = letters.next() {
        if shown >= LONGEST_LINE {
            out.push_str(" … (the line goes on)");
            break;
        }
        if letter != '\u{1b}' || letters.peek() != Some(&'[') {
            html::push(out, letter);
            shown += 1;
            continue;
        }
        letters.next();
        let mut code = String::new();
        let last = loop {
            match letters.next() {
                Some(part @ ('0'..='9' | ';')) if code.len() < 24 => code.push(part),
                other => break other,
            }
        };
        if last != Some('m') {
            continue;
        }
        if std::mem::take(&mut is_open) {
            out.push_str("</span>");
        }
        if let Some(class) = class(&code) {
            out.push_str(&format!("<span class=\"{class}\">"));
            is_open = true;
        }
    }
    if is_open {
        out.push_str("</span>");
    }
}

fn class(code: &str) -> Option<String> {
    let classes = code.split(';').filter_map(|part| match part {
        "1" => Some("ansi-b".to_owned()),
        _ => {
            let number: u32 = part.parse().ok()?;
            let colour = match number {
                31..=36 => number - 30,
                91..=96 => number - 90,
                _ => return None,
            };
            Some(format!("ansi-{colour}"))
        }
    });
    let classes: Vec<String> = classes.collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// The lines that contain a text, with links to them.
async fn search(
    mut stream: LogStream,
    sought: &str,
    params: &Params,
) -> Result<Vec<Hit>, PageError> {
    let sought = sought.to_lowercase();
    let plain = params.without("q");
    let mut hits = Vec::new();
    let (mut rest, mut at): (Vec<u8>, u64) = (Vec::new(), 0);
    let mut look = |line: &[u8], byte: u64| {
        let text = String::from_utf8_lossy(line);
        if text.to_lowercase().contains(&sought) {
            hits.push(Hit {
                byte,
                href: format!("{}#b{byte}", plain.link_with("from", &byte.to_string())),
                line: html::short(text.trim_end(), 300),
            });
        }
        hits.len() < HITS
    };
    'read: while let Some(piece) = stream.next().await {
        rest.extend_from_slice(&piece.map_err(|error| broken(&error))?);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            if !look(&line, at) {
                break 'read;
            }
            at += line.len() as u64;
        }
        // What has no end of line is looked at in pieces.
        if rest.len() > 1 << 20 {
            look(&rest, at);
            at += rest.len() as u64;
            rest.clear();
        }
    }
    if !rest.is_empty() {
        look(&rest, at);
    }
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::stream;

    use super::*;

    fn of(pieces: &[&'static [u8]]) -> LogStream {
        let pieces: Vec<_> = pieces
            .iter()
            .map(|piece| Ok(Bytes::from_static(piece)))
            .collect();
        stream::iter(pieces).boxed()
    }

    #[tokio::test]
    async fn a_log_is_read_from_any_byte_and_lines_are_named_by_theirs() {
        let block = read(of(&[b"one\ntw", b"o\nthree\n"]), 4).await.unwrap();
        assert_eq!((block.from, block.to, block.is_end), (4, 14, true));
        assert!(
            block
                .lines
                .as_str()
                .contains("<span id=b4><a href=\"?from=4#b4\">4</a>two</span>"),
            "{}",
            block.lines
        );
        let beyond = read(of(&[b"one\n"]), 400).await.unwrap();
        assert!(beyond.lines.is_empty() && beyond.is_end);
    }

    #[tokio::test]
    async fn a_long_log_comes_in_parts_that_end_with_lines() {
        const LONG: &[u8] = &[b'x'; 1 << 20];
        let block = read(of(&[b"a\n", LONG]), 0).await.unwrap();
        assert!(!block.is_end && block.to <= A_PAGE as u64);
        let hits = search(of(&[LONG, b"\nneedle\n"]), "Needle", &Params::default())
            .await
            .unwrap();
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].byte, (1 << 20) + 1);
    }

    #[test]
    fn a_terminal_is_not_obeyed() {
        let mut out = String::new();
        ansi(
            &mut out,
            "\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}]8;;http://evil\u{7}<b>",
        );
        assert_eq!(
            out,
            "<span class=\"ansi-b ansi-1\">red</span> <span class=cp>U+001B</span>]8;;http://evil<span class=cp>U+0007</span>&lt;b&gt;"
        );
    }
}
