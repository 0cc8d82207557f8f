//! The verifiers of a task with several steps: each step is verified before the next one begins, in the agent's box, on its disk or in a clean
//! box, and the trial is worth what the steps that were executed are.

use std::time::Duration;

use proctor_core::{definition::Criterion, id::kinds::DevboxKind, scoring::Score};
use proctor_fleet::{FleetError, Workplace};
use proctor_harbor::{
    exceptions::ExceptionType, job::SharedVerifier, results::StepRecord, rewards::NoRewards,
    steps::RewardStrategy, task::VerifierMode, timeouts::duration,
};
use proctor_scorers::{
    JudgeError, JudgeOrder, Mode, judge,
    verifier::{self, Verification, VerifierOrder},
};
use serde_json::json;

use super::{
    HarborScenario, HarborWorkshop,
    collect::WantedLogs,
    phases::user_named,
    steps::StepsRecord,
    verifier::{
        BoxUser, LOGS, PreparedVerifier, clamped, failed, fresh_directory, mode_of, named,
        settle_logs,
    },
};
use crate::scenarios::{ScorerFinding, ScorerState, ScoringError, ScoringOrder, verify_instead};

/// How the names of judgings begin.
const SCORING: &str = "scoring-";
/// How long making a clean box and taking files over may take, besides the verifier itself.
const AROUND_VERIFIER: Duration = Duration::from_secs(600);
/// The words for where a verifier ran, the weakest first.
const WORDS: [&str; 4] = ["sealed", "clone", "separate", "strict"];

/// What came of the steps of a trial.
pub(super) struct StepsOutcome {
    pub(super) record: StepsRecord,
    pub(super) scenario: HarborScenario,
    /// Whether the last step is verified again.
    pub(super) is_verified_again: bool,
}

impl HarborWorkshop {
    /// The verifier of a task with steps. They were verified one by one, unless the disk of the trial is verified again: then the last
    /// step is.
    pub(super) async fn steps_verifier(
        &self,
        order: &ScoringOrder,
        scenario: &HarborScenario,
        worker: BoxUser<'_>,
        is_kept: bool,
    ) -> Result<PreparedVerifier, ScoringError> {
        let record = self.steps_record(order.task_run).map_err(failed)?;
        let last = scenario.for_step(record.done.len().saturating_sub(1));
        let logs = self.place_of(order.task_run, &last).join(LOGS);
        let mut prepared = match (is_kept, last.verifier.mode) {
            (true, VerifierMode::Separate) => {
                Box::pin(self.separate_verifier(order, &last, worker)).await?
            }
            (true, VerifierMode::Shared) => {
                Box::pin(self.shared_verifier(order, &last, worker, true)).await?
            }
            (false, _) => {
                let (scorer, verified) = verifier::recorded(record.verification(scenario));
                PreparedVerifier {
                    function: named(scorer),
                    directory: worker.home.to_owned(),
                    masks: worker.masks.clone(),
                    own_box: None,
                    clean_base: None,
                    verified,
                    integrity: SharedVerifier::Sealed,
                    logs,
                    wanted: WantedLogs::default(),
                    steps: None,
                }
            }
        };
        prepared.steps = Some(StepsOutcome {
            record,
            scenario: scenario.clone(),
            is_verified_again: is_kept,
        });
        Ok(prepared)
    }

