//! `proctor verify-journal`.

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
    /// Print JSON, a line for each world
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(arguments: VerifyJournal) -> anyhow::Result<Exit> {
    let store = storage::open(&arguments.settings.complete()?).await?.store;
    let journal = store.journal();
    let mut report = Report {
        json: arguments.json,
        ..Report::default()
    };
    if let Some(world) = arguments.world {
        report.add(world, &journal.verify(world).await?);
    } else {
        let mut last = None;
        while let Some(world) = journal.next_world(last).await? {
            report.add(world, &journal.verify(world).await?);
            last = Some(world);
        }
    }
    report.close();
    Ok(if report.broken == 0 {
        Exit::Fine
    } else {
        Exit::No
    })
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

    fn close(&self) {
        if !self.json {
            let intact = self.worlds - self.broken;
            println!(
                "{intact} of {} world(s) intact, with {} event(s)",
                self.worlds, self.events
            );
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
