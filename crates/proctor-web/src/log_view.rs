//! Logs of devboxes by byte range. A log is never held in memory, however long: a page has one block of it, and a search goes through it
//! part by part.

use proctor_core::id::kinds::DevboxId;
use proctor_fleet::{
    Fleet, FleetError,
    logs::{LogEntry, LogPart},
};

use crate::{
    error::PageError,
    html::{self, Html},
    query::Params,
};

/// How much of a log is on a page.
const A_PAGE: usize = 128 << 10;
/// How much of a log is read at once.
const PART: u64 = 256 << 10;
/// How long a line may be before it is cut: what is one line of a megabyte is not read.
const LONGEST_LINE: usize = 4 << 10;
/// How many hits of a search are listed.
const HITS: usize = 200;

/// A log of a devbox: which of its entries, and how they are told.
pub(crate) struct LogView<'s, T> {
    pub(crate) fleet: Option<&'s Fleet>,
    pub(crate) devbox: Option<DevboxId>,
    pub(crate) told: T,
}

/// A part of a log.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) lines: Html,
    /// Where it begins, where it ends and how long the log is, in bytes of the devbox's log.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) length: u64,
}

impl Block {
    /// Whether nothing comes behind it.
    pub(crate) fn is_end(&self) -> bool {
        self.to >= self.length
    }
}

/// A line that a search found.
pub(crate) struct Hit {
    pub(crate) byte: u64,
    pub(crate) href: String,
    pub(crate) line: Html,
}

/// What a search found.
pub(crate) struct Hits {
    pub(crate) lines: Vec<Hit>,
    /// Where to search on, if the page is full.
    pub(crate) next: Option<u64>,
}

/// What a page of a log shows.
pub(crate) struct LogShown {
    pub(crate) block: Block,
    pub(crate) hits: Option<Hits>,
    pub(crate) params: Params,
}

impl LogShown {
    /// The address of the block before.
    pub(crate) fn earlier(&self) -> Option<String> {
        let from = self.block.from;
        let before = from.saturating_sub(A_PAGE as u64);
        (from > 0).then(|| self.params.link_with("from", &before.to_string()))
    }

    /// The address of the block behind.
    pub(crate) fn later(&self) -> Option<String> {
        let to = self.block.to;
        (!self.block.is_end()).then(|| self.params.link_with("from", &to.to_string()))
    }

    /// The address where a search goes on.
    pub(crate) fn search_on(&self) -> Option<String> {
        let next = self.hits.as_ref()?.next?;
        Some(self.params.link_with("from", &next.to_string()))
    }

    /// What is searched for.
    pub(crate) fn sought(&self) -> String {
        html::attribute(self.params.get("q").unwrap_or_default())
    }
}

fn broken(error: &FleetError) -> PageError {
    PageError::new(
        http::StatusCode::INTERNAL_SERVER_ERROR,
        format!("This log cannot be read: {error}"),
    )
}

impl<T: Fn(&LogEntry) -> Option<String> + Sync> LogView<'_, T> {
    /// What the address asks for: the block at `from` (a byte, or `end`), or what a search for `q` finds.
    pub(crate) async fn show(&self, params: Params) -> Result<LogShown, PageError> {
        let from = params.get("from");
        let (block, hits) = match (params.get("q"), from) {
            (Some(sought), _) => {
                let from = params.number("from").unwrap_or(0);
                let hits = self.search(sought, from, &params).await?;
                (Block::default(), Some(hits))
            }
            (None, Some("end")) => (self.last_block().await?, None),
            (None, _) => (self.block(params.number("from").unwrap_or(0)).await?, None),
        };
        Ok(LogShown {
            block,
            hits,
            params,
        })
    }

    async fn part(&self, from: u64) -> Result<LogPart, PageError> {
        match (self.fleet, self.devbox) {
            (Some(fleet), Some(devbox)) => fleet
                .log_lines(devbox, from, PART)
                .await
                .map_err(|error| broken(&error)),
            _ => Ok(LogPart::default()),
        }
    }

    /// The block from a byte on. Parts in which nothing belongs to this log are passed over.
    async fn block(&self, from: u64) -> Result<Block, PageError> {
        let mut shown = String::new();
        let mut block = Block {
            from,
            to: from,
            ..Block::default()
        };
        loop {
            let part = self.part(block.to).await?;
            block.length = part.length;
            let is_over = part.end <= block.to;
            for (at, entry) in &part.entries {
                if shown.len() >= A_PAGE {
                    block.to = *at;
                    block.lines = Html::trusted(shown);
                    return Ok(block);
                }
                if let Some(text) = (self.told)(entry) {
                    line(&mut shown, *at, &text);
                }
            }
            block.to = part.end.max(block.to);
            if is_over || block.to >= part.length {
                // What stands behind the last whole entry is being written.
                block.to = block.to.max(part.length);
                block.lines = Html::trusted(shown);
                return Ok(block);
            }
        }
    }

    /// The end of the log.
    async fn last_block(&self) -> Result<Block, PageError> {
        let mut back = A_PAGE as u64;
        let length = self.part(u64::MAX >> 1).await?.length;
        loop {
            let begin = length.saturating_sub(back);
            let block = self.block(begin).await?;
            if !block.lines.is_empty() || begin == 0 {
                return Ok(block);
            }
            back *= 4;
        }
    }

    /// The lines that contain a text, with links to them.
    async fn search(&self, sought: &str, from: u64, params: &Params) -> Result<Hits, PageError> {
        let sought = sought.to_lowercase();
        let plain = params.without("q");
        let mut hits = Vec::new();
        let mut at = from;
        loop {
            let part = self.part(at).await?;
            for (byte, entry) in &part.entries {
                let text = (self.told)(entry);
                let Some(text) = text.filter(|text| text.to_lowercase().contains(&sought)) else {
                    continue;
                };
                if hits.len() == HITS {
                    return Ok(Hits {
                        lines: hits,
                        next: Some(*byte),
                    });
                }
                hits.push(Hit {
                    byte: *byte,
                    href: format!("{}#b{byte}", plain.link_with("from", &byte.to_string())),
                    line: html::short(text.trim_end(), 300),
                });
            }
            if part.end <= at {
                return Ok(Hits {
                    lines: hits,
                    next: None,
                });
            }
            at = part.end;
        }
    }
}

/// A line with its byte as its name, so that a link to a line holds however the log grows.
fn line(out: &mut String, at: u64, text: &str) {
    out.push_str(&format!(
        "<span id=b{at}><a href=\"?from={at}#b{at}\">{at}</a>"
    ));
    ansi(out, text.trim_end_matches(['\n', '\r']));
    out.push_str("</span>\n");
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_line_is_named_by_its_byte_and_cut_where_nobody_reads_on() {
        let mut out = String::new();
        line(&mut out, 400, &format!("{}\n", "x".repeat(1 << 20)));
        assert!(out.starts_with("<span id=b400><a href=\"?from=400#b400\">400</a>xxx"));
        assert!(out.len() < 5000 && out.contains("the line goes on"));
    }
}
