use std::collections::BTreeMap;

use proctor_core::{
    devbox::{DevboxSetup, DevboxStatus, Initiator},
    id::kinds::{DevboxId, TaskRunId},
};
use proctor_devbox::{Base, BoxId, BoxSpec, LayerId, User};
use proctor_fleet::{KeepFrozen, KeptDisk};

use crate::support::House;
use proctor_testkit::eventually;

/// A devbox of a task run, at work.
async fn at_work(house: &House, setup: DevboxSetup) -> (TaskRunId, DevboxId) {
    let task_run = house.store.fresh_id();
    let made = house.create_for(Initiator::Scenario(task_run), setup).await;
    let record = house.reaches(made.id, DevboxStatus::Running).await;
    assert_eq!(record.status(), DevboxStatus::Running, "{:?}", record.life);
    (task_run, made.id)
}

/// Freezes the disk of a devbox for a task run, without saying what is to become of it.
async fn freeze(house: &House, task_run: TaskRunId, devbox: DevboxId) -> LayerId {
    let place = house.fleet.workplace(devbox).await.unwrap();
    let freezing = house
        .fleet
        .begin_freezing(task_run, devbox, &place, false, false)
        .await
        .unwrap();
    let layer = freezing.layer.unwrap();
    let labels = BTreeMap::new();
    place.devbox.snapshot(layer.clone(), labels).await.unwrap();
    layer
}

/// Freezes and keeps.
async fn keep(house: &House, task_run: TaskRunId, devbox: DevboxId) -> LayerId {
    let layer = freeze(house, task_run, devbox).await;
    house.fleet.keep_frozen(&layer, None).await.unwrap();
    layer
}

async fn kept(house: &House, task_run: TaskRunId) -> Option<KeptDisk> {
    house.fleet.kept_disk(task_run).await.unwrap()
}

async fn end(house: &House, devbox: DevboxId) {
    let (fleet, organization) = (&house.fleet, house.organization);
    fleet.shutdown(organization, devbox).await.unwrap();
    eventually("the box is gone", async || {
        house.backend.open(&id_of(devbox)).await.is_err()
    })
    .await;
}

fn id_of(devbox: DevboxId) -> BoxId {
    BoxId::new(devbox.to_string()).unwrap()
}

/// Waits until exactly these layers are there.
async fn only(house: &House, wanted: &[&LayerId]) {
    let mut wanted: Vec<LayerId> = wanted.iter().copied().cloned().collect();
    wanted.sort();
    eventually("only the wanted layers are there", async || {
        let there = house.backend.layers().await.unwrap();
        let mut there: Vec<LayerId> = there.into_iter().map(|layer| layer.id).collect();
        there.sort();
        there == wanted
    })
    .await;
}

#[tokio::test]
async fn a_kept_disk_outlives_its_devbox_and_the_server() {
    let house = House::open().await;
    let secret = "hush".to_owned().into();
    house
        .store
        .create_secret(house.organization, "TOKEN", &secret)
        .await
        .unwrap();
    let setup = DevboxSetup {
        environment: [("MODEL".to_owned(), "m".to_owned())].into(),
        secrets: [("KEY".to_owned(), "TOKEN".to_owned())].into(),
        ..DevboxSetup::default()
    };
    let (task_run, devbox) = at_work(&house, setup).await;
    house.sh(devbox, "echo kept >file").await;
    assert!(kept(&house, task_run).await.is_none());
    let layer = keep(&house, task_run, devbox).await;
    house.sh(devbox, "echo later >file").await;
    end(&house, devbox).await;

    let house = house.restart().await;
    let disk = kept(&house, task_run).await.unwrap();
    assert_eq!(disk.layer, layer);
    assert_eq!(disk.spec.id, id_of(devbox));
    for (variable, value) in [("MODEL", "m"), ("KEY", "hush"), ("HOME", &disk.home)] {
        assert_eq!(disk.environment[variable], value);
    }
    assert_eq!(disk.resolve("~/file"), format!("{}/file", disk.home));
    let row = house.store.kept_disk_of(task_run).await.unwrap().unwrap();
    assert!(row.size_bytes.is_some_and(|bytes| bytes > 0), "{row:?}");
    let origin = house.store.origin_of_frozen_disk(&row.layer).await.unwrap();
    let origin = origin.unwrap().to_string();
    assert!(!origin.contains("hush"), "no secret is written down");

    let again = BoxSpec {
        id: BoxId::new("again").unwrap(),
        base: Base::Layer(layer.clone()),
        ..disk.spec.clone()
    };
    let again = house.backend.create(again).await.unwrap();
    again.start().await.unwrap();
    let path = disk.resolve("file");
    let mut file = again.read_file(&path, &User::Root, None).await.unwrap();
    let mut text = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut file.reader, &mut text)
        .await
        .unwrap();
    assert_eq!(text, "kept\n");
    again.destroy().await.unwrap();

    drop(disk);
    house.fleet.drop_frozen(&layer).await.unwrap();
    only(&house, &[]).await;
    assert!(kept(&house, task_run).await.is_none());
    house.end().await;
}

