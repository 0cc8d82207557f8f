//! Comparisons, gates and runs of a server, told to people and to build servers: tables, Markdown, JUnit, what GitHub reads, a badge.
//!
//! Names, findings and logs come from agents and from authors of benchmarks. Nothing of it reaches a terminal, a pull request or an XML file as anything but
//! text ([`text`]), and every form keeps the limits of its host.

pub(crate) mod answers;
pub(crate) mod badge;
pub(crate) mod github;
pub(crate) mod junit;
pub(crate) mod links;
pub(crate) mod markdown;
pub(crate) mod marks;
pub(crate) mod run;
pub(crate) mod tables;
pub(crate) mod task_run;
pub(crate) mod text;
