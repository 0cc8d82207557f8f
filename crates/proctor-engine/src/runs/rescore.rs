//! Judging again what was judged before: the same frozen world, by its own rubric or a corrected
//! one. The original record is not touched.

use proctor_core::{
    criterion_run::CriterionRun,
    definition::Task,
    id::kinds::{OrganizationId, TaskRunId},
    refused::Refused,
    scoring::Scorecard,
    task_run::TaskRunState,
};
use proctor_macros::boxed_futures;
use proctor_playground::world::FrozenWorld;
use proctor_verify::{JudgeAnswers, Rubric};

use super::{
    Asked, ScenarioRun, ScoredFunction, TaskRunSnapshot,
    judge::{Judging, judge, questions},
    scenario_runs::functions,
    start::playground_of,
};
use crate::{
    authoring,
    engine::Engine,
    error::EngineError,
    scenarios::{BoxError, ScoringError, ScoringOrder},
};

/// By which rubric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rubrics {
    /// By the one of the frozen definition.
    Own,
    /// By the draft's criteria of the same task, as they stand.
    Draft,
}

/// Whose answers about free text count when a world is judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judges {
    /// Those on record.
    Recorded,
    /// Those that a judge gives now.
    Anew,
}

/// What judging again found.
pub struct Rescored {
    /// The task whose criteria were used.
    pub task: Task,
    /// What was found.
    pub criterion_runs: Vec<CriterionRun>,
    /// The score that follows.
    pub card: Scorecard,
    /// The score on record.
    pub original: Option<Scorecard>,
    /// How it was done, if in a box.
    pub in_box: Option<InBox>,
}

/// How scorers were run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InBox {
    /// In which way, which need not be the way of the first time: the agent's own box is not there any more.
    pub mode: String,
    /// Whether the time was over before all were done.
    pub timed_out: bool,
}

/// A scenario run that was judged again, beside what is on record.
pub struct RescoredScenario {
    /// What was found this time.
    pub again: Rescored,
    /// What each scorer said this time.
    pub functions: Vec<ScoredFunction>,
    /// The scenario run as it stands.
    pub original: ScenarioRun,
}

#[boxed_futures]
impl Engine {
    /// Judges a task run of a run again.
    pub async fn rescore(
        &self,
        id: TaskRunId,
        by: Rubrics,
        judges: Judges,
    ) -> Result<Rescored, EngineError> {
        let found = self.current_task_run(Asked::ByEngine, id).await?;
        match found.value().devbox {
            Some(_) => self.rescore_in_box(found, by).await,
            None => self.rescore_playground(found, by, judges).await,
        }
    }

    async fn rescore_playground(
        &self,
        found: TaskRunSnapshot,
        by: Rubrics,
        judges: Judges,
    ) -> Result<Rescored, EngineError> {
        let (task_run, prepared) = (found.value(), &found.prepared);
        let id = task_run.id;
        if !task_run.is_over() {
            return Err(EngineError::Unclear(
                "the task run is not over; it can be scored again when it is".to_owned(),
            ));
        }
        if task_run.started_at().is_none() {
            return Err(Refused::TaskRunNotStarted.into());
        }
        let run = found
            .run
            .as_ref()
            .ok_or(EngineError::NotFound("task run"))?;
        let beginning = self.beginning(task_run, prepared)?;
        let (own, prepared) = prepared.task(task_run.task)?;
        let draft;
        let (task, rubric) = match by {
            Rubrics::Own => (own, &prepared.rubric),
            Rubrics::Draft => {
                let benchmark = run.run.value.pinned.benchmark;
                let owner = self.store().owner_of_benchmark(benchmark).await?;
                let owner = owner.ok_or(EngineError::NotFound("benchmark"))?;
                let task = self.with_draft_criteria(owner, benchmark, own).await?;
                let rubric = Rubric::compile(&task, &self.extensions().checks);
                draft = (task, rubric);
                (&draft.0, &draft.1)
            }
        };
        let origin = self.inner.worlds.origin(playground_of(id), &beginning);
        let journal = &self.inner.worlds.around().journal;
        let world = FrozenWorld::read(origin, journal).await?;
        let record = match rubric.reads_record() {
            true => Some(world.record()?),
            false => None,
        };
        let frozen_at = world
            .frozen_at
            .or_else(|| task_run.ended_at())
            .unwrap_or_else(|| self.now());
        let began = self.now();
        let mut exhibits = world.contents.exhibits(frozen_at);
        exhibits.show(&record);
        let questions = questions(rubric, task_run, &exhibits)?;
        // What a judge answered then counts again; only what it was never asked is asked now.
        let known = match (questions.is_empty(), judges) {
            (true, _) | (_, Judges::Anew) => JudgeAnswers::default(),
            (false, Judges::Recorded) => {
                let recorded = self.store().criterion_runs(id).await?;
                JudgeAnswers::recorded(recorded.iter().map(|one| &one.evidence))
            }
        };
        let answers = self.answers(questions, known).await?;
        let judged = judge(rubric, task_run, &exhibits, &answers)?;
        Ok(Rescored {
            task: task.clone(),
            card: judged.scorecard,
            criterion_runs: self.criterion_runs(id, judged.findings, began),
            original: task_run.card().cloned(),
            in_box: None,
        })
    }

