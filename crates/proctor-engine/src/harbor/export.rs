//! A Harbor job in Harbor's own layout, as one archive.
//!
//! Documents are made of what is on record ([`proctor_harbor::results`]); logs and artifacts are the files that trials left. Only trials
//! that have ended are written: nothing in a box can change their files any more.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{self, Write},
    path::{Path, PathBuf},
};

use proctor_core::{
    criterion_run::CriterionRun,
    id::{
        Dialect,
        kinds::{JobId, OrganizationId, TaskRunId},
    },
    job::{Failure, JobAgent, JobState, Program, Try, TryEnd, TryOutcome},
};
use proctor_harbor::{
    HARBOR_VERSION,
    exceptions::ExceptionType,
    results::{
        self, ExceptionRecord, JobRecord, ProctorRecord, StepRecord, TaskRecord, TrialRecord,
    },
    rewards::Rewards,
    task::VerifierMode,
    trial_name::trial_name,
};
use proctor_macros::boxed_futures;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::io::{AsyncRead, DuplexStream};
use tokio_util::io::SyncIoBridge;

use super::{HarborRules, HarborScenario};
use crate::{engine::Engine, error::EngineError};

/// How large a file may be that a trial left; larger ones are named in the trial's log instead.
const LARGEST_FILE: u64 = 64 << 20;
/// How hard the archive is compressed.
const LEVEL: i32 = 3;
/// How many bytes wait between whoever writes the archive and whoever reads it.
const PIPE_BYTES: usize = 64 << 10;
/// The longest name of a job's directory.
const LONGEST_NAME: usize = 100;

/// A Harbor job, ready to be written.
pub struct HarborExport {
    record: JobRecord,
    /// Where the files of each trial are, by its name.
    files: BTreeMap<String, PathBuf>,
    warnings: Vec<String>,
}

#[boxed_futures]
impl Engine {
    /// One of the organization's Harbor jobs in Harbor's own layout.
    pub async fn export_harbor_job(
        &self,
        organization: OrganizationId,
        id: JobId,
    ) -> Result<HarborExport, EngineError> {
        let details = self.job(organization, id).await?;
        let job = &details.job;
        let Some(rules) = HarborRules::of(&job.plan.source) else {
            let told = "only Harbor jobs have results in Harbor's layout";
            return Err(EngineError::Unclear(told.to_owned()));
        };
        let workshop = self.harbor()?;
        let prepared = self
            .inner
            .catalog
            .benchmark(self.store(), &job.plan.pinned.digest)
            .await?;
        let tries: Vec<&Try> = details
            .tries()
            .iter()
            .filter(|one| one.was_begun())
            .collect();
        let names = names(&tries, |one| {
            let task = prepared.task(one.task);
            task.map_or_else(|_| "task".to_owned(), |(task, _)| task.name.clone())
        });
        let task_runs: Vec<TaskRunId> = tries.iter().filter_map(|one| one.task_run).collect();
        let mut found = self.store().criterion_runs_of(&task_runs).await?;
        let mut versions = HashMap::new();
        for agent in &job.plan.agents {
            versions.insert(agent.run, self.version_of(organization, agent).await?);
        }
        let (mut trials, mut files) = (Vec::new(), BTreeMap::new());
        for (place, one) in tries.iter().enumerate() {
            let (Some(end), Some(name)) = (&one.end, names.get(&key(one))) else {
                continue;
            };
            let (task, _) = prepared.task(one.task)?;
            let agent = job.plan.agents.iter().find(|agent| agent.run == one.run);
            let (Some(agent), Some(scenario)) = (agent, HarborScenario::of(task)) else {
                continue;
            };
            let next = tries[place..]
                .iter()
                .find(|other| is_same_attempt(one, other) && other.number == one.number + 1);
            let criterion = one.task_run.and_then(|id| found.remove(&id));
            let whole = task.criteria.first().map(|criterion| criterion.id);
            let criterion = criterion.and_then(|runs| {
                let mut runs = runs.into_iter();
                runs.find(|run| Some(run.criterion) == whole)
            });
            if let Some(id) = one.task_run {
                files.insert(name.clone(), workshop.trial(id));
            }
            let version = versions.get(&agent.run).cloned().unwrap_or_default();
            trials.push(TrialRecord {
                id: one
                    .task_run
                    .map_or_else(|| fresh(one), |id| id.uuid())
                    .to_string(),
                name: name.clone(),
                task: task_record(&task.name, &scenario),
                agent: rules.entry(agent),
                agent_version: version,
                started_at: one.began_at,
                agent_began_at: one.agent_began_at,
                verified: criterion
                    .as_ref()
                    .map(|run| (run.started_at, run.completed_at)),
                finished_at: end.at,
                rewards: criterion.as_ref().and_then(rewards),
                exception: exception(end),
                steps: criterion.as_ref().map(steps).unwrap_or_default(),
                proctor: ProctorRecord {
                    scenario_run_id: one.task_run.map(|id| id.wire(Dialect::Runloop)),
                    attempt: agent.attempt,
                    retry: one.number.saturating_sub(1),
                    integrity: criterion.as_ref().and_then(integrity),
                    digest: scenario.digest.clone(),
                    superseded_by: next.and_then(|next| names.get(&key(next)).cloned()),
                },
            });
        }
        let finished_at = match &job.state {
            JobState::Ended { at, .. } => Some(*at),
            JobState::Initializing | JobState::Queued | JobState::Running { .. } => None,
        };
        let planned = job.plan.agents.len() * job.plan.scenarios.len();
        Ok(HarborExport {
            record: JobRecord {
                id: job.id.uuid().to_string(),
                name: directory_name(&job.name),
                config: rules.config,
                started_at: job.created_at,
                finished_at,
                planned: u64::try_from(planned).unwrap_or(u64::MAX),
                trials,
            },
            files,
            warnings: rules.warnings.iter().map(ToString::to_string).collect(),
        })
    }

