use proctor_store::{
    MasterKey, Store, StoreError,
    ambient::{RandomIds, SystemClock},
    page::{PageRequest, PageStart},
};
use rstest::rstest;
use secrecy::ExposeSecret as _;
use std::sync::Arc;

use crate::fixture::{Fixture, On};

#[rstest]
#[tokio::test]
async fn a_secret_is_sealed_at_rest_and_opens_for_its_owner(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let made = store
        .create_secret(clinic, "TOKEN", &"plaintext-value".into())
        .await
        .unwrap();
    assert!(!fixture.table_contains("secrets", "plaintext-value").await);
    assert!(
        fixture.table_contains("secrets", "TOKEN").await,
        "the search itself works"
    );

    let value = store.secret_value(clinic, "TOKEN").await.unwrap().unwrap();
    assert_eq!(value.expose_secret(), "plaintext-value");
    assert!(store.secret_value(other, "TOKEN").await.unwrap().is_none());
    let taken = store.create_secret(clinic, "TOKEN", &"x".into()).await;
    assert!(matches!(taken, Err(StoreError::Taken(_))), "{taken:?}");
    store
        .create_secret(other, "TOKEN", &"another".into())
        .await
        .unwrap();

    let changed = store
        .update_secret(clinic, "TOKEN", &"new-value".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((changed.id, changed.name.as_str()), (made.id, "TOKEN"));
    assert_eq!(
        store
            .secret_value(clinic, "TOKEN")
            .await
            .unwrap()
            .unwrap()
            .expose_secret(),
        "new-value"
    );
    assert_eq!(
        store
            .update_secret(clinic, "NONE", &"x".into())
            .await
            .unwrap(),
        None
    );

    let page = PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: false,
    };
    assert_eq!(
        store.secrets(clinic, page).await.unwrap().items,
        std::slice::from_ref(&changed)
    );
    assert_eq!(
        store.delete_secret(clinic, "TOKEN").await.unwrap(),
        Some(changed)
    );
    assert_eq!(store.delete_secret(clinic, "TOKEN").await.unwrap(), None);
    assert!(store.secret_value(clinic, "TOKEN").await.unwrap().is_none());
    assert!(store.secret_value(other, "TOKEN").await.unwrap().is_some());
}

#[rstest]
#[tokio::test]
async fn another_master_key_opens_nothing_and_says_so(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let clinic = fixture.organization("Clinic").await;
    fixture
        .store
        .create_secret(clinic, "TOKEN", &"plaintext-value".into())
        .await
        .unwrap();
    let mut options = fixture.options.clone();
    options.master_key =
        Some(MasterKey::from_base64("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap());
    let other = Store::open(
        &options,
        Arc::new(SystemClock),
        Arc::new(RandomIds::default()),
    )
    .await
    .unwrap();
    let error = other.secret_value(clinic, "TOKEN").await.unwrap_err();
    assert!(error.to_string().contains("master key"), "{error}");
}
