//! Who is calling.
//!
//! A handler asks for the proof it needs ([`OrganizationCaller`], [`SolverCaller`],
//! [`RunCaller`]) and cannot run without it. All refusals are 401 and say what to send instead.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use http::{HeaderMap, header, request::Parts};
use proctor_core::id::{
    Dialect,
    kinds::{DevboxId, OrganizationId, RunId, SolverId, TaskRunId},
};
use proctor_store::{
    credentials::{Authentication, Principal, Who},
    organizations::Organization,
};
use tracing::{Span, field};

use crate::{error::ApiError, extract::shortened, state::ApiState};

/// Somebody known, with any kind of credential.
#[derive(Clone, Debug)]
pub struct Caller(Arc<Principal>);

impl Caller {
    /// The credential and what is behind it.
    pub fn principal(&self) -> &Principal {
        &self.0
    }

    /// Finds out who shows the credential in `headers`, and counts the request against it.
    pub(crate) async fn authenticate(
        headers: &HeaderMap,
        state: &ApiState,
    ) -> Result<Self, ApiError> {
        let shown = bearer(headers)?;
        let principal = match state.store().authenticate(shown).await? {
            Authentication::Known(principal) => principal,
            Authentication::Expired => {
                return Err(ApiError::unauthorized(
                    "this credential has expired; a new one is needed",
                ));
            }
            Authentication::Revoked => {
                return Err(ApiError::unauthorized("this credential was revoked"));
            }
            Authentication::Operator(_) => {
                return Err(ApiError::unauthorized(
                    "an operator key (vk_op_…) opens /organizations and nothing else; this route takes a credential of an \
                     organization",
                ));
            }
            Authentication::Unknown => {
                return Err(ApiError::unauthorized(
                    "this server knows no such key or token; was it copied completely?",
                ));
            }
        };
        if let Some(limiter) = state.limiter() {
            limiter.check(&principal.credential)?;
        }
        state
            .organization_limiter()
            .check(&principal.organization)?;
        let span = Span::current();
        if !span.is_disabled() {
            tracing::record_all!(
                span,
                organization = field::display(principal.organization.id),
                caller = field::display(principal.credential)
            );
        }
        Ok(Self(principal))
    }

    fn kind(&self) -> &'static str {
        match self.0.who {
            Who::Organization => "an organization key",
            Who::Solver(_) => "a Solver key",
            Who::Run(_) => "a run token",
            Who::Attempt { .. } => "an attempt token",
        }
    }

    fn wrong_kind(&self, wanted: &str) -> ApiError {
        ApiError::unauthorized(format!(
            "this route takes {wanted}; {} was sent",
            self.kind()
        ))
    }
}

/// The credential that a request shows.
fn bearer(headers: &HeaderMap) -> Result<&str, ApiError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(ApiError::unauthorized(
            "no credential was sent; send the header 'Authorization: Bearer <key>'",
        ));
    };
    let malformed = || ApiError::unauthorized("the Authorization header must read 'Bearer <key>'");
    let (scheme, credential) = value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .ok_or_else(malformed)?;
    let credential = credential.trim();
    if scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty() {
        Ok(credential)
    } else {
        Err(malformed())
    }
}

impl FromRequestParts<ApiState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        match parts.extensions.get::<Self>() {
            // Whoever was asked before the handler need not be asked again.
            Some(known) => Ok(known.clone()),
            None => Self::authenticate(&parts.headers, state).await,
        }
    }
}

/// Proof that an organization is calling.
#[derive(Clone, Debug)]
pub struct OrganizationCaller(Caller);

impl OrganizationCaller {
    /// The calling organization.
    pub fn organization(&self) -> &Organization {
        &self.0.0.organization
    }

    /// The calling organization's id.
    pub fn id(&self) -> OrganizationId {
        self.organization().id
    }
}

impl FromRequestParts<ApiState> for OrganizationCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        match caller.0.who {
            Who::Organization => Ok(Self(caller)),
            Who::Solver(_) | Who::Run(_) | Who::Attempt { .. } => {
                Err(caller.wrong_kind("an organization key (vk_…)"))
            }
        }
    }
}

/// Proof that whoever runs the server is calling. It speaks for no organization.
#[derive(Clone, Copy, Debug)]
pub struct OperatorCaller;

impl FromRequestParts<ApiState> for OperatorCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let shown = bearer(&parts.headers)?;
        if let Authentication::Operator(key) = state.store().authenticate(shown).await? {
            if let Some(limiter) = state.limiter() {
                limiter.check(&key)?;
            }
            return Ok(Self);
        }
        // Says what is wrong with any other credential, and is refused if nothing is.
        let caller = Caller::authenticate(&parts.headers, state).await?;
        Err(caller.wrong_kind("an operator key (vk_op_…)"))
    }
}

/// Proof that a Solver is calling.
#[derive(Clone, Debug)]
pub struct SolverCaller {
    /// The Solver's organization.
    pub organization: Organization,
    /// The Solver.
    pub solver: SolverId,
}

impl FromRequestParts<ApiState> for SolverCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        match caller.0.who {
            Who::Solver(solver) => Ok(Self {
                organization: caller.0.organization.clone(),
                solver,
            }),
            Who::Organization | Who::Run(_) | Who::Attempt { .. } => {
                Err(caller.wrong_kind("a Solver key (vrl_slv_…)"))
            }
        }
    }
}

