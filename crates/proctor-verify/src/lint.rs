//! What authors are told about the criteria of a task before anybody takes it.

use proctor_core::{
    definition::{Check, Criterion, Task},
    environment::Entity,
    id::kinds::CriterionId,
    phrase::Phrase,
};

use crate::{problem::Problem, reader::Notes, registry, rubric::scorer_problem};

/// Something to tell the author of a criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Which criterion.
    pub criterion: CriterionId,
    /// How bad it is.
    pub severity: Severity,
    /// What, and where in the assertion.
    pub problem: Problem,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a look.
    Warning,
    /// The criterion can never be met: it must not be published.
    Error,
}

/// Everything there is to say about a task's criteria, in their order.
pub fn lint(task: &Task) -> Vec<Remark> {
    let remarks = task.criteria.iter().flat_map(|criterion| {
        let remark = |(severity, problem)| Remark {
            criterion: criterion.id,
            severity,
            problem,
        };
        lint_criterion(criterion, &task.entities)
            .into_iter()
            .map(remark)
    });
    remarks.collect()
}

/// Everything there is to say about a criterion of a task that is about `entities`.
pub fn lint_criterion(criterion: &Criterion, entities: &[Entity]) -> Vec<(Severity, Problem)> {
    let assertion = match &criterion.check {
        Check::Assertion(assertion) => assertion,
        Check::Scorer(_) => return vec![(Severity::Error, scorer_problem())],
    };
    let notes = Notes::default();
    registry::read(assertion, &notes);
    let mut wrong = notes.problems();
    wrong.extend(notes.doubts());
    wrong.extend(unresolved(entities, criterion, &notes));
    let wrong = wrong.into_iter().map(|problem| (Severity::Error, problem));
    let told = told(criterion, &notes).into_iter();
    wrong
        .chain(told.map(|problem| (Severity::Warning, problem)))
        .collect()
}

/// Templates that name nothing in this task.
fn unresolved(entities: &[Entity], criterion: &Criterion, notes: &Notes) -> Vec<Problem> {
    let input = criterion
        .input_entity
        .and_then(|id| entities.iter().find(|entity| entity.id == id));
    let references = notes.references().into_iter();
    references
        .filter_map(|(path, reference)| {
            let why = reference.of_entity(entities, input).err()?;
            let message = format!("{reference} does not resolve: {why}");
            Some(Problem { path, message })
        })
        .collect()
}

/// Expected values that the label gives away: takers may get to see labels.
fn told(criterion: &Criterion, notes: &Notes) -> Vec<Problem> {
    let label = Phrase::fold(&criterion.label);
    let expected = notes.expected().into_iter();
    expected
        .filter(|(_, text)| text.chars().count() > 1 && Phrase::fold(text).is_in(&label))
        .map(|(path, text)| Problem {
            path,
            message: format!("the label gives away the expected value \"{text}\""),
        })
        .collect()
}
