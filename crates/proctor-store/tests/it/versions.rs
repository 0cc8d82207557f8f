use proctor_core::{
    canonical::Digest,
    definition::{BenchmarkVersion, Slug, Visibility},
    id::kinds::OrganizationId,
};
use proctor_store::{
    Store, StoreError,
    benchmarks::BenchmarkRecord,
    page::{PageRequest, PageStart},
};
use rstest::rstest;

use crate::{
    benchmarks::draft,
    definitions::benchmark,
    fixture::{Fixture, On},
};

fn slug(text: &str) -> Slug {
    Slug::try_from(text.to_owned()).unwrap()
}

async fn publish(
    store: &Store,
    organization: OrganizationId,
    read: &BenchmarkRecord,
    name: &str,
    visibility: Visibility,
) -> Result<BenchmarkVersion, StoreError> {
    let digest: Digest = store.put_definition(&benchmark(name)).await.unwrap();
    store
        .publish_benchmark(organization, read, digest, slug("fax"), visibility)
        .await
}

#[rstest]
#[tokio::test]
async fn a_version_stays_as_it_was_published(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let read = store.create_benchmark(clinic, draft("Fax")).await.unwrap();
    let first = publish(store, clinic, &read, "Fax", Visibility::Private)
        .await
        .unwrap();
    assert_eq!(first.version, 1);

    let stale = store.update_benchmark(&read, draft("Late")).await;
    assert!(
        matches!(stale, Err(StoreError::Stale)),
        "publishing was a change: {stale:?}"
    );
    let read = store.benchmark(clinic, read.id).await.unwrap().unwrap();
    let read = store
        .update_benchmark(&read, draft("Fax, improved"))
        .await
        .unwrap();
    let second = publish(store, clinic, &read, "Fax, improved", Visibility::Public)
        .await
        .unwrap();
    assert_eq!(second.version, 2);
    let late = publish(store, clinic, &read, "Fax", Visibility::Public).await;
    assert!(matches!(late, Err(StoreError::Stale)), "{late:?}");

    assert_eq!(
        store.definition(&first.digest).await.unwrap().unwrap(),
        benchmark("Fax")
    );
    assert_eq!(
        store.definition(&second.digest).await.unwrap().unwrap(),
        benchmark("Fax, improved")
    );
    let other = store.create_benchmark(clinic, draft("New")).await.unwrap();
    let latest = store.latest_versions(&[read.id, other.id]).await.unwrap();
    assert_eq!(
        latest.into_values().collect::<Vec<_>>(),
        std::slice::from_ref(&second)
    );
    assert_eq!(
        store.benchmark_versions(read.id).await.unwrap(),
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
    let (clinic, other) = fixture.two_organizations().await;
    let public = store
        .create_benchmark(clinic, draft("Public"))
        .await
        .unwrap();
    let private = store
        .create_benchmark(other, draft("Private"))
        .await
        .unwrap();
    publish(store, clinic, &public, "Public", Visibility::Public)
        .await
        .unwrap();
    let found = async |organization, version| {
        store
            .find_version(organization, &slug("fax"), version)
            .await
            .unwrap()
            .map(|version| version.benchmark)
    };
    assert_eq!(found(other, 1).await, Some(public.id));
    publish(store, other, &private, "Private", Visibility::Private)
        .await
        .unwrap();
    assert_eq!(found(other, 1).await, Some(private.id));
    assert_eq!(found(clinic, 1).await, Some(public.id));
    assert_eq!(found(clinic, 2).await, None);

    let squatter = store
        .create_benchmark(clinic, draft("Squatter"))
        .await
        .unwrap();
    let taken = publish(store, clinic, &squatter, "Squatter", Visibility::Private).await;
    assert!(matches!(taken, Err(StoreError::Taken(_))), "{taken:?}");
    let private = store.benchmark(other, private.id).await.unwrap().unwrap();
    let second = publish(store, other, &private, "Private", Visibility::Public).await;
    assert!(
        matches!(second, Err(StoreError::Taken(_))),
        "the public slug belongs to its first publisher, over all versions: {second:?}"
    );
    let public = store.benchmark(clinic, public.id).await.unwrap().unwrap();
    publish(store, clinic, &public, "Public", Visibility::Public)
        .await
        .unwrap();
    assert_eq!(found(clinic, 2).await, Some(public.id));
    assert_eq!(
        found(other, 2).await,
        None,
        "whoever has a benchmark of its own under the slug never gets another's"
    );
    let third = store.create_organization("Third").await.unwrap().id;
    assert_eq!(found(third, 2).await, Some(public.id));
}

#[rstest]
#[tokio::test]
async fn what_is_unpublished_is_still_found_by_its_name(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = (
        fixture.organization("Clinic").await,
        fixture.organization("Other").await,
    );
    let public = store.create_benchmark(clinic, draft("Fax")).await.unwrap();
    publish(store, clinic, &public, "Fax", Visibility::Public)
        .await
        .unwrap();
    let visible = async || {
        let page = PageRequest {
            limit: 10,
            from: PageStart::Newest,
            count: false,
        };
        let listed = store.visible_benchmarks(other, page).await.unwrap().items;
        listed
            .into_iter()
            .map(|(owner, _)| owner)
            .collect::<Vec<_>>()
    };
    assert_eq!(visible().await, [clinic]);
    let unpublish = async |stop| store.unpublish_benchmark(public.id, stop).await.unwrap();
    assert_eq!(unpublish(None).await, 1);
    assert_eq!(unpublish(None).await, 0);
    assert_eq!(visible().await, []);
    let found = async || {
        let found = store.find_version(other, &slug("fax"), 1).await.unwrap();
        found.unwrap().stopped_at.is_some()
    };
    assert!(!found().await);
    unpublish(Some(true)).await;
    assert!(found().await);
    unpublish(None).await;
    assert!(found().await, "it stays as it was said");
    unpublish(Some(false)).await;
    assert!(!found().await);
}
