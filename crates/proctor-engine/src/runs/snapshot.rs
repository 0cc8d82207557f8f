//! What a decision about a run is made on, and how one step of a task run is written.

use std::sync::Arc;

use proctor_core::causes::with_causes;
use proctor_core::{
    canonical::Digest,
    criterion_run::CriterionRun,
    id::kinds::{JobId, OrganizationId, RunId, TaskRunId},
    job::Try,
    refused::{Refused, Step},
    run::Run,
    task_run::{SlowScoring, TaskRun, TaskRunState},
    time::Timestamp,
};
use proctor_store::{
    OnDisk,
    progress::{Progress, UnrunReference},
    runs::{Revised, TalliedRun},
};

use crate::{
    catalog::Prepared,
    change::{Changed, Decision},
    engine::Engine,
    error::EngineError,
};

/// Who asks for a task run. What is not theirs does not exist for them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// Whoever takes this run, or owns it.
    InRun(RunId),
    /// An organization, for one that is done in a box.
    InBoxOf(OrganizationId),
    /// The engine itself.
    ByEngine,
}

/// A task run as it stands, with what decides what may become of it.
pub(crate) struct TaskRunSnapshot {
    pub(crate) organization: OrganizationId,
    pub(crate) task_run: Revised<TaskRun>,
    pub(crate) run: Option<TalliedRun>,
    pub(crate) prepared: Arc<Prepared>,
    /// Why its scorers took too long, if they did.
    slow_scoring: Option<SlowScoring>,
    /// All task runs of the run, if this is the only one that is not over and the run ends with it.
    siblings: Option<Vec<TaskRun>>,
}

impl TaskRunSnapshot {
    /// The task run.
    pub(crate) fn value(&self) -> &TaskRun {
        &self.task_run.value
    }

    /// After how many tasks the run ends with its last task run; none if it does not end by itself.
    fn ends_after(&self) -> Option<u32> {
        let run = &self.run.as_ref()?.run.value;
        let ends = run.job.is_none() && !run.plan.held;
        ends.then(|| self.prepared.tasks_of(run))
    }

    /// Whether the run ends when this task run does.
    fn is_last(&self) -> bool {
        let (Some(run), Some(wanted)) = (&self.run, self.ends_after()) else {
            return false;
        };
        !self.value().is_over()
            && !run.run.value.is_over()
            && run.tally.with_one_ended().is_complete(wanted)
    }

    /// The run, if it should have ended with this task run and did not: versions that ended it in a transaction of its own left
    /// such runs behind.
    fn unsettled_run(&self) -> Option<RunId> {
        let (run, wanted) = (self.run.as_ref()?, self.ends_after()?);
        let is_left =
            self.value().is_over() && !run.run.value.is_over() && run.tally.is_complete(wanted);
        is_left.then_some(run.run.value.id)
    }

    /// What is written when the task run becomes `after`, with what was found. The run ends in the same transaction if this
    /// was its last.
    pub(crate) fn progress(
        &self,
        now: Timestamp,
        after: TaskRun,
        criterion_runs: Vec<CriterionRun>,
    ) -> Progress {
        let run = match (&self.run, &self.siblings) {
            (Some(run), Some(siblings)) if after.is_over() => {
                let all: Vec<TaskRun> = siblings
                    .iter()
                    .map(|one| if one.id == after.id { &after } else { one })
                    .cloned()
                    .collect();
                let wanted = self.prepared.wanted_by(&run.run.value);
                match run.run.value.clone().settle(now, &all, wanted) {
                    Step::Changed(ended) => Some((run.run.clone(), ended)),
                    Step::Unchanged(_) => None,
                }
            }
            _ => None,
        };
        Progress {
            run,
            task_runs: vec![(self.task_run.clone(), after)],
            ends_after: self.ends_after(),
            criterion_runs,
            ..Progress::default()
        }
    }
}

/// How a try of a job ends with its task run, which is over.
pub(crate) type EndOfTry<'a> = dyn Fn(&TaskRun) -> Option<(JobId, Try)> + Send + Sync + 'a;

