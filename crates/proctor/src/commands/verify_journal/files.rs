//! Journals that were exported: checked without a server, and compared with the heads that came with them.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use proctor_core::{canonical::Digest, id::kinds::WorldId};
use proctor_store::journal::{
    Verified,
    file::{BadJournalFile, FileCheck},
};
use serde::Deserialize;

use super::Report;
use crate::exit::WrongUse;

/// What stands beside the journals.
const HEADS: &str = "heads.json";

/// Where a journal should end.
#[derive(Deserialize)]
struct RecordedHead {
    events: u64,
    head: Digest,
}

type Heads = BTreeMap<WorldId, RecordedHead>;

/// Checks a file, a directory or a zip.
pub(super) fn verify(path: &Path, report: &mut Report) -> anyhow::Result<()> {
    if path.is_dir() {
        return verify_directory(path, report);
    }
    if path.extension().is_some_and(|ending| ending == "zip") {
        return verify_zip(path, report);
    }
    let heads = heads_beside(path)?;
    let name = path.display().to_string();
    let file = fs_err::File::open(path)?;
    check(&name, BufReader::new(file), &heads, report)
}

fn verify_directory(path: &Path, report: &mut Report) -> anyhow::Result<()> {
    let mut files = Vec::new();
    for place in [path.to_owned(), path.join("journals")] {
        let Ok(entries) = fs_err::read_dir(&place) else {
            continue;
        };
        for entry in entries {
            let file = entry?.path();
            if file.extension().is_some_and(|ending| ending == "jsonl") {
                files.push(file);
            }
        }
    }
    if files.is_empty() {
        let path = path.display();
        return Err(WrongUse(format!("{path} has no journals (*.jsonl)")).into());
    }
    files.sort();
    files
        .iter()
        .try_for_each(|file: &PathBuf| verify(file, report))
}

fn verify_zip(path: &Path, report: &mut Report) -> anyhow::Result<()> {
    let unreadable = || format!("{} cannot be read as a zip", path.display());
    let file = fs_err::File::open(path)?;
    let mut zip = zip::ZipArchive::new(file).with_context(unreadable)?;
    let names: Result<Vec<String>, _> = zip
        .file_names()
        .map(|name| name.map(std::borrow::Cow::into_owned))
        .collect();
    let names = names.with_context(unreadable)?;
    let mut heads = Heads::new();
    if names.iter().any(|name| name == "journals/heads.json") {
        let member = zip
            .by_name("journals/heads.json")
            .with_context(unreadable)?;
        heads = serde_json::from_reader(member).context("journals/heads.json cannot be read")?;
    }
    let is_journal = |name: &&String| name.starts_with("journals/") && name.ends_with(".jsonl");
    let mut journals: Vec<&String> = names.iter().filter(is_journal).collect();
    journals.sort();
    if journals.is_empty() {
        let path = path.display();
        return Err(WrongUse(format!("{path} has no journals")).into());
    }
    for name in journals {
        let member = zip.by_name(name).with_context(unreadable)?;
        check(name, BufReader::new(member), &heads, report)?;
    }
    Ok(())
}

fn heads_beside(path: &Path) -> anyhow::Result<Heads> {
    let heads = path.with_file_name(HEADS);
    if !heads.exists() {
        return Ok(Heads::new());
    }
    let text = fs_err::read(&heads)?;
    serde_json::from_slice(&text).with_context(|| format!("{} cannot be read", heads.display()))
}

fn check(
    name: &str,
    mut journal: impl BufRead,
    heads: &Heads,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut line = Vec::new();
    journal.read_until(b'\n', &mut line)?;
    let mut check = match FileCheck::begin(&line) {
        Ok(check) => check,
        Err(bad) => {
            report.add_unfit(name, &bad.to_string());
            return Ok(());
        }
    };
    loop {
        line.clear();
        if journal.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        match check.next(&line) {
            Ok(()) => {}
            Err(BadJournalFile::Broken(broken)) => {
                report.add(check.world(), &Err(broken));
                return Ok(());
            }
            Err(bad) => {
                report.add_unfit(name, &bad.to_string());
                return Ok(());
            }
        }
    }
    let head = check.head();
    let is_other = heads.get(&check.world()).is_some_and(|recorded| {
        recorded.events != head.next || recorded.head != Digest::from_raw(head.hash)
    });
    match is_other {
        true => report.add_unfit(
            name,
            "it does not end at the head that was recorded with it",
        ),
        false => report.add(check.world(), &Ok(Verified { head })),
    }
    Ok(())
}
