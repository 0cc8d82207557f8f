//! `/ui/devboxes`: devboxes, newest first.

mod actions;
mod devbox;
mod executions;
mod files;

use askama::Template;
use axum::{
    Router,
    extract::{RawQuery, State},
    response::Response,
    routing::get,
};
use http::StatusCode;
use proctor_core::{
    devbox::{DevboxBase, DevboxStatus, Initiator},
    id::{
        Dialect,
        kinds::{DevboxId, TaskRunId},
    },
};
use proctor_fleet::{DevboxRecord, Fleet, FleetError};
use proctor_store::{
    names::WantedLabels,
    page::{PageRequest, PageStart},
};

use super::page;
use crate::{
    error::PageError,
    html::{self, Html, Mark},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many devboxes are on a page.
const A_PAGE: u32 = 100;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/devboxes", get(devboxes))
        .merge(devbox::routes())
        .merge(actions::routes())
}

fn devbox_id(text: &str) -> Result<DevboxId, PageError> {
    DevboxId::from_wire(text, Dialect::Verial)
        .or_else(|_| DevboxId::from_wire(text, Dialect::Runloop))
        .map_err(|_| PageError::not_found("devbox"))
}

/// The devboxes of a server that has some, for whoever may see them.
fn fleet<'s>(state: &'s WebState, visitor: &Visitor) -> Result<&'s Fleet, PageError> {
    visitor.require_organization()?;
    state.fleet().ok_or_else(|| {
        PageError::new(
            StatusCode::NOT_FOUND,
            "This server has no devboxes. `proctor doctor` says what is missing.",
        )
    })
}

/// Why something could not be done to a devbox.
fn refused(error: FleetError) -> PageError {
    match error {
        FleetError::NotFound { noun, .. } => PageError::not_found(noun),
        FleetError::Store(error) => error.into(),
        other => PageError::new(StatusCode::CONFLICT, other.to_string()),
    }
}

/// Where a devbox is in its life, as a tag.
fn status_tag(status: impl html::Given<DevboxStatus>) -> Html {
    let status = status.given();
    let (class, sign) = match status {
        DevboxStatus::Provisioning | DevboxStatus::Initializing | DevboxStatus::Suspending => {
            (Mark::Waiting.word(), Mark::Waiting.sign())
        }
        DevboxStatus::Running => (Mark::Running.word(), Mark::Running.sign()),
        DevboxStatus::Suspended => (Mark::Partial.word(), "‖"),
        DevboxStatus::Shutdown => ("plain", "■"),
        DevboxStatus::Failure => (Mark::Fail.word(), "!"),
    };
    Html::trusted(format!(
        "<span class=\"tag {class}\"><span aria-hidden=true>{sign}</span> {}</span>",
        status.as_str()
    ))
}

/// What a devbox's disk started from.
fn base(record: &DevboxRecord) -> String {
    match &record.setup.base {
        DevboxBase::Host => "the server's own system".to_owned(),
        DevboxBase::Snapshot(id) => format!("snapshot {id}"),
        DevboxBase::Blueprint { blueprint, .. } => format!("blueprint {blueprint}"),
    }
}

/// The task run that had a devbox made.
fn owner(record: &DevboxRecord) -> Option<TaskRunId> {
    match record.initiator {
        Initiator::Scenario(task_run) | Initiator::Agent(task_run) => Some(task_run),
        Initiator::Invocation => None,
    }
}

/// How large a devbox is.
fn size(record: &DevboxRecord) -> String {
    let size = record.setup.launch.sizing.resources();
    let cores = f64::from(size.cpu_halves) / 2.0;
    format!(
        "{cores} CPU · {} GiB · {} GiB disk",
        size.memory_gib, size.disk_gib
    )
}

#[derive(Template)]
#[template(path = "devboxes.html")]
struct DevboxesPage {
    shell: Shell,
    params: Params,
    rows: Vec<DevboxRecord>,
    newer: Option<String>,
    older: Option<String>,
    /// Why there can be none.
    impossible: Option<String>,
}

impl DevboxesPage {
    fn statuses(&self) -> Vec<(&'static str, String, bool)> {
        let params = self.params.without("after").without("before");
        DevboxStatus::ALL
            .iter()
            .map(|status| {
                let word = status.as_str();
                let is_on = self.params.is("status", word);
                let link = params.link_with("status", if is_on { "" } else { word });
                (word, link, is_on)
            })
            .collect()
    }
}

async fn devboxes(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let params = Params::read(query.as_deref());
    let shell = visitor.shell("Devboxes", Section::Devboxes);
    let impossible = match state.fleet() {
        None => Some("this server was started without devboxes".to_owned()),
        Some(fleet) => fleet.backend().err().map(|error| error.to_string()),
    };
    let Some(fleet) = state.fleet() else {
        return page(&DevboxesPage {
            shell,
            params,
            rows: Vec::new(),
            newer: None,
            older: None,
            impossible,
        });
    };
    let status = match params.get("status") {
        None => None,
        Some(word) => Some(DevboxStatus::from_name(word).ok_or_else(|| {
            PageError::bad_request("A devbox is provisioning, initializing, running, suspending, suspended, shutdown or failure.")
        })?),
    };
    let place = |name: &str| -> Result<Option<DevboxId>, PageError> {
        let id = params.get(name).map(str::parse).transpose();
        id.map_err(|_| PageError::bad_request("This is not a place in the list of devboxes."))
    };
    let from = match (place("after")?, place("before")?) {
        (Some(after), _) => PageStart::After(after),
        (None, Some(before)) => PageStart::Before(before),
        (None, None) => PageStart::Newest,
    };
    let request = PageRequest {
        limit: A_PAGE,
        from,
        count: false,
    };
    let found = fleet
        .list(
            visitor.organization(),
            status,
            &WantedLabels::new(),
            request,
        )
        .await
        .map_err(refused)?;
    let plain = params.without("after").without("before");
    let link = |name: &str, at: Option<&DevboxRecord>, has: bool| {
        at.filter(|_| has)
            .map(|record| plain.link_with(name, &record.id.to_string()))
    };
    page(&DevboxesPage {
        shell: shell.following("devboxes"),
        newer: link("before", found.items.first(), found.has_previous),
        older: link("after", found.items.last(), found.has_more),
        rows: found.items,
        params: plain,
        impossible,
    })
}
