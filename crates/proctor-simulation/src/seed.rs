//! Where ids come from: a seed and a count, so that they can be repeated.

use proctor_core::canonical::hex;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// What makes one playground's ids, numbers and passwords differ from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed([u8; 32]);

impl Seed {
    /// The seed with this number.
    pub fn from_number(number: u64) -> Self {
        Self::from_bytes(&number.to_be_bytes())
    }

    /// The seed that these bytes stand for.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The bytes that belong to `purpose` and `number`: the same for the same seed, unguessable
    /// without it.
    pub fn derive(&self, purpose: &str, number: u64) -> [u8; 32] {
        Sha256::new()
            .chain_update(self.0)
            .chain_update(
                u64::try_from(purpose.len())
                    .unwrap_or(u64::MAX)
                    .to_be_bytes(),
            )
            .chain_update(purpose)
            .chain_update(number.to_be_bytes())
            .finalize()
            .into()
    }

    /// The seed of a part of what this is the seed of.
    #[must_use]
    pub fn part(&self, purpose: &str, number: usize) -> Self {
        Self::from_bytes(&self.derive(purpose, number as u64))
    }

    /// An id for the `number`-th thing of a kind: 16 hexadecimal digits.
    pub fn short_id(&self, purpose: &str, number: u64) -> String {
        hex(&self.derive(purpose, number)[..8])
    }

    /// The seed itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// An endless sequence of ids, the same for the same seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdSequence {
    seed: Seed,
    drawn: u64,
}

impl IdSequence {
    /// The sequence before anything was drawn.
    pub fn new(seed: Seed) -> Self {
        Self { seed, drawn: 0 }
    }

    /// The next id.
    pub fn draw(&mut self) -> String {
        self.drawn += 1;
        let hash = Sha256::new()
            .chain_update(self.seed.as_bytes())
            .chain_update(self.drawn.to_be_bytes())
            .finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .hyphenated()
            .encode_lower(&mut Uuid::encode_buffer())
            .to_owned()
    }

    /// How many ids were drawn.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Goes on as if `drawn` ids were drawn.
    pub fn resume_at(&mut self, drawn: u64) {
        self.drawn = drawn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_ids_and_another_seed_others() {
        let draw = |number| {
            let mut ids = IdSequence::new(Seed::from_number(number));
            (ids.draw(), ids.draw())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let (first, second) = draw(1);
        assert_ne!(first, second);
        assert_eq!(first.len(), 36);
    }
}
