//! What the recorder keeps, and what it drops, when somebody else writes first.

use std::sync::Arc;

use crate::house::{House, WORLD};
use proctor_core::time::Timestamp;
use proctor_playground::recorder::{NotRecorded, Payload, Recorder};
use proctor_store::ambient::SystemClock;

const AT: Timestamp = Timestamp::from_millis(1_000);

/// A recorder of its own, as another node would have.
fn recorder(house: &House) -> Recorder {
    let around = house.around(Arc::new(SystemClock));
    Recorder::open(around.journal, WORLD, &around.tasks, around.closing)
}

/// What the journal holds once every recorder has ended.
async fn written(house: &House) -> Vec<String> {
    let events = house.final_events().await;
    let text = |payload: &[u8]| String::from_utf8(payload.to_vec()).unwrap();
    events.iter().map(|event| text(&event.payload)).collect()
}

fn say(text: &'static str) -> Payload {
    Box::new(move || text.as_bytes().to_vec())
}

#[tokio::test]
async fn a_note_of_something_void_is_dropped_and_every_other_is_kept() {
    let house = House::new().await;
    let (one, other) = (recorder(&house), recorder(&house));
    let (epoch, _) = one.resume().await.unwrap();
    let (other_epoch, _) = other.resume().await.unwrap();
    let first = other.record(other_epoch, AT, "w", say("theirs")).unwrap();
    other.written(first).await.unwrap();

    let before = one.note(epoch, AT, "r", say("saw nothing new"));
    let write = one.record(epoch, AT, "w", say("mine")).unwrap();
    let after = one.note(epoch, AT, "r", say("saw mine"));
    one.written(before).await.unwrap();
    for ticket in [write, after] {
        let outcome = one.written(ticket).await;
        assert!(matches!(outcome, Err(NotRecorded::Overtaken)));
    }
    let (epoch, events) = one.resume().await.unwrap();
    assert_eq!(events.len(), 1);
    let write = one.record(epoch, AT, "w", say("mine, again")).unwrap();
    one.written(write).await.unwrap();
    assert_eq!(
        written(&house).await,
        ["theirs", "saw nothing new", "mine, again"]
    );
}

#[tokio::test]
async fn what_is_on_disk_stays_so_when_a_later_epoch_has_begun() {
    let house = House::new().await;
    let recorder = recorder(&house);
    let (epoch, _) = recorder.resume().await.unwrap();
    let kept = recorder.record(epoch, AT, "w", say("kept")).unwrap();
    recorder.written(kept).await.unwrap();
    let void = recorder.record(epoch, AT, "w", say("void")).unwrap();
    // Nothing was awaited since: the writer has not come to it.
    let (later, events) = recorder.resume().await.unwrap();
    assert_eq!(events.len(), 1);
    recorder.written(kept).await.unwrap();
    assert!(matches!(
        recorder.written(void).await,
        Err(NotRecorded::Overtaken)
    ));
    let late = recorder.note(epoch, AT, "r", say("saw an old state"));
    assert!(matches!(
        recorder.written(late).await,
        Err(NotRecorded::Overtaken)
    ));
    let fresh = recorder.note(later, AT, "r", say("saw the new state"));
    recorder.written(fresh).await.unwrap();
    assert_eq!(written(&house).await, ["kept", "saw the new state"]);
}
