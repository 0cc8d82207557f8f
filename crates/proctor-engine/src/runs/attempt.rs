//! Somebody runs an agent and says how it fared: what a program that drives attempts from outside needs.

use proctor_core::{
    id::kinds::{RunId, TaskRunId},
    profile::Particulars,
    refused::Refused,
    task_run::{Fault, TaskRun, TaskRunState},
};
use proctor_macros::boxed_futures;
use proctor_store::{OnDisk, credentials::IssuedKey};

use super::{
    Asked, StartedTask,
    complete::{Because, fail_agent},
    start::{Comes, Starting},
};
use crate::{engine::Engine, error::EngineError};

#[boxed_futures]
impl Engine {
    /// Ends a task run of a run because its agent failed, or because whoever ran the agent did. After a failure of the agent a
    /// playground is judged as evidence. What is over, or being judged, stays as it is.
    pub async fn fail_task(
        &self,
        run: RunId,
        id: TaskRunId,
        fault: Fault,
    ) -> Result<TaskRun, EngineError> {
        let found = self.current_task_run(Asked::InRun(run), id).await?;
        let is_judged = fault.cause.is_agent_fault() && found.value().devbox.is_none();
        if is_judged && matches!(found.value().state, TaskRunState::Started(_)) {
            let because = Because::AgentFailed(&fault);
            match self
                .judge_and_end(Some(found), id, self.now(), because)
                .await
            {
                // The judge of free text is silent: the agent failed all the same.
                Ok(_) | Err(EngineError::JudgeSilent(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let fail = |task_run: TaskRun, now| Ok(fail_agent(task_run, now, &fault));
        let ended = self.step(id, OnDisk::AtOnce, fail).await?;
        Ok(ended.into_inner())
    }

    /// Tries a task of a run again whose last try is void: a new task run of the same task starts. Only runs that are held open
    /// can do so.
    pub async fn retry_task(&self, run: RunId, id: TaskRunId) -> Result<StartedTask, EngineError> {
        let found = self.current_task_run(Asked::InRun(run), id).await?;
        let unknown = || EngineError::NotFound("task run");
        let of_run = found.run.as_ref().ok_or_else(unknown)?.run.value.clone();
        if !of_run.plan.held {
            let message = "this run completes by itself, so none of its tasks can be tried again; make it with \"held\": true";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let is_void = found.value().cause().is_some_and(|cause| cause.is_void());
        if !found.value().is_over() || !is_void {
            let message = "only a task run that is over and void can be tried again";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let task = found.value().task;
        let tries = self.store().task_runs(run).await?;
        let newest = tries
            .iter()
            .map(|one| &one.value)
            .filter(|one| one.task == task)
            .max_by_key(|one| one.id);
        if newest.is_some_and(|newest| newest.id != id) {
            let message = "this task was tried again already; only its newest try can be repeated";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let profile = of_run.particulars.profile.clone();
        let task_run = TaskRun {
            particulars: Particulars {
                profile: profile.clone(),
                ..Particulars::default()
            },
            ..TaskRun::new(self.store().fresh_id(), Some(run), task, self.now())
        };
        let prepared = found.prepared;
        let (task_run, run) = self
            .start(Starting {
                organization: found.organization,
                task_run,
                prepared: std::sync::Arc::clone(&prepared),
                profile,
                comes: Comes::Joining(run),
                known_run: None,
                when: OnDisk::AtOnce,
            })
            .await?;
        Ok(StartedTask {
            task_run,
            run: run.ok_or_else(unknown)?,
            prepared,
        })
    }

    /// Makes a token that opens the world or the box of one task run, and nothing else.
    pub async fn attempt_token(
        &self,
        run: RunId,
        id: TaskRunId,
    ) -> Result<(TaskRun, IssuedKey), EngineError> {
        let found = self.current_task_run(Asked::InRun(run), id).await?;
        let of_run = found
            .run
            .as_ref()
            .ok_or(EngineError::NotFound("task run"))?;
        let task_run = found.task_run.value;
        match &task_run.state {
            TaskRunState::Created => return Err(Refused::TaskRunNotStarted.into()),
            TaskRunState::Ended { .. } => {
                return Err(Refused::TaskRunOver(task_run.status()).into());
            }
            TaskRunState::Started(_)
            | TaskRunState::Scoring { .. }
            | TaskRunState::Scored { .. } => {}
        }
        let expires_at = of_run.run.value.expires_at;
        let issued = self
            .store()
            .issue_attempt_token(found.organization, run, id, expires_at);
        Ok((task_run, issued.await?))
    }
}
