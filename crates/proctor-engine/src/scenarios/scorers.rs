//! Runs the scorers of a task in the devboxes of a fleet.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use proctor_core::causes::with_causes;
use proctor_core::{
    definition::{Check, Criterion, Task},
    devbox::DevboxStatus,
    id::kinds::{CriterionId, DevboxKind},
    scorer::NotRun,
    scoring::Score,
};
use proctor_devbox::{Error as DevboxError, User};
use proctor_fleet::{Fleet, FleetError, Freezing, KeptDisk, Masks, Workplace};
use proctor_scorers::{
    JudgeError, JudgeOrder, Judgement, Mode, Redaction, Scored, ScoredState, ScorerKinds,
    ScoringFunction, judge, rejudge, settings::ScoringSettings,
};

use serde_json::Value;

use super::{Disk, Judge, ScorerFinding, ScorerState, Scoring, ScoringError, ScoringOrder};
use crate::harbor::{BoxUser, HarborScenario, HarborWorkshop, PreparedVerifier};

/// How the names of all scorings begin.
const SCORING: &str = "scoring-";

/// Scores in the devboxes of a fleet.
#[derive(Clone)]
pub struct FleetJudge {
    fleet: Fleet,
    /// Verifies Harbor tasks.
    harbor: Option<HarborWorkshop>,
}

impl FleetJudge {
    /// Scores in the devboxes of this fleet.
    pub const fn new(fleet: Fleet) -> Self {
        Self {
            fleet,
            harbor: None,
        }
    }

    /// The same for Harbor tasks too.
    #[must_use]
    pub fn with_harbor(self, harbor: HarborWorkshop) -> Self {
        Self {
            harbor: Some(harbor),
            ..self
        }
    }

    /// The box as soon as it can be worked with; none if that takes longer than scoring may.
    async fn workplace(&self, order: &ScoringOrder) -> Result<Option<Workplace>, ScoringError> {
        const WANTED: [DevboxStatus; 4] = [
            DevboxStatus::Running,
            DevboxStatus::Suspended,
            DevboxStatus::Shutdown,
            DevboxStatus::Failure,
        ];
        let (organization, id) = (order.organization, order.devbox);
        let waited = self
            .fleet
            .wait_for(organization, id, &WANTED, order.time_limit)
            .await
            .map_err(failed)?;
        let Some(record) = waited else {
            return Ok(None);
        };
        if record.status() == DevboxStatus::Suspended {
            self.fleet.resume(organization, id).await.map_err(failed)?;
            let awake = [DevboxStatus::Running, DevboxStatus::Failure];
            let waited = self
                .fleet
                .wait_for(organization, id, &awake, order.time_limit)
                .await
                .map_err(failed)?;
            if waited.is_none() {
                return Ok(None);
            }
        }
        self.fleet.workplace(id).await.map(Some).map_err(failed)
    }
}

#[async_trait]
impl Judge for FleetJudge {
    async fn score(&self, order: ScoringOrder) -> Result<Scoring, ScoringError> {
        let plan = Plan::of(&order)?;
        let waited = tokio::select! {
            () = order.cancel.cancelled() => return Err(ScoringError::Cancelled),
            waited = self.workplace(&order) => waited?,
        };
        let Some(place) = waited else {
            return Ok(Scoring {
                mode: plan.settings.mode.to_string(),
                findings: Vec::new(),
                timed_out: true,
                disk: Disk::NotKept("the devbox took too long to come to be".to_owned()),
            });
        };
        let worker = Worker::at(&place, &plan);
        let verifier = self.verifier(&order, &plan, &worker, false).await?;
        let mut judging = self.judging(&order, &plan, worker);
        if let (Some(verifier), Some(scenario)) = (&verifier, &plan.harbor) {
            verify_instead(&mut judging, verifier, scenario);
        }
        let freezing = self.begin_freezing(&order, &plan, &place).await?;
        judging.freeze = freezing.layer.clone();
        let backend = self.fleet.backend().map_err(failed)?;
        let judged = judge(&**backend, &*place.devbox, &judging).await;
        let disk = self.end_freezing(freezing, judged.as_ref().ok()).await;
        let judged = judged.map_err(not_judged)?;
        match verifier {
            None => Ok(plan.scoring(judged, disk)),
            Some(verifier) => verification(&order, &verifier, &judged, disk),
        }
    }

