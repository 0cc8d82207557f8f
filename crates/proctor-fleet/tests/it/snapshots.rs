use proctor_core::devbox::{DevboxBase, DevboxSetup, DevboxStatus};
use proctor_fleet::snapshots::{NewSnapshot, SnapshotChange};
use proctor_store::{
    disk_snapshots::{SnapshotFilter, SnapshotStatus},
    page::{PageRequest, PageStart},
};

use crate::support::House;
use proctor_testkit::{eventually, eventually_seen};

#[tokio::test]
async fn a_devbox_begins_where_a_snapshot_was_taken() {
    let house = House::open().await;
    let (organization, fleet) = (house.organization, &house.fleet);
    let source = house.running(DevboxSetup::default()).await;
    house
        .sh(source, "echo kept >/tmp/file; mkdir d; echo too >d/file")
        .await;
    let new = NewSnapshot {
        name: Some("first".to_owned()),
        commit_message: Some("words".to_owned()),
        metadata: [("a".to_owned(), "b".to_owned())].into(),
    };
    let snapshot = fleet.snapshot(organization, source, new).await.unwrap();
    assert_eq!(snapshot.status, SnapshotStatus::Complete);
    house.sh(source, "echo changed >/tmp/file").await;

    let setup = DevboxSetup {
        base: DevboxBase::Snapshot(snapshot.id),
        ..DevboxSetup::default()
    };
    let restored = house.running(setup.clone()).await;
    assert_eq!(
        house.sh(restored, "cat /tmp/file d/file").await.1,
        "kept\ntoo\n"
    );

    let change = SnapshotChange {
        name: Some("renamed".to_owned()),
        ..SnapshotChange::default()
    };
    let changed = fleet
        .update_disk_snapshot(organization, snapshot.id, &change)
        .await
        .unwrap();
    assert_eq!(
        (changed.name.as_deref(), changed.metadata["a"].as_str()),
        (Some("renamed"), "b")
    );

    // Two boxes stand on it: it is hidden at once, and goes with the last of them.
    fleet
        .delete_disk_snapshot(organization, snapshot.id)
        .await
        .unwrap();
    fleet
        .delete_disk_snapshot(organization, snapshot.id)
        .await
        .unwrap();
    let page = PageRequest {
        limit: 9,
        from: PageStart::Newest,
        count: true,
    };
    let listed = fleet
        .disk_snapshots(organization, &SnapshotFilter::default(), page)
        .await
        .unwrap();
    assert_eq!(listed.total, Some(0));
    assert_eq!(house.sh(restored, "cat /tmp/file").await.1, "kept\n");
    for id in [source, restored] {
        fleet.shutdown(organization, id).await.unwrap();
    }
    // In the background, after the last of them has gone.
    let status = async || {
        let snapshot = fleet.disk_snapshot(organization, snapshot.id);
        snapshot.await.unwrap().status
    };
    eventually("the snapshot is gone", async || {
        status().await == SnapshotStatus::Gone
    })
    .await;
    assert_eq!(house.backend.layers().await.unwrap(), []);
    assert_eq!(house.fleet.live_devboxes(), 0);
    house.end().await;
}

#[tokio::test]
async fn a_snapshot_in_the_background_is_complete_in_the_end() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    // A program at work: its files are copied while it stands still.
    let busy = house.start(id, "while :; do sleep 0.05; done", None).await;
    let begun = house
        .fleet
        .snapshot_in_background(house.organization, id, NewSnapshot::default())
        .await
        .unwrap();
    assert_eq!(begun.status, SnapshotStatus::InProgress);
    let taken = eventually_seen("the snapshot is taken", async || {
        let snapshot = house.fleet.disk_snapshot(house.organization, begun.id);
        let now = snapshot.await.unwrap();
        match now.status {
            SnapshotStatus::InProgress => Err("it is in progress"),
            _ => Ok(now),
        }
    })
    .await;
    assert_eq!(
        (taken.status, taken.error),
        (SnapshotStatus::Complete, None)
    );
    busy.kill().await.unwrap();
    let record = house.fleet.devbox(house.organization, id).await.unwrap();
    assert_eq!(record.status(), DevboxStatus::Running);
    house.end().await;
}
