//! A Harbor task as a scenario: all that its trials need to know stands in the frozen definition, in its one criterion.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    definition::{Check, Criterion, Requirements, Seconds, Task, World},
    devbox::{BaseRequest, DevboxDefinition, LaunchRequest},
    document::Document,
    id::kinds::{CriterionId, TaskId},
    scorer::ScorerDefinition,
    scoring::Weight,
};
use proctor_harbor::{
    job::{SharedVerifier, Where},
    steps::RewardStrategy,
    task::{Artifact, CollectHook, Healthcheck, McpServer, NetworkPolicy, VerifierMode},
    timeouts::duration,
};
use proctor_images::compose::{Condition, NamedVolume};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{
    environment::EnvironmentPlan, sidecars::SidecarPlan, steps::StepPlan, variables::Variables,
};

/// The word by which the criterion of a Harbor task names its kind.
const KIND: &str = "harbor_verifier";
/// The same of the criterion of a step.
const STEP_KIND: &str = "harbor_step";
/// What the criterion is called.
const LABEL: &str = "reward";
/// How long freezing the disk and reading the rewards may take, besides the verifier itself.
const AROUND_VERIFIER: Duration = Duration::from_secs(600);

/// A Harbor task as its trials see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HarborScenario {
    /// The word by which the criterion names its kind.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// The digest of the task's directory, as it is kept.
    pub(crate) tree: String,
    /// Harbor's own digest of the task.
    pub(crate) digest: String,
    /// Where the task came from, as the job file says it.
    pub(crate) from: String,
    /// The repository that it came from, with its commit; none if it came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<Where>,
    /// The data set that it is from, if anybody said.
    pub(crate) source: Option<String>,
    /// The box.
    pub(crate) environment: EnvironmentPlan,
    /// Environment variables of everything in the box.
    pub(crate) variables: Variables,
    /// What the box may reach.
    pub(crate) network: NetworkPolicy,
    /// How the box says that it is ready.
    pub(crate) healthcheck: Option<Healthcheck>,
    /// The agent's part.
    pub(crate) agent: AgentPlan,
    /// The reference solution.
    pub(crate) solution: SolutionPlan,
    /// The verifier's part.
    pub(crate) verifier: VerifierPlan,
    /// What is taken out of the box.
    pub(crate) artifacts: Vec<Artifact>,
    /// What notes the state of things when the agent is done.
    pub(crate) collect: Vec<CollectHook>,
    /// Servers of tools for the agent.
    pub(crate) mcp_servers: Vec<McpServer>,
    /// Where the agent finds skills.
    pub(crate) skills_dir: Option<String>,
    /// The steps, in order; none if the task is done at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<StepPlan>,
    /// How the rewards of steps become those of the trial.
    #[serde(default)]
    pub(crate) strategy: RewardStrategy,
    /// Services beside its box, in the order in which they start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sidecars: Vec<SidecarPlan>,
    /// The services that its agent waits for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) waits_for: BTreeMap<String, Condition>,
    /// Directories that its box shares with services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) volumes: Vec<NamedVolume>,
    /// Whether the disk of every trial is kept, so that it can be verified again.
    #[serde(default)]
    pub(crate) keeps_disk: bool,
    /// The step that is being done.
    #[serde(skip)]
    pub(crate) step: Option<String>,
}

/// The agent's part of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentPlan {
    /// How long it may take, in seconds, before the job's rules.
    pub(crate) timeout: Option<f64>,
    /// Whom it runs as, by name or number.
    pub(crate) user: Option<String>,
    /// What may be reached while it works, if that is not what the box may reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<NetworkPolicy>,
}

/// The reference solution of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SolutionPlan {
    /// Whether there is one.
    pub(crate) is_there: bool,
    /// Its environment variables.
    pub(crate) variables: Variables,
    /// Whether it is in the directory of a step.
    #[serde(default)]
    pub(crate) is_of_step: bool,
}

