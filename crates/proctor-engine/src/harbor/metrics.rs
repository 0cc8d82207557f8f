//! Metrics of a Harbor job as Harbor computes them: for each key of the rewards, over all trials of an agent, where what is missing counts 0.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{CriterionId, RunId, TaskRunId},
    job::Try,
};
use proctor_harbor::{metrics::Metric, rewards::Rewards};

use super::{HarborRules, export::rewards};
use crate::{engine::Engine, error::EngineError, jobs::JobDetails};

/// The metrics of an agent: for the name of each metric its value for each key.
pub type AgentMetrics = BTreeMap<String, BTreeMap<String, f64>>;

impl Engine {
    /// The metrics of each agent of a job, by its runs; none if it is not a Harbor job.
    pub(crate) async fn harbor_metrics(
        &self,
        details: &JobDetails,
        agents: &[Vec<RunId>],
    ) -> Result<Option<Vec<AgentMetrics>>, EngineError> {
        let plan = &details.job.plan;
        let Some(rules) = HarborRules::of(&plan.source) else {
            return Ok(None);
        };
        let prepared = self
            .inner
            .catalog
            .benchmark(self.store(), &plan.pinned.digest);
        let prepared = prepared.await?;
        // The last try of each attempt is what Harbor would have kept.
        let mut last: BTreeMap<_, &Try> = BTreeMap::new();
        for one in details.tries().iter().filter(|one| one.end.is_some()) {
            let kept = last.entry((one.run, one.task)).or_insert(one);
            if one.number > kept.number {
                *kept = one;
            }
        }
        let task_runs: Vec<TaskRunId> = last.values().filter_map(|one| one.task_run).collect();
        let found = self.store().criterion_runs_of(&task_runs).await?;
        let metrics = match &rules.config.metrics[..] {
            [] => vec![Metric::Mean],
            named => named.to_vec(),
        };
        let of_agent = |runs: &Vec<RunId>| {
            let trials = last.values().filter(|one| runs.contains(&one.run));
            let rewards: Vec<Option<Rewards>> = trials
                .map(|one| {
                    let (task, _) = prepared.task(one.task).ok()?;
                    let whole: CriterionId = task.criteria.first()?.id;
                    let mut records = found.get(&one.task_run?)?.iter();
                    rewards(records.find(|record| record.criterion == whole)?)
                })
                .collect();
            let named = metrics.iter();
            named
                .map(|metric| (metric.as_str().to_owned(), metric.of(&rewards)))
                .collect()
        };
        Ok(Some(agents.iter().map(of_agent).collect()))
    }
}
