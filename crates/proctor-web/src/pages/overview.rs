//! `/ui/`: what needs attention, the last runs, how to begin.

use askama::Template;
use axum::{Router, extract::State, response::Response, routing::get};
use proctor_core::run::RunStatus;
use proctor_store::{
    page::{PageRequest, PageStart},
    run_lists::RunFilter,
};

use super::{
    page,
    runs::{RunRow, rows},
};
use crate::{
    error::PageError,
    html::{self, Mark},
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many runs are looked at for what needs attention.
const LOOKED_AT: u32 = 60;
/// How many are listed.
const LISTED: usize = 10;

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/", get(overview))
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    running: Vec<RunRow>,
    attention: Vec<Attention>,
    rows: Vec<RunRow>,
    is_solver: bool,
}

/// Something that needs somebody.
struct Attention {
    mark: Mark,
    href: String,
    what: html::Html,
    why: String,
}

fn attention(row: &RunRow) -> Option<Attention> {
    let why = match (row.void(), row.critical()) {
        (void @ 1.., _) => format!(
            "{} void: the platform broke {}, so the score says nothing about {}",
            html::counted(void as usize, "task"),
            if void == 1 { "it" } else { "them" },
            if void == 1 { "it" } else { "them" }
        ),
        (0, critical @ 1..) => format!(
            "{} missed although the score is {}",
            html::counted(critical, "critical criterion").replace("criterions", "criteria"),
            row.score()
        ),
        (0, 0) => return None,
    };
    Some(Attention {
        mark: if row.void() > 0 {
            Mark::Void
        } else {
            Mark::Fail
        },
        href: format!("/ui/runs/{}", row.run.id),
        what: html::short(format!("{} on {}", row.taker, row.benchmark), 90),
        why,
    })
}

async fn overview(State(state): State<WebState>, visitor: Visitor) -> Result<Response, PageError> {
    let filter = RunFilter {
        solver: visitor.solver(),
        ..RunFilter::default()
    };
    let request = PageRequest {
        limit: LOOKED_AT,
        from: PageStart::Newest,
        count: false,
    };
    let found = state
        .store()
        .find_runs(visitor.organization(), &filter, request)
        .await?;
    let all = rows(&state, found.items).await?;
    let attention: Vec<Attention> = all.iter().filter_map(attention).take(LISTED).collect();
    let is_open =
        |row: &RunRow| matches!(row.run.status(), RunStatus::Created | RunStatus::Started);
    let (running, mut done): (Vec<RunRow>, Vec<RunRow>) = all.into_iter().partition(is_open);
    done.truncate(LISTED);
    page(&OverviewPage {
        shell: visitor
            .shell("Overview", Section::Overview)
            .following("runs"),
        running,
        attention,
        rows: done,
        is_solver: visitor.solver().is_some(),
    })
}
