//! Rows of a simulator's state: objects with a name, that are added, listed and looked at.

use std::borrow::Cow;

use http::StatusCode;
use proctor_core::{problem::Problem, time::Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    exchange::{Request, Response},
    exhibits::{Exhibits, StateRow},
};

/// The most rows of one kind in a playground.
const MOST_ROWS: usize = 10_000;
/// The most bytes that rows of one kind have together, written as JSON.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What names it.
    pub id: String,
    /// Its fields; `id` is one of them.
    pub fields: Value,
    /// When it came to be.
    pub at: Timestamp,
}

/// Rows in the order in which they came to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    rows: Vec<Row>,
    bytes: usize,
}

impl Rows {
    /// How many there are: the number of the next one.
    pub fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Adds the newest row.
    pub fn push(&mut self, row: Row) {
        self.bytes += row.fields.to_string().len();
        self.rows.push(row);
    }

    /// All rows, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// The refusal of one more row, when there are as many as are kept.
    pub fn check_room(&self) -> Result<(), Box<Response>> {
        if self.rows.len() < MOST_ROWS && self.bytes < MOST_BYTES {
            return Ok(());
        }
        Err(Box::new(Response::too_large(format!(
            "no more is kept: there are {} already",
            self.rows.len()
        ))))
    }

    /// The rows whose fields have the values that the query names for `filters`, oldest first.
    pub fn list(&self, request: &Request, filters: &[&str]) -> Response {
        let wanted: Vec<(&str, String)> = filters
            .iter()
            .filter_map(|name| Some((*name, request.parameter(name)?)))
            .collect();
        let matches = |row: &&Row| {
            wanted
                .iter()
                .all(|(name, value)| row.fields[*name] == *value)
        };
        let rows: Vec<&Value> = self
            .rows
            .iter()
            .filter(matches)
            .map(|row| &row.fields)
            .collect();
        Response::json(StatusCode::OK, &json!({"data": rows}))
    }

    /// The row with this name; `noun` is what people call it.
    pub fn show(&self, id: &str, noun: &str) -> Response {
        match self.rows.iter().find(|row| row.id == id) {
            Some(row) => Response::json(StatusCode::OK, &row.fields),
            None => Response::not_found(format!("there is no {noun} '{id}'")),
        }
    }

    /// Shows the rows to checks, as those of `resource`.
    pub fn exhibit<'w>(&'w self, resource: &'static str, exhibits: &mut Exhibits<'w>) {
        let shown = self.rows.iter().map(|row| StateRow {
            key: Cow::Borrowed(&row.id),
            fields: Cow::Borrowed(&row.fields),
            at: row.at,
        });
        exhibits.rows.entry(resource).or_default().extend(shown);
    }
}

/// Refuses a value of the query parameter `direction` that is none.
pub fn check_direction(request: &Request) -> Result<(), Box<Response>> {
    match request.parameter("direction").as_deref() {
        None | Some("inbound" | "outbound") => Ok(()),
        Some(_) => Err(Box::new(Response::invalid(&[Problem::error(
            "direction",
            "must be inbound or outbound",
        )]))),
    }
}
