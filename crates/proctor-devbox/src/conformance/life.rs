//! The life of boxes: made, found again, suspended, ended.

use std::collections::BTreeSet;

use super::{
    Failed,
    Outcome::Passed,
    Probe, Verdict,
    probe::{ensure, wait_for, within},
};
use crate::{
    Execution,
    error::Error,
    name::{BaseName, BoxId, ExecId, LayerId},
    record::{BoxState, ExitCause},
    spec::{Base, BoxSpec, ExecSpec, Stream},
};

pub(super) async fn a_box_is_made_started_stopped_and_destroyed(probe: &mut Probe) -> Verdict {
    let spec = probe.spec()?;
    let id = spec.id.clone();
    let devbox = probe.backend().create(spec.clone()).await?;
    ensure!(devbox.id() == &id, "the box has another name");
    let record = devbox.record().await?;
    ensure!(
        record.state == BoxState::Stopped && record.spec == spec,
        "{record:?}"
    );
    let early = devbox.exec(ExecSpec::shell(probe.exec_id()?, "true")).await;
    ensure!(
        matches!(early, Err(Error::WrongState { .. })),
        "a program ran in a box that is not up"
    );
    devbox.start().await?;
    devbox.start().await?;
    ensure!(
        devbox.record().await?.state == BoxState::Running,
        "not running after start"
    );
    let execution = probe.launch(&devbox, "sleep 600").await?;
    devbox.stop().await?;
    let exit = within(execution.wait()).await??;
    ensure!(exit.cause == ExitCause::BoxEnded, "{exit:?}");
    ensure!(
        devbox.record().await?.state == BoxState::Stopped,
        "not stopped after stop"
    );
    devbox.stop().await?;
    devbox.destroy().await?;
    devbox.destroy().await?;
    ensure!(
        probe.backend().list().await?.is_empty(),
        "a destroyed box is listed"
    );
    ensure!(devbox.start().await.is_err(), "a destroyed box was started");
    Ok(Passed)
}

pub(super) async fn a_name_is_given_once_and_can_be_given_again(probe: &mut Probe) -> Verdict {
    let spec = probe.spec()?;
    let first = probe.start(spec.clone()).await?;
    let second = probe.backend().create(spec.clone()).await;
    ensure!(
        matches!(second, Err(Error::Exists { .. })),
        "two boxes with one name"
    );
    probe.sh(&first, "echo old > /root/file").await?;
    first.destroy().await?;
    let again = probe.start(spec).await?;
    let seen = probe.sh(&again, "ls /root").await?;
    ensure!(
        seen.stdout.is_empty(),
        "the new box has the old one's files: {seen:?}"
    );
    Ok(Passed)
}

pub(super) async fn what_does_not_exist_is_said_so(probe: &mut Probe) -> Verdict {
    let backend = probe.backend();
    let id = BoxId::new("no-such-box")?;
    ensure!(
        matches!(backend.open(&id).await, Err(Error::NoSuchBox(_))),
        "a box that is not"
    );
    let spec = probe.spec()?;
    let base = Base::RootFs(BaseName::new("no-such-base")?);
    let refused = backend
        .create(BoxSpec {
            base,
            ..spec.clone()
        })
        .await;
    ensure!(
        matches!(refused, Err(Error::NoSuchBase(_))),
        "a base that is not"
    );
    let base = Base::Layer(LayerId::new("no-such-layer")?);
    let refused = backend.create(BoxSpec { base, ..spec }).await;
    ensure!(
        matches!(refused, Err(Error::NoSuchLayer(_))),
        "a layer that is not"
    );
    let devbox = probe.plain().await?;
    let missing = devbox.execution(&ExecId::new("no-such-execution")?).await;
    ensure!(
        matches!(missing, Err(Error::NoSuchExecution(_))),
        "an execution that is not"
    );
    Ok(Passed)
}

/// How much was written when nothing more comes: what was written before may still be on its way for a while.
async fn standing_still(execution: &dyn Execution) -> Option<u64> {
    for _ in 0..100 {
        let before = execution.progress().stdout;
        tokio::time::sleep(std::time::Duration::from_millis(150)).await;
        if execution.progress().stdout == before {
            return Some(before);
        }
    }
    None
}

