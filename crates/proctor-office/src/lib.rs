//! The simulated services of an office.
//!
//! * [`hl7`]: an HL7 v2 interface; [`files`]: a tree of files; [`voice`]: a telephone line; [`fax`]: a
//!   fax machine; [`messages`]: messages to and from patients; [`cds_hooks`]: decision support.
//! * `telephone`: the numbers that some of them have.
//!
//!
//! Each is a folder with its machine, its configuration, what it shows to checks, and the plugin that
//! registers it; none knows of another. Everything here is pure: no clock, no random number, no I/O.

pub mod cds_hooks;
pub mod fax;
pub mod files;
pub mod hl7;
pub mod messages;
mod telephone;
pub mod voice;
