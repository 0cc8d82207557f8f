//! From a record to a box that can be worked with, and through standing still and back.
//!
//! Everything here may be done again from the start after a crash: a box that is there is used, and executions have names
//! of their own, so no launch command runs twice.

use std::{collections::BTreeMap, sync::Arc};

use proctor_core::causes::with_causes;
use proctor_core::{
    devbox::{DevboxBase, DevboxFailure, DevboxLife, DevboxStatus, Initiator, ShutdownReason},
    id::{Dialect, kinds::TaskRunId},
    time::Timestamp,
};
use proctor_devbox::{BoxRecord, Devbox, Error, ExecId, ExitCause, Stream};
use proctor_store::{OnDisk, devboxes::DevboxRecord};
use secrecy::ExposeSecret as _;

use self::box_plan::{caveats, spec};
use crate::{
    accounts,
    devboxes::box_id,
    error::FleetError,
    executions::Followed,
    fleet::Fleet,
    live::Live,
    logs::{Source, Trace, What},
    masks::Masks,
    mounts::{self, Site},
    network_policies::{self, Reach},
    output,
    workplace::Workplace,
};

mod box_plan;

/// How many lines of what a failed launch command wrote are told.
const TOLD_LINES: usize = 10;

/// Why a devbox could not be launched.
struct NotLaunched {
    failure: DevboxFailure,
    message: String,
}

/// What everything that runs in a devbox has in common.
pub(crate) struct Outfit {
    pub(crate) environment: BTreeMap<String, String>,
    /// Where commands begin, if the devbox's blueprint says it.
    directory: Option<String>,
    pub(crate) masks: Masks,
    secret_variables: String,
}

impl From<FleetError> for NotLaunched {
    fn from(error: FleetError) -> Self {
        let failure = DevboxFailure::ExecutionFailed;
        let message = with_causes(&error).to_string();
        Self { failure, message }
    }
}

impl From<Error> for NotLaunched {
    fn from(error: Error) -> Self {
        FleetError::from(error).into()
    }
}

impl Fleet {
    /// Brings a devbox up in the background.
    pub(crate) fn launch(&self, live: &Arc<Live>) {
        self.in_background(live, |fleet, live| async move {
            let _launching = live.launching.lock().await;
            if let Err(not) = fleet.bring_up(&live).await {
                live.log
                    .note(fleet.now(), Source::Setup, not.message.as_str());
                fleet.fail(&live, not.failure, &not.message).await;
            }
        });
    }

    async fn bring_up(&self, live: &Arc<Live>) -> Result<(), NotLaunched> {
        let record = live.record();
        if record.life.is_over() {
            return Ok(());
        }
        live.log
            .note(self.now(), Source::Setup, beginning(&record.setup.base));
        let devbox = self.make_box(&record).await?;
        devbox.start().await?;
        let known = devbox.record().await?;
        let workplace = self.furnish(&record, Arc::clone(&devbox), &known).await?;
        let mut caveats = caveats(&known, &record.setup);
        caveats.extend(
            self.reach(&record)
                .await?
                .not_offered
                .into_iter()
                .map(|what| {
                    format!("network: {what} cannot be reached from devboxes of this server")
                }),
        );
        for caveat in &caveats {
            live.log
                .note(self.now(), Source::Setup, format!("note: {caveat}"));
        }
        if record.status() == DevboxStatus::Provisioning {
            mounts::end_interrupted(&*devbox).await?;
            self.put_mounts(live, &record, &workplace).await?;
        }
        live.settle(workplace.clone());
        if !self.run_launch_commands(live, &record, &workplace).await? {
            return Ok(());
        }
        self.watch(live, &workplace);
        if let Some(entrypoint) = &record.setup.entrypoint {
            self.run_entrypoint(live, &workplace, entrypoint).await?;
        }
        let now = self.now();
        live.touch(now);
        // A power cut ends every box: what it would undo of this is over by then.
        live.step_when(
            self.store(),
            OnDisk::WithTheNext,
            |life| life.run(now),
            |record| {
                record.deadline = keep_alive_deadline(record, now);
                record.caveats.clone_from(&caveats);
            },
        )
        .await?;
        Ok(())
    }

    /// The box of the devbox, made unless it is there.
    async fn make_box(&self, record: &DevboxRecord) -> Result<Arc<dyn Devbox>, FleetError> {
        let backend = self.backend()?;
        let mut spec = spec(record)?;
        spec.network = self.reach(record).await?.network;
        match backend.create(spec).await {
            Err(Error::Exists { .. }) => Ok(backend.open(&box_id(record.id)).await?),
            other => Ok(other?),
        }
    }

