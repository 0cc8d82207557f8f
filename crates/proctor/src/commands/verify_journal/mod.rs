//! `proctor verify-journal`.

mod files;

use std::path::PathBuf;

use clap::Args;
use proctor_core::{canonical::Digest, id::kinds::WorldId};
use proctor_store::journal::{Broken, Verified};
use serde_json::{Value, json};

use crate::{exit::Exit, settings::Settings, storage};

#[derive(Debug, Args)]
pub(crate) struct VerifyJournal {
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Only this world; all of them without it
    #[arg(long, value_name = "ID")]
    pub(crate) world: Option<WorldId>,
    /// Exported journals instead of those of a server: .jsonl files, directories with some, zips of `proctor export`
    #[arg(value_name = "FILE", conflicts_with = "world")]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON, a line for each world
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(arguments: VerifyJournal) -> anyhow::Result<Exit> {
    let mut report = Report {
        json: arguments.json,
        ..Report::default()
    };
    if !arguments.files.is_empty() {
        for file in &arguments.files {
            files::verify(file, &mut report)?;
        }
        return Ok(report.close());
    }
    let store = storage::open(&arguments.settings.complete()?).await?.store;
    let journal = store.journal();
    if let Some(world) = arguments.world {
        report.add(world, &journal.verify(world).await?);
    } else {
        let mut last = None;
        while let Some(world) = journal.next_world(last).await? {
            report.add(world, &journal.verify(world).await?);
            last = Some(world);
        }
    }
    Ok(report.close())
}

#[derive(Default)]
struct Report {
    json: bool,
    worlds: u64,
    events: u64,
    broken: u64,
}

impl Report {
    fn add(&mut self, world: WorldId, outcome: &Result<Verified, Broken>) {
        self.worlds += 1;
        match outcome {
            Ok(verified) => self.events += verified.head.next,
            Err(_) => self.broken += 1,
        }
        if self.json {
            println!("{}", line(world, outcome));
        } else if let Err(broken) = outcome {
            println!("{broken}");
        }
    }

    /// An exported journal that is none, or whose head is not the one that was recorded with it.
    fn add_unfit(&mut self, name: &str, problem: &str) {
        self.worlds += 1;
        self.broken += 1;
        match self.json {
            true => println!(
                "{}",
                json!({"file": name, "intact": false, "problem": problem})
            ),
            false => println!("{name}: {problem}"),
        }
    }

    fn close(&self) -> Exit {
        if !self.json {
            let intact = self.worlds - self.broken;
            println!(
                "{intact} of {} world(s) intact, with {} event(s)",
                self.worlds, self.events
            );
        }
        match self.broken {
            0 => Exit::Fine,
            _ => Exit::No,
        }
    }
}

fn line(world: WorldId, outcome: &Result<Verified, Broken>) -> Value {
    match outcome {
        Ok(Verified { head }) => json!({
            "world": world,
            "intact": true,
            "events": head.next,
            "frozen": head.sealed,
            "head": Digest::from_raw(head.hash),
        }),
        Err(broken) => {
            json!({"world": world, "intact": false, "event": broken.seq, "flaw": broken.flaw.to_string()})
        }
    }
}
