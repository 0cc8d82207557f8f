//! What the tests share: boxes of their own, an agent at work in them, and orders to judge them.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use proctor_devbox::{
    Backend, Base, BoxId, BoxSpec, Devbox, ExecId, ExecSpec, How, Property, Stream, User,
    local::{LocalBackend, LocalConfig},
};
use proctor_scorers::{
    JudgeOrder, Judgement, Scored, ScorerKinds, ScoringFunction, judge, read_contract,
};
use proctor_testkit::eventually;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Where agents work.
pub(crate) const WORK: &str = "/home/user/work";

/// A backend on a directory of its own, which goes away with it.
pub(crate) struct Boxes {
    pub(crate) backend: Arc<LocalBackend>,
    directory: TempDir,
}

impl Boxes {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = LocalConfig::new(directory.path());
        Self {
            backend: Arc::new(LocalBackend::open(config).unwrap()),
            directory,
        }
    }

    /// Where the backend keeps everything.
    pub(crate) fn data(&self) -> &Path {
        self.directory.path()
    }

    /// A box that an agent works in.
    pub(crate) async fn agent(&self) -> Agent<'_> {
        let id = BoxId::new(format!("agent-{}", number())).unwrap();
        let devbox = self
            .backend
            .create(BoxSpec::new(id, Base::Host))
            .await
            .unwrap();
        devbox.start().await.unwrap();
        let agent = Agent {
            boxes: self,
            devbox,
        };
        agent.does(&format!("mkdir -p {WORK}")).await;
        agent
    }

    /// Whether boxes here have several users, which [`proctor_scorers::Mode::Artifacts`] needs.
    pub(crate) async fn have_many_users(&self) -> bool {
        let agent = self.agent().await;
        let enforcement = agent.devbox.record().await.unwrap().enforcement;
        agent.devbox.destroy().await.unwrap();
        let have = enforcement
            .iter()
            .any(|line| line.property == Property::ManyUsers && matches!(line.how, How::Enforced));
        if !have {
            eprintln!("skipped: boxes have one user only on this host");
        }
        have
    }

    /// Destroys every box and lets go.
    pub(crate) async fn end(self) {
        self.backend.sweep(&BTreeSet::new()).await.unwrap();
        self.backend.drain().await;
    }
}

fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Somebody who works in a box.
pub(crate) struct Agent<'a> {
    boxes: &'a Boxes,
    pub(crate) devbox: Arc<dyn Devbox>,
}

impl Agent<'_> {
    /// Runs a script to its end; answers what it wrote. What it leaves in the background goes on.
    pub(crate) async fn does(&self, script: &str) -> String {
        self.does_as(&User::Root, script).await
    }

    /// Waits until a program with just these words as its command line runs in the box.
    pub(crate) async fn meets(&self, command_line: &str) {
        let look = format!("pgrep -xf '{command_line}'");
        eventually(&format!("`{command_line}` runs"), async || {
            !self.does(&look).await.is_empty()
        })
        .await;
    }

    /// The same as somebody else.
    pub(crate) async fn does_as(&self, user: &User, script: &str) -> String {
        let id = ExecId::new(format!("work-{}", number())).unwrap();
        let mut spec = ExecSpec::new(id, ["/bin/bash", "-c", &format!("exec 2>&1\n{script}")]);
        spec.timeout = Some(Duration::from_secs(60));
        spec.user = user.clone();
        let execution = self.devbox.exec(spec).await.unwrap();
        execution.wait().await.unwrap();
        let mut all = Vec::new();
        loop {
            let chunk = execution
                .read_output(Stream::Stdout, all.len() as u64, 1 << 20)
                .await
                .unwrap();
            all.extend_from_slice(&chunk.bytes);
            if chunk.last {
                return String::from_utf8(all).unwrap();
            }
        }
    }

    /// Writes a file below the working directory.
    pub(crate) async fn writes(&self, path: &str, content: &str) {
        let path = format!("{WORK}/{path}");
        self.devbox
            .write_file(&path, &User::Root, None, &mut content.as_bytes())
            .await
            .unwrap();
    }

    /// Has the box judged.
    pub(crate) async fn judged(&self, order: &JudgeOrder) -> Judgement {
        judge(self.boxes.backend.as_ref(), self.devbox.as_ref(), order)
            .await
            .unwrap()
    }

    /// Has the box judged by one scorer.
    pub(crate) async fn scored(&self, scorer: Value) -> Scored {
        self.judged(&order(scorer)).await.results.remove(0)
    }
}

/// An order for one scorer.
pub(crate) fn order(scorer: Value) -> JudgeOrder {
    JudgeOrder {
        working_directory: Some(WORK.to_owned()),
        time_limit: Duration::from_secs(120),
        ..JudgeOrder::new(format!("judge-{}", number()), functions(&[scorer]))
    }
}

/// Scoring functions that count the same.
pub(crate) fn functions(scorers: &[Value]) -> Vec<ScoringFunction> {
    let weight = 1.0 / scorers.len() as f64;
    let functions: Vec<Value> = scorers
        .iter()
        .enumerate()
        .map(|(place, scorer)| json!({"name": format!("s{place}"), "weight": weight, "scorer": scorer}))
        .collect();
    let contract = json!({"scoring_function_parameters": functions});
    read_contract(&ScorerKinds::builtin(), &contract).unwrap()
}
