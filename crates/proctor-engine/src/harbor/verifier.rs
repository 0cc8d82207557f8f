//! What an agent's work is worth: the verifier of a Harbor task, run where nothing of the agent's can reach it.

use std::{collections::BTreeMap, path::PathBuf};

use proctor_core::{
    devbox::DevboxBase, id::kinds::DevboxKind, profile::RunProfile, scoring::Score,
};
use proctor_devbox::{ExecId, ExecSpec, User};
use proctor_fleet::Masks;
use proctor_harbor::{
    exceptions::ExceptionType,
    job::SharedVerifier,
    rewards::{self, Rewards},
    timeouts::duration,
};
use proctor_scorers::{
    Mode, Scored, ScoringFunction,
    verifier::{self, Verified, VerifierOrder},
};
use serde_json::json;

use super::{HarborScenario, HarborWorkshop, phases::user_named};
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
    verified: Verified,
    integrity: SharedVerifier,
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

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> ScoringError {
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
        let entrypoint = image.and_then(|image| image.entrypoint_command());
        let entrypoint = entrypoint.map(|argv| -> Result<ExecSpec, ScoringError> {
            let mut spec = ExecSpec::new(self.verifier_id()?, argv);
            spec.env.clone_from(&environment);
            spec.cwd = Some(directory.clone());
            Ok(spec)
        });
        let tests = self
            .assembled(&scenario.tree, vec!["tests".to_owned()])
            .await
            .map_err(failed)?;
        let user = scenario.verifier.user.as_deref().map(user_named);
        let wanted = VerifierOrder {
            id: self.verifier_id()?,
            tests,
            logs: self.fresh_logs(order).map_err(failed)?,
            user: user.unwrap_or_else(|| worker.user.clone()),
            environment,
            working_directory: Some(directory.clone()),
            time_limit: duration(scenario.verifier.seconds),
            entrypoint: entrypoint.transpose()?,
            is_fresh: integrity != SharedVerifier::Sealed,
        };
        let (scorer, verified) = verifier::scorer(wanted);
        Ok(PreparedVerifier {
            function: ScoringFunction {
                name: "reward".to_owned(),
                weight: 1.0,
                scorer,
            },
            directory,
            masks: worker.masks.and(hidden.iter().map(String::as_str)),
            verified,
            integrity,
        })
    }

    /// What the run of a task run got because of its agent.
    async fn profile_of_run(&self, order: &ScoringOrder) -> Result<RunProfile, ScoringError> {
        let store = self.inner.fleet.store();
        let task_run = store.task_run(order.task_run).await.map_err(failed)?;
        let Some(run) = task_run.and_then(|found| found.value.run) else {
            return Ok(RunProfile::default());
        };
        let run = store.run(run).await.map_err(failed)?;
        Ok(run.map_or_else(RunProfile::default, |run| run.value.particulars.profile))
    }

    /// A directory for the logs of a verifier, which makes it itself. What an earlier one left goes.
    fn fresh_logs(&self, order: &ScoringOrder) -> std::io::Result<PathBuf> {
        let trial = self.trial(order.task_run);
        fs_err::create_dir_all(&trial)?;
        let logs = trial.join(LOGS);
        if logs.exists() {
            fs_err::remove_dir_all(&logs)?;
        }
        Ok(logs)
    }

    fn verifier_id(&self) -> Result<ExecId, ScoringError> {
        let name = self.inner.fleet.store().fresh_id::<DevboxKind>().bare();
        ExecId::new(format!("scoring-{}", name.to_lowercase())).map_err(failed)
    }
}

impl HarborScenario {
    /// What is taken over to a clean box of a strict verifier.
    pub(crate) fn taken_over(&self, directory: &str) -> Vec<String> {
        let mut paths = vec![directory.to_owned(), "/logs/artifacts".to_owned()];
        let artifacts = self.artifacts.iter().filter(|one| one.is_of_main());
        paths.extend(artifacts.map(|artifact| artifact.source.clone()));
        paths.sort();
        paths.dedup();
        paths.retain(|path| path != "/");
        paths
    }
}

impl PreparedVerifier {
    /// Where it runs.
    pub(crate) const fn mode(&self) -> Mode {
        mode_of(self.integrity)
    }

    /// The word for where it ran in results.
    pub(crate) const fn integrity(&self) -> &'static str {
        self.integrity.as_str()
    }

    /// What it found, once it was run; `scored` is what the judging says of it.
    pub(crate) fn finding(
        &self,
        order: &ScoringOrder,
        scored: Option<&Scored>,
    ) -> Result<ScorerFinding, ScoringError> {
        let not_verified = |exception, message: &str| ScoringError::NotVerified {
            exception,
            message: self.masks.apply(message),
        };
        let Some(verified) = self.verified.get() else {
            // The box for it could not be made of what the agent left.
            let why = scored.map_or("the verifier did not run", |scored| &scored.output);
            return Err(not_verified(ExceptionType::AddTestsDirError, why));
        };
        let rewards = match &verified.rewards {
            Ok(rewards) => rewards,
            Err(none) => return Err(not_verified(none.exception, &none.message)),
        };
        let criterion = order.task.criteria.first().map(|criterion| criterion.id);
        let criterion = criterion.ok_or_else(|| {
            ScoringError::Unfit("the task has no criterion for its reward".to_owned())
        })?;
        let (score, is_clamped) = clamped(rewards);
        Ok(ScorerFinding {
            criterion,
            score,
            state: ScorerState::Complete,
            not_run: None,
            output: self.masks.apply(&verified.output),
            took: verified.took,
            evidence: json!({
                "rewards": rewards,
                "clamped": is_clamped,
                "integrity": match verified.suspicious.is_empty() {
                    true => self.integrity.as_str(),
                    false => "suspicious",
                },
                "suspicious": verified.suspicious,
            }),
        })
    }
}

/// The score of rewards: from 0 to 1, and whether it had to be made so.
fn clamped(rewards: &Rewards) -> (Score, bool) {
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
