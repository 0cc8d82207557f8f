//! Instances of SWE-bench and SWE-smith, as they are published (JSON or a line each), as scenarios.
//!
//! A scenario's box holds the repository without its history, so that the fix cannot be looked up there. It is solved when every test
//! of `FAIL_TO_PASS` and of `PASS_TO_PASS` passes, after the instance's own tests were put in place over whatever the agent made of them.

mod instance;
mod setup;

use base64::Engine as _;
use proctor_core::shell::quoted;
use proctor_scorers::{Mode, ScoringSettings};
use serde_json::json;

pub use self::instance::{BadInstances, Instance, read_instances};
use crate::{patch, scenario::Scenario};

/// Which collection an instance is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// `patch` repairs the fault.
    SweBench,
    /// `patch` makes the fault; the other way round it repairs it.
    SweSmith,
}

/// Where the files of an instance's repository come from. Never from a server: boxes reach none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repository {
    /// A compressed archive (`tar.gz`) of the commit, which becomes part of the scenario.
    Archive(Vec<u8>),
    /// They are in the box already, with their history, which is made from this blueprint.
    Blueprint(String),
}

impl Repository {
    /// Where it is in a box, unless somebody says otherwise.
    const fn usual_directory(&self) -> &'static str {
        match self {
            // Commands of a launch run as the box's user, who can only make directories at home.
            Self::Archive(_) => "/home/user/testbed",
            // Where the images of both collections have it.
            Self::Blueprint(_) => "/testbed",
        }
    }
}

/// What all scenarios of an import have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// Which collection.
    pub collection: Collection,
    /// Where the repository is in the box: without it at home, or where a blueprint's image usually has it.
    pub working_directory: Option<String>,
    /// How tests are run; `{tests}` is where their files go.
    pub test_command: String,
}

impl ImportOptions {
    /// The usual ones.
    pub fn new(collection: Collection) -> Self {
        Self {
            collection,
            working_directory: None,
            test_command:
                "python3 -m pytest -rA --no-header --tb=short -p no:cacheprovider {tests}"
                    .to_owned(),
        }
    }
}

/// The scenario of an instance.
pub fn scenario(instance: &Instance, repository: &Repository, options: &ImportOptions) -> Scenario {
    let reference = match options.collection {
        Collection::SweBench => instance.patch.clone(),
        Collection::SweSmith => patch::reversed(&instance.patch),
    };
    let metadata = [
        ("source", Some(options.collection.as_str())),
        ("instance_id", Some(instance.id.as_str())),
        ("repo", Some(instance.repo.as_str())),
        ("base_commit", instance.base_commit.as_deref()),
        ("version", instance.version.as_deref()),
    ];
    let metadata = metadata
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
    let directory = options
        .working_directory
        .as_deref()
        .unwrap_or_else(|| repository.usual_directory());
    Scenario {
        name: instance.id.clone(),
        problem_statement: instance.problem_statement.clone(),
        additional_context: instance.hints.as_ref().map(|hints| json!({"hints": hints})),
        working_directory: Some(directory.to_owned()),
        launch_commands: setup::commands(instance, repository, options.collection, directory),
        blueprint_id: match repository {
            Repository::Blueprint(id) => Some(id.clone()),
            Repository::Archive(_) => None,
        },
        scoring_functions: vec![json!({
            "name": "tests",
            "weight": 1,
            "scorer": {"type": "python_script_scorer", "python_script": judge(instance, options)},
        })],
        // Tests load the agent's code, so they belong into a box that is thrown away.
        settings: ScoringSettings {
            mode: Mode::Clone,
            artifacts: Vec::new(),
        },
        reference_output: Some(reference),
        metadata: metadata.collect(),
        ..Scenario::default()
    }
}

impl Collection {
    /// Its name in metadata.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SweBench => "swe-bench",
            Self::SweSmith => "swe-smith",
        }
    }
}

/// The program that judges, and what it has to know.
fn judge(instance: &Instance, options: &ImportOptions) -> String {
    let all = || instance.fail_to_pass.iter().chain(&instance.pass_to_pass);
    let mut files: Vec<&str> = Vec::new();
    let test_files = patch::files(&instance.test_patch);
    let named = all().filter_map(|test| test.split_once("::").map(|(file, _)| file));
    for file in named {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    if files.is_empty() {
        files.extend(test_files.iter().map(String::as_str));
    }
    let files: Vec<String> = files.into_iter().map(quoted).collect();
    let case = json!({
        "test_patch": instance.test_patch,
        "test_files": test_files,
        "test_command": options.test_command.replace("{tests}", &files.join(" ")),
        "fail_to_pass": instance.fail_to_pass,
        "pass_to_pass": instance.pass_to_pass,
    });
    let case = base64::engine::general_purpose::STANDARD.encode(case.to_string());
    include_str!("judge.py").replace("@CASE@", &case)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance() -> Instance {
        let text = json!({
            "instance_id": "tiny__tiny-1", "repo": "tiny/tiny", "base_commit": "abc", "problem_statement": "Repair it.",
            "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "test_patch": "", "version": "1.0",
            "FAIL_TO_PASS": "[\"tests/test_x.py::test_a\"]", "PASS_TO_PASS": ["tests/test_x.py::test_b", "tests/it's.py::t"],
        });
        read_instances(&text.to_string()).unwrap().remove(0)
    }

    #[test]
    fn an_instance_becomes_a_scenario_that_can_be_read_back() {
        let instance = instance();
        let options = ImportOptions::new(Collection::SweBench);
        let repository = Repository::Archive(b"an archive".to_vec());
        let scenario = scenario(&instance, &repository, &options);
        assert!(scenario.scorers().is_ok());
        assert_eq!(
            scenario.reference_output.as_deref(),
            Some(instance.patch.as_str())
        );
        let mut parameters = scenario.to_parameters();
        parameters["scoring_contract"]["scoring_function_parameters"][0]["scorer"]["python_script"] =
            json!("…");
        insta::assert_snapshot!(format!("{parameters:#}"));

        let smith = ImportOptions::new(Collection::SweSmith);
        let scenario = super::scenario(&instance, &repository, &smith);
        assert_eq!(
            scenario.reference_output.as_deref(),
            Some("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+a\n-b\n")
        );
    }

    #[test]
    fn the_repository_of_a_blueprint_is_put_on_the_commit_of_its_instance() {
        let repository = Repository::Blueprint("bpt_1".to_owned());
        let options = ImportOptions::new(Collection::SweBench);
        let made = scenario(&instance(), &repository, &options);
        assert_eq!(made.blueprint_id.as_deref(), Some("bpt_1"));
        assert_eq!(made.working_directory.as_deref(), Some("/testbed"));
        insta::assert_snapshot!(made.launch_commands.join("\n\n"));

        let elsewhere = ImportOptions {
            working_directory: Some("/srv/it's".to_owned()),
            ..options
        };
        let made = scenario(&instance(), &repository, &elsewhere);
        assert_eq!(made.working_directory.as_deref(), Some("/srv/it's"));
        assert!(
            made.launch_commands
                .iter()
                .all(|command| !command.contains("/testbed"))
        );
    }
}
