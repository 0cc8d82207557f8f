//! The policy of a gate: what an agent must prove before it is let through.
//!
//! A policy is a document, the same as JSON in a request and as TOML in a file (`gate.toml`). It is read as a whole: every problem is named, and a
//! member that nobody knows is refused with the nearest name that is known, because a misspelt limit would otherwise let everything through.

use std::collections::BTreeMap;

use proctor_statistics::About;
use serde_json::Value;

use crate::{
    id::{Dialect, kinds::RunId},
    problem::{Problem, Problems},
    reader::{Node, Notes, Object, Wording, left_out_or},
};

/// What an agent must prove.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Which question its statistical lines ask.
    pub about: About,
    /// The share of void attempts above which nothing passes.
    pub max_void: Option<f64>,
    /// What the agent is compared with, unless the request says it.
    pub baseline: Option<Selection>,
    /// What must hold, all of it.
    pub lines: Vec<PolicyLine>,
}

/// Runs, by name or by what they are labelled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// These.
    Runs(Vec<RunId>),
    /// The newest completed ones that have all of these labels.
    Labelled {
        /// The labels.
        labels: BTreeMap<String, String>,
        /// How many of them.
        newest: u32,
    },
}

/// A line of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyLine {
    /// What must hold.
    pub rule: Rule,
    /// Only what is scored on this axis.
    pub axis: Option<String>,
    /// Only tasks that have all of these tags.
    pub tags: Vec<String>,
    /// Only these criteria, by key, id or label.
    pub keys: Vec<String>,
}

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// B − A is above this.
    Change {
        /// Below 0: not worse by more than. From 0 on: better by.
        at: f64,
    },
    /// The mean of B is above this.
    Level {
        /// Between 0 and 1.
        at: f64,
    },
    /// No attempt misses one of the criteria.
    Never {
        /// Whether those that their author calls critical are meant; else those of the line's keys or axis.
        critical: bool,
        /// The rate that must be ruled out.
        max_rate: Option<f64>,
    },
}

/// The most runs that are pooled on one side.
pub const MOST_RUNS: u32 = 100;
/// The most lines of a policy.
const MOST_LINES: usize = 100;
/// Other words for members, which no count of letters finds.
const SYNONYMS: [(&str, &str); 10] = [
    ("margin", "at"),
    ("threshold", "at"),
    ("limit", "at"),
    ("min", "at"),
    ("criterion", "keys"),
    ("criteria", "keys"),
    ("dimension", "axis"),
    ("question", "about"),
    ("against", "baseline"),
    ("rules", "line"),
];

impl Policy {
    /// Whether a line needs a baseline.
    pub fn compares(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|line| matches!(line.rule, Rule::Change { .. }))
    }

    /// Reads a policy; everything that is wrong with it is named.
    pub fn read(document: &Value, wording: Wording) -> Result<Self, Problems> {
        let notes = Notes::worded(wording);
        let read = read_policy(&Node::root(document, &notes));
        notes.finish(read)
    }
}

fn read_policy(node: &Node<'_>) -> Option<Policy> {
    let object = node.object()?;
    refuse_unknown(&object, &["about", "max-void", "baseline", "line"]);
    let about = object
        .required("about")
        .and_then(|about| read_about(&about));
    let max_void = left_out_or(either(&object, "max-void", "max_void"), |node| {
        share(node, true)
    });
    let baseline = left_out_or(object.optional("baseline"), Selection::read);
    let lines = read_lines(&object);
    Some(Policy {
        about: about?,
        max_void: max_void?,
        baseline: baseline?,
        lines: lines?,
    })
}

fn read_lines(object: &Object<'_>) -> Option<Vec<PolicyLine>> {
    let Some(list) = either(object, "line", "lines") else {
        object.refuse(
            "line",
            "a gate without a line decides nothing: give one at least",
        );
        return None;
    };
    let lines = list.list()?;
    if lines.is_empty() {
        list.refuse("a gate without a line decides nothing: give one at least");
        return None;
    }
    if lines.len() > MOST_LINES {
        list.refuse(format!("must have at most {MOST_LINES} lines"));
        return None;
    }
    let lines: Vec<Option<PolicyLine>> = lines.iter().map(read_line).collect();
    lines.into_iter().collect()
}

