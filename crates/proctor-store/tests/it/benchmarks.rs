use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{
    definition::{Requirements, Seconds, Visibility},
    devbox::DevboxDefinition,
    id::Kind,
};
use proctor_store::{
    StoreError,
    benchmarks::BenchmarkDraft,
    page::{PageRequest, PageStart},
    tasks::TaskDraft,
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    authoring::environment,
    definitions::benchmark,
    fixture::{Fixture, On},
};

pub(crate) fn draft(name: &str) -> BenchmarkDraft {
    BenchmarkDraft {
        name: name.to_owned(),
        description: Some("About faxes".to_owned()),
        attribution: None,
        environment: None,
        timeout: Seconds::new(600),
        concurrency: NonZeroU32::MIN,
        metadata: BTreeMap::from([("team".to_owned(), "intake".to_owned())]),
        requires: Requirements::default(),
    }
}

pub(crate) fn task(name: &str) -> TaskDraft {
    TaskDraft {
        name: name.to_owned(),
        timeout: None,
        tags: vec!["intake".to_owned()],
        brief: json!({"instructions": "A fax came in."}),
        scenario: vec![json!({"type": "voicemail", "text": "Call me"})],
        clock: Default::default(),
        capture: BTreeMap::new(),
        devbox: None,
        reference: Value::Null,
        validation: None,
        scoring_timeout: None,
        requires: Requirements::default(),
        metadata: BTreeMap::new(),
    }
}

pub(crate) fn all<K: Kind>() -> PageRequest<K> {
    PageRequest {
        limit: 100,
        from: PageStart::Newest,
        count: true,
    }
}

#[rstest]
#[tokio::test]
async fn what_is_put_away_is_not_listed(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let kept = store.create_benchmark(clinic, draft("Kept")).await.unwrap();
    let away = store.create_benchmark(clinic, draft("Away")).await.unwrap();
    assert!(!store.archive_benchmark(other, away.id, true).await.unwrap());
    assert!(
        store
            .archive_benchmark(clinic, away.id, true)
            .await
            .unwrap()
    );
    let listed = store.benchmarks(clinic, all()).await.unwrap();
    assert_eq!((listed.items, listed.total), (vec![kept], Some(1)));
    assert_eq!(
        store.benchmark(clinic, away.id).await.unwrap(),
        Some(away.clone())
    );
    assert_eq!(store.benchmark(other, away.id).await.unwrap(), None);
    assert!(
        store
            .archive_benchmark(clinic, away.id, false)
            .await
            .unwrap()
    );
    let listed = store.benchmarks(clinic, all()).await.unwrap();
    assert_eq!(listed.total, Some(2));
}

#[rstest]
#[tokio::test]
async fn a_deleted_benchmark_leaves_its_versions_and_what_others_need(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let place = store
        .create_environment(clinic, environment("Ward"))
        .await
        .unwrap();
    let content = BenchmarkDraft {
        environment: Some(place.id),
        ..draft("Fax")
    };
    let doomed = store.create_benchmark(clinic, content).await.unwrap();
    let second = store.create_benchmark(clinic, draft("Also")).await.unwrap();
    let own = store
        .create_task(clinic, Some(&doomed), task("own"))
        .await
        .unwrap();
    let shared = store
        .create_task(clinic, Some(&doomed), task("shared"))
        .await
        .unwrap();
    store.add_task(&second, &shared).await.unwrap();
    store.add_task(&second, &shared).await.unwrap();
    let boxed = TaskDraft {
        devbox: Some(DevboxDefinition::default().into()),
        ..task("boxed")
    };
    let boxed = store
        .create_task(clinic, Some(&doomed), boxed)
        .await
        .unwrap();
    let refused = store.delete_environment(clinic, place.id).await;
    assert!(matches!(refused, Err(StoreError::InUse(_))), "{refused:?}");
    assert!(!store.delete_benchmark(other, doomed.id).await.unwrap());
    assert!(store.delete_benchmark(clinic, doomed.id).await.unwrap());
    assert!(!store.delete_benchmark(clinic, doomed.id).await.unwrap());

    assert_eq!(store.benchmark(clinic, doomed.id).await.unwrap(), None);
    let listed = store.benchmarks(clinic, all()).await.unwrap();
    assert_eq!(listed.items, std::slice::from_ref(&second));
    let left = store.tasks(clinic, None, all()).await.unwrap();
    assert_eq!(
        left.items.iter().map(|task| task.id).collect::<Vec<_>>(),
        [boxed.id, shared.id],
        "{own:?} went with its benchmark"
    );
    let listed = store.tasks(clinic, Some(second.id), all()).await.unwrap();
    assert_eq!(listed.items, std::slice::from_ref(&shared));
    assert_eq!(
        store.benchmarks_of(&[shared.id, boxed.id]).await.unwrap(),
        BTreeMap::from([(shared.id, second.id)])
    );
    assert!(store.delete_environment(clinic, place.id).await.unwrap());
}

#[rstest]
#[tokio::test]
async fn what_was_ever_published_is_not_deleted(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let bench = store.create_benchmark(clinic, draft("Fax")).await.unwrap();
    let digest = store.put_definition(&benchmark("Fax")).await.unwrap();
    let slug = "fax".to_owned().try_into().unwrap();
    let published = store.publish_benchmark(clinic, &bench, digest, slug, Visibility::Private);
    published.await.unwrap();
    store
        .unpublish_benchmark(bench.id, Some(true))
        .await
        .unwrap();
    let refused = store.delete_benchmark(clinic, bench.id).await;
    assert!(matches!(refused, Err(StoreError::InUse(_))), "{refused:?}");
    assert!(store.benchmark(clinic, bench.id).await.unwrap().is_some());
}

#[rstest]
#[tokio::test]
async fn tasks_keep_the_order_in_which_they_joined(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let bench = store.create_benchmark(clinic, draft("Fax")).await.unwrap();
    let late = store.create_task(clinic, None, task("late")).await.unwrap();
    let first = store
        .create_task(clinic, Some(&bench), task("first"))
        .await
        .unwrap();
    let gone = store
        .create_task(clinic, Some(&bench), task("gone"))
        .await
        .unwrap();
    store.add_task(&bench, &late).await.unwrap();
    assert!(store.remove_task(&bench, gone.id).await.unwrap());
    assert!(!store.remove_task(&bench, gone.id).await.unwrap());
    let whole = store
        .whole_benchmark(clinic, bench.id)
        .await
        .unwrap()
        .unwrap();
    let order: Vec<_> = whole.tasks.iter().map(|whole| whole.task.id).collect();
    assert_eq!(order, [first.id, late.id]);
}
