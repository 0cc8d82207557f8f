//! Choosing what to compare, also where what was chosen cannot be compared.

use askama::Template;
use axum::response::Response;
use proctor_core::run::{Run, RunStatus};
use proctor_store::{
    page::{PageRequest, PageStart},
    run_lists::RunFilter,
};

use crate::{
    error::PageError,
    pages::runs::{RunRow, rows, slug_of},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many runs there are to choose from.
const LISTED: u32 = 30;

#[derive(Template)]
#[template(path = "compare_choose.html")]
struct ChoosePage {
    shell: Shell,
    params: Params,
    a: Vec<RunRow>,
    b: Vec<RunRow>,
    rows: Vec<RunRow>,
    why: Option<String>,
    differences: Vec<String>,
    even_though: String,
}

impl ChoosePage {
    fn is_a(&self, row: &RunRow) -> bool {
        self.a.iter().any(|one| one.run.id == row.run.id)
    }

    fn is_b(&self, row: &RunRow) -> bool {
        self.b.iter().any(|one| one.run.id == row.run.id)
    }
}

/// The page to choose on; `why` says why what was chosen is not compared.
pub(super) async fn page(
    state: &WebState,
    visitor: &Visitor,
    params: &Params,
    a: &[Run],
    b: &[Run],
    why: Option<String>,
) -> Result<Response, PageError> {
    draw(state, visitor, params, [a, b], why, Vec::new()).await
}

/// The page that says in what two sides differ.
pub(super) async fn not_comparable(
    state: &WebState,
    visitor: &Visitor,
    params: &Params,
    a: &[Run],
    b: &[Run],
    differences: Vec<String>,
) -> Result<Response, PageError> {
    draw(state, visitor, params, [a, b], None, differences).await
}

async fn draw(
    state: &WebState,
    visitor: &Visitor,
    params: &Params,
    [a, b]: [&[Run]; 2],
    why: Option<String>,
    differences: Vec<String>,
) -> Result<Response, PageError> {
    // The other side is looked for among runs of the same benchmark.
    let benchmark = a.first().or(b.first()).map(|run| run.pinned.benchmark);
    let slug = params.get("benchmark").map(slug_of).transpose()?;
    let filter = RunFilter {
        solver: visitor.solver(),
        statuses: Some(vec![
            RunStatus::Completed,
            RunStatus::Cancelled,
            RunStatus::Failed,
        ]),
        benchmark: benchmark.filter(|_| slug.is_none()),
        slug,
        ..RunFilter::default()
    };
    let request = PageRequest {
        limit: LISTED,
        from: PageStart::Newest,
        count: false,
    };
    let found = state
        .store()
        .find_runs(visitor.organization(), &filter, request)
        .await?;
    crate::pages::page(&ChoosePage {
        shell: visitor.shell("Compare", Section::Compare),
        even_though: params.link_with("even-though", "1"),
        params: params.clone(),
        a: rows(state, a.to_vec()).await?,
        b: rows(state, b.to_vec()).await?,
        rows: rows(state, found.items).await?,
        why,
        differences,
    })
}
