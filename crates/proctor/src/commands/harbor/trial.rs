//! `proctor harbor check --run`: whether tasks are what they say. The reference solution must be worth all of the reward, and doing nothing
//! none of it.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    check::{Finding, What},
    job_file,
    run::{Opened, run_whole},
};

/// The agents that are tried, and what each must be worth.
const AGENTS: [(&str, f64); 2] = [("oracle", 1.0), ("nop", 0.0)];
/// How far a reward may be from what it must be.
const TOLERANCE: f64 = 1e-9;

/// Runs the tasks of a path, and adds what came of them to what is known of it.
pub(super) async fn add(
    server: &Opened,
    path: &Path,
    findings: &mut [Finding],
) -> anyhow::Result<()> {
    let job = run_whole(server, job_of(path)?).await?;
    let mut others = outcomes(&job);
    for finding in findings.iter_mut() {
        let What::Task { name, .. } = &finding.what else {
            continue;
        };
        let name = name.clone();
        let (own, rest) = others.into_iter().partition(|one| one.task == name);
        others = rest;
        note(finding, own, false);
    }
    // The tasks of a job file are named by it alone.
    if let Some(last) = findings.last_mut() {
        note(last, others, true);
    }
    if let (Some(reason), Some(last)) = (job["failure_reason"].as_str(), findings.last_mut()) {
        last.problems.push(reason.to_owned());
    }
    Ok(())
}

/// What an agent came to with a task.
struct Tried {
    task: String,
    agent: &'static str,
    /// The reward, or what it failed with.
    came_to: String,
    is_right: bool,
}

fn note(finding: &mut Finding, tried: Vec<Tried>, has_many: bool) {
    for one in tried {
        let about = match has_many {
            true => format!("{}: {}", one.task, one.agent),
            false => one.agent.to_owned(),
        };
        if !one.is_right {
            let wanted = AGENTS.iter().find(|(name, _)| *name == one.agent);
            let wanted = wanted.map_or(0.0, |(_, wanted)| *wanted);
            let told = format!(
                "{about}: expected a reward of {wanted}, found {}",
                one.came_to
            );
            finding.problems.push(told);
        }
        finding.tried.push((about, one.came_to));
    }
}

/// The job that tries everything of a path.
fn job_of(path: &Path) -> anyhow::Result<Value> {
    let agents: Vec<Value> = AGENTS
        .iter()
        .map(|(name, _)| json!({"name": name}))
        .collect();
    let place = path.to_string_lossy();
    if !path.is_dir() {
        let mut job = job_file::read(&[path.to_owned()])?;
        job["agents"] = json!(agents);
        job["n_attempts"] = json!(1);
        return Ok(job);
    }
    let list = match path.join("task.toml").exists() {
        true => "tasks",
        false => "datasets",
    };
    Ok(json!({"job_name": "check", "agents": agents, list: [{"path": place}]}))
}

/// What every agent came to with every task.
fn outcomes(job: &Value) -> Vec<Tried> {
    let mut tried = Vec::new();
    let agents = job["benchmark_outcomes"].as_array().into_iter().flatten();
    for agent in agents {
        let known = AGENTS.iter().find(|(name, _)| agent["agent_name"] == *name);
        let Some((name, wanted)) = known else {
            continue;
        };
        for outcome in agent["scenario_outcomes"].as_array().into_iter().flatten() {
            let failure = outcome["failure_reason"]["exception_type"].as_str();
            let reward = outcome["score"].as_f64();
            tried.push(Tried {
                task: outcome["scenario_name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                agent: name,
                came_to: match (failure, reward) {
                    (Some(failure), _) => failure.to_owned(),
                    (None, Some(reward)) => reward.to_string(),
                    (None, None) => "no reward".to_owned(),
                },
                is_right: reward.is_some_and(|reward| (reward - wanted).abs() <= TOLERANCE),
            });
        }
    }
    tried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_that_earns_nothing_and_idleness_that_earns_something_are_wrong() {
        let job = json!({"benchmark_outcomes": [
            {"agent_name": "oracle", "scenario_outcomes": [
                {"scenario_name": "a", "score": 1.0},
                {"scenario_name": "b", "failure_reason": {"exception_type": "RewardFileNotFoundError"}},
            ]},
            {"agent_name": "nop", "scenario_outcomes": [{"scenario_name": "a", "score": 0.0}, {"scenario_name": "b", "score": 0.5}]},
        ]});
        let found = outcomes(&job);
        let told: Vec<(&str, &str, &str, bool)> = found
            .iter()
            .map(|one| {
                (
                    one.agent,
                    one.task.as_str(),
                    one.came_to.as_str(),
                    one.is_right,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("oracle", "a", "1", true),
                ("oracle", "b", "RewardFileNotFoundError", false),
                ("nop", "a", "0", true),
                ("nop", "b", "0.5", false),
            ]
        );
    }
}