    /// Judges one of the organization's scenario runs again.
    pub async fn rescore_scenario(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
        by: Rubrics,
    ) -> Result<RescoredScenario, EngineError> {
        let original = self.scenario_run(organization, id).await?;
        if by == Rubrics::Draft {
            let scenario = original.task_run.task;
            let draft = self.store().scenario(organization, scenario).await?;
            draft.ok_or(EngineError::NotFound("scenario"))?;
        }
        let asked = Asked::InBoxOf(organization);
        let found = self.task_run_snapshot(asked, id).await?;
        let again = self.rescore_in_box(found, by).await?;
        let functions = functions(&again.task, again.criterion_runs.clone());
        Ok(RescoredScenario {
            again,
            functions,
            original,
        })
    }

    /// Judges a task run in a box again.
    async fn rescore_in_box(
        &self,
        found: TaskRunSnapshot,
        by: Rubrics,
    ) -> Result<Rescored, EngineError> {
        let organization = found.organization;
        let task_run = found.task_run.value;
        if let TaskRunState::Scoring { .. } = task_run.state {
            let message =
                "the scenario run is being scored; it can be scored again when that is done";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let (own, _) = found.prepared.task(task_run.task)?;
        let task = match by {
            Rubrics::Own => own.clone(),
            // The criteria, and how they want to be checked; where it happened stays as it was.
            Rubrics::Draft => Task {
                world: own.world.clone(),
                ..authoring::draft_of_scenario(self.store(), task_run.task).await?
            },
        };
        let devbox = task_run
            .devbox
            .ok_or_else(|| EngineError::Fault("a task run in a box without a box".to_owned()))?;
        let cancel = self.inner.closing.child_token();
        let order = ScoringOrder {
            organization,
            task_run: task_run.id,
            devbox,
            kinds: self.extensions().scorer_kinds.clone(),
            time_limit: task.scoring_limit(),
            cancel: cancel.clone(),
            task: task.clone(),
        };
        let began = self.now();
        let judge = self.workshop()?.judge.clone();
        // In a task of its own: a caller who leaves ends it, instead of leaving its boxes behind.
        let leaving = cancel.drop_guard();
        let scoring = self
            .inner
            .tasks
            .spawn(async move { judge.rescore(order).await });
        let scoring = scoring
            .await
            .map_err(|error| EngineError::Fault(error.to_string()))?
            .map_err(not_rescored)?;
        drop(leaving);
        let rubric = Rubric::compile(&task, &self.extensions().checks);
        let judging = Judging {
            task: &task,
            rubric: &rubric,
            task_run: &task_run,
            began,
        };
        let (card, criterion_runs) = self.judged_by_scorers(&judging, &scoring)?;
        Ok(Rescored {
            criterion_runs,
            card,
            original: task_run.card().cloned(),
            in_box: Some(InBox {
                mode: scoring.mode,
                timed_out: scoring.timed_out,
            }),
            task,
        })
    }
}

fn not_rescored(error: ScoringError) -> EngineError {
    match error {
        ScoringError::NotKept(_) | ScoringError::Unfit(_) => {
            EngineError::Unclear(error.to_string())
        }
        ScoringError::Cancelled => {
            EngineError::Unclear("the server is about to end; try again later".to_owned())
        }
        other => EngineError::Box(BoxError::Failed(Box::new(other))),
    }
}
