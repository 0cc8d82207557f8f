//! What an agent's work is worth: the verifier of a Harbor task, run where nothing of the agent's can reach it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use proctor_core::{
    blueprint::ImageDisk,
    devbox::DevboxBase,
    id::kinds::{DevboxKind, OrganizationId},
    profile::RunProfile,
    scoring::Score,
};
use proctor_devbox::{Base, BaseName, ExecId, ExecSpec, LayerId, User, name::InvalidName};
use proctor_fleet::Masks;
use proctor_harbor::{
    exceptions::ExceptionType,
    job::SharedVerifier,
    rewards::{self, JSON_FILE, Rewards, TEXT_FILE},
    task::VerifierMode,
    timeouts::duration,
};
use proctor_scorers::{
    Mode, Scored, Scorer, ScoringFunction,
    verifier::{self, Verified, VerifierOrder},
};
use serde_json::json;

use super::{
    HarborScenario, HarborWorkshop,
    collect::{WantedLogs, leave_out, mask},
    phases::user_named,
    step_verifier::{StepsOutcome, step_findings},
};
use crate::scenarios::{ScorerFinding, ScorerState, ScoringError, ScoringOrder};

/// Where a trial's verifier leaves its logs, below what the trial left.
pub(super) const LOGS: &str = "verifier";

/// A verifier that is ready to be run.
pub(crate) struct PreparedVerifier {
    /// The verifier as a scorer.
    pub(crate) function: ScoringFunction,
    /// Where it starts.
    pub(crate) directory: String,
    /// What must not show in what it prints.
    pub(crate) masks: Masks,
    /// The box of a separate verifier.
    pub(crate) own_box: Option<VerifierBox>,
    /// What the clean box of a strict verifier stands on: the task's image, without what installing the agent left.
    pub(crate) clean_base: Option<Base>,
    pub(super) verified: Verified,
    pub(super) integrity: SharedVerifier,
    /// Where its logs are, and which of them are kept.
    pub(super) logs: PathBuf,
    pub(super) wanted: WantedLogs,
    /// What came of the steps of the trial, if its task has any.
    pub(super) steps: Option<StepsOutcome>,
}

/// The box of a separate verifier.
pub(crate) struct VerifierBox {
    /// What it stands on.
    pub(crate) base: Base,
    /// Whom its programs run as.
    pub(crate) user: User,
    /// Environment variables of its programs.
    pub(crate) environment: BTreeMap<String, String>,
}

/// Who worked in the box that is verified.
pub(crate) struct BoxUser<'a> {
    pub(crate) user: &'a User,
    pub(crate) home: &'a str,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) masks: &'a Masks,
}

/// Where a verifier runs that shares the agent's box.
pub(crate) const fn mode_of(integrity: SharedVerifier) -> Mode {
    match integrity {
        SharedVerifier::Sealed => Mode::Live,
        SharedVerifier::Clone => Mode::Clone,
        SharedVerifier::Strict => Mode::Artifacts,
    }
}

pub(super) fn failed(error: impl std::error::Error + Send + Sync + 'static) -> ScoringError {
    ScoringError::Failed(Box::new(error))
}

impl HarborWorkshop {
    /// Makes the verifier of a task run ready. `is_kept`: the agent's box is gone, and its disk is verified again.
    pub(crate) async fn verifier(
        &self,
        order: &ScoringOrder,
        scenario: &HarborScenario,
        worker: BoxUser<'_>,
        is_kept: bool,
    ) -> Result<PreparedVerifier, ScoringError> {
        if !scenario.steps.is_empty() {
            return self.steps_verifier(order, scenario, worker, is_kept).await;
        }
        if scenario.verifier.mode == VerifierMode::Separate {
            return self.separate_verifier(order, scenario, worker).await;
        }
        self.shared_verifier(order, scenario, worker, is_kept).await
    }