    async fn rescore(&self, order: ScoringOrder) -> Result<Scoring, ScoringError> {
        let plan = Plan::of(&order)?;
        let kept = self.fleet.kept_disk(order.task_run).await;
        let kept = kept.map_err(|error| match error {
            FleetError::Invalid(_) => ScoringError::NotKept(error.to_string()),
            other => failed(other),
        })?;
        let kept = kept.ok_or_else(gone)?;
        let worker = Worker::on(&kept, &plan);
        let verifier = self.verifier(&order, &plan, &worker, true).await?;
        let mut judging = self.judging(&order, &plan, worker);
        if let (Some(verifier), Some(scenario)) = (&verifier, &plan.harbor) {
            verify_instead(&mut judging, verifier, scenario);
        }
        let backend = self.fleet.backend().map_err(failed)?;
        let judged = rejudge(&**backend, &kept.layer, &kept.spec, &judging).await;
        let judged = judged.map_err(|error| match error {
            JudgeError::Devbox(DevboxError::NoSuchLayer(_)) => gone(),
            JudgeError::Devbox(error @ DevboxError::Unsupported { .. }) => {
                ScoringError::Unfit(error.to_string())
            }
            other => not_judged(other),
        })?;
        let disk = Disk::Kept(kept.layer.to_string());
        match verifier {
            None => Ok(plan.scoring(judged, disk)),
            Some(verifier) => verification(&order, &verifier, &judged, disk),
        }
    }
}

impl FleetJudge {
    /// The verifier of a Harbor task, if it is one. `is_kept`: its box is gone, and its disk is judged again.
    async fn verifier(
        &self,
        order: &ScoringOrder,
        plan: &Plan,
        worker: &Worker,
        is_kept: bool,
    ) -> Result<Option<PreparedVerifier>, ScoringError> {
        let Some(scenario) = &plan.harbor else {
            return Ok(None);
        };
        let harbor = self.harbor.as_ref().ok_or_else(no_harbor)?;
        let user = BoxUser {
            user: &worker.user,
            home: &worker.home,
            environment: &worker.environment,
            masks: &worker.masks,
        };
        let verifier = harbor.verifier(order, scenario, user, is_kept).await?;
        Ok(Some(verifier))
    }

    /// Says as what the disk is frozen. What is only for later must not cost a score.
    async fn begin_freezing(
        &self,
        order: &ScoringOrder,
        plan: &Plan,
        place: &Workplace,
    ) -> Result<Freezing, ScoringError> {
        let mode = match &plan.harbor {
            Some(scenario) => scenario.mode(),
            None => plan.settings.mode,
        };
        let needs_it = match mode {
            Mode::Live | Mode::Quiet => false,
            Mode::Clone | Mode::Artifacts => true,
        };
        let (task_run, devbox) = (order.task_run, order.devbox);
        let is_pinned = plan.harbor.as_ref().is_some_and(|one| one.keeps_disk);
        let begun = self
            .fleet
            .begin_freezing(task_run, devbox, place, needs_it, is_pinned);
        match begun.await {
            Ok(freezing) => Ok(freezing),
            Err(error) if needs_it => Err(failed(error)),
            Err(error) => Ok(Freezing {
                layer: None,
                not_kept: Some(error.to_string()),
            }),
        }
    }

    /// Keeps the disk that was frozen, or gives it up. After a fault it is given up, unless the server ends: then the same
    /// scoring goes on with it after the next start.
    async fn end_freezing(&self, freezing: Freezing, judged: Option<&Judgement>) -> Disk {
        let Some(layer) = freezing.layer else {
            return Disk::NotKept(freezing.not_kept.unwrap_or_default());
        };
        let is_frozen = judged.is_some_and(|judged| judged.layer.is_some());
        let not_kept = freezing
            .not_kept
            .or_else(|| judged.and_then(|judged| judged.not_frozen.clone()));
        let settled = match &not_kept {
            None if is_frozen => {
                let bytes = judged.and_then(|judged| judged.layer_bytes);
                self.fleet.keep_frozen(&layer, bytes).await
            }
            None if self.fleet.closing().is_cancelled() => Ok(()),
            _ => self.fleet.drop_frozen(&layer).await,
        };
        match (settled, not_kept) {
            (Ok(()), None) => Disk::Kept(layer.to_string()),
            (Ok(()), Some(why)) => Disk::NotKept(why),
            (Err(error), _) => {
                tracing::warn!(error = %with_causes(&error), %layer, "what became of a frozen disk could not be noted");
                Disk::NotKept(error.to_string())
            }
        }
    }

