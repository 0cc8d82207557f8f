//! `events`: what happened, in which order, how often and how fast.

mod charts;
mod pattern;
mod trigger;

use std::{collections::BTreeMap, time::Duration};

use proctor_core::time::Timestamp;
use proctor_simulation::{
    exhibits::Exhibits,
    record::WorldRecord,
    schema::{about, flag, list, map, object, text},
};
use serde_json::{Value, json};

use self::pattern::{Bound, Pattern};
pub use self::trigger::read_pattern;
use crate::{
    matching::{Quantity, counted},
    outcome::Outcome,
    reader::{Node, Object, left_out_or},
    record::{NOT_RECORDED, record},
    registry::Check,
    schema::{assertion, event_pattern},
    template::{Failed, Scope},
};

/// The most events that evidence names for one pattern.
const MOST_TOLD: usize = 20;
/// The most patterns of an assertion: each is looked for in every event.
const MOST_PATTERNS: usize = 20;
/// The longest time that `within` may name, in seconds: a year.
const LONGEST: u32 = 366 * 86_400;

/// The assertion.
#[derive(Debug)]
pub(crate) struct Events {
    /// All patterns, named or not.
    patterns: Vec<(String, Pattern)>,
    /// The place of the one that is counted.
    main: Option<usize>,
    quantity: Quantity,
    /// The places of those that must happen one after the other.
    order: Vec<usize>,
    within: Option<Within>,
}

/// How soon something must happen.
#[derive(Clone, Copy, Debug)]
struct Within {
    /// The place of what it is counted from; the beginning if there is none.
    of: Option<usize>,
    seconds: u32,
}

/// How one thing that was asked went.
struct Part {
    asked: String,
    held: bool,
    words: String,
}

impl Check for Events {
    const NAME: &'static str = "events";
    const READS_RECORD: bool = true;