pub(super) async fn suspended_programs_stand_still_and_go_on(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let execution = probe
        .launch(
            &devbox,
            "n=0; while :; do n=$((n+1)); echo tick $n; sleep 0.01; done",
        )
        .await?;
    wait_for(&execution, "tick 2").await?;
    devbox.suspend().await?;
    devbox.suspend().await?;
    ensure!(
        devbox.record().await?.state == BoxState::Suspended,
        "not suspended"
    );
    let Some(before) = standing_still(execution.as_ref()).await else {
        return Err(Failed("it went on while suspended".to_owned()));
    };
    let refused = devbox.exec(ExecSpec::shell(probe.exec_id()?, "true")).await;
    ensure!(
        matches!(refused, Err(Error::WrongState { .. })),
        "a program ran in a suspended box"
    );
    devbox.resume().await?;
    devbox.resume().await?;
    ensure!(
        devbox.record().await?.state == BoxState::Running,
        "not running after resume"
    );
    within(execution.read_output(Stream::Stdout, before, 100)).await??;
    Ok(Passed)
}

pub(super) async fn a_suspended_box_can_be_destroyed(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let execution = probe.launch(&devbox, "sleep 600").await?;
    devbox.suspend().await?;
    within(devbox.destroy()).await??;
    within(execution.wait()).await??;
    Ok(Passed)
}

pub(super) async fn everything_is_found_again_after_a_restart(probe: &mut Probe) -> Verdict {
    let mut spec = probe.spec()?;
    spec.labels.insert("owner".to_owned(), "me".to_owned());
    let devbox = probe.start(spec.clone()).await?;
    let id = devbox.id().clone();
    let script =
        "n=0; while test $n -lt 400; do n=$((n+1)); echo line $n; sleep 0.005; done; exit 7";
    let execution = probe.launch(&devbox, script).await?;
    let ended = probe.launch(&devbox, "echo done").await?;
    within(ended.wait()).await??;
    wait_for(&execution, "line 3\n").await?;
    let (running_id, ended_id) = (execution.id().clone(), ended.id().clone());
    drop((devbox, execution, ended));
    probe.restart().await?;

    let listed = probe.backend().list().await?;
    ensure!(
        listed.len() == 1 && listed[0].state == BoxState::Running && listed[0].spec == spec,
        "{listed:?}"
    );
    let devbox = probe.backend().open(&id).await?;
    let ran = probe.finish(&devbox.execution(&running_id).await?).await?;
    let expected: String = (1..=400).map(|number| format!("line {number}\n")).collect();
    ensure!(
        ran.exit.code == Some(7) && ran.stdout == expected,
        "output was lost: {:?}",
        ran.exit
    );
    let ran = probe.finish(&devbox.execution(&ended_id).await?).await?;
    ensure!(ran.exit.success() && ran.stdout == "done\n", "{ran:?}");
    Ok(Passed)
}

pub(super) async fn a_sweep_destroys_what_nobody_owns(probe: &mut Probe) -> Verdict {
    let (owned, unowned) = (probe.plain().await?, probe.plain().await?);
    let sweep = probe
        .backend()
        .sweep(&BTreeSet::from([owned.id().clone()]))
        .await?;
    ensure!(sweep.boxes == [unowned.id().clone()], "{sweep:?}");
    let left = probe.backend().list().await?;
    ensure!(
        left.len() == 1 && &left[0].spec.id == owned.id(),
        "{left:?}"
    );
    ensure!(
        probe.sh(&owned, "true").await?.exit.success(),
        "the owned box was harmed"
    );
    let again = probe
        .backend()
        .sweep(&BTreeSet::from([owned.id().clone()]))
        .await?;
    ensure!(again.boxes.is_empty(), "{again:?}");
    Ok(Passed)
}

pub(super) async fn waiting_ends_when_the_box_is_destroyed(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let execution = probe.launch(&devbox, "echo begun; sleep 600").await?;
    wait_for(&execution, "begun").await?;
    let waiting = async { (execution.wait().await, devbox.ended().await) };
    let (waited, destroyed) = within(async { tokio::join!(waiting, devbox.destroy()) }).await?;
    destroyed?;
    ensure!(
        waited.0.is_ok_and(|exit| exit.cause == ExitCause::BoxEnded),
        "the execution says something else"
    );
    Ok(Passed)
}