/// What is written together with a step of a task run.
#[derive(Default)]
pub(crate) struct StepRecord<'a> {
    /// How soon all of it must be on disk.
    pub(crate) on_disk: OnDisk,
    /// What was found.
    pub(crate) criterion_runs: Vec<CriterionRun>,
    /// The digest of its frozen task, if its scorers took too long on the reference.
    pub(crate) slow_reference: Option<Digest>,
    /// What the task run shows about scorers that could not be started, if it is of the reference.
    pub(crate) unrun_reference: Option<UnrunReference>,
    /// The end of the try that the task run belongs to, if the step ends the task run.
    pub(crate) end_of_try: Option<&'a EndOfTry<'a>>,
}

/// A step of a task run that was taken.
pub(crate) struct Stepped {
    /// The task run afterwards.
    pub(crate) task_run: Step<TaskRun>,
    /// What was decided on.
    read: TaskRunSnapshot,
}

impl Stepped {
    /// The task run as it stands now, unless somebody else takes another step.
    pub(crate) fn snapshot(self) -> TaskRunSnapshot {
        let task_run = match self.task_run {
            Step::Changed(after) => self.read.task_run.next(after),
            Step::Unchanged(_) => self.read.task_run,
        };
        TaskRunSnapshot {
            task_run,
            slow_scoring: None,
            siblings: None,
            ..self.read
        }
    }
}

/// A run with the task runs that are at work.
pub(crate) struct ActiveRun {
    pub(crate) run: TalliedRun,
    pub(crate) active: Vec<Revised<TaskRun>>,
    pub(crate) prepared: Arc<Prepared>,
}

/// A run with all of its task runs.
pub(crate) struct WholeRun {
    pub(crate) run: Revised<Run>,
    pub(crate) task_runs: Vec<Revised<TaskRun>>,
    pub(crate) prepared: Arc<Prepared>,
}

impl WholeRun {
    /// Whether a playground is at work: one that was started while its run was about to end is not judged yet.
    pub(crate) fn has_playground_at_work(&self) -> bool {
        self.task_runs.iter().any(|one| {
            one.value.devbox.is_none() && matches!(one.value.state, TaskRunState::Started(_))
        })
    }

    /// All task runs after `step`, and before and after those that it changed.
    pub(crate) fn step_all(
        &self,
        step: impl Fn(TaskRun) -> Step<TaskRun>,
    ) -> (Vec<(Revised<TaskRun>, TaskRun)>, Vec<TaskRun>) {
        let (mut changed, mut all) = (Vec::new(), Vec::new());
        for before in &self.task_runs {
            let after = step(before.value.clone());
            let is_changed = after.is_changed();
            let after = after.into_inner();
            if is_changed {
                changed.push((before.clone(), after.clone()));
            }
            all.push(after);
        }
        (changed, all)
    }
}

impl Engine {
    /// A task run as it stands, if it exists for whoever asks.
    pub(crate) async fn task_run_snapshot(
        &self,
        asked: Asked,
        id: TaskRunId,
    ) -> Result<TaskRunSnapshot, EngineError> {
        let unknown = || match asked {
            Asked::InRun(_) | Asked::ByEngine => EngineError::NotFound("task run"),
            Asked::InBoxOf(_) => EngineError::NotFound("scenario run"),
        };
        let found = self.store().task_run_in_run(id).await?;
        let found = found.ok_or_else(unknown)?;
        let task_run = &found.task_run.value;
        let is_theirs = match asked {
            Asked::InRun(run) => task_run.run == Some(run),
            Asked::InBoxOf(organization) => {
                found.organization == organization && task_run.devbox.is_some()
            }
            Asked::ByEngine => true,
        };
        if !is_theirs {
            return Err(unknown());
        }
        let of_run = found.run.as_ref().map(|run| run.run.value.pinned.digest);
        let digest = task_run
            .definition
            .or(of_run)
            .ok_or_else(|| EngineError::Fault(format!("the task run {id} has no definition")))?;
        Ok(TaskRunSnapshot {
            organization: found.organization,
            prepared: self.inner.catalog.benchmark(self.store(), &digest).await?,
            task_run: found.task_run,
            run: found.run,
            slow_scoring: None,
            siblings: None,
        })
    }

