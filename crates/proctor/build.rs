//! Two things: facts about the build for `proctor --version`, and a smaller program.
//!
//! The linker is asked for the compact form of the addresses that are adjusted when the program is loaded. There are some hundred thousand of them. In the usual form their table is several megabytes of the program, all of which is read, and stays in
//! memory, at every start; in the compact form it is a hundredth of that. The C library must know the form, so it is only used where the one of this
//! machine does.

use std::{env, process::Command};

/// The first version of the GNU C library that loads such programs.
const FIRST: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=PROCTOR_BUILD={}", build_facts());
    let is_native = env::var("HOST") == env::var("TARGET");
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|name| name == "gnu");
    if is_native && is_gnu && c_library().is_some_and(|version| version >= FIRST) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// From which commit, with which compiler and for which machine.
fn build_facts() -> String {
    let compiler = env::var("RUSTC").ok();
    let compiler = compiler.and_then(|rustc| told(&rustc, &["--version"]));
    let compiler = compiler.unwrap_or_else(|| "an unknown compiler".to_owned());
    let (profile, target) = (env::var("PROFILE"), env::var("TARGET"));
    let (profile, target) = (profile.unwrap_or_default(), target.unwrap_or_default());
    format!("{}; {profile}, {target}, {compiler}", commit(&profile))
}

/// The commit, in release builds only: who works on the program would compile it again after every commit.
fn commit(profile: &str) -> String {
    println!("cargo::rerun-if-env-changed=PROCTOR_COMMIT");
    // Whoever builds from an archive says it.
    if let Ok(commit) = env::var("PROCTOR_COMMIT") {
        return format!("commit {commit}");
    }
    if profile != "release" {
        return "commit not recorded".to_owned();
    }
    if let Some(head) = told("git", &["rev-parse", "--git-path", "HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    if let Some(branch) = told("git", &["symbolic-ref", "-q", "HEAD"])
        && let Some(branch) = told("git", &["rev-parse", "--git-path", &branch])
    {
        println!("cargo::rerun-if-changed={branch}");
    }
    match told("git", &["log", "-1", "--format=%h of %cs"]) {
        Some(commit) => format!("commit {commit}"),
        None => "commit unknown".to_owned(),
    }
}

/// What a program prints, in one line.
fn told(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

/// The version of this machine's GNU C library.
fn c_library() -> Option<(u32, u32)> {
    let told = told("getconf", &["GNU_LIBC_VERSION"])?;
    let (major, minor) = told.strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
