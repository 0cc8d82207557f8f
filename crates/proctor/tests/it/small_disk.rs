//! Programs that have a small disk of their own, which goes with the last process that sees it.

use std::{path::Path, process::Command};

/// Mounts a disk at its second argument and becomes the rest.
const SCRIPT: &str = r#"mount -t tmpfs -o "$1" proctor "$2" && shift 2 && exec "$@""#;

/// Who mounts the disk.
#[derive(Clone, Copy)]
pub(crate) enum As {
    /// Root, who stays what it is.
    Root,
    /// Any user, who is root only for what is started.
    Anybody,
}

impl As {
    fn unshare(self) -> Command {
        let mut command = Command::new("unshare");
        command.arg("--mount");
        if let Self::Anybody = self {
            command.arg("--map-root-user");
        }
        command
    }

    /// Whether that is possible here.
    pub(crate) fn can_mount(self) -> bool {
        let mut command = self.unshare();
        command.args(["mount", "-t", "tmpfs", "proctor", "/mnt"]);
        let mounted = command.output();
        mounted.is_ok_and(|output| output.status.success())
    }

    /// The same command with a disk of this size (`64m`) at a directory.
    pub(crate) fn with_disk(self, at: &Path, size: &str, plain: &Command) -> Command {
        let mut command = self.unshare();
        command
            .args(["sh", "-c", SCRIPT, "sh"])
            .arg(format!("size={size},mode=755"))
            .arg(at)
            .arg(plain.get_program())
            .args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}