    /// The same as of now: a task run whose time is over is over.
    pub(crate) async fn current_task_run(
        &self,
        asked: Asked,
        id: TaskRunId,
    ) -> Result<TaskRunSnapshot, EngineError> {
        let found = self.task_run_snapshot(asked, id).await?;
        if !found.value().is_due(self.now()) {
            return Ok(found);
        }
        Box::pin(self.expire(id)).await?;
        self.task_run_snapshot(asked, id).await
    }

    /// The same with all task runs of its run, if the run ends with this one.
    async fn snapshot_to_step(&self, id: TaskRunId) -> Result<TaskRunSnapshot, EngineError> {
        let snapshot = self.task_run_snapshot(Asked::ByEngine, id).await?;
        self.with_siblings(snapshot).await
    }

    /// Adds what the end of the run follows from, if it ends with this task run.
    pub(crate) async fn with_siblings(
        &self,
        mut snapshot: TaskRunSnapshot,
    ) -> Result<TaskRunSnapshot, EngineError> {
        if let Some(run) = snapshot.value().run
            && snapshot.is_last()
        {
            let all = self.store().task_runs(run).await?;
            snapshot.siblings = Some(all.into_iter().map(|one| one.value).collect());
        }
        if let TaskRunState::Scoring { .. } = snapshot.value().state
            && snapshot.value().is_due(self.now())
        {
            snapshot.slow_scoring = Some(self.slow_scoring(&snapshot).await?);
        }
        Ok(snapshot)
    }

    /// Takes a task run one step on; `when` says how soon that must be on disk. Where it is done in a box, a clock that ran out goes before: a
    /// playground is judged when its clock has run out (`crate::runs::expire`). What is over lets go of its workspace.
    pub(crate) async fn step(
        &self,
        id: TaskRunId,
        when: OnDisk,
        step: impl Fn(TaskRun, Timestamp) -> Result<Step<TaskRun>, Refused>,
    ) -> Result<Step<TaskRun>, EngineError> {
        let record = StepRecord {
            on_disk: when,
            ..StepRecord::default()
        };
        let stepped = self.step_with(None, id, record, step).await?;
        Ok(stepped.task_run)
    }

    /// The same from what is known, with what else is written in the same commit.
    pub(crate) async fn step_with(
        &self,
        known: Option<TaskRunSnapshot>,
        id: TaskRunId,
        record: StepRecord<'_>,
        step: impl Fn(TaskRun, Timestamp) -> Result<Step<TaskRun>, Refused>,
    ) -> Result<Stepped, EngineError> {
        let mut known = match known {
            Some(known) => Some(self.with_siblings(known).await?),
            None => None,
        };
        loop {
            let decide = |snapshot: &TaskRunSnapshot, now| {
                let before = snapshot.value().clone();
                let expired = match (before.devbox, snapshot.slow_scoring) {
                    (Some(_), Some(why)) => before.time_out_scoring(now, why),
                    (Some(_), None) => before.expire(now),
                    (None, _) => Step::Unchanged(before),
                };
                let (after, came_in_time) = match expired {
                    Step::Changed(expired) => (expired, false),
                    Step::Unchanged(before) => match step(before, now)? {
                        Step::Unchanged(after) => return Ok(Decision::Unchanged((after, true))),
                        Step::Changed(after) => (after, true),
                    },
                };
                let mut progress = Progress {
                    on_disk: record.on_disk,
                    ..snapshot.progress(now, after.clone(), Vec::new())
                };
                if came_in_time {
                    progress.criterion_runs.clone_from(&record.criterion_runs);
                    progress.slow_reference = record.slow_reference.map(|task| (task, id));
                    progress.unrun_reference.clone_from(&record.unrun_reference);
                    let end = record.end_of_try.filter(|_| after.is_over());
                    progress.tries = end.and_then(|end| end(&after)).into_iter().collect();
                }
                Ok(Decision::Write(Box::new(progress), (after, came_in_time)))
            };
            let read = || self.snapshot_to_step(id);
            let changed = Box::pin(self.change(known.take(), read, decide)).await?;
            self.follow_up(&changed).await;
            let Changed {
                read,
                written,
                answer: (after, came_in_time),
            } = changed;
            if came_in_time {
                if let (None, Some(run)) = (&written, read.unsettled_run()) {
                    Box::pin(self.settle(run)).await?;
                }
                let task_run = match written {
                    Some(_) => Step::Changed(after),
                    None => Step::Unchanged(after),
                };
                return Ok(Stepped { task_run, read });
            }
        }
    }