    type View<'w> = Option<&'w WorldRecord>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        record(exhibits)
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let mut patterns = Patterns::default();
        if let Some(named) = assertion.optional("patterns") {
            for (name, node) in named.object()?.members() {
                patterns.add_named(name, &node);
            }
        }
        let main = left_out_or(assertion.optional("match"), |node| patterns.place(node));
        let order = match assertion.optional("order") {
            None => Some(Vec::new()),
            Some(node) => read_order(&node, &mut patterns),
        };
        let within = left_out_or(assertion.optional("within"), |node| {
            let object = node.object()?;
            let of = object
                .required("of")
                .and_then(|of| match of.value().as_str() {
                    Some("start") => Some(None),
                    _ => patterns.place(&of).map(Some),
                });
            let seconds = object.required("seconds");
            let seconds = seconds.and_then(|seconds| seconds.whole(1..=LONGEST));
            object.finish();
            Some(Within {
                of: of?,
                seconds: seconds?,
            })
        });
        let none = left_out_or(assertion.optional("none"), Node::flag);
        let count = Quantity::read(assertion);
        let node = assertion.node();
        let (main, order, within, count) = (main?, order?, within?, count?);
        if patterns.all.len() > MOST_PATTERNS {
            node.refuse(format!("has more than {MOST_PATTERNS} patterns"));
            return None;
        }
        let quantity = match (none?.unwrap_or(false), count) {
            (true, Quantity::Some) => Quantity::Absent,
            (true, _) => {
                node.refuse("'none' and 'count' ask for different things: leave one out");
                return None;
            }
            (false, count) => count,
        };
        if main.is_none() && quantity != Quantity::Some {
            node.refuse("'count' and 'none' are about 'match', which is missing");
            return None;
        }
        if main.is_none() && order.is_empty() {
            node.refuse("needs a 'match' or an 'order'");
            return None;
        }
        if quantity == Quantity::Absent && within.is_some() {
            node.refuse("what must not happen cannot happen 'within' a time: leave one out");
            return None;
        }
        patterns.is_sound.then_some(Self {
            patterns: patterns.all,
            main,
            quantity,
            order,
            within,
        })
    }

    fn schema() -> Value {
        let named = json!({"anyOf": [text(), event_pattern()]});
        let whole = json!({"type": "integer", "minimum": 0});
        let within = object(
            &["of", "seconds"],
            json!({
                "of": about("What it is counted from: start, or a pattern.", named.clone()),
                "seconds": json!({"type": "integer", "minimum": 1, "maximum": LONGEST}),
            }),
        );
        let members = json!({
            "patterns": about("Patterns with names.", map(&event_pattern())),
            "match": about("What is counted: a pattern or the name of one.", named.clone()),
            "count": object(&[], json!({"min": whole, "max": whole})),
            "absent": flag(),
            "none": about("Whether it must not happen.", flag()),
            "order": about("What must happen one after the other.", list(&named)),
            "within": about("How soon it must happen, on the world's clock.", within),
        });
        let example = json!({
            "patterns": {
                "allergies": {"protocol": "fhir", "method": "GET", "path": "**/AllergyIntolerance*"},
                "order": {"protocol": "fhir", "method": "POST", "path": "**/MedicationRequest"},
            },
            "order": ["allergies", "order"],
        });
        let about = "What happened, in which order, how often and how fast.";
        assertion(Self::NAME, about, &[], members, example)
    }

    fn run(&self, record: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let bound = self.patterns.iter().map(|(_, pattern)| pattern.bind(scope));
        let bound: Vec<Bound<'_>> = bound.collect::<Result<_, _>>()?;
        let record = record.ok_or_else(|| Failed(NOT_RECORDED.to_owned()))?;
        let found: Vec<Vec<usize>> = bound.iter().map(|one| one.matches(record)).collect();
        let mut parts = Vec::new();
        if let Some(main) = self.main {
            parts.push(self.counted(main, &found, record));
        }
        parts.extend(self.ordered(&found, record));
        if let Some(within) = self.within {
            parts.push(self.in_time(within, &found, record, scope.context.started_at));
        }
        let held = parts.iter().filter(|part| part.held).count();
        let words: Vec<&str> = parts.iter().map(|part| part.words.as_str()).collect();
        let evidence = self.evidence(&found, &parts, record);
        Ok(Outcome::share(
            held,
            parts.len(),
            words.join("; "),
            evidence,
        ))
    }

    fn blank(&self) -> Value {
        json!({"matches": {}, "results": []})
    }
}

impl Events {
    fn name(&self, place: usize) -> &str {
        self.patterns.get(place).map_or("", |(name, _)| name)
    }

    fn counted(&self, main: usize, found: &[Vec<usize>], record: &WorldRecord) -> Part {
        let total = found[main].len();
        let first = found[main].first().map(|place| told(*place, record));
        let such = first.map_or_else(String::new, |first| format!(", such as {first}"));
        let happened = counted(total, "such event");
        let (asked, held, words) = match self.quantity {
            Quantity::Some => (
                "at least 1".to_owned(),
                total > 0,
                format!("{happened}{such}"),
            ),
            Quantity::Absent => (
                "none".to_owned(),
                total == 0,
                format!("{happened}{such}, expected none"),
            ),
            Quantity::Count { min, max } => {
                let held = min <= total && max.is_none_or(|max| total <= max);
                let asked = match max {
                    Some(max) if max == min => format!("exactly {min}"),
                    Some(max) => format!("{min} to {max}"),
                    None => format!("at least {min}"),
                };
                let words = format!("{happened}{such}, expected {asked}");
                (asked, held, words)
            }
        };
        Part {
            asked: format!("count of {}: {asked}", self.name(main)),
            held,
            words,
        }
    }

