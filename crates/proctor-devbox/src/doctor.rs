//! What a host offers to a backend, what it lacks, and what that costs.

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// It is there.
    Fine,
    /// It is missing and boxes are weaker for it.
    Weaker,
    /// It is missing and boxes cannot be made.
    Blocking,
}

/// One thing that was tried on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was tried.
    pub what: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub found: String,
    /// What is lost and what to do, if something is missing.
    pub costs: Option<String>,
}

/// Everything that was tried on the host for one backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The backend's name.
    pub backend: String,
    /// The findings, most basic first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether boxes can be made at all.
    pub fn usable(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity != Severity::Blocking)
    }
}
