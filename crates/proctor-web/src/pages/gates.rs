//! `/ui/gates`: whether policies let agents through, as it was decided.

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::id::kinds::{GateId, OrganizationId, TaskRunId};
use proctor_engine::EngineError;
use proctor_store::page::{PageRequest, PageStart};
use serde::Deserialize;
use serde_json::Value;

use super::{
    compare::{kept_comparisons, report::Report, report::Side, when},
    page,
};
use crate::{
    error::PageError,
    html::{self, Html, Mark},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many are on a page.
const A_PAGE: u32 = 50;
/// How many comparisons stand below the gates.
const COMPARISONS: u32 = 10;
/// How many violations of a line are listed.
const VIOLATIONS: usize = 50;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/gates", get(gates))
        .route("/ui/gates/{id}", get(gate))
}

/// A gate in a list.
pub(crate) struct GateRow {
    pub(crate) href: String,
    pub(crate) verdict: String,
    pub(crate) agent: String,
    pub(crate) benchmark: String,
    pub(crate) sentence: String,
    pub(crate) at: Html,
}

/// A verdict as a tag.
pub(crate) fn verdict_tag(verdict: &str) -> Html {
    let (class, sign) = match verdict {
        "PASS" => ("pass", Mark::Pass.sign()),
        "FAIL" => ("fail", Mark::Fail.sign()),
        _ => ("partial", "?"),
    };
    let word = html::short(verdict, 20);
    Html::trusted(format!(
        "<span class=\"tag {class}\"><span aria-hidden=true>{sign}</span> {word}</span>"
    ))
}

/// The newest gates, and where the next begin.
pub(crate) async fn list(
    state: &WebState,
    organization: OrganizationId,
    verdict: Option<&str>,
    limit: u32,
    after: Option<GateId>,
) -> Result<(Vec<GateRow>, Option<GateId>), PageError> {
    let request = PageRequest {
        limit,
        from: after.map_or(PageStart::Newest, PageStart::After),
        count: false,
    };
    let found = state.store().gates(organization, verdict, request).await?;
    let next = found.items.last().map(|(id, _)| *id);
    let next = next.filter(|_| found.has_more);
    let rows = found.items.iter().map(|(id, headline)| row(*id, headline));
    Ok((rows.collect(), next))
}

fn row(id: GateId, headline: &Value) -> GateRow {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let agent = headline["b"]["agent"].as_str();
    GateRow {
        href: format!("/ui/gates/{id}"),
        verdict: text(&headline["verdict"]),
        agent: agent.unwrap_or("unnamed agent").to_owned(),
        benchmark: text(&headline["b"]["benchmark"]),
        sentence: text(&headline["sentences"][0]),
        at: when(&headline["created_at"]),
    }
}

#[derive(Template)]
#[template(path = "gates.html")]
struct GatesPage {
    shell: Shell,
    params: Params,
    rows: Vec<GateRow>,
    comparisons: Vec<super::compare::KeptRow>,
    next: Option<String>,
}

impl GatesPage {
    fn chips(&self) -> Vec<(&'static str, String, bool)> {
        let plain = self.params.without("after");
        ["PASS", "FAIL", "INCONCLUSIVE"]
            .into_iter()
            .map(|word| {
                let is_on = self.params.is("verdict", word);
                let link = plain.link_with("verdict", if is_on { "" } else { word });
                (word, link, is_on)
            })
            .collect()
    }
}

async fn gates(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let params = Params::read(query.as_deref());
    let after = params.get("after").map(str::parse).transpose();
    let after = after.map_err(|_| PageError::bad_request("This is not a place in the list."))?;
    let organization = visitor.organization();
    let verdict = params.get("verdict");
    let (rows, next) = list(&state, organization, verdict, A_PAGE, after).await?;
    let (comparisons, _) = kept_comparisons(&state, organization, COMPARISONS, None).await?;
    page(&GatesPage {
        shell: visitor.shell("Gates", Section::Compare),
        rows,
        comparisons,
        next: next.map(|id| params.link_with("after", &id.to_string())),
        params,
    })
}

/// A gate as it was answered.
#[derive(Deserialize)]
struct Gate {
    created_at: proctor_core::time::Timestamp,
    verdict: String,
    #[serde(default)]
    sentences: Vec<String>,
    about: String,
    #[serde(default)]
    lines: Vec<Line>,
    policy: Value,
    policy_digest: String,
    a: Option<Side>,
    b: Side,
    #[serde(default)]
    differences: Vec<String>,
    void_share: f64,
    comparison: Option<Report>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Line {
    kind: String,
    asks: String,
    verdict: String,
    sentence: String,
    checked: Option<u64>,
    unchecked: Option<u64>,
    #[serde(default)]
    violations: Option<Vec<Violation>>,
}

impl Line {
    fn listed(&self) -> impl Iterator<Item = &Violation> {
        self.violations.iter().flatten().take(VIOLATIONS)
    }
}

#[derive(Deserialize)]
struct Violation {
    name: String,
    attempt: u32,
    task_run: TaskRunId,
    label: String,
    details: String,
}

#[derive(Template)]
#[template(path = "gate.html")]
struct GatePage {
    shell: Shell,
    id: GateId,
    gate: Gate,
    policy: Html,
}

impl GatePage {
    fn compare(&self) -> Option<String> {
        let a = self.gate.a.as_ref()?;
        Some(format!(
            "/ui/compare?{}&{}",
            a.query("a"),
            self.gate.b.query("b")
        ))
    }

    fn tone(&self) -> &'static str {
        match self.gate.verdict.as_str() {
            "PASS" => "better",
            "FAIL" => "worse",
            _ => "same",
        }
    }
}

async fn gate(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let missing = || PageError::not_found("gate");
    let id: GateId = id.parse().map_err(|_| missing())?;
    let body = state.store().gate(visitor.organization(), id).await?;
    let gate: Gate = serde_json::from_value(body.ok_or_else(missing)?)
        .map_err(|error| EngineError::Fault(format!("the gate {id}: {error}")))?;
    page(&GatePage {
        shell: visitor.shell(
            format!("{}: {}", gate.verdict, gate.b.name()),
            Section::Compare,
        ),
        policy: html::json(&gate.policy),
        id,
        gate,
    })
}
