//! A task directory: what makes it valid, what the agent is told, where the tests are.

use std::io;

use proctor_core::problem::{Problem, Problems, in_words};

use super::config::{Step, TaskConfig, VerifierMode};
use crate::{
    digest::digest,
    selection::Selection,
    tree::{self, TaskTree},
    warning::Warning,
};

/// The largest text file of a task that is read whole.
const LARGEST_TEXT: usize = 4 << 20;

/// A task that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What it is called: by its package, else by its directory.
    pub name: String,
    /// What `task.toml` says.
    pub config: TaskConfig,
    /// What the agent is told in a task without steps; without canaries.
    pub instruction: String,
    /// The steps with what their directories hold, in order.
    pub steps: Vec<TaskStep>,
    /// Whether the task itself has a `tests` directory.
    pub has_tests: bool,
    /// Whether there is `tests/test.sh`.
    pub has_test_script: bool,
    /// Whether there is `solution/solve.sh`.
    pub has_solution: bool,
    /// Whether the verifier's image brings the tests.
    pub has_bundled_tests: bool,
    /// Whether there is an `environment` directory with a Dockerfile.
    pub has_dockerfile: bool,
    /// Whether it is put together by a compose file.
    pub has_compose: bool,
    /// The content hash.
    pub digest: String,
    /// What has no effect in it.
    pub warnings: Vec<Warning>,
}

/// A step with what its directory holds.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskStep {
    /// What `task.toml` says.
    pub config: Step,
    /// What the agent is told.
    pub instruction: String,
    /// Whether it has a `tests` directory.
    pub has_tests: bool,
    /// Whether it has a test script of its own.
    pub has_test_script: bool,
    /// Whether it has a `solution` directory.
    pub has_solution_directory: bool,
    /// Whether it has `solution/solve.sh`.
    pub has_solution: bool,
    /// Whether it has a `workdir` directory.
    pub has_workdir: bool,
    /// Whether that has a `setup.sh`.
    pub has_setup: bool,
}

/// Why a directory is not a task.
#[derive(Debug, thiserror::Error)]
pub enum BadTask {
    /// It is not valid: everything that is wrong.
    #[error("{}", in_words(&.0.clone().into_vec()))]
    Invalid(Problems),
    /// It cannot be read.
    #[error("a file of the task cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

impl Task {
    /// Reads a task directory that is called `directory`.
    pub fn load(tree: &dyn TaskTree, directory: &str) -> Result<Self, BadTask> {
        let refuse = |path: &str, message: &str| {
            BadTask::Invalid(Problems::from(Problem::error(path, message)))
        };
        let Some(text) = read_text(tree, "task.toml")? else {
            return Err(refuse("task.toml", "is missing"));
        };
        let (config, warnings) =
            TaskConfig::read(&text).map_err(|problems| BadTask::Invalid(below(problems)))?;
        let mut problems = Vec::new();
        let mut require = |is_there: bool, path: &str, message: &str| {
            if !is_there {
                problems.push(Problem::error(path, message));
            }
        };
        let is_file = |path: &str| tree::is_file(tree, path);
        let has_environment = tree::is_directory(tree, "environment");
        require(
            has_environment || config.environment.docker_image.is_some(),
            "environment",
            "is missing: a task needs an environment directory or environment.docker_image",
        );
        let has_bundled_tests = bundles_tests(tree, &config, None);
        let has_test_script = is_file("tests/test.sh");
        if config.steps.is_empty() {
            require(is_file("instruction.md"), "instruction.md", "is missing");
            require(
                has_test_script || has_bundled_tests,
                "tests/test.sh",
                "is missing, and no image of the verifier brings it",
            );
        }
        let mut steps = Vec::with_capacity(config.steps.len());
        for step in &config.steps {
            let at = |path: &str| format!("steps/{}/{path}", step.name);
            let is_file = |path: &str| tree::is_file(tree, &at(path));
            let is_directory = |path: &str| tree::is_directory(tree, &at(path));
            let own_script = is_file("tests/test.sh");
            require(
                is_file("instruction.md"),
                &at("instruction.md"),
                "is missing",
            );
            require(
                own_script || has_test_script || bundles_tests(tree, &config, Some(step)),
                &at("tests/test.sh"),
                "is missing, and so is tests/test.sh of the task",
            );
            steps.push(TaskStep {
                instruction: instruction(tree, &at("instruction.md"))?,
                has_tests: is_directory("tests"),
                has_test_script: own_script,
                has_solution_directory: is_directory("solution"),
                has_solution: is_file("solution/solve.sh"),
                has_workdir: is_directory("workdir"),
                has_setup: is_file("workdir/setup.sh"),
                config: step.clone(),
            });
        }
        let selection = Selection::of(tree)?;
        check_inputs(&selection, &config, &mut problems);
        for script in ["tests/test.sh", "solution/solve.sh"] {
            if is_file(script) && selection.is_excluded(script) {
                problems.push(Problem::error(script, "is left out by a .harborignore"));
            }
        }
        Problems::none_of(problems).map_err(BadTask::Invalid)?;
        let name = config.package.as_ref().map(|package| package.name.clone());
        Ok(Self {
            name: name.unwrap_or_else(|| directory.to_owned()),
            instruction: instruction(tree, "instruction.md")?,
            steps,
            has_tests: tree::is_directory(tree, "tests"),
            has_test_script,
            has_solution: is_file("solution/solve.sh"),
            has_bundled_tests,
            has_dockerfile: is_file("environment/Dockerfile"),
            has_compose: is_file("environment/docker-compose.yaml"),
            digest: digest(tree)?,
            warnings,
            config,
        })
    }

