//! Programs: output, exits, time-outs, process trees.

use std::{sync::Arc, time::Duration};

use super::{
    Outcome::{self, Passed},
    Probe, Verdict,
    probe::{ensure, read_all, wait_for, within},
};
use crate::{
    backend::Devbox,
    error::Error,
    record::{ExitCause, Property},
    spec::{ExecSpec, Stream},
};

pub(super) async fn a_program_runs_and_its_output_is_exact(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let ran = probe.sh(&devbox, "printf 'one\\ntwo'").await?;
    ensure!(ran.exit.success(), "exit {:?}", ran.exit);
    ensure!(ran.stdout == "one\ntwo" && ran.stderr.is_empty(), "{ran:?}");
    Ok(Passed)
}

pub(super) async fn standard_output_and_error_are_kept_apart(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let ran = probe.sh(&devbox, "echo out; echo err >&2").await?;
    ensure!(ran.stdout == "out\n" && ran.stderr == "err\n", "{ran:?}");
    Ok(Passed)
}

pub(super) async fn exit_codes_and_signals_are_told_apart(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let exit = probe.sh(&devbox, "exit 42").await?.exit;
    ensure!(exit.code == Some(42) && exit.status() == 42, "{exit:?}");
    ensure!(exit.cause == ExitCause::Itself, "{exit:?}");
    let exit = probe.sh(&devbox, "kill -TERM $$").await?.exit;
    ensure!(
        exit.signal == Some(15) && exit.code.is_none() && exit.status() == 143,
        "{exit:?}"
    );
    Ok(Passed)
}

pub(super) async fn a_program_that_is_not_there_is_an_error_and_no_execution(
    probe: &mut Probe,
) -> Verdict {
    let devbox = probe.plain().await?;
    for program in ["/no/such/program", "no-such-program", "/etc/passwd", "/tmp"] {
        let id = probe.exec_id()?;
        let refused = devbox.exec(ExecSpec::new(id.clone(), [program])).await;
        ensure!(
            matches!(&refused, Err(Error::CannotRun { program: named, .. }) if named == program),
            "{program}: {:?}",
            refused.map(|known| known.id().clone())
        );
        ensure!(
            devbox.execution(&id).await.is_err(),
            "{program} became an execution"
        );
    }
    let empty = devbox
        .exec(ExecSpec::new(probe.exec_id()?, Vec::<String>::new()))
        .await;
    ensure!(
        matches!(empty, Err(Error::Invalid(_))),
        "a command without a program"
    );
    let null = devbox
        .exec(ExecSpec::new(probe.exec_id()?, ["/bin/echo", "a\0b"]))
        .await;
    ensure!(
        matches!(null, Err(Error::Invalid(_))),
        "a command with a null byte"
    );
    Ok(Passed)
}

pub(super) async fn output_can_be_read_from_any_offset_and_again(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let execution = probe.launch(&devbox, "printf 0123456789").await?;
    within(execution.wait()).await??;
    for _ in 0..2 {
        let chunk = execution.read_output(Stream::Stdout, 3, 4).await?;
        ensure!(
            &chunk.bytes[..] == b"3456" && chunk.end == 7 && !chunk.last,
            "{chunk:?}"
        );
        let chunk = execution.read_output(Stream::Stdout, 7, 100).await?;
        ensure!(
            &chunk.bytes[..] == b"789" && chunk.end == 10 && chunk.last,
            "{chunk:?}"
        );
        let chunk = execution.read_output(Stream::Stdout, 10, 100).await?;
        ensure!(chunk.bytes.is_empty() && chunk.last, "{chunk:?}");
        let chunk = execution.read_output(Stream::Stdout, 99, 100).await?;
        ensure!(chunk.bytes.is_empty() && chunk.last, "{chunk:?}");
    }
    Ok(Passed)
}

pub(super) async fn output_arrives_while_the_program_runs(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let mut spec = ExecSpec::shell(probe.exec_id()?, "echo ready; read line; echo got $line");
    spec.stdin = true;
    let execution = devbox.exec(spec).await?;
    wait_for(&execution, "ready").await?;
    ensure!(
        execution.progress().exit.is_none(),
        "it ended before its input came"
    );
    execution.write_stdin(b"input\n").await?;
    let ran = probe.finish(&execution).await?;
    ensure!(ran.stdout == "ready\ngot input\n", "{ran:?}");
    Ok(Passed)
}

