//! Several things that a check could mean: which of them it means, and what is said when it is none.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    compare::Manner,
    expectation::said,
    fields::{FieldResult, Wanted, held, in_words},
    found::Found,
    outcome::Outcome,
    reader::{AssertionNode as _, Node, Object, left_out_or},
};

/// How many things there should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// At least one; how many is not asked.
    Some,
    /// A number from `min` to `max`, which is an assertion of its own.
    Count { min: usize, max: Option<usize> },
    /// None.
    Absent,
}

impl Quantity {
    /// Reads `count: {min, max}` or `absent: true`.
    pub(crate) fn read(object: &Object<'_>) -> Option<Self> {
        let count = left_out_or(object.optional("count"), |node| {
            let inside = node.object()?;
            let min = left_out_or(inside.optional("min"), |node| node.amount());
            let max = left_out_or(inside.optional("max"), |node| node.amount());
            inside.finish();
            Self::between(node, min?, max?)
        });
        let absent = left_out_or(object.optional("absent"), |node| node.flag());
        match (count?, absent?) {
            (Some(_), Some(true)) => {
                object
                    .node()
                    .refuse("'absent' and 'count' ask for different things: leave one out");
                None
            }
            (None, Some(true)) => Some(Self::Absent),
            (count, _) => Some(count.unwrap_or(Self::Some)),
        }
    }

    /// From `min`, which is one when it was left out and `max` allows it, to `max`.
    pub(crate) fn between(node: &Node<'_>, min: Option<usize>, max: Option<usize>) -> Option<Self> {
        let min = min.unwrap_or(if max == Some(0) { 0 } else { 1 });
        if max.is_some_and(|max| max < min) {
            node.refuse(format!(
                "allows no number: none is at least {min} and at most {}",
                max.unwrap_or(0)
            ));
            return None;
        }
        if min == 0 && max.is_none() {
            node.caution("is met by any number, so it has no way to fail");
        }
        Some(Self::Count { min, max })
    }

    /// Whether it is an assertion of its own, and how it went.
    pub(crate) fn result(self, total: usize) -> Option<FieldResult> {
        let (min, max) = match self {
            Self::Some => return None,
            Self::Count { min, max } => (min, max),
            Self::Absent => (0, Some(0)),
        };
        let expected = match max {
            Some(max) if max == min => min.into(),
            Some(max) => json!({"$gte": min, "$lte": max}),
            None => json!({"$gte": min}),
        };
        let wanted = match max {
            Some(max) if max == min => format!("exactly {min}"),
            Some(max) => format!("{min} to {max}"),
            None => format!("at least {min}"),
        };
        let passed = min <= total && max.is_none_or(|max| total <= max);
        let words = format!("there are {total}, expected {wanted}");
        Some(FieldResult::of(
            "$count",
            expected,
            total.into(),
            passed,
            words,
        ))
    }
}

/// A number of things in words: `1 message`, `3 messages`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

/// What was chosen among several, and how it fared.
pub(crate) struct Settled<'c, C> {
    /// The one that was chosen.
    pub(crate) chosen: Option<&'c C>,
    /// Every sub-assertion.
    pub(crate) results: Vec<FieldResult>,
    held: usize,
    asked: usize,
    details: String,
}

impl<C> Settled<'_, C> {
    /// The outcome with its evidence.
    pub(crate) fn outcome(self, evidence: Value) -> Outcome {
        Outcome::share(self.held, self.asked, self.details, evidence)
    }
}

/// What is asked of a number of candidates, and how one of them is looked at.
pub(crate) struct Question<'q, P, C> {
    /// What each of them is called.
    pub(crate) noun: &'q str,
    /// What must hold.
    pub(crate) fields: &'q [Wanted<'q, P>],
    /// How many there should be.
    pub(crate) quantity: Quantity,
    /// How values compare.
    pub(crate) manner: Manner,
    /// What a path leads to in a candidate.
    pub(crate) read: &'q dyn for<'c> Fn(&'c C, &P) -> Found<'c>,
    /// What a candidate is called in a sentence.
    pub(crate) name: &'q dyn Fn(&C) -> String,
}

