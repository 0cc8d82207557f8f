//! The simulated services of a playground, each a deterministic state machine.
//!
//! * [`simulator`]: the shape that every simulator has; [`exchange`]: what it is asked and answers.
//! * [`fhir`]: a FHIR R4 store; [`hl7`]: an HL7 v2 interface; [`files`]: a tree of files;
//!   [`voice`]: a telephone line; [`fax`]: a fax machine; [`messages`]: messages to and from patients;
//!   [`cds_hooks`]: decision support; [`payer`]: a payer's desk: its portal, its web pages, and the
//!   clearinghouse in front of it.
//! * [`rows`]: the plain state that some of them have.
//! * [`scenario`]: what happens before the agent comes; [`exhibits`]: what checks look at after.
//! * [`world`]: a playground at work; [`environment`]: what it is made from; [`entrance`]: who comes
//!   in with credentials of a simulator's own.
//! * [`recorder`]: how events reach the journal; [`payload`]: what it keeps of them.
//! * [`seed`]: where ids, numbers and passwords come from.
//!
//! A simulator reads no clock, draws no random number and does no I/O. What surrounds it (HTTP, the
//! journal) lives in modules of its own.

mod account;
pub mod cds_hooks;
mod content;
pub mod entrance;
pub mod environment;
pub mod exchange;
pub mod exhibits;
pub mod fax;
pub mod fhir;
mod fields;
pub mod files;
pub mod hl7;
mod machine;
pub mod messages;
pub mod payer;
pub mod payload;
mod problems;
pub mod recorder;
#[cfg(test)]
mod rehearsal;
pub mod rows;
pub mod scenario;
pub mod seed;
pub mod simulator;
mod telephone;
pub mod voice;
pub mod world;
