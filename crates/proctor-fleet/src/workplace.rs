//! Where work is done in a devbox: the box, its user, its environment.

use std::{collections::BTreeMap, sync::Arc};

use proctor_core::blueprint::Image;
use proctor_devbox::{Devbox, ExecId, ExecSpec, User};

use crate::masks::Masks;

/// A box with what everything that runs in it has in common.
#[derive(Clone)]
pub struct Workplace {
    /// The box.
    pub devbox: Arc<dyn Devbox>,
    /// Who works in it.
    pub user: User,
    /// Where that user is at home; commands begin there and paths are relative to it.
    pub home: String,
    /// Where commands begin: at home, unless the devbox's blueprint says otherwise.
    pub directory: String,
    /// Environment of every command, with the values of secrets.
    pub environment: BTreeMap<String, String>,
    /// What must not show in anything that people read.
    pub masks: Masks,
    /// The environment variables that hold secrets, with spaces between them.
    pub(crate) secret_variables: String,
}

impl Workplace {
    /// `command`, run by a shell as the user, where commands begin, with the environment.
    pub fn shell_command(&self, id: ExecId, command: &str) -> ExecSpec {
        self.program(id, ["/bin/bash", "-c", command])
    }

    /// A program, run as the user, where commands begin, with the environment.
    pub fn program<'a>(&self, id: ExecId, argv: impl IntoIterator<Item = &'a str>) -> ExecSpec {
        let mut spec = ExecSpec::new(id, argv);
        spec.env = self.environment.clone();
        spec.cwd = Some(self.directory.clone());
        spec.user = self.user.clone();
        spec
    }

    /// The entry point of the box's image, with arguments that keep it running, as the image's user (root if the image names nobody), where commands begin; `None`
    /// if the image has none. To be started before health checks and not to be waited for: its early end is worth a line in a log and nothing else.
    pub fn entrypoint(&self, id: ExecId, image: &Image) -> Option<ExecSpec> {
        let argv = image.entrypoint_command()?;
        let mut spec = self.program(id, argv.iter().map(String::as_str));
        if image.user.is_none() {
            spec.user = User::Root;
            if !image.env.contains_key("HOME") {
                spec.env.insert("HOME".to_owned(), "/root".to_owned());
            }
        }
        Some(spec)
    }

    /// A path as the user means it: `~` is home, and so is where relative paths begin.
    pub fn resolve(&self, path: &str) -> String {
        resolve(&self.home, path)
    }
}

/// A path as somebody at home in `home` means it.
pub(crate) fn resolve(home: &str, path: &str) -> String {
    let place = home.trim_end_matches('/');
    match path.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{place}{rest}"),
        _ if path.starts_with('/') => path.to_owned(),
        _ => format!("{place}/{path}"),
    }
}

impl std::fmt::Debug for Workplace {
    /// Without the environment, which holds secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workplace")
            .field("devbox", self.devbox.id())
            .field("user", &self.user)
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}
