//! What can be asked for on the command line.

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use proctor_core::id::kinds::{CredentialId, OrganizationId, SolverId, WorldId};
use secrecy::SecretString;

use crate::{
    exit::WrongUse,
    image_settings::{MirrorSetting, RegistrySetting},
    settings::{ServeSettings, Settings, address},
};

/// Proctor examines AI agents: each task in a world of its own, everything recorded, every score
/// with its evidence.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server
    Serve(Box<Serve>),
    /// Make, list and revoke the keys that clients authenticate with
    Keys(Keys),
    /// Make and list the organizations of this server
    Organizations(Organizations),
    /// Check that no recorded event was changed, removed or added
    VerifyJournal(VerifyJournal),
    /// Check benchmark files, and bring them to a server and back
    Benchmark(Benchmark),
    /// Bring container images to this machine, take them out, list and remove them
    Image(Image),
    /// Bring coding scenarios to a server: files of our own, instances of SWE-bench or SWE-smith
    Import(Import),
    /// Prove scenarios of a server with their references
    Scenario(Scenario),
    /// Check Harbor's tasks, data sets and job files
    Harbor(Harbor),
    /// See it at work: the shipped benchmarks, a reference agent and a do-nothing agent
    Demo(Demo),
    /// Serve a FHIR R4 store by itself, to try it or to test against it
    Fhir(Fhir),
    /// Find out whether devboxes work on this machine, what is missing, and what that costs
    Doctor(Doctor),
    /// Compute intervals, comparisons, gates and leaderboards of scores from anywhere
    Stats(Stats),
    /// Compare two agents over the tasks that both took
    Compare(Compare),
    /// Decide whether a policy lets an agent through: PASS, FAIL or INCONCLUSIVE
    Gate(Box<Gate>),
    /// Show what came of a run or a task run
    Show(Show),
    /// Take a benchmark of a server with a command of yours
    Take(Take),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) serve: ServeSettings,
    /// Say that the server is ready as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) action: KeysAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysAction {
    /// Make a key and print it; it is shown only now
    Create {
        #[command(flatten)]
        target: KeysTarget,
        /// What to call it
        #[arg(long)]
        name: Option<String>,
    },
    /// List the keys that are in force
    List {
        #[command(flatten)]
        target: KeysTarget,
    },
    /// Take a key back
    Revoke {
        #[command(flatten)]
        target: KeysTarget,
        /// The id of the key, as `list` shows it
        id: CredentialId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Organizations {
    #[command(subcommand)]
    pub(crate) action: OrganizationsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrganizationsAction {
    /// Make an organization and print its first key; it is shown only now
    Create {
        #[command(flatten)]
        settings: Settings,
        /// What to call it
        name: String,
        #[command(flatten)]
        limits: OrganizationLimits,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List all organizations with their limits
    List {
        #[command(flatten)]
        settings: Settings,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OrganizationLimits {
    /// How many devboxes it may have at once [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) devboxes: Option<u32>,
    /// How many runs it may have at once [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// How many bytes of objects and disk snapshots it may store [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) storage: Option<u64>,
    /// How many requests a minute it may send, with all keys together [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<NonZeroU32>,
}

#[derive(Debug, Args)]
pub(crate) struct KeysTarget {
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// The organization; not needed while there is only one
    #[arg(long, value_name = "ID")]
    pub(crate) organization: Option<OrganizationId>,
    /// The Solver whose keys are meant; the organization's own without it
    #[arg(long, value_name = "ID")]
    pub(crate) solver: Option<SolverId>,
    /// The keys of whoever runs the server, which open /organizations and nothing else
    #[arg(long, conflicts_with_all = ["organization", "solver"])]
    pub(crate) operator: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyJournal {
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Only this world; all of them without it
    #[arg(long, value_name = "ID")]
    pub(crate) world: Option<WorldId>,
    /// Print JSON, a line for each world
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Benchmark {
    #[command(subcommand)]
    pub(crate) action: BenchmarkAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchmarkAction {
    /// Say everything that is wrong with benchmark files, and what a do-nothing agent would score
    Check {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Also let the reference agent replay the solutions, and require full marks
        #[arg(long)]
        oracle: bool,
        /// Print JSON, a line for each file
        #[arg(long)]
        json: bool,
    },
    /// Put harms, mutants and random calls into the reference solutions, and require that the rubric sees them
    Admit {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print the certificates as JSON, a line for each file
        #[arg(long)]
        json: bool,
    },
    /// Create or update a benchmark on a server; unchanged content changes nothing
    Push {
        /// The file
        file: PathBuf,
        /// Publish it, unless its newest version says the same
        #[arg(long)]
        publish: bool,
        #[command(flatten)]
        server: ServerAccess,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a benchmark of a server as a file
    Pull {
        /// Its slug, for the draft, or slug@version, for what was published
        name: String,
        /// Where to write it [default: standard output]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        server: ServerAccess,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Image {
    #[command(subcommand)]
    pub(crate) action: ImageAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageAction {
    /// Pull an image from its registry, which the settings must allow
    Pull {
        /// Its name, such as python:3.12-slim
        name: String,
        #[command(flatten)]
        target: ImageTarget,
    },
    /// Import an image: an OCI layout (directory or tar), what docker save wrote, or a tar of a root file system
    Import {
        /// The file or directory
        path: PathBuf,
        /// What to call it; needed where the file does not say
        #[arg(long)]
        name: Option<String>,
        /// A variable of its programs, NAME=VALUE; for root file systems only, may be repeated
        #[arg(long, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// Where its programs start; for root file systems only
        #[arg(long, value_name = "PATH")]
        workdir: Option<String>,
        /// Who runs its programs; for root file systems only
        #[arg(long)]
        user: Option<String>,
        #[command(flatten)]
        target: ImageTarget,
    },
    /// Add an image to an OCI layout, for a machine without a network
    Export {
        /// Its name or digest
        name: String,
        /// The directory of the layout, which is made if it is missing
        directory: PathBuf,
        #[command(flatten)]
        target: ImageTarget,
    },
    /// List the images that are here
    List {
        #[command(flatten)]
        target: ImageTarget,
    },
    /// Remove an image's name, and its files if nothing else is called so
    Remove {
        /// Its name or digest
        name: String,
        #[command(flatten)]
        target: ImageTarget,
    },
    /// Make a base of a distribution's packages: debian:12, ubuntu:24.04, python:3.12
    Make {
        /// What to make
        name: String,
        /// Directory of an interpreter for python:X.Y: bin/pythonX.Y and lib/pythonX.Y
        #[arg(long, value_name = "DIR")]
        python: Option<PathBuf>,
        /// The program that installs packages into a directory
        #[arg(long, value_name = "PROGRAM", default_value = "debootstrap")]
        debootstrap: PathBuf,
        #[command(flatten)]
        target: ImageTarget,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ImageTarget {
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// A registry that may be asked, besides those of the settings; may be repeated
    #[arg(long = "registry", value_name = "HOST")]
    pub(crate) registries: Option<Vec<RegistrySetting>>,
    /// Where packages of a distribution come from: NAME=URL; may be repeated
    #[arg(long = "mirror", value_name = "NAME=URL")]
    pub(crate) mirrors: Option<Vec<MirrorSetting>>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Scenario {
    #[command(subcommand)]
    pub(crate) action: ScenarioAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioAction {
    /// Score an untouched box and one that the reference was applied to
    Validate {
        /// The scenarios, by their ids
        #[arg(required = true, value_name = "SCENARIO")]
        scenarios: Vec<String>,
        #[command(flatten)]
        server: ServerAccess,
        /// Print JSON, one line a scenario
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServerAccess {
    /// The server
    #[arg(
        long,
        value_name = "URL",
        env = "PROCTOR_SERVER",
        default_value = "http://127.0.0.1:7070"
    )]
    pub(crate) server: String,
    /// A key of the organization
    #[arg(long, value_name = "KEY", env = "PROCTOR_KEY", hide_env_values = true)]
    pub(crate) key: SecretString,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file: YAML, or JSON with one instance a line or a list of them
    pub(crate) file: PathBuf,
    /// What it holds [default: by its name, YAML or SWE-bench]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ImportFormat>,
    /// What to call the benchmark of imported instances [default: the file's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) benchmark: Option<String>,
    /// Directory with the repositories of instances, as owner/name; they become part of the scenarios
    #[arg(long, value_name = "DIR", conflicts_with = "blueprint")]
    pub(crate) mirror: Option<PathBuf>,
    /// Blueprint whose boxes hold the repository already; it is put on the commit of each instance
    #[arg(long, value_name = "ID")]
    pub(crate) blueprint: Option<String>,
    /// Where repositories of instances are cloned from, on this machine, without a mirror or a
    /// blueprint; they become part of the scenarios
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://github.com/{repo}.git"
    )]
    pub(crate) git_url: String,
    /// Where the repository is in the box [default: /home/user/testbed, with a blueprint /testbed]
    #[arg(long, value_name = "PATH")]
    pub(crate) working_directory: Option<String>,
    /// How tests are run; {tests} is where their files go [default: pytest]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) test_command: Option<String>,
    /// Print the scenarios as JSON, one a line, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The server
    #[arg(
        long,
        value_name = "URL",
        env = "PROCTOR_SERVER",
        default_value = "http://127.0.0.1:7070"
    )]
    pub(crate) server: String,
    /// A key of the organization
    #[arg(
        long,
        value_name = "KEY",
        env = "PROCTOR_KEY",
        hide_env_values = true,
        required_unless_present = "dry_run"
    )]
    pub(crate) key: Option<SecretString>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Import {
    /// What the file holds.
    pub(crate) fn format(&self) -> ImportFormat {
        let by_name = || match self.file.extension().and_then(|name| name.to_str()) {
            Some("json" | "jsonl" | "ndjson") => ImportFormat::SweBench,
            _ => ImportFormat::Yaml,
        };
        self.format.unwrap_or_else(by_name)
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Scenarios in a file of our own
    Yaml,
    /// Instances of SWE-bench
    SweBench,
    /// Instances of SWE-smith
    SweSmith,
}

#[derive(Debug, Args)]
pub(crate) struct Harbor {
    #[command(subcommand)]
    pub(crate) action: HarborAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HarborAction {
    /// Say everything that is wrong with tasks, data sets and job files, and every key that has no effect
    Check {
        /// Task directories, directories of tasks, or job files
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Print JSON, a line for each task, data set or job file
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Directory that keeps what happens; without it everything is forgotten at the end
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Address and port to listen on; port 0 lets the system choose
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// End when the results are there, instead of serving on
    #[arg(long)]
    pub(crate) exit: bool,
    /// Print the results as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fhir {
    /// Address and port to listen on; port 0 lets the system choose
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7071", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Resources and bundles to begin with (JSON, or a resource a line in .ndjson)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) load: Vec<PathBuf>,
    /// Directory that keeps what happens; without it everything is forgotten at the end
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The address that clients see, where it is not the one listened on
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// What the ids that the store chooses follow from: the same seed, the same ids
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
    /// What happens to resources that break the rules of their type
    #[arg(long, value_name = "RULE", default_value = "enforced")]
    pub(crate) validation: FhirValidation,
    /// Only clients with a token may use it; they get one for this id and secret
    #[arg(
        long,
        value_name = "ID:SECRET",
        env = "PROCTOR_FHIR_CLIENT",
        hide_env_values = true
    )]
    pub(crate) client: Option<String>,
    /// Say that the store is ready as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// JSON: {"op": …, "input": …}, a list of such requests, or one a line; - is standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Print JSON, also on a terminal
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The baseline: ids of runs with commas between, latest:AGENT, or labels such as branch=main,newest=3
    pub(crate) a: String,
    /// What is compared with it, in the same forms
    pub(crate) b: String,
    /// Which question is asked
    #[arg(long, value_name = "QUESTION", default_value = "tasks")]
    pub(crate) about: Question,
    /// By what tasks belong together, such as tag:patient
    #[arg(long, value_name = "tag:NAME")]
    pub(crate) clusters: Option<String>,
    /// Compare every axis too
    #[arg(long)]
    pub(crate) axes: bool,
    /// Compare although versions, rubrics or limits differ
    #[arg(long)]
    pub(crate) even_though: bool,
    #[command(flatten)]
    pub(crate) server: ServerAccess,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Question {
    /// Tasks like these
    Tasks,
    /// These very tasks, run again
    Suite,
}

impl Question {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Suite => "suite",
        }
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Gate {
    #[command(subcommand)]
    pub(crate) action: Option<GateAction>,
    /// The candidate: ids of runs with commas between, latest:AGENT, or labels
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) options: GateRun,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GateAction {
    /// Write a policy to begin with
    Init {
        /// Where to write it
        #[arg(default_value = "gate.toml")]
        file: PathBuf,
        /// Write over what is there
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GateRun {
    /// What it is compared with, if that is not what the policy says
    #[arg(long, value_name = "RUNS")]
    pub(crate) baseline: Option<String>,
    /// The policy
    #[arg(long, value_name = "FILE", default_value = "gate.toml")]
    pub(crate) policy: PathBuf,
    /// What INCONCLUSIVE means to those who know two answers only
    #[arg(
        long,
        value_name = "ANSWER",
        default_value = "own",
        hide_default_value = true
    )]
    pub(crate) inconclusive: Inconclusive,
    /// Compare although versions, rubrics or limits differ
    #[arg(long)]
    pub(crate) even_though: bool,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// What a test case of the JUnit report is
    #[arg(long, value_name = "LEVEL", default_value = "task")]
    pub(crate) junit_level: JunitLevel,
    /// Write a summary in Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
    /// Write a badge as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
    /// Tell GitHub Actions: step summary, outputs, annotations, a comment on the pull request
    #[arg(long)]
    pub(crate) github: bool,
    /// When a pull request gets a comment
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) comment: CommentWhen,
    /// The benchmark's file in this repository, for the lines of annotations
    #[arg(long, value_name = "FILE")]
    pub(crate) benchmark_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: OptionalAccess,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A server whose key is asked for only if there is something to ask of it.
#[derive(Debug, Args)]
pub(crate) struct OptionalAccess {
    /// The server
    #[arg(
        long,
        value_name = "URL",
        env = "PROCTOR_SERVER",
        default_value = "http://127.0.0.1:7070"
    )]
    pub(crate) server: String,
    /// A key of the organization
    #[arg(long, value_name = "KEY", env = "PROCTOR_KEY", hide_env_values = true)]
    pub(crate) key: Option<SecretString>,
}

impl OptionalAccess {
    /// The key, which must be there by now.
    pub(crate) fn key(&self) -> Result<SecretString, WrongUse> {
        let missing =
            || WrongUse("a key of the organization is needed: --key or PROCTOR_KEY".to_owned());
        self.key.clone().ok_or_else(missing)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inconclusive {
    /// Exit with 4
    #[value(hide = true)]
    Own,
    /// Exit with 0, as for PASS
    Pass,
    /// Exit with 1, as for FAIL
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum JunitLevel {
    /// A task
    Task,
    /// A criterion; each task is a suite
    Criterion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommentWhen {
    /// If something changed, failed or is void; one that is there is kept up
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The id of a run or of a task run
    pub(crate) id: String,
    /// Only what did not pass
    #[arg(long)]
    pub(crate) failed: bool,
    #[command(flatten)]
    pub(crate) server: ServerAccess,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Take {
    /// The benchmark: slug@version
    pub(crate) benchmark: String,
    /// What takes it; runs are found again by this name
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: String,
    /// The command, for a shell. It finds PROCTOR_SERVER, PROCTOR_RUN_ID, PROCTOR_RUN_TOKEN, and the run
    /// as JSON in PROCTOR_RUN_FILE
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: String,
    /// Labels of the runs, such as branch=main,commit=a1b2c3d
    #[arg(long, value_name = "LABELS")]
    pub(crate) labels: Option<String>,
    /// How often every task is taken: a run each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    /// Let the agent see what explains its scores
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) server: ServerAccess,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FhirValidation {
    /// Refused, unless the client asks with `Prefer: validation=none`
    Enforced,
    /// Refused, whatever the client prefers
    Always,
    /// Stored
    Off,
}
