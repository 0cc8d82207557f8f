//! `proctor import`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;
use proctor_benchmarks::{Api, PushedScenarios, push_scenarios};
use proctor_scenarios::{
    ScenarioSet, read_file,
    swe::{self, Collection, ImportOptions, Instance, Repository, read_instances},
};
use serde_json::json;

use super::benchmark::answered;
use crate::{
    cli::{Import, ImportFormat},
    exit::{Exit, WrongUse},
    terminal,
};

/// The largest archive that becomes part of a scenario.
const LARGEST_ARCHIVE: usize = 8 << 20;

pub(crate) async fn run(arguments: Import) -> anyhow::Result<Exit> {
    let text =
        fs_err::read_to_string(&arguments.file).map_err(|error| WrongUse(error.to_string()))?;
    let set = match read(&arguments, &text)? {
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
fn read(arguments: &Import, text: &str) -> anyhow::Result<Result<ScenarioSet, String>> {
    let collection = match arguments.format() {
        ImportFormat::Yaml => return Ok(read_file(text).map_err(|bad| bad.to_string())),
        ImportFormat::SweBench => Collection::SweBench,
        ImportFormat::SweSmith => Collection::SweSmith,
    };
    let mut options = ImportOptions::new(collection);
    if let Some(directory) = &arguments.working_directory {
        options.working_directory.clone_from(directory);
    }
    if let Some(command) = &arguments.test_command {
        options.test_command.clone_from(command);
    }
    let instances = match read_instances(text) {
        Ok(instances) => instances,
        Err(bad) => return Ok(Err(bad.to_string())),
    };
    let mut scenarios = Vec::with_capacity(instances.len());
    for instance in &instances {
        let repository = repository(arguments, instance)
            .with_context(|| format!("the repository of {}", instance.id))?;
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

fn repository(arguments: &Import, instance: &Instance) -> anyhow::Result<Repository> {
    if let Some(blueprint) = &arguments.blueprint {
        return Ok(Repository::Blueprint(blueprint.clone()));
    }
    if let Some(mirror) = &arguments.mirror {
        return archive(mirror, instance).map(Repository::Archive);
    }
    Ok(Repository::Url(
        arguments.git_url.replace("{repo}", &instance.repo),
    ))
}

/// The instance's commit in a local mirror: `DIR/owner/name`, `DIR/owner__name` or `DIR/name`, each also with `.git` behind it.
fn archive(mirror: &Path, instance: &Instance) -> anyhow::Result<Vec<u8>> {
    let name = instance.repo.rsplit('/').next().unwrap_or(&instance.repo);
    let names = [
        instance.repo.clone(),
        instance.repo.replace('/', "__"),
        name.to_owned(),
    ];
    let places: Vec<PathBuf> = names
        .iter()
        .flat_map(|name| [mirror.join(name), mirror.join(format!("{name}.git"))])
        .collect();
    let Some(place) = places.iter().find(|place| place.is_dir()) else {
        let first = mirror.join(&instance.repo);
        return Err(WrongUse(format!("there is no {}", first.display())).into());
    };
    let commit = instance.base_commit.as_deref().unwrap_or("HEAD");
    let done = Command::new("git")
        .arg("-C")
        .arg(place)
        .args(["archive", "--format=tar.gz", commit])
        .output()
        .context("git cannot be run")?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(WrongUse(format!("{}: {}", place.display(), said.trim())).into());
    }
    if done.stdout.len() > LARGEST_ARCHIVE {
        return Err(WrongUse(format!(
            "{} is {} bytes as an archive, more than the {LARGEST_ARCHIVE} that fit into a scenario; use --blueprint or --git-url",
            place.display(),
            done.stdout.len()
        ))
        .into());
    }
    Ok(done.stdout)
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
