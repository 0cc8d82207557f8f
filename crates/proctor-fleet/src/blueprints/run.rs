//! Commands of a build: running them, following what they write, telling how they ended.

use std::collections::BTreeMap;

use proctor_core::blueprint::BuildFailure;
use proctor_devbox::{Devbox, ExecSpec, Execution, Exit, ExitCause, Network, Stream, User};

use super::{
    build::{Broken, Builder},
    dockerfile::CommandForm,
    log::Level,
    steps::{Step, shell_or_default},
};
use crate::{
    commands::{self, SetupCommand},
    mounts::fresh_exec,
};

impl Builder<'_> {
    pub(super) async fn run(
        &self,
        devbox: &dyn Devbox,
        step: &Step,
        command: &CommandForm,
    ) -> Result<(), Broken> {
        let id = fresh_exec(self.store);
        let mut spec = match command {
            CommandForm::Shell(text) => {
                let mut argv = shell_or_default(&step.shell);
                argv.push(text.clone());
                ExecSpec::new(id, argv)
            }
            CommandForm::Exec(argv) => ExecSpec::new(id, argv.clone()),
            CommandForm::Script(text) => {
                ExecSpec::new(id, ["/bin/sh", "-c", RUN_SCRIPT, "script", text])
            }
        };
        spec.env = step.env.clone();
        spec.env.extend(self.secrets.clone());
        spec.cwd = Some(step.directory.clone());
        spec.user = self.user(devbox, step.user.as_deref()).await?;
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
            Err(Broken { reason, message }) => {
                let network = match &self.network {
                    Network::None => {
                        "; this build reaches nothing, because it has no network policy: a step that downloads something needs one"
                    }
                    Network::Allow(_) => "",
                };
                Err(Broken {
                    reason,
                    message: format!("'{}' {message}{network}", step.title),
                })
            }
        }
    }

    /// Who runs a step: a name, a number, or either with a group.
    async fn user(&self, devbox: &dyn Devbox, text: Option<&str>) -> Result<User, Broken> {
        let Some(text) = text else {
            return Ok(User::Root);
        };
        let (user, group) = text.split_once(':').unwrap_or((text, text));
        if let (Ok(uid), Ok(gid)) = (user.parse(), group.parse()) {
            return Ok(User::Ids { uid, gid });
        }
        if !text.contains(':') {
            return Ok(User::Named(text.to_owned()));
        }
        // The box alone knows which numbers its names have.
        let command = SetupCommand {
            id: fresh_exec(self.store),
            script: FIND_IDS,
            arguments: vec![user.to_owned(), group.to_owned()],
            user: &User::Root,
            directory: Some("/".to_owned()),
            env: BTreeMap::new(),
            time_limit: self.time_limit,
        };
        let (exit, said) = commands::run(devbox, command).await?;
        let mut numbers = said.split_whitespace().map(str::parse);
        match (exit.success(), numbers.next(), numbers.next()) {
            (true, Some(Ok(uid)), Some(Ok(gid))) => Ok(User::Ids { uid, gid }),
            _ => Err(Broken::because(format!(
                "there is no user '{user}' or no group '{group}'"
            ))),
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

/// Runs a script by what its first line names.
const RUN_SCRIPT: &str = r#"set -e
file=$(mktemp)
printf %s "$1" >"$file"
chmod 755 "$file"
status=0
"$file" || status=$?
rm -f "$file"
exit "$status""#;

/// Writes the numbers of the user `$1` and the group `$2`, which may be numbers already.
const FIND_IDS: &str = r#"number() {
    case $1 in
    *[!0-9]*) while IFS=: read -r name _ id _; do
        if [ "$name" = "$1" ]; then echo "$id"; return 0; fi
    done <"$2"; return 1 ;;
    *) echo "$1" ;;
    esac
}
number "$1" /etc/passwd && number "$2" /etc/group"#;

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
