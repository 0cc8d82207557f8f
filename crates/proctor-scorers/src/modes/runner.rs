//! The program by which scorers in a clean box run the agent's code: as another user, with nothing of the scorer's environment, and
//! never with the pipe that the score leaves by.

use std::path::PathBuf;

use proctor_core::causes::with_causes;
use proctor_core::shell::quoted;
use proctor_devbox::{Devbox, Error as DevboxError, FileMode, Shared, User};

use crate::{error::JudgeError, order::JudgeOrder, shell::TRUSTED_PATH};

/// Where it lies in the box.
pub(super) const PATH: &str = "/opt/proctor/agent";

/// The directory around it.
const DIRECTORY: &str = "/opt/proctor";

/// Who the agent's code runs as if the agent worked as root.
const SOMEBODY: u32 = 1000;

/// The program, on the host if there is a place for it, and gone from there when this goes.
pub(super) struct Runner {
    script: String,
    shown: Option<PathBuf>,
}

impl Runner {
    /// Writes it for an order.
    pub(super) fn write(order: &JudgeOrder) -> Result<Self, JudgeError> {
        let mut runner = Self {
            script: script(&order.user),
            shown: None,
        };
        if let Some(directory) = &order.shown {
            let shown = directory.join(&order.id);
            // Named before it is made, so that half of it goes away too.
            runner.shown = Some(shown.clone());
            let written = fs_err::create_dir_all(&shown).and_then(|()| {
                use std::os::unix::fs::PermissionsExt as _;
                let file = shown.join("agent");
                fs_err::write(&file, &runner.script)?;
                fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
                fs_err::set_permissions(&shown, std::fs::Permissions::from_mode(0o755))
            });
            written.map_err(|source| {
                JudgeError::Devbox(DevboxError::platform("showing a program to a box", source))
            })?;
        }
        Ok(runner)
    }

    /// What the box must be shown.
    pub(super) fn shared(&self) -> Option<Shared> {
        self.shown.as_ref().map(|host| Shared {
            host: host.clone(),
            at: DIRECTORY.to_owned(),
        })
    }

    /// Brings it into a box that is not shown it.
    pub(super) async fn bring(&self, clean: &dyn Devbox) -> Result<(), JudgeError> {
        if self.shown.is_none() {
            let mode = Some(FileMode(0o755));
            let mut content = self.script.as_bytes();
            clean
                .write_file(PATH, &User::Root, mode, &mut content)
                .await?;
        }
        Ok(())
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(shown) = &self.shown
            && let Err(error) = fs_err::remove_dir_all(shown)
        {
            tracing::debug!(error = %with_causes(&error), "what a box was shown is left to the next start");
        }
    }
}

fn script(user: &User) -> String {
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
    format!(
        "#!/bin/sh\n\
         uid={uid} gid={gid}\n\
         [ \"${{uid:-0}}\" -eq 0 ] && uid={SOMEBODY} gid={SOMEBODY}\n\
         [ \"$(/usr/bin/readlink \"/proc/$$/fd/1\")\" = \"$PROCTOR_SCORE_PIPE\" ] && exec 1>&2\n\
         exec /usr/bin/setpriv --reuid=\"$uid\" --regid=\"$gid\" --clear-groups --no-new-privs --inh-caps=-all -- \
         /usr/bin/env -i HOME=/tmp LC_CTYPE=C.UTF-8 PATH={TRUSTED_PATH} \"$@\"\n"
    )
}
