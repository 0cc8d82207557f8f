//! Standard input.

use std::sync::Arc;

use super::{
    Outcome::Passed,
    Probe, Verdict,
    probe::{ensure, read_all, within},
};
use crate::{
    backend::Devbox,
    error::Error,
    spec::{ExecSpec, Stream},
};

async fn cat(
    probe: &Probe,
    devbox: &Arc<dyn Devbox>,
) -> Result<Arc<dyn crate::backend::Execution>, super::Failed> {
    let mut spec = ExecSpec::new(probe.exec_id()?, ["cat"]);
    spec.stdin = true;
    Ok(devbox.exec(spec).await?)
}

pub(super) async fn input_is_streamed_and_its_end_is_seen(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let execution = cat(probe, &devbox).await?;
    execution.write_stdin(b"one ").await?;
    execution.write_stdin(b"two").await?;
    execution.close_stdin().await?;
    let ran = probe.finish(&execution).await?;
    ensure!(ran.stdout == "one two" && ran.exit.success(), "{ran:?}");
    // Without input the program finds an empty one, not an open one.
    let none = probe
        .finish(
            &devbox
                .exec(ExecSpec::new(probe.exec_id()?, ["cat"]))
                .await?,
        )
        .await?;
    ensure!(none.exit.success() && none.stdout.is_empty(), "{none:?}");
    Ok(Passed)
}

pub(super) async fn much_input_comes_back_whole(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let execution = cat(probe, &devbox).await?;
    let sent: Vec<u8> = (0..3_000_000_u32)
        .map(|number| u8::try_from(number % 251).unwrap_or(0))
        .collect();
    within(execution.write_stdin(&sent)).await??;
    execution.close_stdin().await?;
    let got = read_all(&execution, Stream::Stdout).await?;
    ensure!(
        got == sent,
        "{} bytes of {} came back, or others",
        got.len(),
        sent.len()
    );
    Ok(Passed)
}

pub(super) async fn input_that_nobody_takes_is_refused(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let none = probe.launch(&devbox, "sleep 600").await?;
    ensure!(
        matches!(none.write_stdin(b"x").await, Err(Error::StdinClosed)),
        "input without being asked for"
    );
    let mut spec = ExecSpec::shell(probe.exec_id()?, "exit 0");
    spec.stdin = true;
    let ended = devbox.exec(spec).await?;
    within(ended.wait()).await??;
    ensure!(
        matches!(ended.write_stdin(b"x").await, Err(Error::StdinClosed)),
        "input after the end"
    );
    let mut spec = ExecSpec::shell(probe.exec_id()?, "exec <&-; echo closed; sleep 600");
    spec.stdin = true;
    let closed = devbox.exec(spec).await?;
    super::probe::wait_for(&closed, "closed").await?;
    ensure!(
        matches!(
            within(closed.write_stdin(b"x")).await?,
            Err(Error::StdinClosed)
        ),
        "input that the program closed"
    );
    Ok(Passed)
}