    /// A verifier in a clean box of its own, with the agent's artifacts where they were.
    pub(super) async fn separate_verifier(
        &self,
        order: &ScoringOrder,
        scenario: &HarborScenario,
        worker: BoxUser<'_>,
    ) -> Result<PreparedVerifier, ScoringError> {
        let (organization, plan) = (order.organization, &scenario.verifier);
        let environment = plan.environment.as_ref().unwrap_or(&scenario.environment);
        let built = self.environment(organization, &scenario.tree, environment);
        let image = match built.await.map_err(failed)? {
            Ok((_, image)) => image,
            Err(failure) => return Err(ScoringError::Unfit(failure.message)),
        };
        let store = self.inner.fleet.store();
        let (own, hidden) = plan
            .variables
            .values(store, organization)
            .await
            .map_err(failed)?;
        let mut environment = image.env.clone();
        environment.extend(own);
        let user = plan.user.as_deref().or(image.user.as_deref());
        let user = user.map_or(User::Root, user_named);
        let directory = plan
            .directory
            .clone()
            .or_else(|| image.working_directory.clone());
        let directory = directory.unwrap_or_else(|| "/".to_owned());
        let entrypoint = match image.entrypoint_command() {
            None => None,
            Some(argv) => {
                let mut spec = ExecSpec::new(self.verifier_id()?, argv);
                spec.env.clone_from(&environment);
                spec.cwd = Some(directory.clone());
                Some(spec)
            }
        };
        let tests = match plan.has_bundled_tests {
            true => None,
            false => {
                let tests = self.assembled(&scenario.tree, scenario.test_directories());
                Some(tests.await.map_err(failed)?)
            }
        };
        let logs = self.fresh_logs(order, scenario).map_err(failed)?;
        let (scorer, verified) = verifier::scorer(VerifierOrder {
            id: self.verifier_id()?,
            tests,
            logs: logs.clone(),
            user: user.clone(),
            environment: environment.clone(),
            working_directory: Some(directory.clone()),
            time_limit: duration(plan.seconds),
            entrypoint,
            is_fresh: true,
        });
        Ok(PreparedVerifier {
            function: named(scorer),
            directory,
            masks: worker.masks.and(hidden.iter().map(String::as_str)),
            own_box: Some(VerifierBox {
                base: base_of(&image.disk).map_err(failed)?,
                user,
                environment,
            }),
            clean_base: None,
            verified,
            integrity: SharedVerifier::Strict,
            logs,
            wanted: plan.logs.clone(),
            steps: None,
        })
    }

    /// The verifier of a task that shares the agent's box, or its disk.
    pub(super) async fn shared_verifier(
        &self,
        order: &ScoringOrder,
        scenario: &HarborScenario,
        worker: BoxUser<'_>,
        is_kept: bool,
    ) -> Result<PreparedVerifier, ScoringError> {
        let fleet = &self.inner.fleet;
        let (store, organization) = (fleet.store(), order.organization);
        let of_run = self.profile_of_run(order).await?;
        let own = &scenario.verifier.variables;
        let (own, hidden) = own.values(store, organization).await.map_err(failed)?;
        let mut environment = self
            .environment_without_agent(organization, worker.environment, scenario, &of_run)
            .await
            .map_err(failed)?;
        environment.extend(own);
        let record = fleet.devbox(organization, order.devbox).await;
        let record = record.map_err(failed)?;
        let image = match &record.setup.base {
            DevboxBase::Blueprint { image, .. } => Some(image),
            DevboxBase::Host | DevboxBase::Snapshot(_) => None,
        };
        let directory = order.task.working_directory().map(str::to_owned);
        let directory = directory
            .or_else(|| image.and_then(|image| image.working_directory.clone()))
            .unwrap_or_else(|| worker.home.to_owned());
        let integrity = match (is_kept, scenario.verifier.integrity) {
            (true, SharedVerifier::Sealed) => SharedVerifier::Clone,
            (_, integrity) => integrity,
        };
        let clean_base = match integrity {
            SharedVerifier::Strict => Some(self.clean_base(organization, scenario).await?),
            SharedVerifier::Sealed | SharedVerifier::Clone => None,
        };
        let entrypoint = image.and_then(|image| image.entrypoint_command());
        let entrypoint = entrypoint.map(|argv| -> Result<ExecSpec, ScoringError> {
            let mut spec = ExecSpec::new(self.verifier_id()?, argv);
            spec.env.clone_from(&environment);
            spec.cwd = Some(directory.clone());
            Ok(spec)
        });
        let tests = self
            .assembled(&scenario.tree, scenario.test_directories())
            .await
            .map_err(failed)?;
        let user = scenario.verifier.user.as_deref().map(user_named);
        let logs = self.fresh_logs(order, scenario).map_err(failed)?;
        let wanted = VerifierOrder {
            id: self.verifier_id()?,
            tests: Some(tests),
            logs: logs.clone(),
            user: user.unwrap_or_else(|| worker.user.clone()),
            environment,
            working_directory: Some(directory.clone()),
            time_limit: duration(scenario.verifier.seconds),
            entrypoint: entrypoint.transpose()?,
            is_fresh: integrity != SharedVerifier::Sealed,
        };
        let (scorer, verified) = verifier::scorer(wanted);
        Ok(PreparedVerifier {
            function: named(scorer),
            directory,
            masks: worker.masks.and(hidden.iter().map(String::as_str)),
            own_box: None,
            clean_base,
            verified,
            integrity,
            logs,
            wanted: scenario.verifier.logs.clone(),
            steps: None,
        })
    }

