//! Logs of a box in blocks by byte range: `/ui/task-runs/{id}/logs/{log}?from=BYTE`.

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::task_run::TaskRun;
use proctor_engine::scenarios::{BoxLog, log_line};
use proctor_fleet::logs::LogEntry;

use super::{Found, page, task_run_id};
use crate::{
    error::PageError,
    log_view::{LogShown, LogView},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/task-runs/{id}/logs/{log}", get(log))
}

/// The logs of a box, by the word in their address.
const LOGS: [(&str, &str); 3] = [
    ("setup", "Setup log"),
    ("exec", "Commands"),
    ("agent", "Agent log"),
];

/// A link to a log.
pub(crate) struct LogLink {
    pub(crate) href: String,
    pub(crate) label: &'static str,
}

/// The logs that a task run has.
pub(crate) fn links(task_run: &TaskRun) -> Vec<LogLink> {
    let id = task_run.id;
    let link = |(word, label): (&str, &'static str)| LogLink {
        href: format!("/ui/task-runs/{id}/logs/{word}"),
        label,
    };
    match task_run.devbox {
        None => Vec::new(),
        Some(_) => LOGS.into_iter().map(link).collect(),
    }
}

#[derive(Template)]
#[template(path = "log.html")]
struct LogPage<'p> {
    shell: Shell,
    task_run: &'p TaskRun,
    task_name: &'p str,
    label: &'static str,
    log: LogShown,
}

async fn log(
    State(state): State<WebState>,
    visitor: Visitor,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let found = Found::find(&state, &visitor, task_run_id(&id)?).await?;
    let known = LOGS.iter().find(|(known, _)| *known == word);
    let (_, label) = known.ok_or_else(|| PageError::not_found("log"))?;
    if !found.model.shows_evidence {
        return Err(PageError::not_found("log"));
    }
    let task_run = &found.task_run;
    let which = match word.as_str() {
        "setup" => BoxLog::Setup,
        "exec" => BoxLog::Executions,
        _ => BoxLog::Agent(task_run.id.uuid()),
    };
    let view = LogView {
        fleet: state.fleet(),
        devbox: task_run.devbox,
        told: |entry: &LogEntry| log_line(entry, which),
    };
    let mut shell = visitor.shell(*label, Section::Runs);
    if !task_run.is_over() {
        shell = shell.following(format!("task-run:{}", task_run.id));
    }
    page(&LogPage {
        shell,
        task_name: &found.task()?.name,
        task_run,
        label,
        log: view.show(Params::read(query.as_deref())).await?,
    })
}
