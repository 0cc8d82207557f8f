//! Nothing is left: processes, mounts, control groups, directories.

use std::{collections::BTreeMap, sync::Arc};

use proctor_devbox::{
    Base, BoxId, BoxSpec, Devbox, Error, ExecId, ExecSpec, LayerId, Property, User,
    conformance::Subject as _,
};
use proctor_testkit::{
    eventually,
    traces::{loop_files, traces},
};

use crate::support::{EVERY_LIMIT, Local, sh};

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
    assert_eq!(traces(&data, "destroyed-"), Vec::<String>::new());
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
    assert_eq!(traces(&data, "orphaned"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_of_its_own_leaves_no_device_behind() {
    let local = Local::new();
    let data = local.directory.path().canonicalize().unwrap();
    let backend = local.backend();
    for turn in 0..3 {
        let mut spec = BoxSpec::new(BoxId::new(format!("exact-{turn}")).unwrap(), Base::Host);
        spec.limits = EVERY_LIMIT;
        spec.require = vec![Property::ExactDisk];
        let devbox = match backend.create(spec).await {
            Ok(devbox) => devbox,
            Err(Error::Unsupported { why, .. }) => {
                eprintln!("skipped: {why}");
                break;
            }
            Err(error) => panic!("{error}"),
        };
        devbox.start().await.unwrap();
        sh(&devbox, "echo x > /root/x; (setsid sleep 7777 &)").await;
        assert_eq!(loop_files(&data).len(), 1);
        if turn == 1 {
            let layer = LayerId::new("of-exact").unwrap();
            devbox.snapshot(layer, BTreeMap::new()).await.unwrap();
        }
        if turn == 2 {
            // Its supervisor is killed: everything goes with it.
            let lock = data.join("boxes").join(devbox.id().as_str()).join("lock");
            let pid: i32 = fs_err::read_to_string(lock).unwrap().parse().unwrap();
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            devbox.ended().await;
        }
        devbox.destroy().await.unwrap();
        eventually("no file of a disk is in use", async || {
            loop_files(&data).is_empty()
        })
        .await;
    }
    drop(backend);
    local.end().await;
    assert_eq!(traces(&data, "exact-"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_that_is_snapshotted_again_and_again_keeps_everything() {
    let local = Local::new();
    let devbox = local.start("often", EVERY_LIMIT).await;
    // More layers than fit into the options of one mount.
    const TIMES: usize = 100;
    for number in 0..TIMES {
        let (status, said) = sh(
            &devbox,
            &format!("echo {number} > /root/{number}; ls /root | wc -l"),
        )
        .await;
        assert_eq!((status, said), (0, format!("{}\n", number + 1)));
        let layer = LayerId::new(format!("snp_01K000000000000000000000{number:02}")).unwrap();
        devbox.snapshot(layer, BTreeMap::new()).await.unwrap();
    }
    let (_, seen) = sh(&devbox, "cat /root/0 /root/99; ls /root | wc -l").await;
    assert_eq!(seen, "0\n99\n100\n");
    for (top, files) in [(50, 51), (99, 100)] {
        let base =
            Base::Layer(LayerId::new(format!("snp_01K000000000000000000000{top:02}")).unwrap());
        let spec = BoxSpec::new(BoxId::new(format!("on-{top}")).unwrap(), base);
        match local.backend().create(spec).await {
            Ok(restored) => {
                restored.start().await.unwrap();
                let (_, seen) = sh(&restored, "ls /root | wc -l").await;
                assert_eq!(seen, format!("{files}\n"));
            }
            // Older kernels take fewer layers, and the message says so.
            Err(Error::Invalid(why)) => assert!(why.contains("can stand on"), "{why}"),
            Err(other) => panic!("{other}"),
        }
    }
    local.end().await;
}
