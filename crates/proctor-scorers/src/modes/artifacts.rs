//! [`Mode::Artifacts`](crate::Mode::Artifacts): a clean box, the named paths, and a way to run the agent's code as somebody else.

use std::sync::Arc;

use proctor_devbox::{BoxSpec, Devbox, FileMode, LayerId, Network, Property, User};

use super::{
    CLEAN, Place, on_the_disk, started,
    transfer::{NamedPath, take_over},
};
use crate::{
    bench::{Bench, Ran, Script},
    error::JudgeError,
    judge::Judging,
    shell::{TRUSTED_PATH, quoted},
};

/// Where the program lies that runs the agent's code.
const RUNNER: &str = "/opt/proctor/agent";

/// The variable that scorers find it by.
const RUNNER_VARIABLE: &str = "PROCTOR_AGENT";

/// Who the agent's code runs as if the agent worked as root.
const SOMEBODY: u32 = 1000;

/// Makes the clean box and brings everything there.
pub(crate) async fn artifacts(
    judging: &Judging<'_>,
    agent: &BoxSpec,
    layer: &LayerId,
) -> Result<Result<Place<'static>, String>, JudgeError> {
    let order = judging.order;
    let directory = order.working_directory.as_deref().unwrap_or("/root");
    let mut named = Vec::new();
    for path in &order.artifacts {
        match NamedPath::new(path, directory) {
            Some(path) => named.push(path),
            None => return Ok(Err(format!("'{path}' cannot be an artifact"))),
        }
    }
    let spec = BoxSpec {
        id: judging.names.of_box(CLEAN),
        limits: order.limits.unwrap_or(agent.limits),
        network: Network::None,
        allow_sudo: false,
        require: vec![Property::Isolation, Property::ManyUsers],
        labels: judging.labels(),
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
    write_runner(clean.as_ref(), &order.user).await?;
    let mut place = Place {
        user: User::Root,
        working_directory: Some(directory.to_owned()),
        guards_pipe: true,
        ..Place::in_ours(clean, order)
    };
    place
        .environment
        .insert(RUNNER_VARIABLE.to_owned(), RUNNER.to_owned());
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
    let mut steps = judging.order.prepare.clone();
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

/// Writes the program that runs the agent's code: as another user, with nothing of the scorer's environment, and never with the
/// pipe that the score leaves by.
async fn write_runner(clean: &dyn Devbox, user: &User) -> Result<(), JudgeError> {
    let (uid, gid) = match user {
        User::Ids { uid, gid } if *uid != 0 => (uid.to_string(), gid.to_string()),
        User::Root | User::Ids { .. } => (SOMEBODY.to_string(), SOMEBODY.to_string()),
        User::Named(name) => {
            let name = quoted(name);
            (
                format!("$(/usr/bin/id -u {name})"),
                format!("$(/usr/bin/id -g {name})"),
            )
        }
    };
    let script = format!(
        "#!/bin/sh\n\
         uid={uid} gid={gid}\n\
         [ \"${{uid:-0}}\" -eq 0 ] && uid={SOMEBODY} gid={SOMEBODY}\n\
         [ \"$(/usr/bin/readlink \"/proc/$$/fd/1\")\" = \"$PROCTOR_SCORE_PIPE\" ] && exec 1>&2\n\
         exec /usr/bin/setpriv --reuid=\"$uid\" --regid=\"$gid\" --clear-groups --no-new-privs --inh-caps=-all -- \
         /usr/bin/env -i HOME=/tmp LANG=C.UTF-8 PATH={TRUSTED_PATH} \"$@\"\n"
    );
    let mode = Some(FileMode(0o755));
    clean
        .write_file(RUNNER, &User::Root, mode, &mut script.as_bytes())
        .await?;
    Ok(())
}