    /// What the devbox may reach: nothing without a policy, but for the world of the agent that works in it.
    async fn reach(&self, record: &DevboxRecord) -> Result<Reach, FleetError> {
        let policy = match record.setup.launch.network_policy {
            Some(id) => self.store().network_policy(record.organization, id).await?,
            None => None,
        };
        let reach = policy.map_or_else(Reach::nothing, |policy| {
            network_policies::reach(&policy.text.egress)
        });
        match record.initiator {
            Initiator::Agent(task_run) => Ok(reach.and_server(self.world_paths(task_run).await?)),
            Initiator::Invocation | Initiator::Scenario(_) => Ok(reach),
        }
    }

    /// The paths of this server at which the agent of a task run finds its world, and its task run.
    async fn world_paths(&self, task_run: TaskRunId) -> Result<Vec<String>, FleetError> {
        let mut paths = vec![
            format!("/v1/task-runs/{}", task_run.wire(Dialect::Verial)),
            format!("/v1/scenarios/runs/{}", task_run.wire(Dialect::Runloop)),
        ];
        if let Some(task_run) = self.store().task_run(task_run).await? {
            let task_run = task_run.value;
            let run = task_run.run.map(|run| run.wire(Dialect::Verial));
            paths.extend(run.map(|run| format!("/v1/benchmark-runs/{run}")));
            let devbox = task_run.devbox.map(|devbox| devbox.wire(Dialect::Runloop));
            paths.extend(devbox.map(|devbox| format!("/v1/devboxes/{devbox}")));
        }
        Ok(paths)
    }

    /// Who works in the box and with what environment.
    pub(crate) async fn furnish(
        &self,
        record: &DevboxRecord,
        devbox: Arc<dyn Devbox>,
        known: &BoxRecord,
    ) -> Result<Workplace, FleetError> {
        let account = accounts::ensure(&*devbox, known, &record.setup).await?;
        let outfit = self.outfit(record, &account.home).await?;
        Ok(Workplace {
            devbox,
            user: account.user,
            directory: outfit.directory.unwrap_or_else(|| account.home.clone()),
            home: account.home,
            environment: outfit.environment,
            masks: outfit.masks,
            secret_variables: outfit.secret_variables,
        })
    }

    /// What somebody at home in `home` has in a devbox, with the values that secrets have now.
    pub(crate) async fn outfit(
        &self,
        record: &DevboxRecord,
        home: &str,
    ) -> Result<Outfit, FleetError> {
        let setup = &record.setup;
        let mut secrets = BTreeMap::new();
        for (variable, name) in &setup.secrets {
            let value = self.store().secret_value(record.organization, name).await?;
            let value = value.ok_or_else(|| {
                FleetError::invalid(
                    format!("secrets.{variable}"),
                    format!("there is no secret named '{name}'"),
                )
            })?;
            secrets.insert(variable.clone(), value.expose_secret().to_owned());
        }
        let masks = Masks::of(secrets.values().map(String::as_str));
        let secret_variables = secrets.keys().cloned().collect::<Vec<_>>().join(" ");
        let mut environment = BTreeMap::from([("HOME".to_owned(), home.to_owned())]);
        let mut directory = None;
        if let DevboxBase::Blueprint { image, .. } = &setup.base {
            environment.extend(image.env.clone());
            directory.clone_from(&image.working_directory);
        }
        environment.extend(setup.environment.clone());
        environment.extend(secrets);
        Ok(Outfit {
            environment,
            directory,
            masks,
            secret_variables,
        })
    }

    async fn put_mounts(
        &self,
        live: &Live,
        record: &DevboxRecord,
        workplace: &Workplace,
    ) -> Result<(), NotLaunched> {
        let site = Site {
            devbox: &*workplace.devbox,
            organization: record.organization,
            user: &workplace.user,
            home: &workplace.home,
            env: &workplace.environment,
        };
        for mount in &live.mounts {
            let Err(error) = self.inner.mounter.apply(site, mount).await else {
                continue;
            };
            if !error.problem.is_of_platform() {
                // The box is there; what fails from here on is whoever's it is that asked for it.
                self.initialize(live).await?;
            }
            let told = workplace.masks.apply(&error.to_string());
            return Err(NotLaunched {
                failure: DevboxFailure::ExecutionFailed,
                message: format!("a mount could not be put into the devbox: {told}"),
            });
        }
        Ok(())
    }

    /// The box is there, and is made what its author wants.
    async fn initialize(&self, live: &Live) -> Result<(), FleetError> {
        let now = self.now();
        let initialize = |life: DevboxLife| life.initialize(now);
        live.step_when(self.store(), OnDisk::WithTheNext, initialize, |_| {})
            .await?;
        Ok(())
    }