    /// Each must happen, for the first time, after the one before it.
    fn ordered(&self, found: &[Vec<usize>], record: &WorldRecord) -> Vec<Part> {
        let pairs = self.order.windows(2);
        let part = |pair: &[usize]| {
            let (before, after) = (pair[0], pair[1]);
            let (first, second) = (self.name(before), self.name(after));
            let (held, words) = match (found[before].first(), found[after].first()) {
                (Some(one), Some(other)) if one < other => {
                    (true, format!("{first} happened before {second}"))
                }
                (Some(_), Some(other)) => (
                    false,
                    format!("{second} happened first, as {}", told(*other, record)),
                ),
                (None, _) => (false, format!("{first} never happened")),
                (_, None) => (false, format!("{second} never happened")),
            };
            Part {
                asked: format!("{first} before {second}"),
                held,
                words,
            }
        };
        pairs.map(part).collect()
    }

    fn in_time(
        &self,
        within: Within,
        found: &[Vec<usize>],
        record: &WorldRecord,
        started_at: Timestamp,
    ) -> Part {
        let subject = self
            .main
            .or_else(|| self.order.last().copied())
            .unwrap_or_default();
        let at = |place: usize| {
            let first = found[place].first()?;
            record.events.get(*first).map(|event| event.at)
        };
        let (name, from) = match within.of {
            None => ("the start", Some(started_at)),
            Some(place) => (self.name(place), at(place)),
        };
        let seconds = within.seconds;
        let (held, words) = match (from, at(subject)) {
            (Some(from), Some(at)) => {
                let limit = from.plus(Duration::from_secs(seconds.into()));
                let took = (at.as_millis() - from.as_millis()) as f64 / 1000.0;
                let held = from <= at && at <= limit;
                (
                    held,
                    format!(
                        "it happened {took} seconds after {name}, at most {seconds} are allowed"
                    ),
                )
            }
            (None, _) => (false, format!("{name} never happened")),
            (_, None) => (false, "it never happened".to_owned()),
        };
        Part {
            asked: format!("within {seconds} seconds of {name}"),
            held,
            words,
        }
    }

    fn evidence(&self, found: &[Vec<usize>], parts: &[Part], record: &WorldRecord) -> Value {
        let matches: BTreeMap<&str, Value> = self
            .patterns
            .iter()
            .zip(found)
            .map(|((name, _), places)| {
                let events = places.iter().take(MOST_TOLD);
                let events = events.filter_map(|place| record.events.get(*place));
                let events: Vec<Value> = events
                    .map(|event| json!({"event": event.id, "at": event.at, "what": pattern::in_words(event)}))
                    .collect();
                (name.as_str(), json!({"total": places.len(), "events": events}))
            })
            .collect();
        let results: Vec<Value> = parts
            .iter()
            .map(|part| json!({"asked": part.asked, "passed": part.held, "found": part.words}))
            .collect();
        json!({"matches": matches, "results": results})
    }
}

fn told(place: usize, record: &WorldRecord) -> String {
    record
        .events
        .get(place)
        .map_or_else(String::new, pattern::in_words)
}

/// The patterns of an assertion as they are read.
struct Patterns {
    all: Vec<(String, Pattern)>,
    is_sound: bool,
}

impl Default for Patterns {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            is_sound: true,
        }
    }
}

impl Patterns {
    fn add_named(&mut self, name: &str, node: &Node<'_>) {
        match Pattern::read(node) {
            Some(pattern) => self.all.push((name.to_owned(), pattern)),
            None => self.is_sound = false,
        }
    }

    /// The place of a pattern: one that is named, or one that is written here.
    fn place(&mut self, node: &Node<'_>) -> Option<usize> {
        if let Value::String(name) = node.value() {
            let place = self.all.iter().position(|(known, _)| known == name);
            if place.is_none() {
                node.refuse(format!("there is no pattern '{name}' in 'patterns'"));
            }
            return place;
        }
        let pattern = Pattern::read(node)?;
        self.all.push((node.path().to_owned(), pattern));
        Some(self.all.len() - 1)
    }
}

fn read_order(node: &Node<'_>, patterns: &mut Patterns) -> Option<Vec<usize>> {
    let items = node.list()?;
    if items.len() < 2 {
        node.refuse("must hold at least two patterns");
        return None;
    }
    let places: Vec<Option<usize>> = items.iter().map(|item| patterns.place(item)).collect();
    places.into_iter().collect()
}
