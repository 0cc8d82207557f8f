//! Services beside the main one of a task's compose file: boxes in the network of the trial's box, found by their names, ended with it.
//!
//! All services share one loopback interface, so every name leads to `127.0.0.1`; two services cannot listen on one port.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_core::{
    blueprint::Image,
    id::kinds::{DevboxId, OrganizationId},
    job::Failure,
    task_run::Fault,
};
use proctor_devbox::{
    BoxId, BoxSpec, Devbox, Error as DevboxError, ExecId, ExecSpec, Limits, Network, Stream, User,
    Volume, network::PROXY_ENVIRONMENT,
};
use proctor_fleet::{FleetError, Workplace};
use proctor_harbor::{exceptions::ExceptionType, timeouts::duration};
use proctor_images::compose::{ComposeService, Condition, NamedVolume, ServiceCheck};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;

use super::{
    HarborScenario, HarborWorkshop, Phase,
    environment::EnvironmentPlan,
    phases::{run, user_named},
    variables::Variables,
    verifier::base_of,
};
use crate::error::EngineError;

/// The name of the main service.
pub(super) const MAIN: &str = "main";
/// Where programs look names up.
const HOSTS: &str = "/etc/hosts";
/// The beginning of that file in a box beside the main one.
const LOCALHOST: &str = "127.0.0.1 localhost\n::1 localhost\n";
/// How large that file may be.
const LARGEST_HOSTS: u64 = 1 << 20;
/// The name of what a service runs.
const SERVICE: &str = "service";
/// How many bytes of what a service printed are told when it failed.
const TOLD: usize = 2000;
/// How often a service that shall end is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long a service may take that shall end.
const LONGEST_RUN: Duration = Duration::from_secs(600);

/// A service beside the main one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SidecarPlan {
    /// What it is called.
    pub(crate) name: String,
    /// Other names that it is found by.
    pub(crate) aliases: Vec<String>,
    /// What its box stands on.
    pub(crate) environment: EnvironmentPlan,
    /// Its environment variables.
    pub(crate) variables: Variables,
    /// What it runs instead of its image's command.
    pub(crate) command: Option<Vec<String>>,
    /// What that is given to, instead of its image's entry point.
    pub(crate) entrypoint: Option<Vec<String>>,
    /// Where it starts.
    pub(crate) directory: Option<String>,
    /// How it says that it is healthy.
    pub(crate) healthcheck: Option<ServiceCheck>,
    /// What it waits for.
    pub(crate) waits_for: BTreeMap<String, Condition>,
    /// Directories that it shares.
    pub(crate) volumes: Vec<NamedVolume>,
    /// How many processors it may use.
    pub(crate) cpus: Option<f64>,
    /// How many bytes of memory it may use.
    pub(crate) memory_bytes: Option<u64>,
}

impl SidecarPlan {
    /// The plan of a service, whose box stands on `environment`.
    pub(super) fn of(
        service: ComposeService,
        environment: EnvironmentPlan,
        variables: Variables,
    ) -> Self {
        Self {
            name: service.name,
            aliases: service.aliases,
            environment,
            variables,
            command: service.command,
            entrypoint: service.entrypoint,
            directory: service.working_dir,
            healthcheck: service.healthcheck,
            waits_for: service.depends_on,
            volumes: service.volumes,
            cpus: service.cpus,
            memory_bytes: service.memory_bytes,
        }
    }

    /// What runs in its box.
    fn argv(&self, image: &Image) -> Vec<String> {
        let entrypoint = self.entrypoint.clone();
        // An entry point of one's own goes without the image's command.
        let of_image = || match self.entrypoint {
            Some(_) => Vec::new(),
            None => command_of(image),
        };
        let command = self.command.clone().unwrap_or_else(of_image);
        let entrypoint = entrypoint.unwrap_or_else(|| image.entrypoint.clone());
        entrypoint.into_iter().chain(command).collect()
    }
}

/// The command of an image: a list, or a line for a shell.
fn command_of(image: &Image) -> Vec<String> {
    let Some(told) = image.metadata.get("cmd") else {
        return Vec::new();
    };
    serde_json::from_str(told).unwrap_or_else(|_| {
        let shell = ["/bin/sh", "-c"].map(str::to_owned);
        shell.into_iter().chain([told.clone()]).collect()
    })
}

impl HarborScenario {
    /// The line by which every service is found in every box.
    fn hosts_line(&self) -> String {
        let names = self.sidecars.iter();
        let names = names.flat_map(|one| std::iter::once(&one.name).chain(&one.aliases));
        let names: Vec<&str> = std::iter::once(MAIN)
            .chain(names.map(String::as_str))
            .collect();
        format!("127.0.0.1 {}\n", names.join(" "))
    }

