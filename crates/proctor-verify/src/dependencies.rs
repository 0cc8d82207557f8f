//! Which criteria count only together with others.

use std::collections::BTreeMap;

use proctor_core::{
    definition::{Criterion, check_key},
    problem::Problem,
};

/// The place of the criterion with a key.
pub(crate) fn place_of(criteria: &[Criterion], key: &str) -> Option<usize> {
    criteria
        .iter()
        .position(|one| one.key.as_deref() == Some(key))
}

/// Which criteria are met, if `own` says what each finds by itself and `requires` the places of those that it needs. What is
/// not there, or needs itself, is not met.
pub(crate) fn met(own: &[bool], requires: &[&[Option<usize>]]) -> Vec<bool> {
    // Criteria that need each other in a circle would hold one another up; nothing does.
    let stands = |(place, own): (usize, &bool)| *own && !is_circular(place, requires);
    let mut met: Vec<bool> = own.iter().enumerate().map(stands).collect();
    // Each round settles at least one more criterion, or nothing changes any more.
    loop {
        let mut is_settled = true;
        for (place, needed) in requires.iter().enumerate() {
            let lacks = |one: &Option<usize>| one.is_none_or(|one| !met[one]);
            if met[place] && needed.iter().any(lacks) {
                met[place] = false;
                is_settled = false;
            }
        }
        if is_settled {
            return met;
        }
    }
}

fn is_circular(start: usize, requires: &[&[Option<usize>]]) -> bool {
    let mut seen = vec![false; requires.len()];
    let mut open: Vec<usize> = requires[start].iter().flatten().copied().collect();
    while let Some(place) = open.pop() {
        if place == start {
            return true;
        }
        if !std::mem::replace(&mut seen[place], true) {
            open.extend(requires[place].iter().flatten());
        }
    }
    false
}

/// Everything that is wrong with the keys of a task's criteria and what they require: the place of the criterion, and what.
pub fn key_problems(criteria: &[Criterion]) -> Vec<(usize, Problem)> {
    let mut problems = Vec::new();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, criterion) in criteria.iter().enumerate() {
        let Some(key) = criterion.key.as_deref() else {
            continue;
        };
        if let Err(bad) = check_key(key) {
            problems.push((place, Problem::error("key", bad.to_string())));
        }
        if first.insert(key, place).is_some() {
            let message = format!("two criteria of the task have the key '{key}'");
            problems.push((place, Problem::error("key", message)));
        }
    }
    let requires: Vec<Vec<Option<usize>>> = criteria
        .iter()
        .map(|one| {
            one.requires
                .iter()
                .map(|key| place_of(criteria, key))
                .collect()
        })
        .collect();
    let requires: Vec<&[Option<usize>]> = requires.iter().map(Vec::as_slice).collect();
    for (place, criterion) in criteria.iter().enumerate() {
        for (number, key) in criterion.requires.iter().enumerate() {
            if place_of(criteria, key).is_none() {
                let message = format!("no criterion of the task has the key '{key}'");
                let path = format!("requires.{number}");
                problems.push((place, Problem::error(path, message)));
            }
        }
        if is_circular(place, &requires) {
            let message = "requires itself, perhaps through others: it can never count";
            problems.push((place, Problem::error("requires", message)));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_must_be_met_through_all_steps_and_circles_never_are() {
        let all = [true, true, true, false];
        let chain: [&[Option<usize>]; 4] = [&[Some(1)], &[Some(3)], &[], &[]];
        assert_eq!(met(&all, &chain), [false, false, true, false]);
        let circle: [&[Option<usize>]; 4] = [&[Some(1)], &[Some(0)], &[Some(0)], &[]];
        assert_eq!(met(&all, &circle), [false, false, false, false]);
        let nobody: [&[Option<usize>]; 4] = [&[None], &[Some(1)], &[], &[]];
        assert_eq!(met(&all, &nobody), [false, false, true, false]);
    }
}
