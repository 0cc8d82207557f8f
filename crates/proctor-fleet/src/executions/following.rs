//! What executions do goes into their devbox's log.

use std::sync::Arc;

use proctor_devbox::{Execution, Stream};

use super::{Command, command::KILLED};
use crate::{
    fleet::Fleet,
    live::Live,
    logs::{Lines, LogEntry, Source, Trace, What},
    workplace::Workplace,
};

/// How much of a stream is read at once for the log.
const PIECE: usize = 64 << 10;

/// An execution on its way into the log.
pub(crate) struct Followed {
    pub(crate) name: String,
    pub(crate) shell: Option<String>,
    pub(crate) source: Source,
    pub(crate) trace: Trace,
    /// The command that it is the execution of, if it is one's.
    pub(crate) command: Option<Arc<Command>>,
}

impl Fleet {
    /// Writes what an execution does into the log, until it ends or the server does.
    pub(crate) fn follow(
        &self,
        live: &Arc<Live>,
        workplace: &Workplace,
        execution: Arc<dyn Execution>,
        followed: Followed,
    ) {
        let (fleet, live, workplace) = (self.clone(), Arc::clone(live), workplace.clone());
        let tracker = live.followers.clone();
        tracker.spawn(async move {
            let work = async {
                tokio::join!(
                    fleet.follow_stream(&live, &workplace, &*execution, &followed, Stream::Stdout),
                    fleet.follow_stream(&live, &workplace, &*execution, &followed, Stream::Stderr),
                );
                let exit = execution.wait().await;
                let status = exit.map_or(KILLED, |exit| exit.status());
                live.log
                    .add(&[fleet.entry_of(&followed, What::Ended { status })]);
                live.touch(fleet.now());
                if let Some(command) = &followed.command {
                    fleet.keep(&live, command).await;
                }
            };
            tokio::select! {
                () = work => {}
                () = fleet.closing().cancelled() => {}
            }
        });
    }

    async fn follow_stream(
        &self,
        live: &Live,
        workplace: &Workplace,
        execution: &dyn Execution,
        followed: &Followed,
        stream: Stream,
    ) {
        let offset = match stream {
            Stream::Stdout => followed.trace.stdout,
            Stream::Stderr => followed.trace.stderr,
        };
        let mut lines = Lines::from(stream, offset);
        while let Ok(chunk) = execution.read_output(stream, lines.read_at(), PIECE).await {
            let mut found = lines.push(&chunk.bytes, &workplace.masks);
            if chunk.last {
                found.extend(lines.finish(&workplace.masks));
            }
            let full = lines.is_full() && !chunk.last;
            if full {
                found.push(What::Note {
                    text: "what follows is not in the log; the execution has it".to_owned(),
                });
            }
            let entries: Vec<_> = found
                .into_iter()
                .map(|what| self.entry_of(followed, what))
                .collect();
            if !entries.is_empty() {
                live.log.add(&entries);
            }
            if chunk.last || full {
                return;
            }
        }
    }

    fn entry_of(&self, followed: &Followed, what: What) -> LogEntry {
        self.entry(
            &followed.name,
            followed.shell.as_deref(),
            followed.source,
            what,
        )
    }

    pub(crate) fn entry(
        &self,
        execution: &str,
        shell: Option<&str>,
        source: Source,
        what: What,
    ) -> LogEntry {
        let now = self.now();
        LogEntry {
            at: now.as_millis(),
            source,
            execution: Some(execution.to_owned()),
            shell: shell.map(str::to_owned),
            what,
        }
    }
}
