//! `kill -9` of the server: boxes go on, output is not lost, the next server finds everything.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use proctor_devbox::{
    Backend as _, Base, BoxId, BoxSpec, BoxState, ExecId, ExecSpec,
    local::{LocalBackend, LocalConfig},
};
use proctor_testkit::eventually;

use crate::support::{output, sh};

const DATA: &str = "PROCTOR_TEST_CRASH_DATA";

/// Not a test of its own: the server process that the tests below kill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the tests of this module in a process of its own"]
async fn server() {
    let data = std::env::var(DATA).unwrap();
    let backend = LocalBackend::open(LocalConfig::new(Path::new(&data))).unwrap();
    for round in 0.. {
        let id = BoxId::new(format!("box-{}-{round}", std::process::id())).unwrap();
        let devbox = backend.create(BoxSpec::new(id, Base::Host)).await.unwrap();
        devbox.start().await.unwrap();
        let script =
            "n=0; while test $n -lt 300; do n=$((n+1)); echo line $n; sleep 0.002; done; exit 9";
        devbox
            .exec(ExecSpec::shell(ExecId::new("count").unwrap(), script))
            .await
            .unwrap();
        println!("made {round}");
        if round % 2 == 1 {
            devbox
                .snapshot(
                    proctor_devbox::LayerId::new(format!("l-{}-{round}", std::process::id()))
                        .unwrap(),
                    Default::default(),
                )
                .await
                .unwrap();
            devbox.destroy().await.unwrap();
        }
    }
}

/// Starts a server and kills it as soon as it has made `boxes`.
fn crash(data: &Path, boxes: usize) {
    let mut server: Child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashes::server", "--ignored", "--nocapture"])
        .env(DATA, data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let made = lines
        .map_while(Result::ok)
        .filter(|line| line.contains("made"))
        .take(boxes)
        .count();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(made, boxes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_executions_are_followed_again_without_a_byte_lost() {
    let directory = tempfile::tempdir().unwrap();
    crash(directory.path(), 1);
    let backend = LocalBackend::open(LocalConfig::new(directory.path())).unwrap();
    let listed = backend.list().await.unwrap();
    // The server may have begun a second one.
    let first = listed
        .iter()
        .find(|record| record.spec.id.as_str().ends_with("-0"))
        .unwrap();
    assert_eq!(first.state, BoxState::Running);
    let devbox = backend.open(&first.spec.id).await.unwrap();
    let count = devbox
        .execution(&ExecId::new("count").unwrap())
        .await
        .unwrap();
    let exit = count.wait().await.unwrap();
    let expected: String = (1..=300).map(|number| format!("line {number}\n")).collect();
    assert_eq!((exit.code, output(&count).await), (Some(9), expected));
    assert_eq!(sh(&devbox, "echo usable").await, (0, "usable\n".to_owned()));
    backend.sweep(&BTreeSet::new()).await.unwrap();
    backend.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_again_and_again_leaves_nothing_unowned() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..8 {
        crash(directory.path(), 1 + round % 4);
        // The next server owns nothing: what the dead one left is destroyed.
        let backend = LocalBackend::open(LocalConfig::new(directory.path())).unwrap();
        let found = backend.list().await.unwrap();
        let swept = backend.sweep(&BTreeSet::new()).await.unwrap();
        assert_eq!(swept.boxes.len(), found.len());
        for layer in backend.layers().await.unwrap() {
            backend.delete_layer(&layer.id).await.unwrap();
        }
        backend.drain().await;
        for kind in ["boxes", "layers", "trash"] {
            let left: Vec<_> = fs_err::read_dir(directory.path().join(kind))
                .unwrap()
                .flatten()
                .collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_without_a_server_is_suspended_and_then_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = LocalConfig::new(directory.path());
    settings.orphan_freeze = std::time::Duration::from_secs(1);
    settings.orphan_stop = std::time::Duration::from_secs(3);
    let id = BoxId::new("alone").unwrap();
    let backend = LocalBackend::open(settings.clone()).unwrap();
    let devbox = backend
        .create(BoxSpec::new(id.clone(), Base::Host))
        .await
        .unwrap();
    devbox.start().await.unwrap();
    let script = "while :; do echo tick; sleep 0.01; done";
    devbox
        .exec(ExecSpec::shell(ExecId::new("tick").unwrap(), script))
        .await
        .unwrap();
    backend.drain().await;
    drop((devbox, backend));
    let spool = directory.path().join("boxes/alone/exec-tick.stdout");
    let size = || fs_err::metadata(&spool).unwrap().len();
    let control = directory.path().join("boxes/alone/control");
    eventually("a box that nobody comes back to ends", async || {
        !control.exists()
    })
    .await;
    // Suspended after one of three seconds, it wrote for about a third of its life.
    assert!(size() < 5 * 200, "{} bytes", size());
    let backend = LocalBackend::open(settings).unwrap();
    let found = backend.list().await.unwrap();
    assert_eq!(found[0].state, BoxState::Lost);
    backend.sweep(&BTreeSet::new()).await.unwrap();
    backend.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_directory_has_one_server() {
    let directory = tempfile::tempdir().unwrap();
    let backend = LocalBackend::open(LocalConfig::new(directory.path())).unwrap();
    assert!(LocalBackend::open(LocalConfig::new(directory.path())).is_err());
    backend.drain().await;
    drop(backend);
    LocalBackend::open(LocalConfig::new(directory.path())).unwrap();
}
