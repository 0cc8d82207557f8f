//! Which keys lead where, and until when.

use std::{process::Stdio, time::Duration};

use proctor_core::devbox::{AfterIdle, DevboxSetup, DevboxStatus, IdleAction, LaunchParameters};
use tokio::io::AsyncReadExt as _;

use crate::support::{Key, Place};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_leads_into_its_devbox_and_no_other() {
    let place = Place::open().await;
    let (one, other) = (place.ready().await, place.ready().await);
    for key in [&one, &other] {
        let (status, host, _) = place.run(key, "hostname").await;
        let id = key.devbox.wire(proctor_core::id::Dialect::Runloop);
        assert_eq!((status, host.trim()), (0, id.as_str()));
    }
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_keys_other_users_and_passwords_are_refused() {
    let place = Place::open().await;
    let key = place.ready().await;
    let denied = |said: (i32, String, String)| {
        assert_eq!(said.0, 255, "{said:?}");
        assert!(said.2.contains("Permission denied (publickey)"), "{said:?}");
    };
    let root = Key {
        file: key.file.clone(),
        user: "somebody".to_owned(),
        devbox: key.devbox,
    };
    denied(place.run(&root, "id").await);
    let file = place.file("own");
    let made = tokio::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&file)
        .status();
    assert!(made.await.unwrap().success());
    let unknown = Key {
        file,
        user: key.user.clone(),
        devbox: key.devbox,
    };
    denied(place.run(&unknown, "id").await);
    let mut ssh = place.ssh(&key, &["-o", "PubkeyAuthentication=no"], &["id"]);
    denied(crate::support::told(ssh.output().await.unwrap()));
    assert_eq!(place.run(&key, "echo in").await.1, "in\n");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_devbox_that_ends_ends_its_connections_and_its_keys() {
    let place = Place::open().await;
    let key = place.ready().await;
    let mut ssh = place.ssh(&key, &[], &["echo begun; sleep 1000"]);
    let mut child = ssh.stdin(Stdio::piped()).spawn().unwrap();
    let mut begun = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut begun)
        .await
        .unwrap();
    let ended = place.fleet.shutdown(place.organization, key.devbox);
    ended.await.unwrap();
    let left = tokio::time::timeout(Duration::from_secs(60), child.wait());
    assert_eq!(left.await.unwrap().unwrap().code(), Some(255));
    let said = place.run(&key, "id").await;
    assert!(said.2.contains("Permission denied"), "{said:?}");
    let fingerprint = key.file.file_name().unwrap().to_str().unwrap();
    proctor_testkit::eventually("the key is forgotten", async || {
        let known = place.fleet.store().devbox_of_ssh_key(fingerprint);
        known.await.unwrap().is_none()
    })
    .await;
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_devbox_comes_back_and_one_with_a_visitor_is_not_idle() {
    let place = Place::open().await;
    let setup = DevboxSetup {
        launch: LaunchParameters {
            after_idle: Some(AfterIdle {
                seconds: 60,
                action: IdleAction::Suspend,
            }),
            ..LaunchParameters::default()
        },
        ..DevboxSetup::default()
    };
    let devbox = place.devbox(setup).await;
    let key = place.key(devbox).await;
    let mut ssh = place.ssh(&key, &[], &["echo begun; cat"]);
    let mut child = ssh.stdin(Stdio::piped()).spawn().unwrap();
    let mut begun = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut begun)
        .await
        .unwrap();
    place.clock.advance(Duration::from_secs(61));
    place.fleet.end_what_is_due().await;
    place.reaches(devbox, DevboxStatus::Running).await;
    drop(child.stdin.take());
    assert!(child.wait().await.unwrap().success());
    proctor_testkit::eventually("the devbox is suspended", async || {
        place.clock.advance(Duration::from_secs(61));
        place.fleet.end_what_is_due().await;
        let known = place
            .fleet
            .devbox(place.organization, devbox)
            .await
            .unwrap();
        known.status() == DevboxStatus::Suspended
    })
    .await;
    assert_eq!(place.run(&key, "echo back").await.1, "back\n");
    place.end().await;
}
