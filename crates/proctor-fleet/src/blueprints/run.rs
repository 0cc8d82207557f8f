//! Commands of a build: running them, following what they write, telling how they ended.

use proctor_core::blueprint::BuildFailure;
use proctor_devbox::{Devbox, ExecSpec, Execution, Exit, ExitCause, Stream, User};

use super::{
    build::{Broken, Builder},
    dockerfile::CommandForm,
    log::Level,
    steps::Step,
};
use crate::mounts::fresh_exec;

impl Builder<'_> {
    pub(super) async fn run(
        &self,
        devbox: &dyn Devbox,
        step: &Step,
        command: &CommandForm,
    ) -> Result<(), Broken> {
        let id = fresh_exec(self.store);
        let mut spec = match command {
            CommandForm::Shell(text) => ExecSpec::shell(id, text.clone()),
            CommandForm::Exec(argv) => ExecSpec::new(id, argv.clone()),
        };
        spec.env = step.env.clone();
        spec.env.extend(self.secrets.clone());
        spec.cwd = Some(step.directory.clone());
        spec.user = user(step.user.as_deref());
        spec.timeout = Some(self.time_limit);
        let execution = devbox.exec(spec).await?;
        let (out, err) = tokio::join!(
            self.follow(&*execution, Stream::Stdout, Level::Info),
            self.follow(&*execution, Stream::Stderr, Level::Warn),
        );
        out.and(err)?;
        let exit = execution.wait().await?;
        execution.forget().await?;
        match ended(exit) {
            Ok(()) => Ok(()),
            Err(Broken { reason, message }) => Err(Broken {
                reason,
                message: format!("'{}' {message}", step.title),
            }),
        }
    }

    /// Copies what a command writes to the log, line by line, until it has ended.
    async fn follow(
        &self,
        execution: &dyn Execution,
        stream: Stream,
        level: Level,
    ) -> Result<(), Broken> {
        const LONGEST_LINE: usize = 8 << 10;
        let mut offset = 0;
        let mut rest: Vec<u8> = Vec::new();
        loop {
            let chunk = execution.read_output(stream, offset, 64 << 10).await?;
            offset = chunk.end;
            rest.extend_from_slice(&chunk.bytes);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                self.log
                    .add(level, String::from_utf8_lossy(&line).trim_end());
            }
            if !rest.is_empty() && (chunk.last || rest.len() > LONGEST_LINE) {
                self.log
                    .add(level, String::from_utf8_lossy(&rest).trim_end());
                rest.clear();
            }
            if chunk.last {
                return Ok(());
            }
        }
    }
}

/// Who runs a step: a name, a number, or two.
fn user(text: Option<&str>) -> User {
    let Some(text) = text else {
        return User::Root;
    };
    let (user, group) = text.split_once(':').unwrap_or((text, text));
    match (user.parse(), group.parse()) {
        (Ok(uid), Ok(gid)) => User::Ids { uid, gid },
        _ => User::Named(text.to_owned()),
    }
}

fn ended(exit: Exit) -> Result<(), Broken> {
    let broken = |reason, message: String| Err(Broken { reason, message });
    match exit.cause {
        ExitCause::OutOfMemory => broken(
            BuildFailure::OutOfMemory,
            "used up the build's memory".to_owned(),
        ),
        ExitCause::OutOfDisk => broken(
            BuildFailure::OutOfDisk,
            "used up the build's disk".to_owned(),
        ),
        ExitCause::TimedOut => broken(
            BuildFailure::BuildFailed,
            "took longer than a build may".to_owned(),
        ),
        ExitCause::BoxEnded => broken(
            BuildFailure::BuildFailed,
            "did not end before its devbox did".to_owned(),
        ),
        ExitCause::Itself | ExitCause::Killed if exit.success() => Ok(()),
        ExitCause::Itself | ExitCause::Killed => broken(
            BuildFailure::BuildFailed,
            format!("failed with status {}", exit.status()),
        ),
    }
}
