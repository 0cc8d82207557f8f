//! The criteria of a task, read once and checked on as many worlds as wanted.

use proctor_core::{
    criterion_run::CriterionRun,
    definition::{Check, Criterion, Task},
    environment::Entity,
    id::{
        IdSource,
        kinds::{CriterionId, CriterionRunId},
    },
    scoring::{Mark, Score, Scorecard, Weight},
    time::Timestamp,
};
use proctor_playground::exhibits::Exhibits;
use serde_json::{Value, json};

use crate::{
    outcome::Outcome,
    problem::{Problem, in_words},
    reader::Notes,
    registry::{self, Runs},
    sight::Sight,
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
    check: Result<Box<dyn Runs>, Vec<Problem>>,
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
pub fn problems(assertion: &Value) -> Vec<Problem> {
    let notes = Notes::default();
    registry::read(assertion, &notes);
    let mut problems = notes.problems();
    problems.extend(notes.doubts());
    problems
}

/// Checks the criteria of a task on a world that no longer changes.
pub fn judge(task: &Task, exhibits: &Exhibits<'_>, context: &Context) -> Judgement {
    Rubric::compile(task).judge(exhibits, context)
}

impl Rubric {
    /// Reads the criteria of a task. Those that are not understood will not be met.
    pub fn compile(task: &Task) -> Self {
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
                    registry::read(assertion, &notes).ok_or_else(|| notes.problems())
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
        let sight = Sight::of(exhibits);
        let findings: Vec<Finding> = self
            .criteria
            .iter()
            .map(|criterion| self.find(criterion, &sight, context))
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

    fn find(&self, criterion: &Prepared, sight: &Sight<'_, '_>, context: &Context) -> Finding {
        let scope = Scope {
            entities: &self.entities,
            input: criterion.input.and_then(|place| self.entities.get(place)),
            context,
        };
        let outcome = match &criterion.check {
            Ok(check) => check.outcome(sight, &scope),
            Err(problems) => unsupported(problems),
        };
        Finding {
            criterion: criterion.id,
            passed: outcome.score == Score::ONE,
            score: outcome.score,
            details: outcome.details,
            evidence: outcome.evidence,
        }
    }
}

/// What is said of a scorer that has no box to run in.
pub(crate) fn scorer_problem() -> Problem {
    Problem {
        path: String::new(),
        message: "a scorer runs in a devbox, and this task is done in a playground".to_owned(),
    }
}

fn unsupported(problems: &[Problem]) -> Outcome {
    let listed: Value = problems.iter().map(Problem::to_value).collect();
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