    fn judging(&self, order: &ScoringOrder, plan: &Plan, worker: Worker) -> JudgeOrder {
        let name = self.fleet.store().fresh_id::<DevboxKind>().bare();
        let name = format!("{SCORING}{}", name.to_lowercase());
        JudgeOrder {
            custom: plan.contract.scripts.clone(),
            mode: plan.settings.mode,
            artifacts: plan.settings.artifacts.clone(),
            prepare: plan.launch_commands.clone(),
            shown: Some(self.fleet.shown()),
            working_directory: Some(worker.directory),
            home: Some(worker.home),
            environment: worker.environment,
            user: worker.user,
            time_limit: order.time_limit,
            forerunners: Some(SCORING.to_owned()),
            redaction: Redaction::by(move |text| worker.masks.apply(text)),
            cancel: order.cancel.clone(),
            ..JudgeOrder::new(name, plan.contract.functions.clone())
        }
    }
}

/// Who the agent was, in a box that is there or on the disk of one that was.
struct Worker {
    user: User,
    home: String,
    /// Where scorers start.
    directory: String,
    environment: BTreeMap<String, String>,
    /// The secrets among its values, which must not show.
    masks: Masks,
}

impl Worker {
    fn at(place: &Workplace, plan: &Plan) -> Self {
        let directory = plan.directory.as_deref().map(|path| place.resolve(path));
        Self {
            user: place.user.clone(),
            directory: directory.unwrap_or_else(|| place.home.clone()),
            home: place.home.clone(),
            environment: place.environment.clone(),
            masks: place.masks.clone(),
        }
    }

    fn on(kept: &KeptDisk, plan: &Plan) -> Self {
        let directory = plan.directory.as_deref().map(|path| kept.resolve(path));
        Self {
            user: kept.user.clone(),
            directory: directory.unwrap_or_else(|| kept.home.clone()),
            home: kept.home.clone(),
            environment: kept.environment.clone(),
            masks: kept.masks.clone(),
        }
    }
}

/// How a task wants to be scored.
struct Plan {
    settings: ScoringSettings,
    contract: Contract,
    /// Where the task says that work is done.
    directory: Option<String>,
    /// The commands that made the box what the agent found.
    launch_commands: Vec<String>,
    /// What the task is, if it is a Harbor task: then no scorers run but its verifier.
    harbor: Option<HarborScenario>,
}

impl Plan {
    fn of(order: &ScoringOrder) -> Result<Self, ScoringError> {
        let harbor = HarborScenario::of(&order.task);
        Ok(Self {
            settings: ScoringSettings::of_metadata(&order.task.metadata)
                .map_err(|problems| ScoringError::Unfit(problems.to_string()))?,
            contract: match harbor {
                Some(_) => Contract::default(),
                None => Contract::read(&order.task.criteria, &order.kinds),
            },
            harbor,
            directory: order.task.working_directory().map(str::to_owned),
            launch_commands: launch_commands(&order.task),
        })
    }

    fn scoring(self, judged: Judgement, disk: Disk) -> Scoring {
        let mut findings: Vec<ScorerFinding> = self
            .contract
            .ids
            .into_iter()
            .zip(judged.results)
            .map(|(criterion, scored)| finding(criterion, scored))
            .collect();
        findings.extend(self.contract.unreadable);
        Scoring {
            mode: judged.mode.to_string(),
            findings,
            timed_out: judged.timed_out,
            disk,
        }
    }
}

/// The scorers of a task.
#[derive(Default)]
struct Contract {
    /// Those that can be run, and whose they are.
    functions: Vec<ScoringFunction>,
    ids: Vec<CriterionId>,
    /// The scripts of custom scorers, by their types.
    scripts: BTreeMap<String, String>,
    /// What is found about those that cannot.
    unreadable: Vec<ScorerFinding>,
}

