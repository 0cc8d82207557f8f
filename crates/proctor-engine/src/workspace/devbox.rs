//! Task runs that are done in boxes.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use proctor_core::causes::with_causes;
use proctor_core::{
    definition::World,
    devbox::{BaseRequest, DevboxRequest},
    id::kinds::{DevboxId, OrganizationId},
    profile::RunProfile,
    task_run::{Cause, Fault, SlowScoring, TaskRun},
    time::Timestamp,
};

use super::{Frozen, Judged, Limits, NotJudged, Opening, Scope, Workspace};
use crate::{
    catalog::Prepared,
    engine::Engine,
    error::EngineError,
    runs::judge::Judging,
    scenarios::{BoxEnd, BoxError, BoxOrder, BoxPurpose, ScoringError, ScoringOrder},
};

/// By how much the scorers' time is over before the clock of the task run, at most: what they said until then is to be on record.
const HEADROOM: Duration = Duration::from_secs(2);
/// How long a box that cannot be scored has to say how it ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// The boxes of one benchmark's task runs.
pub(super) struct DevboxWorkspace {
    pub(super) engine: Engine,
    pub(super) organization: OrganizationId,
    pub(super) prepared: Arc<Prepared>,
}

impl DevboxWorkspace {
    /// How the box of a task run ended that cannot be judged any more; none if the server is about to end.
    async fn end_of(&self, devbox: DevboxId) -> Result<NotJudged, EngineError> {
        let workshop = self.engine.workshop()?;
        let end = workshop.boxes.ended(self.organization, devbox);
        Ok(tokio::select! {
            () = self.engine.inner.closing.cancelled() => NotJudged::Cancelled,
            end = tokio::time::timeout(PATIENCE, end) => NotJudged::Lost(end.unwrap_or(BoxEnd::Lost)),
        })
    }
}

#[async_trait]
impl Workspace for DevboxWorkspace {
    async fn prepare(
        &self,
        task_run: &TaskRun,
        profile: &RunProfile,
    ) -> Result<Option<DevboxId>, EngineError> {
        let (task, _) = self.prepared.task(task_run.task)?;
        let required = self.prepared.benchmark.requires.and(&task.requires);
        self.engine
            .check_brought(self.organization, &required, profile)
            .await?;
        let definition = match &task.world {
            World::Devbox { parameters } => parameters.get(),
            World::Playground { .. } => return Ok(None),
        };
        let definition =
            definition.map_err(|problem| EngineError::UnreadableDevbox(problem.clone()))?;
        let name = task_run.particulars.name.clone();
        let order = BoxOrder {
            organization: self.organization,
            task_run: task_run.id,
            name: name.unwrap_or_else(|| task.name.clone()),
            request: DevboxRequest {
                base: match profile.blueprint {
                    Some(blueprint) => BaseRequest::Blueprint(blueprint),
                    None => definition.base.clone(),
                },
                launch: match &definition.launch {
                    Some(general) => profile.launch.over(general),
                    None => profile.launch.clone(),
                },
                environment: profile.environment.clone(),
                secrets: profile.secrets.clone(),
                mounts: profile.mounts.clone(),
                entrypoint: None,
                volumes: profile.volumes.clone(),
            },
            purpose: BoxPurpose::World,
        };
        Ok(Some(self.engine.workshop()?.boxes.create(order).await?))
    }

    fn opening(&self, _: &TaskRun) -> Result<Opening, EngineError> {
        Ok(Opening::default())
    }

    async fn open(&self, started: &TaskRun, _: Opening) -> Result<(), EngineError> {
        if let Some(devbox) = started.devbox {
            self.engine.watch(self.organization, started.id, devbox);
        }
        Ok(())
    }

    async fn withdraw(&self, devbox: Option<DevboxId>) {
        if let Some(devbox) = devbox {
            self.engine.end_box(self.organization, devbox).await;
        }
    }

