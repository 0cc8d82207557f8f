//! From what was frozen to criterion runs and a score.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    criterion_run::CriterionRun,
    definition::{Check, Criterion, Task},
    id::kinds::{CriterionId, TaskRunId},
    scoring::{CriticalMiss, Mark, Score, Scorecard},
    task_run::TaskRun,
    time::Timestamp,
};
use proctor_simulation::exhibits::Exhibits;
use proctor_verify::{Context, Finding, JudgeAnswers, JudgeQuestion, Judgement, Rubric};
use serde_json::json;

use crate::{
    engine::Engine,
    error::EngineError,
    scenarios::{Disk, ScorerFinding, ScorerState, Scoring},
};

/// Judges a world by a rubric, with what judges of free text answered. Pure.
pub(crate) fn judge(
    rubric: &Rubric,
    task_run: &TaskRun,
    exhibits: &Exhibits<'_>,
    answers: &JudgeAnswers,
) -> Result<Judgement, EngineError> {
    let context = context(task_run, exhibits)?;
    Ok(rubric.judge_with(exhibits, &context, answers))
}

/// What a judge of free text has to be asked before.
pub(crate) fn questions(
    rubric: &Rubric,
    task_run: &TaskRun,
    exhibits: &Exhibits<'_>,
) -> Result<Vec<JudgeQuestion>, EngineError> {
    let context = context(task_run, exhibits)?;
    Ok(rubric.questions(exhibits, &context))
}

fn context(task_run: &TaskRun, exhibits: &Exhibits<'_>) -> Result<Context, EngineError> {
    let started_at = task_run
        .started_at()
        .ok_or_else(|| EngineError::Fault("judged before it was started".to_owned()))?;
    Ok(Context {
        task_run: task_run.id,
        started_at,
        now: exhibits.now,
    })
}

/// A task run that scorers judged.
pub(crate) struct Judging<'a> {
    pub(crate) task: &'a Task,
    pub(crate) rubric: &'a Rubric,
    pub(crate) task_run: &'a TaskRun,
    pub(crate) began: Timestamp,
}

/// What was found out about one criterion.
#[derive(Clone)]
struct Found {
    score: Score,
    details: String,
    evidence: serde_json::Value,
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

    /// The score that follows from what the scorers said, and the records behind it.
    pub(crate) fn judged_by_scorers(
        &self,
        judging: &Judging<'_>,
        scoring: &Scoring,
    ) -> Result<(Scorecard, Vec<CriterionRun>), EngineError> {
        let now = self.now();
        let assertions = judging.assertions(now)?;
        let mut marks = Vec::with_capacity(judging.task.criteria.len());
        let mut records = Vec::with_capacity(judging.task.criteria.len());
        for criterion in &judging.task.criteria {
            let found = match &criterion.check {
                Check::Scorer(_) => Found::by_scorer(criterion, scoring),
                Check::Assertion(_) => assertions.get(&criterion.id).cloned(),
            };
            let found = found.unwrap_or_else(Found::nothing);
            marks.push(Mark {
                score: found.score,
                weight: criterion.weight,
                axis: criterion.axis.clone(),
            });
            records.push(CriterionRun {
                id: self.store().fresh_id(),
                task_run: judging.task_run.id,
                criterion: criterion.id,
                passed: found.score == Score::ONE,
                score: found.score,
                details: found.details,
                evidence: found.evidence,
                started_at: judging.began,
                completed_at: now,
            });
        }
        let missed = judging.task.criteria.iter().zip(&records);
        let missed = missed
            .filter(|(criterion, record)| judging.task.is_critical(criterion) && record.is_missed())
            .map(|(criterion, record)| {
                CriticalMiss::new(judging.task.id, criterion, &record.details)
            });
        let card = Scorecard::of_task(&marks).with_critical_misses(missed);
        Ok((card, records))
    }
}

impl Judging<'_> {
    /// What assertions find in a world that has no playground.
    fn assertions(&self, now: Timestamp) -> Result<BTreeMap<CriterionId, Found>, EngineError> {
        let is_assertion = |one: &Criterion| matches!(one.check, Check::Assertion(_));
        if !self.task.criteria.iter().any(is_assertion) {
            return Ok(BTreeMap::new());
        }
        let nobody = JudgeAnswers::default();
        let judgement = judge(self.rubric, self.task_run, &Exhibits::at(now), &nobody)?;
        let found = judgement.findings.into_iter().map(|finding| {
            let found = Found {
                score: finding.score,
                details: finding.details,
                evidence: finding.evidence,
            };
            (finding.criterion, found)
        });
        Ok(found.collect())
    }
}

impl Found {
    fn by_scorer(criterion: &Criterion, scoring: &Scoring) -> Option<Self> {
        let finding = scoring
            .findings
            .iter()
            .find(|finding| finding.criterion == criterion.id)?;
        let ScorerFinding {
            score,
            state,
            output,
            took,
            evidence: more,
            ..
        } = finding;
        let (layer, not_kept) = match &scoring.disk {
            Disk::Kept(layer) => (Some(layer), None),
            Disk::NotKept(why) => (None, Some(why)),
        };
        let mut evidence = json!({
            "state": state.as_str(),
            "mode": scoring.mode,
            "took_ms": millis(*took),
            "layer": layer,
            "not_kept": not_kept,
        });
        if let (Some(evidence), Some(more)) = (evidence.as_object_mut(), more.as_object()) {
            evidence.extend(more.clone());
        }
        Some(Self {
            score: *score,
            details: output.clone(),
            evidence,
        })
    }

    fn nothing() -> Self {
        Self {
            score: Score::ZERO,
            details: "nothing was found out about this criterion".to_owned(),
            evidence: json!({"state": ScorerState::Error.as_str()}),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
