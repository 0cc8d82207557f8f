//! What a log tells about executions: how they are found again after a crash.

use std::collections::HashMap;

use super::{LogEntry, What};

/// What a log tells about executions.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// The executions that were begun, each with its shell and how far its streams were followed.
    pub(crate) begun: HashMap<String, Trace>,
    /// Commands that wait for their shell, in order.
    pub(crate) queued: Vec<Waiting>,
}

/// A command that waits for its shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) execution: String,
    pub(crate) shell: String,
    pub(crate) command: String,
    pub(crate) stdin: bool,
}

/// What a log tells about one execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) shell: Option<String>,
    pub(crate) command: String,
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
    pub(crate) ended: Option<i32>,
}

impl Traces {
    pub(crate) fn of(entries: &[LogEntry]) -> Self {
        let mut traces = Self::default();
        for entry in entries {
            let Some(id) = &entry.execution else { continue };
            match &entry.what {
                What::Queued { command, stdin } => traces.queued.push(Waiting {
                    execution: id.clone(),
                    shell: entry.shell.clone().unwrap_or_default(),
                    command: command.clone(),
                    stdin: *stdin,
                }),
                What::Started { command } => {
                    traces.queued.retain(|waiting| waiting.execution != *id);
                    let trace = traces.begun.entry(id.clone()).or_default();
                    trace.shell = entry.shell.clone();
                    trace.command = command.clone();
                }
                What::Line { error, end, .. } => {
                    let trace = traces.begun.entry(id.clone()).or_default();
                    let at = if *error {
                        &mut trace.stderr
                    } else {
                        &mut trace.stdout
                    };
                    *at = (*at).max(*end);
                }
                What::Ended { status } => {
                    traces.begun.entry(id.clone()).or_default().ended = Some(*status);
                }
                What::Note { .. } => {}
            }
        }
        traces
    }
}
