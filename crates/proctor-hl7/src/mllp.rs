//! MLLP: messages in a stream of bytes, each between `0x0B` and `0x1C 0x0D`.
//!
//! The codec keeps at most one unfinished message, never more than its limit. What stands between frames is skipped, and the last CR
//! with it, so a sender that forgets it is understood.

use thiserror::Error;

const START: u8 = 0x0b;
const END: u8 = 0x1c;
const AFTER_END: u8 = 0x0d;

/// Why there is no message where one began, or why one cannot be framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// More bytes than a message may have; the rest of it is skipped.
    #[error("a message in a frame has more than {limit} bytes")]
    TooLarge {
        /// How many there may be.
        limit: usize,
    },
    /// Another frame, or the end of the stream, came before its end.
    #[error("a frame was not finished")]
    Unfinished,
    /// The message holds a byte that means the start or the end of a frame.
    #[error("the byte {byte:#04x} at {position} cannot be sent in a frame")]
    Unsendable {
        /// The byte.
        byte: u8,
        /// Where it stands in the message.
        position: usize,
    },
}

/// Takes messages out of a stream that arrives in pieces.
#[derive(Debug, Clone)]
pub struct Decoder {
    limit: usize,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Between,
    Inside(Vec<u8>),
    /// Inside a message that is too large.
    Skipping,
}

impl Decoder {
    /// A decoder at the beginning of a stream, for messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            state: State::Between,
        }
    }

    /// Takes the next bytes of the stream and gives the messages that they complete, in order.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Vec<Result<Vec<u8>, FrameError>> {
        let mut frames = vec![];
        while !bytes.is_empty() {
            let marker = bytes.iter().position(|&byte| match self.state {
                State::Between => byte == START,
                State::Inside(_) | State::Skipping => byte == START || byte == END,
            });
            let content = &bytes[..marker.unwrap_or(bytes.len())];
            if let State::Inside(message) = &mut self.state {
                if message.len() + content.len() > self.limit {
                    frames.push(Err(FrameError::TooLarge { limit: self.limit }));
                    self.state = State::Skipping;
                } else {
                    message.extend_from_slice(content);
                }
            }
            let Some(marker) = marker else {
                break;
            };
            let next = if bytes[marker] == START {
                State::Inside(vec![])
            } else {
                State::Between
            };
            let starts_anew = matches!(next, State::Inside(_));
            match std::mem::replace(&mut self.state, next) {
                State::Inside(_) if starts_anew => frames.push(Err(FrameError::Unfinished)),
                State::Inside(message) => frames.push(Ok(message)),
                State::Between | State::Skipping => {}
            }
            bytes = &bytes[marker + 1..];
        }
        frames
    }

    /// Says at the end of the stream whether a message was cut off.
    pub fn finish(self) -> Result<(), FrameError> {
        match self.state {
            State::Between => Ok(()),
            State::Inside(_) | State::Skipping => Err(FrameError::Unfinished),
        }
    }
}

/// The message in a frame.
pub fn frame(message: &[u8]) -> Result<Vec<u8>, FrameError> {
    if let Some(position) = message.iter().position(|byte| [START, END].contains(byte)) {
        return Err(FrameError::Unsendable {
            byte: message[position],
            position,
        });
    }
    let mut framed = Vec::with_capacity(message.len() + 3);
    framed.push(START);
    framed.extend_from_slice(message);
    framed.extend_from_slice(&[END, AFTER_END]);
    Ok(framed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn decode(stream: &[u8]) -> Vec<Result<Vec<u8>, FrameError>> {
        Decoder::new(8).feed(stream)
    }

    #[test]
    fn frames_are_found_among_anything() {
        let found = [Ok(b"one".to_vec()), Ok(b"two\r".to_vec())];
        assert_eq!(decode(b"\x0bone\x1c\r\x0btwo\r\x1c\r"), found);
        assert_eq!(decode(b"junk\x1c\x0bone\x1c\x0btwo\r\x1c"), found);
        assert_eq!(decode(b"\r\n\x0bone\x1c\r\n \x0btwo\r\x1c\r\n"), found);
        assert_eq!(decode(b"\x0b\x1c\r"), [Ok(vec![])]);
    }

    #[test]
    fn a_frame_that_is_too_large_is_skipped_and_told_once() {
        let mut decoder = Decoder::new(4);
        assert_eq!(decoder.feed(b"\x0bfour"), []);
        let too_large = Err(FrameError::TooLarge { limit: 4 });
        assert_eq!(decoder.feed(b"!"), [too_large]);
        assert_eq!(decoder.feed(b"and more"), []);
        assert_eq!(decoder.feed(b"\x1c\r\x0bok\x1c"), [Ok(b"ok".to_vec())]);
        assert_eq!(decoder.finish(), Ok(()));
    }

    #[test]
    fn a_frame_that_does_not_end_is_told() {
        assert_eq!(
            decode(b"\x0bone\x0btwo\x1c"),
            [Err(FrameError::Unfinished), Ok(b"two".to_vec())]
        );
        let mut decoder = Decoder::new(8);
        assert_eq!(decoder.feed(b"\x0bone"), []);
        assert_eq!(decoder.finish(), Err(FrameError::Unfinished));
    }

    #[test]
    fn what_would_end_a_frame_cannot_be_sent() {
        let refused = FrameError::Unsendable {
            byte: END,
            position: 1,
        };
        assert_eq!(frame(b"a\x1cb"), Err(refused));
    }

    proptest! {
        #[test]
        fn the_size_of_the_pieces_does_not_matter(
            stream in vec(prop_oneof![Just(START), Just(END), Just(b'\r'), any::<u8>()], 0..60),
            size in 1..9_usize,
        ) {
            let mut decoder = Decoder::new(8);
            let in_pieces: Vec<_> = stream.chunks(size).flat_map(|piece| decoder.feed(piece)).collect();
            prop_assert_eq!(in_pieces, decode(&stream));
        }

        #[test]
        fn what_is_framed_is_found(messages in vec(vec(0x20..=0xff_u8, 0..8), 0..5)) {
            let stream: Vec<u8> = messages.iter().flat_map(|message| frame(message).unwrap()).collect();
            prop_assert_eq!(decode(&stream), messages.into_iter().map(Ok).collect::<Vec<_>>());
        }
    }
}
