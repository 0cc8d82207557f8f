//! What boxes cost, each figure beside something measured in turn with it in the same run:
//! `cargo bench -p proctor-devbox [cycle] [exec] [disk] [many]`.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod beside;
mod disk;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use proctor_devbox::{
    Backend, Base, BoxId, BoxSpec, Devbox, ExecId, ExecSpec, Limits,
    local::{LocalBackend, LocalConfig},
};
use proctor_testkit::figures::{self, Parts, Times, line};

/// What the devbox's API sets for a small box.
const LIMITS: Limits = Limits {
    cpu_millis: Some(1000),
    memory_bytes: Some(2 << 30),
    pids: Some(1000),
    disk_bytes: None,
    disk_files: None,
    open_files: Some(4096),
};

fn main() {
    let parts = Parts::wanted();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let data = tempfile::Builder::new()
            .prefix("proctor-bench")
            .tempdir_in("/var/tmp")
            .unwrap();
        let backend = Arc::new(LocalBackend::open(LocalConfig::new(data.path())).unwrap());
        if parts.include("cycle") {
            cycle(&backend, data.path()).await;
        }
        if parts.include("exec") {
            exec(&backend).await;
        }
        if parts.include("disk") {
            disk::measure(&backend).await;
        }
        if parts.include("many") {
            many(&backend).await;
        }
        backend.drain().await;
    });
}

/// Names that no earlier run had: file systems choose by its name where on the disk a box goes, and a place where much was just removed is
/// a slow one.
fn box_id(name: &str) -> BoxId {
    BoxId::new(format!("{name}-{}", std::process::id())).unwrap()
}

fn spec(name: &str, limits: Limits) -> BoxSpec {
    let mut spec = BoxSpec::new(box_id(name), Base::Host);
    spec.limits = limits;
    spec
}

fn exec_id(number: usize) -> ExecId {
    ExecId::new(format!("e{number}")).unwrap()
}

async fn run(devbox: &Arc<dyn Devbox>, number: usize) {
    let exit = devbox
        .exec(ExecSpec::new(exec_id(number), ["/bin/true"]))
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    assert!(exit.success());
}

async fn one_cycle(backend: &LocalBackend, name: String, limits: Limits) {
    let devbox = backend.create(spec(&name, limits)).await.unwrap();
    devbox.start().await.unwrap();
    run(&devbox, 0).await;
    devbox.destroy().await.unwrap();
}

/// Create, start, run `/bin/true`, destroy; in turn with bwrap on an overlay and with a bare program.
async fn cycle(backend: &Arc<LocalBackend>, data: &Path) {
    const ROUNDS: usize = 150;
    let (mut bare, mut plain, mut limited, mut first, mut bwrap) = (
        Times::default(),
        Times::default(),
        Times::default(),
        Times::default(),
        Times::default(),
    );
    let compare = beside::has_bwrap();
    for round in 0..ROUNDS {
        bare.measure(beside::bare).await;
        plain
            .measure(|| one_cycle(backend, format!("plain-{round}"), Limits::default()))
            .await;
        limited
            .measure(|| one_cycle(backend, format!("limited-{round}"), LIMITS))
            .await;
        if compare {
            bwrap.measure(|| beside::bwrap(data, round)).await;
        }
        let begun = Instant::now();
        let name = format!("first-{round}");
        let devbox = backend.create(spec(&name, LIMITS)).await.unwrap();
        devbox.start().await.unwrap();
        run(&devbox, 0).await;
        first.push(begun.elapsed());
        devbox.destroy().await.unwrap();
    }
    line("fork + exec alone", &bare.to_string());
    line("box: create, start, true, destroy", &plain.to_string());
    line(
        "the same with processor, memory and process limits",
        &limited.to_string(),
    );
    line(
        "box with limits: create to first exec done",
        &first.to_string(),
    );
    if compare {
        line(
            "bwrap on an overlay, all namespaces, no limits",
            &bwrap.to_string(),
        );
        line(
            "box : bwrap, median",
            &format!("{:.2} ×", plain.median() / bwrap.median()),
        );
        line(
            "box with limits : bwrap, median",
            &format!("{:.2} ×", limited.median() / bwrap.median()),
        );
    }

    for (what, limits) in [
        ("without limits", Limits::default()),
        ("with limits", LIMITS),
    ] {
        let (workers, rounds) = (4, 400);
        let next = Arc::new(AtomicUsize::new(0));
        let begun = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..workers {
            let (backend, next) = (Arc::clone(backend), Arc::clone(&next));
            tasks.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= rounds {
                        break;
                    }
                    one_cycle(&backend, format!("many-{number}"), limits).await;
                }
            });
        }
        tasks.join_all().await;
        let rate = f64::from(rounds as u32) / begun.elapsed().as_secs_f64();
        line(
            &format!("boxes per second {what}, {workers} at a time"),
            &format!("{rate:.0}/s"),
        );
    }
}

/// A program in a running box, in turn with the same program outside.
async fn exec(backend: &LocalBackend) {
    let devbox = backend.create(spec("exec", LIMITS)).await.unwrap();
    devbox.start().await.unwrap();
    let (mut bare, mut inside) = (Times::default(), Times::default());
    for round in 0..400 {
        bare.measure(beside::bare).await;
        inside.measure(|| run(&devbox, round)).await;
    }
    line("exec in a running box", &inside.to_string());
    line(
        "exec in a box : fork + exec, median",
        &format!("{:.2} ×", inside.median() / bare.median()),
    );
    let mut stills = Times::default();
    let still = devbox
        .exec(ExecSpec::new(exec_id(9999), ["sleep", "600"]))
        .await
        .unwrap();
    for _ in 0..100 {
        stills
            .measure(|| async {
                devbox.suspend().await.unwrap();
                devbox.resume().await.unwrap();
            })
            .await;
    }
    line("suspend and resume", &stills.to_string());
    still.kill().await.unwrap();
    devbox.destroy().await.unwrap();
}

/// Many boxes at once: how fast they come up, what an idle one costs.
async fn many(backend: &Arc<LocalBackend>) {
    const BOXES: usize = 500;
    let before = figures::available_memory();
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..4 {
        let backend = Arc::clone(backend);
        tasks.spawn(async move {
            for number in (worker..BOXES).step_by(4) {
                let devbox = backend
                    .create(spec(&format!("idle-{number}"), LIMITS))
                    .await
                    .unwrap();
                devbox.start().await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let up = begun.elapsed();
    line(
        &format!("{BOXES} boxes up"),
        &format!(
            "{:.2} s, {:.2} ms each",
            up.as_secs_f64(),
            up.as_secs_f64() * 1e3 / BOXES as f64
        ),
    );
    tokio::time::sleep(Duration::from_millis(500)).await;
    line(
        "memory per idle box, proportional set size",
        &figures::kilobytes(
            figures::shared_memory(|name| matches!(name, "proctor-box" | "box")) / BOXES as u64,
        ),
    );
    let kernel = before.saturating_sub(figures::available_memory()) / BOXES as u64;
    line(
        "memory per idle box, as the machine's available memory shrank",
        &figures::kilobytes(kernel),
    );
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..4 {
        let backend = Arc::clone(backend);
        tasks.spawn(async move {
            for number in (worker..BOXES).step_by(4) {
                let id = box_id(&format!("idle-{number}"));
                let devbox = backend.open(&id).await.unwrap();
                run(&devbox, 0).await;
                devbox.destroy().await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    line(
        &format!("exec in each of {BOXES} and destroy"),
        &format!("{:.2} s", begun.elapsed().as_secs_f64()),
    );
}
