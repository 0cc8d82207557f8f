//! Job files on this machine: several become one, and what they name by path becomes what a server can read.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use proctor_engine::harbor::DirectoryTree;
use proctor_harbor::{
    job::{DatasetEntry, JobConfig, TaskPath, Where, document},
    task::Task,
    template::Template,
};
use serde_json::{Map, Value, json};

use crate::exit::WrongUse;

/// Reads job files; what a later one says goes before what an earlier one says.
pub(in crate::commands) fn read(paths: &[PathBuf]) -> Result<Value, WrongUse> {
    let mut whole = Value::Object(Map::new());
    for path in paths {
        let text = fs_err::read_to_string(path).map_err(|error| WrongUse(error.to_string()))?;
        let wrong = |told: String| WrongUse(format!("{}: {told}", path.display()));
        let read = document(&text).map_err(|problems| wrong(problems.to_string()))?;
        if !read.is_object() {
            return Err(wrong(
                "is not a job file: expected a map of keys".to_owned(),
            ));
        }
        merge(&mut whole, read);
    }
    Ok(whole)
}

/// Puts a document over another: maps member by member, everything else whole.
fn merge(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                match below.get_mut(&name) {
                    Some(known) => merge(known, value),
                    None => {
                        below.insert(name, value);
                    }
                }
            }
        }
        (below, above) => *below = above,
    }
}

/// Puts the texts of `extra_instruction_paths` before those of `extra_instructions`.
pub(in crate::commands) fn inline_instructions(job: &mut Value) -> Result<(), WrongUse> {
    let Some(paths) = job
        .as_object_mut()
        .and_then(|members| members.remove("extra_instruction_paths"))
    else {
        return Ok(());
    };
    let wrong = || WrongUse("extra_instruction_paths: expected a list of paths".to_owned());
    let mut texts = Vec::new();
    for path in paths.as_array().ok_or_else(wrong)? {
        let path = path.as_str().ok_or_else(wrong)?;
        let text = fs_err::read_to_string(path).map_err(|error| WrongUse(error.to_string()))?;
        texts.push(Value::String(text));
    }
    if let Some(Value::Array(own)) = job.get("extra_instructions") {
        texts.extend(own.iter().cloned());
    }
    job["extra_instructions"] = Value::Array(texts);
    Ok(())
}

/// A task directory on this machine that a job needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct LocalTask {
    /// Where it is.
    pub(super) directory: PathBuf,
    /// What it is called.
    pub(super) name: String,
    /// The data set that it is from.
    source: Option<String>,
    /// What its entry says besides.
    entry: Map<String, Value>,
}

/// Takes the tasks and data sets out of a job file that are on this machine. Other entries stay.
pub(in crate::commands) fn take_local(job: &mut Value) -> Result<Vec<LocalTask>, WrongUse> {
    let (config, _) = JobConfig::of(job).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        WrongUse(lines.join("\n"))
    })?;
    let mut found = Vec::new();
    let mut problems = Vec::new();
    keep_remote(job, "tasks", |place, entry| {
        let Some(Where::Path(TaskPath::Local(path))) =
            config.tasks.get(place).map(|task| &task.from)
        else {
            return true;
        };
        let directory = expanded(path);
        match base_name(&directory) {
            Some(name) if directory.join("task.toml").is_file() => found.push(LocalTask {
                directory,
                name,
                source: entry
                    .get("source")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
                entry: entry.clone(),
            }),
            _ => problems.push(format!(
                "tasks.{place}.path: there is no task.toml in {path}"
            )),
        }
        false
    });
    keep_remote(job, "datasets", |place, _| {
        let Some(entry) = config.datasets.get(place) else {
            return true;
        };
        let Where::Path(TaskPath::Local(path)) = &entry.from else {
            return true;
        };
        match dataset(&expanded(path), entry, config.proctor.strict_datasets) {
            Ok(tasks) => found.extend(tasks),
            Err(error) => problems.push(format!("datasets.{place}.path: {error}")),
        }
        false
    });
    match problems.is_empty() {
        true => Ok(found),
        false => Err(WrongUse(problems.join("\n"))),
    }
}

/// Keeps those entries of a list that `is_remote` says stay.
fn keep_remote(
    job: &mut Value,
    list: &str,
    mut is_remote: impl FnMut(usize, &Map<String, Value>) -> bool,
) {
    let Some(Value::Array(entries)) = job.get_mut(list) else {
        return;
    };
    let mut place = 0;
    entries.retain(|entry| {
        let empty = Map::new();
        let keep = is_remote(place, entry.as_object().unwrap_or(&empty));
        place += 1;
        keep
    });
}

