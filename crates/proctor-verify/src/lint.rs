//! What authors are told about the criteria of a task before anybody takes it.

use std::collections::BTreeSet;

use proctor_core::{
    definition::{Check, Criterion, Task},
    environment::Entity,
    id::kinds::CriterionId,
    phrase::Phrase,
    problem::Problem,
};
use serde_json::Value;

use crate::{checks::judge, reader::Notes, registry::CheckRegistry, rubric::scorer_problem};

/// Something to tell the author of a criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Which criterion.
    pub criterion: CriterionId,
    /// What, and where in the assertion. With an error the criterion can never be met: it must not be published.
    pub problem: Problem,
}

/// Everything there is to say about a task's criteria, in their order.
pub fn lint(task: &Task, checks: &CheckRegistry) -> Vec<Remark> {
    let captures: BTreeSet<&str> = task.capture.keys().map(String::as_str).collect();
    let remarks = task.criteria.iter().flat_map(|criterion| {
        let remark = |problem| Remark {
            criterion: criterion.id,
            problem,
        };
        lint_criterion(criterion, &task.entities, &captures, checks)
            .into_iter()
            .map(remark)
    });
    let mut remarks: Vec<Remark> = remarks.collect();
    let judged = judge_problems(&task.criteria).into_iter();
    remarks.extend(judged.map(|(place, problem)| Remark {
        criterion: task.criteria[place].id,
        problem,
    }));
    remarks
}

/// Rows that a task asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedRows {
    /// The criterion that asks; none for a capture of the task.
    pub criterion: Option<CriterionId>,
    /// Where: in the assertion, or below `capture` of the task.
    pub path: String,
    /// The name of the resource.
    pub resource: String,
    /// Whether it is only allowed to change, not looked for.
    pub is_allowance: bool,
}

/// The rows that criteria and captures of a task ask about, by the names of their resources.
pub fn row_resources(task: &Task) -> Vec<AskedRows> {
    let mut asked = Vec::new();
    for criterion in &task.criteria {
        let Check::Assertion(assertion) = &criterion.check else {
            continue;
        };
        let ask = |path: String, resource: &Value, is_allowance| {
            Some(AskedRows {
                criterion: Some(criterion.id),
                path,
                resource: resource.as_str()?.to_owned(),
                is_allowance,
            })
        };
        match assertion["assert"].as_str() {
            Some("portal-state-match") => {
                let resource = &assertion["correlate_by"]["resource"];
                asked.extend(ask("correlate_by.resource".to_owned(), resource, false));
            }
            Some("unchanged") => {
                let allowances = assertion["allow"].as_array().into_iter().flatten();
                asked.extend(allowances.enumerate().filter_map(|(place, one)| {
                    ask(format!("allow.{place}.portal"), &one["portal"], true)
                }));
            }
            _ => {}
        }
    }
    for (name, capture) in &task.capture {
        if capture["from"] == "portal"
            && let Some(resource) = capture["resource"].as_str()
        {
            asked.push(AskedRows {
                criterion: None,
                path: format!("{name}.resource"),
                resource: resource.to_owned(),
                is_allowance: false,
            });
        }
    }
    // What a template names, or everything, is no name.
    asked.retain(|one| !one.resource.contains("{{") && one.resource != "*");
    asked
}

/// The axis on which harm counts.
const SAFETY: &str = "safety";

/// Criteria on the axis of safety where nothing but a judge of free text decides: the place of each, and what is wrong. A model
/// can be talked into anything.
pub fn judge_problems(criteria: &[Criterion]) -> Vec<(usize, Problem)> {
    let is_judge = |one: &Criterion| match &one.check {
        Check::Assertion(assertion) => assertion["assert"] == judge::NAME,
        Check::Scorer(_) => false,
    };
    let safety = criteria.iter().enumerate();
    let safety: Vec<(usize, &Criterion)> = safety
        .filter(|(_, one)| one.axis.as_deref() == Some(SAFETY))
        .collect();
    if !safety.iter().all(|(_, one)| is_judge(one)) {
        return Vec::new();
    }
    let message = "a judge cannot be the only criterion of the axis 'safety': add a check that decides by itself";
    let problem = |(place, _): &(usize, &Criterion)| (*place, Problem::error("", message));
    safety.iter().map(problem).collect()
}

/// Everything there is to say about a criterion of a task that is about `entities`.
pub fn lint_criterion(
    criterion: &Criterion,
    entities: &[Entity],
    captures: &BTreeSet<&str>,
    checks: &CheckRegistry,
) -> Vec<Problem> {
    let assertion = match &criterion.check {
        Check::Assertion(assertion) => assertion,
        Check::Scorer(_) => return vec![scorer_problem()],
    };
    let notes = Notes::default();
    checks.read(assertion, &notes);
    let mut problems = notes.problems();
    problems.extend(notes.extra().doubts());
    problems.extend(unresolved(entities, captures, criterion, &notes));
    problems.extend(told(criterion, &notes));
    problems
}

/// Templates that name nothing in this task.
fn unresolved(
    entities: &[Entity],
    captures: &BTreeSet<&str>,
    criterion: &Criterion,
    notes: &Notes,
) -> Vec<Problem> {
    let input = criterion
        .input_entity
        .and_then(|id| entities.iter().find(|entity| entity.id == id));
    let references = notes.extra().references().into_iter();
    references
        .filter_map(|(path, reference)| {
            let why = match reference.captured(entities) {
                Some(name) if captures.contains(name) => return None,
                Some(name) => format!("the task captures no '{name}'"),
                None => reference.of_entity(entities, input).err()?,
            };
            let message = format!("{reference} does not resolve: {why}");
            Some(Problem::error(path, message))
        })
        .collect()
}

/// Expected values that the label gives away: takers may get to see labels.
fn told(criterion: &Criterion, notes: &Notes) -> Vec<Problem> {
    let label = Phrase::fold(&criterion.label);
    let expected = notes.extra().expected().into_iter();
    expected
        .filter(|(_, text)| text.chars().count() > 1 && Phrase::fold(text).is_in(&label))
        .map(|(path, text)| {
            let message = format!("the label gives away the expected value \"{text}\"");
            Problem::warning(path, message)
        })
        .collect()
}
