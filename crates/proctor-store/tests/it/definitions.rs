use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::definition::{Benchmark, Requirements, Slug, Visibility};
use proctor_store::{
    StoreError,
    page::{PageRequest, PageStart},
};
use rstest::rstest;

use crate::fixture::{Fixture, On};

pub(crate) fn benchmark(name: &str) -> Benchmark {
    Benchmark {
        name: name.to_owned(),
        description: None,
        timeout: None,
        concurrency: NonZeroU32::MIN,
        metadata: BTreeMap::new(),
        requires: Requirements::default(),
        tasks: Vec::new(),
    }
}

pub(crate) fn slug(text: &str) -> Slug {
    Slug::try_from(text.to_owned()).unwrap()
}

#[rstest]
#[tokio::test]
async fn a_version_stays_as_it_was_published(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let draft = store
        .create_benchmark(clinic, &benchmark("Fax"))
        .await
        .unwrap();
    let first = store
        .publish_benchmark(&draft, slug("fax"), Visibility::Private)
        .await
        .unwrap();
    assert_eq!(first.version, 1);

    let stale = store.update_benchmark(&draft, &benchmark("Late")).await;
    assert!(
        matches!(stale, Err(StoreError::Stale)),
        "publishing was a change: {stale:?}"
    );
    let draft = store.benchmark(clinic, draft.id).await.unwrap().unwrap();
    let draft = store
        .update_benchmark(&draft, &benchmark("Fax, improved"))
        .await
        .unwrap();
    let second = store
        .publish_benchmark(&draft, slug("fax"), Visibility::Public)
        .await
        .unwrap();
    assert_eq!(second.version, 2);

    assert_eq!(
        store.definition(&first.digest).await.unwrap().unwrap(),
        benchmark("Fax")
    );
    assert_eq!(
        store.definition(&second.digest).await.unwrap().unwrap(),
        benchmark("Fax, improved")
    );
    assert_eq!(
        store.benchmark_versions(draft.id).await.unwrap(),
        [second, first]
    );
}

#[rstest]
#[tokio::test]
async fn a_slug_finds_ones_own_benchmark_before_a_public_one(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = (
        fixture.organization("Clinic").await,
        fixture.organization("Other").await,
    );
    let public = store
        .create_benchmark(clinic, &benchmark("Public"))
        .await
        .unwrap();
    let private = store
        .create_benchmark(other, &benchmark("Private"))
        .await
        .unwrap();
    store
        .publish_benchmark(&public, slug("fax"), Visibility::Public)
        .await
        .unwrap();
    assert_eq!(
        store
            .find_version(other, &slug("fax"), 1)
            .await
            .unwrap()
            .unwrap()
            .benchmark,
        public.id
    );
    store
        .publish_benchmark(&private, slug("fax"), Visibility::Private)
        .await
        .unwrap();
    assert_eq!(
        store
            .find_version(other, &slug("fax"), 1)
            .await
            .unwrap()
            .unwrap()
            .benchmark,
        private.id
    );
    assert_eq!(
        store
            .find_version(clinic, &slug("fax"), 1)
            .await
            .unwrap()
            .unwrap()
            .benchmark,
        public.id
    );
    assert_eq!(
        store.find_version(clinic, &slug("fax"), 2).await.unwrap(),
        None
    );

    let third = store
        .create_benchmark(other, &benchmark("Third"))
        .await
        .unwrap();
    let taken = store
        .publish_benchmark(&third, slug("fax"), Visibility::Private)
        .await;
    assert!(matches!(taken, Err(StoreError::Taken(_))), "{taken:?}");
    let private = store.benchmark(other, private.id).await.unwrap().unwrap();
    let public_twice = store
        .publish_benchmark(&private, slug("fax"), Visibility::Public)
        .await;
    assert_eq!(public_twice.unwrap().version, 2, "fax@2 is nobody's yet");

    assert_eq!(store.unpublish_benchmark(public.id).await.unwrap(), 1);
    assert_eq!(
        store.find_version(clinic, &slug("fax"), 1).await.unwrap(),
        None
    );
}

#[rstest]
#[tokio::test]
async fn what_is_put_away_is_not_listed(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let kept = store
        .create_benchmark(clinic, &benchmark("Kept"))
        .await
        .unwrap();
    let away = store
        .create_benchmark(clinic, &benchmark("Away"))
        .await
        .unwrap();
    let away = store.archive_benchmark(&away, true).await.unwrap();
    let page = PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: true,
    };
    let listed = store.benchmarks(clinic, page).await.unwrap();
    assert_eq!((listed.items, listed.total), (vec![kept], Some(1)));
    assert_eq!(
        store.benchmark(clinic, away.id).await.unwrap(),
        Some(away.clone())
    );
    store.archive_benchmark(&away, false).await.unwrap();
    assert_eq!(store.benchmarks(clinic, page).await.unwrap().total, Some(2));
}

#[rstest]
#[tokio::test]
async fn a_definition_that_was_tampered_with_is_found_out(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let clinic = fixture.organization("Clinic").await;
    let draft = fixture
        .store
        .create_benchmark(clinic, &benchmark("Fax"))
        .await
        .unwrap();
    fixture
        .tamper("UPDATE definitions SET body = REPLACE(body, 'Fax', 'Fix')")
        .await;
    let read = fixture.store.definition(&draft.draft).await;
    assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
}
