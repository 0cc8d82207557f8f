//! Commands that the platform itself runs in a box: setting it up, building in it.

use std::{collections::BTreeMap, time::Duration};

use proctor_devbox::{Devbox, ExecId, ExecSpec, Execution, Exit, Stream, User};

/// How much of what a command wrote is kept for a message.
pub(crate) const TAIL_BYTES: u64 = 64 << 10;
/// How much of that is shown.
const SHOWN_BYTES: usize = 2000;

/// A command for a box.
pub(crate) struct SetupCommand<'c> {
    pub(crate) id: ExecId,
    pub(crate) script: &'c str,
    pub(crate) arguments: Vec<String>,
    pub(crate) user: &'c User,
    pub(crate) directory: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) time_limit: Duration,
}

/// Runs a script of `/bin/sh` to its end; how it ended and the end of what it wrote.
pub(crate) async fn run(
    devbox: &dyn Devbox,
    command: SetupCommand<'_>,
) -> proctor_devbox::Result<(Exit, String)> {
    let mut argv = vec![
        "/bin/sh".to_owned(),
        "-c".to_owned(),
        command.script.to_owned(),
        "setup".to_owned(),
    ];
    argv.extend(command.arguments);
    let mut spec = ExecSpec::new(command.id, argv);
    spec.user = command.user.clone();
    spec.cwd = command.directory;
    spec.env = command.env;
    spec.timeout = Some(command.time_limit);
    spec.output_limit = TAIL_BYTES;
    let execution = devbox.exec(spec).await?;
    let exit = execution.wait().await?;
    let said = tail(&*execution).await?;
    execution.forget().await?;
    Ok((exit, said))
}

/// The end of what an ended execution wrote, errors last.
pub(crate) async fn tail(execution: &dyn Execution) -> proctor_devbox::Result<String> {
    let mut all = Vec::new();
    for stream in [Stream::Stdout, Stream::Stderr] {
        let mut offset = 0;
        loop {
            let chunk = execution
                .read_output(stream, offset, TAIL_BYTES as usize)
                .await?;
            offset = chunk.end;
            all.extend_from_slice(&chunk.bytes);
            if chunk.last || chunk.bytes.is_empty() {
                break;
            }
        }
    }
    let begin = all.len().saturating_sub(SHOWN_BYTES);
    Ok(String::from_utf8_lossy(&all[begin..]).into_owned())
}
