//! One step of a build, carried out in its box.

use std::collections::BTreeMap;

use proctor_core::mount::Mount;
use proctor_devbox::{Devbox, FileMode, User};

use super::{
    build::{Broken, Builder, Prepared},
    context::{Context, Selection},
    steps::{CopyStep, Step, StepKind, joined},
};
use crate::{
    commands::{self, SetupCommand},
    mounts::{Site, fresh_exec},
};

impl Builder<'_> {
    /// Carries out a step.
    pub(super) async fn step(
        &self,
        devbox: &dyn Devbox,
        prepared: Prepared<'_>,
        context: Option<&Context>,
    ) -> Result<(), Broken> {
        let step = prepared.step;
        match &step.kind {
            StepKind::Run(command) => self.run(devbox, step, command).await,
            StepKind::MakeDirectory => {
                self.prepare_target(devbox, &step.directory, true).await?;
                Ok(())
            }
            StepKind::WriteFile { path, content } => {
                let path = joined("/home/user", path);
                let mut content = content.as_bytes();
                devbox
                    .write_file(&path, &User::Root, None, &mut content)
                    .await?;
                Ok(())
            }
            StepKind::Code { place, mount } => {
                let mut mount = mount.clone();
                mount.token = self.tokens.get(place).cloned();
                let user = User::Named("user".to_owned());
                let mut env = step.env.clone();
                env.extend(self.secrets.clone());
                let site = Site {
                    devbox,
                    organization: self.blueprint.organization,
                    user: &user,
                    home: "/home/user",
                    env: &env,
                };
                let applied = self.mounter.apply(site, &Mount::Code(mount)).await;
                applied.map_err(Broken::because)
            }
            StepKind::CopyFrom(_, copy) => match &prepared.source {
                Some(source) => self.copy_from(devbox, step, copy, source).await,
                None => Err(Broken::because("there is nothing to copy from")),
            },
            StepKind::WriteDocuments(documents, copy) => {
                self.write_documents(devbox, step, documents, copy).await
            }
            StepKind::Copy(copy) => match (context, prepared.selection) {
                (Some(context), Some(selection)) => {
                    self.copy(devbox, step, copy, (context, selection)).await
                }
                _ => Err(Broken::because("there is no build context")),
            },
        }
    }

    async fn copy(
        &self,
        devbox: &dyn Devbox,
        step: &Step,
        copy: &CopyStep,
        (context, selection): (&Context, Selection),
    ) -> Result<(), Broken> {
        let target = joined(&step.directory, &copy.target);
        let is_directory = self
            .prepare_target(devbox, &target, selection.into_directory)
            .await?;
        context
            .send(
                devbox,
                fresh_exec(self.store),
                (copy, selection),
                (target, is_directory),
                self.time_limit,
            )
            .await?;
        Ok(())
    }

    /// Writes files that stand in the Dockerfile itself.
    async fn write_documents(
        &self,
        devbox: &dyn Devbox,
        step: &Step,
        documents: &[(String, String)],
        copy: &CopyStep,
    ) -> Result<(), Broken> {
        let target = joined(&step.directory, &copy.target);
        let several = documents.len() + copy.sources.len() > 1;
        let must_be_directory = several || copy.target.ends_with('/');
        let is_directory = self
            .prepare_target(devbox, &target, must_be_directory)
            .await?;
        for (name, content) in documents {
            let path = match is_directory {
                true => joined(&target, name),
                false => target.clone(),
            };
            let mode = FileMode(copy.mode.unwrap_or(0o644));
            devbox
                .write_file(&path, &User::Root, Some(mode), &mut content.as_bytes())
                .await?;
            if let Some((user, group)) = &copy.owner {
                let command = SetupCommand {
                    id: fresh_exec(self.store),
                    script: r#"chown "$2" "$1""#,
                    arguments: vec![path.clone(), format!("{user}:{group}")],
                    user: &User::Root,
                    directory: Some("/".to_owned()),
                    env: BTreeMap::new(),
                    time_limit: self.time_limit,
                };
                let (exit, said) = commands::run(devbox, command).await?;
                if !exit.success() {
                    return Err(Broken::because(format!("{path}: {}", said.trim())));
                }
            }
        }
        Ok(())
    }

    /// Makes a directory if it must be one; whether it is one.
    pub(super) async fn prepare_target(
        &self,
        devbox: &dyn Devbox,
        target: &str,
        must_be_directory: bool,
    ) -> Result<bool, Broken> {
        const SCRIPT: &str = r#"if [ "$2" = yes ]; then mkdir -p "$1" || exit 2; fi; [ -d "$1" ]"#;
        let command = SetupCommand {
            id: fresh_exec(self.store),
            script: SCRIPT,
            arguments: vec![
                target.to_owned(),
                if must_be_directory { "yes" } else { "no" }.to_owned(),
            ],
            user: &User::Root,
            directory: Some("/".to_owned()),
            env: BTreeMap::new(),
            time_limit: self.time_limit,
        };
        let (exit, said) = commands::run(devbox, command).await?;
        match exit.status() {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(Broken::because(format!("{target}: {}", said.trim()))),
        }
    }
}
