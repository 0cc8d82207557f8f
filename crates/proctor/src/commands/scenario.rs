//! `proctor scenario`.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use proctor_benchmarks::Api;
use serde_json::{Value, json};

use super::benchmark::answered;
use crate::{
    cli::ServerAccess,
    exit::{Exit, WrongUse},
};

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

pub(crate) async fn run(arguments: Scenario) -> anyhow::Result<Exit> {
    match arguments.action {
        ScenarioAction::Validate {
            scenarios,
            server,
            json,
        } => validate(&scenarios, server, json).await,
    }
}

/// Has scenarios proved by a server; the answer is no if one of them does not hold.
async fn validate(
    scenarios: &[String],
    server: ServerAccess,
    as_json: bool,
) -> anyhow::Result<Exit> {
    let api = Api::new(&server.server, server.key).map_err(|bad| WrongUse(bad.to_string()))?;
    let mut exit = Exit::Fine;
    for scenario in scenarios {
        let path = format!("/v1/scenarios/{scenario}/validate");
        let found = match api.post(&path, &json!({})).await {
            Ok(found) => found,
            Err(error) => return answered(error),
        };
        let holds = found["valid"]
            .as_bool()
            .context("the server's answer does not say whether the scenario holds")?;
        if !holds {
            exit = Exit::No;
        }
        if as_json {
            println!("{found}");
        } else {
            tell(scenario, &found);
        }
    }
    Ok(exit)
}

fn tell(scenario: &str, found: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mark = if found["valid"] == true { "ok" } else { "no" };
    println!(
        "{mark}  {scenario}  {}: {}",
        text(&found["validation_type"]),
        text(&found["verdict"])
    );
    for (name, trial) in [("untouched", "untouched"), ("reference", "reference")] {
        let run = &found[trial]["run"];
        let result = &run["scoring_contract_result"];
        match result["score"].as_f64() {
            Some(score) => println!("    {name}: {score:.3}"),
            None => println!("    {name}: no score, {}", text(&run["state"])),
        }
        for one in result["scoring_function_results"]
            .as_array()
            .into_iter()
            .flatten()
        {
            println!(
                "        {} {} ({})",
                one["score"],
                text(&one["scoring_function_name"]),
                text(&one["state"])
            );
        }
        if found[trial]["exit_status"]
            .as_i64()
            .is_some_and(|status| status != 0)
        {
            println!("        {}", text(&found[trial]["output"]).trim_end());
        }
    }
}
