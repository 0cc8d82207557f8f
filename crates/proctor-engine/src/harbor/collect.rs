//! What is taken out of a box when its agent is done: its logs, and the artifacts that the task or the job names.
//!
//! A hook that fails or an artifact that is missing is noted and changes nothing else. What comes out was written by the agent, and so may be the
//! program that sends it: it is unpacked as any archive of a stranger's.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use proctor_core::{
    agent::AgentManifest,
    id::kinds::{DevboxId, OrganizationId, TaskRunId},
    profile::RunProfile,
    shell::quoted,
    trajectory::Trajectory,
};
use proctor_devbox::{Stream, User};
use proctor_fleet::{FleetError, Masks, Workplace, archives::Limits, trees};
use proctor_harbor::{pattern::matches_any, task::Artifact, timeouts::duration};
use serde::Serialize;

use super::{
    HarborScenario, HarborWorkshop,
    phases::{run, user_named},
    sidecars::MAIN,
};

/// The agent's logs in the box.
const AGENT_LOGS: &str = "/logs/agent";
/// Where agents leave artifacts without being asked.
const ARTIFACTS: &str = "/logs/artifacts";
/// How much of one artifact is taken.
const LARGEST: Limits = Limits {
    members: 20_000,
    bytes: 64 << 20,
};
/// How long one may take.
const TIME: Duration = Duration::from_secs(120);
/// How much is read at a time.
const PIECE: usize = 1 << 20;

/// The agent's trajectory among its logs, as Harbor calls it.
const TRAJECTORY: &str = "trajectory.json";
/// The same, if it is in another format.
const OTHER_TRAJECTORY: &str = "trajectory.other.json";

/// What is known of an agent whose box is collected.
pub(crate) struct AgentLeft<'a> {
    /// What its box got because of it.
    pub(crate) of_run: &'a RunProfile,
    /// Which of its logs are kept.
    pub(crate) wanted: &'a WantedLogs,
    /// Where it leaves what it says of itself.
    pub(crate) manifest: Option<&'a AgentManifest>,
}

/// Patterns of the logs that are kept, all without any, and of those among them that are not.
pub(crate) type WantedLogs = (Vec<String>, Vec<String>);

/// What became of an artifact, as Harbor writes it into its manifest.
#[derive(Serialize)]
struct Collected {
    source: String,
    destination: String,
    r#type: &'static str,
    status: &'static str,
    service: Option<String>,
    exclude: Vec<String>,
}

