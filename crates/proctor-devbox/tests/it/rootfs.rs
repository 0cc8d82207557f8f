//! A registered root file system as a base.

use std::{collections::BTreeMap, path::Path, process::Command};

use proctor_devbox::{Base, BaseName, BoxId, BoxSpec, Error, LayerId, conformance::Subject as _};

use crate::support::{Local, sh};

/// A system that can run a shell and a few tools, with the libraries they need and nothing else.
fn small_system(root: &Path) {
    for program in ["/bin/sh", "/bin/cat", "/bin/ls", "/bin/rm"] {
        let libraries = Command::new("ldd").arg(program).output().unwrap();
        let libraries = String::from_utf8(libraries.stdout).unwrap();
        let files = libraries
            .split_whitespace()
            .filter(|word| word.starts_with('/'));
        for file in files.chain([program]) {
            let target = root.join(file.trim_start_matches('/'));
            fs_err::create_dir_all(target.parent().unwrap()).unwrap();
            fs_err::copy(file, target).unwrap();
        }
    }
    fs_err::write(root.join("marker"), "base\n").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_stands_on_a_registered_system_and_never_changes_it() {
    let local = Local::new();
    let system = tempfile::tempdir().unwrap();
    small_system(system.path());
    let backend = local.backend();
    let name = BaseName::new("small").unwrap();
    backend.register_rootfs(&name, system.path()).await.unwrap();
    let start = async |id: &str, base: Base| {
        let devbox = backend
            .create(BoxSpec::new(BoxId::new(id).unwrap(), base))
            .await
            .unwrap();
        devbox.start().await.unwrap();
        devbox
    };
    let devbox = start("on-small", Base::RootFs(name.clone())).await;
    let (status, seen) = sh(&devbox, "cat /marker; ls /; echo new > /added; rm /marker").await;
    assert_eq!(status, 0, "{seen}");
    assert!(
        seen.starts_with("base\n") && !seen.contains("usr"),
        "{seen}"
    );
    assert_eq!(devbox.record().await.unwrap().base_fingerprint, None);
    assert_eq!(
        fs_err::read(system.path().join("marker")).unwrap(),
        b"base\n"
    );
    assert!(!system.path().join("added").exists());

    let layer = LayerId::new("changed").unwrap();
    devbox
        .snapshot(layer.clone(), BTreeMap::new())
        .await
        .unwrap();
    let restored = start("restored", Base::Layer(layer)).await;
    let (_, seen) = sh(&restored, "cat /added; cat /marker").await;
    assert!(
        seen.starts_with("new\n") && seen.contains("No such file"),
        "{seen}"
    );
    let fresh = start("fresh", Base::RootFs(name)).await;
    assert_eq!(sh(&fresh, "cat /marker").await, (0, "base\n".to_owned()));
    drop(backend);
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hosts_root_and_what_is_no_directory_are_refused_as_a_base() {
    let local = Local::new();
    let name = BaseName::new("bad").unwrap();
    for path in ["/", "/etc/passwd", "/../"] {
        let refused = local
            .backend()
            .register_rootfs(&name, Path::new(path))
            .await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{path}");
    }
    assert!(
        local
            .backend()
            .register_rootfs(&name, Path::new("/no/such"))
            .await
            .is_err()
    );
    local.end().await;
}
