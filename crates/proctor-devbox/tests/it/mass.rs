//! Many boxes: made and destroyed while their server is killed again and again, and alive at the same time.
//!
//! The numbers are small by default and given by variables for a run by hand:
//! `PROCTOR_MASS_BOXES=1000 PROCTOR_MASS_KILLS=50 PROCTOR_MASS_ALIVE=500`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use proctor_devbox::{
    Backend, Base, BoxId, BoxSpec, Devbox, EgressPolicy, Error, ExecId, ExecSpec, LayerId, Limits,
    Network, Property, Shared,
    local::{LocalBackend, LocalConfig},
};
use proctor_testkit::{
    eventually_seen,
    traces::{files, traces},
};

use crate::support::{EVERY_LIMIT, output};

const DATA: &str = "PROCTOR_TEST_MASS_DATA";
const PREFIX: &str = "PROCTOR_TEST_MASS_PREFIX";
/// How many boxes a server works on at once.
const WORKERS: usize = 4;

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn spec(id: &str, limits: Limits) -> BoxSpec {
    let mut spec = BoxSpec::new(BoxId::new(id).unwrap(), Base::Host);
    spec.limits = limits;
    spec
}

fn shell(id: &str, script: &str) -> ExecSpec {
    ExecSpec::shell(ExecId::new(id).unwrap(), script)
}

/// The whole life of a box, a little different each time.
async fn live(backend: &dyn Backend, id: &str, turn: u32) {
    let limits = if turn.is_multiple_of(2) {
        EVERY_LIMIT
    } else {
        Limits::default()
    };
    let mut spec = spec(id, limits);
    if turn % 3 == 1 {
        spec.network = Network::Allow(EgressPolicy::default());
    }
    if turn % 4 == 2 {
        spec.read_only = vec![Shared {
            host: "/usr/share".into(),
            at: "/host/share".to_owned(),
        }];
    }
    if turn % 8 == 6 && rustix::process::geteuid().is_root() {
        spec.require = vec![Property::ExactDisk];
    }
    let devbox = match backend.create(spec.clone()).await {
        Err(Error::Unsupported { .. }) => {
            spec.require.clear();
            backend.create(spec).await.unwrap()
        }
        other => other.unwrap(),
    };
    devbox.start().await.unwrap();
    let script = "echo $$ > /tmp/f; (setsid sleep 8888 &); echo hello";
    let hello = devbox.exec(shell("hello", script)).await.unwrap();
    assert_eq!(hello.wait().await.unwrap().code, Some(0));
    assert_eq!(output(&hello).await, "hello\n");
    match turn % 5 {
        0 => drop(devbox.exec(shell("busy", "sleep 8888")).await.unwrap()),
        1 => {
            let layer = LayerId::new(format!("layer-{id}")).unwrap();
            devbox
                .snapshot(layer.clone(), BTreeMap::new())
                .await
                .unwrap();
            devbox.destroy().await.unwrap();
            backend.delete_layer(&layer).await.unwrap();
        }
        2 => devbox.suspend().await.unwrap(),
        3 => devbox.stop().await.unwrap(),
        _ => {}
    }
    devbox.destroy().await.unwrap();
}

/// Not a test of its own: the server process that the test below kills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test below in a process of its own"]
async fn server() {
    let data = std::env::var(DATA).unwrap();
    let prefix = std::env::var(PREFIX).unwrap();
    let backend = LocalBackend::open(LocalConfig::new(Path::new(&data))).unwrap();
    // It owns nothing yet: what the one before left is destroyed.
    clear(&backend).await;
    println!("up");
    let turn = AtomicU32::new(0);
    let work = || async {
        loop {
            let turn = turn.fetch_add(1, Ordering::Relaxed);
            live(
                &backend,
                &format!("{prefix}{}-{turn}", std::process::id()),
                turn,
            )
            .await;
            println!("lived");
        }
    };
    tokio::join!(work(), work(), work(), work());
}

async fn clear(backend: &LocalBackend) {
    backend.sweep(&BTreeSet::new()).await.unwrap();
    for layer in backend.layers().await.unwrap() {
        backend.delete_layer(&layer.id).await.unwrap();
    }
}

