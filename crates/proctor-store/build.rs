//! Lists the migrations, so that adding one means adding a file.
//!
//! sqlx has a macro for this, but with the macro come a second sqlx, both drivers and SQLite, compiled for the build machine.

use std::{env, fs, io::Write as _, path::PathBuf};

const DIRECTORY: &str = "migrations";

fn main() {
    println!("cargo::rerun-if-changed={DIRECTORY}");
    let here = PathBuf::from(given("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(here.join(DIRECTORY)).expect("the migrations are there");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a file of the directory").path())
        .collect();
    files.sort();
    let list = PathBuf::from(given("OUT_DIR")).join("migrations.rs");
    let mut list = fs::File::create(list).expect("cargo made the directory");
    let mut say = |line: String| writeln!(list, "{line}").expect("there is room for a list");
    say("[".to_owned());
    for file in &files {
        let name = file.file_name().and_then(|name| name.to_str());
        let (version, description) = name
            .and_then(|name| name.strip_suffix(".sql"))
            .and_then(|name| name.split_once('_'))
            .unwrap_or_else(|| panic!("{} is not called NNNN_what_it_does.sql", file.display()));
        let version: i64 = version
            .parse()
            .unwrap_or_else(|_| panic!("{} does not begin with a number", file.display()));
        let description = description.replace('_', " ");
        say(format!(
            "    ({version}, {description:?}, include_str!({file:?})),"
        ));
    }
    say("]".to_owned());
}

fn given(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo says what {name} is"))
}
