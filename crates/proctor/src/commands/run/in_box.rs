//! `--in-box`: the agent's command works in a devbox of its own, from where it reaches its world and the hosts that it declares, and
//! nothing else.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use proctor_benchmarks::{Api, ApiError, TakeError, box_is_ready};
use proctor_core::{profile::is_variable, shell::quoted};
use proctor_fleet::trees;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{drive::text, reports::Left};
use crate::{
    agent_supervisor::{Ending, LOG_PART},
    commands::{compare::refused, harbor::upload_archive},
    exit::WrongUse,
};

/// The directory of the agent's files in its archive.
const FILES: &str = "files";
/// What the agent finds and leaves in its box, below the home of its user.
const HOME: &str = "proctor-agent";
/// How many bytes of files are brought into a box at most, and how many files.
const LARGEST: u64 = 64 << 20;
const MOST_FILES: usize = 20_000;
/// Directories that are made by tools and never brought along.
const SKIPPED: [&str; 5] = [".git", "target", "node_modules", "__pycache__", ".venv"];
/// How long a request waits for the end of the command.
const WAIT: u64 = 20;
/// How long a blueprint may take to be built.
const BUILD: Duration = Duration::from_secs(3600);
/// How often is looked whether it is.
const LOOK: Duration = Duration::from_millis(300);
/// By how much a box outlives the time that its agent has, in seconds.
const MARGIN: u64 = 300;

/// What the box of an agent is made from: the same for every attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BoxPlan {
    /// The blueprint that its disk starts from; the server's own system without one.
    blueprint: Option<String>,
    /// The object with the agent's files, if it has any.
    object: Option<String>,
    /// The hosts that it declares.
    hosts: Vec<String>,
}

/// What was asked for on the command line.
pub(super) struct BoxOptions<'a> {
    /// An image; empty is the server's own system.
    pub(super) image: &'a str,
    pub(super) hosts: &'a [String],
    /// The directory with the agent's files; an empty path is none.
    pub(super) files: Option<&'a Path>,
}

impl BoxPlan {
    /// Brings to the server what boxes are made from.
    pub(super) async fn prepare(api: &Api, wanted: BoxOptions<'_>) -> anyhow::Result<Self> {
        let directory = match wanted.files {
            Some(path) if path.as_os_str().is_empty() => None,
            Some(path) => Some(path.to_owned()),
            None => Some(std::env::current_dir()?),
        };
        let object = match directory {
            None => None,
            Some(directory) => {
                let packed = tokio::task::spawn_blocking(move || packed(&directory)).await??;
                let digest = Sha256::digest(&packed);
                let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                let name = format!("agent-files-{digest}.tgz");
                Some(upload_archive(api, &name, packed).await?)
            }
        };
        let blueprint = match wanted.image {
            "" => None,
            image => Some(blueprint_of(api, image).await?),
        };
        Ok(Self {
            blueprint,
            object,
            hosts: wanted.hosts.to_vec(),
        })
    }
}

/// The files of a directory as an archive.
fn packed(directory: &Path) -> anyhow::Result<Vec<u8>> {
    let mut paths = Vec::new();
    let mut bytes = 0;
    collect(directory, Path::new(""), &mut paths, &mut bytes)?;
    paths.sort();
    let mut archive = Vec::new();
    trees::pack(directory, FILES, &paths, &mut archive)?;
    Ok(archive)
}

fn collect(
    root: &Path,
    below: &Path,
    paths: &mut Vec<String>,
    bytes: &mut u64,
) -> anyhow::Result<()> {
    for entry in fs_err::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let path = below.join(&name);
        let Some(text) = path.to_str() else { continue };
        let kind = entry.file_type()?;
        if !kind.is_dir() && !kind.is_file() && !kind.is_symlink() {
            continue;
        }
        paths.push(text.to_owned());
        if kind.is_file() {
            *bytes += entry.metadata()?.len();
        }
        if *bytes > LARGEST || paths.len() > MOST_FILES {
            return Err(WrongUse(format!(
                "{} has more than {} MiB or {MOST_FILES} files to bring into the box: name the agent's own directory with --box-files DIR, or '' for \
                 none",
                root.display(),
                LARGEST >> 20
            ))
            .into());
        }
        if kind.is_dir() {
            collect(root, &path, paths, bytes)?;
        }
    }
    Ok(())
}

