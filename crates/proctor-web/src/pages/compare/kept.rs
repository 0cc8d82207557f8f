//! Comparisons that were kept: as they were answered, also after their runs are gone.

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::id::kinds::{ComparisonId, OrganizationId};
use proctor_engine::EngineError;
use proctor_store::page::{PageRequest, PageStart};
use serde_json::Value;

use super::{report::Report, view::kept_page};
use crate::{
    error::PageError,
    html,
    pages::page,
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many are on a page.
const A_PAGE: u32 = 50;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/comparisons", get(comparisons))
        .route("/ui/comparisons/{id}", get(comparison))
}

/// A comparison in a list.
pub(crate) struct KeptRow {
    pub(crate) href: String,
    pub(crate) sentence: String,
    pub(crate) sides: String,
    pub(crate) benchmark: String,
    pub(crate) at: html::Html,
}

/// The newest comparisons that were kept, and where the next begin.
pub(crate) async fn list(
    state: &WebState,
    organization: OrganizationId,
    limit: u32,
    after: Option<ComparisonId>,
) -> Result<(Vec<KeptRow>, Option<ComparisonId>), PageError> {
    let request = PageRequest {
        limit,
        from: after.map_or(PageStart::Newest, PageStart::After),
        count: false,
    };
    let found = state.store().comparisons(organization, request).await?;
    let next = found.items.last().map(|(id, _)| *id);
    let next = next.filter(|_| found.has_more);
    let rows = found.items.iter().map(|(id, headline)| row(*id, headline));
    Ok((rows.collect(), next))
}

fn row(id: ComparisonId, headline: &Value) -> KeptRow {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |side: &str| {
        let agent = headline[side]["agent"].as_str();
        agent.unwrap_or("unnamed agent").to_owned()
    };
    KeptRow {
        href: format!("/ui/comparisons/{id}"),
        sentence: text(&headline["sentence"]),
        sides: format!("{} against {}", name("b"), name("a")),
        benchmark: text(&headline["b"]["benchmark"]),
        at: when(&headline["created_at"]),
    }
}

/// A time in a document.
pub(crate) fn when(value: &Value) -> html::Html {
    let at = value.as_str().and_then(|text| text.parse().ok());
    at.map_or_else(html::Html::default, |at: proctor_core::time::Timestamp| {
        html::time(at)
    })
}

#[derive(Template)]
#[template(path = "comparisons.html")]
struct ComparisonsPage {
    shell: Shell,
    rows: Vec<KeptRow>,
    next: Option<String>,
}

async fn comparisons(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let params = Params::read(query.as_deref());
    let after = params.get("after").map(str::parse).transpose();
    let after = after.map_err(|_| PageError::bad_request("This is not a place in the list."))?;
    let (rows, next) = list(&state, visitor.organization(), A_PAGE, after).await?;
    page(&ComparisonsPage {
        shell: visitor.shell("Comparisons", Section::Compare),
        rows,
        next: next.map(|id| params.link_with("after", &id.to_string())),
    })
}

async fn comparison(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let missing = || PageError::not_found("comparison");
    let id: ComparisonId = id.parse().map_err(|_| missing())?;
    let body = state.store().comparison(visitor.organization(), id).await?;
    let report: Report = serde_json::from_value(body.ok_or_else(missing)?)
        .map_err(|error| EngineError::Fault(format!("the comparison {id}: {error}")))?;
    let params = Params::read(query.as_deref());
    kept_page(&visitor, params, &report, id)
}
