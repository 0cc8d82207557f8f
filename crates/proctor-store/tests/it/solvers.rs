use proctor_store::{StoreError, solvers::SolverProfile};
use rstest::rstest;

use crate::fixture::{Fixture, On};

pub(crate) fn profile(alias: &str) -> SolverProfile {
    SolverProfile {
        alias: alias.to_owned(),
        real_name: "Ada Lovelace".to_owned(),
        agent_description: "An intake agent".to_owned(),
        contact_email: "ada@example.org".to_owned(),
        agent_version: None,
    }
}

#[rstest]
#[tokio::test]
async fn a_solver_lives_inside_its_organization(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let made = store.create_solver(clinic, profile("ada")).await.unwrap();
    assert_eq!(
        store.solver(clinic, made.id).await.unwrap(),
        Some(made.clone())
    );
    assert_eq!(store.solver(other, made.id).await.unwrap(), None);

    let version = SolverProfile {
        agent_version: Some("2.0".to_owned()),
        ..profile("ada")
    };
    let changed = store
        .update_solver(clinic, &made, version.clone())
        .await
        .unwrap();
    assert!(changed.updated_at > made.updated_at);
    assert_eq!(
        store
            .solver(clinic, made.id)
            .await
            .unwrap()
            .unwrap()
            .profile,
        version
    );
    let stale = store.update_solver(clinic, &made, profile("eve")).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    let foreign = store.update_solver(other, &changed, profile("eve")).await;
    assert!(matches!(foreign, Err(StoreError::Stale)), "{foreign:?}");

    assert!(!store.delete_solver(other, made.id).await.unwrap());
    assert!(store.delete_solver(clinic, made.id).await.unwrap());
    assert!(!store.delete_solver(clinic, made.id).await.unwrap());
    assert_eq!(store.solver(clinic, made.id).await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn an_alias_is_taken_once_per_organization(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let ada = store.create_solver(clinic, profile("ada")).await.unwrap();
    let eve = store.create_solver(clinic, profile("eve")).await.unwrap();
    assert!(matches!(
        store.create_solver(clinic, profile("ada")).await,
        Err(StoreError::Taken(_))
    ));
    assert!(matches!(
        store.update_solver(clinic, &eve, profile("ada")).await,
        Err(StoreError::Taken(_))
    ));
    store.create_solver(other, profile("ada")).await.unwrap();
    store.delete_solver(clinic, ada.id).await.unwrap();
    store
        .create_solver(clinic, profile("ada"))
        .await
        .expect("the name of one who left is free");
}
