//! What a Harbor job would do, for whoever asks before it is made.

use proctor_engine::harbor::{HarborPlan, ImageNeed};
use proctor_fleet::blueprints::ImagePresence;
use serde::Serialize;

/// What a Harbor job would do. Nothing was started.
#[derive(Serialize)]
pub(super) struct HarborPlanView {
    name: String,
    agents: Vec<AgentView>,
    tasks: Vec<TaskView>,
    n_attempts: u32,
    /// Agents × tasks × attempts.
    n_trials: u64,
    images: Vec<ImageView>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct AgentView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
}

#[derive(Serialize)]
struct TaskView {
    name: String,
    /// The digest that Harbor writes into its lock files.
    digest: String,
}

/// An image that boxes stand on.
#[derive(Serialize)]
struct ImageView {
    name: String,
    /// here, pull, stand_in or missing.
    presence: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    registry: Option<String>,
}

impl HarborPlanView {
    pub(super) fn of(plan: HarborPlan) -> Self {
        let trials = plan.agents.len() * plan.tasks.len();
        let trials = u64::try_from(trials).unwrap_or(u64::MAX);
        Self {
            n_trials: trials.saturating_mul(plan.attempts.into()),
            n_attempts: plan.attempts,
            name: plan.name,
            agents: plan
                .agents
                .into_iter()
                .map(|agent| AgentView {
                    name: agent.name,
                    model_name: agent.model,
                })
                .collect(),
            tasks: plan
                .tasks
                .into_iter()
                .map(|(name, digest)| TaskView {
                    name,
                    digest: format!("sha256:{digest}"),
                })
                .collect(),
            images: plan.images.into_iter().map(ImageView::of).collect(),
            warnings: plan.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

impl ImageView {
    fn of(need: ImageNeed) -> Self {
        let (presence, registry) = match need.presence {
            ImagePresence::Here => ("here", None),
            ImagePresence::StandIn => ("stand_in", None),
            ImagePresence::WouldBePulled { registry } => ("pull", Some(registry)),
            ImagePresence::Missing { .. } => ("missing", None),
        };
        Self {
            name: need.name,
            presence,
            registry,
        }
    }
}
