use std::time::Duration;

use proctor_core::limits::Limits;
use proctor_store::{
    credentials::{KeyOwner, Who},
    web_sessions::{IDLE, LONGEST, TICKET},
};
use rstest::rstest;
use secrecy::ExposeSecret as _;

use crate::fixture::{Fixture, On};

#[rstest]
#[tokio::test]
async fn a_session_speaks_for_its_key_and_ends_with_it(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let made = store.create_organization_with_key("Clinic", Limits::default());
    let (organization, issued) = made.await.unwrap();
    let session = store.open_web_session(issued.key.id).await.unwrap();
    let cookie = session.expose_secret();
    let principal = store.web_session(cookie).await.unwrap().unwrap();
    assert_eq!(principal.organization.id, organization.id);
    assert_eq!(principal.who, Who::Organization);
    assert!(!fixture.table_contains("web_sessions", cookie).await);
    assert!(store.web_session("made-up").await.unwrap().is_none());
    let revoked = store.revoke_key(organization.id, KeyOwner::Organization, issued.key.id);
    assert!(revoked.await.unwrap());
    assert!(store.web_session(cookie).await.unwrap().is_none());
}

#[rstest]
#[tokio::test]
async fn a_session_ends_when_nobody_uses_it_and_after_a_week_in_any_case(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let made = store.create_organization_with_key("Clinic", Limits::default());
    let key = made.await.unwrap().1.key.id;
    let idle = store.open_web_session(key).await.unwrap();
    fixture.clock.advance(IDLE);
    assert!(
        store
            .web_session(idle.expose_secret())
            .await
            .unwrap()
            .is_none()
    );
    let used = store.open_web_session(key).await.unwrap();
    let step = IDLE - Duration::from_secs(1);
    let mut age = Duration::ZERO;
    while age + step < LONGEST {
        fixture.clock.advance(step);
        age += step;
        assert!(
            store
                .web_session(used.expose_secret())
                .await
                .unwrap()
                .is_some(),
            "{age:?}"
        );
    }
    fixture.clock.advance(LONGEST - age);
    assert!(
        store
            .web_session(used.expose_secret())
            .await
            .unwrap()
            .is_none()
    );
    store.forget_old_web_sessions().await.unwrap();
    assert!(
        store
            .web_session(used.expose_secret())
            .await
            .unwrap()
            .is_none()
    );
}

#[rstest]
#[tokio::test]
async fn a_ticket_is_spent_once_and_within_its_time(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let made = store.create_organization_with_key("Clinic", Limits::default());
    let key = made.await.unwrap().1.key.id;
    let ticket = store.issue_web_ticket(key).await.unwrap();
    let ticket = ticket.expose_secret();
    let session = store.spend_web_ticket(ticket).await.unwrap().unwrap();
    assert!(
        store
            .web_session(session.expose_secret())
            .await
            .unwrap()
            .is_some()
    );
    assert!(store.spend_web_ticket(ticket).await.unwrap().is_none());
    let late = store.issue_web_ticket(key).await.unwrap();
    fixture.clock.advance(TICKET);
    assert!(
        store
            .spend_web_ticket(late.expose_secret())
            .await
            .unwrap()
            .is_none()
    );
    store
        .close_web_session(session.expose_secret())
        .await
        .unwrap();
    assert!(
        store
            .web_session(session.expose_secret())
            .await
            .unwrap()
            .is_none()
    );
}