    /// Verifies a step where its task and its job want it verified; with the word for that.
    pub(crate) async fn verify_step(
        &self,
        order: &ScoringOrder,
        scenario: &HarborScenario,
    ) -> Result<(Verification, &'static str), ScoringError> {
        let fleet = &self.inner.fleet;
        let place = fleet.workplace(order.devbox).await;
        let place = place.map_err(|error| match error {
            FleetError::NotFound { .. } | FleetError::Refused(_) => ScoringError::BoxLost,
            other => failed(other),
        })?;
        let plan = &scenario.verifier;
        if (plan.mode, plan.integrity) == (VerifierMode::Shared, SharedVerifier::Sealed) {
            let verified = self.verify_sealed(order, scenario, &place).await?;
            return Ok((verified, SharedVerifier::Sealed.as_str()));
        }
        let worker = BoxUser {
            user: &place.user,
            home: &place.home,
            environment: &place.environment,
            masks: &place.masks,
        };
        let prepared = match plan.mode {
            VerifierMode::Separate => self.separate_verifier(order, scenario, worker).await?,
            VerifierMode::Shared => self.shared_verifier(order, scenario, worker, false).await?,
        };
        let name = fleet.store().fresh_id::<DevboxKind>().bare();
        let mut judging = JudgeOrder {
            shown: Some(fleet.shown()),
            home: Some(place.home.clone()),
            environment: place.environment.clone(),
            user: place.user.clone(),
            time_limit: duration(plan.seconds).saturating_add(AROUND_VERIFIER),
            cancel: order.cancel.clone(),
            ..JudgeOrder::new(format!("{SCORING}{}", name.to_lowercase()), Vec::new())
        };
        verify_instead(&mut judging, &prepared, scenario);
        let backend = fleet.backend().map_err(failed)?;
        let judged = judge(&**backend, &*place.devbox, &judging).await;
        let judged = judged.map_err(|error| match error {
            JudgeError::BoxLost => ScoringError::BoxLost,
            JudgeError::Cancelled => ScoringError::Cancelled,
            other => failed(other),
        })?;
        let word = prepared.integrity();
        let verification = match prepared.verified.get() {
            Some(verified) => verified.clone(),
            // The box for it could not be made of what the agent left.
            None => {
                let said = judged.results.first();
                let said = said.map_or("the verifier did not run", |scored| &scored.output);
                Verification {
                    rewards: Err(NoRewards {
                        exception: ExceptionType::AddTestsDirError,
                        message: said.to_owned(),
                    }),
                    output: String::new(),
                    suspicious: Vec::new(),
                    took: Duration::ZERO,
                }
            }
        };
        settle_logs(&prepared.logs, &prepared.masks, &prepared.wanted);
        Ok((masked(verification, &prepared.masks), word))
    }

    /// Verifies a step in the box of its agent.
    async fn verify_sealed(
        &self,
        order: &ScoringOrder,
        scenario: &HarborScenario,
        place: &Workplace,
    ) -> Result<Verification, ScoringError> {
        let (fleet, organization) = (&self.inner.fleet, order.organization);
        let own = &scenario.verifier.variables;
        let (own, hidden) = own
            .values(fleet.store(), organization)
            .await
            .map_err(failed)?;
        let of_run = self.profile_of_run(order).await?;
        let mut environment = self
            .environment_without_agent(organization, &place.environment, scenario, &of_run)
            .await
            .map_err(failed)?;
        environment.extend(own);
        let tests = self.assembled(&scenario.tree, scenario.test_directories());
        let user = scenario.verifier.user.as_deref().map(user_named);
        let logs = self.place_of(order.task_run, scenario).join(LOGS);
        fresh_directory(&logs).map_err(failed)?;
        let wanted = VerifierOrder {
            id: self.verifier_id()?,
            tests: Some(tests.await.map_err(failed)?),
            logs: logs.clone(),
            user: user.unwrap_or_else(|| place.user.clone()),
            environment,
            working_directory: Some(match order.task.working_directory() {
                Some(directory) => place.resolve(directory),
                None => place.directory.clone(),
            }),
            time_limit: duration(scenario.verifier.seconds),
            entrypoint: None,
            is_fresh: false,
        };
        let verified = verifier::verify(&*place.devbox, &wanted).await;
        let verified = verified.map_err(|error| match error {
            JudgeError::BoxLost => ScoringError::BoxLost,
            other => failed(other),
        })?;
        let masks = place.masks.and(hidden.iter().map(String::as_str));
        settle_logs(&logs, &masks, &scenario.verifier.logs);
        Ok(masked(verified, &masks))
    }
}

