//! The box that a task describes: which blueprint it stands on, and how large it is.
//!
//! A blueprint is named by everything that goes into it, so all trials and jobs with the same environment share one.

use std::{collections::BTreeMap, path::Path, time::Duration};

use proctor_core::{
    blueprint::{Image, Recipe},
    canonical::Digest,
    devbox::{LaunchRequest, Resources, request::SizeRequest},
    id::kinds::{BlueprintId, NetworkPolicyId, OrganizationId},
    job::{Failure, FailureKind},
    task_run::{Cause, Fault},
};
use proctor_harbor::{
    exceptions::ExceptionType,
    job::JobConfig,
    task::Environment,
    timeouts::{PhaseLimit, duration},
};
use proctor_images::compose::{self, ComposeBuild, ComposeService};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    HarborWorkshop,
    builds::{NotBuilt, WantedBuild},
};
use crate::error::EngineError;

/// How the names of all blueprints of tasks begin.
const PREFIX: &str = "harbor-";
/// The most processors, in halves, and the most memory and disk of a box in GiB.
const MOST: Resources = Resources {
    cpu_halves: 32,
    memory_gib: 64,
    disk_gib: 64,
};

/// The blueprint that the box of a task stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EnvironmentPlan {
    /// What the blueprint is called.
    pub(crate) blueprint: String,
    /// Its Dockerfile.
    pub(crate) dockerfile: String,
    /// The directory of the task that its copies come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<String>,
    /// Values of its arguments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) args: BTreeMap<String, String>,
    /// The stage that is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// Whom the box runs programs as, instead of the image's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// How long its build may take, in seconds, by the task and the job.
    pub(crate) build_seconds: u32,
}

/// What a task's directory says of its box.
pub(super) struct Described {
    pub(super) plan: EnvironmentPlan,
    /// What its compose file says, if it has one.
    pub(super) compose: Option<ComposeService>,
    /// The services beside the main one, with what their boxes stand on.
    pub(super) sidecars: Vec<(ComposeService, EnvironmentPlan)>,
}

