//! The list of runs as files, with the filter of the page.

use std::collections::HashMap;

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use proctor_core::id::kinds::BenchmarkId;
use proctor_store::{
    page::{PageRequest, PageStart},
    run_figures::RunSummary,
};
use serde_json::{Value, json};

use super::filter::filter;
use crate::{
    aliases::Aliases,
    error::PageError,
    query::Params,
    session::Visitor,
    spreadsheet::{Csv, download, number},
    state::WebState,
};

/// The most runs in a file.
const MOST: u32 = 10_000;

struct Exported {
    run: RunSummary,
    benchmark: String,
    solver: String,
}

async fn read(
    state: &WebState,
    visitor: &Visitor,
    query: Option<&str>,
) -> Result<Vec<Exported>, PageError> {
    let params = Params::read(query);
    let filter = filter(visitor, &params)?;
    let request = PageRequest {
        limit: MOST,
        from: PageStart::Newest,
        count: false,
    };
    let organization = visitor.organization();
    let found = state
        .store()
        .run_summaries(organization, &filter, request)
        .await?;
    let mut slugs: HashMap<BenchmarkId, String> = HashMap::new();
    let mut aliases = Aliases::new(state, organization);
    let mut rows = Vec::with_capacity(found.items.len());
    for run in found.items {
        let slug = match slugs.get(&run.benchmark) {
            Some(slug) => slug.clone(),
            None => {
                let versions = state.store().benchmark_versions(run.benchmark).await?;
                let slug = versions.first().map(|one| one.slug.as_str().to_owned());
                let slug = slug.unwrap_or_default();
                slugs.insert(run.benchmark, slug.clone());
                slug
            }
        };
        let solver = aliases.of(run.solver).await?.unwrap_or_default();
        rows.push(Exported {
            benchmark: match run.version {
                Some(version) => format!("{slug}@{version}"),
                None => slug,
            },
            solver,
            run,
        });
    }
    Ok(rows)
}

fn verdict(run: &RunSummary) -> &'static str {
    match run.figures.verdict {
        Some(verdict) => verdict.as_str(),
        None => "running",
    }
}

pub(super) async fn csv(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let mut csv = Csv::new(&[
        "run_id",
        "benchmark",
        "agent",
        "solver",
        "name",
        "verdict",
        "score",
        "low",
        "high",
        "scored",
        "void",
        "critical_misses",
        "created_at",
        "started_at",
        "ended_at",
    ]);
    let time = |at: Option<proctor_core::time::Timestamp>| {
        at.map_or_else(String::new, |at| at.to_string())
    };
    for row in read(&state, &visitor, query.as_deref()).await? {
        let figures = row.run.figures;
        csv.row([
            row.run.id.to_string(),
            row.benchmark,
            row.run.agent.clone().unwrap_or_default(),
            row.solver,
            row.run.name.clone().unwrap_or_default(),
            verdict(&row.run).to_owned(),
            number(figures.score),
            number(figures.interval.map(|(low, _)| low)),
            number(figures.interval.map(|(_, high)| high)),
            figures
                .scored
                .map_or_else(String::new, |one| one.to_string()),
            figures.void.to_string(),
            figures.critical_misses.to_string(),
            row.run.created_at.to_string(),
            time(figures.started_at),
            time(figures.ended_at),
        ]);
    }
    Ok(csv.file("runs.csv"))
}

pub(super) async fn json(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let rows = read(&state, &visitor, query.as_deref()).await?;
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let figures = row.run.figures;
            json!({
                "id": row.run.id, "benchmark": row.benchmark, "agent": row.run.agent, "solver": row.solver,
                "name": row.run.name, "verdict": verdict(&row.run), "score": figures.score,
                "low": figures.interval.map(|(low, _)| low), "high": figures.interval.map(|(_, high)| high),
                "scored": figures.scored, "void": figures.void, "critical_misses": figures.critical_misses,
                "created_at": row.run.created_at, "started_at": figures.started_at, "ended_at": figures.ended_at,
            })
        })
        .collect();
    let body = json!({ "version": 1, "runs": rows }).to_string();
    Ok(download(body, "application/json", "runs.json"))
}