pub(super) async fn output_beyond_the_limit_is_dropped_and_counted(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let mut spec = ExecSpec::shell(probe.exec_id()?, "printf 0123456789; printf abc >&2");
    spec.output_limit = 4;
    let execution = devbox.exec(spec).await?;
    let ran = probe.finish(&execution).await?;
    let progress = execution.progress();
    ensure!(
        ran.stdout == "0123" && ran.stderr == "abc" && ran.exit.success(),
        "{ran:?}"
    );
    ensure!(
        progress.stdout_dropped == 6 && progress.stderr_dropped == 0,
        "{progress:?}"
    );
    Ok(Passed)
}

pub(super) async fn bytes_that_are_no_text_are_kept_as_they_are(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let execution = probe.launch(&devbox, "printf '\\377\\000\\303'").await?;
    let bytes = read_all(&execution, Stream::Stdout).await?;
    ensure!(bytes == [0xff, 0, 0xc3], "{bytes:?}");
    Ok(Passed)
}

pub(super) async fn a_hundred_megabytes_without_a_newline_are_bounded(
    probe: &mut Probe,
) -> Verdict {
    let devbox = probe.plain().await?;
    let mut spec = ExecSpec::shell(probe.exec_id()?, "head -c 100000000 /dev/zero");
    spec.output_limit = 1 << 20;
    let execution = devbox.exec(spec).await?;
    let exit = within(execution.wait()).await??;
    let progress = execution.progress();
    ensure!(exit.success(), "{exit:?}");
    ensure!(
        progress.stdout == 1 << 20 && progress.stdout_dropped == 100_000_000 - (1 << 20),
        "{progress:?}"
    );
    Ok(Passed)
}

/// Starts something that leaves its session and its parent, and says its number in `/tmp/daemon`.
const DAEMON: &str = "setsid sh -c 'sh -c \"echo \\$\\$ > /tmp/daemon; exec sleep 600\" & exit' </dev/null >/dev/null 2>&1; \
    while ! test -s /tmp/daemon; do sleep 0.01; done; ";

async fn daemon_runs(probe: &Probe, devbox: &Arc<dyn Devbox>) -> Result<bool, super::Failed> {
    // A zombie is not running: it waits to be reaped.
    let script = "p=$(cat /tmp/daemon); test -d /proc/$p && ! grep -q '^State:.Z' /proc/$p/status";
    Ok(probe.sh(devbox, script).await?.exit.success())
}