    /// Does what follows when a step of a task run was written.
    pub(crate) async fn follow_up<T>(&self, changed: &Changed<TaskRunSnapshot, T>) {
        if let Some(progress) = &changed.written {
            let read = &changed.read;
            self.let_go(read.organization, &read.prepared, progress)
                .await;
        }
    }

    /// Lets go of the workspaces of task runs that ended, and keeps the clocks of the others in mind.
    pub(crate) async fn let_go(
        &self,
        organization: OrganizationId,
        prepared: &Arc<Prepared>,
        progress: &Progress,
    ) {
        for (_, after) in &progress.task_runs {
            if !after.is_over() {
                if let Some(deadline) = after.deadline() {
                    self.inner.deadlines.keep(after.id, deadline);
                }
                continue;
            }
            self.end_agent_box(organization, after.id).await;
            match self.workspace(organization, prepared, after.task) {
                Ok(workspace) => workspace.release(after).await,
                Err(error) => {
                    tracing::error!(error = %with_causes(&error), task_run = %after.id, "a task run without its task");
                }
            }
        }
    }

    /// A run with the task runs that are at work; those whose time is over are over.
    pub(crate) async fn active_run(&self, id: RunId) -> Result<ActiveRun, EngineError> {
        loop {
            let run = self
                .store()
                .tallied_run(id)
                .await?
                .ok_or(EngineError::NotFound("benchmark run"))?;
            let active = self.store().active_task_runs(id).await?;
            let now = self.now();
            let is_due = |one: &&Revised<TaskRun>| one.value.deadline().is_some_and(|at| at <= now);
            let due: Vec<TaskRunId> = active
                .iter()
                .filter(is_due)
                .map(|one| one.value.id)
                .collect();
            if due.is_empty() {
                let digest = &run.run.value.pinned.digest;
                let prepared = self.inner.catalog.benchmark(self.store(), digest).await?;
                return Ok(ActiveRun {
                    run,
                    active,
                    prepared,
                });
            }
            for id in due {
                Box::pin(self.expire(id)).await?;
            }
        }
    }

    /// A run with all of its task runs; those whose time is over are over.
    pub(crate) async fn whole_run(&self, id: RunId) -> Result<WholeRun, EngineError> {
        let ActiveRun { prepared, .. } = self.active_run(id).await?;
        let unknown = EngineError::NotFound("benchmark run");
        Ok(WholeRun {
            // Read before its task runs: whatever joins meanwhile raises its revision.
            run: self.store().run(id).await?.ok_or(unknown)?,
            task_runs: self.store().task_runs(id).await?,
            prepared,
        })
    }

    /// Decides about a run with all of its task runs, and lets go of the workspaces of those that end with it.
    pub(crate) async fn change_run<T>(
        &self,
        id: RunId,
        decide: impl Fn(&WholeRun, Timestamp) -> Result<Decision<T>, EngineError>,
    ) -> Result<T, EngineError> {
        let read = || self.whole_run(id);
        let changed = Box::pin(self.change(None, read, decide)).await?;
        if let Some(progress) = &changed.written {
            let organization = changed.read.run.value.organization;
            self.let_go(organization, &changed.read.prepared, progress)
                .await;
        }
        Ok(changed.answer)
    }
}
