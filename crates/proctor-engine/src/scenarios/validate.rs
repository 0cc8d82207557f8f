//! Proves a scenario: what doing nothing is worth, and what its reference is worth.

use std::time::Duration;

use proctor_core::{
    definition::Validation,
    id::kinds::{OrganizationId, TaskId, TaskRunId},
    profile::{Particulars, RunProfile},
    refused::Refused,
    scoring::Score,
};
use proctor_scenarios::Reference;
use serde_json::Value;

use super::{BoxCommand, CommandEnd};
use crate::{
    engine::Engine,
    error::EngineError,
    runs::{AfterScoring, Asked, NewScenarioRun, ScenarioRun},
};
use proctor_macros::boxed_futures;
use proctor_store::OnDisk;

/// How long a reference may take to be applied.
const TIME_TO_APPLY: Duration = Duration::from_secs(600);
/// The label of scenario runs that prove a scenario, and what it says.
pub(super) const LABEL: &str = "proctor.validation";
pub(super) const REFERENCE: &str = "reference";
pub(super) const UNTOUCHED: &str = "untouched";

/// A scenario that is to be proved.
#[derive(Clone, Debug)]
pub struct NewValidation {
    /// Who wants to know.
    pub organization: OrganizationId,
    /// Which scenario.
    pub scenario: TaskId,
    /// What its boxes get from outside.
    pub profile: RunProfile,
}

/// What was found out about a scenario.
pub struct Validated {
    /// What its reference should prove.
    pub validation: Validation,
    /// Whether it does.
    pub holds: bool,
    /// Why, in a sentence.
    pub verdict: String,
    /// A box that nobody touched.
    pub untouched: Trial,
    /// A box that the reference was applied to, or taken from.
    pub changed: Trial,
}

/// A box that was scored to prove something.
pub struct Trial {
    /// The scenario run with its scores.
    pub run: ScenarioRun,
    /// How applying the reference went, if it was applied.
    pub applied: Option<CommandEnd>,
}

impl Trial {
    /// Whether every scorer gave everything.
    pub fn is_solved(&self) -> bool {
        !self.run.functions.is_empty()
            && self
                .run
                .functions
                .iter()
                .all(|function| function.score == Score::ONE)
    }
}

#[boxed_futures]
impl Engine {
    /// Scores a box that nobody touched and one that the reference was applied to. With [`Validation::Reverse`] the box is
    /// solved to begin with, and the reference is taken back.
    pub async fn validate_scenario(&self, new: NewValidation) -> Result<Validated, EngineError> {
        let scenario = self
            .store()
            .scenario(new.organization, new.scenario)
            .await?
            .ok_or(EngineError::NotFound("scenario"))?;
        let draft = &scenario.placed.draft.content;
        let Value::String(reference) = &draft.reference else {
            let message = "the scenario has no reference solution to prove it with";
            return Err(EngineError::Unclear(message.to_owned()));
        };
        let reverse = draft.validation == Some(Validation::Reverse);
        let command = command(reference, reverse)?;
        let untouched = Box::pin(self.trial(&new, None)).await?;
        let changed = Box::pin(self.trial(&new, Some(command))).await?;
        let was_applied = changed.applied.as_ref().is_some_and(|end| end.status == 0);
        let (holds, verdict) = match (was_applied, reverse) {
            (false, _) => (false, "the reference could not be applied"),
            (true, false) if changed.is_solved() => (true, "the reference solves the scenario"),
            (true, false) => (false, "the reference does not solve the scenario"),
            (true, true) if !untouched.is_solved() => {
                (false, "the scenario is not solved to begin with")
            }
            (true, true) if changed.is_solved() => {
                (false, "the scenario is still solved without the reference")
            }
            (true, true) => (true, "taking the reference back breaks the scenario"),
        };
        Ok(Validated {
            validation: if reverse {
                Validation::Reverse
            } else {
                Validation::Forward
            },
            holds,
            verdict: verdict.to_owned(),
            untouched,
            changed,
        })
    }

    /// Scores a box of its own, after `command` if there is one, and lets go of it.
    async fn trial(
        &self,
        new: &NewValidation,
        command: Option<BoxCommand>,
    ) -> Result<Trial, EngineError> {
        let word = match command {
            Some(_) => REFERENCE,
            None => UNTOUCHED,
        };
        let task_run = self
            .start_scenario(NewScenarioRun {
                organization: new.organization,
                scenario: new.scenario,
                run: None,
                particulars: Particulars {
                    name: Some(format!("validation: {word}")),
                    metadata: [(LABEL.to_owned(), word.to_owned())].into(),
                    profile: new.profile.clone(),
                },
            })
            .await?;
        let scored = self
            .scored_trial(new.organization, task_run.id, command)
            .await;
        // Whatever happened, nobody needs the box any more.
        let over = self.end_trial(task_run.id).await;
        let applied = scored?;
        over?;
        let run = self.scenario_run(new.organization, task_run.id).await?;
        Ok(Trial { run, applied })
    }

    async fn scored_trial(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
        command: Option<BoxCommand>,
    ) -> Result<Option<CommandEnd>, EngineError> {
        let mut applied = None;
        if let Some(mut command) = command {
            let asked = Asked::InBoxOf(organization);
            let found = self.task_run_snapshot(asked, id).await?;
            let devbox = found.value().devbox;
            let devbox = devbox.ok_or(EngineError::NotFound("scenario run"))?;
            let (task, _) = found.prepared.task(found.value().task)?;
            command.directory = task.working_directory().map(str::to_owned);
            let boxes = &self.workshop()?.boxes;
            applied = Some(boxes.run(organization, devbox, command).await?);
        }
        match self
            .score_now(id, OnDisk::AtOnce, AfterScoring::Stays)
            .await
        {
            // The box failed and its run with it, which then says so; that is an answer too.
            Err(EngineError::Refused(Refused::TaskRunOver(_))) => {}
            other => drop(other?),
        }
        Ok(applied)
    }

    async fn end_trial(&self, id: TaskRunId) -> Result<(), EngineError> {
        let ended = self.finish(id, OnDisk::AtOnce).await;
        match ended {
            Ok(_) => Ok(()),
            Err(_) => self.cancel(id).await.map(drop),
        }
    }
}

/// What applies the reference, or takes it back.
pub(crate) fn command(reference: &str, reverse: bool) -> Result<BoxCommand, EngineError> {
    let (script, input) = match (Reference::of(reference), reverse) {
        (Reference::Patch(patch), false) => ("patch --batch --forward -p1", patch),
        (Reference::Patch(patch), true) => ("patch --batch --reverse -p1", patch),
        (Reference::Commands(commands), false) => ("bash -e", commands),
        (Reference::Commands(_), true) => {
            let message = "only a patch can be taken back; this reference solution is commands";
            return Err(EngineError::Unclear(message.to_owned()));
        }
    };
    Ok(BoxCommand {
        script: script.to_owned(),
        input: input.to_owned(),
        directory: None,
        time_limit: TIME_TO_APPLY,
    })
}
