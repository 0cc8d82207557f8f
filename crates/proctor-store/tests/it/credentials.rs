use std::{sync::Arc, time::Duration};

use proctor_core::id::kinds::{RunId, SolverKind};
use proctor_store::{
    Store,
    ambient::{RandomIds, SystemClock},
    credentials::{Authentication, GivenKey, KeyOwner, PlainKey, Principal, Who},
    page::{PageRequest, PageStart},
};
use rstest::rstest;
use secrecy::ExposeSecret as _;

use crate::{
    fixture::{Fixture, On, START},
    solvers::profile,
};

async fn known(store: &Store, secret: &str) -> Arc<Principal> {
    match store.authenticate(secret).await.unwrap() {
        Authentication::Known(principal) => principal,
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[tokio::test]
async fn the_first_start_makes_one_organization_and_its_key(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let second = fixture.second_node().await;
    let (one, two) = tokio::join!(
        fixture.store.bootstrap("First", PlainKey::Random),
        second.bootstrap("First", PlainKey::Random)
    );
    let made: Vec<_> = [one.unwrap(), two.unwrap()].into_iter().flatten().collect();
    let [(organization, issued)] = made.as_slice() else {
        panic!("{} were made", made.len())
    };
    assert_eq!(
        fixture.store.organizations().await.unwrap(),
        std::slice::from_ref(organization)
    );
    let caller = known(&fixture.store, issued.secret.expose_secret()).await;
    assert_eq!(
        (&caller.organization, caller.who),
        (organization, Who::Organization)
    );
    assert!(
        fixture
            .store
            .bootstrap("Second", PlainKey::Random)
            .await
            .unwrap()
            .is_none()
    );
}

#[rstest]
#[tokio::test]
async fn many_can_open_a_new_store_at_once(#[values(On::Sqlite, On::Postgres)] on: On) {
    let (options, _directory) = Fixture::options_for(on);
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let options = options.clone();
        opening.spawn(async move {
            let store = Store::open(
                &options,
                Arc::new(SystemClock),
                Arc::new(RandomIds::default()),
            )
            .await
            .unwrap();
            store.bootstrap("First", PlainKey::Random).await.unwrap()
        });
    }
    let made = opening
        .join_all()
        .await
        .into_iter()
        .filter(Option::is_some)
        .count();
    assert_eq!(made, 1);
}

#[rstest]
#[tokio::test]
async fn a_key_that_was_chosen_outside_works(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let given = || GivenKey::try_from("ak_0123456789abcdef".to_owned()).unwrap();
    let (_, issued) = fixture
        .store
        .bootstrap("First", PlainKey::Given(given()))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (issued.key.prefix.as_str(), issued.key.suffix.as_str()),
        ("ak_0", "cdef")
    );
    known(&fixture.store, "ak_0123456789abcdef").await;
    for bad in ["short", "with space 0123456789", "ünïcödé-0123456789"] {
        assert!(GivenKey::try_from(bad.to_owned()).is_err(), "{bad}");
    }
}

#[rstest]
#[tokio::test]
async fn a_key_is_kept_as_a_hash_only(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let organization = fixture.organization("Clinic").await;
    let issued = fixture
        .store
        .create_key(
            organization,
            KeyOwner::Organization,
            Some("ci".to_owned()),
            PlainKey::Random,
        )
        .await
        .unwrap()
        .unwrap();
    let secret = issued.secret.expose_secret();
    assert!(secret.starts_with("vk_") && secret.len() == 46, "{secret}");
    assert!(!fixture.table_contains("credentials", secret).await);
    assert!(
        fixture
            .table_contains("credentials", &issued.key.suffix)
            .await,
        "the search itself works"
    );
    assert!(
        !format!("{issued:?}").contains(secret),
        "nor does it get into a log"
    );
}

#[rstest]
#[tokio::test]
async fn what_nobody_made_is_unknown(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    for shown in [
        "",
        "vk_",
        "vk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "\u{0}",
        "é",
    ] {
        assert!(
            matches!(
                fixture.store.authenticate(shown).await.unwrap(),
                Authentication::Unknown
            ),
            "{shown}"
        );
    }
}

