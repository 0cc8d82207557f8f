//! `unchanged`: nothing but what is allowed differs between the world as the agent got it and as it left it, over all
//! simulators. Everything that was sent counts, and so does what was done and undone again.

mod allowance;

use proctor_simulation::{
    exhibits::Exhibits,
    record::{Touched, WorldRecord, WriteAction},
    schema::{about, list},
};
use serde_json::{Map, Value, json};

use self::allowance::{Allowance, Bound};
use crate::{
    found::Found,
    matching::counted,
    outcome::Outcome,
    reader::Object,
    record::{NOT_RECORDED, record},
    registry::Check,
    schema::assertion,
    template::{Failed, Scope},
};

/// The most violations that evidence tells.
const MOST_TOLD: usize = 20;
/// How many violations are told in words.
const MOST_IN_WORDS: usize = 3;
/// How many parts of a thing evidence shows.
const PARTS: usize = 40;
/// The most allowances.
const MOST_ALLOWANCES: usize = 100;

/// The assertion.
#[derive(Debug)]
pub(crate) struct Unchanged {
    allowances: Vec<Allowance>,
}

impl Check for Unchanged {
    const NAME: &'static str = "unchanged";
    const READS_RECORD: bool = true;

    type View<'w> = Option<&'w WorldRecord>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        record(exhibits)
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let Some(allow) = assertion.optional("allow") else {
            return Some(Self {
                allowances: Vec::new(),
            });
        };
        let items = allow.list()?;
        if items.len() > MOST_ALLOWANCES {
            allow.refuse(format!("holds more than {MOST_ALLOWANCES} allowances"));
            return None;
        }
        let read: Vec<Option<Allowance>> = items.iter().map(Allowance::read).collect();
        Some(Self {
            allowances: read.into_iter().collect::<Option<_>>()?,
        })
    }

    fn schema() -> Value {
        let members = json!({
            "allow": about("What may be changed or sent; nothing else may.", list(&allowance::schema())),
        });
        let example = json!({
            "allow": [
                {"fhir": "Appointment", "actions": ["create"], "where": {"status": "booked"}, "max": 1},
                {"fax": {"to_number": {"$phone": "+1 555 010 7100"}}, "max": 1},
            ],
        });
        let about = "Nothing but what is allowed differs from the world as the agent got it, and nothing else was sent.";
        assertion(Self::NAME, about, &[], members, example)
    }

    fn run(&self, record: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let allowances = self.allowances.iter().map(|one| one.bind(scope));
        let allowances: Vec<Bound<'_>> = allowances.collect::<Result<_, _>>()?;
        let record = record.ok_or_else(|| Failed(NOT_RECORDED.to_owned()))?;
        let mut used = vec![0_usize; allowances.len()];
        let mut violations = Vec::new();
        for touched in record.touched.iter().filter(|one| !one.is_untouched()) {
            let allowed = allowances.iter().zip(&mut used).find(|(allowance, used)| {
                let has_room = allowance.max.is_none_or(|max| **used < max);
                has_room && allowance.allows(touched, record)
            });
            match allowed {
                Some((_, used)) => *used += 1,
                None => violations.push(touched),
            }
        }
        let evidence = self.evidence(&violations, &used, record);
        Ok(match violations.is_empty() {
            true => Outcome::share(1, 1, self.fine(&used), evidence),
            false => Outcome::nothing(in_words(&violations), evidence),
        })
    }

    fn blank(&self) -> Value {
        json!({"violations": [], "total": 0, "allowances": []})
    }
}

impl Unchanged {
    fn evidence(&self, violations: &[&Touched], used: &[usize], record: &WorldRecord) -> Value {
        let told = violations.iter().take(MOST_TOLD);
        let told: Vec<Value> = told.map(|one| violation(one, record)).collect();
        let allowances = self.allowances.iter().zip(used);
        let allowances: Vec<Value> = allowances
            .map(|(one, used)| json!({"allow": one.written, "used": used}))
            .collect();
        json!({"violations": told, "total": violations.len(), "allowances": allowances})
    }

    fn fine(&self, used: &[usize]) -> String {
        match used.iter().sum::<usize>() {
            0 => "nothing was changed or sent".to_owned(),
            number => format!(
                "nothing was changed or sent but what is allowed ({})",
                counted(number, "thing")
            ),
        }
    }
}

fn violation(touched: &Touched, record: &WorldRecord) -> Value {
    let event = record.events.get(touched.first_event);
    let (before, after) = match (&touched.before, touched.is_transient()) {
        (before, true) => (before.as_ref(), touched.between.as_ref()),
        (before, false) => (before.as_ref(), touched.after.as_ref()),
    };
    let (before, after) = differing(before, after);
    json!({
        "simulator": touched.name,
        "action": touched.action().as_str(),
        "target": touched.target,
        "event": event.map(|event| event.id),
        "before": before,
        "after": after,
        "transient": touched.is_transient(),
    })
}

/// Two states of a thing; of one that was changed only the members that differ.
fn differing(before: Option<&Value>, after: Option<&Value>) -> (Value, Value) {
    let shown = |value: &Value| Found::shown_within(value, PARTS);
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let mut sides = (Map::new(), Map::new());
            for name in changed_members(before, after) {
                for (side, kept) in [(before, &mut sides.0), (after, &mut sides.1)] {
                    if let Some(member) = side.get(name) {
                        kept.insert(name.to_owned(), shown(member));
                    }
                }
            }
            (sides.0.into(), sides.1.into())
        }
        (before, after) => (
            before.map_or(Value::Null, shown),
            after.map_or(Value::Null, shown),
        ),
    }
}

/// The names of the members that differ.
pub(super) fn changed_members<'m>(
    before: &'m Map<String, Value>,
    after: &'m Map<String, Value>,
) -> Vec<&'m str> {
    let names = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)));
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .map(String::as_str)
        .collect()
}

fn in_words(violations: &[&Touched]) -> String {
    let told: Vec<String> = violations
        .iter()
        .take(MOST_IN_WORDS)
        .map(|one| said(one))
        .collect();
    let more = violations.len().saturating_sub(MOST_IN_WORDS);
    let more = match more {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let number = violations.len();
    let verb = if number == 1 { "is" } else { "are" };
    format!(
        "{} {verb} not allowed: {}{more}",
        counted(number, "change"),
        told.join(", ")
    )
}

fn said(touched: &Touched) -> String {
    let done = match touched.action() {
        WriteAction::Create => "was created",
        WriteAction::Update => "was changed",
        WriteAction::Delete => "was deleted",
        WriteAction::Send => "was sent",
    };
    let undone = match touched.is_transient() {
        true => " and that undone again",
        false => "",
    };
    let members = match (&touched.before, &touched.after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) if !touched.is_sent => {
            let members = changed_members(before, after);
            match members.is_empty() {
                true => String::new(),
                false => format!(" ({})", members.join(", ")),
            }
        }
        _ => String::new(),
    };
    let what = match touched.is_sent {
        true => format!("{} {} {}", touched.family, touched.resource, touched.target),
        false => touched.target.clone(),
    };
    format!("{what} {done}{members}{undone}")
}