    /// The image of a task, without what installing an agent left.
    async fn clean_base(
        &self,
        organization: OrganizationId,
        scenario: &HarborScenario,
    ) -> Result<Base, ScoringError> {
        let built = self.environment(organization, &scenario.tree, &scenario.environment);
        match built.await.map_err(failed)? {
            Ok((_, image)) => base_of(&image.disk).map_err(failed),
            Err(failure) => Err(ScoringError::Unfit(failure.message)),
        }
    }

    /// What the run of a task run got because of its agent.
    pub(super) async fn profile_of_run(
        &self,
        order: &ScoringOrder,
    ) -> Result<RunProfile, ScoringError> {
        let store = self.inner.fleet.store();
        let task_run = store.task_run(order.task_run).await.map_err(failed)?;
        let Some(run) = task_run.and_then(|found| found.value.run) else {
            return Ok(RunProfile::default());
        };
        let run = store.run(run).await.map_err(failed)?;
        Ok(run.map_or_else(RunProfile::default, |run| run.value.particulars.profile))
    }

    /// A directory for the logs of a verifier, which makes it itself. What an earlier one left goes.
    fn fresh_logs(
        &self,
        order: &ScoringOrder,
        scenario: &HarborScenario,
    ) -> std::io::Result<PathBuf> {
        let logs = self.place_of(order.task_run, scenario).join(LOGS);
        fresh_directory(&logs)?;
        Ok(logs)
    }

    pub(super) fn verifier_id(&self) -> Result<ExecId, ScoringError> {
        let name = self.inner.fleet.store().fresh_id::<DevboxKind>().bare();
        ExecId::new(format!("scoring-{}", name.to_lowercase())).map_err(failed)
    }
}

impl HarborScenario {
    /// What is taken over to a clean box: of a strict verifier also the working directory, of a separate one artifacts only.
    pub(crate) fn taken_over(&self, directory: &str) -> Vec<String> {
        let mut paths = vec!["/logs/artifacts".to_owned()];
        if self.verifier.mode == VerifierMode::Shared {
            paths.push(directory.to_owned());
        }
        let artifacts = self.artifacts.iter().filter(|one| one.is_of_main());
        paths.extend(artifacts.map(|artifact| artifact.source.clone()));
        paths.sort();
        paths.dedup();
        paths.retain(|path| path != "/");
        paths
    }
}

/// Makes way for a directory that a verifier makes itself.
pub(super) fn fresh_directory(logs: &Path) -> std::io::Result<()> {
    if let Some(parent) = logs.parent() {
        fs_err::create_dir_all(parent)?;
    }
    match logs.exists() {
        true => fs_err::remove_dir_all(logs),
        false => Ok(()),
    }
}

/// Takes secrets and what nobody wants out of the logs of a verifier. Its rewards are read by then.
pub(super) fn settle_logs(logs: &Path, masks: &Masks, wanted: &WantedLogs) {
    let settled = mask(logs, masks).and_then(|()| leave_out(logs, wanted, &[JSON_FILE, TEXT_FILE]));
    if let Err(error) = settled {
        tracing::warn!(%error, "the logs of a verifier could not be masked; they are removed");
        if let Err(error) = fs_err::remove_dir_all(logs) {
            tracing::warn!(%error, "the logs of a verifier could not be removed");
        }
    }
}

pub(super) fn named(scorer: Scorer) -> ScoringFunction {
    ScoringFunction {
        name: "reward".to_owned(),
        weight: 1.0,
        scorer,
    }
}

