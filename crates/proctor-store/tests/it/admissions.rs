use proctor_core::canonical::Digest;
use rstest::rstest;
use serde_json::json;

use crate::fixture::{Fixture, On};

#[rstest]
#[tokio::test]
async fn what_an_admission_found_is_kept_by_digest_and_replaced(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let digest = Digest::of(&json!({"a": 1}));
    assert_eq!(store.admission(&digest).await.unwrap(), None);
    let first = json!({"admitted": false, "problems": ["harm passes"]});
    let second = json!({"admitted": true, "problems": []});
    for certificate in [first, second] {
        store.keep_admission(&digest, &certificate).await.unwrap();
        let kept = store.admission(&digest).await.unwrap().unwrap();
        assert_eq!(kept.certificate, certificate);
    }
}