impl Contract {
    fn read(criteria: &[Criterion], kinds: &ScorerKinds) -> Self {
        let mut contract = Self::default();
        for criterion in criteria {
            let Check::Scorer(definition) = &criterion.check else {
                continue;
            };
            match kinds.read(definition.as_value()) {
                Ok(scorer) => {
                    if let Some(custom) = definition.custom()
                        && let Some(script) = custom.bash_script
                    {
                        contract.scripts.insert(custom.custom_scorer_type, script);
                    }
                    contract.ids.push(criterion.id);
                    contract.functions.push(ScoringFunction {
                        name: criterion.label.clone(),
                        weight: criterion.weight.value(),
                        scorer,
                    });
                }
                Err(problems) => contract.unreadable.push(ScorerFinding {
                    criterion: criterion.id,
                    score: Score::ZERO,
                    state: ScorerState::Error,
                    not_run: Some(NotRun::Anywhere),
                    output: format!("error: {problems}\n"),
                    took: Duration::ZERO,
                    evidence: Value::Null,
                }),
            }
        }
        contract
    }
}

fn finding(criterion: CriterionId, scored: Scored) -> ScorerFinding {
    let (score, state) = match (Score::new(scored.score), scored.state) {
        (Ok(score), ScoredState::Complete) => (score, ScorerState::Complete),
        (_, ScoredState::Complete | ScoredState::Error) => (Score::ZERO, ScorerState::Error),
    };
    ScorerFinding {
        criterion,
        score,
        state,
        not_run: scored.not_run,
        output: scored.output,
        took: scored.took,
        evidence: Value::Null,
    }
}

fn launch_commands(task: &Task) -> Vec<String> {
    let definition = task.devbox().and_then(|devbox| devbox.get().ok());
    let launch = definition.and_then(|definition| definition.launch.as_ref());
    let commands = launch.and_then(|launch| launch.launch_commands.as_ref());
    commands.cloned().unwrap_or_default()
}

/// Has the verifier of a Harbor task run instead of scorers.
pub(crate) fn verify_instead(
    judging: &mut JudgeOrder,
    verifier: &PreparedVerifier,
    scenario: &HarborScenario,
) {
    let masks = verifier.masks.clone();
    judging.redaction = Redaction::by(move |text| masks.apply(text));
    judging.scorers = vec![verifier.function.clone()];
    judging.mode = verifier.mode();
    judging.artifacts = scenario.taken_over(&verifier.directory);
    judging.working_directory = Some(verifier.directory.clone());
    judging.clean_base.clone_from(&verifier.clean_base);
    if let Some(own) = &verifier.own_box {
        judging.clean_base = Some(own.base.clone());
        judging.user = own.user.clone();
        judging.environment = own.environment.clone();
        judging.prepare = Vec::new();
    }
}

/// What the verifier of a Harbor task said.
fn verification(
    order: &ScoringOrder,
    verifier: &PreparedVerifier,
    judged: &Judgement,
    disk: Disk,
) -> Result<Scoring, ScoringError> {
    Ok(Scoring {
        mode: verifier.integrity().to_owned(),
        findings: verifier.findings(order, judged.results.first())?,
        timed_out: false,
        disk,
    })
}

fn no_harbor() -> ScoringError {
    ScoringError::Unfit("this server runs no Harbor tasks".to_owned())
}

fn gone() -> ScoringError {
    let message = "there is no disk to score again: the scenario run was never scored, or its disk was not kept";
    ScoringError::NotKept(message.to_owned())
}

fn not_judged(error: JudgeError) -> ScoringError {
    match error {
        JudgeError::BoxLost => ScoringError::BoxLost,
        JudgeError::Cancelled => ScoringError::Cancelled,
        other => ScoringError::Failed(Box::new(other)),
    }
}

fn failed(error: FleetError) -> ScoringError {
    match error {
        FleetError::NotFound { .. } | FleetError::Refused(_) => ScoringError::BoxLost,
        other => ScoringError::Failed(Box::new(other)),
    }
}