/// The verifier's part of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct VerifierPlan {
    /// How long it may take, in seconds, by the task and the job.
    pub(crate) seconds: f64,
    /// Its environment variables.
    pub(crate) variables: Variables,
    /// Whom it runs as, by name or number.
    pub(crate) user: Option<String>,
    /// Where it runs by the task.
    pub(crate) mode: VerifierMode,
    /// Where it runs if it shares the agent's box.
    pub(crate) integrity: SharedVerifier,
    /// The box of a separate verifier, if it is not like the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) environment: Option<EnvironmentPlan>,
    /// Where a separate verifier starts, if its task says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) directory: Option<String>,
    /// Whether the image of a separate verifier brings the tests.
    #[serde(default)]
    pub(crate) has_bundled_tests: bool,
    /// Which of its logs are kept: all without patterns, then without those of the second list.
    #[serde(default)]
    pub(crate) logs: (Vec<String>, Vec<String>),
    /// What may be reached while it works, if that is not what the box may reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<NetworkPolicy>,
    /// Whether it is never run: trials end without a reward.
    #[serde(default)]
    pub(crate) is_disabled: bool,
}

impl HarborScenario {
    /// The Harbor task that a frozen task is, if it is one.
    pub(crate) fn of(task: &Task) -> Option<Self> {
        let criterion = task.criteria.first()?;
        let Check::Scorer(definition) = &criterion.check else {
            return None;
        };
        if definition.kind() != Some(KIND) {
            return None;
        }
        let scenario = Self::deserialize(definition.as_value()).ok()?;
        // It names a directory of the server's: whoever wrote the definition, it must be one that was kept.
        is_digest(&scenario.tree).then_some(scenario)
    }

    /// The frozen task.
    pub(crate) fn into_task(
        mut self,
        name: &str,
        instruction: &str,
        launch: LaunchRequest,
        working_directory: Option<String>,
    ) -> Task {
        KIND.clone_into(&mut self.kind);
        let id = id_of(&[&self.tree, name]);
        // Steps are verified one by one, before the trial is judged.
        let verifying = match self.steps.is_empty() {
            true => duration(self.verifier.seconds),
            false => Duration::ZERO,
        };
        let seconds = verifying.saturating_add(AROUND_VERIFIER);
        let seconds = u32::try_from(seconds.as_secs()).unwrap_or(u32::MAX);
        let parameters = DevboxDefinition {
            base: BaseRequest::NewestBlueprint(self.environment.blueprint.clone()),
            launch: Some(launch),
            working_directory,
        };
        let document = json!(self);
        Task {
            id: TaskId::from_uuid(id),
            name: name.to_owned(),
            timeout: None,
            tags: Vec::new(),
            brief: json!({"problem_statement": instruction}),
            world: World::Devbox {
                parameters: Document::from(parameters),
            },
            entities: Vec::new(),
            clock: Default::default(),
            capture: BTreeMap::new(),
            criteria: self.criteria(name, document),
            reference: match self.solution.is_there {
                true => json!({"harbor": self.digest}),
                false => Value::Null,
            },
            validation: None,
            scoring_timeout: Seconds::new(seconds),
            requires: Requirements::default(),
            metadata: [
                ("proctor.harbor.digest", self.digest.clone()),
                ("proctor.harbor.path", self.from.clone()),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        }
    }
}

impl HarborScenario {
    /// Everything that is built for it: its box, and those of separate verifiers.
    pub(super) fn environments_mut(&mut self) -> Vec<&mut EnvironmentPlan> {
        let of_steps = self.steps.iter_mut().map(|step| &mut step.verifier);
        let verifiers = std::iter::once(&mut self.verifier).chain(of_steps);
        let of_verifiers = verifiers.filter_map(|verifier| verifier.environment.as_mut());
        let of_sidecars = self.sidecars.iter_mut();
        let of_sidecars = of_sidecars.map(|sidecar| &mut sidecar.environment);
        std::iter::once(&mut self.environment)
            .chain(of_verifiers)
            .chain(of_sidecars)
            .collect()
    }

