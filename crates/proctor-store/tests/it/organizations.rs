//! Limits of organizations, checked where things are made.

use proctor_core::{
    id::kinds::OrganizationId,
    limits::{LimitReached, Limits, Resource},
    object::{Content, ContentType},
    run::Run,
};
use proctor_store::{OnDisk, Store, StoreError, objects::NewObject};
use rstest::rstest;

use crate::{
    devboxes::record,
    fixture::{Fixture, On},
    runs::run_with_tasks,
};

async fn limited(fixture: &Fixture, limits: Limits) -> OrganizationId {
    let made = fixture.store.create_organization_with_key("Clinic", limits);
    made.await.unwrap().0.id
}

#[rstest]
#[tokio::test]
async fn the_last_place_for_a_devbox_is_taken_once_also_by_two_nodes_at_once(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let limits = Limits {
        devboxes: Some(1),
        ..Limits::default()
    };
    let clinic = limited(&fixture, limits).await;
    let other = fixture.organization("Other").await;
    let second = fixture.second_node().await;
    let make = async |store: &Store, organization| {
        let devbox = record(store, organization);
        store.create_devbox(devbox, OnDisk::AtOnce).await
    };
    let (one, two) = tokio::join!(make(&fixture.store, clinic), make(&second, clinic));
    let (made, refused) = match (one, two) {
        (Ok(made), Err(refused)) | (Err(refused), Ok(made)) => (made, refused),
        other => panic!("{other:?}"),
    };
    let StoreError::Limit(refused) = refused else {
        panic!("{refused:?}");
    };
    let expected = LimitReached {
        resource: Resource::Devboxes,
        limit: 1,
        used: 1,
    };
    assert_eq!(refused, expected);
    make(&fixture.store, other).await.unwrap();
    let usage = fixture.store.usage(clinic).await.unwrap();
    assert_eq!(usage.devboxes, 1, "{made:?}");
}

#[rstest]
#[tokio::test]
async fn runs_are_limited_while_they_are_not_over(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let limits = Limits {
        runs: Some(1),
        ..Limits::default()
    };
    let clinic = limited(&fixture, limits).await;
    let first = run_with_tasks(store, clinic, 1).await;
    let second = Run {
        id: store.fresh_id(),
        ..first
    };
    let refused = store.create_run(&second, &[], &[]).await;
    assert!(matches!(refused, Err(StoreError::Limit(_))), "{refused:?}");
    assert!(store.run(second.id).await.unwrap().is_none());
    fixture.tamper("UPDATE runs SET status = 'completed'").await;
    store.create_run(&second, &[], &[]).await.unwrap();
}

#[rstest]
#[tokio::test]
async fn bytes_are_limited_when_they_are_written(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let limits = Limits {
        storage_bytes: Some(10),
        ..Limits::default()
    };
    let clinic = limited(&fixture, limits).await;
    let upload = async |size| {
        let new = NewObject {
            name: "notes".to_owned(),
            content_type: ContentType::Text,
            metadata: Default::default(),
            ttl_ms: None,
        };
        let object = store.create_object(clinic, new).await.unwrap();
        let read = store.any_object(object.id).await.unwrap().unwrap();
        let digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
            .parse()
            .unwrap();
        let content = Content { digest, size };
        let new = read.value.clone().upload(content).unwrap();
        store.write_object(&read, &new).await
    };
    upload(6).await.unwrap();
    let refused = upload(5).await;
    assert!(matches!(refused, Err(StoreError::Limit(_))), "{refused:?}");
    upload(4).await.unwrap();
    let room = store.storage_room(clinic).await.unwrap().unwrap();
    assert_eq!(room.left(), 0);
}
