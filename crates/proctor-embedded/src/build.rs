//! Building a program from the build script of the crate that carries it.
//!
//! It is built on its own and with a profile of its own, whatever the crate is built for: what is tested is what is shipped.
#![expect(
    clippy::print_stdout,
    reason = "this is how a build script talks to cargo"
)]

use std::{
    env,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::Command,
};

use flate2::{Compression, write::DeflateEncoder};
use fs_err::{self as fs, File};

/// The profile of `Cargo.toml` that all such programs have. One profile and one directory mean that they share what they depend on.
const PROFILE: &str = "embedded";

/// A program of this workspace.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The package and its binary, which has the same name.
    pub name: &'static str,
    /// The features that it is built with.
    pub features: &'static [&'static str],
    /// The directories of its package and of the packages of this workspace that it depends on.
    pub sources: &'static [&'static str],
    /// Whether the lints of the build that this is part of are for it too. A program that the workspace compiles anyway is linted there.
    pub linted: bool,
}

impl Program {
    /// Builds it and puts it into `OUT_DIR` under its name.
    pub fn build(&self) {
        let program = self.compile();
        fs::copy(program, self.in_out_dir()).expect("what was built is there");
    }

    /// Builds it and puts it into `OUT_DIR` under its name, in the form that `run::inflated` takes.
    pub fn build_deflated(&self) {
        let program = fs::read(self.compile()).expect("what was built is there");
        let deflated = File::create(self.in_out_dir()).and_then(|file| {
            let mut encoder = DeflateEncoder::new(io::BufWriter::new(file), Compression::default());
            encoder.write_all(&program)?;
            encoder.finish()?.flush()
        });
        deflated.expect("cargo made the directory");
    }

    fn in_out_dir(&self) -> PathBuf {
        PathBuf::from(given("OUT_DIR")).join(self.name)
    }

    fn compile(&self) -> PathBuf {
        let settings = ["../../Cargo.toml", "../../Cargo.lock"];
        for path in ["build.rs"].iter().chain(self.sources).chain(&settings) {
            println!("cargo::rerun-if-changed={path}");
        }
        let target = given("TARGET");
        let directory = directory_for(Path::new(&given("OUT_DIR")));
        let mut build = Command::new(given("CARGO"));
        build
            // By the lock of this workspace, whatever the outer build goes by. What it needs has been fetched for this crate, as a rule.
            .args(["build", "--locked", "--profile", PROFILE])
            .args(["--package", self.name, "--bin", self.name])
            .args(["--target", &target, "--target-dir"])
            .arg(&directory);
        if !self.features.is_empty() {
            build.args(["--features", &self.features.join(",")]);
        }
        if !self.linted {
            build.env_remove("RUSTC_WORKSPACE_WRAPPER");
        }
        let built = build.status();
        let is_built = built.as_ref().is_ok_and(|status| status.success());
        assert!(is_built, "{} cannot be built: {built:?}", self.name);
        directory.join(target).join(PROFILE).join(self.name)
    }
}

/// Where it is built: in a directory of its own, because the one of whoever builds this is locked, but beside all else of the same profile. Linting,
/// checking and testing run a build script with an `OUT_DIR` each, and all carry the same program. Several builds there wait for each other by cargo's lock.
fn directory_for(out: &Path) -> PathBuf {
    // target/PROFILE/build/PACKAGE-HASH/out, unless cargo has other habits by then.
    let profile = out
        .ancestors()
        .nth(2)
        .filter(|build| build.file_name() == Some("build".as_ref()))
        .and_then(Path::parent);
    match profile {
        Some(profile) => profile.join(PROFILE),
        None => out.join("target"),
    }
}

fn given(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo says what {name} is"))
}