    /// Runs the launch commands. `false`: the devbox or the server ends meanwhile.
    async fn run_launch_commands(
        &self,
        live: &Arc<Live>,
        record: &DevboxRecord,
        workplace: &Workplace,
    ) -> Result<bool, NotLaunched> {
        let commands = &record.setup.launch.launch_commands;
        if commands.is_empty() {
            return Ok(true);
        }
        self.initialize(live).await?;
        for (number, command) in commands.iter().enumerate() {
            let name = format!("launch-{number}");
            let ran = self.run_for_setup(live, workplace, &name, command);
            let ended = tokio::select! {
                ended = ran => ended?,
                () = live.ending.cancelled() => return Ok(false),
                () = self.closing().cancelled() => return Ok(false),
            };
            if let Err((cause, said)) = ended {
                let failure = match cause {
                    ExitCause::OutOfMemory => DevboxFailure::OutOfMemory,
                    ExitCause::OutOfDisk => DevboxFailure::OutOfDisk,
                    _ => DevboxFailure::ExecutionFailed,
                };
                let command = workplace.masks.apply(command);
                let message = format!("the launch command '{command}' {said}");
                return Err(NotLaunched { failure, message });
            }
        }
        Ok(true)
    }

    /// Runs a command of the set-up to its end; what ended it and what it said, if it failed.
    pub(crate) async fn run_for_setup(
        &self,
        live: &Arc<Live>,
        workplace: &Workplace,
        name: &str,
        command: &str,
    ) -> Result<Result<(), (ExitCause, String)>, FleetError> {
        let id = ExecId::new(name)
            .map_err(|error| FleetError::invalid("launch_commands", error.to_string()))?;
        let execution = workplace
            .devbox
            .exec(workplace.shell_command(id, command))
            .await?;
        let what = What::Started {
            command: workplace.masks.apply(command),
        };
        live.log.add(&[self.entry(name, None, Source::Setup, what)]);
        let followed = Followed {
            name: name.to_owned(),
            shell: None,
            source: Source::Setup,
            trace: Trace::default(),
            command: None,
        };
        self.follow(live, workplace, Arc::clone(&execution), followed);
        let exit = execution.wait().await?;
        if exit.success() {
            return Ok(Ok(()));
        }
        let said = output::tail(&*execution, Stream::Stderr, TOLD_LINES).await?;
        let said = workplace.masks.apply(said.text.trim());
        let mut told = format!("ended with status {}", exit.status());
        if !said.is_empty() {
            told.push_str(": ");
            told.push_str(&said);
        }
        Ok(Err((exit.cause, told)))
    }

    /// Starts the main program; the devbox ends with it.
    pub(crate) async fn run_entrypoint(
        &self,
        live: &Arc<Live>,
        workplace: &Workplace,
        entrypoint: &str,
    ) -> Result<(), FleetError> {
        const NAME: &str = "entrypoint";
        let id = ExecId::new(NAME).expect("letters only");
        let execution = workplace
            .devbox
            .exec(workplace.shell_command(id, entrypoint))
            .await?;
        let followed = Followed {
            name: NAME.to_owned(),
            shell: None,
            source: Source::Entrypoint,
            trace: Trace::default(),
            command: None,
        };
        self.follow(live, workplace, Arc::clone(&execution), followed);
        self.in_background(live, |fleet, live| async move {
            tokio::select! {
                _ = execution.wait() => {}
                () = live.ending.cancelled() => return,
                () = fleet.closing().cancelled() => return,
            }
            if let Err(error) = fleet.end(&live, ShutdownReason::EntrypointExit).await {
                tracing::error!(devbox = %live.id, error = %with_causes(&error), "the end of a main program could not be noted");
            }
        });
        Ok(())
    }

    /// Notices when the box goes away by itself.
    pub(crate) fn watch(&self, live: &Arc<Live>, workplace: &Workplace) {
        let devbox = Arc::clone(&workplace.devbox);
        self.in_background(live, |fleet, live| async move {
            tokio::select! {
                () = devbox.ended() => {}
                () = live.ending.cancelled() => return,
                () = fleet.closing().cancelled() => return,
            }
            let message = "the box went away by itself";
            fleet
                .fail(&live, DevboxFailure::HealthCheckFailed, message)
                .await;
        });
    }
}

/// What a devbox begins with, in words.
fn beginning(base: &DevboxBase) -> String {
    match base {
        DevboxBase::Host => "the devbox begins with the programs of its host".to_owned(),
        DevboxBase::Snapshot(id) => {
            let id = id.wire(Dialect::Runloop);
            format!("the devbox begins with the disk of the snapshot {id}")
        }
        DevboxBase::Blueprint { blueprint, .. } => {
            let id = blueprint.wire(Dialect::Runloop);
            format!("the devbox begins with the disk of the blueprint {id}")
        }
    }
}

/// When the devbox ends if nobody asks for more time; one that ends when idle has no such clock.
pub(crate) fn keep_alive_deadline(record: &DevboxRecord, now: Timestamp) -> Option<Timestamp> {
    let launch = &record.setup.launch;
    launch
        .after_idle
        .is_none()
        .then(|| now.plus(launch.keep_alive()))
}
