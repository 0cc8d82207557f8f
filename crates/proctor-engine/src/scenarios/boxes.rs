//! Where scenarios are done: the devboxes of this server.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use proctor_core::causes::with_causes;
use proctor_core::{
    devbox::{DevboxFailure, DevboxStatus, Initiator, ShutdownReason},
    id::kinds::{DevboxId, DevboxKind, OrganizationId},
};
use proctor_devbox::{ExecId, Stream, User};
use proctor_fleet::{
    DevboxRecord, Fleet, FleetError, NewDevbox, Workplace, blueprints::BlueprintError,
};
use proctor_store::StoreError;
use tokio::io::AsyncReadExt as _;

use super::{
    AgentWork, BoxCommand, BoxEnd, BoxError, BoxLog, BoxOrder, BoxPurpose, Boxes, CommandEnd, Hold,
    LogStream, WorkEnd, agent_work, box_log,
};

/// How long an end is waited for at a time.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How much of what a command prints is kept.
const MOST_OUTPUT: usize = 64 << 10;

/// A box that is in none of these is on its way to one.
const SETTLED: [DevboxStatus; 3] = [
    DevboxStatus::Running,
    DevboxStatus::Shutdown,
    DevboxStatus::Failure,
];

/// Makes boxes that are the devboxes of a fleet.
#[derive(Clone)]
pub struct FleetBoxes {
    fleet: Fleet,
}

impl FleetBoxes {
    /// The devboxes of this fleet.
    pub const fn new(fleet: Fleet) -> Self {
        Self { fleet }
    }
}

#[async_trait]
impl Boxes for FleetBoxes {
    fn machine(&self) -> String {
        self.fleet.machine().to_owned()
    }

    async fn create(&self, order: BoxOrder) -> Result<DevboxId, BoxError> {
        let organization = order.organization;
        let setup = self.fleet.resolve(organization, order.request).await;
        let new = NewDevbox {
            name: Some(order.name).filter(|name| !name.is_empty()),
            metadata: BTreeMap::new(),
            setup: setup.map_err(failed)?,
            initiator: match order.purpose {
                BoxPurpose::World => Initiator::Scenario(order.task_run),
                BoxPurpose::Agent => Initiator::Agent(order.task_run),
            },
            tunnel: None,
        };
        let record = self.fleet.create(organization, new).await;
        record.map(|record| record.id).map_err(failed)
    }

    async fn run(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        command: BoxCommand,
    ) -> Result<CommandEnd, BoxError> {
        let (fleet, limit) = (&self.fleet, command.time_limit);
        let waited = fleet.wait_for(organization, devbox, &SETTLED, limit).await;
        let not_run = |output| Ok(CommandEnd { status: -1, output });
        let Some(record) = waited.map_err(failed)? else {
            return not_run("the devbox took too long to come to be".to_owned());
        };
        if let Some((_, why)) = record.life.failure() {
            return not_run(format!("the devbox failed: {why}"));
        }
        let place = fleet.workplace(devbox).await.map_err(failed)?;
        run_in(&place, fleet, command).await.map_err(box_failed)
    }

    async fn ready(&self, organization: OrganizationId, devbox: DevboxId) -> Result<(), BoxError> {
        loop {
            let waited = self
                .fleet
                .wait_for(organization, devbox, &SETTLED, PATIENCE)
                .await;
            match waited.map_err(failed)?.map(|record| record.status()) {
                Some(DevboxStatus::Running) => return Ok(()),
                Some(_) => return Err(BoxError::Ended),
                // The box goes on without this server; whoever waits is about to end too.
                None if self.fleet.closing().is_cancelled() => {
                    return std::future::pending().await;
                }
                None => {}
            }
        }
    }

    async fn work(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        work: AgentWork,
    ) -> Result<WorkEnd, BoxError> {
        let end = agent_work::work(&self.fleet, organization, devbox, work).await;
        end.map_err(failed)
    }

    async fn read_file(
        &self,
        _: OrganizationId,
        devbox: DevboxId,
        path: &str,
        most: u64,
    ) -> Result<Option<Vec<u8>>, BoxError> {
        let place = self.fleet.workplace(devbox).await.map_err(failed)?;
        let path = place.resolve(path);
        let opened = place.devbox.read_file(&path, &User::Root, Some(most)).await;
        let mut file = match opened {
            Ok(file) => file,
            Err(proctor_devbox::Error::BoxEnded) => return Err(BoxError::Ended),
            Err(_) => return Ok(None),
        };
        let mut bytes = Vec::new();
        let read = file.reader.read_to_end(&mut bytes).await;
        read.map_err(|error| BoxError::Failed(Box::new(error)))?;
        Ok(Some(match place.masks.apply_to_bytes(&bytes) {
            Some(masked) => masked,
            None => bytes,
        }))
    }

