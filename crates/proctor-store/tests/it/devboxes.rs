use std::collections::BTreeMap;

use proctor_core::{
    devbox::{
        DevboxFailure, DevboxLife, DevboxSetup, DevboxStatus, Initiator, Tunnel, TunnelSettings,
    },
    id::kinds::{DevboxId, OrganizationId},
    mount::{CodeMount, Mount},
};
use proctor_store::{
    OnDisk, Store, StoreError,
    devboxes::DevboxRecord,
    disk_snapshots::{DiskSnapshot, SnapshotFilter, SnapshotStatus},
    names::WantedLabels,
    page::{PageRequest, PageStart},
};
use rstest::rstest;

use crate::fixture::{Fixture, On, START};

pub(crate) fn record(store: &Store, organization: OrganizationId) -> DevboxRecord {
    DevboxRecord {
        id: store.fresh_id(),
        organization,
        node: "here".to_owned(),
        name: Some("box".to_owned()),
        metadata: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        initiator: Initiator::Scenario(store.fresh_id()),
        setup: DevboxSetup {
            mounts: vec![Mount::File {
                target: "~/x".to_owned(),
                content: "y".to_owned(),
            }],
            ..DevboxSetup::default()
        },
        life: DevboxLife::begin(START),
        caveats: vec!["disk limit: soft".to_owned()],
        deadline: None,
        created_at: START,
        tunnel: None,
    }
}

fn snapshot(store: &Store, organization: OrganizationId, devbox: DevboxId) -> DiskSnapshot {
    DiskSnapshot {
        id: store.fresh_id(),
        organization,
        node: "here".to_owned(),
        devbox,
        blueprint: None,
        name: None,
        commit_message: Some("words".to_owned()),
        metadata: BTreeMap::new(),
        status: SnapshotStatus::InProgress,
        error: None,
        size_bytes: None,
        created_at: START,
    }
}

#[rstest]
#[tokio::test]
async fn what_opens_repositories_is_known_until_they_are_in_the_devbox(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let organization = fixture.organization("Clinic").await;
    let mut record = record(store, organization);
    record.setup.mounts.push(Mount::Code(CodeMount {
        owner: "acme".to_owned(),
        name: "rocket".to_owned(),
        token: Some("hush".to_owned()),
        reference: None,
        install: None,
    }));
    let made = store.create_devbox(record, OnDisk::AtOnce).await.unwrap();
    let setup = serde_json::to_string(&made.value.setup).unwrap();
    assert!(!setup.contains("hush"), "{setup}");
    let read = store.devbox(made.value.id).await.unwrap().unwrap();
    assert_eq!(read, made);
    let tokens = store.devbox_tokens(made.value.id).await.unwrap();
    assert_eq!(tokens, BTreeMap::from([(1, "hush".to_owned())]));

    let named = DevboxRecord {
        name: None,
        ..made.value.clone()
    };
    let named = store.change_devbox(&made, named, OnDisk::AtOnce).await;
    let named = named.unwrap();
    let tokens = store.devbox_tokens(made.value.id).await.unwrap();
    assert_eq!(tokens.len(), 1, "it is still being made");
    let running = DevboxRecord {
        life: made.value.life.clone().run(START).unwrap().into_inner(),
        ..made.value.clone()
    };
    let running = store.change_devbox(&named, running, OnDisk::AtOnce);
    running.await.unwrap();
    let tokens = store.devbox_tokens(made.value.id).await.unwrap();
    assert!(tokens.is_empty(), "{tokens:?}");
}

