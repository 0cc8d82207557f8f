//! What the journal keeps of an event: its text, compressed where that pays.
//!
//! A large event holds resources twice, as they came and as they are stored, and a line of notes
//! says nearly the same many times over: compressed, the repetitions cost nothing to hash and write.

use std::{borrow::Cow, io};

/// Payloads of this many bytes or more are compressed.
const WORTH_PACKING: usize = 16 * 1024;
/// The quickest of the usual levels.
const LEVEL: i32 = 1;
/// The first bytes of everything that zstd compressed; no text begins with them.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The payload as the journal keeps it.
pub fn pack(text: Vec<u8>) -> Vec<u8> {
    if text.len() < WORTH_PACKING {
        return text;
    }
    zstd::bulk::compress(&text, LEVEL).unwrap_or(text)
}

/// The text of a payload that [`pack`] made.
pub fn unpack(payload: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    if payload.starts_with(&MAGIC) {
        return zstd::stream::decode_all(payload).map(Cow::Owned);
    }
    Ok(Cow::Borrowed(payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        for length in [0, 100, WORTH_PACKING, 100 * WORTH_PACKING] {
            let text = b"{\"status\":200}\n".repeat(length / 15);
            let packed = pack(text.clone());
            assert!(packed.len() <= text.len());
            assert_eq!(*unpack(&packed).unwrap(), *text);
        }
        assert!(unpack(&MAGIC).is_err());
    }
}
