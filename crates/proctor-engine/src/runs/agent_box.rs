//! Boxes in which agents work, beside their worlds: they reach the world of their task run, the hosts that they declare, and nothing
//! else.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use proctor_core::{
    devbox::{DevboxRequest, agent_devbox},
    id::kinds::{DevboxId, OrganizationId, RunId, TaskRunId},
    refused::Refused,
    task_run::{TaskRun, TaskRunState},
};
use proctor_macros::boxed_futures;

use super::Asked;
use crate::{
    egress::{of_hosts, policy_for},
    engine::Engine,
    error::EngineError,
    scenarios::{BoxOrder, BoxPurpose},
};

/// The task runs whose agents have boxes of their own.
#[derive(Default)]
pub(crate) struct AgentBoxes(Mutex<HashSet<TaskRunId>>);

impl AgentBoxes {
    fn lock(&self) -> MutexGuard<'_, HashSet<TaskRunId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, task_run: TaskRunId) {
        self.lock().insert(task_run);
    }

    fn take(&self, task_run: TaskRunId) -> bool {
        self.lock().remove(&task_run)
    }
}

/// A box for the agent of a task run.
#[derive(Clone, Debug, Default)]
pub struct NewAgentBox {
    /// What people call it.
    pub name: String,
    /// What it shall be, without a network policy.
    pub request: DevboxRequest,
    /// The hosts that the agent declares.
    pub hosts: Vec<String>,
}

#[boxed_futures]
impl Engine {
    /// Makes a box for the agent of a task run that is at work. It ends with the task run; asking again answers the same box.
    pub async fn agent_box(
        &self,
        run: RunId,
        id: TaskRunId,
        new: NewAgentBox,
    ) -> Result<DevboxId, EngineError> {
        let found = self.current_task_run(Asked::InRun(run), id).await?;
        let organization = found.organization;
        match &found.value().state {
            TaskRunState::Created => return Err(Refused::TaskRunNotStarted.into()),
            TaskRunState::Ended { .. } => {
                return Err(Refused::TaskRunOver(found.value().status()).into());
            }
            TaskRunState::Started(_)
            | TaskRunState::Scoring { .. }
            | TaskRunState::Scored { .. } => {}
        }
        self.make_agent_box(organization, id, new).await
    }
}

impl Engine {
    /// The same for a task run that is known to be at work.
    pub(crate) async fn make_agent_box(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
        new: NewAgentBox,
    ) -> Result<DevboxId, EngineError> {
        let mut request = new.request;
        if !new.hosts.is_empty() {
            let policy = policy_for(self.store(), organization, of_hosts(&new.hosts)).await?;
            request.launch.network_policy = policy;
        }
        let order = BoxOrder {
            organization,
            task_run: id,
            name: new.name,
            request,
            purpose: BoxPurpose::Agent,
        };
        // Before the box is there: whoever ends the task run in between ends the box.
        self.inner.agent_boxes.note(id);
        let devbox = self.workshop()?.boxes.create(order).await?;
        if self.is_over(id).await? {
            self.end_agent_box(organization, id).await;
            self.end_box(organization, devbox).await;
        }
        Ok(devbox)
    }

    async fn is_over(&self, id: TaskRunId) -> Result<bool, EngineError> {
        let task_run = self.store().task_run(id).await?;
        Ok(task_run.is_none_or(|task_run| task_run.value.is_over()))
    }

    /// Ends the box of the agent of a task run that is over, if it has one.
    pub(super) async fn end_agent_box(&self, organization: OrganizationId, id: TaskRunId) {
        if self.inner.agent_boxes.take(id) {
            self.end_box(organization, agent_devbox(id)).await;
        }
    }

    /// Takes up the box of an agent that a former process left: it is ended, unless its task run is at work.
    pub(super) async fn recover_agent_box(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        task_run: Option<&TaskRun>,
    ) {
        match task_run {
            Some(task_run) if !task_run.is_over() => self.inner.agent_boxes.note(task_run.id),
            _ => self.end_box(organization, devbox).await,
        }
    }
}
