//! `proctor import`.

mod repositories;

use anyhow::{Context as _, bail};
use proctor_benchmarks::{Api, PushedScenarios, push_scenarios};
use proctor_scenarios::{
    ScenarioSet, read_file,
    swe::{self, Collection, ImportOptions, Repository, read_instances},
};
use serde_json::json;

use self::repositories::{Repositories, Source};
use super::benchmark::answered;
use crate::{
    cli::{Import, ImportFormat},
    exit::{Exit, WrongUse},
    terminal,
};

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