    /// Where the verifier of the task, or of one of its steps, runs.
    pub fn verifier_mode(&self, step: Option<&Step>) -> VerifierMode {
        step.and_then(|step| step.verifier.own_mode())
            .or_else(|| self.config.verifier.own_mode())
            .unwrap_or(VerifierMode::Shared)
    }

    /// The last part of its name, without what stands before a slash.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

/// Problems of `task.toml`, as seen from the task's directory.
fn below(problems: Problems) -> Problems {
    let problems = problems.into_vec().into_iter().map(|problem| Problem {
        path: match problem.path.as_str() {
            "" => "task.toml".to_owned(),
            path => format!("task.toml: {path}"),
        },
        ..problem
    });
    match Problems::none_of(problems.collect()) {
        Err(problems) => problems,
        Ok(()) => Problems::from(Problem::error("task.toml", "cannot be read")),
    }
}

/// Whether the image of a separate verifier brings the tests.
fn bundles_tests(tree: &dyn TaskTree, config: &TaskConfig, step: Option<&Step>) -> bool {
    let mode = step
        .and_then(|step| step.verifier.own_mode())
        .or_else(|| config.verifier.own_mode());
    if mode != Some(VerifierMode::Separate) {
        return false;
    }
    let of_step = step.map(|step| (&step.verifier, format!("steps/{}/tests", step.name)));
    let of_task = (&config.verifier, "tests".to_owned());
    of_step
        .into_iter()
        .chain([of_task])
        .any(|(verifier, tests)| {
            let has_image = verifier
                .environment
                .as_ref()
                .is_some_and(|environment| environment.docker_image.is_some());
            has_image
                || tree::is_file(tree, &format!("{tests}/Dockerfile"))
                || tree::is_file(tree, &format!("{tests}/docker-compose.yaml"))
        })
}

fn check_inputs(selection: &Selection<'_>, config: &TaskConfig, problems: &mut Vec<Problem>) {
    selection.check_links("tests", problems);
    selection.check_links("solution", problems);
    for step in &config.steps {
        selection.check_links(&format!("steps/{}", step.name), problems);
    }
}

fn read_text(tree: &dyn TaskTree, path: &str) -> io::Result<Option<String>> {
    let Some(bytes) = tree::read(tree, path)? else {
        return Ok(None);
    };
    if bytes.len() > LARGEST_TEXT {
        let message = format!("{path} has more than {LARGEST_TEXT} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("{path} is not UTF-8")))?;
    Ok(Some(text))
}

fn instruction(tree: &dyn TaskTree, path: &str) -> io::Result<String> {
    let text = read_text(tree, path)?.unwrap_or_default();
    Ok(strip_canary(&text).to_owned())
}

/// The text without the canaries at its beginning and the blank lines after them.
pub fn strip_canary(text: &str) -> &str {
    let mut rest = text;
    let mut next = |is_skipped: fn(&str) -> bool| {
        while !rest.is_empty() {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            if !is_skipped(line.trim()) {
                break;
            }
            rest = after;
        }
    };
    next(is_canary);
    next(str::is_empty);
    rest
}

fn is_canary(line: &str) -> bool {
    let line = line.to_lowercase();
    let inner = match line.strip_prefix("<!--") {
        Some(comment) => comment.strip_suffix("-->"),
        None => line.strip_prefix('#'),
    };
    inner.is_some_and(|inner| inner.contains("canary"))
}

/// An instruction with what a job adds to it.
pub fn with_extras(instruction: &str, extras: &[String]) -> String {
    let mut text = instruction.to_owned();
    for extra in extras {
        text.push_str("\n\n");
        text.push_str(extra);
    }
    text
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