impl HarborWorkshop {
    /// Takes out of a box what is kept of it; the agent's trajectory, if it left one where Harbor has it or where its manifest says.
    pub(crate) async fn collect(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        task_run: TaskRunId,
        scenario: &HarborScenario,
        AgentLeft {
            of_run,
            wanted,
            manifest,
        }: AgentLeft<'_>,
    ) -> Result<Option<Vec<u8>>, FleetError> {
        let mut place = self.inner.fleet.workplace(devbox).await?;
        place.environment = self
            .environment_without_agent(organization, &place.environment, scenario, of_run)
            .await?;
        for hook in &scenario.collect {
            let Some(place) = self
                .place_of_service(scenario, &hook.service, &place)
                .await?
            else {
                continue;
            };
            let shell = match hook.service.as_str() {
                MAIN => "/bin/bash",
                _ => "/bin/sh",
            };
            let argv = [shell, "-c", &hook.command];
            let mut spec = place.program(self.exec_id("collect")?, argv);
            spec.timeout = Some(duration(hook.timeout));
            if let Some(user) = &hook.user {
                spec.user = user_named(user);
            }
            let (exit, said) = run(&place, spec).await?;
            if !exit.success() {
                let status = exit.status();
                tracing::info!(%devbox, status, said, "a collect hook failed");
            }
        }
        let trial = self.place_of(task_run, scenario);
        let left = trial.join("agent");
        if left.exists() {
            // An earlier process was about to do the same.
            fs_err::remove_dir_all(&left)?;
        }
        self.take(&place, AGENT_LOGS, &[], &left).await?;
        leave_out(&left, wanted, &[])?;
        let trajectory = self.agents_own(&place, manifest, &left).await?;
        let artifacts = trial.join("artifacts");
        if artifacts.exists() {
            fs_err::remove_dir_all(&artifacts)?;
        }
        fs_err::create_dir_all(&artifacts)?;
        let usual = Artifact {
            source: ARTIFACTS.to_owned(),
            destination: None,
            exclude: Vec::new(),
            service: None,
        };
        let mut manifest = Vec::new();
        for artifact in std::iter::once(&usual).chain(&scenario.artifacts) {
            let target = artifacts.join(artifact.place());
            let service = artifact.service.as_deref().unwrap_or(MAIN);
            let kind = match self.place_of_service(scenario, service, &place).await? {
                Some(place) => {
                    let taken = self.take(&place, &artifact.source, &artifact.exclude, &target);
                    taken.await?
                }
                None => None,
            };
            manifest.push(Collected {
                source: artifact.source.clone(),
                destination: format!("artifacts/{}", artifact.place()),
                r#type: kind.unwrap_or("file"),
                status: if kind.is_some() { "ok" } else { "failed" },
                service: artifact.service.clone(),
                exclude: artifact.exclude.clone(),
            });
        }
        let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::other)?;
        fs_err::write(artifacts.join("manifest.json"), text)?;
        Ok(trajectory)
    }

    /// Takes the log and the trajectory that the agent's manifest names; the trajectory, if there is one.
    async fn agents_own(
        &self,
        place: &Workplace,
        manifest: Option<&AgentManifest>,
        left: &Path,
    ) -> Result<Option<Vec<u8>>, FleetError> {
        let named = |path: &Option<String>| path.as_ref().map(|path| place.resolve(path));
        let log = manifest.and_then(|manifest| named(&manifest.log));
        if let Some(log) = log.filter(|path| !is_below_logs(path)) {
            let target = left.join(base_name(&log));
            self.take(place, &log, &[], &target).await?;
        }
        let kept = left.join(TRAJECTORY);
        let told = manifest.and_then(|manifest| named(&manifest.trajectory));
        if let Some(told) = &told {
            self.take(place, told, &[], &kept).await?;
        }
        let bytes = match fs_err::symlink_metadata(&kept) {
            Ok(found) if found.is_file() && found.len() <= LARGEST.bytes => fs_err::read(&kept)?,
            _ => return Ok(None),
        };
        let is_one = serde_json::from_slice(&bytes)
            .is_ok_and(|document: serde_json::Value| Trajectory::read(document).is_ok());
        if !is_one {
            // Readers of Harbor's layout rely on the format where a file has this name.
            fs_err::rename(&kept, left.join(OTHER_TRAJECTORY))?;
        }
        Ok(is_one.then_some(bytes))
    }

    /// Takes a file or a directory out of a box; what it is, or none if it is not there or cannot be taken.
    async fn take(
        &self,
        place: &Workplace,
        source: &str,
        exclude: &[String],
        target: &Path,
    ) -> Result<Option<&'static str>, FleetError> {
        let patterns: String = exclude
            .iter()
            .map(|pattern| format!(" --exclude={}", quoted(pattern)))
            .collect();
        let path = quoted(source);
        // A directory is sent with what is in it, a file by its name.
        let script = format!(
            "at={path}\nif [ -d \"$at\" ]; then exec tar -cf -{patterns} -C \"$at\" .; fi\n\
             if [ -f \"$at\" ]; then exec tar -cf - -C \"$(dirname \"$at\")\" \"$(basename \"$at\")\"; fi\nexit 44"
        );
        let mut spec = place.program(self.exec_id("take")?, ["/bin/sh", "-c", &script]);
        spec.user = User::Root;
        spec.cwd = Some("/".to_owned());
        spec.timeout = Some(TIME);
        spec.output_limit = LARGEST.bytes;
        let execution = match place.devbox.exec(spec).await {
            Ok(execution) => execution,
            // The agent took the shell away.
            Err(proctor_devbox::Error::CannotRun { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let exit = execution.wait().await?;
        let mut bytes = Vec::new();
        if exit.success() {
            loop {
                let from = bytes.len() as u64;
                let chunk = execution.read_output(Stream::Stdout, from, PIECE).await?;
                if chunk.bytes.is_empty() {
                    break;
                }
                bytes.extend_from_slice(&chunk.bytes);
            }
        }
        execution.forget().await?;
        if !exit.success() {
            return Ok(None);
        }
        let staged = self.inner.trees.stage()?;
        let (into, target) = (staged.path().join("tree"), target.to_owned());
        let (name, masks) = (base_name(source), place.masks.clone());
        let unpacked = tokio::task::spawn_blocking(move || {
            trees::unpack(bytes.as_slice(), &into, LARGEST).ok()?;
            mask(&into, &masks).ok()?;
            settle(&into, &name, &target).ok()
        });
        let kind = unpacked.await.map_err(io::Error::other)?;
        drop(staged);
        Ok(kind)
    }
}

/// Removes those files below a directory that a job does not want: all that match none of the first patterns, if there are any, and all that
/// match one of the second. What `kept` names stays.
pub(super) fn leave_out(
    directory: &Path,
    (include, exclude): &WantedLogs,
    kept: &[&str],
) -> io::Result<()> {
    if include.is_empty() && exclude.is_empty() {
        return Ok(());
    }
    for file in files_below(directory)? {
        let Ok(inside) = file.strip_prefix(directory) else {
            continue;
        };
        let inside = inside.to_string_lossy();
        let is_wanted =
            (include.is_empty() || matches_any(include, &inside)) && !matches_any(exclude, &inside);
        if !is_wanted && !kept.contains(&inside.as_ref()) {
            fs_err::remove_file(&file)?;
        }
    }
    Ok(())
}

/// Hides secrets in all files below a directory.
pub(super) fn mask(directory: &Path, masks: &Masks) -> io::Result<()> {
    if masks.longest() == 0 {
        return Ok(());
    }
    for file in files_below(directory)? {
        let found = fs_err::symlink_metadata(&file)?;
        if !found.is_file() || found.len() > LARGEST.bytes {
            continue;
        }
        if let Some(masked) = masks.apply_to_bytes(&fs_err::read(&file)?) {
            fs_err::write(&file, masked)?;
        }
    }
    Ok(())
}

/// Everything below a directory that is not a directory; links are not followed.
fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut to_go = vec![directory.to_owned()];
    while let Some(directory) = to_go.pop() {
        let entries = match fs_err::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => to_go.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    Ok(files)
}

/// Moves what was taken to its place; what it is.
fn settle(from: &Path, name: &str, target: &Path) -> io::Result<&'static str> {
    if let Some(parent) = target.parent() {
        fs_err::create_dir_all(parent)?;
    }
    let single: Vec<PathBuf> = fs_err::read_dir(from)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    let is_file = matches!(&single[..], [only] if only.file_name().is_some_and(|found| found == name) && only.is_file());
    if is_file && !target.is_dir() {
        fs_err::rename(&single[0], target)?;
        return Ok("file");
    }
    fs_err::create_dir_all(target)?;
    for path in single {
        if let Some(name) = path.file_name() {
            fs_err::rename(&path, target.join(name))?;
        }
    }
    Ok("directory")
}

/// Whether a path is among the logs that are taken in any case.
fn is_below_logs(path: &str) -> bool {
    path.strip_prefix(AGENT_LOGS)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn base_name(path: &str) -> String {
    let last = path.rsplit('/').find(|part| !part.is_empty());
    last.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_logs_that_a_job_wants_are_kept() {
        let logs = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = logs.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "said").unwrap();
        };
        for path in ["a.txt", "b.log", "deep/c.txt", "reward.txt"] {
            write(path);
        }
        let patterns = (vec!["*.txt".to_owned()], vec!["deep/*".to_owned()]);
        leave_out(logs.path(), &patterns, &[]).unwrap();
        let is_there = |path: &str| logs.path().join(path).exists();
        assert!(is_there("a.txt") && is_there("reward.txt"));
        assert!(!is_there("b.log") && !is_there("deep/c.txt"));
        let none = (vec!["nothing".to_owned()], Vec::new());
        leave_out(logs.path(), &none, &["reward.txt"]).unwrap();
        assert!(is_there("reward.txt") && !is_there("a.txt"));
    }
}