/// Ending is a signal away, so what must be gone may be there for a moment.
async fn daemon_ends(probe: &Probe, devbox: &Arc<dyn Devbox>) -> Result<bool, super::Failed> {
    for _ in 0..200 {
        if !daemon_runs(probe, devbox).await? {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(false)
}

pub(super) async fn a_timeout_ends_everything_the_program_started(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    if let Some(skipped @ Outcome::Skipped(_)) = probe.lacks(&devbox, Property::Isolation).await? {
        return Ok(skipped);
    }
    let script = format!("{DAEMON} trap '' TERM INT HUP; echo up; while :; do sleep 1; done");
    let mut spec = ExecSpec::shell(probe.exec_id()?, script);
    // Long enough for the daemon to be there, also on a busy machine.
    spec.timeout = Some(Duration::from_secs(3));
    let execution = devbox.exec(spec).await?;
    let ran = probe.finish(&execution).await?;
    ensure!(
        ran.exit.cause == ExitCause::TimedOut && ran.exit.signal == Some(9),
        "{ran:?}"
    );
    ensure!(
        daemon_ends(probe, &devbox).await?,
        "the daemon outlived the time-out"
    );
    Ok(Passed)
}

pub(super) async fn killing_ends_daemons_too(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let execution = probe
        .launch(&devbox, &format!("{DAEMON} echo up; sleep 600"))
        .await?;
    wait_for(&execution, "up").await?;
    ensure!(
        daemon_runs(probe, &devbox).await?,
        "the daemon did not start"
    );
    execution.kill().await?;
    let ran = probe.finish(&execution).await?;
    ensure!(
        ran.exit.cause == ExitCause::Killed && ran.exit.status() == 137,
        "{ran:?}"
    );
    ensure!(
        daemon_ends(probe, &devbox).await?,
        "the daemon outlived the kill"
    );
    Ok(Passed)
}

pub(super) async fn a_daemon_that_keeps_the_streams_does_not_hold_the_end_back(
    probe: &mut Probe,
) -> Verdict {
    let devbox = probe.plain().await?;
    let ran = probe.sh(&devbox, "sleep 600 & echo started").await?;
    ensure!(ran.exit.success() && ran.stdout == "started\n", "{ran:?}");
    let still = probe
        .sh(
            &devbox,
            "ps ax 2>/dev/null | grep -q 'slee[p] 600' || grep -lq 'sleep' /proc/[0-9]*/comm",
        )
        .await?;
    ensure!(
        still.exit.success(),
        "what was put into the background did not go on"
    );
    Ok(Passed)
}

pub(super) async fn the_same_id_is_the_same_execution(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let spec = ExecSpec::shell(probe.exec_id()?, "echo once >> /tmp/count; cat /tmp/count");
    let first = devbox.exec(spec.clone()).await?;
    let again = devbox.exec(spec.clone()).await?;
    within(first.wait()).await??;
    let after = devbox.exec(spec).await?;
    for execution in [&first, &again, &after] {
        let ran = probe.finish(execution).await?;
        ensure!(ran.stdout == "once\n", "{ran:?}");
    }
    Ok(Passed)
}

pub(super) async fn environment_and_directory_are_as_asked(probe: &mut Probe) -> Verdict {
    let mut spec = probe.spec()?;
    spec.env.insert("FROM_BOX".to_owned(), "box".to_owned());
    spec.env.insert("BOTH".to_owned(), "box".to_owned());
    let devbox = probe.start(spec).await?;
    let mut spec = ExecSpec::shell(probe.exec_id()?, "echo $FROM_BOX $BOTH \"$OWN\"; pwd");
    spec.env.insert("BOTH".to_owned(), "exec".to_owned());
    spec.env
        .insert("OWN".to_owned(), "with space\nand line".to_owned());
    spec.cwd = Some("/usr".to_owned());
    let ran = probe.finish(&devbox.exec(spec).await?).await?;
    ensure!(
        ran.stdout == "box exec with space\nand line\n/usr\n",
        "{ran:?}"
    );
    let home = probe.sh(&devbox, "pwd; echo $HOME").await?;
    ensure!(home.stdout == "/root\n/root\n", "{home:?}");
    Ok(Passed)
}

pub(super) async fn a_directory_that_is_not_there_is_an_error(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let mut spec = ExecSpec::shell(probe.exec_id()?, "true");
    spec.cwd = Some("/no/such".to_owned());
    let refused = devbox.exec(spec).await;
    ensure!(
        matches!(&refused, Err(Error::CannotRun { why, .. }) if why.contains("/no/such")),
        "a program ran in a directory that is not there"
    );
    Ok(Passed)
}

pub(super) async fn a_signal_reaches_the_program(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let execution = probe.launch(&devbox, script).await?;
    wait_for(&execution, "ready").await?;
    execution.signal(15).await?;
    let ran = probe.finish(&execution).await?;
    ensure!(
        ran.exit.code == Some(3) && ran.stdout == "ready\ncaught\n",
        "{ran:?}"
    );
    ensure!(
        execution.signal(15).await.is_ok(),
        "a signal to what has ended is no error"
    );
    Ok(Passed)
}

pub(super) async fn ended_executions_are_listed_until_they_are_forgotten(
    probe: &mut Probe,
) -> Verdict {
    let devbox = probe.plain().await?;
    let ended = probe.launch(&devbox, "true").await?;
    within(ended.wait()).await??;
    let running = probe.launch(&devbox, "sleep 600").await?;
    let listed = devbox.executions().await?;
    ensure!(
        listed.contains(ended.id()) && listed.contains(running.id()),
        "{listed:?}"
    );
    ensure!(
        running.forget().await.is_err(),
        "a running execution was forgotten"
    );
    ended.forget().await?;
    ensure!(
        !devbox.executions().await?.contains(ended.id()),
        "a forgotten execution is listed"
    );
    ensure!(
        matches!(
            devbox.execution(ended.id()).await,
            Err(Error::NoSuchExecution(_))
        ),
        "a forgotten execution is known"
    );
    Ok(Passed)
}

pub(super) async fn many_programs_run_at_once(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let mut executions = Vec::new();
    for number in 0..40 {
        executions.push(
            probe
                .launch(&devbox, &format!("sleep 0.1; echo {number}"))
                .await?,
        );
    }
    for (number, execution) in executions.iter().enumerate() {
        let ran = probe.finish(execution).await?;
        ensure!(
            ran.stdout == format!("{number}\n") && ran.exit.success(),
            "{ran:?}"
        );
    }
    Ok(Passed)
}
