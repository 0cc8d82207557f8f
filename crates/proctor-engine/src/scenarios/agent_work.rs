//! Agents of jobs at work in devboxes: each is one execution of its box, found again by its name.

use std::{sync::Arc, time::Duration};

use proctor_core::{
    id::kinds::{DevboxId, OrganizationId},
    shell::quoted,
};
use proctor_devbox::Stream;
use proctor_fleet::{Command, Fleet, FleetError, NewCommand, Workplace};

use super::{AgentWork, BoxCommand, WorkEnd, boxes::run_in};

/// How much of what an agent printed is told when it failed.
const LINES: usize = 20;

/// How long looking for a directory may take.
const DIRECTORY_CHECK: Duration = Duration::from_secs(60);

/// Lets an agent work, or waits for one that does already.
pub(super) async fn work(
    fleet: &Fleet,
    organization: OrganizationId,
    devbox: DevboxId,
    work: AgentWork,
) -> Result<WorkEnd, FleetError> {
    let place = fleet.workplace(devbox).await?;
    let known = fleet.command(organization, devbox, work.name).await;
    let command = match known {
        Ok(command) => command,
        Err(FleetError::NotFound { .. }) => {
            if let Some(missing) = missing_directory(fleet, &work, &place).await? {
                return Ok(WorkEnd::NoDirectory(missing));
            }
            begin(fleet, organization, devbox, &work, &place).await?
        }
        Err(error) => return Err(error),
    };
    if !command.completes_within(work.time_limit).await? {
        command.kill().await?;
        return Ok(WorkEnd::OutOfTime);
    }
    if command.is_out_of_memory().await? {
        return Ok(WorkEnd::OutOfMemory);
    }
    Ok(WorkEnd::Exited {
        status: command.completed().await?,
        said: place.masks.apply(&said(&command).await?),
    })
}

/// The directory where the agent is to start, if it is not there: the set-up did not make it, which is not the agent's fault.
async fn missing_directory(
    fleet: &Fleet,
    work: &AgentWork,
    place: &Workplace,
) -> Result<Option<String>, FleetError> {
    let Some(directory) = &work.directory else {
        return Ok(None);
    };
    let path = place.resolve(directory);
    let check = BoxCommand {
        script: format!("test -d {}", quoted(&path)),
        input: String::new(),
        directory: None,
        time_limit: DIRECTORY_CHECK,
    };
    let end = run_in(place, fleet, check).await?;
    // Any other status says nothing about the directory.
    Ok((end.status == 1).then_some(path))
}

async fn begin(
    fleet: &Fleet,
    organization: OrganizationId,
    devbox: DevboxId,
    work: &AgentWork,
    place: &Workplace,
) -> Result<Arc<Command>, FleetError> {
    let new = NewCommand {
        command: work.shell_text(|path| place.resolve(path)),
        shown: Some(work.script.clone()),
        id: Some(work.name),
        shell: None,
        stdin: work.input.is_some(),
        user: work.user.clone(),
        view: work.view.clone(),
    };
    let command = fleet.execute(organization, devbox, new).await?;
    if let Some(input) = &work.input {
        // A command need not read all of its input.
        let _ = command.write_stdin(input.as_bytes()).await;
        let _ = command.close_stdin().await;
    }
    Ok(command)
}

/// The end of what an agent printed: of its complaints, or of anything if it had none.
async fn said(command: &Command) -> Result<String, FleetError> {
    let errors = command.tail(Stream::Stderr, LINES).await?.text;
    if !errors.trim().is_empty() {
        return Ok(errors);
    }
    Ok(command.tail(Stream::Stdout, LINES).await?.text)
}
