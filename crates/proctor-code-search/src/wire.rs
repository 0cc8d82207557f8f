//! What a scorer and the search say to each other: a question, its answer, and so on, until the input ends.
//!
//! Either is a frame: two lengths, a JSON text and raw bytes, `[u32 json][u32 bytes][json…][bytes…]`, little endian.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The longest JSON text of a frame: the numbers of all files that a listing can name.
const LONGEST_JSON: usize = 16 << 20;
/// The longest raw part of a frame: a file, a listing, or a line of code that matched.
const LONGEST_BYTES: usize = 16 << 20;
/// What a frame begins with.
pub const HEAD: usize = 8;

/// From the scorer to the search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// Take this pattern, in one language or in whatever language a file is written in. Comes first.
    Open {
        /// As the definition has it.
        pattern: String,
        /// Its name.
        language: Option<String>,
    },
    /// Which of these files can match? Their paths are the raw bytes, with a zero byte between them.
    Select {
        /// Whether the one file was named by itself: then it is searched as what the pattern says, whatever it is called.
        by_itself: bool,
    },
    /// Does this file match? Its content is the raw bytes.
    Search {
        /// Its path.
        path: String,
        /// As above.
        by_itself: bool,
    },
}

/// From the search to the scorer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The pattern can be searched for.
    Opened,
    /// It cannot.
    Refused(BadPattern),
    /// The places of the files that can match in what was asked.
    Selected(Vec<usize>),
    /// Nothing in the file matches.
    NoMatch,
    /// Something does. The first line of the code that matched is the raw bytes.
    Match {
        /// Where it begins, from 1.
        line: usize,
    },
}

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum BadPattern {
    /// No language has that name.
    #[error("'{name}' is no language that patterns can be about; {} are", known.join(", "))]
    UnknownLanguage {
        /// The name.
        name: String,
        /// The languages there are.
        known: Vec<String>,
    },
    /// The language cannot read the pattern.
    #[error("the pattern cannot be read as {language}: {why}")]
    Unreadable {
        /// The language.
        language: String,
        /// What it said.
        why: String,
    },
}

/// The bytes of a frame.
pub fn frame(message: &impl Serialize, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(message)?;
    let head = Head::new(json.len(), bytes.len())?;
    let mut frame = Vec::with_capacity(HEAD + head.rest());
    for part in [&head.to_bytes()[..], &json, bytes] {
        frame.extend_from_slice(part);
    }
    Ok(frame)
}

/// The two lengths that a frame begins with.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    json: usize,
    bytes: usize,
}

impl Head {
    fn new(json: usize, bytes: usize) -> io::Result<Self> {
        if json > LONGEST_JSON || bytes > LONGEST_BYTES {
            let why = format!("a frame of {} bytes", json.max(bytes));
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(Self { json, bytes })
    }

    /// Reads the lengths; refuses what neither side ever sends.
    pub fn parse(head: [u8; HEAD]) -> io::Result<Self> {
        let [a, b, c, d, rest @ ..] = head;
        let length = |bytes| u32::from_le_bytes(bytes) as usize;
        Self::new(length([a, b, c, d]), length(rest))
    }

    fn to_bytes(self) -> [u8; HEAD] {
        let length = |length: usize| u32::try_from(length).expect("checked by `new`");
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&length(self.json).to_le_bytes());
        head[4..].copy_from_slice(&length(self.bytes).to_le_bytes());
        head
    }

    /// How many bytes follow.
    pub fn rest(self) -> usize {
        self.json + self.bytes
    }

    /// The message and its raw bytes, from all that followed.
    pub fn message<M: DeserializeOwned>(self, mut rest: Vec<u8>) -> io::Result<(M, Vec<u8>)> {
        let message = serde_json::from_slice(&rest[..self.json])?;
        rest.drain(..self.json);
        Ok((message, rest))
    }
}

/// Sends a frame.
pub fn send(writer: &mut impl Write, message: &impl Serialize, bytes: &[u8]) -> io::Result<()> {
    writer.write_all(&frame(message, bytes)?)?;
    writer.flush()
}

/// Waits for a frame.
pub fn receive<M: DeserializeOwned>(reader: &mut impl Read) -> io::Result<(M, Vec<u8>)> {
    let mut head = [0; HEAD];
    reader.read_exact(&mut head)?;
    let head = Head::parse(head)?;
    let mut rest = vec![0; head.rest()];
    reader.read_exact(&mut rest)?;
    head.message(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = receive::<Answer>(&mut bytes.as_slice());
        }

        #[test]
        fn a_frame_arrives_as_it_was_sent(path in "\\PC{0,20}", content in proptest::collection::vec(any::<u8>(), 0..300)) {
            let question = Question::Search { path, by_itself: false };
            let sent = frame(&question, &content).unwrap();
            prop_assert_eq!(receive::<Question>(&mut sent.as_slice()).unwrap(), (question, content));
        }
    }

    #[test]
    fn a_length_that_nobody_sends_is_refused_before_there_is_room_for_it() {
        let sent = [0, 0, 0, 0, 0, 0, 0, 0x7f];
        let refused = receive::<Answer>(&mut sent.as_slice()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }
}
