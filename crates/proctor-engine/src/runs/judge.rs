//! From a frozen world to criterion runs and a score.

use proctor_core::{
    criterion_run::CriterionRun, id::kinds::TaskRunId, task_run::TaskRun, time::Timestamp,
};
use proctor_playground::exhibits::Exhibits;
use proctor_verify::{Context, Finding, Judgement, Rubric};

use crate::{engine::Engine, error::EngineError};

/// Judges a world by a rubric. Pure.
pub(crate) fn judge(
    rubric: &Rubric,
    task_run: &TaskRun,
    exhibits: &Exhibits<'_>,
) -> Result<Judgement, EngineError> {
    let started_at = task_run
        .started_at()
        .ok_or_else(|| EngineError::Fault("judged before it was started".to_owned()))?;
    let context = Context {
        task_run: task_run.id,
        started_at,
        now: exhibits.now,
    };
    Ok(rubric.judge(exhibits, &context))
}

impl Engine {
    /// The records of what was found.
    pub(crate) fn criterion_runs(
        &self,
        task_run: TaskRunId,
        findings: Vec<Finding>,
        began: Timestamp,
    ) -> Vec<CriterionRun> {
        let now = self.now();
        findings
            .into_iter()
            .map(|finding| CriterionRun {
                id: self.store().fresh_id(),
                task_run,
                criterion: finding.criterion,
                passed: finding.passed,
                score: finding.score,
                details: finding.details,
                evidence: finding.evidence,
                started_at: began,
                completed_at: now,
            })
            .collect()
    }
}