fn read_line(node: &Node<'_>) -> Option<PolicyLine> {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Change,
        Level,
        Never,
    }
    let object = node.object()?;
    let kinds = [
        ("change", Kind::Change),
        ("level", Kind::Level),
        ("never", Kind::Never),
    ];
    let kind = object.required("kind").and_then(|kind| kind.word(&kinds))?;
    let known: &[&str] = match kind {
        Kind::Change | Kind::Level => &["kind", "at", "axis", "tags", "keys"],
        Kind::Never => &["kind", "criteria", "keys", "max-rate", "axis", "tags"],
    };
    refuse_unknown(&object, known);
    let axis = left_out_or(object.optional("axis"), Node::filled_text);
    let tags = texts(&object, "tags");
    let keys = texts(&object, "keys");
    // The criteria of a line that says `never` are a word or a list of keys.
    let named = match kind {
        Kind::Change | Kind::Level => None,
        Kind::Never => object.optional("criteria"),
    };
    let named_keys = named.as_ref().filter(|node| node.value().is_array());
    let named_keys = left_out_or(named_keys.cloned(), read_texts);
    let rule = match kind {
        Kind::Change => threshold(&object, -1.0).map(|at| Rule::Change { at }),
        Kind::Level => threshold(&object, 0.0).map(|at| Rule::Level { at }),
        Kind::Never => read_never(&object),
    };
    let (axis, tags, mut keys) = (axis?.map(str::to_owned), tags?, keys?);
    if named.is_some() && !keys.is_empty() {
        object.refuse("keys", "cannot be given together with criteria");
    }
    keys.extend(named_keys?.unwrap_or_default());
    let names_nothing = keys.is_empty() && axis.is_none();
    if matches!(
        rule,
        Some(Rule::Never {
            critical: false,
            ..
        })
    ) && names_nothing
    {
        object.refuse(
            "criteria",
            "is required: criteria = \"critical\", or keys = [\"…\"], or an axis",
        );
    }
    Some(PolicyLine {
        rule: rule?,
        axis,
        tags,
        keys,
    })
}

fn threshold(object: &Object<'_>, least: f64) -> Option<f64> {
    let node = object.required("at")?;
    let at = node.number()?;
    if at > least && at < 1.0 {
        return Some(at);
    }
    node.refuse(format!("must be a number above {least} and below 1"));
    None
}

fn read_never(object: &Object<'_>) -> Option<Rule> {
    let word = object
        .optional("criteria")
        .filter(|node| !node.value().is_array());
    let critical = left_out_or(word, |node| node.word(&[("critical", ())]));
    let max_rate = left_out_or(either(object, "max-rate", "max_rate"), |node| {
        share(node, false)
    });
    Some(Rule::Never {
        critical: critical?.is_some(),
        max_rate: max_rate?,
    })
}

/// A share; whether 0 and 1 are allowed too is up to the caller.
fn share(node: &Node<'_>, with_ends: bool) -> Option<f64> {
    let share = node.number()?;
    let is_right = match with_ends {
        true => (0.0..=1.0).contains(&share),
        false => share > 0.0 && share < 1.0,
    };
    if is_right {
        return Some(share);
    }
    node.refuse(match with_ends {
        true => "must be a number from 0 to 1",
        false => "must be a number above 0 and below 1",
    });
    None
}

/// Which question is asked.
pub fn read_about<X>(node: &Node<'_, X>) -> Option<About> {
    node.word(&[("tasks", About::Tasks), ("suite", About::Suite)])
}

fn texts(object: &Object<'_>, name: &'static str) -> Option<Vec<String>> {
    let texts = left_out_or(object.optional(name), read_texts);
    texts.map(Option::unwrap_or_default)
}

fn read_texts(node: &Node<'_>) -> Option<Vec<String>> {
    let texts: Vec<Option<String>> = node
        .list()?
        .iter()
        .map(|one| one.filled_text().map(str::to_owned))
        .collect();
    texts.into_iter().collect()
}

/// A member under its name in files or under its name in requests.
fn either<'a>(object: &Object<'a>, name: &'static str, other: &'static str) -> Option<Node<'a>> {
    let (one, other) = (object.optional(name), object.optional(other));
    one.or(other)
}

impl Selection {
    /// Reads `"br_…"`, `{"run": …}`, `{"runs": […]}` or `{"labels": {…}, "newest": n}`.
    pub fn read(node: &Node<'_>) -> Option<Self> {
        if node.value().is_string() {
            return Some(Self::Runs(vec![read_run(node)?]));
        }
        let object = node.object()?;
        refuse_unknown(&object, &["run", "runs", "labels", "newest"]);
        Self::of_object(&object)
    }

