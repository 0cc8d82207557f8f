//! Brings coding scenarios to a server: registers their scorers, creates what is missing, changes what is there.
//!
//! Things are recognised by name, so that a scenario keeps its id and its runs when it is brought again.

use std::collections::BTreeMap;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proctor_scenarios::{Scenario, ScenarioSet};
use serde_json::{Value, json};

use crate::api::{Api, ApiError};

/// What came of bringing scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedScenarios {
    /// The benchmark that they make up.
    pub benchmark_id: String,
    /// Whether it was not there before.
    pub created: bool,
    /// The scenarios, in order.
    pub scenarios: Vec<PushedScenario>,
}

/// What came of bringing one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedScenario {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether it was not there before.
    pub created: bool,
}

/// Brings scenarios to a server, and the benchmark that they make up.
pub async fn push_scenarios(api: &Api, set: &ScenarioSet) -> Result<PushedScenarios, ApiError> {
    push_scorers(api, &set.custom).await?;
    let mut scenarios = Vec::with_capacity(set.scenarios.len());
    for scenario in &set.scenarios {
        scenarios.push(push_scenario(api, scenario).await?);
    }
    let ids: Vec<&str> = scenarios
        .iter()
        .map(|scenario| scenario.id.as_str())
        .collect();
    let mut body = json!({"name": set.name, "scenario_ids": ids});
    if let Some(description) = &set.description {
        body["description"] = json!(description);
    }
    let (benchmark_id, created) =
        put(api, "/v1/benchmarks", "benchmarks", &set.name, &body).await?;
    Ok(PushedScenarios {
        benchmark_id,
        created,
        scenarios,
    })
}

async fn push_scorers(api: &Api, scorers: &BTreeMap<String, String>) -> Result<(), ApiError> {
    if scorers.is_empty() {
        return Ok(());
    }
    const PATH: &str = "/v1/scenarios/scorers";
    let there = listed(api, PATH, "scorers").await?;
    for (kind, script) in scorers {
        let body = json!({"type": kind, "bash_script": script});
        let known = there.iter().find(|scorer| scorer["type"] == json!(kind));
        match known {
            Some(scorer) if scorer["bash_script"] == json!(script) => {}
            Some(scorer) => {
                let id = api.text(PATH, scorer, "id")?;
                api.post(&format!("{PATH}/{id}"), &body).await?;
            }
            None => {
                api.post(PATH, &body).await?;
            }
        }
    }
    Ok(())
}

async fn push_scenario(api: &Api, scenario: &Scenario) -> Result<PushedScenario, ApiError> {
    let body = scenario.to_parameters();
    let (id, created) = put(api, "/v1/scenarios", "scenarios", &scenario.name, &body).await?;
    Ok(PushedScenario {
        id,
        name: scenario.name.clone(),
        created,
    })
}

/// Changes the thing of that name, or makes it. Answers its id, and whether it is new.
async fn put(
    api: &Api,
    path: &str,
    list: &str,
    name: &str,
    body: &Value,
) -> Result<(String, bool), ApiError> {
    let sought = utf8_percent_encode(name, NON_ALPHANUMERIC);
    let found = listed(api, &format!("{path}?name={sought}"), list).await?;
    // The server also finds names that merely hold the words.
    let known = found.iter().find(|one| one["name"] == json!(name));
    match known {
        Some(known) => {
            let id = api.text(path, known, "id")?;
            api.post(&format!("{path}/{id}"), body).await?;
            Ok((id, false))
        }
        None => {
            let made = api.post(path, body).await?;
            Ok((api.text(path, &made, "id")?, true))
        }
    }
}

/// Every element of a list of the Runloop dialect.
async fn listed(api: &Api, path: &str, list: &str) -> Result<Vec<Value>, ApiError> {
    let joint = if path.contains('?') { '&' } else { '?' };
    let mut all: Vec<Value> = Vec::new();
    loop {
        let mut page = format!("{path}{joint}limit=1000");
        if let Some(last) = all.last() {
            page.push_str(&format!("&starting_after={}", api.text(path, last, "id")?));
        }
        let mut answer = api.get(&page).await?;
        let found = match answer[list].take() {
            Value::Array(found) => found,
            _ => Vec::new(),
        };
        let more = answer["has_more"] == json!(true) && !found.is_empty();
        all.extend(found);
        if !more {
            return Ok(all);
        }
    }
}
