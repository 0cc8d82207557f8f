//! What a command set out to do, kept on this machine until it is done: so that another command can finish it.
//!
//! A plan is a file that its command keeps locked. One that nobody has locked was left by a command that was killed.

use std::{
    collections::BTreeMap,
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::in_box::BoxPlan;
use crate::exit::WrongUse;

/// What a command set out to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The benchmark, as it was named.
    pub(super) benchmark: String,
    /// What the server calls it.
    pub(super) request: serde_json::Value,
    /// The agent, as it was given.
    pub(super) agent: String,
    /// What the agent is called.
    pub(super) name: String,
    /// The server; none for one of the command's own.
    pub(super) server: Option<String>,
    /// Where the agent's command works.
    pub(super) directory: PathBuf,
    /// How often each task is taken.
    pub(super) attempts: u32,
    /// How many attempts are made at once.
    pub(super) at_once: u32,
    /// Which tasks are taken.
    pub(super) tasks: Vec<String>,
    /// Whether the agent sees only scores.
    pub(super) scored: bool,
    /// Labels of the runs.
    pub(super) labels: BTreeMap<String, String>,
    /// How many seconds an attempt may take.
    pub(super) timeout: u64,
    /// How often a void attempt is tried again.
    pub(super) retry_void: u32,
    /// The model that the agent is told to use.
    pub(super) model: Option<String>,
    /// What else the agent is told.
    pub(super) kwargs: Option<String>,
    /// How many US dollars all attempts may cost together.
    #[serde(default)]
    pub(super) max_cost: Option<f64>,
    /// The boxes that the agent's command works in; none if it works on this machine.
    #[serde(default)]
    pub(super) in_box: Option<BoxPlan>,
    /// The runs that were made so far, one for each attempt.
    pub(super) runs: Vec<String>,
}

/// A plan that this command carries out.
pub(super) struct HeldPlan {
    pub(super) plan: Plan,
    path: PathBuf,
    file: std::fs::File,
}

/// Where plans are kept.
fn place(directory: &Path) -> PathBuf {
    directory.join("unfinished")
}

impl HeldPlan {
    /// Keeps a new plan, under the name of its first run.
    pub(super) fn keep(directory: &Path, plan: Plan) -> anyhow::Result<Self> {
        let place = place(directory);
        fs_err::create_dir_all(&place)?;
        let first = plan.runs.first().context("a plan without a run")?;
        let path = place.join(format!("{first}.json"));
        let (file, _) = fs_err::File::create(&path)?.into_parts();
        file.try_lock().context("the plan cannot be locked")?;
        let mut held = Self { plan, path, file };
        held.write()?;
        Ok(held)
    }

    /// Takes up a plan that was left: the one with this run, or the newest of this server.
    pub(super) fn take_up(
        directory: &Path,
        server: Option<&str>,
        run: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut left = left(directory, server);
        let found = match run {
            Some(run) => left
                .into_iter()
                .find(|held| held.plan.runs.iter().any(|one| one == run)),
            None => left.pop(),
        };
        let what = run.map_or_else(|| "run".to_owned(), |run| format!("run {run}"));
        found.ok_or_else(|| {
            let place = place(directory);
            WrongUse(format!(
                "no unfinished {what} is known in {}",
                place.display()
            ))
            .into()
        })
    }

    /// Adds a run that was made.
    pub(super) fn add_run(&mut self, run: String) -> anyhow::Result<()> {
        self.plan.runs.push(run);
        self.write()
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let text = serde_json::to_vec(&self.plan)?;
        // In place, because the lock is on this file. A torn write is longer than what it replaces, so it cannot be read as a plan.
        self.file.rewind()?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)?;
        Ok(self.file.sync_data()?)
    }

    /// Forgets the plan: it is done.
    pub(super) fn forget(self) -> anyhow::Result<()> {
        Ok(fs_err::remove_file(&self.path)?)
    }
}

/// The plans that were left on a server, oldest first.
pub(super) fn left(directory: &Path, server: Option<&str>) -> Vec<HeldPlan> {
    let entries = fs_err::read_dir(place(directory))
        .into_iter()
        .flatten()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // Ids sort by age.
    paths.sort();
    let held = paths.into_iter().filter_map(|path| {
        let mut options = fs_err::OpenOptions::new();
        let (mut file, _) = options
            .read(true)
            .write(true)
            .open(&path)
            .ok()?
            .into_parts();
        file.try_lock().ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let plan = serde_json::from_str(&text).ok()?;
        Some(HeldPlan { plan, path, file })
    });
    held.filter(|held| held.plan.server.as_deref() == server)
        .collect()
}

/// Forgets the plan that a run belongs to, if a command left it; whether there was one.
pub(crate) fn forget_run(directory: &Path, server: Option<&str>, run: &str) -> bool {
    let mut left = left(directory, server).into_iter();
    let found = left.find(|held| held.plan.runs.iter().any(|one| one == run));
    found.is_some_and(|held| held.forget().is_ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(run: &str) -> Plan {
        Plan {
            benchmark: "fax-referral".to_owned(),
            request: json!({"benchmark": "fax-referral@1"}),
            agent: "true".to_owned(),
            name: "true".to_owned(),
            server: None,
            directory: "/".into(),
            attempts: 2,
            at_once: 1,
            tasks: Vec::new(),
            scored: false,
            labels: BTreeMap::new(),
            timeout: 60,
            retry_void: 3,
            model: None,
            kwargs: None,
            max_cost: None,
            in_box: None,
            runs: vec![run.to_owned()],
        }
    }

    #[test]
    fn a_plan_can_be_taken_up_when_nobody_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let mut held = HeldPlan::keep(place, plan("br_1")).unwrap();
        held.add_run("br_2".to_owned()).unwrap();
        assert!(left(place, None).is_empty(), "somebody is at work on it");
        drop(held);
        assert_eq!(left(place, Some("http://elsewhere")).len(), 0);
        let again = HeldPlan::take_up(place, None, Some("br_2")).unwrap();
        assert_eq!(again.plan.runs, ["br_1", "br_2"]);
        assert!(HeldPlan::take_up(place, None, Some("br_3")).is_err());
        again.forget().unwrap();
        assert!(HeldPlan::take_up(place, None, None).is_err());
    }
}
