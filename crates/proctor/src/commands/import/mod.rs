//! `proctor import`.

mod repositories;

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use proctor_benchmarks::{Api, PushedScenarios, push_scenarios};
use proctor_scenarios::{
    ScenarioSet, read_file,
    swe::{self, Collection, ImportOptions, Repository, read_instances},
};
use secrecy::SecretString;
use serde_json::json;

use self::repositories::{Repositories, Source};
use super::benchmark::answered;
use crate::{
    exit::{Exit, WrongUse},
    terminal,
};

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

pub(crate) async fn run(arguments: Import) -> anyhow::Result<Exit> {
    tokio::select! {
        exit = import(arguments) => exit,
        // Here rather than by the signal itself, so that repositories which were fetched go away.
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
    }
}

async fn import(arguments: Import) -> anyhow::Result<Exit> {
    let text =
        fs_err::read_to_string(&arguments.file).map_err(|error| WrongUse(error.to_string()))?;
    let set = match read(&arguments, &text).await? {
        Ok(set) => set,
        Err(why) => {
            eprintln!("{}: error: {why}", arguments.file.display());
            return Ok(Exit::No);
        }
    };
    if arguments.dry_run {
        for scenario in &set.scenarios {
            terminal::print(format_args!("{}\n", scenario.to_parameters()));
        }
        return Ok(Exit::Fine);
    }
    let key = arguments.key.unwrap_or_default();
    let api = Api::new(&arguments.server, key).map_err(|bad| WrongUse(bad.to_string()))?;
    match push_scenarios(&api, &set).await {
        Ok(pushed) => {
            tell(&set, &pushed, arguments.json);
            Ok(Exit::Fine)
        }
        Err(error) => answered(error),
    }
}

/// Reads the file as what it is; what is wrong with it is an answer, what is wrong with the command an error.
async fn read(arguments: &Import, text: &str) -> anyhow::Result<Result<ScenarioSet, String>> {
    let collection = match arguments.format() {
        ImportFormat::Yaml => return Ok(read_file(text).map_err(|bad| bad.to_string())),
        ImportFormat::SweBench => Collection::SweBench,
        ImportFormat::SweSmith => Collection::SweSmith,
    };
    let mut options = ImportOptions::new(collection);
    options
        .working_directory
        .clone_from(&arguments.working_directory);
    if let Some(command) = &arguments.test_command {
        options.test_command.clone_from(command);
    }
    let instances = match read_instances(text) {
        Ok(instances) => instances,
        Err(bad) => return Ok(Err(bad.to_string())),
    };
    let mut repositories = Repositories::new(match &arguments.mirror {
        Some(mirror) => Source::Mirror(mirror),
        None => Source::Url(&arguments.git_url),
    })?;
    let mut scenarios = Vec::with_capacity(instances.len());
    for instance in &instances {
        let repository = match &arguments.blueprint {
            Some(blueprint) => Repository::Blueprint(blueprint.clone()),
            None => repositories
                .archive(instance)
                .await
                .map(Repository::Archive)
                .with_context(|| format!("the repository of {}", instance.id))?,
        };
        scenarios.push(swe::scenario(instance, &repository, &options));
    }
    let name = arguments.benchmark.clone().unwrap_or_else(|| {
        let stem = arguments.file.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    });
    Ok(Ok(ScenarioSet {
        name,
        description: Some(format!("Imported instances of {}", collection.as_str())),
        scenarios,
        ..ScenarioSet::default()
    }))
}

fn tell(set: &ScenarioSet, pushed: &PushedScenarios, json: bool) {
    if json {
        let scenarios = pushed
            .scenarios
            .iter()
            .map(|one| json!({"id": one.id, "name": one.name, "created": one.created}));
        let said = json!({
            "benchmark_id": pushed.benchmark_id,
            "created": pushed.created,
            "scenarios": scenarios.collect::<Vec<_>>(),
        });
        println!("{said}");
        return;
    }
    let created = pushed.scenarios.iter().filter(|one| one.created).count();
    println!(
        "{}: {}, {} scenarios ({created} new), benchmark {}",
        set.name,
        if pushed.created { "created" } else { "updated" },
        pushed.scenarios.len(),
        pushed.benchmark_id
    );
}
