use proctor_core::limits::Limits;
use proctor_store::{
    credentials::{Authentication, PlainKey},
    page::{PageRequest, PageStart},
};
use rstest::rstest;
use secrecy::ExposeSecret as _;

use crate::fixture::{Fixture, On};

#[rstest]
#[tokio::test]
async fn an_operators_key_speaks_for_no_organization(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let issued = store
        .create_operator_key(Some("night shift".to_owned()), PlainKey::Random)
        .await
        .unwrap();
    let secret = issued.secret.expose_secret();
    assert!(secret.starts_with("vk_op_"), "{}", issued.key.prefix);
    let shown = async || store.authenticate(secret).await.unwrap();
    assert!(matches!(shown().await, Authentication::Operator(id) if id == issued.key.id));
    assert!(!fixture.table_contains("operator_keys", secret).await);
    let all = PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: false,
    };
    let listed = store.operator_keys(all).await.unwrap().items;
    assert_eq!(listed, std::slice::from_ref(&issued.key));
    assert!(store.revoke_operator_key(issued.key.id).await.unwrap());
    assert!(!store.revoke_operator_key(issued.key.id).await.unwrap());
    assert!(matches!(shown().await, Authentication::Revoked));
    let made_up = store.authenticate("vk_op_made-up-by-somebody-else").await;
    assert!(matches!(made_up.unwrap(), Authentication::Unknown));
}

#[rstest]
#[tokio::test]
async fn an_organization_comes_with_a_key_and_its_limits(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let limits = Limits {
        devboxes: Some(3),
        storage_bytes: Some(u64::MAX),
        ..Limits::default()
    };
    let (made, key) = store
        .create_organization_with_key("Clinic", limits)
        .await
        .unwrap();
    let caller = store
        .authenticate(key.secret.expose_secret())
        .await
        .unwrap();
    let Authentication::Known(caller) = caller else {
        panic!("{caller:?}");
    };
    assert_eq!(caller.organization, made);
    assert_eq!(caller.organization.limits, limits);
    let changed = store
        .update_organization(made.id, "Clinic North", Limits::default())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (changed.name.as_str(), changed.limits),
        ("Clinic North", Limits::default())
    );
    let nobody = store.fresh_id();
    let missing = store
        .update_organization(nobody, "x", limits)
        .await
        .unwrap();
    assert_eq!(missing, None);
}
