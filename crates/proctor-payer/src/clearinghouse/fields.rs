//! Reads the fields of a JSON question, and collects everything that is wrong with them.

use proctor_core::problem::Problem;
use proctor_simulation::exchange::Response;
use proctor_x12::day::Day;
use serde_json::{Map, Value};

use crate::intake;

/// The fields of a question that were not read yet, and what is wrong with those that were.
pub(super) struct Fields {
    left: Map<String, Value>,
    pub(super) problems: Vec<Problem>,
}

impl Fields {
    pub(super) fn of(map: Map<String, Value>) -> Self {
        Self {
            left: map,
            problems: Vec::new(),
        }
    }

    /// A field by any of its names; null is as good as absent.
    fn take(&mut self, names: &[&str]) -> Option<(String, Value)> {
        let mut found = None;
        for name in names {
            match self.left.remove(*name) {
                None | Some(Value::Null) => {}
                Some(value) => found = found.or(Some(((*name).to_owned(), value))),
            }
        }
        found
    }

    /// A short text.
    pub(super) fn text(&mut self, names: &[&str]) -> Option<String> {
        self.read(names, |value| intake::text(value).map(str::to_owned))
    }

    /// A day.
    pub(super) fn day(&mut self, names: &[&str]) -> Option<Day> {
        self.read(names, |value| {
            let day: Result<Day, _> = intake::text(value)?.parse();
            day.map_err(|problem| problem.to_string())
        })
    }

    /// A text or several.
    pub(super) fn texts(&mut self, names: &[&str]) -> Vec<String> {
        let read = self.read(names, |value| match value {
            Value::Array(all) if all.len() <= 99 => all
                .iter()
                .map(|one| intake::text(one).map(str::to_owned))
                .collect(),
            Value::Array(_) => Err("has more than 99 entries".to_owned()),
            one => Ok(vec![intake::text(one)?.to_owned()]),
        });
        read.unwrap_or_default()
    }

    /// Any value.
    pub(super) fn value(&mut self, name: &str) -> Option<Value> {
        self.take(&[name]).map(|(_, value)| value)
    }

    /// A field that is read by `read`.
    pub(super) fn read<T>(
        &mut self,
        names: &[&str],
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let (name, value) = self.take(names)?;
        match read(&value) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems.push(Problem::error(name, problem));
                None
            }
        }
    }

    /// Notes that a field is missing, unless it is named already.
    pub(super) fn require(&mut self, name: &str, is_there: bool) {
        if !is_there && self.problems.iter().all(|named| named.path != name) {
            self.problems.push(Problem::error(name, "is required"));
        }
    }

    /// Refuses the question if anything is wrong; fields that nobody read are.
    pub(super) fn finish(self) -> Result<(), Box<Response>> {
        self.finish_with(|problems| Box::new(Response::invalid(&problems)))
    }

    /// The same, with the refusal that `refuse` makes of everything that is wrong.
    pub(super) fn finish_with<E>(
        mut self,
        refuse: impl FnOnce(Vec<Problem>) -> E,
    ) -> Result<(), E> {
        for name in self.left.keys() {
            let problem = Problem::error(name, "is no field of this question");
            self.problems.push(problem);
        }
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(refuse(self.problems))
        }
    }
}
