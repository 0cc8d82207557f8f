//! Snapshots of boxes with few and with many files, and boxes on them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proctor_devbox::{
    Backend, Base, Devbox, ExecSpec, LayerId, Limits, SnapshotWay, local::LocalBackend,
};
use proctor_testkit::figures::{Times, line};

use super::{box_id, exec_id, run, spec};

/// How often each figure is taken.
const ROUNDS: usize = 7;
/// For the kernel to be done with what went before.
const PAUSE: Duration = Duration::from_millis(150);

pub(crate) async fn measure(backend: &LocalBackend) {
    // Nothing is removed before everything is measured: some file systems pass over the inodes of what was removed in the last minutes
    // whenever they make a file, and that is not what a snapshot costs.
    let (mut boxes, mut layers) = (Vec::new(), Vec::new());
    for files in [10, 1000, 10_000] {
        let (mut idle, mut restored, mut busy) =
            (Times::default(), Times::default(), Times::default());
        for round in 0..ROUNDS {
            let name = |what: &str| format!("{what}-{files}-{round}");
            let devbox = with_files(backend, &name("idle"), files).await;
            let layer = LayerId::new(name("l-idle")).unwrap();
            // Few files are sooner copied than the box's world is made anew.
            let way = match files {
                10 => SnapshotWay::Copied,
                _ => SnapshotWay::Renamed,
            };
            take(&devbox, &layer, way, &mut idle).await;
            let on_it = name("restored");
            restored.measure(|| start_on(backend, &on_it, &layer)).await;
            layers.push(layer);

            let devbox = with_files(backend, &name("busy"), files).await;
            let layer = LayerId::new(name("l-busy")).unwrap();
            let sleeper = ExecSpec::new(exec_id(1), ["sleep", "600"]);
            devbox.exec(sleeper).await.unwrap();
            take(&devbox, &layer, SnapshotWay::Copied, &mut busy).await;
            layers.push(layer);
            for what in ["idle", "restored", "busy"] {
                let devbox = backend.open(&box_id(&name(what))).await.unwrap();
                devbox.stop().await.unwrap();
                boxes.push(devbox);
            }
        }
        line(
            &format!("snapshot of an idle box with {files} files"),
            &idle.to_string(),
        );
        line(
            &format!("box on that snapshot, first exec done, {files} files"),
            &restored.to_string(),
        );
        line(
            &format!("snapshot of a busy box with {files} files"),
            &busy.to_string(),
        );
    }
    for devbox in boxes {
        devbox.destroy().await.unwrap();
    }
    // The newest first: a layer needs those that it stands on.
    for layer in layers.iter().rev() {
        backend.delete_layer(layer).await.unwrap();
    }
}

async fn with_files(backend: &LocalBackend, name: &str, files: usize) -> Arc<dyn Devbox> {
    let devbox = backend.create(spec(name, Limits::default())).await.unwrap();
    devbox.start().await.unwrap();
    let script = format!("mkdir /root/f; cd /root/f; seq {files} | split -l 1 -a 5 -");
    let made = devbox.exec(ExecSpec::shell(exec_id(0), script)).await;
    assert!(made.unwrap().wait().await.unwrap().success());
    tokio::time::sleep(PAUSE).await;
    devbox
}

async fn take(devbox: &Arc<dyn Devbox>, layer: &LayerId, way: SnapshotWay, times: &mut Times) {
    times
        .measure(|| async {
            let taken = devbox.snapshot(layer.clone(), BTreeMap::new()).await;
            assert_eq!(taken.unwrap().way, way);
        })
        .await;
}

async fn start_on(backend: &LocalBackend, name: &str, layer: &LayerId) {
    let mut restored = spec(name, Limits::default());
    restored.base = Base::Layer(layer.clone());
    let restored = backend.create(restored).await.unwrap();
    restored.start().await.unwrap();
    run(&restored, 0).await;
}
