//! Asks the linker for the compact form of the addresses that are adjusted when the program is loaded.
//!
//! There are some hundred thousand of them. In the usual form their table is several megabytes of the program, all of which is read, and stays in
//! memory, at every start; in the compact form it is a hundredth of that. The C library must know the form, so it is only used where the one of this
//! machine does.

use std::{env, process::Command};

/// The first version of the GNU C library that loads such programs.
const FIRST: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_native = env::var("HOST") == env::var("TARGET");
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|name| name == "gnu");
    if is_native && is_gnu && c_library().is_some_and(|version| version >= FIRST) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's GNU C library.
fn c_library() -> Option<(u32, u32)> {
    let told = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
