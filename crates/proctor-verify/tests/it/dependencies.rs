//! What the crate is made of: checks are pure, so nothing below them is a database or a server.

use std::{env, process::Command};

/// What none of the pure crates may depend on, directly or not.
const BANNED: [&str; 8] = [
    "axum",
    "hyper",
    "libsqlite3-sys",
    "proctor-playground",
    "proctor-store",
    "rusqlite",
    "sqlx",
    "tokio",
];

#[test]
fn neither_checks_nor_simulators_need_a_database_or_a_server() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--package", "proctor-verify", "--edges", "normal"])
        .args([
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--offline",
            "--locked",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    let tree = String::from_utf8(tree.stdout).unwrap();
    let names: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    for simulators in ["proctor-fhir-store", "proctor-office", "proctor-payer"] {
        assert!(names.contains(&simulators), "{simulators}");
    }
    for banned in BANNED {
        assert!(!names.contains(&banned), "{banned}");
    }
}
