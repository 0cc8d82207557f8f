//! `/ui/benchmarks/{slug}/trend`: scores over time, with the noise that is no news.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::run::Run;

use super::{
    benchmarks::{Named, find},
    page,
    runs::{RunRow, rows},
};
use crate::{
    error::PageError,
    html::{self, Html},
    plots::escaped,
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// Of how many runs the noise is measured.
const MEASURED: usize = 5;
/// How many runs are in the table.
const LISTED: usize = 200;
/// How many agents have a colour of their own.
const COLOURS: usize = 6;

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/benchmarks/{name}/trend", get(trend))
}

#[derive(Template)]
#[template(path = "trend.html")]
struct TrendPage {
    shell: Shell,
    named: Named,
    agent: Option<String>,
    agents: Vec<AgentChip>,
    picture: Html,
    /// What two runs of the agent differ by without any reason, and over how many runs that was measured.
    noise: Option<(f64, usize)>,
    rows: Vec<RunRow>,
    total: usize,
    versions: Vec<(u32, Html)>,
}

struct AgentChip {
    name: String,
    count: usize,
    colour: usize,
    link: String,
    is_on: bool,
}

/// A run in the picture.
struct Point<'r> {
    row: &'r RunRow,
    score: f64,
    interval: Option<(f64, f64)>,
}

async fn trend(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::read(query.as_deref());
    let named = find(&state, &visitor, &name).await?;
    let agent = params.get("agent").map(str::to_owned);
    let mut all: Vec<Run> = state
        .engine()
        .trend(visitor.organization(), named.id, None)
        .await?;
    all.retain(|run| visitor.sees(run));
    let all = rows(&state, all).await?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in &all {
        *counts.entry(row.taker.clone()).or_default() += 1;
    }
    let colours: BTreeMap<String, usize> = counts
        .keys()
        .enumerate()
        .map(|(place, name)| (name.clone(), place % COLOURS))
        .collect();
    let agents = counts.into_iter().map(|(name, count)| {
        let is_on = agent.as_deref() == Some(name.as_str());
        AgentChip {
            colour: colours.get(&name).copied().unwrap_or(0),
            link: params.link_with("agent", if is_on { "" } else { &name }),
            name,
            count,
            is_on,
        }
    });
    let agents = agents.collect();
    let chosen: Vec<RunRow> = all
        .into_iter()
        .filter(|row| agent.as_ref().is_none_or(|agent| row.taker == *agent))
        .collect();
    let noise = match agent.is_some() {
        true => noise(&state, &visitor, &chosen).await?,
        false => None,
    };
    let points: Vec<Point<'_>> = chosen.iter().filter_map(point).collect();
    let picture = draw(&points, &colours, noise.map(|(floor, _)| floor));
    let versions = steps(&points);
    let total = chosen.len();
    page(&TrendPage {
        shell: visitor.shell(format!("{} over time", named.title), Section::Benchmarks),
        named,
        agent,
        agents,
        noise,
        picture,
        versions,
        total,
        rows: chosen.into_iter().rev().take(LISTED).collect(),
    })
}

fn point(row: &RunRow) -> Option<Point<'_>> {
    let own = row.run.own_numbers();
    let api = row.run.card().map(|card| card.score.value());
    let interval = own.and_then(|own| own.interval);
    Some(Point {
        row,
        score: own.and_then(|own| own.score).or(api)?,
        interval: interval.map(|one| (one.low, one.high)),
    })
}

/// How much the newest runs of one version differ by themselves.
async fn noise(
    state: &WebState,
    visitor: &Visitor,
    chosen: &[RunRow],
) -> Result<Option<(f64, usize)>, PageError> {
    let Some(newest) = chosen.last() else {
        return Ok(None);
    };
    let same = chosen
        .iter()
        .rev()
        .filter(|row| row.run.pinned.digest == newest.run.pinned.digest);
    let runs: Vec<Run> = same.take(MEASURED).map(|row| row.run.clone()).collect();
    let count = runs.len();
    if count < 2 {
        return Ok(None);
    }
    let found = state
        .engine()
        .noise_of_runs(visitor.organization(), runs)
        .await?;
    Ok(found.map(|noise| (noise.noise_floor, count)))
}

