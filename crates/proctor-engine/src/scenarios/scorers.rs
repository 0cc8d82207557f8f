//! Runs the scorers of a task in the devboxes of a fleet.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use proctor_core::{
    definition::{Check, Criterion, World},
    devbox::DevboxStatus,
    id::kinds::{CriterionId, DevboxKind},
    scoring::Score,
};
use proctor_fleet::{Fleet, FleetError, Workplace};
use proctor_scorers::{
    JudgeError, JudgeOrder, Scored, ScoredState, Scorer, ScoringFunction, judge,
    settings::ScoringSettings,
};
use serde_json::Value;

use super::{Judge, ScorerFinding, ScorerState, Scoring, ScoringError, ScoringOrder};

/// Scores in the devboxes of a fleet.
#[derive(Clone)]
pub struct FleetJudge(Fleet);

impl FleetJudge {
    /// Scores in the devboxes of this fleet.
    pub const fn new(fleet: Fleet) -> Self {
        Self(fleet)
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
            .0
            .wait_for(organization, id, &WANTED, order.time_limit)
            .await
            .map_err(failed)?;
        let Some(record) = waited else {
            return Ok(None);
        };
        if record.status() == DevboxStatus::Suspended {
            self.0.resume(organization, id).await.map_err(failed)?;
            let awake = [DevboxStatus::Running, DevboxStatus::Failure];
            let waited = self
                .0
                .wait_for(organization, id, &awake, order.time_limit)
                .await
                .map_err(failed)?;
            if waited.is_none() {
                return Ok(None);
            }
        }
        self.0.workplace(id).await.map(Some).map_err(failed)
    }
}

#[async_trait]
impl Judge for FleetJudge {
    async fn score(&self, order: ScoringOrder) -> Result<Scoring, ScoringError> {
        let settings = ScoringSettings::of_metadata(&order.task.metadata)
            .map_err(|problems| ScoringError::Unfit(problems.to_string()))?;
        let contract = Contract::read(&order.task.criteria);
        let waited = tokio::select! {
            () = order.cancel.cancelled() => return Err(ScoringError::Cancelled),
            waited = self.workplace(&order) => waited?,
        };
        let Some(place) = waited else {
            return Ok(Scoring {
                mode: settings.mode.to_string(),
                findings: Vec::new(),
                timed_out: true,
                layer: None,
            });
        };
        let parameters = match &order.task.world {
            World::Devbox { parameters } => parameters.clone(),
            World::Playground { .. } => Value::Null,
        };
        let name = self.0.store().fresh_id::<DevboxKind>().bare();
        let mut judging = JudgeOrder::new(
            format!("scoring-{}", name.to_lowercase()),
            contract.functions,
        );
        judging.custom = contract.scripts;
        judging.mode = settings.mode;
        judging.artifacts = settings.artifacts;
        judging.prepare = launch_commands(&parameters);
        judging.environment = place.environment.clone();
        judging.working_directory = Some(match parameters["working_directory"].as_str() {
            Some(directory) => place.resolve(directory),
            None => place.home.clone(),
        });
        judging.user = place.user.clone();
        judging.time_limit = order.time_limit;
        judging.cancel = order.cancel.clone();
        let backend = self.0.backend().map_err(failed)?;
        let judged =
            judge(&**backend, &*place.devbox, &judging)
                .await
                .map_err(|error| match error {
                    JudgeError::BoxLost => ScoringError::BoxLost,
                    JudgeError::Cancelled => ScoringError::Cancelled,
                    other => ScoringError::Failed(Box::new(other)),
                })?;
        let mut findings: Vec<ScorerFinding> = contract
            .ids
            .into_iter()
            .zip(judged.results)
            .map(|(criterion, scored)| finding(criterion, scored))
            .collect();
        findings.extend(contract.unreadable);
        Ok(Scoring {
            mode: judged.mode.to_string(),
            findings,
            timed_out: judged.timed_out,
            layer: judged.layer.map(|layer| layer.to_string()),
        })
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
    fn read(criteria: &[Criterion]) -> Self {
        let mut contract = Self::default();
        for criterion in criteria {
            let Check::Scorer(definition) = &criterion.check else {
                continue;
            };
            match Scorer::read(definition) {
                Ok(scorer) => {
                    let script = definition["bash_script"].as_str();
                    if let (Some(kind), Some(script)) = (scorer.custom_type(), script) {
                        let (kind, script) = (kind.to_owned(), script.to_owned());
                        contract.scripts.insert(kind, script);
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
                    output: format!("error: {problems}\n"),
                    took: Duration::ZERO,
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
        output: scored.output,
        took: scored.took,
    }
}

/// The commands that made the box what the agent found.
fn launch_commands(parameters: &Value) -> Vec<String> {
    let commands = parameters["launch_parameters"]["launch_commands"].as_array();
    commands
        .into_iter()
        .flatten()
        .filter_map(|command| command.as_str().map(str::to_owned))
        .collect()
}

fn failed(error: FleetError) -> ScoringError {
    match error {
        FleetError::NotFound { .. } | FleetError::Refused(_) => ScoringError::BoxLost,
        other => ScoringError::Failed(Box::new(other)),
    }
}
