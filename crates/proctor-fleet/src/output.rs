//! Output as people read it: its last lines, or piece by piece as it comes.

use proctor_devbox::{Execution, Result, Stream};

/// How much of a stream is looked at for its last lines.
const MOST_OF_A_TAIL: u64 = 1 << 20;
/// How much is read at once.
const PIECE: usize = 64 << 10;

/// The end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Its last lines.
    pub text: String,
    /// Whether something comes before them, or was dropped.
    pub truncated: bool,
}

/// The last `lines` lines of what there is of a stream now.
pub async fn tail(execution: &dyn Execution, stream: Stream, lines: usize) -> Result<Tail> {
    let progress = execution.progress();
    let (length, dropped) = match stream {
        Stream::Stdout => (progress.stdout, progress.stdout_dropped),
        Stream::Stderr => (progress.stderr, progress.stderr_dropped),
    };
    let from = length.saturating_sub(MOST_OF_A_TAIL);
    let mut bytes = Vec::new();
    let mut at = from;
    while at < length {
        let most = usize::try_from(length - at).unwrap_or(PIECE).min(PIECE);
        let chunk = execution.read_output(stream, at, most).await?;
        if chunk.bytes.is_empty() {
            break;
        }
        bytes.extend_from_slice(&chunk.bytes);
        at = chunk.end;
    }
    let cut = last_lines(&bytes, lines);
    Ok(Tail {
        text: String::from_utf8_lossy(&bytes[cut..]).into_owned(),
        truncated: from > 0 || cut > 0 || dropped > 0,
    })
}

/// The last `lines` lines of a text.
pub(crate) fn tail_of_text(text: &str, lines: usize) -> Tail {
    let cut = last_lines(text.as_bytes(), lines);
    Tail {
        text: text[cut..].to_owned(),
        truncated: cut > 0,
    }
}

/// Where the last `lines` lines begin. What follows the last line feed is a line of its own.
fn last_lines(bytes: &[u8], lines: usize) -> usize {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if lines == 0 {
        return bytes.len();
    }
    body.iter()
        .enumerate()
        .rev()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(lines - 1)
        .map_or(0, |(at, _)| at + 1)
}

/// A piece of output that is text, and where it ends in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text; what is no text in the output is shown as U+FFFD.
    pub text: String,
    /// The position behind it: where to go on.
    pub end: u64,
}

/// Reads a stream from a position on, piece by piece, without cutting a character in two.
#[derive(Debug)]
pub struct Pieces {
    stream: Stream,
    at: u64,
    over: bool,
}

impl Pieces {
    /// From `offset` on.
    pub fn from(stream: Stream, offset: u64) -> Self {
        Self {
            stream,
            at: offset,
            over: false,
        }
    }

    /// The next piece; waits for one. `None`: the program has ended and everything was read.
    pub async fn next(&mut self, execution: &dyn Execution) -> Result<Option<Piece>> {
        while !self.over {
            let chunk = execution.read_output(self.stream, self.at, PIECE).await?;
            if chunk.last {
                self.over = true;
            }
            let whole = if chunk.last {
                chunk.bytes.len()
            } else {
                whole_characters(&chunk.bytes)
            };
            if whole > 0 {
                self.at += whole as u64;
                return Ok(Some(Piece {
                    text: String::from_utf8_lossy(&chunk.bytes[..whole]).into_owned(),
                    end: self.at,
                }));
            }
            if !chunk.bytes.is_empty() {
                // Only the beginning of a character is there: the rest comes, or the program ends.
                let behind = self.at + chunk.bytes.len() as u64;
                execution.read_output(self.stream, behind, 1).await?;
            }
        }
        Ok(None)
    }
}

/// How many bytes are left when a character that is only begun at the end is taken off.
fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let length = match bytes[at] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return bytes.len(),
        };
        return if length > back { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_lines_are_counted_from_the_end() {
        let tail = |text: &'static str, lines| &text[last_lines(text.as_bytes(), lines)..];
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(tail("a\nb\nc", 2), "b\nc");
        assert_eq!(tail("a\n\n\n", 2), "\n\n");
        assert_eq!(tail("a\nb", 5), "a\nb");
        assert_eq!(tail("a\nb", 0), "");
        assert_eq!(tail("", 1), "");
    }

    proptest! {
        #[test]
        fn cutting_text_anywhere_leaves_whole_characters(text in ".{1,40}", at in 0..200usize) {
            let bytes = &text.as_bytes()[..at.min(text.len())];
            let whole = whole_characters(bytes);
            prop_assert!(std::str::from_utf8(&bytes[..whole]).is_ok());
            prop_assert!(bytes.len() - whole < 4);
        }

        #[test]
        fn bytes_that_are_no_text_are_never_held_back_for_long(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(bytes.len() - whole_characters(&bytes) < 4);
        }

        #[test]
        fn no_more_than_the_wanted_lines_are_left(text in "[ab\n]{0,60}", lines in 0..10usize) {
            let left = &text[last_lines(text.as_bytes(), lines)..];
            prop_assert!(left.lines().count() <= lines);
        }
    }
}
