//! The simulated services of a playground, each a deterministic state machine.
//!
//! * [`fhir`]: a FHIR R4 store.
//! * [`recorder`]: how events reach the journal; [`payload`]: what it keeps of them.
//!
//! A service is `apply(state, request) -> (response, event)`: it reads no clock, draws no random
//! number and does no I/O. What surrounds it (HTTP, the journal) lives in modules of its own.

pub mod fhir;
pub mod payload;
pub mod recorder;
