//! The log of a devbox as text.

use proctor_core::time::Timestamp;
use proctor_fleet::logs::{LogEntry, Source, What};

use super::BoxLog;

/// The entries that belong to `log`, a line each.
pub(super) fn text(entries: &[LogEntry], log: BoxLog) -> String {
    let lines = entries.iter().filter_map(|entry| log_line(entry, log));
    lines.collect()
}

/// An entry as a line of `log`; none if it belongs to another.
pub fn log_line(entry: &LogEntry, log: BoxLog) -> Option<String> {
    let belongs = match (log, entry.source) {
        (BoxLog::Setup, source) => matches!(source, Source::Setup | Source::Entrypoint),
        (BoxLog::Executions, source) => matches!(source, Source::Exec | Source::Files),
        (BoxLog::Agent(name), Source::Exec) => {
            matches!(entry.what, What::Line { .. } | What::Note { .. })
                && entry.execution.as_deref() == Some(&name.to_string())
        }
        (BoxLog::Agent(_), _) => false,
    };
    if !belongs || !entry.is_shown() {
        return None;
    }
    let mut text = String::new();
    match (log, &entry.what) {
        // An agent's log is what it printed, as it printed it.
        (BoxLog::Agent(_), What::Line { text: said, .. }) => {
            text.push_str(said);
            text.push('\n');
        }
        _ => line(&mut text, entry),
    }
    Some(text)
}

fn line(text: &mut String, entry: &LogEntry) {
    let at = Timestamp::from_millis(entry.at);
    let of = match &entry.execution {
        Some(execution) => format!("{at} [{execution}]"),
        None => at.to_string(),
    };
    let told = match &entry.what {
        What::Queued { .. } => return,
        What::Started { command } => format!("{of} $ {command}\n"),
        What::Line {
            error: true, text, ..
        } => format!("{of} stderr: {text}\n"),
        What::Line { text, .. } => format!("{of} {text}\n"),
        What::Ended { status } => format!("{of} exited with {status}\n"),
        What::Note { text } => format!("{of} {text}\n"),
    };
    text.push_str(&told);
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_entry_is_a_line_of_its_own_log() {
        let entry = |source, what| LogEntry {
            at: 1_776_790_800_000,
            source,
            execution: Some("e1".to_owned()),
            shell: None,
            what,
        };
        let entries = [
            entry(
                Source::Setup,
                What::Note {
                    text: "made".to_owned(),
                },
            ),
            entry(
                Source::Exec,
                What::Queued {
                    command: "x".to_owned(),
                    stdin: false,
                },
            ),
            entry(
                Source::Exec,
                What::Started {
                    command: "ls".to_owned(),
                },
            ),
            entry(
                Source::Exec,
                What::Line {
                    error: true,
                    text: "no".to_owned(),
                    end: 2,
                },
            ),
            entry(Source::Exec, What::Ended { status: 2 }),
        ];
        let at = "2026-04-21T17:00:00.000Z [e1]";
        let name = Uuid::nil();
        let of_agent = LogEntry {
            execution: Some(name.to_string()),
            ..entry(
                Source::Exec,
                What::Line {
                    error: false,
                    text: "thinking".to_owned(),
                    end: 8,
                },
            )
        };
        let with_agent = [&entries[..], &[of_agent]].concat();
        assert_eq!(text(&with_agent, BoxLog::Agent(name)), "thinking\n");
        assert_eq!(text(&entries, BoxLog::Setup), format!("{at} made\n"));
        assert_eq!(
            text(&entries, BoxLog::Executions),
            format!("{at} $ ls\n{at} stderr: no\n{at} exited with 2\n")
        );
    }
}