/// Lets a server work until `wanted` boxes have lived, and kills it in the middle of the next ones.
fn serve_and_kill(data: &Path, prefix: &str, wanted: u32) -> u32 {
    let mut server: Child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mass::server", "--ignored", "--nocapture"])
        .env(DATA, data)
        .env(PREFIX, prefix)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let lived = lines
        .map_while(Result::ok)
        .filter(|line| line.contains("lived"))
        .take(wanted as usize)
        .count();
    server.kill().unwrap();
    server.wait().unwrap();
    u32::try_from(lived).unwrap()
}

/// A backend's directory once everything that stays is there: one box has lived and gone.
async fn settle(data: &Path) {
    let backend = LocalBackend::open(LocalConfig::new(data)).unwrap();
    live(&backend, "first", 4).await;
    clear(&backend).await;
    backend.drain().await;
}

/// What a dead server had just ordered may come up, find that nobody wants it, and end.
async fn no_traces_in_the_end(data: &Path, prefix: &str) {
    eventually_seen("nothing is left of the boxes", async || {
        let left = traces(data, prefix);
        if left.is_empty() {
            Ok(())
        } else {
            Err(left.join(", "))
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_many_boxes_whose_server_is_killed_again_and_again() {
    let boxes = number("PROCTOR_MASS_BOXES", 60);
    let kills = number("PROCTOR_MASS_KILLS", 3).max(1);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().canonicalize().unwrap();
    settle(&data).await;
    let before = files(&data);
    let prefix = format!("killed-{}-", std::process::id());
    assert_eq!(traces(&data, &prefix), Vec::<String>::new());

    let began = Instant::now();
    let mut lived = 0;
    for kill in 0..kills {
        let wanted = (boxes - lived).div_ceil(kills - kill).max(1);
        let (path, prefix) = (data.clone(), prefix.clone());
        let done = tokio::task::spawn_blocking(move || serve_and_kill(&path, &prefix, wanted));
        let done = done.await.unwrap();
        assert_eq!(done, wanted, "a server ended before it was killed");
        lived += done;
    }
    let backend = LocalBackend::open(LocalConfig::new(&data)).unwrap();
    clear(&backend).await;
    backend.drain().await;
    drop(backend);
    eprintln!(
        "{lived} boxes lived, {WORKERS} at a time, their server was killed {kills} times: {:.1} s",
        began.elapsed().as_secs_f64()
    );
    no_traces_in_the_end(&data, &prefix).await;
    assert_eq!(files(&data), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_boxes_are_alive_at_once_and_every_one_works() {
    let alive = number("PROCTOR_MASS_ALIVE", 30);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().canonicalize().unwrap();
    settle(&data).await;
    let before = files(&data);
    let backend = LocalBackend::open(LocalConfig::new(&data)).unwrap();
    let prefix = format!("alive-{}-", std::process::id());
    let began = Instant::now();
    let mut boxes: Vec<Arc<dyn Devbox>> = Vec::new();
    let next = AtomicU32::new(0);
    let start = || async {
        let mut made = Vec::new();
        loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            if turn >= alive {
                return made;
            }
            let devbox = backend
                .create(spec(&format!("{prefix}{turn}"), EVERY_LIMIT))
                .await
                .unwrap();
            devbox.start().await.unwrap();
            devbox.exec(shell("stay", "sleep 8888")).await.unwrap();
            made.push(devbox);
        }
    };
    let (one, two, three, four) = tokio::join!(start(), start(), start(), start());
    for made in [one, two, three, four] {
        boxes.extend(made);
    }
    let up = began.elapsed();
    let listed = backend.list().await.unwrap();
    assert_eq!(listed.len(), alive as usize);
    for devbox in &boxes {
        let hello = devbox
            .exec(shell("hello", "cat /proc/sys/kernel/hostname"))
            .await
            .unwrap();
        assert_eq!(hello.wait().await.unwrap().code, Some(0));
        assert_eq!(output(&hello).await.trim(), devbox.id().as_str());
    }
    let used = began.elapsed();
    for devbox in boxes {
        devbox.destroy().await.unwrap();
    }
    clear(&backend).await;
    backend.drain().await;
    drop(backend);
    eprintln!(
        "{alive} boxes up after {:.1} s, all used after {:.1} s, all gone after {:.1} s",
        up.as_secs_f64(),
        used.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    no_traces_in_the_end(&data, &prefix).await;
    assert_eq!(files(&data), before);
}
