//! Environments, simulators, data sets, entities and criteria.

use proctor_core::{
    definition::Check,
    environment::{DatasetType, SimulatorType},
    id::kinds::{DatasetId, TaskId},
    scoring::Weight,
};
use proctor_store::{
    StoreError, criteria::CriterionDraft, datasets::DatasetDraft, entities::EntityDraft,
    environments::EnvironmentDraft, simulators::SimulatorDraft,
};
use rstest::rstest;
use serde_json::{Map, Value, json};

use crate::{
    benchmarks::{all, draft, task},
    fixture::{Fixture, On},
};

pub(crate) fn environment(name: &str) -> EnvironmentDraft {
    EnvironmentDraft {
        name: name.to_owned(),
        description: None,
    }
}

fn simulator(name: &str, datasets: &[DatasetId]) -> SimulatorDraft {
    SimulatorDraft {
        kind: SimulatorType::named("Fhir"),
        name: name.to_owned(),
        config: Map::from_iter([("strict".to_owned(), Value::Bool(true))]),
        datasets: datasets.to_vec(),
    }
}

fn dataset(name: &str) -> DatasetDraft {
    DatasetDraft {
        name: name.to_owned(),
        description: None,
        kind: DatasetType::Fhir,
    }
}

fn entity(dataset: DatasetId, key: &str) -> EntityDraft {
    EntityDraft {
        dataset,
        kind: "patient".to_owned(),
        key: key.to_owned(),
        data: serde_json::from_str(r#"{"weight": 1.10, "nul": "\u0000"}"#).unwrap(),
    }
}

fn criterion(task: TaskId, label: &str) -> CriterionDraft {
    CriterionDraft {
        task,
        label: label.to_owned(),
        weight: Weight::new(0.1).unwrap(),
        axis: Some("safety".to_owned()),
        input_entity: None,
        key: None,
        critical: false,
        all: false,
        requires: Vec::new(),
        check: Check::Assertion(json!({"assert": "anything"})),
    }
}

#[rstest]
#[tokio::test]
async fn a_draft_is_written_over_only_what_was_read(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let made = store
        .create_environment(clinic, environment("Ward"))
        .await
        .unwrap();
    let changed = store
        .update_environment(&made, environment("Ward 7"))
        .await
        .unwrap();
    assert!(changed.updated_at > made.updated_at);
    assert_eq!(changed.created_at, made.created_at);
    let stale = store.update_environment(&made, environment("Late")).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    assert_eq!(
        store.environment(clinic, made.id).await.unwrap(),
        Some(changed.clone())
    );
    assert_eq!(store.environment(other, made.id).await.unwrap(), None);
    assert_eq!(
        store.environments(other, all()).await.unwrap().total,
        Some(0)
    );
    assert!(!store.delete_environment(other, made.id).await.unwrap());
    assert!(store.delete_environment(clinic, made.id).await.unwrap());
    let gone = store
        .update_environment(&changed, environment("Gone"))
        .await;
    assert!(matches!(gone, Err(StoreError::Stale)), "{gone:?}");
}

#[rstest]
#[tokio::test]
async fn an_environment_has_its_simulators_in_order(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let place = store
        .create_environment(clinic, environment("Ward"))
        .await
        .unwrap();
    let data = store
        .create_dataset(clinic, dataset("Chart"), &json!([{"id": "ada"}]))
        .await
        .unwrap();
    let unused = store
        .create_simulator(clinic, simulator("unused", &[]))
        .await
        .unwrap();
    let newer = store
        .create_simulator(clinic, simulator("newer", &[data.id]))
        .await
        .unwrap();
    store.add_simulator(&place, &newer).await.unwrap();
    store.add_simulator(&place, &unused).await.unwrap();
    store.add_simulator(&place, &newer).await.unwrap();
    let of = store.simulators_of(&[place.id]).await.unwrap();
    assert_eq!(of[&place.id], [newer.id, unused.id]);

    let refused = store.delete_simulator(clinic, unused.id).await;
    assert!(matches!(refused, Err(StoreError::InUse(_))), "{refused:?}");
    assert!(store.remove_simulator(&place, unused.id).await.unwrap());
    assert!(!store.remove_simulator(&place, unused.id).await.unwrap());
    assert!(store.delete_simulator(clinic, unused.id).await.unwrap());

    let whole = store
        .whole_environment(clinic, place.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(whole.simulators, std::slice::from_ref(&newer));
    assert_eq!(whole.datasets[&data.id].data, json!([{"id": "ada"}]));

    let refused = store.delete_dataset(clinic, data.id).await;
    assert!(matches!(refused, Err(StoreError::InUse(_))), "{refused:?}");
    let newer = store
        .update_simulator(&newer, simulator("newer", &[]))
        .await
        .unwrap();
    assert!(store.delete_dataset(clinic, data.id).await.unwrap());
    let lost = store
        .update_simulator(&newer, simulator("newer", &[data.id]))
        .await;
    assert!(matches!(lost, Err(StoreError::Stale)), "{lost:?}");

    assert!(store.delete_environment(clinic, place.id).await.unwrap());
    assert!(store.delete_simulator(clinic, newer.id).await.unwrap());
    let lost = store.add_simulator(&place, &newer).await;
    assert!(matches!(lost, Err(StoreError::Stale)), "{lost:?}");
}

#[rstest]
#[tokio::test]
async fn data_change_apart_from_what_is_said_of_them(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let large = json!({"a.txt": "x".repeat(4 << 20)});
    let made = store
        .create_dataset(clinic, dataset("Files"), &large)
        .await
        .unwrap();
    let data = async |organization| store.dataset_data(organization, made.id).await.unwrap();
    assert_eq!(data(other).await, None);
    let changed = store
        .update_dataset(&made, dataset("More files"), None)
        .await
        .unwrap();
    assert_eq!(data(clinic).await, Some(large));
    store
        .update_dataset(&changed, dataset("None"), Some(&json!({})))
        .await
        .unwrap();
    assert_eq!(data(clinic).await, Some(json!({})));
    let unknown = store.fresh_id();
    let missing = async |organization, ids: &[DatasetId]| {
        store.missing_dataset(organization, ids).await.unwrap()
    };
    assert_eq!(missing(clinic, &[]).await, None);
    assert_eq!(missing(clinic, &[made.id, made.id]).await, None);
    assert_eq!(missing(clinic, &[made.id, unknown]).await, Some(unknown));
    assert_eq!(missing(other, &[made.id]).await, Some(made.id));
}

#[rstest]
#[tokio::test]
async fn what_a_task_is_about_cannot_be_lost(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let bench = store.create_benchmark(clinic, draft("Fax")).await.unwrap();
    let book = store
        .create_task(clinic, Some(&bench), task("Book"))
        .await
        .unwrap();
    let data = store
        .create_dataset(clinic, dataset("People"), &json!([]))
        .await
        .unwrap();
    let ada = store
        .create_entity(clinic, entity(data.id, "ada"))
        .await
        .unwrap();
    let eve = store
        .create_entity(clinic, entity(data.id, "eve"))
        .await
        .unwrap();
    let taken = store.create_entity(clinic, entity(data.id, "ada")).await;
    assert!(matches!(taken, Err(StoreError::Taken(_))), "{taken:?}");
    let taken = store.update_entity(&eve, entity(data.id, "ada")).await;
    assert!(matches!(taken, Err(StoreError::Taken(_))), "{taken:?}");
    store.add_task_entity(&book, &eve).await.unwrap();
    store.add_task_entity(&book, &ada).await.unwrap();
    store.add_task_entity(&book, &ada).await.unwrap();
    let about = store.task_entities(clinic, book.id, all()).await.unwrap();
    assert_eq!(about.items, [eve.clone(), ada.clone()]);
    let foreign = store.task_entities(other, book.id, all()).await.unwrap();
    assert_eq!(foreign.total, Some(0));

    let safe = CriterionDraft {
        input_entity: Some(ada.id),
        ..criterion(book.id, "safe")
    };
    let safe = store.create_criterion(clinic, safe).await.unwrap();
    let whole = store
        .whole_benchmark(clinic, bench.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(whole.tasks[0].entities, [eve.clone(), ada.clone()]);
    assert_eq!(whole.tasks[0].criteria, std::slice::from_ref(&safe));
    assert_eq!(store.whole_benchmark(other, bench.id).await.unwrap(), None);

    assert!(store.remove_task_entity(&book, ada.id).await.unwrap());
    assert!(!store.remove_task_entity(&book, ada.id).await.unwrap());
    let refused = store.delete_entity(clinic, ada.id).await;
    assert!(
        matches!(refused, Err(StoreError::InUse(_))),
        "the criterion names it: {refused:?}"
    );
    let refused = store.delete_dataset(clinic, data.id).await;
    assert!(matches!(refused, Err(StoreError::InUse(_))), "{refused:?}");
    let about_nobody = criterion(book.id, "safe");
    store.update_criterion(&safe, about_nobody).await.unwrap();
    assert!(store.delete_entity(clinic, ada.id).await.unwrap());
    let refused = store.delete_dataset(clinic, data.id).await;
    assert!(
        matches!(refused, Err(StoreError::InUse(_))),
        "the task is about eve: {refused:?}"
    );

    assert!(store.delete_task(clinic, book.id).await.unwrap());
    assert_eq!(
        store.criteria(clinic, None, all()).await.unwrap().total,
        Some(0),
        "criteria go with their task"
    );
    let orphan = store
        .create_criterion(clinic, criterion(book.id, "late"))
        .await;
    assert!(matches!(orphan, Err(StoreError::Stale)), "{orphan:?}");
    assert!(store.delete_dataset(clinic, data.id).await.unwrap());
    assert_eq!(
        store.entity(clinic, eve.id).await.unwrap(),
        None,
        "entities go with their data set"
    );
}

#[rstest]
#[tokio::test]
async fn criteria_are_listed_by_task(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let (one, two) = (
        store.create_task(clinic, None, task("one")).await.unwrap(),
        store.create_task(clinic, None, task("two")).await.unwrap(),
    );
    let first = store
        .create_criterion(clinic, criterion(one.id, "a"))
        .await
        .unwrap();
    let second = store
        .create_criterion(clinic, criterion(two.id, "b"))
        .await
        .unwrap();
    let of_one = store.criteria(clinic, Some(one.id), all()).await.unwrap();
    assert_eq!(of_one.items, std::slice::from_ref(&first));
    let every = store.criteria(clinic, None, all()).await.unwrap();
    assert_eq!(every.items, [second, first.clone()]);
    assert!(store.delete_criterion(clinic, first.id).await.unwrap());
    assert!(!store.delete_criterion(clinic, first.id).await.unwrap());
}
