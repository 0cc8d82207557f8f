//! Letters for a leaderboard: agents that share a letter cannot be told apart.
//!
//! Insert and absorb (Piepho): begin with one group of everybody; where a group holds two agents that are told apart, replace it by one without the first
//! and one without the second; drop groups that lie within another.

use std::collections::BTreeSet;

/// The letters of `count` agents, the best first. `apart` says which pairs (the better first) are told apart.
pub(crate) fn letters(count: usize, apart: impl Fn(usize, usize) -> bool) -> Vec<String> {
    let mut groups: Vec<BTreeSet<usize>> = vec![(0..count).collect()];
    for one in 0..count {
        for other in one + 1..count {
            if apart(one, other) {
                groups = absorb(split(&groups, one, other));
            }
        }
    }
    groups.sort();
    let of = |agent: usize| {
        let held = groups.iter().enumerate();
        held.filter(|(_, group)| group.contains(&agent))
            .map(|(place, _)| letter(place))
            .collect()
    };
    (0..count).map(of).collect()
}

fn split(groups: &[BTreeSet<usize>], one: usize, other: usize) -> Vec<BTreeSet<usize>> {
    let without = |group: &BTreeSet<usize>, agent: usize| {
        let mut rest = group.clone();
        rest.remove(&agent);
        rest
    };
    groups
        .iter()
        .flat_map(
            |group| match group.contains(&one) && group.contains(&other) {
                true => vec![without(group, one), without(group, other)],
                false => vec![group.clone()],
            },
        )
        .collect()
}

fn absorb(mut groups: Vec<BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut kept: Vec<BTreeSet<usize>> = Vec::new();
    for group in groups {
        if !group.is_empty() && !kept.iter().any(|larger| group.is_subset(larger)) {
            kept.push(group);
        }
    }
    kept
}

/// a to z, A to Z, then numbers in brackets.
fn letter(place: usize) -> String {
    let alphabet = ('a'..='z').chain('A'..='Z');
    match alphabet.into_iter().nth(place) {
        Some(letter) => letter.to_string(),
        None => format!("({})", place + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_letter_cannot_be_told_apart() {
        // The first is better than the last only.
        assert_eq!(
            letters(3, |one, other| (one, other) == (0, 2)),
            ["a", "ab", "b"]
        );
        assert_eq!(letters(3, |_, _| false), ["a", "a", "a"]);
        assert_eq!(letters(3, |_, _| true), ["a", "b", "c"]);
        assert!(letters(0, |_, _| true).is_empty());
    }

    #[test]
    fn letters_agree_with_the_pairs_also_where_being_apart_is_no_order() {
        let apart = |one: usize, other: usize| (one * 7 + other * 3).is_multiple_of(4);
        let found = letters(9, apart);
        for one in 0..9 {
            for other in one + 1..9 {
                let share = found[one]
                    .chars()
                    .any(|letter| found[other].contains(letter));
                assert_eq!(share, !apart(one, other), "{one} {other} {found:?}");
            }
        }
    }

    #[test]
    fn there_are_letters_for_any_number_of_groups() {
        let found = letters(60, |_, _| true);
        assert_eq!((&*found[25], &*found[26], &*found[52]), ("z", "A", "(53)"));
    }
}
