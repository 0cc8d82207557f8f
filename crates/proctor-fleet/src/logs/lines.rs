//! A stream of bytes becomes lines for a log, without secrets.

use proctor_devbox::Stream;

use super::What;
use crate::masks::Masks;

/// A line longer than this is several entries.
const LONGEST_LINE: usize = 8 << 10;
/// This much of an execution's stream goes into the log.
const LONGEST_SHARE: usize = 1 << 20;
/// So many lines of an execution's stream go into the log.
const MOST_LINES: usize = 10_000;

/// Puts lines together from what is read of a stream.
#[derive(Debug)]
pub(crate) struct Lines {
    error: bool,
    buffer: Vec<u8>,
    at: u64,
    bytes: usize,
    lines: usize,
}

impl Lines {
    /// Goes on at `offset` of a stream.
    pub(crate) fn from(stream: Stream, offset: u64) -> Self {
        Self {
            error: stream == Stream::Stderr,
            buffer: Vec::new(),
            at: offset,
            bytes: 0,
            lines: 0,
        }
    }

    /// Where to read on.
    pub(crate) fn read_at(&self) -> u64 {
        self.at + self.buffer.len() as u64
    }

    /// Whether its share of the log is used up.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > LONGEST_SHARE || self.lines > MOST_LINES
    }

    /// Takes what was read; gives back the lines that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8], masks: &Masks) -> Vec<What> {
        let searched = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        let mut lines = Vec::new();
        let mut from = searched;
        while let Some(found) = self.buffer[from..].iter().position(|byte| *byte == b'\n') {
            lines.push(self.cut(from + found + 1, masks));
            from = 0;
        }
        // A secret may begin in what is there and end in what comes.
        while self.buffer.len() > LONGEST_LINE + masks.longest() {
            let end = masks.cut_before_secret(&self.buffer, LONGEST_LINE);
            lines.push(self.cut(end, masks));
        }
        lines
    }

    /// The last line, if it has no end.
    pub(crate) fn finish(&mut self, masks: &Masks) -> Option<What> {
        (!self.buffer.is_empty()).then(|| self.cut(self.buffer.len(), masks))
    }

    fn cut(&mut self, end: usize, masks: &Masks) -> What {
        let line: Vec<u8> = self.buffer.drain(..end).collect();
        self.at += end as u64;
        self.bytes += end;
        self.lines += 1;
        let text = String::from_utf8_lossy(&line);
        What::Line {
            error: self.error,
            text: masks.apply(text.trim_end_matches(['\n', '\r'])),
            end: self.at,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(lines: impl IntoIterator<Item = What>) -> Vec<String> {
        let text = |what| match what {
            What::Line { text, .. } => text,
            other => panic!("{other:?}"),
        };
        lines.into_iter().map(text).collect()
    }

    #[test]
    fn lines_are_put_together_from_pieces_and_end_where_they_end() {
        let masks = Masks::default();
        let mut lines = Lines::from(Stream::Stdout, 100);
        assert_eq!(texts(lines.push(b"fir", &masks)), [""; 0]);
        assert_eq!(
            texts(lines.push(b"st\nsecond\r\nth", &masks)),
            ["first", "second"]
        );
        assert_eq!(lines.read_at(), 100 + 6 + 8 + 2);
        let last = lines.finish(&masks).unwrap();
        assert_eq!(
            last,
            What::Line {
                error: false,
                text: "th".to_owned(),
                end: 116
            }
        );
        assert_eq!(lines.finish(&masks), None);
    }

    #[test]
    fn a_stream_without_lines_is_cut_and_its_share_ends() {
        let masks = Masks::default();
        let mut lines = Lines::from(Stream::Stderr, 0);
        let mut count = 0;
        while !lines.is_full() {
            count += lines.push(&[b'x'; 4096], &masks).len();
        }
        assert!((LONGEST_SHARE / LONGEST_LINE..MOST_LINES).contains(&count));
    }

    proptest! {
        #[test]
        fn a_secret_is_hidden_however_it_comes(before in 0..9000usize, piece in 1..3000usize) {
            let masks = Masks::of(["s3cr3t-value"]);
            let stream = [vec![b'x'; before], b"s3cr3t-value".to_vec(), vec![b'y'; 9000]].concat();
            let mut lines = Lines::from(Stream::Stdout, 0);
            let mut all = Vec::new();
            for piece in stream.chunks(piece) {
                all.extend(lines.push(piece, &masks));
            }
            all.extend(lines.finish(&masks));
            let told = texts(all).concat();
            prop_assert!(!told.contains("s3cr"), "a part of it is left");
            prop_assert!(told.contains("********"));
        }
    }
}
