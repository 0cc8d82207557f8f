//! Rows of a simulator's state: objects with a name, that are added, listed and looked at.

use std::borrow::Cow;

use http::{Method, StatusCode};
use proctor_core::{problem::Problem, time::Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    exchange::{Request, Response},
    exhibits::{Exhibits, StateRow},
    record::Write,
    simulator::Decision,
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

impl Row {
    /// The row as something that the agent sent, of the sort that `sort` names; nothing if it came in.
    pub fn sent(&self, family: &'static str, sort: &str) -> Vec<Write> {
        if self.fields["direction"] == "inbound" {
            return Vec::new();
        }
        let sort = self.fields[sort].as_str().unwrap_or_default();
        vec![Write::sent(family, sort, &self.id, self.fields.clone())]
    }
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

/// A collection of rows as agents reach it: they list, send and look at rows.
#[derive(Debug)]
pub struct Collection {
    /// Its path.
    pub path: &'static str,
    /// What people call one of its rows.
    pub noun: &'static str,
    /// What a request is remembered as that changes nothing.
    pub look: &'static str,
    /// The fields that a list can be narrowed by; `direction` is one of them.
    pub filters: &'static [&'static str],
}

impl Collection {
    /// What to answer; `send` decides about a row that the agent sends.
    pub fn decide<C>(
        &self,
        rows: &Rows,
        request: &Request,
        send: impl FnOnce() -> Decision<C>,
    ) -> Decision<C> {
        let segments = request.segments().unwrap_or_default();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let response = match (&request.method, segments.as_slice()) {
            (&Method::POST, [path]) if *path == self.path => return send(),
            (&Method::GET, [path]) if *path == self.path => {
                request.listing(self.filters, || match check_direction(request) {
                    Ok(()) => rows.list(request, self.filters),
                    Err(refusal) => *refusal,
                })
            }
            (_, [path]) if *path == self.path => Response::wrong_method(request, "GET, POST"),
            (&Method::GET, [path, id]) if *path == self.path => rows.show(id, self.noun),
            (_, [path, _]) if *path == self.path => Response::wrong_method(request, "GET"),
            _ => Response::not_found(format!(
                "there is nothing at /{}; there is /{}",
                request.path, self.path
            )),
        };
        Decision::answer(self.look, request, response)
    }
}

/// Refuses a value of the query parameter `direction` that is none.
fn check_direction(request: &Request) -> Result<(), Box<Response>> {
    match request.parameter("direction").as_deref() {
        None | Some("inbound" | "outbound") => Ok(()),
        Some(_) => Err(Box::new(Response::invalid(&[Problem::error(
            "direction",
            "must be inbound or outbound",
        )]))),
    }
}