    async fn freeze(&self, task_run: &TaskRun, at: Timestamp) -> Result<Frozen, NotJudged> {
        let devbox = devbox_of(task_run)?;
        let held = self
            .engine
            .workshop()?
            .boxes
            .hold(self.organization, devbox);
        match held.await {
            // The judge freezes the disk itself, before the first scorer runs. Until the score is on record no clock ends the box.
            Ok(hold) => Ok(Frozen {
                at,
                _hold: Some(hold),
            }),
            Err(BoxError::Ended) => Err(self.end_of(devbox).await?),
            Err(other) => Err(NotJudged::Failed {
                fault: Fault::new(Cause::Infrastructure, other.to_string()),
                error: Box::new(other),
            }),
        }
    }

    async fn judge(
        &self,
        task_run: &TaskRun,
        _: &Frozen,
        scope: Scope,
        limits: Limits,
    ) -> Result<Judged, NotJudged> {
        let devbox = devbox_of(task_run)?;
        let began = self.engine.now();
        let (task, prepared) = self.prepared.task(task_run.task)?;
        let mut task = task.clone();
        if scope == Scope::Critical {
            let critical = task.criteria.iter().filter(|one| task.is_critical(one));
            task.criteria = critical.cloned().collect();
        }
        let task = &task;
        let order = ScoringOrder {
            organization: self.organization,
            task_run: task_run.id,
            devbox,
            task: task.clone(),
            kinds: self.engine.extensions().scorer_kinds.clone(),
            time_limit: match limits.deadline {
                None => task.scoring_limit(),
                Some(deadline) => {
                    let left = deadline.since(began);
                    left - HEADROOM.min(left / 10)
                }
            },
            cancel: limits.cancel,
        };
        let scoring = match self.engine.workshop()?.judge.score(order).await {
            Ok(scoring) => scoring,
            Err(ScoringError::Cancelled) => return Err(NotJudged::Cancelled),
            Err(ScoringError::BoxLost) => return Err(self.end_of(devbox).await?),
            Err(ScoringError::Unfit(why)) => return Err(NotJudged::Unfit(why)),
            Err(
                ref error @ ScoringError::NotVerified {
                    exception,
                    ref message,
                },
            ) => {
                let fault = self
                    .engine
                    .verifier_fault(task_run, task, exception, message);
                return Err(NotJudged::Failed {
                    fault: fault.await?,
                    error: error.to_string().into(),
                });
            }
            Err(other @ (ScoringError::NotKept(_) | ScoringError::Failed(_))) => {
                return Err(NotJudged::Failed {
                    fault: not_scored(&other),
                    error: Box::new(other),
                });
            }
        };
        let judging = Judging {
            task,
            rubric: &prepared.rubric,
            task_run,
            began,
        };
        let (card, criterion_runs) = self.engine.judged_by_scorers(&judging, &scoring)?;
        Ok(Judged {
            card,
            criterion_runs,
            timed_out: match (scoring.timed_out, scoring.had_no_box()) {
                (false, _) => None,
                (true, true) => Some(SlowScoring::Box),
                (true, false) => Some(SlowScoring::Scorers),
            },
            not_run: scoring.not_run(),
        })
    }

    async fn release(&self, task_run: &TaskRun) {
        self.engine.inner.scorings.stop(&task_run.id);
        // It is about to end because of us.
        self.engine.inner.watches.stop(&task_run.id);
        if let Some(devbox) = task_run.devbox {
            self.engine.end_box(self.organization, devbox).await;
        }
    }
}

impl Engine {
    /// Ends a box that nobody needs any more. One that cannot be ended now is ended by its own clock.
    pub(crate) async fn end_box(&self, organization: OrganizationId, devbox: DevboxId) {
        let Ok(workshop) = self.workshop() else {
            return;
        };
        if let Err(error) = workshop.boxes.shut_down(organization, devbox).await {
            tracing::warn!(error = %with_causes(&error), %devbox, "a devbox could not be ended");
        }
    }
}

/// Why there is no score although the box is there: whatever the agent did, its scorers could not say.
fn not_scored(error: &ScoringError) -> Fault {
    let source = std::error::Error::source(error);
    let told = source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    Fault::new(Cause::ScorerError, told)
}

fn devbox_of(task_run: &TaskRun) -> Result<DevboxId, EngineError> {
    let missing = || EngineError::Fault(format!("the task run {} has no box", task_run.id));
    task_run.devbox.ok_or_else(missing)
}