/// The first run of every version after the first, for the legend.
fn steps(points: &[Point<'_>]) -> Vec<(u32, Html)> {
    let mut found: Vec<(u32, Html)> = Vec::new();
    for point in points {
        if let Some(version) = point.row.run.pinned.version
            && found.iter().all(|(known, _)| *known < version)
        {
            found.push((version, html::time(point.row.run.created_at)));
        }
    }
    found
}

fn draw(points: &[Point<'_>], colours: &BTreeMap<String, usize>, noise: Option<f64>) -> Html {
    if points.is_empty() {
        return Html::default();
    }
    let at = |point: &Point<'_>| point.row.run.created_at.as_millis() as f64;
    let (first, last) = (at(&points[0]), at(&points[points.len() - 1]));
    let span = (last - first).max(1.0);
    let x = |point: &Point<'_>| match points.len() {
        1 => 500.0,
        _ => 15.0 + (at(point) - first) / span * 970.0,
    };
    let y = |score: f64| 200.0 - score.clamp(0.0, 1.0) * 200.0;
    let mut out = format!(
        "<svg class=\"plot trend\" viewBox=\"0 -4 1000 208\" preserveAspectRatio=none role=group aria-label=\"Scores of {} runs over time; the table below has the same\">\
         <title>Scores over time, with 95 % intervals</title><path class=rule d=\"M0 0H1000M0 50H1000M0 100H1000M0 150H1000M0 200H1000\"/>",
        points.len()
    );
    if let Some(noise) = noise {
        // Around the newest score: what is inside is no news.
        let newest = points[points.len() - 1].score;
        let (high, low) = (y(newest + noise), y(newest - noise));
        out.push_str(&format!(
            "<rect class=band x=0 width=1000 y={high:.2} height={:.2} />",
            (low - high).max(1.0)
        ));
    }
    let mut version = points[0].row.run.pinned.version;
    for point in points {
        let now = point.row.run.pinned.version;
        if now > version {
            let label = now.map_or_else(String::new, |now| format!("version {now}"));
            out.push_str(&format!(
                "<path class=step d=\"M{:.1} 0V200\"><title>{label}</title></path>",
                x(point) - 6.0
            ));
            version = now;
        }
    }
    let mut lines: BTreeMap<(&str, Option<u32>), Vec<&Point<'_>>> = BTreeMap::new();
    for point in points {
        let key = (point.row.taker.as_str(), point.row.run.pinned.version);
        lines.entry(key).or_default().push(point);
    }
    for ((taker, _), of_agent) in &lines {
        let colour = colours.get(*taker).copied().unwrap_or(0);
        let places: Vec<String> = of_agent
            .iter()
            .map(|point| format!("{:.1} {:.1}", x(point), y(point.score)))
            .collect();
        if places.len() > 1 {
            out.push_str(&format!(
                "<path class=\"line c{colour}\" d=\"M{}\"/>",
                places.join("L")
            ));
        }
    }
    for point in points {
        let colour = colours.get(&point.row.taker).copied().unwrap_or(0);
        let (px, py) = (x(point), y(point.score));
        let name: String = point.row.taker.chars().take(60).collect();
        let whisker = point.interval.map_or_else(String::new, |(low, high)| {
            format!(
                "<path class=\"whisker c{colour}\" d=\"M{px:.1} {:.1}V{:.1}\"/>",
                y(low),
                y(high)
            )
        });
        out.push_str(&format!(
            "<a href=\"/ui/runs/{}\" tabindex=-1>{whisker}<path class=\"dot c{colour}\" d=\"M{px:.1} {py:.1}h0\"><title>{}: {} on {}</title></path></a>",
            point.row.run.id,
            escaped(&name),
            html::score(point.score),
            escaped(&point.row.benchmark)
        ));
    }
    out.push_str("</svg>");
    Html::trusted(out)
}
