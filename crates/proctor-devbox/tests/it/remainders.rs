//! Nothing is left: processes, mounts, control groups, directories.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use proctor_devbox::{Devbox, ExecId, ExecSpec, LayerId, Limits, User, conformance::Subject as _};

use crate::support::{Local, sh};

const EVERY_LIMIT: Limits = Limits {
    cpu_millis: Some(2000),
    memory_bytes: Some(256 << 20),
    pids: Some(100),
    disk_bytes: Some(100 << 20),
    disk_files: Some(10_000),
    open_files: Some(256),
};

/// What belongs to the backend on `data`, or to boxes with that beginning of a name, and can be seen from outside.
fn traces(data: &Path, prefix: &str) -> Vec<String> {
    let data = data.to_str().unwrap();
    let mut traces = Vec::new();
    let mounts = fs_err::read_to_string("/proc/self/mountinfo").unwrap();
    traces.extend(
        mounts
            .lines()
            .filter(|line| line.contains(data))
            .map(str::to_owned),
    );
    let own = std::process::id().to_string();
    for process in fs_err::read_dir("/proc").unwrap().flatten() {
        let name = process.file_name().into_string().unwrap();
        if name == own || name.parse::<u32>().is_err() {
            continue;
        }
        let Ok(fds) = fs_err::read_dir(process.path().join("fd")) else {
            continue;
        };
        for fd in fds.flatten() {
            if fs_err::read_link(fd.path()).is_ok_and(|link| link.to_string_lossy().contains(data))
            {
                traces.push(format!("process {name} has {fd:?}"));
            }
        }
    }
    traces.extend(groups().into_iter().filter(|group| group.contains(prefix)));
    traces
}

/// Every control group below one of ours.
fn groups() -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![Path::new("/sys/fs/cgroup").to_owned()];
    while let Some(directory) = pending.pop() {
        let Ok(entries) = fs_err::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if directory.to_string_lossy().contains("/proctor-") {
                    found.push(entry.path().display().to_string());
                }
                pending.push(entry.path());
            }
        }
    }
    found
}

async fn busy(local: &Local, name: &str) -> Arc<dyn Devbox> {
    let devbox = local.start(name, EVERY_LIMIT).await;
    sh(
        &devbox,
        "mkdir -p /root/a/b; echo x > /root/a/b/c; chmod 000 /root/a; (setsid sleep 7777 &)",
    )
    .await;
    let sleeping = ExecSpec::shell(ExecId::new("sleeping").unwrap(), "sleep 7777");
    devbox.exec(sleeping).await.unwrap();
    devbox
        .write_file("/tmp/f", &User::Root, None, &mut &b"x"[..])
        .await
        .unwrap();
    devbox
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_destroyed_boxes() {
    let local = Local::new();
    let data = local.directory.path().canonicalize().unwrap();
    for number in 0..6 {
        let devbox = busy(&local, &format!("destroyed-{number}")).await;
        match number % 3 {
            0 => devbox.suspend().await.unwrap(),
            1 => drop(
                devbox
                    .snapshot(
                        LayerId::new(format!("layer-{number}")).unwrap(),
                        BTreeMap::new(),
                    )
                    .await
                    .unwrap(),
            ),
            _ => devbox.stop().await.unwrap(),
        }
    }
    let backend = local.backend();
    for record in backend.list().await.unwrap() {
        backend
            .open(&record.spec.id)
            .await
            .unwrap()
            .destroy()
            .await
            .unwrap();
    }
    for layer in backend.layers().await.unwrap() {
        backend.delete_layer(&layer.id).await.unwrap();
    }
    backend.drain().await;
    for directory in ["boxes", "layers", "trash"] {
        let left: Vec<_> = fs_err::read_dir(data.join(directory))
            .unwrap()
            .flatten()
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    drop(backend);
    local.end().await;
    assert_eq!(traces(&data, "/destroyed-"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_supervisor_takes_its_box_along_and_the_rest_is_swept() {
    let local = Local::new();
    let data = local.directory.path().canonicalize().unwrap();
    let devbox = busy(&local, "orphaned").await;
    let lock = data.join("boxes").join(devbox.id().as_str()).join("lock");
    let pid: i32 = fs_err::read_to_string(lock).unwrap().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    devbox.ended().await;
    let sleeping = devbox
        .execution(&ExecId::new("sleeping").unwrap())
        .await
        .unwrap();
    let exit = sleeping.wait().await.unwrap();
    assert_eq!(exit.cause, proctor_devbox::ExitCause::BoxEnded);
    assert_eq!(
        devbox.record().await.unwrap().state,
        proctor_devbox::BoxState::Lost
    );
    // Its disk is still there, and can be used again.
    devbox.start().await.unwrap();
    assert_eq!(sh(&devbox, "cat /tmp/f").await, (0, "x".to_owned()));
    devbox.destroy().await.unwrap();
    local.end().await;
    assert_eq!(traces(&data, "/orphaned"), Vec::<String>::new());
}
