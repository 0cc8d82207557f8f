//! Bases made of packages, with a program in the place of the one that installs them.

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

use proctor_images::{Import, make::Maker};

use crate::support::{Layer, Sample, Shelf, listing};

/// A program that makes a small system which says that it is this release.
fn installer(shelf: &Shelf, id: &str, version: &str, python: &str) -> PathBuf {
    let path = shelf.path("debootstrap");
    let script = format!(
        "#!/bin/sh\nset -e\necho \"I: $*\"\nfor last; do case $last in /*) root=$last;; esac; done\n\
         mkdir -p \"$root/etc\" \"$root/usr/bin\" \"$root/usr/share/doc/x\" \"$root/var/cache/apt/archives\"\n\
         printf 'ID={id}\\nVERSION_ID=\"{version}\"\\n' > \"$root/etc/os-release\"\n\
         case $* in *python3*) echo x > \"$root/usr/bin/python{python}\";; esac\n\
         echo x > \"$root/usr/share/doc/x/y\"; echo x > \"$root/var/cache/apt/archives/p.deb\"\n"
    );
    fs_err::write(&path, script).unwrap();
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs_err::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_base_is_made_only_under_a_name_that_is_true() {
    let shelf = Shelf::open();
    let said = std::sync::Mutex::new(Vec::new());
    let progress = |line: String| said.lock().unwrap().push(line);
    let maker = Maker {
        debootstrap: installer(&shelf, "debian", "12", "3.11"),
        ..Maker::default()
    };
    let make = |name: &str, maker: &Maker| shelf.images.make(name, maker, &progress);
    if !is_root() {
        let refused = make("debian:12", &maker).unwrap_err().to_string();
        assert!(refused.contains("only root"), "{refused}");
        return;
    }
    let made = make("debian:12-slim", &maker).unwrap();
    assert_eq!(made.name.to_string(), "debian:12-slim");
    let seen = listing(&made.image.root);
    assert!(seen.contains(&"0 etc/os-release".to_owned()), "{seen:?}");
    assert!(
        !seen
            .iter()
            .any(|line| line.contains("p.deb") || line.contains("doc/x")),
        "{seen:?}"
    );
    assert!(
        said.lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("--variant=minbase bookworm"))
    );
    let made = make("python:3.11", &maker).unwrap();
    assert!(listing(&made.image.root).contains(&"0 usr/bin/python3.11".to_owned()));
    for (name, part) in [
        ("python:3.12", "has Python 3.11"),
        ("ubuntu:24.04", "mirror"),
        ("debian:13", "debian 12, not debian 13"),
        ("alpine:3", "not known"),
        ("python:3.12-alpine", "not known"),
    ] {
        let refused = make(name, &maker).unwrap_err().to_string();
        assert!(refused.contains(part), "{name}: {refused}");
        assert!(shelf.images.find(name).unwrap().is_none(), "{name}");
    }
    let maker = Maker {
        debootstrap: "/no/such/program".into(),
        ..Maker::default()
    };
    let refused = make("debian:12", &maker).unwrap_err().to_string();
    assert!(
        refused.contains("no program '/no/such/program'"),
        "{refused}"
    );
    let maker = Maker {
        debootstrap: installer(&shelf, "ubuntu", "24.04", "3.12"),
        mirrors: [(
            "ubuntu".to_owned(),
            "http://mirror.example/ubuntu".to_owned(),
        )]
        .into(),
        ..Maker::default()
    };
    make("ubuntu:24.04", &maker).unwrap();
    assert!(
        said.lock()
            .unwrap()
            .iter()
            .any(|line| line.ends_with("http://mirror.example/ubuntu"))
    );
}

#[test]
fn an_interpreter_of_the_right_version_is_added_to_a_base_that_is_here() {
    let shelf = Shelf::open();
    let base = Layer::new()
        .file("etc/os-release", "ID=debian\n")
        .symlink("bin", "usr/bin")
        .file("usr/bin/sh", "x");
    Sample::of(vec![base.done()]).layout(&shelf.path("l"), "debian:12");
    shelf
        .images
        .import(&shelf.path("l"), &Import::default())
        .unwrap();
    let python = shelf.path("python");
    for directory in ["bin", "lib/python3.12"] {
        fs_err::create_dir_all(python.join(directory)).unwrap();
    }
    fs_err::write(python.join("bin/python3.12"), "ELF").unwrap();
    fs_err::write(python.join("lib/python3.12/os.py"), "").unwrap();
    fs_err::write(python.join("lib/libpython3.12.so.1.0"), "ELF").unwrap();
    std::os::unix::fs::symlink("python3.12", python.join("bin/python3")).unwrap();
    let place = fs_err::canonicalize(&python).unwrap();
    let script = format!("#!{}/bin/python3.12 -I\nprint(1)\n", place.display());
    fs_err::write(python.join("bin/pip"), script).unwrap();
    let maker = Maker {
        debootstrap: "/no/such/program".into(),
        python: Some(python),
        ..Maker::default()
    };
    let made = shelf
        .images
        .make("python:3.12-bookworm", &maker, &|_| {})
        .unwrap();
    let root = &made.image.root;
    let pip = fs_err::read_to_string(root.join("usr/local/bin/pip")).unwrap();
    assert_eq!(pip, "#!/usr/local/bin/python3.12\nprint(1)\n");
    let seen = listing(root);
    for line in [
        "2 usr/local/bin/python -> python3",
        "2 usr/local/bin/python3 -> python3.12",
        "0 usr/local/lib/python3.12/os.py",
        "2 bin -> usr/bin",
        // Where the loader finds it.
        "2 usr/lib/libpython3.12.so.1.0 -> /usr/local/lib/libpython3.12.so.1.0",
    ] {
        assert!(seen.contains(&line.to_owned()), "{line} in {seen:?}");
    }
    assert!(
        made.image
            .config
            .config
            .env
            .contains(&"LANG=C.UTF-8".to_owned())
    );
    let refused = shelf
        .images
        .make("python:3.13-bookworm", &maker, &|_| {})
        .unwrap_err();
    assert!(refused.to_string().contains("no Python 3.13"), "{refused}");
    assert!(shelf.images.make("debian:12", &maker, &|_| {}).is_err());
}
