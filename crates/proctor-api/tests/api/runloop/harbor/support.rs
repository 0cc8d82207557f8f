//! A server that runs Harbor tasks in real boxes, with a directory of tasks of its own.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_api::OfferedDevboxes;
use proctor_core::{agent::AgentManifest, blueprint::ImageDisk, time::ManualClock};
use proctor_devbox::{
    Backend, Base, BoxId, BoxSpec, Error, How, Property,
    local::{LocalBackend, LocalConfig},
};
use proctor_engine::{
    Extensions,
    harbor::{HarborSettings, HarborWorkshop},
    scenarios::Workshop,
};
use proctor_fleet::{
    Fleet, FleetOptions, GitOptions, Repositories,
    blueprints::{BlueprintOptions, Blueprints},
    mounts::Mounter,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Setup, TestServer};

pub(super) const PATH: &str = "/v1/benchmark_jobs";
/// The smallest `task.toml`.
pub(super) const PLAIN: &str = "version = \"1.0\"\n[agent]\ntimeout_sec = 60.0\n[verifier]\ntimeout_sec = 60.0\n[environment]\nnetwork_mode = \"no-network\"\n";
/// Tests that are passed where `/app/done` is.
pub(super) const TESTS: &str =
    "#!/bin/sh\nif [ -e /app/done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n";
/// Solves it.
pub(super) const SOLUTION: &str = "#!/bin/sh\ntouch /app/done\n";
/// The box of such a task.
pub(super) const DOCKERFILE: &str = "FROM base\nRUN mkdir -p /app\nWORKDIR /app\n";

pub(super) struct Harbor {
    pub(super) server: TestServer,
    fleet: Fleet,
    blueprints: Blueprints,
    backend: Arc<dyn Backend>,
    /// Where the directories of its own tasks are.
    pub(super) tasks: PathBuf,
    /// Where repositories are looked for first.
    pub(super) mirrors: PathBuf,
    _directory: tempfile::TempDir,
}

/// The files of a task.
#[derive(Clone)]
pub(super) struct Files(Vec<(String, String)>, Vec<(String, String)>);

impl Files {
    /// A task that is solved by a file.
    pub(super) fn plain() -> Self {
        Self(Vec::new(), Vec::new())
            .with("task.toml", PLAIN)
            .with("instruction.md", "Make the file /app/done.\n")
            .with("environment/Dockerfile", DOCKERFILE)
            .with("tests/test.sh", TESTS)
            .with("solution/solve.sh", SOLUTION)
    }

    /// Writes the files below a directory.
    pub(super) fn write(&self, place: &std::path::Path) {
        for (path, content) in &self.0 {
            let path = place.join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, content).unwrap();
        }
        for (path, target) in &self.1 {
            let path = place.join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, path).unwrap();
        }
    }

    /// The same with a link.
    pub(super) fn with_link(mut self, path: &str, target: &str) -> Self {
        self.1.push((path.to_owned(), target.to_owned()));
        self
    }

    /// The same with another file.
    pub(super) fn with(mut self, path: &str, content: &str) -> Self {
        self.0.retain(|(known, _)| known != path);
        self.0.push((path.to_owned(), content.to_owned()));
        self
    }

    /// The same without a file.
    pub(super) fn without(mut self, path: &str) -> Self {
        self.0.retain(|(known, _)| known != path);
        self
    }

    /// The same with more in its `task.toml`.
    pub(super) fn with_toml(self, more: &str) -> Self {
        let text = self.0.iter().find(|(path, _)| path == "task.toml");
        let text = format!("{}\n{more}\n", text.unwrap().1);
        self.with("task.toml", &text)
    }
}

impl Harbor {
    /// None where boxes cannot be sealed, because the tests do not run as root.
    pub(super) async fn start() -> Option<Self> {
        Self::start_with([]).await
    }

    /// The same with agents that its settings know.
    pub(super) async fn start_with<const N: usize>(
        agents: [(&str, AgentManifest); N],
    ) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        if fs_err::metadata("/proc/self").unwrap().uid() != 0 {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let tasks = directory.path().join("tasks");
        fs_err::create_dir(&tasks).unwrap();
        let config = LocalConfig::new(directory.path().join("boxes"));
        let backend: Arc<dyn Backend> = Arc::new(LocalBackend::open(config).unwrap());
        let (data, made) = (directory.path().to_owned(), Arc::clone(&backend));
        let settings = HarborSettings {
            tasks: [("own".to_owned(), tasks.clone())].into(),
            ..HarborSettings::default()
        };
        let boxes = |store: proctor_store::Store, clock: Arc<ManualClock>| async move {
            let options = FleetOptions::new(data.join("fleet"));
            let mut git = GitOptions::new(data.join("repositories"));
            git.mirrors = Some(data.join("mirrors"));
            let mounter = Mounter::new(store.clone(), Repositories::new(git));
            let mut building = BlueprintOptions::new(data.join("builds"));
            building.images.insert("base".to_owned(), ImageDisk::Host);
            let blueprints = Blueprints::new(store.clone(), Arc::clone(&made), mounter, building);
            let fleet = Fleet::open(options, store, made, clock).await.unwrap();
            fleet.recover().await.unwrap();
            let harbor = HarborWorkshop::open(
                data.join("harbor"),
                fleet.clone(),
                blueprints.clone(),
                settings,
            );
            let workshop = Workshop::on(&fleet).with_harbor(&fleet, harbor.unwrap());
            let offered = OfferedDevboxes {
                fleet: fleet.clone(),
                blueprints: Some(blueprints.clone()),
                ssh: None,
            };
            (Some(offered), Some(workshop), (fleet, blueprints))
        };
        let agents = agents.map(|(name, manifest)| (name.to_owned(), manifest));
        let setup = Setup {
            extensions: Extensions {
                agents: agents.into(),
                ..Extensions::shipped()
            },
            ..Setup::default()
        };
        let (server, (fleet, blueprints)) = setup.start_as(boxes).await;
        Some(Self {
            server,
            fleet,
            blueprints,
            backend,
            tasks,
            mirrors: directory.path().join("mirrors"),
            _directory: directory,
        })
    }

