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
/// How many things that need somebody are listed.
const NEEDS: usize = 6;
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
    score: String,
}

fn attention(row: &RunRow) -> Option<Attention> {
    let critical = match row.critical() {
        1 => "1 critical criterion missed".to_owned(),
        many => format!("{many} critical criteria missed"),
    };
    let why = match (row.void(), row.critical()) {
        (1, _) => {
            "1 task is void: the platform broke it, so it says nothing about the agent".to_owned()
        }
        (void @ 2.., _) => format!(
            "{void} tasks are void: the platform broke them, so they say nothing about the agent"
        ),
        (0, 1..) => format!("{critical}; the score alone would be {}", row.score()),
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
        score: row.score(),
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
    // Void first; then what looks best and still failed, which is missed most easily.
    let mut attention: Vec<Attention> = all.iter().filter_map(attention).collect();
    attention.sort_by(|one, other| {
        let rank = |one: &Attention| one.mark != Mark::Void;
        rank(one)
            .cmp(&rank(other))
            .then_with(|| other.score.cmp(&one.score))
    });
    attention.truncate(NEEDS);
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