/// What a verifier said, without secrets.
fn masked(mut verified: Verification, masks: &proctor_fleet::Masks) -> Verification {
    verified.output = masks.apply(&verified.output);
    if let Err(none) = &mut verified.rewards {
        none.message = masks.apply(&none.message);
    }
    verified
}

impl StepsRecord {
    /// What the verifiers of all steps said together.
    fn verification(&self, scenario: &HarborScenario) -> Verification {
        let exception = self
            .done
            .iter()
            .rev()
            .find_map(|step| step.exception.as_ref());
        let none = || NoRewards {
            exception: exception
                .and_then(|found| ExceptionType::named(&found.name))
                .unwrap_or(ExceptionType::RewardFileNotFoundError),
            message: exception.map_or_else(
                || "no step was verified".to_owned(),
                |found| found.message.clone(),
            ),
        };
        let times = self.done.iter().filter_map(|step| step.verifier);
        Verification {
            rewards: self.rewards(scenario).ok_or_else(none),
            output: self.output.clone(),
            suspicious: self.suspicious.clone(),
            took: times.map(|(from, to)| to.since(from)).sum(),
        }
    }

    /// The weakest word for where a step was verified.
    pub(super) fn integrity(&self) -> &'static str {
        let mut weakest = WORDS.into_iter();
        let weakest = weakest.find(|word| self.integrity.iter().any(|one| one == word));
        weakest.unwrap_or(WORDS[0])
    }

    /// What the trial is worth if the last step is verified again.
    pub(super) fn verified_again(
        &mut self,
        verified: &Verification,
        scenario: &HarborScenario,
    ) -> Result<proctor_harbor::rewards::Rewards, NoRewards> {
        if let Some(last) = self.done.last_mut() {
            last.rewards = verified.rewards.clone().ok();
        }
        self.verification(scenario).rewards
    }
}

/// What came of each step, with what it weighs in the rewards of the trial. A step that was not executed scores nothing.
pub(super) fn step_findings(
    criteria: &[Criterion],
    strategy: RewardStrategy,
    done: &[StepRecord],
) -> Vec<ScorerFinding> {
    let rewarded = done.iter().filter(|step| step.rewards.is_some()).count();
    let finding = |(number, criterion): (usize, &Criterion)| {
        let step = done.get(number);
        let rewards = step.and_then(|step| step.rewards.as_ref());
        let weight = match (strategy, rewards) {
            (_, None) => 0.0,
            (RewardStrategy::Mean, Some(_)) => {
                1.0 / f64::from(u32::try_from(rewarded).unwrap_or(u32::MAX))
            }
            (RewardStrategy::Final, Some(_)) if number + 1 == done.len() => 1.0,
            (RewardStrategy::Final, Some(_)) => 0.0,
        };
        let times = step.and_then(|step| step.verifier);
        ScorerFinding {
            criterion: criterion.id,
            score: rewards.map_or(Score::ZERO, |rewards| clamped(rewards).0),
            state: match rewards {
                Some(_) => ScorerState::Complete,
                None => ScorerState::Error,
            },
            not_run: None,
            output: match (step, step.and_then(|step| step.exception.as_ref())) {
                (_, Some(exception)) => format!("{}: {}", exception.name, exception.message),
                (Some(_), None) => String::new(),
                (None, _) => "the step was not executed".to_owned(),
            },
            took: times.map_or(Duration::ZERO, |(from, to)| to.since(from)),
            evidence: json!({"rewards": rewards, "weight": weight, "executed": step.is_some()}),
        }
    };
    criteria.iter().enumerate().map(finding).collect()
}

impl HarborScenario {
    /// In which box its verifier runs.
    pub(crate) fn mode(&self) -> Mode {
        match (self.steps.is_empty(), self.verifier.mode) {
            // Steps are verified one by one, before the trial is judged.
            (false, _) => Mode::Live,
            (true, VerifierMode::Separate) => Mode::Artifacts,
            (true, VerifierMode::Shared) => mode_of(self.verifier.integrity),
        }
    }
}
