//! `proctor image` on a data directory of its own.

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::PROCTOR;

fn image(data: &Path, arguments: &[&str]) -> Output {
    Command::new(PROCTOR)
        .arg("image")
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    let all = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8(all).unwrap()
}

#[test]
fn images_are_imported_listed_exported_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let tree = data.path().join("tree");
    fs_err::create_dir_all(tree.join("bin")).unwrap();
    fs_err::write(tree.join("bin/sh"), "x").unwrap();
    let tar = data.path().join("root.tar");
    let packed = Command::new("tar")
        .args(["-c", "-C"])
        .arg(&tree)
        .arg("-f")
        .arg(&tar)
        .arg(".")
        .status();
    assert!(packed.unwrap().success());
    let tar = tar.to_str().unwrap();

    let unnamed = image(data.path(), &["import", tar]);
    assert_eq!(unnamed.status.code(), Some(2), "{}", told(&unnamed));
    assert!(told(&unnamed).contains("--name"), "{}", told(&unnamed));
    let imported = image(
        data.path(),
        &["import", tar, "--name", "tiny", "--env", "A=1", "--json"],
    );
    assert_eq!(imported.status.code(), Some(0), "{}", told(&imported));
    let view: Value = serde_json::from_slice(&imported.stdout).unwrap();
    assert_eq!(view["name"], "tiny:latest");
    assert_eq!(view["config"]["Env"][0], "A=1");
    let listed = told(&image(data.path(), &["list"]));
    assert!(listed.contains("tiny:latest"), "{listed}");

    let layout = data.path().join("layout");
    let layout = layout.to_str().unwrap();
    let exported = image(data.path(), &["export", "tiny", layout]);
    assert_eq!(exported.status.code(), Some(0), "{}", told(&exported));
    let removed = image(data.path(), &["remove", "tiny"]);
    assert_eq!(told(&removed), "removed the image tiny\n");
    let gone = image(data.path(), &["remove", "tiny"]);
    assert_eq!(gone.status.code(), Some(2), "{}", told(&gone));
    let again = image(data.path(), &["import", layout]);
    assert_eq!(again.status.code(), Some(0), "{}", told(&again));
}

#[test]
fn nothing_is_pulled_or_made_that_was_not_allowed() {
    let data = tempfile::tempdir().unwrap();
    let refused = image(data.path(), &["pull", "python:3.12-slim"]);
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    assert!(
        told(&refused).contains("image-registries"),
        "{}",
        told(&refused)
    );
    let refused = image(data.path(), &["make", "alpine:3"]);
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    let refused = image(data.path(), &["pull", "x", "--registry", "ftp://a"]);
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
}