#[rstest]
#[tokio::test]
async fn the_tunnel_and_the_keys_of_a_devbox_are_kept_and_taken_away(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let organization = fixture.organization("Clinic").await;
    let mut record = record(store, organization);
    record.tunnel = Some(Tunnel {
        name: "one".to_owned(),
        settings: TunnelSettings::default(),
        created_at: START,
    });
    let made = store.create_devbox(record, OnDisk::AtOnce).await.unwrap();
    let id = made.value.id;
    assert_eq!(store.devbox(id).await.unwrap().as_ref(), Some(&made));
    let without = DevboxRecord {
        tunnel: None,
        ..made.value.clone()
    };
    let without = store.change_devbox(&made, without, OnDisk::AtOnce).await;
    let without = without.unwrap();
    assert_eq!(store.devbox(id).await.unwrap(), Some(without));

    store.add_ssh_key(id, "aa").await.unwrap();
    store.add_ssh_key(id, "bb").await.unwrap();
    assert!(store.add_ssh_key(id, "aa").await.is_err());
    assert_eq!(store.devbox_of_ssh_key("bb").await.unwrap(), Some(id));
    assert_eq!(store.devbox_of_ssh_key("cc").await.unwrap(), None);
    store.forget_ssh_keys(id).await.unwrap();
    assert_eq!(store.devbox_of_ssh_key("aa").await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn a_devbox_is_kept_and_changed_only_over_what_was_read(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let organization = fixture.organization("Clinic").await;
    let made = store
        .create_devbox(record(store, organization), OnDisk::AtOnce)
        .await
        .unwrap();
    let read = store.devbox(made.value.id).await.unwrap().unwrap();
    assert_eq!(read, made);

    let life = made.value.life.clone().run(START).unwrap().into_inner();
    let running = DevboxRecord {
        life,
        deadline: Some(START),
        ..made.value.clone()
    };
    let changed = store
        .change_devbox(&made, running.clone(), OnDisk::AtOnce)
        .await
        .unwrap();
    assert_eq!(
        store.devbox(made.value.id).await.unwrap(),
        Some(changed.clone())
    );
    let stale = store
        .change_devbox(&made, running.clone(), OnDisk::AtOnce)
        .await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");

    let page = PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: true,
    };
    let list = async |status| {
        let page = store
            .devboxes(organization, status, &WantedLabels::new(), page)
            .await
            .unwrap();
        page.items.len()
    };
    for (value, count) in [("b", 1), ("c", 0)] {
        let labels = WantedLabels::from([("a".to_owned(), vec![value.to_owned()])]);
        let found = store.devboxes(organization, None, &labels, page).await;
        assert_eq!(found.unwrap().items.len(), count, "a={value}");
    }
    assert_eq!(list(None).await, 1);
    assert_eq!(list(Some(DevboxStatus::Running)).await, 1);
    assert_eq!(list(Some(DevboxStatus::Failure)).await, 0);
    assert_eq!(store.live_devboxes("here").await.unwrap().len(), 1);
    assert_eq!(store.live_devboxes("elsewhere").await.unwrap().len(), 0);

    assert_eq!(store.devboxes_with_agents(organization).await.unwrap(), []);
    let with_agent = DevboxRecord {
        setup: DevboxSetup {
            mounts: vec![Mount::Agent {
                agent: None,
                name: Some("coder".to_owned()),
                target: None,
                token: None,
            }],
            ..DevboxSetup::default()
        },
        node: "elsewhere".to_owned(),
        ..record(store, organization)
    };
    let with_agent = store
        .create_devbox(with_agent, OnDisk::WithTheNext)
        .await
        .unwrap();
    let found = store.devboxes_with_agents(organization).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&with_agent.value));
    let over = with_agent.value.life.clone();
    let over = DevboxRecord {
        life: over
            .fail(START, DevboxFailure::OutOfDisk, "full")
            .into_inner(),
        ..with_agent.value.clone()
    };
    store
        .change_devbox(&with_agent, over, OnDisk::WithTheNext)
        .await
        .unwrap();
    assert_eq!(store.devboxes_with_agents(organization).await.unwrap(), []);

    let life = running
        .life
        .clone()
        .fail(START, DevboxFailure::OutOfDisk, "full");
    let failed = DevboxRecord {
        life: life.into_inner(),
        ..running
    };
    store
        .change_devbox(&changed, failed, OnDisk::AtOnce)
        .await
        .unwrap();
    assert_eq!(store.live_devboxes("here").await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn a_snapshot_changes_only_from_the_status_it_was_seen_in(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let organization = fixture.organization("Clinic").await;
    let devbox = store
        .create_devbox(record(store, organization), OnDisk::AtOnce)
        .await
        .unwrap()
        .value
        .id;
    let mut taken = snapshot(store, organization, devbox);
    store.create_disk_snapshot(&taken).await.unwrap();
    assert_eq!(
        store.disk_snapshot(taken.id).await.unwrap(),
        Some(taken.clone())
    );
    taken.status = SnapshotStatus::Complete;
    taken.size_bytes = Some(4096);
    let change =
        async |from, to: &DiskSnapshot| store.change_disk_snapshot(from, to).await.unwrap();
    assert!(change(SnapshotStatus::InProgress, &taken).await);
    assert!(!change(SnapshotStatus::InProgress, &taken).await);
    assert_eq!(
        store.disk_snapshot(taken.id).await.unwrap(),
        Some(taken.clone())
    );

    let page = PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: true,
    };
    let of = async |filter| {
        let page = store.disk_snapshots(organization, &filter, page).await;
        page.unwrap().total
    };
    let filter = SnapshotFilter {
        devbox: Some(devbox),
        ..SnapshotFilter::default()
    };
    assert_eq!(of(filter).await, Some(1));
    let filter = SnapshotFilter {
        devbox: Some(store.fresh_id()),
        ..SnapshotFilter::default()
    };
    assert_eq!(of(filter).await, Some(0));
    // Notes are found as they are written: no pattern, no part of one, no other case.
    taken.metadata = BTreeMap::from(
        [
            ("a", "b"),
            ("team", "x,\"y\":%_\\"),
            ("stage", "Test"),
            ("empty", ""),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned())),
    );
    assert!(change(SnapshotStatus::Complete, &taken).await);
    for (name, values, found) in [
        ("a", vec!["b"], 1),
        ("a", vec!["c", "b"], 1),
        ("a", vec!["c"], 0),
        ("a", vec![], 0),
        ("a", vec!["%"], 0),
        ("team", vec!["x,\"y\":%_\\"], 1),
        ("team", vec!["x"], 0),
        ("y", vec![":%_\\"], 0),
        ("stage", vec!["test"], 0),
        ("tage", vec!["Test"], 0),
        ("empty", vec![""], 1),
        ("missing", vec![""], 0),
    ] {
        let wanted = values.iter().map(|&text| text.to_owned()).collect();
        let filter = SnapshotFilter {
            metadata: BTreeMap::from([(name.to_owned(), wanted)]),
            ..SnapshotFilter::default()
        };
        assert_eq!(of(filter).await, Some(found), "{name} {values:?}");
    }
    let both = |stage: &str| SnapshotFilter {
        metadata: BTreeMap::from([
            ("a".to_owned(), vec!["b".to_owned()]),
            ("stage".to_owned(), vec![stage.to_owned()]),
        ]),
        ..SnapshotFilter::default()
    };
    assert_eq!(of(both("Test")).await, Some(1));
    assert_eq!(of(both("Live")).await, Some(0));
    taken.status = SnapshotStatus::Deleted;
    assert!(change(SnapshotStatus::Complete, &taken).await);
    assert_eq!(of(SnapshotFilter::default()).await, Some(0));
    let deleted = store
        .disk_snapshots_with("here", SnapshotStatus::Deleted)
        .await
        .unwrap();
    assert_eq!(deleted, [taken]);
}
