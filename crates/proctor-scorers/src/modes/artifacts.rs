//! [`Mode::Artifacts`](crate::Mode::Artifacts): a clean box, the named paths, and a way to run the agent's code as somebody else.

use std::sync::Arc;

use proctor_core::shell::quoted;
use proctor_devbox::{BoxSpec, Devbox, LayerId, Network, Property, User};

use super::{
    CLEAN, Place, on_the_disk,
    runner::{self, Runner},
    started,
    transfer::{NamedPath, take_over},
};
use crate::{
    bench::{Bench, Ran, Script},
    error::JudgeError,
    judge::Judging,
};

/// The variable by which scorers find the program that runs the agent's code.
const RUNNER_VARIABLE: &str = "PROCTOR_AGENT";

/// Makes the clean box and brings everything there.
pub(crate) async fn artifacts(
    judging: &Judging<'_>,
    agent: &BoxSpec,
    layer: &LayerId,
) -> Result<Result<Place<'static>, String>, JudgeError> {
    let order = judging.order;
    let home = order.home();
    let directory = order.working_directory.as_deref().unwrap_or(&home);
    let mut named = Vec::new();
    for path in &order.artifacts {
        match NamedPath::new(path, directory) {
            Some(path) => named.push(path),
            None => return Ok(Err(format!("'{path}' cannot be an artifact"))),
        }
    }
    let runner = Runner::write(order)?;
    let spec = BoxSpec {
        id: judging.names.of_box(CLEAN),
        base: order
            .clean_base
            .clone()
            .unwrap_or_else(|| agent.base.clone()),
        limits: order.limits.unwrap_or(agent.limits),
        network: Network::None,
        allow_sudo: false,
        require: vec![Property::Isolation, Property::ManyUsers],
        labels: judging.labels(),
        volumes: Vec::new(),
        read_only: agent
            .read_only
            .iter()
            .cloned()
            .chain(runner.shared())
            .collect(),
        ..agent.clone()
    };
    let clean = started(judging.backend, spec).await?;
    if let Err(why) = prepare(judging, &clean, directory, &named).await? {
        return Ok(Err(why));
    }
    let disk = on_the_disk(judging, agent, layer).await?;
    let source = root_bench(judging, disk.as_ref());
    let taken = take_over(&source, clean.as_ref(), &named).await?;
    disk.destroy().await?;
    if let Err(why) = taken {
        return Ok(Err(why));
    }
    runner.bring(clean.as_ref()).await?;
    let mut place = Place {
        user: User::Root,
        working_directory: Some(directory.to_owned()),
        guards_pipe: true,
        _runner: Some(runner),
        ..Place::in_ours(clean, order)
    };
    place
        .environment
        .insert(RUNNER_VARIABLE.to_owned(), runner::PATH.to_owned());
    Ok(Ok(place))
}

fn root_bench<'a>(judging: &'a Judging<'_>, devbox: &'a dyn Devbox) -> Bench<'a> {
    Bench {
        devbox,
        names: &judging.names,
        user: User::Root,
        working_directory: Some("/".to_owned()),
        environment: judging.order.environment.clone(),
        custom: &judging.order.custom,
        limit: judging.left(),
        guards_pipe: false,
    }
}

/// Brings the clean base into the state that the agent found, without what the agent was to make.
async fn prepare(
    judging: &Judging<'_>,
    clean: &Arc<dyn Devbox>,
    directory: &str,
    named: &[NamedPath],
) -> Result<Result<(), String>, JudgeError> {
    let bench = root_bench(judging, clean.as_ref());
    let home = quoted(&judging.order.home());
    let at_home = |command: &String| {
        format!(
            "/bin/mkdir -p -- {home} && cd -- {home} && export HOME={home} || exit 1\n{command}"
        )
    };
    let mut steps: Vec<String> = judging.order.prepare.iter().map(at_home).collect();
    // What the agent removed must not come back from the base.
    let mut last = format!("/bin/mkdir -p -- {}", quoted(directory));
    for path in named {
        last.push_str(&format!("\n/bin/rm -rf -- {}", quoted(path.as_str())));
    }
    last.push_str(&format!("\n/bin/mkdir -p -- {}", quoted(directory)));
    steps.push(last);
    for step in steps {
        let ended = match bench.run(&Script::new(step)).await? {
            Ran::Ended(ended) => ended,
            Ran::NotStarted(why) => return Ok(Err(why)),
        };
        if let Some(why) = ended.interrupted() {
            return Ok(Err(format!("preparing the clean box: {why}")));
        }
        if !ended.exit.success() {
            return Ok(Err(format!(
                "preparing the clean box failed with status {}: {}",
                ended.exit.status(),
                ended.output()
            )));
        }
    }
    Ok(Ok(()))
}
