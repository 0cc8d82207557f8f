//! `/ui/jobs`: jobs, newest first, with how far they are.

mod job;
mod matrix;

use askama::Template;
use axum::{
    Router,
    extract::{RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::{
    id::kinds::JobId,
    job::{Job, JobStatus},
};
use proctor_engine::jobs::JobDetails;
use proctor_store::{
    names::Sought,
    page::{PageRequest, PageStart},
};

use self::matrix::Progress;
use super::page;
use crate::{
    error::PageError,
    html::{self, Html, Mark},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many jobs are on a page: each is read with its tries.
const A_PAGE: u32 = 50;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/jobs", get(jobs))
        .merge(job::routes())
}

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    shell: Shell,
    params: Params,
    rows: Vec<JobRow>,
    newer: Option<String>,
    older: Option<String>,
}

struct JobRow {
    job: Job,
    progress: Progress,
    agents: usize,
}

impl JobRow {
    fn of(details: JobDetails) -> Self {
        Self {
            progress: Progress::of(&details),
            agents: details.job.plan.agents.len(),
            job: details.job,
        }
    }

    fn took(&self) -> String {
        took(&self.job).unwrap_or_default()
    }
}

/// How long a job took.
fn took(job: &Job) -> Option<String> {
    let (began, ended) = (job.started_at()?, job.ended_at()?);
    Some(html::duration(ended.since(began)))
}

/// Where a job stands, as a tag: it is no verdict, so it has no mark of one.
fn state_tag(job: &Job) -> Html {
    let (class, sign) = match job.status() {
        JobStatus::Initializing | JobStatus::Queued => (Mark::Waiting.word(), Mark::Waiting.sign()),
        JobStatus::Running => (Mark::Running.word(), Mark::Running.sign()),
        JobStatus::Completed => ("plain", "■"),
        JobStatus::Cancelled => (Mark::Cancelled.word(), Mark::Cancelled.sign()),
        JobStatus::Failed | JobStatus::TimedOut => (Mark::Fail.word(), "!"),
    };
    Html::trusted(format!(
        "<span class=\"tag {class}\"><span aria-hidden=true>{sign}</span> {}</span>",
        job.status()
    ))
}

async fn jobs(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let params = Params::read(query.as_deref());
    let place = |name: &str| -> Result<Option<JobId>, PageError> {
        let id = params.get(name).map(str::parse).transpose();
        id.map_err(|_| PageError::bad_request("This is not a place in the list of jobs."))
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
    let sought = Sought {
        search: params.get("q").map(str::to_owned),
        ..Sought::default()
    };
    let found = state
        .engine()
        .jobs(visitor.organization(), &sought, request)
        .await?;
    let ends = found.items.first().zip(found.items.last());
    let (newest, oldest) = match ends {
        Some((first, last)) => (Some(first.job.id), Some(last.job.id)),
        None => (None, None),
    };
    let plain = params.without("after").without("before");
    let newer = newest.filter(|_| found.has_previous);
    let older = oldest.filter(|_| found.has_more);
    page(&JobsPage {
        shell: visitor.shell("Jobs", Section::Jobs).following("jobs"),
        newer: newer.map(|id| plain.link_with("before", &id.to_string())),
        older: older.map(|id| plain.link_with("after", &id.to_string())),
        rows: found.items.into_iter().map(JobRow::of).collect(),
        params: plain,
    })
}