    /// Hosts that are never asked for through a proxy.
    pub(super) fn direct_hosts(&self) -> BTreeMap<String, String> {
        let names = self.sidecars.iter();
        let names = names.flat_map(|one| std::iter::once(&one.name).chain(&one.aliases));
        let names: Vec<&str> = names.map(String::as_str).collect();
        let direct = PROXY_ENVIRONMENT
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("no_proxy"));
        direct
            .map(|(name, usual)| {
                let all = format!("{usual},{MAIN},{}", names.join(","));
                ((*name).to_owned(), all)
            })
            .collect()
    }
}

/// The box of a service of a trial.
fn box_of(main: &BoxId, place: usize) -> Result<BoxId, FleetError> {
    BoxId::new(format!("{main}-side-{place}"))
        .map_err(|error| FleetError::Box(DevboxError::Invalid(error.to_string())))
}

impl HarborWorkshop {
    /// What the boxes of services stand on, built; or why a trial has none.
    pub(crate) async fn sidecar_images(
        &self,
        organization: OrganizationId,
        scenario: &HarborScenario,
    ) -> Result<Result<Vec<Image>, Failure>, EngineError> {
        let mut images = Vec::new();
        for sidecar in &scenario.sidecars {
            let built = self.environment(organization, &scenario.tree, &sidecar.environment);
            match built.await? {
                Ok((_, image)) => images.push(image),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        Ok(Ok(images))
    }

    /// Starts all services of a trial, each when what it waits for is there, and waits for what the main one waits for.
    pub(super) async fn start_sidecars(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        scenario: &HarborScenario,
        place: &Workplace,
    ) -> Result<Phase, FleetError> {
        let images = self.sidecar_images(organization, scenario).await;
        let images =
            images.map_err(|error| FleetError::invalid("environment", error.to_string()))?;
        let images = match images {
            Ok(images) => images,
            Err(failure) => return Ok(Phase::Failed(failure)),
        };
        let main = place.devbox.record().await?.spec;
        self.name_services(&*place.devbox, scenario, None).await?;
        let mut started: BTreeMap<&str, (Arc<dyn Devbox>, &SidecarPlan)> = BTreeMap::new();
        for (number, (sidecar, image)) in scenario.sidecars.iter().zip(&images).enumerate() {
            if let Some(phase) = self.wait_for(&sidecar.waits_for, &started, place).await? {
                return Ok(phase);
            }
            let id = box_of(&main.id, number)?;
            let beside = self.sidecar_box(&main, id, sidecar, image).await?;
            self.name_services(&*beside, scenario, Some(LOCALHOST))
                .await?;
            if let Err(why) = self
                .start_service(organization, &*beside, sidecar, image, &main)
                .await?
            {
                tracing::info!(%devbox, service = sidecar.name, why, "a service could not be started");
                return Ok(failed(format!(
                    "the service {} could not be started: {why}",
                    sidecar.name
                )));
            }
            started.insert(&sidecar.name, (beside, sidecar));
        }
        let waited = self.wait_for(&scenario.waits_for, &started, place).await?;
        Ok(waited.unwrap_or(Phase::Done))
    }

    /// The box of a service: the agent's own, or one beside it with root at work there; none if it is not there.
    pub(super) async fn place_of_service(
        &self,
        scenario: &HarborScenario,
        service: &str,
        place: &Workplace,
    ) -> Result<Option<Workplace>, FleetError> {
        if service == MAIN {
            return Ok(Some(place.clone()));
        }
        let mut sidecars = scenario.sidecars.iter();
        let Some(number) = sidecars.position(|one| one.name == service) else {
            return Ok(None);
        };
        let backend = self.inner.fleet.backend()?;
        let id = box_of(place.devbox.id(), number)?;
        let devbox = match backend.open(&id).await {
            Ok(devbox) => devbox,
            Err(DevboxError::NoSuchBox(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(beside(place, devbox)))
    }

    async fn sidecar_box(
        &self,
        main: &BoxSpec,
        id: BoxId,
        sidecar: &SidecarPlan,
        image: &Image,
    ) -> Result<Arc<dyn Devbox>, FleetError> {
        let backend = self.inner.fleet.backend()?;
        let invalid = |error: String| FleetError::Box(DevboxError::Invalid(error));
        let base = base_of(&image.disk).map_err(|error| invalid(error.to_string()))?;
        let halves = sidecar.cpus.map(|cpus| cpus.mul_add(1000.0, 0.5));
        let spec = BoxSpec {
            limits: Limits {
                cpu_millis: halves.map_or(main.limits.cpu_millis, |millis| Some(millis as u32)),
                memory_bytes: sidecar.memory_bytes.or(main.limits.memory_bytes),
                ..main.limits
            },
            joins: Some(main.id.clone()),
            volumes: volumes(&sidecar.volumes),
            labels: main.labels.clone(),
            ..BoxSpec::new(id.clone(), base)
        };
        let devbox = match backend.create(spec).await {
            // An earlier process made it.
            Err(DevboxError::Exists { .. }) => backend.open(&id).await?,
            other => other?,
        };
        devbox.start().await?;
        Ok(devbox)
    }

    /// Writes where services are found into a box.
    async fn name_services(
        &self,
        devbox: &dyn Devbox,
        scenario: &HarborScenario,
        beginning: Option<&str>,
    ) -> Result<(), FleetError> {
        let line = scenario.hosts_line();
        let mut text = match beginning {
            Some(beginning) => beginning.to_owned(),
            None => hosts_of(devbox).await?,
        };
        if text.contains(&line) {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line);
        devbox
            .write_file(HOSTS, &User::Root, None, &mut text.as_bytes())
            .await?;
        Ok(())
    }

    /// Starts what a service runs, unless it runs; or why it cannot be.
    async fn start_service(
        &self,
        organization: OrganizationId,
        devbox: &dyn Devbox,
        sidecar: &SidecarPlan,
        image: &Image,
        main: &BoxSpec,
    ) -> Result<Result<(), String>, FleetError> {
        let argv = sidecar.argv(image);
        if argv.is_empty() {
            return Ok(Err(
                "neither its image nor the compose file says what it runs".to_owned(),
            ));
        }
        let store = self.inner.fleet.store();
        let (own, _) = sidecar.variables.values(store, organization).await?;
        let id = ExecId::new(SERVICE)
            .map_err(|error| FleetError::Box(DevboxError::Invalid(error.to_string())))?;
        let mut spec = ExecSpec::new(id, argv);
        if main.network != Network::None {
            let proxy = PROXY_ENVIRONMENT.iter();
            spec.env = proxy
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
        }
        spec.env.extend(image.env.clone());
        spec.env.extend(own);
        let directory = sidecar.directory.clone();
        spec.cwd = directory.or_else(|| image.working_directory.clone());
        let user = sidecar
            .environment
            .user
            .as_deref()
            .or(image.user.as_deref());
        spec.user = user.map_or(User::Root, user_named);
        match devbox.exec(spec).await {
            Ok(_) => Ok(Ok(())),
            Err(DevboxError::CannotRun { program, why }) => Ok(Err(format!("{program}: {why}"))),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until services are as they are waited for; how the trial ended, if one never is.
    async fn wait_for(
        &self,
        waits: &BTreeMap<String, Condition>,
        started: &BTreeMap<&str, (Arc<dyn Devbox>, &SidecarPlan)>,
        place: &Workplace,
    ) -> Result<Option<Phase>, FleetError> {
        for (name, condition) in waits {
            let Some((devbox, sidecar)) = started.get(name.as_str()) else {
                continue;
            };
            let failure = match condition {
                Condition::ServiceStarted => None,
                Condition::ServiceHealthy => match &sidecar.healthcheck {
                    Some(check) => self.unhealthy(devbox, sidecar, check, place).await?,
                    None => None,
                },
                Condition::ServiceCompletedSuccessfully => unfinished(&**devbox).await?,
            };
            if let Some(why) = failure {
                return Ok(Some(failed(format!("the service {name} {why}"))));
            }
        }
        Ok(None)
    }

    /// Why a service is not healthy, if it never is.
    async fn unhealthy(
        &self,
        devbox: &Arc<dyn Devbox>,
        sidecar: &SidecarPlan,
        check: &ServiceCheck,
        place: &Workplace,
    ) -> Result<Option<String>, FleetError> {
        let beside = beside(place, Arc::clone(devbox));
        let began = Instant::now();
        let mut failures = 0;
        loop {
            let argv = check.command.iter().map(String::as_str);
            let mut spec = beside.program(self.exec_id("health")?, argv);
            spec.env.clone_from(&sidecar.variables.plain);
            spec.timeout = Some(duration(check.timeout));
            let said = match run(&beside, spec).await {
                Ok((exit, _)) if exit.success() => return Ok(None),
                Ok((exit, said)) => format!("status {}: {said}", exit.status()),
                Err(FleetError::Box(DevboxError::CannotRun { program, why })) => {
                    format!("{program}: {why}")
                }
                Err(error) => return Err(error),
            };
            failures += u64::from(began.elapsed() >= duration(check.start_period));
            if failures >= check.retries.max(1) {
                let printed = printed(&**devbox).await;
                return Ok(Some(format!(
                    "was never healthy: {said}; it printed: {printed}"
                )));
            }
            tokio::time::sleep(duration(check.interval)).await;
        }
    }
}

/// A box beside that of a trial, with root at work in it and nothing of its environment.
fn beside(place: &Workplace, devbox: Arc<dyn Devbox>) -> Workplace {
    let mut beside = place.clone();
    beside.devbox = devbox;
    beside.user = User::Root;
    "/root".clone_into(&mut beside.home);
    "/".clone_into(&mut beside.directory);
    beside.environment = BTreeMap::new();
    beside
}

/// The volumes of a box.
pub(super) fn volumes(named: &[NamedVolume]) -> Vec<Volume> {
    let volumes = named.iter().map(|volume| Volume {
        name: volume.name.clone(),
        at: volume.at.clone(),
    });
    volumes.collect()
}

/// What a box knows of names.
async fn hosts_of(devbox: &dyn Devbox) -> Result<String, FleetError> {
    let mut text = String::new();
    match devbox
        .read_file(HOSTS, &User::Root, Some(LARGEST_HOSTS))
        .await
    {
        Ok(mut file) => {
            let read = file.reader.read_to_string(&mut text).await;
            read?;
        }
        Err(error @ DevboxError::BoxEnded) => return Err(error.into()),
        Err(_) => LOCALHOST.clone_into(&mut text),
    }
    Ok(text)
}

/// Why a service that shall end has not, or not well.
async fn unfinished(devbox: &dyn Devbox) -> Result<Option<String>, FleetError> {
    let id = ExecId::new(SERVICE)
        .map_err(|error| FleetError::Box(DevboxError::Invalid(error.to_string())))?;
    let execution = devbox.execution(&id).await?;
    let began = Instant::now();
    while execution.progress().exit.is_none() {
        if began.elapsed() > LONGEST_RUN {
            return Ok(Some("did not end".to_owned()));
        }
        tokio::time::sleep(LOOK).await;
    }
    let exit = execution.wait().await?;
    match exit.success() {
        true => Ok(None),
        false => {
            let printed = printed(devbox).await;
            Ok(Some(format!(
                "ended with status {}: {printed}",
                exit.status()
            )))
        }
    }
}

/// What a service printed, as far as it can be told.
async fn printed(devbox: &dyn Devbox) -> String {
    let Ok(id) = ExecId::new(SERVICE) else {
        return String::new();
    };
    let Ok(execution) = devbox.execution(&id).await else {
        return String::new();
    };
    let mut said = String::new();
    for stream in [Stream::Stdout, Stream::Stderr] {
        let reading = execution.read_output(stream, 0, TOLD);
        if let Ok(Ok(chunk)) = tokio::time::timeout(LOOK, reading).await {
            said.push_str(&String::from_utf8_lossy(&chunk.bytes));
        }
    }
    said.trim().to_owned()
}

fn failed(told: String) -> Phase {
    let failure = Failure::setup(told, Fault::setup());
    Phase::Failed(failure.called(ExceptionType::HealthcheckError.as_str()))
}

#[cfg(test)]
mod tests {
    use proctor_core::blueprint::ImageDisk;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_service_runs_what_its_compose_file_says_or_what_its_image_does() {
        let mut image = Image::on(ImageDisk::Host);
        image.entrypoint = words("entry point");
        image
            .metadata
            .insert("cmd".to_owned(), "[\"serve\", \"all\"]".to_owned());
        let mut service = ComposeService {
            name: "db".to_owned(),
            ..ComposeService::default()
        };
        let argv = |service: &ComposeService, image: &Image| {
            let plan = SidecarPlan::of(
                service.clone(),
                EnvironmentPlan::default(),
                Variables::default(),
            );
            plan.argv(image).join(" ")
        };
        assert_eq!(argv(&service, &image), "entry point serve all");
        service.command = Some(words("other"));
        assert_eq!(argv(&service, &image), "entry point other");
        service.entrypoint = Some(words("mine"));
        assert_eq!(argv(&service, &image), "mine other");
        service.command = None;
        assert_eq!(argv(&service, &image), "mine");
        image
            .metadata
            .insert("cmd".to_owned(), "serve | tee log".to_owned());
        service.entrypoint = None;
        assert_eq!(
            argv(&service, &image),
            "entry point /bin/sh -c serve | tee log"
        );
    }
}
