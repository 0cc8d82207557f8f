//! `/ui/jobs/{id}`: agents × scenarios as they go, what came of each agent, what broke, and how to stop it.

use askama::Template;
use axum::{
    Form, Router,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use proctor_core::{
    id::{Dialect, kinds::JobId},
    job::{Job, JobSource},
};
use proctor_engine::jobs::JobDetails;
use serde::Deserialize;

use super::{
    matrix::{self, AgentRow, FailureRow, MatrixRow, Progress},
    state_tag,
};
use crate::{
    error::PageError,
    html::{self, Given, Html},
    pages::page,
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many scenarios are on a page, and how many agents beside them.
const A_PAGE: usize = 100;

pub(super) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/jobs/{id}", get(job))
        .route("/ui/jobs/{id}/cancel", post(cancel))
}

fn job_id(text: &str) -> Result<JobId, PageError> {
    JobId::from_wire(text, Dialect::Verial)
        .or_else(|_| JobId::from_wire(text, Dialect::Runloop))
        .map_err(|_| PageError::not_found("job"))
}

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage<'j> {
    shell: Shell,
    job: &'j Job,
    params: Params,
    progress: Progress,
    agents: Vec<AgentRow<'j>>,
    rows: Vec<MatrixRow>,
    failures: Vec<FailureRow>,
    estimate: Option<(String, String)>,
    part: usize,
    parts: usize,
}

impl JobPage<'_> {
    fn tag(&self) -> Html {
        state_tag(self.job)
    }

    fn took(&self) -> Option<String> {
        super::took(self.job)
    }

    /// What its scenarios are from.
    fn source(&self) -> Html {
        match &self.job.plan.source {
            JobSource::Benchmark { name, .. } => html::short(name, 80),
            JobSource::Scenarios => html::text("scenarios chosen one by one"),
            JobSource::Harbor { .. } => html::text("a Harbor job file"),
        }
    }

    /// What each agent is called above its column.
    fn columns(&self) -> Vec<Html> {
        let agents = self.agents.iter().map(|row| {
            let agent = row.agent;
            let repeats = self
                .agents
                .iter()
                .filter(|other| other.agent.name == agent.name)
                .count();
            match repeats > 1 {
                true => html::short(format!("{} #{}", agent.name, agent.attempt), 24),
                false => html::short(&agent.name, 24),
            }
        });
        agents.collect()
    }

    fn tries_at_most(&self) -> usize {
        self.job.plan.orchestration.retries() + 1
    }

    fn part_link(&self, part: impl Given<usize>) -> String {
        self.params.link_with("part", &part.given().to_string())
    }
}

async fn job(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let id = job_id(&id)?;
    let details: JobDetails = state.engine().job(visitor.organization(), id).await?;
    let params = Params::read(query.as_deref());
    let parts = details.job.plan.scenarios.len().div_ceil(A_PAGE).max(1);
    let part = params
        .number("part")
        .and_then(|part| usize::try_from(part).ok());
    let part = part.unwrap_or(1).clamp(1, parts);
    let progress = Progress::of(&details);
    let estimate = matrix::estimate(&details, progress);
    let mut shell = visitor.shell(details.job.name.clone(), Section::Jobs);
    if !details.job.is_over() {
        shell = shell.following(format!("job:{id}"));
    }
    page(&JobPage {
        shell,
        job: &details.job,
        params,
        progress,
        agents: matrix::agents(&details),
        rows: matrix::rows(&details, (part - 1) * A_PAGE, A_PAGE),
        failures: matrix::failures(&details),
        estimate: estimate.map(|(low, high)| (html::duration(low), html::duration(high))),
        part,
        parts,
    })
}

#[derive(Deserialize)]
struct CancelForm {
    token: String,
}

async fn cancel(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    Form(form): Form<CancelForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    let id = job_id(&id)?;
    state
        .engine()
        .cancel_job(visitor.organization(), id)
        .await?;
    Ok(Redirect::to(&format!("/ui/jobs/{id}")).into_response())
}
