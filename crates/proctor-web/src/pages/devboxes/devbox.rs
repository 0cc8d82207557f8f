//! `/ui/devboxes/{id}`: a devbox, what ran in it, its log, its files, what it uses.

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::devbox::DevboxStatus;
use proctor_fleet::{DevboxRecord, logs::LogEntry};

use super::{
    devbox_id,
    executions::{self, Execution, told},
    files::{self, FileShown},
    fleet, refused,
};
use crate::{
    error::PageError,
    html::{self, Html},
    log_view::{LogShown, LogView},
    pages::page,
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

pub(super) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/devboxes/{id}", get(devbox))
        .route("/ui/devboxes/{id}/log", get(log))
        .route("/ui/devboxes/{id}/executions/{execution}", get(execution))
        .route("/ui/devboxes/{id}/file", get(file))
}

#[derive(Template)]
#[template(path = "devbox.html")]
struct DevboxPage {
    shell: Shell,
    record: DevboxRecord,
    executions: Vec<Execution>,
    /// Whether the log has older executions than are listed.
    is_cut: bool,
    usage: Vec<(&'static str, String)>,
    age: String,
}

impl DevboxPage {
    fn is_running(&self) -> bool {
        self.record.status() == DevboxStatus::Running
    }

    fn is_suspended(&self) -> bool {
        self.record.status() == DevboxStatus::Suspended
    }

    fn is_over(&self) -> bool {
        self.record.status().is_over()
    }

    fn title(&self) -> Html {
        match &self.record.name {
            Some(name) if !name.is_empty() => html::short(name, 100),
            _ => html::text(self.record.id.to_string()),
        }
    }

    /// Why it ended.
    fn ending(&self) -> Option<String> {
        let life = &self.record.life;
        let failed = life
            .failure()
            .map(|(failure, why)| format!("{}: {why}", failure.as_str()));
        failed.or_else(|| {
            life.shutdown_reason()
                .map(|reason| reason.as_str().to_owned())
        })
    }
}

async fn devbox(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let fleet = fleet(&state, &visitor)?;
    let id = devbox_id(&id)?;
    let record = fleet
        .devbox(visitor.organization(), id)
        .await
        .map_err(refused)?;
    let (executions, is_cut) = executions::list(fleet, id).await.map_err(refused)?;
    let now = state.store().now();
    let end = record.life.ended_at().unwrap_or(now);
    let mut shell = visitor.shell("Devbox", Section::Devboxes);
    if !record.status().is_over() {
        shell = shell.following(format!("devbox:{id}"));
    }
    let mut usage = Vec::new();
    let active = std::time::Duration::from_millis(record.life.active_millis(now));
    usage.push(("active", html::duration(active)));
    // Asking a box that stands still would wake it.
    if record.status() == DevboxStatus::Running {
        let asked = async { fleet.handle(id).await.ok()?.usage().await.ok() };
        if let Some(used) = asked.await {
            let mut add = |name, value: Option<String>| {
                usage.extend(value.map(|value| (name, value)));
            };
            add("memory", used.memory_bytes.map(html::bytes));
            add(
                "processor time",
                used.cpu_micros
                    .map(|micros| html::duration(std::time::Duration::from_micros(micros))),
            );
            add(
                "processes and threads",
                used.pids.map(|pids| pids.to_string()),
            );
            add("disk, added to its base", used.disk_bytes.map(html::bytes));
        }
    }
    page(&DevboxPage {
        shell,
        age: html::duration(end.since(record.created_at)),
        record,
        executions,
        is_cut,
        usage,
    })
}

#[derive(Template)]
#[template(path = "devbox_log.html")]
struct DevboxLogPage {
    shell: Shell,
    record: DevboxRecord,
    label: String,
    log: LogShown,
}

async fn show_log(
    state: &WebState,
    visitor: &Visitor,
    id: &str,
    query: Option<&str>,
    label: String,
    admits: impl Fn(&LogEntry) -> bool + Send + Sync,
) -> Result<Response, PageError> {
    let fleet = fleet(state, visitor)?;
    let id = devbox_id(id)?;
    let record = fleet
        .devbox(visitor.organization(), id)
        .await
        .map_err(refused)?;
    let view = LogView {
        fleet: Some(fleet),
        devbox: Some(id),
        told: |entry: &LogEntry| admits(entry).then(|| told(entry)).flatten(),
    };
    let mut shell = visitor.shell(label.clone(), Section::Devboxes);
    if !record.status().is_over() {
        shell = shell.following(format!("devbox:{id}"));
    }
    page(&DevboxLogPage {
        shell,
        record,
        label,
        log: view.show(Params::read(query)).await?,
    })
}

async fn log(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let query = query.as_deref();
    show_log(&state, &visitor, &id, query, "Log".to_owned(), |_| true).await
}

async fn execution(
    State(state): State<WebState>,
    visitor: Visitor,
    Path((id, execution)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let label = format!("Execution {execution}");
    let query = query.as_deref();
    show_log(&state, &visitor, &id, query, label, |entry| {
        entry.execution.as_deref() == Some(&execution)
    })
    .await
}

#[derive(Template)]
#[template(path = "devbox_file.html")]
struct DevboxFilePage {
    shell: Shell,
    record: DevboxRecord,
    path: String,
    shown: Option<FileShown>,
    problem: Option<String>,
}

async fn file(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let fleet = fleet(&state, &visitor)?;
    let id = devbox_id(&id)?;
    let organization = visitor.organization();
    let record = fleet.devbox(organization, id).await.map_err(refused)?;
    let params = Params::read(query.as_deref());
    let path = params.get("path").unwrap_or_default().to_owned();
    let read = match (path.is_empty(), record.status()) {
        (true, _) => Ok(None),
        // Reading would wake a box that stands still, and there is nothing to read in one that is gone.
        (false, DevboxStatus::Running) => {
            let read = files::read(fleet, organization, id, &path).await;
            read.map(Some).map_err(|error| error.to_string())
        }
        (false, status) => Err(format!(
            "files are read while the devbox is running; it is {}",
            status.as_str()
        )),
    };
    let (shown, problem) = match read {
        Ok(shown) => (shown, None),
        Err(problem) => (None, Some(problem)),
    };
    page(&DevboxFilePage {
        shell: visitor.shell("Files", Section::Devboxes),
        record,
        path,
        shown,
        problem,
    })
}