    /// The version of an agent, as results tell it.
    async fn version_of(
        &self,
        organization: OrganizationId,
        agent: &JobAgent,
    ) -> Result<String, EngineError> {
        if let Some(version) = &agent.version {
            return Ok(version.clone());
        }
        let known = match &agent.program {
            Program::Oracle | Program::Nop => return Ok(HARBOR_VERSION.to_owned()),
            Program::Command { agent: None, .. } => None,
            Program::Command {
                agent: Some(id), ..
            } => self.store().agent(organization, *id).await?,
        };
        let version = known.and_then(|agent| agent.version);
        Ok(version.unwrap_or_else(|| "unknown".to_owned()))
    }
}

/// What a try is told apart by, also one whose task run never came to be.
fn key(one: &Try) -> (uuid::Uuid, uuid::Uuid, u32) {
    (one.run.uuid(), one.task.uuid(), one.number)
}

fn is_same_attempt(one: &Try, other: &Try) -> bool {
    (one.run, one.task) == (other.run, other.task)
}

/// An id for a try without a task run: always the same one.
fn fresh(one: &Try) -> uuid::Uuid {
    let (run, task, number) = key(one);
    uuid::Uuid::from_u128(run.as_u128() ^ task.as_u128().rotate_left(number % 128))
}

/// The names of all trials; no two are the same.
fn names(
    tries: &[&Try],
    task_name: impl Fn(&Try) -> String,
) -> HashMap<(uuid::Uuid, uuid::Uuid, u32), String> {
    let mut taken = HashSet::new();
    let mut names = HashMap::new();
    for one in tries {
        let id = one.task_run.map_or_else(|| fresh(one), |id| id.uuid());
        let task = task_name(one);
        let mut number = id.as_u128();
        let mut name = trial_name(&task, number);
        while !taken.insert(name.clone()) {
            number = number.wrapping_add(1);
            name = trial_name(&task, number);
        }
        names.insert(key(one), name);
    }
    names
}

/// The name of a job's directory: what it is called, as far as a path can have it.
fn directory_name(name: &str) -> String {
    let safe = name.chars().map(|letter| match letter {
        '/' | '\\' | '\0' => '-',
        letter if letter.is_control() => '-',
        letter => letter,
    });
    let safe: String = safe.take(LONGEST_NAME).collect();
    let safe = safe.trim().trim_start_matches('.');
    match safe {
        "" => "job".to_owned(),
        safe => safe.to_owned(),
    }
}

