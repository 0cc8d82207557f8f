//! The criteria of a task, read once and checked on as many worlds as wanted.

use std::collections::BTreeMap;

use proctor_core::{
    criterion_run::CriterionRun,
    definition::{Check, Criterion, Task},
    environment::Entity,
    id::{
        IdSource,
        kinds::{CriterionId, CriterionRunId},
    },
    problem::{Problem, in_words},
    scoring::{Mark, Score, Scorecard, Weight},
    time::Timestamp,
};
use proctor_simulation::exhibits::Exhibits;
use serde_json::{Value, json};

use crate::{
    outcome::Outcome,
    reader::Notes,
    registry::{Asked, Assertion, CheckRegistry},
    template::{Context, Scope},
};

/// The criteria of a task, ready to be checked.
pub struct Rubric {
    entities: Vec<Entity>,
    criteria: Vec<Prepared>,
}

struct Prepared {
    id: CriterionId,
    weight: Weight,
    axis: Option<String>,
    /// The place of the input entity among the task's.
    input: Option<usize>,
    check: Result<Assertion, Vec<Problem>>,
}

/// What was found out about one criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which.
    pub criterion: CriterionId,
    /// Whether everything it asks for holds.
    pub passed: bool,
    /// The share that holds.
    pub score: Score,
    /// The finding in words, for people.
    pub details: String,
    /// What was found, for programs.
    pub evidence: Value,
}

/// What was found out about all criteria of a task, in their order, and what it comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// One for each criterion.
    pub findings: Vec<Finding>,
    /// The task's score.
    pub scorecard: Scorecard,
}

/// Everything that is wrong with an assertion: why it is not understood, or why it can never hold.
/// Drafts are warned about it, and what is published must have none.
pub fn problems(assertion: &Value, checks: &CheckRegistry) -> Vec<Problem> {
    let notes = Notes::default();
    checks.read(assertion, &notes);
    let mut problems = notes.problems();
    problems.extend(notes.extra().doubts());
    problems
}

/// Checks the criteria of a task on a world that no longer changes.
pub fn judge(
    task: &Task,
    checks: &CheckRegistry,
    exhibits: &Exhibits<'_>,
    context: &Context,
) -> Judgement {
    Rubric::compile(task, checks).judge(exhibits, context)
}

impl Rubric {
    /// Reads the criteria of a task. Those that are not understood will not be met.
    pub fn compile(task: &Task, checks: &CheckRegistry) -> Self {
        let prepare = |criterion: &Criterion| Prepared {
            id: criterion.id,
            weight: criterion.weight,
            axis: criterion.axis.clone(),
            input: criterion
                .input_entity
                .and_then(|id| task.entities.iter().position(|entity| entity.id == id)),
            check: match &criterion.check {
                Check::Assertion(assertion) => {
                    let notes = Notes::default();
                    checks
                        .read(assertion, &notes)
                        .ok_or_else(|| notes.problems())
                }
                Check::Scorer(_) => Err(vec![scorer_problem()]),
            },
        };
        Self {
            entities: task.entities.clone(),
            criteria: task.criteria.iter().map(prepare).collect(),
        }
    }

    /// Checks every criterion on a world that no longer changes.
    pub fn judge(&self, exhibits: &Exhibits<'_>, context: &Context) -> Judgement {
        let outcomes = self.outcomes(exhibits, context);
        let findings: Vec<Finding> = self
            .criteria
            .iter()
            .zip(outcomes)
            .map(|(criterion, outcome)| Finding {
                criterion: criterion.id,
                passed: outcome.score == Score::ONE,
                score: outcome.score,
                details: outcome.details,
                evidence: outcome.evidence,
            })
            .collect();
        let marks: Vec<Mark> = self
            .criteria
            .iter()
            .zip(&findings)
            .map(|(criterion, finding)| Mark {
                score: finding.score,
                weight: criterion.weight,
                axis: criterion.axis.clone(),
            })
            .collect();
        Judgement {
            findings,
            scorecard: Scorecard::of_task(&marks),
        }
    }

    /// What is found out about each criterion. Those of one kind are checked together, so that what
    /// they see of the world is read once.
    fn outcomes(&self, exhibits: &Exhibits<'_>, context: &Context) -> Vec<Outcome> {
        let mut kinds: BTreeMap<&str, (Vec<usize>, Vec<Asked<'_>>)> = BTreeMap::new();
        let mut outcomes = Vec::with_capacity(self.criteria.len());
        for (place, criterion) in self.criteria.iter().enumerate() {
            match &criterion.check {
                Ok(assertion) => {
                    let scope = Scope {
                        entities: &self.entities,
                        input: criterion.input.and_then(|place| self.entities.get(place)),
                        context,
                    };
                    let (places, asked) = kinds.entry(assertion.name()).or_default();
                    places.push(place);
                    asked.push(Asked { assertion, scope });
                    outcomes.push(None);
                }
                Err(problems) => outcomes.push(Some(unsupported(problems))),
            }
        }
        for (places, asked) in kinds.into_values() {
            let Some(first) = asked.first() else { continue };
            let found = first.assertion.run_all(exhibits, &asked);
            for (place, outcome) in places.into_iter().zip(found) {
                outcomes[place] = Some(outcome);
            }
        }
        let outcomes = outcomes.into_iter();
        outcomes
            .map(|outcome| outcome.expect("every criterion is checked"))
            .collect()
    }
}

/// What is said of a scorer that has no box to run in.
pub(crate) fn scorer_problem() -> Problem {
    Problem::error(
        "",
        "a scorer runs in a devbox, and this task is done in a playground",
    )
}

fn unsupported(problems: &[Problem]) -> Outcome {
    let listed: Value = problems
        .iter()
        .map(|problem| json!({"path": problem.path, "message": problem.message}))
        .collect();
    Outcome::nothing(
        format!("unsupported assertion: {}", in_words(problems)),
        json!({"unsupported": listed}),
    )
}

impl Judgement {
    /// The records of the findings, for the task run that `context` names.
    pub fn into_criterion_runs(
        self,
        context: &Context,
        ids: &dyn IdSource,
        started_at: Timestamp,
        completed_at: Timestamp,
    ) -> Vec<CriterionRun> {
        let findings = self.findings.into_iter();
        findings
            .map(|finding| CriterionRun {
                id: CriterionRunId::fresh(ids),
                task_run: context.task_run,
                criterion: finding.criterion,
                passed: finding.passed,
                score: finding.score,
                details: finding.details,
                evidence: finding.evidence,
                started_at,
                completed_at,
            })
            .collect()
    }
}