    /// Ends every box and the server.
    pub(super) async fn end(self) {
        while let Err(error) = self.backend.sweep(&BTreeSet::new()).await {
            assert!(matches!(error, Error::NoSuchBox(_)), "{error}");
        }
        self.blueprints.close().await;
        self.fleet.close().await;
    }

    /// Whether the memory of boxes is limited on this machine.
    pub(super) async fn limits_memory(&self) -> bool {
        let id = BoxId::new("probe").unwrap();
        let mut spec = BoxSpec::new(id, Base::Host);
        spec.limits.memory_bytes = Some(1 << 30);
        let probe = self.backend.create(spec).await.unwrap();
        let enforcement = probe.record().await.unwrap().enforcement;
        probe.destroy().await.unwrap();
        let mut lines = enforcement.iter();
        lines.any(|line| line.property == Property::MemoryLimit && line.how == How::Enforced)
    }

    /// The boxes that are there.
    pub(super) async fn boxes(&self) -> Vec<String> {
        let records = self.backend.list().await.unwrap();
        let ids = records.into_iter().map(|one| one.spec.id.to_string());
        ids.collect()
    }

    /// Makes a task that job files name as `tasks:own/NAME`.
    pub(super) fn task(&self, name: &str, files: &Files) {
        files.write(&self.tasks.join(name));
    }

    /// The answer to a job file.
    pub(super) async fn asked(&self, yaml: &str, query: &str) -> Answer {
        let body = json!({"spec": {"type": "harbor", "inline_yaml": yaml}});
        let path = format!("{PATH}{query}");
        self.server.ask(Method::POST, &path, body).await
    }

    /// What is wrong with a job file, in one text.
    pub(super) async fn refused(&self, yaml: &str) -> String {
        let answer = self.asked(yaml, "").await;
        assert_eq!(answer.status, 400, "{}", answer.body);
        answer.text("message")
    }

    /// A job when it is over.
    pub(super) async fn job(&self, yaml: &str) -> Value {
        self.job_within(yaml, Duration::from_secs(120)).await
    }

    /// The same, which may take a while.
    pub(super) async fn job_within(&self, yaml: &str, patience: Duration) -> Value {
        let body = json!({"spec": {"type": "harbor", "inline_yaml": yaml}});
        self.over_within(body, patience).await
    }

    /// Any job when it is over.
    pub(super) async fn over(&self, body: Value) -> Value {
        self.over_within(body, Duration::from_secs(120)).await
    }

    async fn over_within(&self, body: Value, patience: Duration) -> Value {
        let answer = self.server.ask(Method::POST, PATH, body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let path = format!("{PATH}/{}", answer.text("id"));
        let began = Instant::now();
        loop {
            let seen = self.server.read(&path).await.body;
            match seen["state"].as_str().unwrap() {
                "initializing" | "queued" | "running" => {}
                _ => return seen,
            }
            assert!(began.elapsed() < patience, "the job goes on: {seen:#}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Registers an agent with a manifest.
    pub(super) async fn register(&mut self, name: &str, manifest: &Value) {
        let made = self
            .server
            .ask(Method::POST, "/v1/agents", json!({"name": name}))
            .await;
        assert_eq!(made.status, 200, "{}", made.body);
        let path = format!("/v1/agents/{}/manifest", made.text("id"));
        let kept = self.server.own(Method::POST, &path).json(manifest);
        let kept = Answer::of(kept.send().await.unwrap()).await;
        assert_eq!(kept.status, 200, "{}", kept.body);
    }

    /// The files of a job in Harbor's layout.
    pub(super) async fn exported(&self, job: &Value) -> Vec<(String, Vec<u8>)> {
        let path = format!("{PATH}/{}/harbor.tar.zst", job["id"].as_str().unwrap());
        let answer = self.server.own(Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let packed = answer.bytes().await.unwrap();
        let tar = zstd::decode_all(&packed[..]).unwrap();
        let mut archive = tar::Archive::new(&tar[..]);
        let entries = archive.entries().unwrap();
        let files = entries.filter_map(|entry| {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
            entry
                .header()
                .entry_type()
                .is_file()
                .then_some((path, bytes))
        });
        files.collect()
    }

    /// What scorers noted of a scenario run.
    pub(super) async fn results(&self, job: &Value) -> Value {
        let path = format!("{PATH}/{}/results", job["id"].as_str().unwrap());
        self.server.read(&path).await.body
    }
}

/// What came of every trial, agent after agent.
pub(super) fn outcomes(job: &Value) -> Vec<Value> {
    let agents = job["benchmark_outcomes"].as_array().unwrap().iter();
    agents
        .flat_map(|agent| agent["scenario_outcomes"].as_array().unwrap().clone())
        .collect()
}

/// The reward of a trial, or what it failed with.
pub(super) fn reward(outcome: &Value) -> Result<f64, String> {
    match outcome["score"].as_f64() {
        Some(score) => Ok(score),
        None => {
            let name = outcome["failure_reason"]["exception_type"].as_str();
            Err(name.unwrap_or("nothing").to_owned())
        }
    }
}