#[tokio::test]
async fn the_oldest_disks_go_first_and_none_that_is_in_use() {
    let house = House::keeping_frozen(KeepFrozen {
        disks: 2,
        bytes: u64::MAX,
    })
    .await;
    let mut all = Vec::new();
    for _ in 0..4 {
        let (task_run, devbox) = at_work(&house, DevboxSetup::default()).await;
        let layer = keep(&house, task_run, devbox).await;
        house.clock.advance(std::time::Duration::from_secs(1));
        all.push((task_run, devbox, layer));
    }
    // Their devboxes stand on them.
    let layers: Vec<&LayerId> = all.iter().map(|(_, _, layer)| layer).collect();
    only(&house, &layers).await;
    for (task_run, _, _) in &all {
        assert!(kept(&house, *task_run).await.is_some());
    }
    let oldest = kept(&house, all[0].0).await.unwrap();
    for (_, devbox, _) in &all {
        end(&house, *devbox).await;
    }
    only(&house, &[layers[0], layers[3]]).await;
    for (number, (task_run, _, _)) in all.iter().enumerate() {
        let expected = number == 0 || number == 3;
        assert_eq!(
            kept(&house, *task_run).await.is_some(),
            expected,
            "{number}"
        );
    }
    drop(oldest);
    let (task_run, devbox) = at_work(&house, DevboxSetup::default()).await;
    let newest = keep(&house, task_run, devbox).await;
    end(&house, devbox).await;
    only(&house, &[layers[3], &newest]).await;
    house.end().await;
}

#[tokio::test]
async fn disks_that_are_too_large_together_go_too() {
    let house = House::keeping_frozen(KeepFrozen {
        disks: 9,
        bytes: 3 << 20,
    })
    .await;
    let mut layers = Vec::new();
    for _ in 0..3 {
        let (task_run, devbox) = at_work(&house, DevboxSetup::default()).await;
        house
            .sh(devbox, "head -c 1200000 /dev/urandom >large")
            .await;
        layers.push(keep(&house, task_run, devbox).await);
        house.clock.advance(std::time::Duration::from_secs(1));
        end(&house, devbox).await;
    }
    only(&house, &[&layers[1], &layers[2]]).await;
    house.end().await;
}

#[tokio::test]
async fn a_task_run_keeps_one_disk_and_those_before_go_with_its_devbox() {
    let house = House::open().await;
    let (task_run, devbox) = at_work(&house, DevboxSetup::default()).await;
    let first = keep(&house, task_run, devbox).await;
    let second = keep(&house, task_run, devbox).await;
    only(&house, &[&first, &second]).await;
    let disk = kept(&house, task_run).await.unwrap();
    assert_eq!(disk.layer, second);
    drop(disk);
    end(&house, devbox).await;
    // The second stands on the first.
    only(&house, &[&first, &second]).await;
    house.fleet.drop_frozen(&second).await.unwrap();
    only(&house, &[]).await;
    house.end().await;
}

#[tokio::test]
async fn what_a_dead_server_was_freezing_is_taken_up_by_its_scoring_or_removed() {
    let house = House::open().await;
    let (task_run, devbox) = at_work(&house, DevboxSetup::default()).await;
    // So many files that they are not copied: the box goes on over the frozen disk.
    let many = "mkdir many; cd many; seq 200 | split -l 1 -a 5 -";
    assert_eq!(house.sh(devbox, many).await.0, 0);
    let layer = freeze(&house, task_run, devbox).await;
    let place = house.fleet.workplace(devbox).await.unwrap();
    let more = many.replace("many", "more");
    assert_eq!(house.sh(devbox, &more).await.0, 0);
    let same = house
        .fleet
        .begin_freezing(task_run, devbox, &place, false, false)
        .await;
    let same = same.unwrap().layer;
    assert_eq!(same.as_ref(), Some(&layer), "it is the same scoring");
    let stray = LayerId::new("frozen-stray").unwrap();
    let labels = BTreeMap::new();
    place.devbox.snapshot(stray.clone(), labels).await.unwrap();
    drop(place);

    // No scoring of that task run goes on.
    let house = house.restart().await;
    assert!(kept(&house, task_run).await.is_none());
    only(&house, &[&layer, &stray]).await;
    end(&house, devbox).await;
    let house = house.restart().await;
    only(&house, &[]).await;
    house.end().await;
}

#[tokio::test]
async fn a_server_that_keeps_nothing_says_so() {
    let house = House::keeping_frozen(KeepFrozen { disks: 0, bytes: 1 }).await;
    let (task_run, devbox) = at_work(&house, DevboxSetup::default()).await;
    let place = house.fleet.workplace(devbox).await.unwrap();
    for is_needed in [false, true] {
        let begun = house
            .fleet
            .begin_freezing(task_run, devbox, &place, is_needed, false)
            .await
            .unwrap();
        let reason = begun.not_kept.as_deref();
        assert_eq!(reason, Some("this server keeps no disks"));
        assert_eq!(begun.layer.is_some(), is_needed);
    }
    house.end().await;
}
