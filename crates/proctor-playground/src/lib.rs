//! The simulated services of a playground, each a deterministic state machine.
//!
//! * [`simulator`]: the shape that every simulator has; [`exchange`]: what it is asked and answers.
//! * [`fhir`]: a FHIR R4 store.
//! * [`payer`]: a payer's desk: its portal, its web pages, and the clearinghouse in front of it.
//! * [`scenario`]: what happens before the agent comes; [`exhibits`]: what checks look at after.
//! * [`recorder`]: how events reach the journal; [`payload`]: what it keeps of them.
//! * [`seed`]: where ids, numbers and passwords come from.
//!
//! A simulator reads no clock, draws no random number and does no I/O. What surrounds it (HTTP, the
//! journal) lives in modules of its own.

pub mod exchange;
pub mod exhibits;
pub mod fhir;
pub mod payer;
pub mod payload;
pub mod recorder;
pub mod scenario;
pub mod seed;
pub mod simulator;
