//! What came of all attempts: the runs' own results, pooled by task.

use anyhow::Context as _;
use proctor_benchmarks::Api;
use proctor_core::{
    id::kinds::{RunKind, TaskKind},
    results::{AttemptResult, Summary, TryResult},
    scoring::{Score, Verdict},
    task_run::{Cause, Fault},
};
use serde_json::{Value, json};

use crate::{
    commands::{
        compare::{JSON_VERSION, read, refused},
        show::either,
    },
    report::{answers::Results, tables},
};

/// What came of all runs of a command.
pub(super) struct Pooled {
    name: String,
    runs: Vec<String>,
    attempts: Vec<Value>,
    warnings: Vec<Value>,
    /// The numbers over all attempts.
    pub(super) summary: Summary,
}

impl Pooled {
    /// Reads what came of runs, each an attempt at every task.
    pub(super) async fn read(api: &Api, name: &str, runs: &[String]) -> anyhow::Result<Self> {
        let (mut attempts, mut warnings, mut typed) = (Vec::new(), Vec::new(), Vec::new());
        for (run, number) in runs.iter().zip(1_u32..) {
            let path = format!("/benchmark-runs/{run}/results?criteria=true");
            let mut answer = api.get(&path).await.map_err(refused)?;
            for warning in answer["warnings"].as_array().into_iter().flatten() {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
            let agent = answer["agents"].get_mut(0);
            let found = agent.and_then(|agent| agent["attempts"].as_array_mut());
            for mut attempt in found.map(std::mem::take).unwrap_or_default() {
                attempt["attempt"] = json!(number);
                typed.push(result_of(run, number, &attempt)?);
                attempts.push(attempt);
            }
        }
        Ok(Self {
            name: name.to_owned(),
            runs: runs.to_vec(),
            attempts,
            warnings,
            summary: Summary::of(&typed),
        })
    }

    /// Adds what is not as it should be.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        self.warnings.extend(warnings.into_iter().map(Value::from));
    }

    /// What the agent used up in all attempts; null if it reported nothing. A cost is unknown if that of any part is.
    fn usage(&self) -> Value {
        let mut all = self.attempts.iter().map(|attempt| &attempt["usage"]);
        let reported: Vec<&Value> = all.by_ref().filter(|usage| usage.is_object()).collect();
        if reported.is_empty() {
            return Value::Null;
        }
        let tokens = |name: &str| {
            reported
                .iter()
                .filter_map(|usage| usage[name].as_u64())
                .sum::<u64>()
        };
        let costs: Option<Vec<f64>> = reported
            .iter()
            .map(|usage| usage["cost_usd"].as_f64())
            .collect();
        json!({
            "input_tokens": tokens("input_tokens"),
            "cached_tokens": tokens("cached_tokens"),
            "output_tokens": tokens("output_tokens"),
            "cost_usd": costs.map(|costs| costs.iter().sum::<f64>()),
        })
    }

    /// The verdict over everything: no better than `fail` where something critical was missed.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let missed = |attempt: &Value| {
            attempt["critical_misses"]
                .as_array()
                .is_some_and(|misses| !misses.is_empty())
        };
        match self.attempts.iter().any(missed) {
            true => Some(Verdict::Fail),
            false => verdict_of(self.summary.score),
        }
    }

    /// Whether something says nothing about the agent.
    pub(super) fn is_incomplete(&self) -> bool {
        self.summary.scored < self.summary.planned
    }

    fn agent(&self, with_details: bool) -> Value {
        let summary = &self.summary;
        let attempts = self.attempts.iter().cloned().map(|mut attempt| {
            if !with_details && let Some(members) = attempt.as_object_mut() {
                members.remove("details");
            }
            attempt
        });
        let mut agent = json!({
            "name": self.name,
            "run_ids": self.runs,
            "summary": {
                "score": summary.score,
                "low": summary.interval.map(|interval| interval.low),
                "high": summary.interval.map(|interval| interval.high),
                "about": summary.interval.map(|_| "tasks"),
                "planned": summary.planned,
                "scored": summary.scored,
                "void": summary.void,
                "agent_faults": summary.agent_faults,
                "worst": summary.worst,
                "best": summary.best,
            },
            "attempts": attempts.collect::<Value>(),
        });
        let usage = self.usage();
        if usage.is_object() {
            agent["usage"] = usage;
        }
        agent
    }

    /// All of it as one object.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "version": JSON_VERSION,
            "score": self.summary.score,
            "verdict": self.verdict().map(|verdict| verdict.to_string()),
            "run_ids": self.runs,
            "agents": [self.agent(false)],
            "warnings": self.warnings,
        })
    }

    /// All of it as a table.
    pub(super) fn to_table(&self) -> anyhow::Result<String> {
        let found: Results = read(json!({"agents": [self.agent(true)]}))?;
        let mut said = tables::results(&self.runs.join(","), &found, &[], false);
        for warning in self.warnings.iter().filter_map(Value::as_str) {
            said += &format!("note: {warning}\n");
        }
        Ok(said)
    }
}

/// What was reported to be spent in runs so far.
pub(super) async fn spent(api: &Api, runs: &[String]) -> anyhow::Result<f64> {
    let mut spent = 0.0;
    for run in runs {
        let path = format!("/benchmark-runs/{run}/results");
        let answer = api.get(&path).await.map_err(refused)?;
        let attempts = answer["agents"][0]["attempts"].as_array();
        let attempts = attempts.into_iter().flatten();
        spent += attempts
            .filter_map(|attempt| attempt["usage"]["cost_usd"].as_f64())
            .sum::<f64>();
    }
    Ok(spent)
}

/// The verdict that a score deserves.
pub(super) fn verdict_of(score: Option<f64>) -> Option<Verdict> {
    score
        .and_then(|score| Score::new(score).ok())
        .map(Verdict::of)
}

/// An attempt of an answer, as the numbers are made from.
fn result_of(run: &str, number: u32, attempt: &Value) -> anyhow::Result<AttemptResult> {
    let odd = || format!("the server's answer about {run} is not as expected");
    let task = attempt["task"].as_str().with_context(odd)?;
    let cause = attempt["cause"].as_str();
    let cause =
        cause.and_then(|named| Cause::ALL.into_iter().find(|cause| cause.as_str() == named));
    let score = attempt["score"].as_f64();
    let result = match (cause, score) {
        (Some(cause), _) => {
            let reason = attempt["reason"].as_str().unwrap_or_default();
            TryResult::faulted(Fault::new(cause, reason))
        }
        (None, Some(score)) => TryResult::scored(Score::new(score).ok().with_context(odd)?),
        (None, None) => TryResult::Pending,
    };
    Ok(AttemptResult {
        task: either::<TaskKind>(task).ok().with_context(odd)?,
        attempt: number,
        run: either::<RunKind>(run).ok().with_context(odd)?,
        tries: attempt["tries"]
            .as_u64()
            .and_then(|tries| u32::try_from(tries).ok())
            .with_context(odd)?,
        result,
        task_run: None,
    })
}
