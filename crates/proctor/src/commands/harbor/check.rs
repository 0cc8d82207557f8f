//! `proctor harbor check`: everything that is wrong with tasks, data sets and job files.

use std::path::{Path, PathBuf};

use clap::Args;
use proctor_core::problem::Problems;
use proctor_engine::harbor::DirectoryTree;
use proctor_harbor::{
    Warning,
    job::JobConfig,
    task::{BadTask, Task},
};
use serde_json::{Value, json};

use super::{run::Target, trial};
use crate::{
    exit::{Exit, WrongUse},
    terminal,
};

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Task directories, directories of tasks, or job files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Run each task too: the oracle must have a reward of 1, and doing nothing one of 0
    #[arg(long)]
    run: bool,
    /// Print JSON, a line for each task, data set or job file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn run(arguments: Check) -> anyhow::Result<Exit> {
    let is_right = |finding: &Finding| finding.problems.is_empty();
    let mut checked = Vec::new();
    for path in &arguments.paths {
        checked.push((path, check(path)?));
    }
    if arguments.run {
        let server = arguments.target.open().await?;
        let tried = async {
            for (path, findings) in &mut checked {
                if findings.iter().all(is_right) {
                    trial::add(&server, path, findings).await?;
                }
            }
            anyhow::Ok(())
        };
        let tried = tried.await;
        server.close().await?;
        tried?;
    }
    let mut exit = Exit::Fine;
    for finding in checked.iter().flat_map(|(_, findings)| findings) {
        finding.tell(arguments.json);
        if !is_right(finding) {
            exit = Exit::No;
        }
    }
    Ok(exit)
}

/// What was found out about a task, a data set or a job file.
pub(super) struct Finding {
    path: PathBuf,
    /// What it is, if it can be read.
    pub(super) what: What,
    /// What stands in its way.
    pub(super) problems: Vec<String>,
    /// What has no effect in it.
    warnings: Vec<String>,
    /// What the oracle and doing nothing came to, if they were tried.
    pub(super) tried: Vec<(String, String)>,
}

pub(super) enum What {
    Task { name: String, digest: String },
    Dataset { tasks: usize },
    Job { agents: usize, attempts: u32 },
    Nothing,
}

/// Looks at a task, a data set with all of its tasks, or a job file.
fn check(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let kind = fs_err::metadata(path).map_err(|error| WrongUse(error.to_string()))?;
    if !kind.is_dir() {
        return Ok(vec![check_job(path)?]);
    }
    if path.join("task.toml").exists() {
        return Ok(vec![check_task(path)]);
    }
    check_dataset(path)
}

fn check_job(path: &Path) -> anyhow::Result<Finding> {
    let text = fs_err::read_to_string(path).map_err(|error| WrongUse(error.to_string()))?;
    Ok(match JobConfig::read(&text) {
        Ok((config, warnings)) => Finding {
            path: path.to_owned(),
            what: What::Job {
                agents: config.agents.len(),
                attempts: config.attempts,
            },
            problems: Vec::new(),
            warnings: said(&warnings),
            tried: Vec::new(),
        },
        Err(problems) => Finding::refused(path, in_lines(&problems)),
    })
}

fn check_task(path: &Path) -> Finding {
    let name = fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = name.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    let loaded = DirectoryTree::open(path)
        .map_err(BadTask::from)
        .and_then(|tree| Task::load(&tree, &name));
    match loaded {
        Ok(task) => Finding {
            path: path.to_owned(),
            problems: Vec::new(),
            warnings: said(&task.warnings),
            tried: Vec::new(),
            what: What::Task {
                name: task.name,
                digest: task.digest,
            },
        },
        Err(BadTask::Invalid(problems)) => Finding::refused(path, in_lines(&problems)),
        Err(error @ BadTask::Unreadable(_)) => Finding::refused(path, vec![error.to_string()]),
    }
}

/// Every directory in it, also one that is not a task: Harbor leaves those out without a word.
fn check_dataset(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut children: Vec<PathBuf> = Vec::new();
    for child in fs_err::read_dir(path)? {
        let child = child?.path();
        let is_hidden = child
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if child.is_dir() && !is_hidden {
            children.push(child);
        }
    }
    children.sort();
    let mut findings: Vec<Finding> = children.iter().map(|child| check_task(child)).collect();
    let tasks = findings
        .iter()
        .filter(|finding| finding.problems.is_empty())
        .count();
    let mut whole = Finding {
        path: path.to_owned(),
        what: What::Dataset { tasks },
        problems: Vec::new(),
        warnings: Vec::new(),
        tried: Vec::new(),
    };
    if tasks == 0 {
        whole.problems.push("there is no task in it".to_owned());
    }
    findings.push(whole);
    Ok(findings)
}

fn said(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

fn in_lines(problems: &Problems) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

impl Finding {
    fn refused(path: &Path, problems: Vec<String>) -> Self {
        Self {
            path: path.to_owned(),
            what: What::Nothing,
            problems,
            warnings: Vec::new(),
            tried: Vec::new(),
        }
    }

    fn tell(&self, as_json: bool) {
        if as_json {
            return terminal::print(format_args!("{}\n", self.to_json()));
        }
        let path = self.path.display();
        let what = match &self.what {
            What::Task { name, digest } => format!("task {name}, sha256:{digest}"),
            What::Dataset { tasks } => format!("data set of {tasks} tasks"),
            What::Job { agents, attempts } => {
                format!("job of {agents} agents, {attempts} attempts each")
            }
            What::Nothing => "cannot be run".to_owned(),
        };
        let mut lines = format!("{path}: {what}\n");
        if !self.tried.is_empty() {
            let tried = self.tried.iter();
            let tried: Vec<String> = tried
                .map(|(agent, came_to)| format!("{agent} {came_to}"))
                .collect();
            lines.push_str(&format!("  tried: {}\n", tried.join(", ")));
        }
        for problem in &self.problems {
            lines.push_str(&format!("  error: {problem}\n"));
        }
        for warning in &self.warnings {
            lines.push_str(&format!("  warning: {warning}\n"));
        }
        terminal::print(lines);
    }

    fn to_json(&self) -> Value {
        let mut document = json!({
            "path": self.path.display().to_string(),
            "problems": self.problems,
            "warnings": self.warnings,
        });
        if !self.tried.is_empty() {
            document["tried"] = self
                .tried
                .iter()
                .cloned()
                .map(|(agent, came_to)| (agent, json!(came_to)))
                .collect();
        }
        let what = match &self.what {
            What::Task { name, digest } => {
                json!({"type": "task", "name": name, "digest": format!("sha256:{digest}")})
            }
            What::Dataset { tasks } => json!({"type": "dataset", "tasks": tasks}),
            What::Job { agents, attempts } => {
                json!({"type": "job", "agents": agents, "attempts": attempts})
            }
            What::Nothing => json!({"type": null}),
        };
        if let (Value::Object(document), Value::Object(what)) = (&mut document, what) {
            document.extend(what);
        }
        document
    }
}
