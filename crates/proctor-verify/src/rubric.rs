//! The criteria of a task, read once and checked on as many worlds as wanted.

use std::collections::BTreeMap;

use proctor_core::{
    criterion_run::{CriterionRun, is_missed},
    definition::{Check, Criterion, Task},
    environment::Entity,
    id::{
        IdSource,
        kinds::{CriterionId, CriterionRunId, TaskId},
    },
    problem::{Problem, in_words},
    scoring::{CriticalMiss, Mark, Score, Scorecard},
    time::Timestamp,
};
use proctor_simulation::exhibits::Exhibits;
use serde_json::{Value, json};

use crate::{
    capture::Captures,
    checks::judge,
    dependencies,
    outcome::Outcome,
    reader::Notes,
    registry::{Asked, Assertion, CheckRegistry},
    template::{Captured, Context, Scope},
    text_judge::{JudgeAnswers, JudgeQuestion},
};

/// The criteria of a task, ready to be checked.
pub struct Rubric {
    task: TaskId,
    entities: Vec<Entity>,
    captures: Captures,
    criteria: Vec<Prepared>,
}

struct Prepared {
    criterion: Criterion,
    is_critical: bool,
    /// The places of the criteria that it requires; none of those that are not there.
    requires: Vec<Option<usize>>,
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
            criterion: Criterion {
                // Read below, once.
                check: Check::Assertion(Value::Null),
                ..criterion.clone()
            },
            is_critical: task.is_critical(criterion),
            requires: criterion
                .requires
                .iter()
                .map(|key| dependencies::place_of(&task.criteria, key))
                .collect(),
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
            task: task.id,
            entities: task.entities.clone(),
            captures: Captures::read(&task.capture),
            criteria: task.criteria.iter().map(prepare).collect(),
        }
    }

    /// Whether any criterion asks what happened in the world. Then [`Rubric::judge`] must be shown a
    /// [`WorldRecord`](proctor_simulation::record::WorldRecord).
    pub fn reads_record(&self) -> bool {
        let reads = |one: &Prepared| one.check.as_ref().is_ok_and(Assertion::reads_record);
        self.criteria.iter().any(reads) || self.captures.reads_record()
    }

    /// What a judge of free text has to be asked before [`Rubric::judge_with`]; nothing for most rubrics.
    pub fn questions(&self, exhibits: &Exhibits<'_>, context: &Context) -> Vec<JudgeQuestion> {
        let asks = |one: &Prepared| {
            one.check
                .as_ref()
                .is_ok_and(|check| check.name() == judge::NAME)
        };
        if !self.criteria.iter().any(asks) {
            return Vec::new();
        }
        let captured = self.captures.take(exhibits, &self.entities, context);
        let nobody = JudgeAnswers::default();
        let question = |one: &Prepared| {
            let scope = self.scope(one, context, &captured, &nobody);
            let check = one.check.as_ref().ok()?;
            check.question(one.criterion.id, exhibits, &scope)
        };
        self.criteria.iter().filter_map(question).collect()
    }

    /// Checks every criterion on a world that no longer changes, without a judge of free text.
    pub fn judge(&self, exhibits: &Exhibits<'_>, context: &Context) -> Judgement {
        self.judge_with(exhibits, context, &JudgeAnswers::default())
    }

    /// Checks every criterion on a world that no longer changes, with what judges of free text answered.
    pub fn judge_with(
        &self,
        exhibits: &Exhibits<'_>,
        context: &Context,
        answers: &JudgeAnswers,
    ) -> Judgement {
        let outcomes = self.outcomes(exhibits, context, answers);
        let outcomes = self.together(outcomes);
        let missed = self
            .criteria
            .iter()
            .zip(&outcomes)
            .filter(|(one, outcome)| {
                one.is_critical && is_missed(outcome.score.value(), &outcome.evidence)
            });
        let missed: Vec<CriticalMiss> = missed
            .map(|(one, outcome)| CriticalMiss::new(self.task, &one.criterion, &outcome.details))
            .collect();
        let findings: Vec<Finding> = self
            .criteria
            .iter()
            .zip(outcomes)
            .map(|(one, outcome)| Finding {
                criterion: one.criterion.id,
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
            .map(|(one, finding)| Mark {
                score: finding.score,
                weight: one.criterion.weight,
                axis: one.criterion.axis.clone(),
            })
            .collect();
        Judgement {
            findings,
            scorecard: Scorecard::of_task(&marks).with_critical_misses(missed),
        }
    }

    /// What criteria count beside their own checks: those whose parts count only together, and those that count only if
    /// others are met.
    fn together(&self, mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        for (one, outcome) in self.criteria.iter().zip(&mut outcomes) {
            if one.criterion.all && outcome.score < Score::ONE && outcome.score > Score::ZERO {
                outcome.score = Score::ZERO;
                outcome.details.push_str("; its parts count only together");
            }
        }
        let requires: Vec<&[Option<usize>]> =
            self.criteria.iter().map(|one| &*one.requires).collect();
        let own: Vec<bool> = outcomes.iter().map(|one| one.score == Score::ONE).collect();
        let met = dependencies::met(&own, &requires);
        for (one, outcome) in self.criteria.iter().zip(&mut outcomes) {
            let named = one.requires.iter().zip(&one.criterion.requires);
            let unmet = named.filter(|(place, _)| place.is_none_or(|place| !met[place]));
            let unmet: Vec<&str> = unmet.map(|(_, key)| key.as_str()).collect();
            if !unmet.is_empty() {
                outcome.hold_back(&unmet);
            }
        }
        outcomes
    }

    /// What the templates of a criterion may name.
    fn scope<'a>(
        &'a self,
        criterion: &Prepared,
        context: &'a Context,
        captured: &'a Captured,
        answers: &'a JudgeAnswers,
    ) -> Scope<'a> {
        Scope {
            entities: &self.entities,
            input: criterion.input.and_then(|place| self.entities.get(place)),
            context,
            captured,
            answers,
        }
    }

    /// What is found out about each criterion. Those of one kind are checked together, so that what
    /// they see of the world is read once.
    fn outcomes(
        &self,
        exhibits: &Exhibits<'_>,
        context: &Context,
        answers: &JudgeAnswers,
    ) -> Vec<Outcome> {
        let mut kinds: BTreeMap<&str, (Vec<usize>, Vec<Asked<'_>>)> = BTreeMap::new();
        let mut outcomes = Vec::with_capacity(self.criteria.len());
        let captured = self.captures.take(exhibits, &self.entities, context);
        for (place, criterion) in self.criteria.iter().enumerate() {
            match &criterion.check {
                Ok(assertion) => {
                    let scope = self.scope(criterion, context, &captured, answers);
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
