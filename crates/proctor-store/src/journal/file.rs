//! A journal as a file: JSON lines that can be checked without a database. The first line names the world, each further one is an event.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use proctor_core::{canonical::Digest, id::kinds::WorldId, time::Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    event::{Event, Head, SEAL, link},
    verify::{Broken, Flaw},
};

/// The form of the file; a reader refuses another.
const FORM: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    proctor_journal: u32,
    world: WorldId,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    seq: u64,
    at: Timestamp,
    kind: String,
    /// Base64.
    payload: String,
    hash: Digest,
}

/// The first line.
pub fn header(world: WorldId) -> String {
    let header = Header {
        proctor_journal: FORM,
        world,
    };
    written(&header)
}

/// The line of an event.
pub fn line(event: &Event) -> String {
    written(&Line {
        seq: event.seq,
        at: event.at,
        kind: event.kind.to_string(),
        payload: BASE64_STANDARD.encode(&event.payload),
        hash: Digest::from_raw(event.hash),
    })
}

fn written(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("a line has only string keys");
    line.push('\n');
    line
}

/// Why a file is not the journal of a world.
#[derive(Debug, thiserror::Error)]
pub enum BadJournalFile {
    /// The file is something else.
    #[error("line {line}: {problem}")]
    Line {
        /// Which line, counted from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The chain has a flaw.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Checks a file line by line.
#[derive(Clone, Debug)]
pub struct FileCheck {
    world: WorldId,
    head: Head,
}

impl FileCheck {
    /// Reads the first line.
    pub fn begin(line: &[u8]) -> Result<Self, BadJournalFile> {
        let bad = |problem: String| BadJournalFile::Line { line: 1, problem };
        let header: Header =
            serde_json::from_slice(line).map_err(|error| bad(format!("no journal: {error}")))?;
        if header.proctor_journal != FORM {
            return Err(bad(format!(
                "this journal has the form {}, and this program reads {FORM}",
                header.proctor_journal
            )));
        }
        Ok(Self {
            world: header.world,
            head: Head::EMPTY,
        })
    }

    /// Checks the next event.
    pub fn next(&mut self, line: &[u8]) -> Result<(), BadJournalFile> {
        let bad = |problem: String| BadJournalFile::Line {
            line: self.head.next + 2,
            problem,
        };
        let read: Line = serde_json::from_slice(line).map_err(|error| bad(error.to_string()))?;
        let payload = BASE64_STANDARD
            .decode(&read.payload)
            .map_err(|error| bad(format!("payload: {error}")))?;
        let broken = |flaw| Broken {
            world: self.world,
            seq: self.head.next,
            flaw,
        };
        if read.seq != self.head.next {
            return Err(broken(Flaw::Missing).into());
        }
        if self.head.sealed {
            return Err(broken(Flaw::BehindSeal).into());
        }
        let hash = link(
            &self.head.hash,
            self.world,
            read.seq,
            read.at,
            &read.kind,
            &payload,
        );
        if Digest::from_raw(hash) != read.hash {
            return Err(broken(Flaw::Changed).into());
        }
        self.head = Head {
            next: read.seq + 1,
            hash,
            sealed: read.kind == SEAL,
        };
        Ok(())
    }

    /// The world.
    pub fn world(&self) -> WorldId {
        self.world
    }

    /// Where the chain ends, as far as it was checked.
    pub fn head(&self) -> Head {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Vec<String> {
        let world = WorldId::from_uuid(uuid::Uuid::from_u128(7));
        let mut head = Head::EMPTY;
        let mut lines = vec![header(world)];
        for (seq, kind) in ["opening", "change", SEAL].into_iter().enumerate() {
            let event = super::super::NewEvent {
                at: Timestamp::from_millis(1_790_000_000_000),
                kind: kind.into(),
                payload: vec![u8::try_from(seq).unwrap(), 255],
            };
            head = head.after(world, &event);
            lines.push(line(&Event {
                seq: seq as u64,
                at: event.at,
                kind: event.kind,
                payload: event.payload,
                hash: head.hash,
            }));
        }
        lines
    }

    fn check(lines: &[String]) -> Result<Head, String> {
        let told = |error: BadJournalFile| error.to_string();
        let mut check = FileCheck::begin(lines[0].as_bytes()).map_err(told)?;
        for line in &lines[1..] {
            check.next(line.as_bytes()).map_err(told)?;
        }
        Ok(check.head())
    }

    #[test]
    fn what_was_written_is_intact_and_whatever_is_changed_is_noticed() {
        let lines = journal();
        let head = check(&lines).unwrap();
        assert!(head.sealed && head.next == 3);
        let mut changed = lines.clone();
        changed[2] = changed[2].replace("change", "chance");
        assert!(
            check(&changed)
                .unwrap_err()
                .contains("is not what was written")
        );
        let mut shorter = lines.clone();
        shorter.remove(2);
        assert!(check(&shorter).unwrap_err().contains("is missing"));
        let mut longer = lines.clone();
        longer.push(lines[3].replace("\"seq\":2", "\"seq\":3"));
        assert!(
            check(&longer)
                .unwrap_err()
                .contains("after the world was frozen")
        );
        assert!(check(&["{}\n".to_owned()]).unwrap_err().contains("line 1"));
        let mut garbled = lines;
        garbled[1] = "nonsense\n".to_owned();
        assert!(check(&garbled).unwrap_err().contains("line 2"));
    }
}