    /// The boxes of separate verifiers.
    pub(crate) fn verifier_environments(&self) -> Vec<&EnvironmentPlan> {
        let of_steps = self.steps.iter().map(|step| &step.verifier);
        let verifiers = std::iter::once(&self.verifier).chain(of_steps);
        verifiers
            .filter_map(|verifier| verifier.environment.as_ref())
            .collect()
    }

    /// The criterion that holds the scenario, and one for each step. Only the first counts: what a trial is worth follows from the steps that
    /// were executed, which no fixed weights can say.
    fn criteria(&self, task: &str, document: Value) -> Vec<Criterion> {
        let criterion = |label: String, weight: Weight, check: Value| Criterion {
            id: CriterionId::from_uuid(id_of(&[&self.tree, task, &label])),
            label,
            weight,
            axis: None,
            input_entity: None,
            key: None,
            critical: false,
            all: false,
            requires: Vec::new(),
            check: Check::Scorer(ScorerDefinition::from(check)),
        };
        let whole = criterion(LABEL.to_owned(), Weight::default(), document);
        let steps = self.steps.iter().map(|step| {
            let label = format!("step/{}/{LABEL}", step.name);
            let check = json!({"type": STEP_KIND, "step": step.name});
            criterion(label, Weight::NONE, check)
        });
        std::iter::once(whole).chain(steps).collect()
    }
}

impl Default for HarborScenario {
    fn default() -> Self {
        Self {
            kind: KIND.to_owned(),
            tree: String::new(),
            digest: String::new(),
            from: String::new(),
            origin: None,
            source: None,
            environment: EnvironmentPlan::default(),
            variables: Variables::default(),
            network: NetworkPolicy::default(),
            healthcheck: None,
            agent: AgentPlan {
                timeout: None,
                user: None,
                network: None,
            },
            solution: SolutionPlan {
                is_there: false,
                variables: Variables::default(),
                is_of_step: false,
            },
            verifier: VerifierPlan {
                seconds: 0.0,
                variables: Variables::default(),
                user: None,
                mode: VerifierMode::Shared,
                integrity: SharedVerifier::Sealed,
                environment: None,
                directory: None,
                has_bundled_tests: false,
                logs: (Vec::new(), Vec::new()),
                network: None,
                is_disabled: false,
            },
            artifacts: Vec::new(),
            collect: Vec::new(),
            mcp_servers: Vec::new(),
            skills_dir: None,
            steps: Vec::new(),
            strategy: RewardStrategy::default(),
            sidecars: Vec::new(),
            waits_for: BTreeMap::new(),
            volumes: Vec::new(),
            keeps_disk: false,
            step: None,
        }
    }
}

/// The same content is the same task in every job, so that their results can be compared.
fn id_of(parts: &[&str]) -> Uuid {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(tree: &str) -> HarborScenario {
        HarborScenario {
            tree: tree.to_owned(),
            agent: AgentPlan {
                timeout: Some(12.5),
                user: None,
                network: None,
            },
            ..HarborScenario::default()
        }
    }

    fn task(tree: &str) -> Task {
        scenario(tree).into_task("hello", "Do it.", LaunchRequest::default(), None)
    }

    #[test]
    fn what_was_frozen_is_read_again() {
        let tree = "ab".repeat(32);
        let read = HarborScenario::of(&task(&tree));
        assert_eq!(read, Some(scenario(&tree)));
        assert_eq!(task(&tree).id, task(&tree).id);
        assert_ne!(task(&tree).id, task(&"cd".repeat(32)).id);
    }

    #[test]
    fn a_definition_that_names_another_directory_is_not_a_harbor_task() {
        for tree in ["../../etc", "", "/etc"] {
            assert_eq!(HarborScenario::of(&task(tree)), None, "{tree}");
        }
    }
}
