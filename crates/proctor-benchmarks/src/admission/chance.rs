//! Numbers that look random and follow from a seed, so that an admission finds the same whenever it is run.

/// A sequence of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The sequence of a seed and of what it is used for.
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        let mixed = purpose
            .bytes()
            .fold(seed ^ 0x9e37_79b9_7f4a_7c15, |state, byte| {
                (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        Self(mixed)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of several; none of nothing.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(all.len()).ok().filter(|count| *count > 0)?;
        let place = usize::try_from(self.next() % count).ok()?;
        all.get(place)
    }
}
