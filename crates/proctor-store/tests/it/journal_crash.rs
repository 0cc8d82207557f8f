//! The writing process is killed in the middle of thousands of appends, again and again: what was
//! acknowledged is there afterwards, in order, the chain intact.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use proctor_core::id::kinds::WorldId;
use rstest::rstest;

use crate::fixture::{Fixture, On};

const ROUNDS: usize = 20;
const WORLDS: usize = 1000;
const APPENDS_PER_WORLD: usize = 10;

#[rstest]
#[tokio::test]
async fn what_was_acknowledged_survives_kill_9(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let mut acknowledged: HashMap<WorldId, Vec<(u64, String)>> = HashMap::new();
    for round in 0..ROUNDS {
        let mut writer = Command::new(env!("CARGO_BIN_EXE_journal-crash-writer"))
            .arg(&fixture.options.data)
            .arg(fixture.options.database_url.as_deref().unwrap_or("-"))
            .args([WORLDS.to_string(), APPENDS_PER_WORLD.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        // At another moment in each round, but never after the last append.
        let moment = 1 + round * (WORLDS * APPENDS_PER_WORLD - 1000) / ROUNDS;
        let mut seen: Vec<String> = lines.by_ref().take(moment).collect();
        assert_eq!(seen.len(), moment, "the writer ended by itself");
        writer.kill().unwrap();
        writer.wait().unwrap();
        // What it had said before it died counts too.
        seen.extend(lines);
        assert!(
            seen.len() < WORLDS * APPENDS_PER_WORLD,
            "it was killed in the middle"
        );
        for line in seen {
            // The last line may be cut off by the kill: then nobody heard the acknowledgement.
            let fields: Vec<&str> = line.split(' ').collect();
            let [world, seq, hash] = fields[..] else {
                continue;
            };
            if hash.len() == 64 {
                let world = world.parse().unwrap();
                acknowledged
                    .entry(world)
                    .or_default()
                    .push((seq.parse().unwrap(), hash.to_owned()));
            }
        }
    }

    let reopened = fixture.second_node().await;
    let total: usize = acknowledged.values().map(Vec::len).sum();
    assert!(total > ROUNDS * 1000, "{total} appends were acknowledged");
    for (world, acknowledgements) in acknowledged {
        let events = reopened.journal().read(world, 0, 1000).await.unwrap();
        for (seq, hash) in acknowledgements {
            let event = &events[usize::try_from(seq).unwrap()];
            assert_eq!((event.seq, hex(&event.hash)), (seq, hash), "{world}");
            assert_eq!(event.payload, format!("append {seq}").as_bytes());
        }
        reopened.journal().verify(world).await.unwrap().unwrap();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