/// A blueprint that is an image as it is, built unless there is one: or the blueprint of that id.
async fn blueprint_of(api: &Api, image: &str) -> anyhow::Result<String> {
    if image.starts_with("bpt_") {
        return Ok(image.to_owned());
    }
    let is_sound = |letter: char| letter.is_ascii_alphanumeric() || "./:@_-".contains(letter);
    if !image.chars().all(is_sound) {
        return Err(WrongUse(format!("'{image}' is not the name of an image")).into());
    }
    let body = json!({
        "name": format!("agent of {image}"),
        "dockerfile": format!("FROM {image}\n"),
    });
    let made = api.post("/v1/blueprints", &body).await.map_err(refused)?;
    let id = text(&made, "id")?;
    let began = tokio::time::Instant::now();
    loop {
        let seen = api.get(&format!("/v1/blueprints/{id}")).await;
        let seen = seen.map_err(refused)?;
        match seen["status"].as_str() {
            Some("build_complete") => return Ok(id),
            Some("failed" | "failure" | "build_failed") => {
                let why = seen["failure_reason"].as_str().unwrap_or("it failed");
                return Err(WrongUse(format!("no box can stand on {image}: {why}")).into());
            }
            _ if began.elapsed() > BUILD => {
                anyhow::bail!("the image {image} took too long to be built")
            }
            _ => tokio::time::sleep(LOOK).await,
        }
    }
}

/// The agent of one attempt in its box.
pub(super) struct BoxedCommand<'a> {
    pub(super) api: &'a Api,
    pub(super) plan: &'a BoxPlan,
    pub(super) task_run: &'a str,
    pub(super) task: &'a str,
    /// Where this machine keeps what the attempt left.
    pub(super) place: PathBuf,
    pub(super) limit: Duration,
}

/// The box of an attempt, which is up.
pub(super) struct UpBox {
    devbox: String,
    directory: String,
}

impl BoxedCommand<'_> {
    /// Brings the box up; where the server is, seen from inside. Or why there is none.
    pub(super) async fn bring_up(&self) -> anyhow::Result<Result<(UpBox, String), String>> {
        let seconds = self.limit.as_secs().saturating_add(MARGIN);
        let mut body = json!({"hosts": self.plan.hosts, "timeout": seconds.min(172_800)});
        for (member, value) in [
            ("blueprint_id", &self.plan.blueprint),
            ("object_id", &self.plan.object),
        ] {
            if let Some(value) = value {
                body[member] = json!(value);
            }
        }
        let path = format!("/task-runs/{}/devbox", self.task_run);
        let made = self.api.post(&path, &body).await.map_err(refused)?;
        let devbox = text(&made, "devbox_id")?;
        match box_is_ready(self.api, &devbox, self.task).await {
            Ok(()) => {}
            Err(TakeError::Api(error)) => return Err(refused(error)),
            Err(error) => return Ok(Err(error.to_string())),
        }
        let directory = match made["directory"].as_str() {
            Some(directory) => format!("{directory}/{FILES}"),
            None => ".".to_owned(),
        };
        let server = text(&made, "server_url")?;
        Ok(Ok((UpBox { devbox, directory }, server)))
    }

    /// Lets the command work in the box until it ends, its time is over, or nobody wants it any more.
    pub(super) async fn work(
        &self,
        up: &UpBox,
        command: &str,
        files: BTreeMap<&str, String>,
        mut variables: BTreeMap<String, String>,
        stop: &CancellationToken,
    ) -> anyhow::Result<Ending> {
        for (name, content) in files {
            self.write(up, &format!("{HOME}/{name}"), content).await?;
        }
        for (variable, name) in [
            ("PROCTOR_PROBLEM_FILE", "problem.md"),
            ("PROCTOR_TASK_FILE", "task.json"),
            ("PROCTOR_TRAJECTORY_FILE", "trajectory.json"),
            ("PROCTOR_USAGE_FILE", "usage.jsonl"),
        ] {
            variables.insert(variable.to_owned(), format!("$HOME/{HOME}/{name}"));
        }
        let lines = variables.iter().filter(|(name, _)| is_variable(name));
        let lines = lines.map(|(name, value)| match value.strip_prefix("$HOME/") {
            Some(rest) => format!("export {name}=\"$HOME\"/{}\n", quoted(rest)),
            None => format!("export {name}={}\n", quoted(value)),
        });
        let environment = format!("{HOME}/environment");
        self.write(up, &environment, lines.collect()).await?;
        let directory = quoted(&up.directory);
        let script =
            format!(". \"$HOME\"/{HOME}/environment && cd -- {directory} || exit 126\n{command}\n");
        let began = tokio::time::Instant::now();
        let path = format!("/v1/devboxes/{}/execute_async", up.devbox);
        let begun = self.api.post(&path, &json!({"command": script})).await;
        let execution = text(&begun.map_err(refused)?, "execution_id")?;
        let path = format!("/v1/devboxes/{}/executions/{execution}", up.devbox);
        let ending = loop {
            let left = self.limit.saturating_sub(began.elapsed());
            let seconds = left.as_secs_f64().min(WAIT as f64);
            let wait = json!({"statuses": ["completed"], "timeout_seconds": seconds});
            let waiting = format!("{path}/wait_for_status");
            let seen = tokio::select! {
                seen = self.api.post(&waiting, &wait) => seen,
                () = stop.cancelled() => break Ending::Abandoned,
            };
            match seen {
                Ok(seen) => match seen["exit_status"].as_i64() {
                    Some(status) => break Ending::Exited(i32::try_from(status).unwrap_or(-1)),
                    None => anyhow::bail!("the command has ended without a status"),
                },
                Err(error) if is_status(&error, 408) && began.elapsed() >= self.limit => {
                    break Ending::TimedOut;
                }
                Err(error) if is_status(&error, 408) => {}
                Err(error) => return Err(refused(error)),
            }
        };
        if matches!(ending, Ending::TimedOut | Ending::Abandoned) {
            let _ = self.api.post(&format!("{path}/kill"), &json!({})).await;
        }
        self.keep_log(&path).await?;
        Ok(ending)
    }

    async fn write(&self, up: &UpBox, file: &str, content: String) -> anyhow::Result<()> {
        let path = format!("/v1/devboxes/{}/write_file_contents", up.devbox);
        let body = json!({"file_path": file, "contents": content});
        self.api.post(&path, &body).await.map(drop).map_err(refused)
    }

    /// Keeps what the agent printed, as the log of an agent on this machine is kept.
    async fn keep_log(&self, execution: &str) -> anyhow::Result<()> {
        let path = format!("{execution}?last_n=20000");
        let Ok(seen) = self.api.get(&path).await else {
            return Ok(());
        };
        fs_err::create_dir_all(&self.place)?;
        let mut log = String::new();
        for stream in ["stdout", "stderr"] {
            let printed = seen[stream].as_str().unwrap_or_default();
            let cut = printed.len().saturating_sub(LOG_PART);
            let cut = (cut..=printed.len()).find(|at| printed.is_char_boundary(*at));
            log += &printed[cut.unwrap_or(printed.len())..];
        }
        Ok(fs_err::write(self.place.join("agent.log"), log)?)
    }

    /// What the agent used up so far.
    pub(super) async fn usage(&self, up: &UpBox) -> Option<String> {
        self.read(up, "usage.jsonl").await
    }

    /// What the agent left.
    pub(super) async fn left(&self, up: &UpBox) -> Left {
        Left {
            trajectory: self.read(up, "trajectory.json").await.map(Ok),
            usage: self.usage(up).await.map(Ok),
        }
    }

    async fn read(&self, up: &UpBox, file: &str) -> Option<String> {
        let path = format!("/v1/devboxes/{}/read_file_contents", up.devbox);
        let body = json!({"file_path": format!("{HOME}/{file}")});
        let request = self.api.text_of(&path, &body).await;
        request.ok().filter(|text| !text.is_empty())
    }

    /// Lets go of the box.
    pub(super) async fn shut_down(&self, up: &UpBox) {
        let path = format!("/v1/devboxes/{}/shutdown", up.devbox);
        // It ends with its task run in any case.
        let _: Result<Value, ApiError> = self.api.post(&path, &json!({})).await;
    }
}

