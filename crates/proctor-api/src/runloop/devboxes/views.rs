//! Devboxes as clients read them.

use std::collections::BTreeMap;

use proctor_core::{
    devbox::{DevboxBase, Initiator},
    id::Dialect,
};
use proctor_fleet::DevboxRecord;
use serde::Serialize;
use utoipa::ToSchema;

use super::tunnels::TunnelView;
use crate::{runloop::launch_parameters::LaunchParametersBody, state::ApiState};

/// A devbox.
#[derive(Serialize, ToSchema)]
pub(crate) struct DevboxView {
    #[schema(example = "dbx_01K0000000000000000000000A")]
    id: String,
    /// provisioning, initializing, running, suspending, suspended, shutdown or failure.
    #[schema(example = "running")]
    status: &'static str,
    /// Nothing is offered yet that would be listed here.
    capabilities: Vec<String>,
    create_time_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time_ms: Option<i64>,
    launch_parameters: LaunchParametersBody,
    metadata: BTreeMap<String, String>,
    state_transitions: Vec<StateTransitionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blueprint_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot_id: Option<String>,
    /// out_of_memory, out_of_disk, execution_failed or health_check_failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'static str>,
    /// api_shutdown, keep_alive_timeout, entrypoint_exit or idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    shutdown_reason: Option<&'static str>,
    /// api, or scenario with the scenario run's id.
    initiator_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    initiator_id: Option<String>,
    /// How services in it can be reached from outside, if they can.
    #[serde(skip_serializing_if = "Option::is_none")]
    tunnel: Option<TunnelView>,
    /// What the box could not have of what it should have, in words; empty when everything is as asked for.
    limitations: Vec<String>,
}

/// A step of a devbox's life.
#[derive(Serialize, ToSchema)]
pub(crate) struct StateTransitionView {
    status: &'static str,
    transition_time_ms: i64,
    /// What broke, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<String>,
}

impl DevboxView {
    pub(crate) fn of(state: &ApiState, record: DevboxRecord) -> Self {
        let tunnel = TunnelView::of(state, &record);
        let life = &record.life;
        let failure = life.failure();
        let state_transitions = life
            .transitions()
            .iter()
            .map(|step| StateTransitionView {
                status: step.status.as_str(),
                transition_time_ms: step.at.as_millis(),
                failure_reason: failure
                    .filter(|_| step.status.is_over())
                    .map(|(_, message)| message.to_owned()),
            })
            .collect();
        let (blueprint_id, snapshot_id) = match &record.setup.base {
            DevboxBase::Host => (None, None),
            DevboxBase::Snapshot(id) => (None, Some(id.wire(Dialect::Runloop))),
            DevboxBase::Blueprint { blueprint, .. } => {
                (Some(blueprint.wire(Dialect::Runloop)), None)
            }
        };
        let (initiator_type, initiator_id) = match record.initiator {
            Initiator::Invocation => ("api", None),
            Initiator::Scenario(run) | Initiator::Agent(run) => {
                ("scenario", Some(run.wire(Dialect::Runloop)))
            }
        };
        Self {
            id: record.id.wire(Dialect::Runloop),
            status: life.status().as_str(),
            capabilities: Vec::new(),
            create_time_ms: record.created_at.as_millis(),
            end_time_ms: life.ended_at().map(|at| at.as_millis()),
            launch_parameters: LaunchParametersBody::of(&record.setup.launch),
            state_transitions,
            blueprint_id,
            snapshot_id,
            failure_reason: failure.map(|(failure, _)| failure.as_str()),
            shutdown_reason: life.shutdown_reason().map(|reason| reason.as_str()),
            initiator_type,
            initiator_id,
            tunnel,
            limitations: record.caveats,
            metadata: record.metadata,
            name: record.name,
        }
    }
}

/// A part of the list of devboxes, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct DevboxListView {
    pub(crate) devboxes: Vec<DevboxView>,
    pub(crate) has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_count: Option<u64>,
}

/// What a devbox has used.
#[derive(Serialize, ToSchema)]
pub(crate) struct DevboxUsageView {
    pub(crate) id: String,
    pub(crate) status: &'static str,
    pub(crate) start_time_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_time_ms: Option<i64>,
    /// From its making until now, or until it ended.
    pub(crate) total_elapsed_seconds: u64,
    /// The same without the time it stood still.
    pub(crate) total_active_seconds: u64,
    pub(crate) vcpu_seconds: u64,
    pub(crate) memory_gb_seconds: u64,
    pub(crate) disk_gb_seconds: u64,
}

/// An empty answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct EmptyView {}