fn task_record(name: &str, scenario: &HarborScenario) -> TaskRecord {
    let origin = scenario.origin.clone();
    TaskRecord {
        name: name.to_owned(),
        digest: scenario.digest.clone(),
        from: origin.unwrap_or_else(|| results::local(&scenario.from)),
        source: scenario.source.clone(),
        is_separate: scenario.verifier.mode == VerifierMode::Separate,
    }
}

pub(super) fn rewards(run: &CriterionRun) -> Option<Rewards> {
    Rewards::deserialize(run.evidence.get("rewards")?).ok()
}

fn steps(run: &CriterionRun) -> Vec<StepRecord> {
    let steps = run.evidence.get("steps").cloned().unwrap_or_default();
    Vec::<StepRecord>::deserialize(steps).unwrap_or_default()
}

fn integrity(run: &CriterionRun) -> Option<String> {
    let integrity = run.evidence.get("integrity").and_then(Value::as_str);
    integrity.map(str::to_owned)
}

/// What went wrong in a try, if anything did.
fn exception(end: &TryEnd) -> Option<ExceptionRecord> {
    let told = |failure: &Failure| {
        let unknown = ExceptionType::InfrastructureError.as_str();
        let name = failure.exception.as_deref().unwrap_or(unknown);
        (name.to_owned(), failure.message.clone())
    };
    let (name, message) = match &end.outcome {
        TryOutcome::Completed { .. } => return None,
        TryOutcome::Failed(failure)
        | TryOutcome::TimedOut(failure)
        | TryOutcome::Interrupted(failure) => told(failure),
        TryOutcome::Cancelled => {
            let name = ExceptionType::CancelledError.as_str().to_owned();
            (name, "somebody stopped it".to_owned())
        }
    };
    let at = end.at;
    Some(ExceptionRecord { name, message, at })
}

impl HarborExport {
    /// The name of the job's directory in the archive.
    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// The archive, made while it is read: a tar, compressed with zstd. Whatever goes wrong is an archive that ends early.
    pub fn into_archive(self) -> impl AsyncRead + Send + Unpin + 'static {
        let (reader, writer): (DuplexStream, DuplexStream) = tokio::io::duplex(PIPE_BYTES);
        // Nobody needs to wait for it: it ends when its reader does.
        drop(tokio::task::spawn_blocking(move || {
            if let Err(error) = self.compress(SyncIoBridge::new(writer)) {
                tracing::warn!(%error, job = self.record.id, "a job could not be exported to its end");
            }
        }));
        reader
    }

    fn compress(&self, out: impl Write) -> io::Result<()> {
        let out = zstd::stream::write::Encoder::new(out, LEVEL)?;
        self.write(out)?.finish()?.flush()
    }

    /// Writes the directory of the job as a tar.
    fn write<W: Write>(&self, out: W) -> io::Result<W> {
        let job = &self.record;
        let mut archive = Archive {
            tar: tar::Builder::new(out),
            made: HashSet::new(),
            at: u64::try_from(job.started_at.as_millis() / 1000).unwrap_or_default(),
        };
        let root = &job.name;
        archive.document(&format!("{root}/config.json"), &job.config())?;
        archive.document(&format!("{root}/result.json"), &job.result())?;
        archive.document(&format!("{root}/lock.json"), &job.lock())?;
        archive.text(&format!("{root}/job.log"), &self.log())?;
        for trial in &job.trials {
            let place = format!("{root}/{}", trial.name);
            archive.document(&format!("{place}/config.json"), &trial.config(job))?;
            archive.document(&format!("{place}/result.json"), &trial.result(job))?;
            archive.document(&format!("{place}/lock.json"), &trial.lock(&job.config))?;
            if let Some(exception) = &trial.exception {
                archive.text(&format!("{place}/exception.txt"), &exception.text())?;
            }
            let mut log = trial.log();
            if let Some(directory) = self.files.get(&trial.name) {
                for left_out in archive.directory(&place, directory)? {
                    log.push_str(&left_out);
                }
            }
            archive.text(&format!("{place}/trial.log"), &log)?;
        }
        archive.tar.into_inner()
    }

    fn log(&self) -> String {
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|warning| format!("warning: {warning}\n"));
        let trials = self.record.trials.iter().map(|trial| {
            let outcome = match (&trial.exception, &trial.rewards) {
                (Some(exception), _) => exception.name.clone(),
                (None, Some(rewards)) => format!("{rewards:?}"),
                (None, None) => "not verified".to_owned(),
            };
            let (at, name) = (trial.finished_at, &trial.name);
            format!("{at} {name} by {}: {outcome}\n", trial.agent.name)
        });
        warnings.chain(trials).collect()
    }
}

