//! Harbor's tasks, data sets and job files as benchmarks: a job of the server takes them.

use std::path::{Path, PathBuf};

use proctor_harbor::job::document;
use serde_json::{Value, json};

use super::{Run, drive::text, jobs};
use crate::{
    commands::{
        access::Connection,
        compare::refused,
        harbor::{
            job_file::{self, LocalTask},
            pack,
        },
    },
    exit::{Exit, WrongUse},
};

/// What is to be taken.
pub(super) enum HarborTasks {
    /// One task directory.
    Task(PathBuf),
    /// A directory of task directories.
    Dataset(PathBuf),
    /// An object at the server with one or the other.
    Object(String),
    /// A job file.
    JobFile(PathBuf),
}

/// A job of Harbor tasks that is to be made.
pub(super) struct HarborJob {
    file: Value,
    tasks: Vec<LocalTask>,
}

impl HarborTasks {
    /// What a name on the command line means, if it means Harbor's.
    pub(super) fn find(named: &str) -> Result<Option<Self>, WrongUse> {
        if named.starts_with("obj_") || named.starts_with("object:obj_") {
            let object = named.trim_start_matches("object:");
            return Ok(Some(Self::Object(object.to_owned())));
        }
        let path = Path::new(named);
        if path.is_dir() {
            if path.join("task.toml").is_file() {
                return Ok(Some(Self::Task(path.to_owned())));
            }
            let children = fs_err::read_dir(path).map_err(|error| WrongUse(error.to_string()))?;
            let mut children = children.filter_map(|child| Some(child.ok()?.path()));
            let is_dataset = children.any(|child| child.join("task.toml").is_file());
            return Ok(is_dataset.then(|| Self::Dataset(path.to_owned())));
        }
        if !path.is_file() {
            return Ok(None);
        }
        let text = fs_err::read_to_string(path).map_err(|error| WrongUse(error.to_string()))?;
        // What cannot be read is told by whoever reads the other formats.
        let is_job = document(&text).is_ok_and(|document| is_job_file(&document));
        Ok(is_job.then(|| Self::JobFile(path.to_owned())))
    }

    /// The job that takes them as the command says.
    pub(super) fn job(self, arguments: &Run) -> Result<HarborJob, WrongUse> {
        check(arguments)?;
        let mut file = match &self {
            Self::Task(path) => json!({"tasks": [{"path": path.to_string_lossy()}]}),
            Self::Dataset(path) => json!({"datasets": [{"path": path.to_string_lossy()}]}),
            Self::Object(object) => json!({"tasks": [{"path": format!("object:{object}")}]}),
            Self::JobFile(path) => {
                let mut file = job_file::read(std::slice::from_ref(path))?;
                job_file::inline_instructions(&mut file)?;
                file
            }
        };
        let is_file = matches!(self, Self::JobFile(_));
        if !arguments.tasks.is_empty() {
            let entries = file["datasets"].as_array_mut();
            let Some(entries) = entries.filter(|entries| !entries.is_empty()) else {
                return Err(WrongUse(
                    "--task chooses among the tasks of a data set".to_owned(),
                ));
            };
            for entry in entries {
                entry["task_names"] = json!(arguments.tasks);
            }
        }
        if arguments.attempts > 1 || !is_file {
            file["n_attempts"] = json!(arguments.attempts);
        }
        if arguments.at_once > 1 || !is_file {
            file["n_concurrent_trials"] = json!(arguments.at_once);
        }
        if arguments.strict {
            file["metadata"]["proctor_verifier"] = json!("strict");
        }
        if !arguments.agents.is_empty() {
            let agents: Result<Vec<Value>, WrongUse> = arguments
                .agents
                .iter()
                .map(|agent| entry_of(agent))
                .collect();
            file["agents"] = json!(agents?);
        }
        change_agents(&mut file, arguments)?;
        let tasks = job_file::take_local(&mut file)?;
        Ok(HarborJob { file, tasks })
    }
}

/// Whether a document is a job file, and not a benchmark or a file of scenarios.
fn is_job_file(document: &Value) -> bool {
    let has = |name: &str| !document[name].is_null();
    let is_other = has("slug") || has("environment_parameters") || has("scenarios");
    let has_tasks = document["tasks"].as_array().is_some_and(|tasks| {
        let names_one = |task: &Value| !task["path"].is_null() || !task["git_url"].is_null();
        !tasks.is_empty() && tasks.iter().all(names_one)
    });
    let has_datasets = document["datasets"].is_array();
    !is_other && (has_tasks || has_datasets)
}

