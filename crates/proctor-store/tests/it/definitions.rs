use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{
    definition::{Benchmark, Requirements},
    environment::Environment,
};
use proctor_store::StoreError;
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

#[rstest]
#[tokio::test]
async fn a_definition_is_found_by_its_content(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let environment = Environment {
        name: "Clinic".to_owned(),
        simulators: Vec::new(),
    };
    let digest = store.put_definition(&benchmark("Fax")).await.unwrap();
    assert_eq!(digest, benchmark("Fax").digest());
    assert_eq!(
        store.put_definition(&benchmark("Fax")).await.unwrap(),
        digest
    );
    assert_eq!(
        store.definition(&digest).await.unwrap(),
        Some(benchmark("Fax"))
    );
    assert_eq!(
        store.definition(&benchmark("Fix").digest()).await.unwrap(),
        None
    );
    let digest = store
        .put_environment_definition(&environment)
        .await
        .unwrap();
    assert_eq!(
        store.environment_definition(&digest).await.unwrap(),
        Some(environment)
    );
}

#[rstest]
#[tokio::test]
async fn a_definition_that_was_tampered_with_is_found_out(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let digest = fixture
        .store
        .put_definition(&benchmark("Fax"))
        .await
        .unwrap();
    fixture
        .tamper("UPDATE definitions SET body = REPLACE(body, 'Fax', 'Fix')")
        .await;
    let read = fixture.store.definition(&digest).await;
    assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
}
