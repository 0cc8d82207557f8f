//! What ran in a devbox, as its log tells.

use std::collections::HashMap;

use proctor_core::{id::kinds::DevboxId, time::Timestamp};
use proctor_fleet::{
    Fleet, FleetError,
    logs::{LogEntry, What},
};

use crate::html;

/// How much of the end of a log is looked through for executions.
const LOOKED_AT: u64 = 4 << 20;
/// How much is read at once.
const PART: u64 = 256 << 10;
/// How many executions are listed.
const LISTED: usize = 200;

/// A command that ran, or runs.
pub(super) struct Execution {
    pub(super) id: String,
    pub(super) shell: Option<String>,
    pub(super) command: String,
    pub(super) began: Option<Timestamp>,
    pub(super) ended: Option<(Timestamp, i32)>,
    /// The last thing that it wrote.
    pub(super) last: Option<String>,
    pub(super) lines: usize,
}

impl Execution {
    pub(super) fn took(&self) -> Option<String> {
        let (ended, _) = self.ended?;
        Some(html::duration(ended.since(self.began?)))
    }

    pub(super) fn is_failed(&self) -> bool {
        self.ended.is_some_and(|(_, status)| status != 0)
    }

    pub(super) fn status(&self) -> String {
        match self.ended {
            Some((_, status)) => format!("exit {status}"),
            None => "running".to_owned(),
        }
    }
}

/// The last executions, newest first, and whether the log has older ones.
pub(super) async fn list(
    fleet: &Fleet,
    devbox: DevboxId,
) -> Result<(Vec<Execution>, bool), FleetError> {
    let length = fleet.log_length(devbox).await;
    let begin = length.saturating_sub(LOOKED_AT);
    let mut found: Vec<Execution> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut at = begin;
    loop {
        let part = fleet.log_lines(devbox, at, PART).await?;
        for (_, entry) in part.entries {
            note(entry, &mut found, &mut places);
        }
        if part.end <= at {
            break;
        }
        at = part.end;
    }
    let is_cut = begin > 0 || found.len() > LISTED;
    found.reverse();
    found.truncate(LISTED);
    Ok((found, is_cut))
}

fn note(entry: LogEntry, found: &mut Vec<Execution>, places: &mut HashMap<String, usize>) {
    let Some(id) = entry.execution else {
        return;
    };
    let at = Timestamp::from_millis(entry.at);
    let place = *places.entry(id.clone()).or_insert_with(|| {
        found.push(Execution {
            id,
            shell: entry.shell,
            command: String::new(),
            began: None,
            ended: None,
            last: None,
            lines: 0,
        });
        found.len() - 1
    });
    let execution = &mut found[place];
    match entry.what {
        What::Queued { command, .. } => execution.command = command,
        What::Started { command } => {
            execution.command = command;
            execution.began = Some(at);
        }
        What::Line { text, .. } => {
            execution.lines += 1;
            execution.last = Some(text);
        }
        What::Ended { status } => execution.ended = Some((at, status)),
        What::Note { .. } => {}
    }
}

/// An entry of a log as a line.
pub(super) fn told(entry: &LogEntry) -> Option<String> {
    let at = Timestamp::from_millis(entry.at).to_string();
    let at = at.get(11..23).unwrap_or(&at).to_owned();
    Some(match &entry.what {
        What::Queued { .. } => return None,
        What::Started { command } => format!("{at} \u{1b}[1m$ {command}\u{1b}[0m"),
        What::Line {
            error: true, text, ..
        } => format!("{at} \u{1b}[31m!\u{1b}[0m {text}"),
        What::Line { text, .. } => format!("{at}   {text}"),
        What::Ended { status } => format!("{at} \u{1b}[1mexit {status}\u{1b}[0m"),
        What::Note { text } => format!("{at} \u{1b}[34m{text}\u{1b}[0m"),
    })
}

#[cfg(test)]
mod tests {
    use proctor_fleet::logs::Source;

    use super::*;

    #[test]
    fn executions_are_put_together_from_the_log() {
        let entry = |at: i64, id: &str, what: What| LogEntry {
            at,
            source: Source::Exec,
            execution: Some(id.to_owned()),
            shell: None,
            what,
        };
        let line = |text: &str| What::Line {
            error: false,
            text: text.to_owned(),
            end: 1,
        };
        let (mut found, mut places) = (Vec::new(), HashMap::new());
        for entry in [
            entry(
                0,
                "a",
                What::Started {
                    command: "make".to_owned(),
                },
            ),
            entry(500, "a", line("one")),
            entry(
                1000,
                "b",
                What::Started {
                    command: "sleep 9".to_owned(),
                },
            ),
            entry(1200, "a", line("two")),
            entry(1500, "a", What::Ended { status: 2 }),
        ] {
            note(entry, &mut found, &mut places);
        }
        let told: Vec<String> = found
            .iter()
            .map(|one| {
                let took = one.took().unwrap_or_default();
                format!("{} {} {} {took}", one.command, one.status(), one.lines)
            })
            .collect();
        assert_eq!(told, ["make exit 2 2 1.5 s", "sleep 9 running 0 "]);
        assert!(found[0].is_failed() && !found[1].is_failed());
    }
}
