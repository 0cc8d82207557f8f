//! Settings of Harbor jobs: where tasks are, and what their boxes may reach.

use std::{path::PathBuf, str::FromStr};

use proctor_engine::harbor::HarborSettings;
use serde::Deserialize;

use crate::settings::ServeSettings;

/// A directory with tasks that job files may name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NamedTasks {
    name: String,
    directory: PathBuf,
}

impl FromStr for NamedTasks {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            Some((name, directory))
                if !name.is_empty() && !name.contains('/') && !directory.is_empty() =>
            {
                Ok(Self {
                    name: name.to_owned(),
                    directory: directory.into(),
                })
            }
            _ => Err("expected NAME=DIR, such as terminal-bench=/srv/tasks/terminal-bench"),
        }
    }
}

impl TryFrom<String> for NamedTasks {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

/// What the server's settings say of Harbor jobs.
pub(crate) fn harbor_settings(serve: &ServeSettings) -> HarborSettings {
    let tasks = serve.harbor_tasks.iter().flatten();
    HarborSettings {
        tasks: tasks
            .map(|tasks| (tasks.name.clone(), tasks.directory.clone()))
            .collect(),
        public_policy: serve.harbor_public_policy.clone(),
        build_policy: serve.harbor_build_policy.clone(),
    }
}
