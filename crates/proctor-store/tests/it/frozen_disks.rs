use std::collections::BTreeSet;

use proctor_core::id::kinds::TaskRunId;
use proctor_store::{
    Store,
    frozen_disks::{FrozenDisk, FrozenStatus, FrozenTotal},
};
use rstest::rstest;
use serde_json::json;

use crate::fixture::{Fixture, On, START};

fn disk(store: &Store, layer: &str, task_run: TaskRunId) -> FrozenDisk {
    FrozenDisk {
        layer: layer.to_owned(),
        node: "here".to_owned(),
        task_run,
        devbox: store.fresh_id(),
        status: FrozenStatus::Taking,
        size_bytes: None,
        created_at: START,
        is_pinned: false,
    }
}

fn layers(disks: Vec<FrozenDisk>) -> Vec<String> {
    disks.into_iter().map(|disk| disk.layer).collect()
}

#[rstest]
#[tokio::test]
async fn a_task_run_keeps_the_disk_of_its_last_scoring(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (task_run, other) = (store.fresh_id(), store.fresh_id());
    let first = disk(store, "frozen-1", task_run);
    let origin = json!({"home": "/home/user"});
    store.create_frozen_disk(&first, &origin).await.unwrap();
    assert_eq!(
        store.origin_of_frozen_disk("frozen-1").await.unwrap(),
        Some(origin)
    );
    assert_eq!(store.frozen_disks_of(task_run).await.unwrap(), vec![first]);
    assert_eq!(
        store.kept_disk_of(task_run).await.unwrap(),
        None,
        "its scoring goes on"
    );
    for (layer, owner) in [("frozen-2", other), ("frozen-3", task_run)] {
        let next = disk(store, layer, owner);
        store.create_frozen_disk(&next, &json!({})).await.unwrap();
    }
    for layer in ["frozen-1", "frozen-2", "frozen-3"] {
        store.keep_frozen_disk(layer, None).await.unwrap();
    }
    store.measure_frozen_disk("frozen-3", 4096).await.unwrap();
    let kept = store.kept_disk_of(task_run).await.unwrap().unwrap();
    assert_eq!(
        (kept.layer.as_str(), kept.size_bytes),
        ("frozen-3", Some(4096))
    );
    assert_eq!(
        store.kept_disk_of(other).await.unwrap().unwrap().layer,
        "frozen-2"
    );
    let all = [task_run, other, store.fresh_id()];
    assert_eq!(
        store.task_runs_with_kept_disks(&all).await.unwrap(),
        BTreeSet::from([task_run, other])
    );
    let none = store.task_runs_with_kept_disks(&[]).await.unwrap();
    assert_eq!(none, BTreeSet::new());
    let total = store.frozen_total("here").await.unwrap();
    assert_eq!((total.kept, total.bytes), (2, 4096));
    assert_eq!(
        store.frozen_total("elsewhere").await.unwrap(),
        FrozenTotal::default()
    );
    let dropped = store.dropped_disks_on("here").await.unwrap();
    assert_eq!(layers(dropped), ["frozen-1"]);
    assert_eq!(store.dropped_disks_on("elsewhere").await.unwrap(), []);

    store
        .forget_frozen_disks(&["frozen-1".to_owned()])
        .await
        .unwrap();
    let left = store.frozen_disks_on("here").await.unwrap();
    assert_eq!(layers(left), ["frozen-2", "frozen-3"]);
    store
        .drop_frozen_disks(&["frozen-2".to_owned()])
        .await
        .unwrap();
    store.keep_frozen_disk("frozen-2", Some(7)).await.unwrap();
    assert_eq!(
        store.kept_disk_of(other).await.unwrap(),
        None,
        "what was given up stays so"
    );
}

#[rstest]
#[tokio::test]
async fn what_was_being_frozen_for_a_scoring_that_does_not_go_on_is_given_up(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let task_run = store.fresh_id();
    let taking = disk(store, "frozen-1", task_run);
    store.create_frozen_disk(&taking, &json!({})).await.unwrap();
    store.drop_unfinished_disks("elsewhere").await.unwrap();
    assert_eq!(store.dropped_disks_on("here").await.unwrap(), []);
    store.drop_unfinished_disks("here").await.unwrap();
    let dropped = store.dropped_disks_on("here").await.unwrap();
    assert_eq!(layers(dropped), ["frozen-1"]);
}
