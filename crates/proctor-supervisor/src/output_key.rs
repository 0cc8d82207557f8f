//! What programs wrote, at rest: enciphered, so that a secret that a program prints stands nowhere on the host's disk in plain text.
//!
//! The cipher is a stream cipher that can begin anywhere: a file of output has as many bytes as were written, and any part of it can be read by
//! itself. The key of an execution follows from a secret of the server's; it travels with the order to run the program and is never stored.

use chacha20::{
    ChaCha20,
    cipher::{KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _},
};

use crate::spec::Stream;

/// The key to the output of one execution.
///
/// Bytes at one offset of one stream are enciphered once: output is only appended, and the name of an execution is not used twice in a box.
#[derive(Clone, PartialEq, Eq)]
pub struct OutputKey([u8; 32]);

impl OutputKey {
    /// The key with these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key as it travels; none if these bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The key as it travels.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Enciphers or deciphers what stands at `offset` of a stream.
    pub fn apply(&self, stream: Stream, offset: u64, bytes: &mut [u8]) {
        let mut nonce = [0; 12];
        nonce[0] = match stream {
            Stream::Stdout => 1,
            Stream::Stderr => 2,
        };
        let mut cipher = ChaCha20::new(&self.0.into(), &nonce.into());
        cipher.seek(offset);
        cipher.apply_keystream(bytes);
    }
}

impl std::fmt::Debug for OutputKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OutputKey")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_two_streams_of_an_execution_are_enciphered_differently() {
        let key = OutputKey::new([7; 32]);
        let (mut stdout, mut stderr) = (*b"hush-hush", *b"hush-hush");
        key.apply(Stream::Stdout, 0, &mut stdout);
        key.apply(Stream::Stderr, 0, &mut stderr);
        assert_ne!(&stdout, b"hush-hush");
        assert_ne!(stdout, stderr);
    }

    proptest! {
        #[test]
        fn what_was_written_in_pieces_can_be_read_in_others(
            text in prop::collection::vec(any::<u8>(), 0..300),
            cut in 0_usize..300,
            from in 0_usize..300,
        ) {
            let key = OutputKey::new([9; 32]);
            let cut = cut.min(text.len());
            let mut sealed = text.clone();
            let (head, tail) = sealed.split_at_mut(cut);
            key.apply(Stream::Stdout, 0, head);
            key.apply(Stream::Stdout, cut as u64, tail);
            let from = from.min(text.len());
            let mut read = sealed[from..].to_vec();
            key.apply(Stream::Stdout, from as u64, &mut read);
            prop_assert_eq!(&read, &text[from..]);
        }
    }
}