/// The tasks of a data set that an entry chooses; or everything that is wrong with them.
fn dataset(
    directory: &Path,
    entry: &DatasetEntry,
    is_strict: bool,
) -> Result<Vec<LocalTask>, String> {
    let source = base_name(directory);
    let mut children: Vec<PathBuf> = Vec::new();
    for child in fs_err::read_dir(directory).map_err(|error| error.to_string())? {
        let child = child.map_err(|error| error.to_string())?.path();
        if child.join("task.toml").is_file() {
            children.push(child);
        }
    }
    children.sort();
    let names: Vec<String> = children
        .iter()
        .map(|child| base_name(child).unwrap_or_default())
        .collect();
    let chosen = entry.choose(&names).map_err(|none| none.to_string())?;
    let (mut tasks, mut invalid) = (Vec::new(), Vec::new());
    for place in chosen {
        let (directory, name) = (children[place].clone(), names[place].clone());
        let loaded = DirectoryTree::open(&directory)
            .map_err(|error| error.to_string())
            .and_then(|tree| Task::load(&tree, &name).map_err(|bad| bad.to_string()));
        match loaded {
            Ok(_) => tasks.push(LocalTask {
                directory,
                name,
                source: source.clone(),
                entry: Map::new(),
            }),
            Err(why) => invalid.push(format!("the task {name} is not valid: {why}")),
        }
    }
    match invalid.is_empty() || !is_strict {
        true => {
            for why in invalid {
                eprintln!("warning: {why}");
            }
            Ok(tasks)
        }
        false => Err(invalid.join("\n")),
    }
}

/// Puts a task back into a job file, by the path by which the server reads it.
pub(in crate::commands) fn put_back(job: &mut Value, task: &LocalTask, path: &str) {
    let mut entry = task.entry.clone();
    entry.insert("path".to_owned(), json!(path));
    if let Some(source) = &task.source {
        entry.insert("source".to_owned(), json!(source));
    }
    match job.get_mut("tasks") {
        Some(Value::Array(tasks)) => tasks.push(Value::Object(entry)),
        _ => job["tasks"] = json!([entry]),
    }
}

/// Every variable that a job file or its tasks take from elsewhere and give no default for.
pub(super) fn variables(job: &Value, tasks: &[LocalTask]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    templates(job, &mut found);
    for task in tasks {
        let text = fs_err::read_to_string(task.directory.join("task.toml"));
        let text = text.unwrap_or_default();
        for part in text.split('"') {
            note(part, &mut found);
        }
    }
    found
}

fn templates(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => note(text, found),
        Value::Array(items) => items.iter().for_each(|item| templates(item, found)),
        Value::Object(members) => members.values().for_each(|item| templates(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn note(text: &str, found: &mut BTreeSet<String>) {
    if let Some(template) = Template::of(text) {
        found.insert(template.variable.to_owned());
    }
}

/// A path, whose first part may be `~`.
fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// The last part of a path, also of one that ends with `.` or `..`.
fn base_name(path: &Path) -> Option<String> {
    let whole = fs_err::canonicalize(path).ok()?;
    Some(whole.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_file_goes_over_an_earlier_one() {
        let mut whole = json!({"n_attempts": 1, "retry": {"max_retries": 1, "min_wait_sec": 2}, "agents": [{}]});
        merge(
            &mut whole,
            json!({"n_attempts": 3, "retry": {"max_retries": 5}, "agents": [{"name": "nop"}]}),
        );
        assert_eq!(
            whole,
            json!({"n_attempts": 3, "retry": {"max_retries": 5, "min_wait_sec": 2}, "agents": [{"name": "nop"}]})
        );
    }

    #[test]
    fn local_tasks_are_taken_out_and_put_back_by_another_path() {
        let place = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            let task = place.path().join("set").join(name);
            fs_err::create_dir_all(task.join("tests")).unwrap();
            fs_err::create_dir_all(task.join("environment")).unwrap();
            fs_err::write(task.join("task.toml"), "[agent]\ntimeout_sec = 1.0\n").unwrap();
            fs_err::write(task.join("instruction.md"), "Do it.\n").unwrap();
            fs_err::write(task.join("tests/test.sh"), "true\n").unwrap();
        }
        let set = place.path().join("set");
        let mut job = json!({
            "tasks": [{"path": "tasks:own/x"}, {"path": set.join("one")}],
            "datasets": [{"path": set, "task_names": ["t*"]}],
        });
        let found = take_local(&mut job).unwrap();
        let names: Vec<&str> = found.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(job["datasets"], json!([]));
        put_back(&mut job, &found[1], "object:obj_1/two");
        assert_eq!(
            job["tasks"],
            json!([{"path": "tasks:own/x"}, {"path": "object:obj_1/two", "source": "set"}])
        );
        let mut missing = json!({"tasks": [{"path": place.path().join("none")}]});
        let error = take_local(&mut missing).unwrap_err().to_string();
        assert!(error.contains("there is no task.toml"), "{error}");
    }

    #[test]
    fn every_variable_from_elsewhere_is_found() {
        let job =
            json!({"agents": [{"env": {"A": "${KEY}", "B": "${OTHER:-x}", "C": "plain-$HOME"}}]});
        let found: Vec<String> = variables(&job, &[]).into_iter().collect();
        assert_eq!(found, ["KEY", "OTHER"]);
    }
}
