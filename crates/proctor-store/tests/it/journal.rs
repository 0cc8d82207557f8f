use std::collections::HashSet;

use proctor_core::{id::kinds::WorldId, time::Timestamp};
use proctor_store::{
    StoreError,
    journal::{AppendError, Broken, Event, Flaw, Head, Journal, NewEvent, SEAL},
};
use rstest::rstest;
use tokio::task::JoinSet;

use crate::fixture::{Fixture, On, START};

fn event(payload: &str) -> NewEvent {
    NewEvent {
        at: START,
        kind: "note".into(),
        payload: payload.as_bytes().to_vec(),
    }
}

fn payloads(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .map(|event| std::str::from_utf8(&event.payload).unwrap())
        .collect()
}

async fn world_with(journal: &Journal, world: WorldId, events: &[&str]) -> Head {
    journal
        .append(world, 0, events.iter().map(|text| event(text)).collect())
        .await
        .unwrap()
}

#[rstest]
#[tokio::test]
async fn events_are_read_back_in_order_from_any_position(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let (journal, world) = (fixture.store.journal(), fixture.store.fresh_id());
    assert_eq!(journal.head(world).await.unwrap(), Head::EMPTY);
    let first = world_with(journal, world, &["a", "b", "c"]).await;
    assert_eq!((first.next, first.sealed), (3, false));
    let second = journal.append(world, 3, vec![event("d")]).await.unwrap();
    assert_eq!(journal.head(world).await.unwrap(), second);
    let all = journal.read(world, 0, 100).await.unwrap();
    assert_eq!(payloads(&all), ["a", "b", "c", "d"]);
    assert_eq!(
        all.iter().map(|event| event.seq).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    assert_eq!(all[3].hash, second.hash);
    assert_eq!(payloads(&journal.read(world, 2, 1).await.unwrap()), ["c"]);
    assert!(journal.read(world, 4, 100).await.unwrap().is_empty());
    assert!(matches!(
        journal.append(world, 4, Vec::new()).await,
        Err(AppendError::Empty)
    ));
    assert_eq!(journal.verify(world).await.unwrap().unwrap().head, second);
}

#[rstest]
#[tokio::test]
async fn a_long_journal_is_read_from_any_position_and_goes_on_at_another_node(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let (journal, world) = (fixture.store.journal(), fixture.store.fresh_id());
    let texts: Vec<String> = (0..1200).map(|number| number.to_string()).collect();
    let mut written = 0;
    // In appends of all sizes, so that they end before, at and behind the places of marks.
    for size in (1..).take_while(|size| size * (size + 1) / 2 <= texts.len()) {
        let end = written + size;
        let events = texts[written..end].iter().map(|text| event(text)).collect();
        journal.append(world, written as u64, events).await.unwrap();
        let other = fixture.store.fresh_id();
        world_with(journal, other, &["in", "between"]).await;
        written = end;
    }
    for from in (0..written + 2).step_by(7) {
        for limit in [0, 1, 2, 63, 64, 65, 200, u32::MAX] {
            let read = journal.read(world, from as u64, limit).await.unwrap();
            let end = written.min(from.saturating_add(limit as usize));
            let expected = texts.get(from..end).unwrap_or_default();
            assert_eq!(payloads(&read), expected, "{limit} from {from}");
        }
    }
    let second = fixture.second_node().await;
    let head = second
        .journal()
        .append(world, written as u64, vec![event("on")])
        .await
        .unwrap();
    assert_eq!(head.next, written as u64 + 1);
    let verified = journal.verify(world).await.unwrap().unwrap();
    assert_eq!(verified.head, head);
}

#[rstest]
#[tokio::test]
async fn a_journal_whose_end_cannot_be_found_takes_nothing(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let world: WorldId = fixture.store.fresh_id();
    world_with(fixture.store.journal(), world, &["a", "b"]).await;
    let deleted = format!(
        "DELETE FROM journal_events WHERE seq = 0 AND world = '{}'",
        world.bare()
    );
    assert_eq!(fixture.tamper(&deleted).await, 1);
    let second = fixture.second_node().await;
    assert!(matches!(
        second.journal().head(world).await,
        Err(StoreError::Corrupt(_))
    ));
    for expected in [0, 1, 2] {
        let refused = second
            .journal()
            .append(world, expected, vec![event("c")])
            .await;
        assert!(matches!(refused, Err(AppendError::Store(_))), "{refused:?}");
    }
}

#[rstest]
#[tokio::test]
async fn whoever_is_late_is_told_where_the_journal_stands(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let (journal, world) = (fixture.store.journal(), fixture.store.fresh_id());
    world_with(journal, world, &["a", "b"]).await;
    for wrong in [0, 1, 3, u64::MAX] {
        match journal
            .append(world, wrong, vec![event("x"), event("y")])
            .await
        {
            Err(AppendError::Conflict {
                expected, actual, ..
            }) => assert_eq!((expected, actual), (wrong, 2)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(journal.read(world, 0, 10).await.unwrap().len(), 2);
}

#[rstest]
#[tokio::test]
async fn a_frozen_world_stays_as_it_is(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let second = fixture.second_node().await;
    let (journal, world) = (fixture.store.journal(), fixture.store.fresh_id());
    world_with(journal, world, &["a"]).await;
    let sealed = second.journal().seal(world, 1, START).await.unwrap();
    assert!(sealed.sealed);
    for (node, expected) in [(journal, 1), (journal, 2), (second.journal(), 2)] {
        let refused = node.append(world, expected, vec![event("b")]).await;
        assert!(
            matches!(refused, Err(AppendError::Sealed { at: 2, .. })),
            "{refused:?}"
        );
    }
    assert_eq!(&*journal.read(world, 1, 10).await.unwrap()[0].kind, SEAL);
    assert_eq!(journal.verify(world).await.unwrap().unwrap().head, sealed);
}

#[rstest]
#[tokio::test]
async fn the_heads_of_frozen_worlds_are_found_at_once(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let journal = fixture.store.journal();
    let worlds: [WorldId; 3] = [(); 3].map(|()| fixture.store.fresh_id());
    let [short, long, open] = worlds;
    world_with(journal, short, &["a"]).await;
    let short_end = journal.seal(short, 1, START).await.unwrap();
    // More events than lie between two marks.
    let many = vec![event("b"); 200];
    journal.append(long, 0, many).await.unwrap();
    let long_end = journal.seal(long, 200, START).await.unwrap();
    world_with(journal, open, &["c"]).await;
    let heads = journal.sealed_heads(&worlds).await.unwrap();
    assert_eq!(heads, [(short, short_end), (long, long_end)].into());
    assert_eq!(short_end.hex().len(), 64);
    assert!(journal.sealed_heads(&[]).await.unwrap().is_empty());
}

#[rstest]
#[tokio::test]
async fn writers_that_catch_up_and_try_again_lose_nothing(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let second = fixture.second_node().await;
    let world: WorldId = fixture.store.fresh_id();
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let journal = if writer % 2 == 0 {
            fixture.store.journal().clone()
        } else {
            second.journal().clone()
        };
        writers.spawn(async move {
            let mut expected = 0;
            for number in 0..10 {
                loop {
                    match journal
                        .append(world, expected, vec![event(&format!("{writer}.{number}"))])
                        .await
                    {
                        Ok(head) => break expected = head.next,
                        Err(AppendError::Conflict { actual, .. }) => expected = actual,
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }
        });
    }
    writers.join_all().await;
    let events = fixture.store.journal().read(world, 0, 1000).await.unwrap();
    let distinct: HashSet<&str> = payloads(&events).into_iter().collect();
    assert_eq!((events.len(), distinct.len()), (80, 80));
    assert_eq!(
        fixture
            .store
            .journal()
            .verify(world)
            .await
            .unwrap()
            .unwrap()
            .head
            .next,
        80
    );
}

#[rstest]
#[tokio::test]
async fn appends_that_arrive_together_are_committed_together(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let mut writers = JoinSet::new();
    for _ in 0..300 {
        let (journal, world) = (fixture.store.journal().clone(), fixture.store.fresh_id());
        writers.spawn(async move { world_with(&journal, world, &["a", "b", "c"]).await });
    }
    assert!(writers.join_all().await.iter().all(|head| head.next == 3));
    let stats = fixture.store.journal().stats();
    assert_eq!((stats.events, stats.conflicts, stats.failures), (900, 0, 0));
    assert!(
        stats.commits < 100,
        "{} commits for 300 appends",
        stats.commits
    );
}

#[rstest]
#[tokio::test]
async fn every_kind_of_tampering_is_found_at_its_first_event(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let journal = fixture.store.journal();
    let cases: &[(&str, u64, Flaw)] = &[
        (
            "UPDATE journal_events SET payload = CAST('x' AS BYTEA) WHERE seq = 1",
            1,
            Flaw::Changed,
        ),
        (
            "UPDATE journal_events SET at = at + 1 WHERE seq = 2",
            2,
            Flaw::Changed,
        ),
        (
            "UPDATE journal_events SET kind = 'nota' WHERE seq = 0",
            0,
            Flaw::Changed,
        ),
        (
            "UPDATE journal_events SET hash = payload || hash WHERE seq = 1",
            1,
            Flaw::Changed,
        ),
        ("DELETE FROM journal_events WHERE seq = 1", 1, Flaw::Missing),
        ("DELETE FROM journal_events WHERE seq = 0", 0, Flaw::Missing),
        (
            "UPDATE journal_events SET seq = seq + 1 WHERE seq = 4",
            4,
            Flaw::Missing,
        ),
        (
            "UPDATE journal_events SET follows = -follows WHERE seq = 3",
            3,
            Flaw::Missing,
        ),
        (
            "UPDATE journal_marks SET follows = follows + 1 WHERE seq = 4",
            4,
            Flaw::Mismarked,
        ),
        (
            "DELETE FROM journal_marks WHERE seq = 0",
            0,
            Flaw::Mismarked,
        ),
        // As somebody writes it who does not know that bytes are kept there.
        (
            "UPDATE journal_events SET payload = 'x' WHERE seq = 2",
            2,
            Flaw::Changed,
        ),
    ];
    for (tampering, seq, flaw) in cases {
        let world: WorldId = fixture.store.fresh_id();
        world_with(journal, world, &["a", "b", "c", "d"]).await;
        journal.seal(world, 4, START).await.unwrap();
        assert!(journal.verify(world).await.unwrap().is_ok());
        let statement = format!("{tampering} AND world = '{}'", world.bare())
            .replace(
                "CAST('x' AS BYTEA)",
                if matches!(on, On::Sqlite) {
                    "x'78'"
                } else {
                    r"'\x78'"
                },
            )
            .replace(
                "payload || hash",
                if matches!(on, On::Sqlite) {
                    "zeroblob(32)"
                } else {
                    "sha256('x')"
                },
            );
        assert_eq!(fixture.tamper(&statement).await, 1, "{statement}");
        assert_eq!(
            journal.verify(world).await.unwrap(),
            Err(Broken {
                world,
                seq: *seq,
                flaw: *flaw
            }),
            "{tampering}"
        );
    }
}

#[rstest]
#[tokio::test]
async fn a_journal_that_grows_while_it_is_checked_is_intact(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let (journal, world) = (fixture.store.journal().clone(), fixture.store.fresh_id());
    let mut writer = JoinSet::new();
    writer.spawn({
        let journal = journal.clone();
        async move {
            for seq in 0..400 {
                journal.append(world, seq, vec![event("a")]).await.unwrap();
            }
        }
    });
    let mut seen = 0;
    while writer.try_join_next().transpose().unwrap().is_none() {
        let verified = journal.verify(world).await.unwrap().unwrap();
        assert!(verified.head.next >= seen);
        seen = verified.head.next;
    }
    assert_eq!(journal.verify(world).await.unwrap().unwrap().head.next, 400);
}

#[rstest]
#[tokio::test]
async fn an_event_put_behind_the_seal_is_found(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let (journal, world, other) = (
        fixture.store.journal(),
        fixture.store.fresh_id(),
        fixture.store.fresh_id(),
    );
    world_with(journal, world, &["a"]).await;
    journal.seal(world, 1, START).await.unwrap();
    world_with(journal, other, &["a", "b", "forged"]).await;
    let moved = format!(
        "UPDATE journal_events SET world = '{0}', \
         follows = (SELECT place FROM journal_events WHERE world = '{0}' AND kind = '{SEAL}') \
         WHERE world = '{1}' AND seq = 2",
        world.bare(),
        other.bare()
    );
    assert_eq!(fixture.tamper(&moved).await, 1);
    let broken = journal.verify(world).await.unwrap().unwrap_err();
    assert_eq!(
        broken,
        Broken {
            world,
            seq: 2,
            flaw: Flaw::BehindSeal
        }
    );
    assert_eq!(
        broken.to_string(),
        format!("event 2 of {world} was added after the world was frozen")
    );
}

#[rstest]
#[tokio::test]
async fn all_worlds_can_be_walked(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let journal = fixture.store.journal();
    assert_eq!(journal.next_world(None).await.unwrap(), None);
    let mut worlds: Vec<WorldId> = (0..3).map(|_| fixture.store.fresh_id()).collect();
    for world in &worlds {
        world_with(journal, *world, &["a", "b"]).await;
    }
    worlds.sort();
    let mut walked = Vec::new();
    while let Some(world) = journal.next_world(walked.last().copied()).await.unwrap() {
        walked.push(world);
    }
    assert_eq!(walked, worlds);
}

#[rstest]
#[tokio::test]
async fn a_closed_store_has_kept_what_it_took_and_takes_no_more(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let worlds: Vec<WorldId> = (0..50).map(|_| fixture.store.fresh_id()).collect();
    let mut writers = JoinSet::new();
    for world in worlds.clone() {
        let journal = fixture.store.journal().clone();
        writers.spawn(async move { (world, journal.append(world, 0, vec![event("a")]).await) });
    }
    tokio::task::yield_now().await;
    fixture.store.close().await;
    let answers = writers.join_all().await;
    let again = fixture.second_node().await;
    for (world, answer) in answers {
        let written = again.journal().head(world).await.unwrap().next;
        assert_eq!(written == 1, answer.is_ok(), "{answer:?}");
    }
    let late = fixture
        .store
        .journal()
        .append(worlds[0], 1, vec![event("b")])
        .await;
    assert!(matches!(late, Err(AppendError::Store(_))), "{late:?}");
}

#[rstest]
#[tokio::test]
async fn the_same_events_give_the_same_chain(#[values(On::Sqlite, On::Postgres)] on: On) {
    // Pinned: a change here makes every journal written so far look broken.
    let fixture = Fixture::open(on).await;
    let world = WorldId::from_bare("01J00000000000000000000000").unwrap();
    let events = vec![
        NewEvent {
            at: Timestamp::from_millis(1),
            kind: "note".into(),
            payload: b"{}".to_vec(),
        },
        NewEvent {
            at: Timestamp::from_millis(2),
            kind: "".into(),
            payload: Vec::new(),
        },
    ];
    let head = fixture
        .store
        .journal()
        .append(world, 0, events)
        .await
        .unwrap();
    let hex: String = head.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, PINNED);
}

/// Computed once by another program from the description of the chain in `event.rs`.
const PINNED: &str = "cd10b5cf3c748324bbe74735459f158d23f81ec7dc18fdba50e5c98d2f0674e5";