/// What a box stands on.
pub(super) fn base_of(disk: &ImageDisk) -> Result<Base, InvalidName> {
    Ok(match disk {
        ImageDisk::Host => Base::Host,
        ImageDisk::RootFs(name) => Base::RootFs(BaseName::new(name.clone())?),
        ImageDisk::Layer(name) => Base::Layer(LayerId::new(name.clone())?),
    })
}

impl PreparedVerifier {
    /// Where it runs.
    pub(crate) const fn mode(&self) -> Mode {
        mode_of(self.integrity)
    }

    /// The word for where it ran in results; of steps the weakest of their words.
    pub(crate) fn integrity(&self) -> &'static str {
        match (&self.steps, &self.own_box) {
            (Some(steps), _) if !steps.is_verified_again => steps.record.integrity(),
            (_, Some(_)) => "separate",
            (_, None) => self.integrity.as_str(),
        }
    }

    /// What it found, once it was run, also of each step; `scored` is what the judging says of it.
    pub(crate) fn findings(
        &self,
        order: &ScoringOrder,
        scored: Option<&Scored>,
    ) -> Result<Vec<ScorerFinding>, ScoringError> {
        let not_verified = |exception, message: &str| ScoringError::NotVerified {
            exception,
            message: self.masks.apply(message),
        };
        let Some(verified) = self.verified.get() else {
            // The box for it could not be made of what the agent left.
            let why = scored.map_or("the verifier did not run", |scored| &scored.output);
            return Err(not_verified(ExceptionType::AddTestsDirError, why));
        };
        let mut steps = None;
        let mut found = verified.rewards.clone();
        match &self.steps {
            None => settle_logs(&self.logs, &self.masks, &self.wanted),
            Some(outcome) => {
                let mut record = outcome.record.clone();
                if outcome.is_verified_again {
                    found = record.verified_again(verified, &outcome.scenario);
                }
                steps = Some(record.done);
            }
        }
        let rewards = match &found {
            Ok(rewards) => rewards,
            Err(none) => return Err(not_verified(none.exception, &none.message)),
        };
        let criterion = order.task.criteria.first().map(|criterion| criterion.id);
        let criterion = criterion.ok_or_else(|| {
            ScoringError::Unfit("the task has no criterion for its reward".to_owned())
        })?;
        let (score, is_clamped) = clamped(rewards);
        let mut evidence = json!({
            "rewards": rewards,
            "clamped": is_clamped,
            "integrity": match verified.suspicious.is_empty() {
                true => self.integrity(),
                false => "suspicious",
            },
            "suspicious": verified.suspicious,
        });
        let mut of_steps = Vec::new();
        if let (Some(steps), Some(outcome)) = (steps, &self.steps) {
            evidence["steps"] = json!(steps);
            let strategy = outcome.scenario.strategy;
            of_steps = step_findings(&order.task.criteria[1..], strategy, &steps);
        }
        let whole = ScorerFinding {
            criterion,
            score,
            state: ScorerState::Complete,
            not_run: None,
            output: self.masks.apply(&verified.output),
            took: verified.took,
            evidence,
        };
        Ok(std::iter::once(whole).chain(of_steps).collect())
    }
}

/// The score of rewards: from 0 to 1, and whether it had to be made so.
pub(super) fn clamped(rewards: &Rewards) -> (Score, bool) {
    let reward = rewards::score(rewards).unwrap_or(0.0);
    let score = Score::new(reward.clamp(0.0, 1.0)).unwrap_or(Score::ZERO);
    (score, !(0.0..=1.0).contains(&reward))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reward_counts_from_nothing_to_all() {
        let score = |reward: f64| {
            let (score, is_clamped) = clamped(&Rewards::from([("reward".to_owned(), reward)]));
            (score.value(), is_clamped)
        };
        assert_eq!(score(0.25), (0.25, false));
        assert_eq!(score(1.0), (1.0, false));
        assert_eq!(score(-3.0), (0.0, true));
        assert_eq!(score(1e300), (1.0, true));
    }

    #[test]
    fn a_strict_verifier_meets_the_directory_and_the_artifacts_only() {
        let scenario = HarborScenario::default();
        assert_eq!(scenario.taken_over("/app"), ["/app", "/logs/artifacts"]);
        assert_eq!(
            scenario.taken_over("/"),
            ["/logs/artifacts"],
            "never all of the disk"
        );
    }
}