    /// The same of an object that has other members too.
    pub fn of_object(object: &Object<'_>) -> Option<Self> {
        let run = object.optional("run");
        let runs = object.optional("runs");
        let labels = object.optional("labels");
        let newest = object.optional("newest");
        let given = [run.is_some(), runs.is_some(), labels.is_some()];
        if given.into_iter().filter(|is| *is).count() != 1 {
            object
                .node()
                .refuse("exactly one of run, runs and labels says which runs are meant");
            return None;
        }
        if let (Some(newest), None) = (&newest, &labels) {
            newest.refuse("goes with labels only");
            return None;
        }
        if let Some(run) = run {
            return Some(Self::Runs(vec![read_run(&run)?]));
        }
        if let Some(runs) = runs {
            return read_runs(&runs).map(Self::Runs);
        }
        let labels = labels?;
        let newest = left_out_or(newest, |node| node.whole(1..=MOST_RUNS));
        let mut wanted = BTreeMap::new();
        for (name, value) in labels.entries() {
            wanted.insert(name.to_owned(), value.text()?.to_owned());
        }
        if wanted.is_empty() {
            labels.refuse("must have a label at least: without one every run would be meant");
            return None;
        }
        Some(Self::Labelled {
            labels: wanted,
            newest: newest?.unwrap_or(1),
        })
    }

    /// What is meant, for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Runs(runs) => {
                let names: Vec<String> = runs.iter().map(ToString::to_string).collect();
                names.join(", ")
            }
            Self::Labelled { labels, newest } => {
                let labels = labels.iter().map(|(name, value)| format!("{name}={value}"));
                let labels: Vec<String> = labels.collect();
                match newest {
                    1 => labels.join(", "),
                    newest => format!("{}, newest {newest}", labels.join(", ")),
                }
            }
        }
    }
}

/// The id of a run, in the spelling of either dialect.
fn read_run(node: &Node<'_>) -> Option<RunId> {
    node.parsed(|text| {
        RunId::from_wire(text, Dialect::Verial)
            .or_else(|bad| RunId::from_wire(text, Dialect::Runloop).map_err(|_| bad))
    })
}

fn read_runs(node: &Node<'_>) -> Option<Vec<RunId>> {
    let list = node.list()?;
    if list.is_empty() || list.len() > MOST_RUNS as usize {
        node.refuse(format!("must name from 1 to {MOST_RUNS} runs"));
        return None;
    }
    let mut runs = Vec::with_capacity(list.len());
    for one in &list {
        let run = read_run(one)?;
        if runs.contains(&run) {
            one.refuse("is named twice: a run counts once");
            return None;
        }
        runs.push(run);
    }
    Some(runs)
}

/// Refuses every member that is not `known`, with the nearest of them. A hyphen is as good as an underscore.
pub fn refuse_unknown<X>(object: &Object<'_, X>, known: &[&str]) {
    for (name, _) in object.members() {
        let plain = name.replace('_', "-");
        let is_known = known
            .iter()
            .any(|one| one.replace('_', "-") == plain || plain == "lines" && *one == "line");
        if is_known {
            continue;
        }
        object.refuse(name, unknown(name, known));
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(one) => format!("is not known here: did you mean '{one}'?"),
        None => format!("is not known here; known are {}", known.join(", ")),
    }
}

/// The known name that somebody meant: another word for it, one that shares a word with it, or one that few letters turn into it.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = name.to_lowercase().replace('_', "-");
    let synonym = SYNONYMS
        .iter()
        .find(|(other, _)| *other == name)
        .and_then(|(_, meant)| known.iter().find(|one| *one == meant));
    let by_letters = || {
        let near = known.iter().map(|one| (distance(&name, one), *one)).min();
        near.filter(|(far, one)| {
            let longer = name.chars().count().max(one.chars().count());
            // Two letters of five: below that, names have nothing in common.
            far * 5 <= longer * 2
        })
        .map(|(_, one)| one)
    };
    let by_words = || {
        let shares = |one: &&&str| {
            let mut words = one.split('-');
            words.any(|word| {
                name.split('-')
                    .any(|own| own == word || own == format!("{word}s"))
            })
        };
        let mut sharing = known.iter().filter(shares);
        let first = sharing.next();
        // A word that several names share says nothing.
        first.filter(|_| sharing.next().is_none())
    };
    synonym
        .copied()
        .or_else(by_letters)
        .or_else(|| by_words().copied())
}

/// How many letters must be changed, added, taken away or swapped with their neighbour to make one text the other.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    // The distances between the beginnings of both, by their lengths.
    let mut far: Vec<Vec<usize>> = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            if i == 0 || j == 0 {
                far[i][j] = i.max(j);
                continue;
            }
            let changed = far[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = changed.min(far[i - 1][j] + 1).min(far[i][j - 1] + 1);
            let is_swapped =
                i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if is_swapped {
                least = least.min(far[i - 2][j - 2] + 1);
            }
            far[i][j] = least;
        }
    }
    far[one.len()][other.len()]
}

/// The problems of a member of a request, as seen from the request.
pub fn below(problems: Problems, path: &str) -> Vec<Problem> {
    let problems = problems.into_vec().into_iter();
    problems.map(|problem| problem.below(path)).collect()
}

#[cfg(test)]
mod tests;