/// Refuses what a job of Harbor tasks cannot be told.
fn check(arguments: &Run) -> Result<(), WrongUse> {
    let given = [
        ("--label", !arguments.labels.is_empty()),
        ("--agent-name", arguments.agent_name.is_some()),
        ("--agent-version", arguments.agent_version.is_some()),
        ("--scored", arguments.scored),
        ("--retry-void", arguments.retry_void.is_some()),
        ("--max-cost", arguments.max_cost.is_some()),
        ("--in-box", arguments.in_box.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(WrongUse(format!(
            "{option} cannot be used with Harbor tasks, which a job of the server takes in devboxes"
        ))),
        None => Ok(()),
    }
}

/// An agent of the command line as an entry of a job file.
fn entry_of(agent: &str) -> Result<Value, WrongUse> {
    let agent = agent.trim();
    let name = match agent {
        "" => return Err(WrongUse("--agent is empty".to_owned())),
        "null" | "nop" => "nop",
        named => named.strip_prefix("agent:").unwrap_or(named),
    };
    if agent.starts_with("model:") || name.contains(char::is_whitespace) {
        return Err(WrongUse(format!(
            "'{agent}' cannot take Harbor tasks: give oracle, nop, or the name of an agent that is registered at the server (docs/harbor.md)"
        )));
    }
    Ok(json!({"name": name}))
}

/// What the command says of every agent.
fn change_agents(file: &mut Value, arguments: &Run) -> Result<(), WrongUse> {
    if arguments.model.is_none() && arguments.kwargs.is_none() && arguments.timeout.is_none() {
        return Ok(());
    }
    let Some(agents) = file["agents"].as_array_mut() else {
        return Err(WrongUse(
            "--model, --kwargs and --timeout are about agents: say --agent too".to_owned(),
        ));
    };
    for agent in agents {
        if let Some(model) = &arguments.model {
            agent["model_name"] = json!(model);
        }
        if let Some(kwargs) = &arguments.kwargs {
            let kwargs: Value = serde_json::from_str(kwargs)
                .map_err(|error| WrongUse(format!("--kwargs is not a JSON object: {error}")))?;
            agent["kwargs"] = kwargs;
        }
        if let Some(timeout) = arguments.timeout {
            agent["override_timeout_sec"] = json!(timeout);
        }
    }
    Ok(())
}

/// Lets a job of the server take the tasks, and tells what came of it.
pub(super) async fn take(
    arguments: &Run,
    job: HarborJob,
    connection: &Connection,
) -> anyhow::Result<Exit> {
    if let Some(missing) = connection.missing_for_boxes().await {
        return Err(WrongUse(format!("Harbor tasks are done in devboxes: {missing}")).into());
    }
    let api = &connection.api;
    let mut file = job.file;
    for task in &job.tasks {
        let path = pack::upload(api, task).await?;
        job_file::put_back(&mut file, task, &path);
    }
    let body = json!({"spec": {"type": "harbor", "inline_yaml": file.to_string()}});
    let made = api.post("/v1/benchmark_jobs", &body).await;
    let made = made.map_err(refused)?;
    jobs::finish(api, &text(&made, "id")?, arguments).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_files_are_told_from_benchmarks_and_scenarios() {
        assert!(is_job_file(&json!({"datasets": [{"path": "x"}]})));
        assert!(is_job_file(
            &json!({"tasks": [{"path": "x"}], "n_attempts": 3})
        ));
        assert!(!is_job_file(
            &json!({"slug": "a", "tasks": [{"name": "x"}], "datasets": {}})
        ));
        assert!(!is_job_file(&json!({"scenarios": []})));
        assert!(!is_job_file(&json!("text")));
    }

    #[test]
    fn null_and_nop_are_one_agent_and_commands_are_refused() {
        for name in ["null", "nop"] {
            assert_eq!(entry_of(name).unwrap(), json!({"name": "nop"}));
        }
        assert_eq!(entry_of("agent:mine").unwrap(), json!({"name": "mine"}));
        assert!(entry_of("python3 agent.py").is_err());
        assert!(entry_of("model:openai/x").is_err() && entry_of(" ").is_err());
    }
}
