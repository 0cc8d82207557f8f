//! Looking after every round.
//!
//! Who looks after each round and stops at the first good one finds something sooner or later, whether or not there is anything. With
//! O'Brien and Fleming's levels all planned looks together keep the 5 %: early looks need far stronger evidence, the last one almost the ordinary
//! amount. The plan must be fixed before the first round.

use crate::{Alpha, Refusal, distributions::normal};

/// The boundary at the last look of 2, 3, … 20 rounds, for a one-sided 5 % with a look after each round from the second on.
const AT_LAST_LOOK: [f64; 19] = [
    1.644854, 1.705586, 1.732525, 1.750779, 1.764878, 1.776342, 1.785933, 1.794117, 1.801210,
    1.807437, 1.812963, 1.817910, 1.822375, 1.826432, 1.830139, 1.833545, 1.836689, 1.839604,
    1.842315,
];

/// The one-sided level of the gate after `round` of `rounds` planned ones (2 to 20). The first look is after round 2.
pub fn look(round: u32, rounds: u32) -> Result<Alpha, Refusal> {
    let boundary = rounds
        .checked_sub(2)
        .and_then(|place| AT_LAST_LOOK.get(place as usize))
        .ok_or(Refusal::BadRound)?;
    if !(2..=rounds).contains(&round) {
        return Err(Refusal::BadRound);
    }
    let stretch = (f64::from(rounds) / f64::from(round)).sqrt();
    Alpha::new(normal::upper_tail(boundary * stretch)).ok_or(Refusal::BadRound)
}