#[rstest]
#[tokio::test]
async fn a_revoked_key_is_refused_at_once(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let (clinic, other) = fixture.two_organizations().await;
    let owner = KeyOwner::Organization;
    let issued = fixture
        .store
        .create_key(clinic, owner, None, PlainKey::Random)
        .await
        .unwrap()
        .unwrap();
    let secret = issued.secret.expose_secret();
    known(&fixture.store, secret).await;

    assert!(
        !fixture
            .store
            .revoke_key(other, owner, issued.key.id)
            .await
            .unwrap(),
        "not by somebody else"
    );
    known(&fixture.store, secret).await;
    assert!(
        fixture
            .store
            .revoke_key(clinic, owner, issued.key.id)
            .await
            .unwrap()
    );
    assert!(matches!(
        fixture.store.authenticate(secret).await.unwrap(),
        Authentication::Revoked
    ));
    assert!(
        !fixture
            .store
            .revoke_key(clinic, owner, issued.key.id)
            .await
            .unwrap(),
        "only once"
    );
    assert_eq!(
        fixture
            .store
            .key(clinic, owner, issued.key.id)
            .await
            .unwrap(),
        None
    );
}

#[rstest]
#[tokio::test]
async fn a_run_token_ends_with_its_time_or_with_its_run(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let organization = fixture.organization("Clinic").await;
    let run: RunId = fixture.store.fresh_id();
    let issued = fixture
        .store
        .issue_run_token(organization, run, START.plus(Duration::from_secs(60)))
        .await
        .unwrap();
    let secret = issued.secret.expose_secret();
    assert!(secret.starts_with("vrl_run_"));
    assert_eq!(known(&fixture.store, secret).await.who, Who::Run(run));
    fixture.clock.advance(Duration::from_secs(60));
    assert!(matches!(
        fixture.store.authenticate(secret).await.unwrap(),
        Authentication::Expired
    ));

    let later = fixture.clock_end();
    let second = fixture
        .store
        .issue_run_token(organization, run, later)
        .await
        .unwrap();
    known(&fixture.store, second.secret.expose_secret()).await;
    fixture.store.revoke_run_tokens(run).await.unwrap();
    let shown = fixture
        .store
        .authenticate(second.secret.expose_secret())
        .await
        .unwrap();
    assert!(matches!(shown, Authentication::Revoked));
}

impl Fixture {
    fn clock_end(&self) -> proctor_core::time::Timestamp {
        self.store.now().plus(Duration::from_secs(3600))
    }
}

#[rstest]
#[tokio::test]
async fn keys_are_listed_for_their_owner_only(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let solver = store
        .create_solver(clinic, profile("ada"))
        .await
        .unwrap()
        .id;
    let of_solver = KeyOwner::Solver(solver);
    let own = store
        .create_key(clinic, KeyOwner::Organization, None, PlainKey::Random)
        .await
        .unwrap()
        .unwrap();
    let solvers = store
        .create_key(clinic, of_solver, None, PlainKey::Random)
        .await
        .unwrap()
        .unwrap();
    assert!(solvers.secret.expose_secret().starts_with("vrl_slv_"));
    assert_eq!(
        known(store, solvers.secret.expose_secret()).await.who,
        Who::Solver(solver)
    );

    let page = PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: true,
    };
    assert_eq!(
        store
            .keys(clinic, KeyOwner::Organization, page)
            .await
            .unwrap()
            .items,
        [own.key]
    );
    assert_eq!(
        store.keys(clinic, of_solver, page).await.unwrap().items,
        std::slice::from_ref(&solvers.key)
    );
    assert_eq!(
        store.keys(other, of_solver, page).await.unwrap().total,
        Some(0)
    );
    assert_eq!(
        store.key(clinic, of_solver, solvers.key.id).await.unwrap(),
        Some(solvers.key.clone())
    );
    assert_eq!(
        store.key(other, of_solver, solvers.key.id).await.unwrap(),
        None
    );
    assert_eq!(
        store
            .key(clinic, KeyOwner::Organization, solvers.key.id)
            .await
            .unwrap(),
        None
    );
    let nobody = KeyOwner::Solver(store.fresh_id::<SolverKind>());
    assert!(
        store
            .create_key(clinic, nobody, None, PlainKey::Random)
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        store
            .create_key(other, of_solver, None, PlainKey::Random)
            .await
            .unwrap()
            .is_none()
    );

    assert!(store.delete_solver(clinic, solver).await.unwrap());
    let shown = store
        .authenticate(solvers.secret.expose_secret())
        .await
        .unwrap();
    assert!(
        matches!(shown, Authentication::Revoked),
        "a Solver's keys go with it"
    );
}
