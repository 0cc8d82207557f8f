//! Which runs are listed, and in what order: all of it is in the address.

use proctor_core::{definition::Slug, id::kinds::SolverId, run::RunStatus, time::Timestamp};
use proctor_store::{
    names::Sought,
    run_figures::{RunOrder, RunVerdict},
    run_lists::RunFilter,
};

use crate::{error::PageError, query::Params, session::Visitor};

pub(super) const STATUSES: [(&str, &[RunStatus]); 4] = [
    ("running", &[RunStatus::Created, RunStatus::Started]),
    ("completed", &[RunStatus::Completed]),
    ("cancelled", &[RunStatus::Cancelled]),
    ("failed", &[RunStatus::Failed]),
];

/// The orders, by their words: what they are called, and what sorts the other way.
const ORDERS: [(&str, RunOrder); 7] = [
    ("newest", RunOrder::Newest),
    ("oldest", RunOrder::Oldest),
    ("best", RunOrder::Best),
    ("worst", RunOrder::Worst),
    ("longest", RunOrder::Longest),
    ("shortest", RunOrder::Shortest),
    ("void", RunOrder::MostVoid),
];

/// What filters the list, in the order of the form.
pub(super) const NAMES: [&str; 10] = [
    "q",
    "benchmark",
    "version",
    "agent",
    "solver",
    "status",
    "verdict",
    "void",
    "label",
    "since",
];

/// The slug in `slug` or `slug@version`.
pub(crate) fn slug_of(text: &str) -> Result<Slug, PageError> {
    let slug = text.split('@').next().unwrap_or(text);
    let bad = |_| PageError::bad_request("This is not the slug of a benchmark.");
    Slug::try_from(slug.to_owned()).map_err(bad)
}

/// The order that an address asks for.
pub(super) fn order(params: &Params) -> Result<RunOrder, PageError> {
    let Some(word) = params.get("sort") else {
        return Ok(RunOrder::Newest);
    };
    let found = ORDERS.iter().find(|(known, _)| *known == word);
    found.map(|(_, order)| *order).ok_or_else(|| {
        let words: Vec<&str> = ORDERS.iter().map(|(word, _)| *word).collect();
        PageError::bad_request(format!("Runs are sorted by {}.", words.join(", ")))
    })
}

/// The filter that an address asks for.
pub(super) fn filter(visitor: &Visitor, params: &Params) -> Result<RunFilter, PageError> {
    let status = params.get("status");
    let statuses = STATUSES.iter().find(|(word, _)| Some(*word) == status);
    if status.is_some() && statuses.is_none() {
        return Err(PageError::bad_request(
            "The status of runs is running, completed, cancelled or failed.",
        ));
    }
    let benchmark = params.get("benchmark");
    let in_slug = benchmark
        .and_then(|text| text.split_once('@'))
        .map(|(_, version)| version);
    let version = params.get("version").or(in_slug);
    let version = version.map(|text| text.parse::<u32>()).transpose();
    let verdict = params.get("verdict").map(|word| {
        let bad = "The verdict on runs is pass, partial, fail, void or cancelled.";
        RunVerdict::from_word(word).ok_or_else(|| PageError::bad_request(bad))
    });
    let has_void = match params.get("void") {
        None => None,
        Some("yes") => Some(true),
        Some("no") => Some(false),
        Some(_) => return Err(PageError::bad_request("void is yes or no.")),
    };
    let label = params.get("label").map(|text| {
        let pair = text.split_once('=');
        let pair = pair.filter(|(name, _)| !name.trim().is_empty());
        let bad = "A label is written as name=value, such as branch=main.";
        pair.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .ok_or_else(|| PageError::bad_request(bad))
    });
    let solver = params.get("solver").map(|text| {
        let bad = |_| PageError::bad_request("This is not the id of a Solver.");
        text.parse::<SolverId>().map_err(bad)
    });
    Ok(RunFilter {
        // A Solver sees its own, whatever it asks for.
        solver: visitor.solver().or(solver.transpose()?),
        statuses: statuses.map(|(_, statuses)| statuses.to_vec()),
        agent: params.get("agent").map(str::to_owned),
        slug: benchmark.map(slug_of).transpose()?,
        version: version
            .map_err(|_| PageError::bad_request("The version of a benchmark is a number."))?,
        verdict: verdict.transpose()?,
        has_void,
        label: label.transpose()?,
        since: day(params, "since", 0)?,
        before: day(params, "until", 1)?,
        sought: Sought {
            search: params.get("q").map(str::to_owned),
            ..Sought::default()
        },
        ..RunFilter::default()
    })
}

/// The beginning of a day (UTC), or of the day so many days later.
fn day(params: &Params, name: &str, later: i64) -> Result<Option<Timestamp>, PageError> {
    const A_DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let Some(text) = params.get(name) else {
        return Ok(None);
    };
    let text = text.get(..10).unwrap_or(text);
    let begin = format!("{text}T00:00:00Z").parse::<Timestamp>();
    let begin = begin.map_err(|_| PageError::bad_request("A day is written as 2026-04-21."))?;
    Ok(Some(Timestamp::from_millis(
        begin.as_millis() + later * A_DAY_MS,
    )))
}