/// Proof that an agent at work is calling: on a run, or on one attempt of a run.
#[derive(Clone, Copy, Debug)]
pub struct TakerCaller {
    /// The run.
    pub run: RunId,
    /// The organization whose run it is.
    pub(crate) organization: OrganizationId,
    /// The only task run that the caller may touch, if it is an attempt's.
    only: Option<TaskRunId>,
}

impl TakerCaller {
    /// Whom a credential speaks for, if it is an agent at work.
    pub(crate) fn of(caller: &Caller) -> Result<Self, ApiError> {
        let organization = caller.0.organization.id;
        match caller.0.who {
            Who::Run(run) => Ok(Self {
                run,
                organization,
                only: None,
            }),
            Who::Attempt { run, task_run } => Ok(Self {
                run,
                organization,
                only: Some(task_run),
            }),
            Who::Organization | Who::Solver(_) => {
                Err(caller.wrong_kind("a run token (vrl_run_…) or an attempt token (vrl_att_…)"))
            }
        }
    }

    /// The run whose task run this is, as far as the caller may know.
    pub(crate) fn run_of(self, task_run: TaskRunId) -> Result<RunId, ApiError> {
        match self.only {
            Some(only) if only != task_run => {
                Err(ApiError::not_found(format!("no task run '{task_run}'")))
            }
            _ => Ok(self.run),
        }
    }

    /// Which task run's world is meant, where the caller says so or can have but one.
    pub(crate) fn choice(self, chosen: Option<TaskRunId>) -> Result<Option<TaskRunId>, ApiError> {
        if let Some(chosen) = chosen {
            self.run_of(chosen)?;
        }
        Ok(chosen.or(self.only))
    }
}

impl FromRequestParts<ApiState> for TakerCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        Self::of(&Caller::from_request_parts(parts, state).await?)
    }
}

/// Proof that somebody may work in the devbox that a path names as `id`: its organization, or the attempt that is done in it.
#[derive(Clone, Copy, Debug)]
pub struct BoxCaller {
    organization: OrganizationId,
}

impl BoxCaller {
    /// The organization that the devbox belongs to, unless it is another's altogether.
    pub fn id(self) -> OrganizationId {
        self.organization
    }
}

impl FromRequestParts<ApiState> for BoxCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let organization = caller.0.organization.id;
        match caller.0.who {
            Who::Organization => Ok(Self { organization }),
            Who::Attempt { task_run, .. } => {
                let named = path_id(parts, state).await;
                let own = state.store().task_run(task_run).await?;
                let own = own.and_then(|own| own.value.devbox);
                let is_own = own.is_some_and(|own: DevboxId| named == own.wire(Dialect::Runloop));
                match is_own {
                    true => Ok(Self { organization }),
                    false => Err(ApiError::not_found(format!("no devbox '{named}'"))),
                }
            }
            Who::Solver(_) | Who::Run(_) => Err(caller.wrong_kind(
                "an organization key (vk_…), or the token of the attempt in this devbox (vrl_att_…)",
            )),
        }
    }
}

/// Proof that somebody may end the scenario run that a path names as `id`: its organization, or the attempt that it is.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioRunCaller {
    organization: OrganizationId,
    /// Whether what scorers said may be shown.
    pub shows_scorers: bool,
}

impl ScenarioRunCaller {
    /// The organization that the scenario run belongs to, unless it is another's altogether.
    pub fn id(self) -> OrganizationId {
        self.organization
    }
}

impl FromRequestParts<ApiState> for ScenarioRunCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let organization = caller.0.organization.id;
        match caller.0.who {
            Who::Organization => Ok(Self {
                organization,
                shows_scorers: true,
            }),
            Who::Attempt { task_run, .. } => {
                let named = path_id(parts, state).await;
                match named == task_run.wire(Dialect::Runloop) {
                    true => Ok(Self {
                        organization,
                        shows_scorers: false,
                    }),
                    false => Err(ApiError::not_found(format!("no scenario run '{named}'"))),
                }
            }
            Who::Solver(_) | Who::Run(_) => Err(caller.wrong_kind(
                "an organization key (vk_…), or the token of this attempt (vrl_att_…)",
            )),
        }
    }
}

/// What a path names as `id`, shortened for messages.
async fn path_id(parts: &mut Parts, state: &ApiState) -> String {
    let found = RawPathParams::from_request_parts(parts, state).await.ok();
    let named = found.as_ref().and_then(|found| {
        let mut named = found.iter().filter(|(name, _)| *name == "id");
        named.next().map(|(_, value)| shortened(value))
    });
    named.unwrap_or_default()
}

/// Proof that a run is calling: an agent at work on it.
#[derive(Clone, Debug)]
pub struct RunCaller {
    /// The organization of the Solver whose run it is.
    pub organization: Organization,
    /// The run.
    pub run: RunId,
}

impl FromRequestParts<ApiState> for RunCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        match caller.0.who {
            Who::Run(run) => Ok(Self {
                organization: caller.0.organization.clone(),
                run,
            }),
            Who::Organization | Who::Solver(_) | Who::Attempt { .. } => {
                Err(caller.wrong_kind("a run token (vrl_run_…)"))
            }
        }
    }
}