/// Reads what a directory of a task says of its box: `environment`, or the directory of a separate verifier. An image that is
/// named goes before a Dockerfile, unless it is to be built.
pub(super) fn describe(
    tree: &Path,
    directory: &str,
    image: Option<&str>,
    force_build: bool,
) -> Result<Described, String> {
    let place = tree.join(directory);
    let read = |path: &str| -> Result<Option<String>, String> {
        match fs_err::read_to_string(place.join(path)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    };
    let file = match read("docker-compose.yaml")? {
        None => None,
        Some(text) => {
            let file = compose::read(&text);
            Some(file.map_err(|error| format!("{directory}/docker-compose.yaml: {error}"))?)
        }
    };
    let (compose, beside) = match file {
        Some(file) => (Some(file.main), file.sidecars),
        None => (None, Vec::new()),
    };
    let mut sidecars = Vec::new();
    for service in beside {
        let plan = sidecar(tree, directory, &service)?;
        sidecars.push((service, plan));
    }
    let dockerfile = read("Dockerfile")?;
    let build = compose.as_ref().and_then(|service| service.build.as_ref());
    let can_be_built = dockerfile.is_some() || build.is_some();
    let mut plan = EnvironmentPlan {
        user: compose.as_ref().and_then(|service| service.user.clone()),
        ..EnvironmentPlan::default()
    };
    let from = |image: &str| format!("FROM {image}\n");
    match (image, build, dockerfile) {
        (Some(image), _, _) if !(force_build && can_be_built) => plan.dockerfile = from(image),
        (_, Some(build), _) => plan.build_with(tree, directory, build)?,
        (_, None, Some(text)) => {
            plan.dockerfile = text;
            plan.context = Some(directory.to_owned());
        }
        (_, None, None) => match compose.as_ref().and_then(|service| service.image.as_ref()) {
            Some(image) => plan.dockerfile = from(image),
            None => {
                return Err(format!(
                    "{directory} has neither a Dockerfile nor a docker-compose.yaml, and no docker_image is named"
                ));
            }
        },
    }
    Ok(Described {
        plan,
        compose,
        sidecars,
    })
}

/// What the box of a service beside the main one stands on.
fn sidecar(
    tree: &Path,
    directory: &str,
    service: &ComposeService,
) -> Result<EnvironmentPlan, String> {
    let mut plan = EnvironmentPlan {
        user: service.user.clone(),
        ..EnvironmentPlan::default()
    };
    match (&service.build, &service.image) {
        (Some(build), _) => plan.build_with(tree, directory, build)?,
        (None, image) => {
            let image = image.as_deref().unwrap_or_default();
            plan.dockerfile = format!("FROM {image}\n");
        }
    }
    Ok(plan)
}

/// How long a build may take, in whole seconds, by the task and the job.
pub(super) fn build_seconds(of_task: f64, config: &JobConfig) -> u32 {
    let limit = PhaseLimit {
        task: Some(of_task),
        multiplier: config.multipliers.environment_build,
        ..PhaseLimit::default()
    };
    let limit = duration(limit.seconds(&config.multipliers).unwrap_or_default());
    u32::try_from(limit.as_secs()).unwrap_or(u32::MAX).max(1)
}

/// A path below a directory of the task that does not lead out of the task.
fn inside(directory: &str, path: &str) -> Result<String, String> {
    let mut parts: Vec<&str> = directory.split('/').collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if path.starts_with('/') || parts.is_empty() {
        return Err(format!("'{path}' leads out of the task"));
    }
    Ok(parts.join("/"))
}

impl EnvironmentPlan {
    /// Builds as a compose file says.
    fn build_with(
        &mut self,
        tree: &Path,
        directory: &str,
        build: &ComposeBuild,
    ) -> Result<(), String> {
        let context = inside(directory, &build.context)?;
        self.dockerfile = match &build.dockerfile_inline {
            Some(text) => text.clone(),
            None => {
                let file = build.dockerfile.as_deref().unwrap_or("Dockerfile");
                let file = inside(&context, file)?;
                fs_err::read_to_string(tree.join(&file)).map_err(|error| error.to_string())?
            }
        };
        self.context = Some(context);
        self.args = build.args.clone();
        self.target.clone_from(&build.target);
        Ok(())
    }

    /// Names the blueprint by what goes into it. `context` is the digest of what it copies from.
    pub(super) fn name(&mut self, context: &str, policy: Option<NetworkPolicyId>) {
        let policy = policy.map(|policy| policy.uuid().to_string());
        let parts = json!([self.dockerfile, self.args, self.target, context, policy]);
        let hash = Digest::of(&parts).hex();
        self.blueprint = format!("{PREFIX}{}", &hash[..40]);
    }
}

/// How large a box is, by the task, the job and its compose file; or what is more than a box can have.
pub(super) fn size(
    environment: &Environment,
    overridden: &proctor_harbor::job::EnvironmentRules,
    compose: Option<&ComposeService>,
) -> Result<LaunchRequest, Vec<(&'static str, String)>> {
    let cpus = overridden.cpus.or(environment.cpus);
    let cpus = cpus.or_else(|| compose.and_then(|service| service.cpus));
    let memory = overridden.memory_mb.or(environment.memory_mb);
    let memory = memory.or_else(|| {
        let bytes = compose.and_then(|service| service.memory_bytes);
        bytes.map(|bytes| bytes.div_ceil(1 << 20))
    });
    let storage = overridden.storage_mb.or(environment.storage_mb);
    let gib = |megabytes: u64| u32::try_from(megabytes.div_ceil(1024)).unwrap_or(u32::MAX);
    let mut problems = Vec::new();
    let mut too_much = |field, wanted: String, most: String| {
        problems.push((
            field,
            format!("{wanted} are more than the {most} that a box can have"),
        ));
    };
    if cpus.is_some_and(|cpus| cpus > f64::from(MOST.cpu_halves) / 2.0) {
        let wanted = cpus.unwrap_or_default();
        too_much(
            "cpus",
            wanted.to_string(),
            (MOST.cpu_halves / 2).to_string(),
        );
    }
    for (field, megabytes, most) in [
        ("memory_mb", memory, MOST.memory_gib),
        ("storage_mb", storage, MOST.disk_gib),
    ] {
        if let Some(megabytes) = megabytes.filter(|megabytes| gib(*megabytes) > most) {
            too_much(field, megabytes.to_string(), (most * 1024).to_string());
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if (cpus, memory, storage) == (None, None, None) {
        return Ok(LaunchRequest::default());
    }
    let least = Resources {
        cpu_halves: halves(cpus.unwrap_or(1.0)),
        memory_gib: memory.map_or(2, gib),
        disk_gib: storage.map_or(Resources::DEFAULT_CUSTOM_DISK, gib),
    };
    let fitting = fitting(least);
    Ok(LaunchRequest {
        size: Some(SizeRequest::Custom),
        cpu_halves: Some(fitting.cpu_halves),
        memory_gib: Some(fitting.memory_gib),
        disk_gib: Some(fitting.disk_gib),
        ..LaunchRequest::default()
    })
}

/// Halves of a processor, rounded up.
fn halves(cpus: f64) -> u32 {
    let mut halves = 1;
    while f64::from(halves) / 2.0 < cpus && halves < MOST.cpu_halves {
        halves += 1;
    }
    halves
}

/// The smallest size of box that has at least this.
fn fitting(least: Resources) -> Resources {
    let disk_gib = least.disk_gib.max(2).next_multiple_of(2);
    let sizes = (1..=MOST.cpu_halves).flat_map(|cpu_halves| {
        (1..=MOST.memory_gib).map(move |memory_gib| Resources {
            cpu_halves,
            memory_gib,
            disk_gib,
        })
    });
    let mut enough = sizes.filter(|size| {
        size.cpu_halves >= least.cpu_halves
            && size.memory_gib >= least.memory_gib
            && size.problems().is_empty()
    });
    enough.next().unwrap_or(MOST)
}

impl HarborWorkshop {
    /// What the box of a task begins with, built if it is not there; or why a trial has no box.
    pub(crate) async fn environment(
        &self,
        organization: OrganizationId,
        tree: &str,
        plan: &EnvironmentPlan,
    ) -> Result<Result<(BlueprintId, Image), Failure>, EngineError> {
        let wanted = WantedBuild {
            name: plan.blueprint.clone(),
            limit: Duration::from_secs(u64::from(plan.build_seconds)),
        };
        let recipe = |network_policy| {
            let context = plan.context.as_ref().map(|context| {
                let directory = self.inner.trees.path(tree).join(context);
                directory.to_string_lossy().into_owned()
            });
            Recipe {
                name: plan.blueprint.clone(),
                dockerfile: Some(plan.dockerfile.clone()),
                build_args: plan.args.clone(),
                context_directory: context,
                target: plan.target.clone(),
                network_policy,
                ..Recipe::default()
            }
        };
        let built = self.built(organization, &wanted, recipe).await?;
        Ok(built.map_err(|why| match why {
            NotBuilt::Failed(told) => not_built(&told),
            NotBuilt::TooLong => too_long(plan),
            // What a build needs and is not there is nobody's fault but the server's.
            NotBuilt::Refused(told) => {
                let fault = Fault::new(Cause::Infrastructure, told.as_str());
                let failure = Failure::setup(told, fault);
                failure.called(ExceptionType::SandboxBuildFailedError.as_str())
            }
        }))
    }
}

fn not_built(told: &str) -> Failure {
    let failure = Failure::setup(told.trim_end().to_owned(), Fault::setup());
    failure.called(ExceptionType::SandboxBuildFailedError.as_str())
}

fn too_long(plan: &EnvironmentPlan) -> Failure {
    let seconds = plan.build_seconds;
    let told = format!("the environment took longer than {seconds} seconds to build");
    let fault = Fault::new(Cause::Infrastructure, told.as_str());
    let failure = Failure {
        kind: FailureKind::Setup,
        ..Failure::setup(told, fault)
    };
    failure.called(ExceptionType::EnvironmentStartTimeoutError.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(cpus: Option<f64>, memory_mb: Option<u64>) -> proctor_harbor::job::EnvironmentRules {
        proctor_harbor::job::EnvironmentRules {
            cpus,
            memory_mb,
            ..Default::default()
        }
    }

    #[test]
    fn a_box_has_at_least_what_was_asked_for() {
        let task = Environment::default();
        let size = |cpus, memory| {
            let launch = size(&task, &rules(cpus, memory), None).unwrap();
            (launch.cpu_halves, launch.memory_gib)
        };
        assert_eq!(size(None, None), (None, None));
        assert_eq!(size(Some(1.0), Some(2048)), (Some(2), Some(2)));
        assert_eq!(size(Some(3.0), Some(1000)), (Some(8), Some(8)));
        assert_eq!(size(Some(0.1), Some(1)), (Some(1), Some(1)));
        assert_eq!(size(Some(1.0), Some(16 << 10)), (Some(4), Some(16)));
    }

    #[test]
    fn what_no_box_can_have_is_named_with_both_numbers() {
        let problems = size(
            &Environment::default(),
            &rules(Some(17.0), Some(100_000)),
            None,
        );
        let said: Vec<String> = problems
            .unwrap_err()
            .into_iter()
            .map(|(field, message)| format!("{field}: {message}"))
            .collect();
        assert_eq!(
            said,
            [
                "cpus: 17 are more than the 16 that a box can have",
                "memory_mb: 100000 are more than the 65536 that a box can have",
            ]
        );
    }

    #[test]
    fn an_image_goes_before_a_dockerfile_unless_it_is_to_be_built() {
        let task = tempfile::tempdir().unwrap();
        let environment = task.path().join("environment");
        fs_err::create_dir(&environment).unwrap();
        let dockerfile = |image, force| {
            let described = describe(task.path(), "environment", image, force);
            described.map(|described| described.plan.dockerfile)
        };
        assert!(dockerfile(None, false).is_err());
        assert_eq!(dockerfile(Some("x:1"), true).unwrap(), "FROM x:1\n");
        fs_err::write(environment.join("Dockerfile"), "FROM y\n").unwrap();
        assert_eq!(dockerfile(Some("x:1"), false).unwrap(), "FROM x:1\n");
        assert_eq!(dockerfile(Some("x:1"), true).unwrap(), "FROM y\n");
        let compose = "services:\n  main:\n    build:\n      context: ../..\n";
        fs_err::write(environment.join("docker-compose.yaml"), compose).unwrap();
        let error = dockerfile(None, false).unwrap_err();
        assert!(error.contains("leads out of the directory"), "{error}");
    }
}
