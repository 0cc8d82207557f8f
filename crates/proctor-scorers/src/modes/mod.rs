//! The four modes: where scorers run, and what of the agent's they meet there.

mod artifacts;
mod runner;
mod transfer;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proctor_core::causes::with_causes;
use proctor_devbox::{Backend, Base, BoxSpec, Devbox, ExecSpec, LayerId, User};

pub(crate) use self::artifacts::artifacts;
use crate::{
    bench::{Bench, Names},
    error::JudgeError,
    judge::Judging,
    order::JudgeOrder,
};

/// What the boxes of a judging are for; part of their names.
pub(crate) const ROLES: [&str; 2] = [DISK, CLEAN];
/// The box on the agent's disk.
const DISK: &str = "disk";
/// The box on the clean base.
const CLEAN: &str = "artifacts";

/// A box that scorers run in, and as whom.
pub(crate) struct Place<'a> {
    devbox: Held<'a>,
    user: User,
    working_directory: Option<String>,
    environment: BTreeMap<String, String>,
    guards_pipe: bool,
    /// What the box is shown for as long as scorers run in it.
    _runner: Option<runner::Runner>,
}

enum Held<'a> {
    Agents(&'a dyn Devbox),
    Ours(Arc<dyn Devbox>),
}

impl<'a> Place<'a> {
    /// The agent's own box.
    pub(crate) fn of_the_agent(devbox: &'a dyn Devbox, order: &JudgeOrder) -> Self {
        Self {
            devbox: Held::Agents(devbox),
            user: order.user.clone(),
            working_directory: order.working_directory.clone(),
            environment: order.environment.clone(),
            guards_pipe: false,
            _runner: None,
        }
    }

    /// A box that was made for scoring.
    fn in_ours(devbox: Arc<dyn Devbox>, order: &JudgeOrder) -> Place<'static> {
        Place {
            devbox: Held::Ours(devbox),
            user: order.user.clone(),
            working_directory: order.working_directory.clone(),
            environment: order.environment.clone(),
            guards_pipe: false,
            _runner: None,
        }
    }

    fn devbox(&self) -> &dyn Devbox {
        match &self.devbox {
            Held::Agents(devbox) => *devbox,
            Held::Ours(devbox) => devbox.as_ref(),
        }
    }

    /// The place for one scorer that may take `limit`.
    pub(crate) fn bench<'b>(
        &'b self,
        names: &'b Names,
        custom: &'b BTreeMap<String, String>,
        limit: Duration,
    ) -> Bench<'b> {
        Bench {
            devbox: self.devbox(),
            names,
            user: self.user.clone(),
            working_directory: self.working_directory.clone(),
            environment: self.environment.clone(),
            custom,
            limit,
            guards_pipe: self.guards_pipe,
        }
    }
}

/// Ends everything that runs in the agent's box. The box goes on.
pub(crate) async fn silence(judging: &Judging<'_>, devbox: &dyn Devbox) -> Result<(), JudgeError> {
    for id in devbox.executions().await? {
        if let Ok(execution) = devbox.execution(&id).await {
            execution.kill().await?;
        }
    }
    // What an execution left that is forgotten by now. The shell does this without starting anything.
    let mut spec = ExecSpec::new(
        judging.names.of_next_execution(),
        [
            crate::shell::BASH,
            "--noprofile",
            "--norc",
            "-c",
            "kill -KILL -1",
        ],
    );
    spec.cwd = Some("/".to_owned());
    spec.timeout = Some(Duration::from_secs(10));
    match devbox.exec(spec).await {
        Ok(execution) => {
            execution.wait().await?;
        }
        Err(error @ proctor_devbox::Error::CannotRun { .. }) => {
            tracing::debug!(error = %with_causes(&error), "the box has no shell; its executions were ended all the same");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// A fresh box on a snapshot of the agent's disk.
pub(crate) async fn clone(
    judging: &Judging<'_>,
    agent: &BoxSpec,
    layer: &LayerId,
) -> Result<Result<Place<'static>, String>, JudgeError> {
    let devbox = on_the_disk(judging, agent, layer).await?;
    Ok(Ok(Place::in_ours(devbox, judging.order)))
}

/// A box on the agent's disk without any process of the agent's.
async fn on_the_disk(
    judging: &Judging<'_>,
    agent: &BoxSpec,
    layer: &LayerId,
) -> Result<Arc<dyn Devbox>, JudgeError> {
    let spec = BoxSpec {
        id: judging.names.of_box(DISK),
        base: Base::Layer(layer.clone()),
        limits: judging.order.limits.unwrap_or(agent.limits),
        labels: judging.labels(),
        // They go with the agent's own box.
        volumes: Vec::new(),
        ..agent.clone()
    };
    started(judging.backend, spec).await
}

async fn started(backend: &dyn Backend, spec: BoxSpec) -> Result<Arc<dyn Devbox>, JudgeError> {
    let devbox = backend.create(spec).await?;
    devbox.start().await?;
    Ok(devbox)
}