/// A tar that is being written.
struct Archive<W: Write> {
    tar: tar::Builder<W>,
    /// Directories that it has.
    made: HashSet<String>,
    /// The time of all of its members.
    at: u64,
}

impl<W: Write> Archive<W> {
    fn header(&self, kind: tar::EntryType, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(if kind.is_dir() { 0o755 } else { 0o644 });
        header.set_mtime(self.at);
        header
    }

    fn parents(&mut self, path: &str) -> io::Result<()> {
        for (end, _) in path.match_indices('/') {
            let directory = &path[..end];
            if self.made.insert(directory.to_owned()) {
                let mut header = self.header(tar::EntryType::Directory, 0);
                self.tar.append_data(&mut header, directory, io::empty())?;
            }
        }
        Ok(())
    }

    fn text(&mut self, path: &str, text: &str) -> io::Result<()> {
        self.parents(path)?;
        let mut header = self.header(tar::EntryType::Regular, text.len() as u64);
        self.tar.append_data(&mut header, path, text.as_bytes())
    }

    fn document(&mut self, path: &str, document: &Value) -> io::Result<()> {
        self.text(path, &format!("{document:#}\n"))
    }

    /// Adds what is below a directory of the server's; what is left out, in lines for a log. Links are not followed.
    fn directory(&mut self, path: &str, directory: &Path) -> io::Result<Vec<String>> {
        let mut left_out = Vec::new();
        let mut to_go = vec![(path.to_owned(), directory.to_owned())];
        while let Some((path, directory)) = to_go.pop() {
            let mut entries = match fs_err::read_dir(&directory) {
                Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            entries.sort_by_key(fs_err::DirEntry::file_name);
            self.parents(&format!("{path}/"))?;
            for entry in entries {
                let inside = format!("{path}/{}", entry.file_name().to_string_lossy());
                let kind = entry.metadata()?;
                if kind.is_dir() {
                    to_go.push((inside, entry.path()));
                } else if kind.is_file() && kind.len() <= LARGEST_FILE {
                    self.parents(&inside)?;
                    let file = fs_err::File::open(entry.path())?;
                    let mut header = self.header(tar::EntryType::Regular, kind.len());
                    let content = io::Read::take(file, kind.len());
                    self.tar.append_data(&mut header, &inside, content)?;
                } else {
                    let why = match kind.is_file() {
                        true => format!("it has {} bytes", kind.len()),
                        false => "it is neither a file nor a directory".to_owned(),
                    };
                    left_out.push(format!("{inside} was left out: {why}\n"));
                }
            }
        }
        Ok(left_out)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_name_of_a_job_is_one_part_of_a_path() {
        for (name, directory) in [
            ("nightly", "nightly"),
            ("../../etc", "-..-etc"),
            ("a/b", "a-b"),
            ("..", "job"),
            ("", "job"),
        ] {
            assert_eq!(directory_name(name), directory);
        }
        assert!(directory_name(&"x".repeat(300)).len() <= LONGEST_NAME);
    }

    #[test]
    fn only_regular_files_of_bounded_size_are_taken() {
        let left = tempfile::tempdir().unwrap();
        let logs = left.path().join("agent");
        fs_err::create_dir(&logs).unwrap();
        fs_err::write(logs.join("log.txt"), "said").unwrap();
        symlink("/etc/passwd", logs.join("link")).unwrap();
        let huge = fs_err::File::create(logs.join("huge")).unwrap();
        huge.set_len(LARGEST_FILE + 1).unwrap();
        let mut archive = Archive {
            tar: tar::Builder::new(Vec::new()),
            made: HashSet::new(),
            at: 0,
        };
        let left_out = archive.directory("job/trial", left.path()).unwrap();
        assert_eq!(left_out.len(), 2, "{left_out:?}");
        let bytes = archive.tar.into_inner().unwrap();
        let mut read = tar::Archive::new(bytes.as_slice());
        let paths: Vec<String> = read
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(
            paths,
            [
                "job",
                "job/trial",
                "job/trial/agent",
                "job/trial/agent/log.txt"
            ]
        );
    }
}