impl<P, C> Question<'_, P, C> {
    /// Settles on the best of `matches`, the first of equals. `missing` says what is not there.
    pub(crate) fn best<'c>(
        &self,
        matches: &'c [C],
        missing: impl FnOnce() -> String,
    ) -> Settled<'c, C> {
        if self.quantity == Quantity::Absent {
            return self.absent(matches);
        }
        let mut best: Option<(&C, usize)> = None;
        for candidate in matches {
            let holding = self.holding(candidate);
            if best.is_none_or(|(_, most)| holding > most) {
                best = Some((candidate, holding));
            }
            if holding == self.fields.len() {
                break;
            }
        }
        let chosen = best.map(|(candidate, _)| candidate);
        self.of_one(chosen, matches.len(), missing)
    }

    /// Settles on one candidate out of `total`, or on none.
    pub(crate) fn of_one<'c>(
        &self,
        chosen: Option<&'c C>,
        total: usize,
        missing: impl FnOnce() -> String,
    ) -> Settled<'c, C> {
        let Some(candidate) = chosen else {
            return self.not_found(total, missing);
        };
        let results = self.results(candidate);
        self.settled(chosen, results, total, &(self.name)(candidate))
    }

    /// How the fields fare in a candidate.
    pub(crate) fn results(&self, candidate: &C) -> Vec<FieldResult> {
        let result = |wanted: &Wanted<'_, P>| {
            wanted.result(&(self.read)(candidate, wanted.path), self.manner)
        };
        self.fields.iter().map(result).collect()
    }

    /// The settlement that these results of the fields make; `subject` is what they are about.
    pub(crate) fn settled<'c>(
        &self,
        chosen: Option<&'c C>,
        mut results: Vec<FieldResult>,
        total: usize,
        subject: &str,
    ) -> Settled<'c, C> {
        results.extend(self.quantity.result(total));
        Settled {
            chosen,
            held: held(&results),
            asked: results.len(),
            details: in_words(subject, &results),
            results,
        }
    }

    /// What is ruled out: a candidate for which all fields hold.
    pub(crate) fn absent<'c>(&self, matches: &'c [C]) -> Settled<'c, C> {
        let all = self.fields.len();
        let present: Vec<&C> = matches
            .iter()
            .filter(|candidate| self.holding(candidate) == all)
            .collect();
        let results: Vec<FieldResult> = Vec::from_iter(Quantity::Absent.result(present.len()));
        let details = match present.first() {
            None => format!("no such {} is there, as expected", self.noun),
            Some(first) => format!(
                "{} {} there and should not be, such as {}",
                counted(present.len(), self.noun),
                if present.len() == 1 { "is" } else { "are" },
                (self.name)(first)
            ),
        };
        Settled {
            chosen: present.first().copied(),
            held: held(&results),
            asked: results.len(),
            details,
            results,
        }
    }

    fn not_found<'c>(&self, total: usize, missing: impl FnOnce() -> String) -> Settled<'c, C> {
        let count = self.quantity.result(total);
        let is_content = self.fields.is_empty() && count.as_ref().is_some_and(|one| one.passed);
        let mut results: Vec<FieldResult> = self.fields.iter().map(Wanted::nowhere).collect();
        results.extend(count);
        let (held, asked, details) = if is_content {
            (1, 1, format!("no such {} is there, as allowed", self.noun))
        } else {
            (0, 1, missing())
        };
        Settled {
            chosen: None,
            results,
            held,
            asked,
            details,
        }
    }

    /// How many fields hold in a candidate.
    pub(crate) fn holding(&self, candidate: &C) -> usize {
        self.fields
            .iter()
            .filter(|wanted| wanted.holds(&(self.read)(candidate, wanted.path), self.manner))
            .count()
    }
}

/// Which of `candidates` have everything that is `wanted`.
pub(crate) fn correlated<P, C>(
    candidates: Vec<C>,
    wanted: &[Wanted<'_, P>],
    manner: Manner,
    read: &dyn for<'c> Fn(&'c C, &P) -> Found<'c>,
) -> (Vec<C>, Vec<C>) {
    candidates.into_iter().partition(|candidate| {
        let mut wanted = wanted.iter();
        wanted.all(|one| one.holds(&read(candidate, one.path), manner))
    })
}

/// What is said when no candidate has everything that is `wanted`: those that have all but one thing.
pub(crate) fn near_misses<P, C>(
    noun: &str,
    others: &[C],
    wanted: &[Wanted<'_, P>],
    manner: Manner,
    read: &dyn for<'c> Fn(&'c C, &P) -> Found<'c>,
) -> String {
    let asked: Vec<String> = wanted.iter().map(Wanted::in_words).collect();
    let mut said_of = format!("no {noun} with {}", asked.join(" and "));
    if others.is_empty() {
        return format!("{said_of}; there is no {noun} at all");
    }
    let mut near: Vec<String> = Vec::new();
    for (place, one) in wanted.iter().enumerate() {
        let mut instead: BTreeMap<String, usize> = BTreeMap::new();
        for candidate in others {
            let but_one = wanted.iter().enumerate().all(|(index, wanted)| {
                index == place || wanted.holds(&read(candidate, wanted.path), manner)
            });
            if but_one {
                *instead
                    .entry(said(&read(candidate, one.path).shown()))
                    .or_default() += 1;
            }
        }
        near.extend(instead.into_iter().take(MOST_NEAR).map(|(value, number)| {
            let exist = if number == 1 { "exists" } else { "exist" };
            format!("{number} {exist} with {} {value}", one.written)
        }));
    }
    said_of.push_str("; ");
    if near.is_empty() {
        said_of.push_str(&format!(
            "of {} none comes close",
            counted(others.len(), noun)
        ));
    } else {
        said_of.push_str(&near.join("; "));
    }
    said_of
}

/// How many different values are told of one thing that is not as asked for.
pub(crate) const MOST_NEAR: usize = 3;
