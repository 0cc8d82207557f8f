//! Builds the program behind boxes, `proctor-supervisor`, which this crate carries: whoever uses the crate needs no second file beside their own
//! program.
//!
//! It is built on its own and with a profile of its own, whatever this crate is built for: what is tested is what is shipped.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const PROGRAM: &str = "proctor-supervisor";

fn main() {
    let workspace = Path::new("../..");
    let crates = ["../proctor-supervisor", "../proctor-devbox-types"];
    let sources = ["build.rs"].into_iter().chain(crates).map(PathBuf::from);
    let settings = ["Cargo.toml", "Cargo.lock"].map(|file| workspace.join(file));
    for path in sources.chain(settings) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let given = |name| env::var(name).unwrap_or_else(|_| panic!("cargo says what {name} is"));
    let (out, target) = (PathBuf::from(given("OUT_DIR")), given("TARGET"));
    let directory = directory_for(&out);
    let built = Command::new(given("CARGO"))
        // By the lock of this workspace, whatever the outer build goes by. What it needs has been fetched for this crate, as a rule.
        .args(["build", "--locked", "--profile", "supervisor"])
        .args(["--package", PROGRAM, "--bin", PROGRAM])
        .args(["--target", &target, "--target-dir"])
        .arg(&directory)
        // It is not what is being linted.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status();
    let is_built = built.as_ref().is_ok_and(|status| status.success());
    assert!(is_built, "{PROGRAM} cannot be built: {built:?}");
    let program = directory.join(target).join("supervisor").join(PROGRAM);
    fs::copy(program, out.join(PROGRAM)).expect("what was built is there");
}

/// Where it is built: in a directory of its own, because the one of whoever builds this is locked, but beside all else of the same profile. Linting,
/// checking and testing run this program with an `OUT_DIR` each, and all carry the same supervisor. Several builds there wait for each other by cargo's lock.
fn directory_for(out: &Path) -> PathBuf {
    // target/PROFILE/build/PACKAGE-HASH/out, unless cargo has other habits by then.
    let profile = out
        .ancestors()
        .nth(2)
        .filter(|build| build.file_name() == Some("build".as_ref()))
        .and_then(Path::parent);
    match profile {
        Some(profile) => profile.join("supervisor"),
        None => out.join("target"),
    }
}