    async fn ended(&self, organization: OrganizationId, devbox: DevboxId) -> BoxEnd {
        const OVER: [DevboxStatus; 2] = [DevboxStatus::Shutdown, DevboxStatus::Failure];
        loop {
            let waited = self
                .fleet
                .wait_for(organization, devbox, &OVER, PATIENCE)
                .await;
            match waited {
                Ok(Some(record)) => return end_of(&record),
                Ok(None) => {}
                Err(FleetError::NotFound { .. }) => return BoxEnd::Lost,
                Err(error) => {
                    tracing::warn!(error = %with_causes(&error), %devbox, "a devbox cannot be watched");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
            if self.fleet.closing().is_cancelled() {
                // The box goes on without this server; whoever waits is about to end too.
                return std::future::pending().await;
            }
        }
    }

    async fn shut_down(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
    ) -> Result<(), BoxError> {
        let gone = self.fleet.dismiss(organization, devbox).await;
        gone.map_err(failed)
    }

    async fn hold(&self, _: OrganizationId, devbox: DevboxId) -> Result<Hold, BoxError> {
        let hold = self.fleet.hold(devbox).await.map_err(failed)?;
        Ok(Box::new(hold))
    }

    async fn log(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        log: BoxLog,
    ) -> Result<LogStream, BoxError> {
        self.fleet
            .devbox(organization, devbox)
            .await
            .map_err(failed)?;
        let reading = (self.fleet.clone(), Some(0));
        let parts = stream::unfold(reading, move |(fleet, offset)| async move {
            let offset = offset?;
            match fleet.log_part(devbox, offset).await {
                Ok((entries, end)) => {
                    let text = box_log::text(&entries, log);
                    let next = (end > offset).then_some(end);
                    Some((Ok(text.into()), (fleet, next)))
                }
                Err(error) => Some((Err(std::io::Error::other(error)), (fleet, None))),
            }
        });
        Ok(parts.boxed())
    }
}

/// Runs a command as the user of a box, with the run's environment.
pub(super) async fn run_in(
    place: &Workplace,
    fleet: &Fleet,
    command: BoxCommand,
) -> Result<CommandEnd, proctor_devbox::Error> {
    let name = fleet.store().fresh_id::<DevboxKind>().bare();
    let id = ExecId::new(format!("run-{}", name.to_lowercase()))
        .map_err(|error| proctor_devbox::Error::Invalid(error.to_string()))?;
    let mut spec = place.shell_command(id, &command.script);
    if let Some(directory) = &command.directory {
        spec.cwd = Some(place.resolve(directory));
    }
    spec.stdin = true;
    spec.timeout = Some(command.time_limit);
    spec.output_limit = (MOST_OUTPUT + place.masks.longest()) as u64;
    let execution = place.devbox.exec(spec).await?;
    // A command need not read all of its input.
    let _ = execution.write_stdin(command.input.as_bytes()).await;
    let _ = execution.close_stdin().await;
    let exit = execution.wait().await?;
    let mut output = String::new();
    for stream in [Stream::Stdout, Stream::Stderr] {
        let limit = MOST_OUTPUT + place.masks.longest();
        let chunk = execution.read_output(stream, 0, limit).await?;
        output.push_str(&place.masks.beginning(&chunk.bytes, MOST_OUTPUT));
    }
    execution.forget().await?;
    Ok(CommandEnd {
        status: exit.status(),
        output,
    })
}

fn end_of(record: &DevboxRecord) -> BoxEnd {
    let was_in = |status| {
        let mut transitions = record.life.transitions().iter();
        transitions.any(|transition| transition.status == status)
    };
    match (record.life.failure(), record.life.shutdown_reason()) {
        // Before anybody could work in it: its mounts and launch commands are its author's.
        (Some((_, why)), _) if !was_in(DevboxStatus::Running) => {
            match was_in(DevboxStatus::Initializing) {
                true => BoxEnd::NotSetUp(why.to_owned()),
                false => BoxEnd::NeverReady(why.to_owned()),
            }
        }
        (Some((DevboxFailure::OutOfMemory | DevboxFailure::OutOfDisk, _)), _) => BoxEnd::Exhausted,
        (Some((DevboxFailure::ExecutionFailed | DevboxFailure::HealthCheckFailed, _)), _)
        | (None, None) => BoxEnd::Lost,
        (None, Some(ShutdownReason::ApiShutdown | ShutdownReason::EntrypointExit)) => {
            BoxEnd::ShutDown
        }
        (None, Some(ShutdownReason::KeepAliveTimeout | ShutdownReason::Idle)) => BoxEnd::OutOfTime,
    }
}

fn box_failed(error: proctor_devbox::Error) -> BoxError {
    failed(FleetError::Box(error))
}

/// What a fault of the fleet means for whoever works in a box.
pub(crate) fn failed(error: FleetError) -> BoxError {
    match error {
        FleetError::Box(proctor_devbox::Error::BoxEnded) => BoxError::Ended,
        FleetError::Store(StoreError::Limit(limit)) => BoxError::Limit(limit),
        FleetError::Impossible(_) | FleetError::Invalid(_) => {
            BoxError::Impossible(error.to_string())
        }
        FleetError::Request(problems) => BoxError::Invalid(problems),
        FleetError::Blueprint(BlueprintError::Store(error)) => BoxError::Failed(Box::new(error)),
        FleetError::Blueprint(error) => BoxError::Impossible(error.to_string()),
        FleetError::NotFound { .. } | FleetError::Refused(_) => BoxError::Ended,
        other => BoxError::Failed(Box::new(other)),
    }
}
