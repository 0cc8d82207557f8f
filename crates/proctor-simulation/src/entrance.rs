//! What a simulator says to a request before it reaches a world: who comes in with credentials of
//! the simulator's own.
//!
//! It follows from the playground's seed at most, so asking costs no world. Whom a simulator does not
//! know, the platform may know.

use http::{HeaderMap, Method};
use proctor_core::time::Timestamp;

use crate::{exchange::Response, seed::Seed};

/// The entrance of a simulator.
pub trait Entrance: Send + Sync {
    /// Decides from the head of a request to `path`, which is below the playground.
    fn admit(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Admission<'_>;
}

/// What becomes of a request at an entrance.
pub enum Admission<'e> {
    /// It may go on to the world.
    Admitted,
    /// The entrance answers it; the world has nothing to do with it.
    Answered(Answer<'e>),
    /// It shows nothing that the simulator knows.
    Unknown,
}

/// Answers a request from its headers, its body and the time.
pub type Answer<'e> = Box<dyn Fn(&HeaderMap, &[u8], Timestamp) -> Response + Send + Sync + 'e>;

/// The entrances of a type of simulator.
pub enum Entrances {
    /// The same for all simulators of the type.
    Fixed(Box<dyn Entrance>),
    /// Each has one that follows from the playground's seed, its number among the simulators of the
    /// type, and the address of the playground.
    Seeded(fn(Seed, usize, &str) -> Box<dyn Entrance>),
}

/// An entrance that admits nobody by itself: only whoever the platform knows comes in.
pub struct Closed;

impl Entrance for Closed {
    fn admit(&self, _: &Method, _: &str, _: &HeaderMap, _: Timestamp) -> Admission<'_> {
        Admission::Unknown
    }
}