fn is_status(error: &ApiError, status: u16) -> bool {
    error
        .status()
        .is_some_and(|answered| answered.as_u16() == status)
}

/// Refuses what is no host.
pub(super) fn check_hosts(hosts: &[String]) -> anyhow::Result<()> {
    for host in hosts {
        host.parse::<proctor_devbox::HostPattern>()
            .map_err(|bad| WrongUse(format!("--allow-host: {bad}")))
            .context("nothing was started")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_an_agent_are_packed_without_what_tools_make() {
        let place = tempfile::tempdir().unwrap();
        for file in ["agent.py", "lib/tools.py", ".git/HEAD", "target/debug/x"] {
            let file = place.path().join(file);
            fs_err::create_dir_all(file.parent().unwrap()).unwrap();
            fs_err::write(file, "x").unwrap();
        }
        let archive = packed(place.path()).unwrap();
        let into = tempfile::tempdir().unwrap();
        let root = into.path().join("tree");
        trees::unpack(archive.as_slice(), &root, trees::LARGEST_TREE).unwrap();
        assert!(root.join("files/agent.py").is_file());
        assert!(root.join("files/lib/tools.py").is_file());
        assert!(!root.join("files/.git").exists() && !root.join("files/target").exists());
        let large = fs_err::File::create(place.path().join("large")).unwrap();
        large.set_len(LARGEST + 1).unwrap();
        let told = packed(place.path()).unwrap_err().to_string();
        assert!(told.contains("--box-files"), "{told}");
    }

    #[test]
    fn hosts_are_checked_before_anything_is_started() {
        assert!(
            check_hosts(&["api.example.com".to_owned(), "*.example.com:443".to_owned()]).is_ok()
        );
        assert!(check_hosts(&["http://x".to_owned()]).is_err());
    }
}
