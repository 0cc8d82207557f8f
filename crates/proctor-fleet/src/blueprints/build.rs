//! One build: the steps in a box of their own, each step's disk kept as a layer.
//!
//! Steps whose layer is there are not carried out again. Whatever happens, the box goes away; only layers stay.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use proctor_core::causes::with_causes;
use proctor_core::{
    blueprint::{Blueprint, BuildFailure, Image, ImageDisk},
    mount::Mount,
};
use proctor_devbox::{
    Backend, Base, BaseName, BoxId, BoxSpec, Devbox, Error as BoxError, LayerId, Limits, Network,
    User,
};
use proctor_store::{Store, blueprints::CodeTokens};
use secrecy::ExposeSecret as _;

use super::{
    context::{Context, ContextError, Selection},
    layers::LayerKey,
    log::{BuildLog, Level},
    steps::{CopyStep, Plan, Step, StepKind, joined},
};
use crate::{
    commands::{self, SetupCommand},
    mounts::{Mounter, Site, fresh_exec},
};

/// What a build needs.
pub(super) struct Builder<'b> {
    pub(super) store: &'b Store,
    pub(super) backend: &'b Arc<dyn Backend>,
    pub(super) mounter: &'b Mounter,
    pub(super) log: &'b BuildLog,
    pub(super) limits: Limits,
    pub(super) network: Network,
    pub(super) time_limit: Duration,
    pub(super) blueprint: &'b Blueprint,
    pub(super) tokens: CodeTokens,
    /// Variables with the values of secrets.
    pub(super) secrets: BTreeMap<String, String>,
}

/// A build that did not work out.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: BuildFailure,
    pub(super) message: String,
    /// The layers that were made before.
    pub(super) layers: Vec<String>,
}

/// A build that worked out.
#[derive(Debug)]
pub(super) struct Success {
    pub(super) image: Image,
    pub(super) layers: Vec<String>,
}

/// Why a step failed.
pub(super) struct Broken {
    pub(super) reason: BuildFailure,
    pub(super) message: String,
}

impl Broken {
    fn because(message: impl std::fmt::Display) -> Self {
        Self {
            reason: BuildFailure::BuildFailed,
            message: message.to_string(),
        }
    }
}

impl From<BoxError> for Broken {
    fn from(error: BoxError) -> Self {
        Self::because(error)
    }
}

impl From<ContextError> for Broken {
    fn from(error: ContextError) -> Self {
        Self::because(error)
    }
}

/// A step with the layer it ends with and what it brings in.
struct Prepared<'p> {
    step: &'p Step,
    layer: LayerId,
    selection: Option<Selection>,
}

impl Builder<'_> {
    /// Carries out the plan on `disk`.
    pub(super) async fn build(&self, plan: &Plan, disk: &ImageDisk) -> Result<Success, Failure> {
        let mut layers = Vec::new();
        match self.build_layers(plan, disk, &mut layers).await {
            Ok(disk) => Ok(Success {
                image: Image {
                    disk,
                    env: plan.env.clone(),
                    working_directory: plan.working_directory.clone(),
                    user: plan.user.clone(),
                },
                layers,
            }),
            Err(Broken { reason, message }) => Err(Failure {
                reason,
                message,
                layers,
            }),
        }
    }

    async fn build_layers(
        &self,
        plan: &Plan,
        disk: &ImageDisk,
        layers: &mut Vec<String>,
    ) -> Result<ImageDisk, Broken> {
        for name in &plan.unused {
            let doubt = format!("the build argument {name} is not declared by the Dockerfile");
            self.log.add(Level::Warn, &doubt);
        }
        if plan.steps.is_empty() {
            return Ok(disk.clone());
        }
        let context = self.context(plan).await?;
        let mut steps = self.prepare(plan, disk, context.as_ref()).await?;
        let there: BTreeSet<LayerId> = self
            .backend
            .layers()
            .await?
            .into_iter()
            .map(|layer| layer.id)
            .collect();
        let cached = steps
            .iter()
            .rposition(|step| there.contains(&step.layer))
            .map_or(0, |last| last + 1);
        let mut base = base(disk)?;
        for step in steps.drain(..cached) {
            self.log
                .add(Level::Info, &format!("{} (cached)", step.step.title));
            layers.push(step.layer.to_string());
            base = Base::Layer(step.layer);
        }
        if !steps.is_empty() {
            let carried_out = self.in_a_box(base, steps, context.as_ref(), layers);
            match tokio::time::timeout(self.time_limit, carried_out).await {
                Ok(done) => done?,
                Err(_) => {
                    self.remove_box().await;
                    let limit = self.time_limit.as_secs();
                    return Err(Broken::because(format!(
                        "the build took longer than {limit} seconds"
                    )));
                }
            }
        }
        Ok(match layers.last() {
            Some(layer) => ImageDisk::Layer(layer.clone()),
            None => disk.clone(),
        })
    }

    /// The build context, if a step copies from it.
    async fn context(&self, plan: &Plan) -> Result<Option<Context>, Broken> {
        let copies = plan
            .steps
            .iter()
            .any(|step| matches!(step.kind, StepKind::Copy(_)));
        match self.blueprint.recipe.build_context {
            Some(object) if copies => {
                let organization = self.blueprint.organization;
                let object = crate::objects::find(self.store, organization, object)
                    .await
                    .map_err(Broken::because)?;
                Ok(Some(Context::read(self.store, object).await?))
            }
            _ => Ok(None),
        }
    }

    /// Finds the layer of every step.
    async fn prepare<'p>(
        &self,
        plan: &'p Plan,
        disk: &ImageDisk,
        context: Option<&Context>,
    ) -> Result<Vec<Prepared<'p>>, Broken> {
        let fingerprint = self.fingerprint(disk).await?;
        let organization = self.blueprint.organization;
        let mut key = LayerKey::of_base(organization, disk, fingerprint.as_deref());
        let mut prepared = Vec::new();
        for step in &plan.steps {
            let mut selection = None;
            let content = match (&step.kind, context) {
                (StepKind::Copy(copy), Some(context)) => {
                    let selected = context.select(copy)?;
                    let digest = selected.digest.to_string();
                    selection = Some(selected);
                    Some(digest)
                }
                (StepKind::Code { place, mount }, _) => {
                    let mut mount = mount.clone();
                    mount.token = self.tokens.get(place).cloned();
                    let fetched = self
                        .mounter
                        .fetch_code(organization, &mount)
                        .await
                        .map_err(|error| Broken::because(format!("{}: {error}", step.title)))?;
                    Some(fetched.commit)
                }
                _ => None,
            };
            key = key.after(step, &self.blueprint.recipe.secrets, content.as_deref());
            prepared.push(Prepared {
                step,
                layer: key.layer(),
                selection,
            });
        }
        Ok(prepared)
    }

    /// What tells one state of the host's programs from another: only a box knows.
    async fn fingerprint(&self, disk: &ImageDisk) -> Result<Option<String>, Broken> {
        let devbox = self.fresh_box(base(disk)?).await?;
        let record = devbox.record().await;
        devbox.destroy().await?;
        Ok(record?.base_fingerprint)
    }

    fn box_id(&self) -> BoxId {
        super::box_of(self.blueprint.id)
    }

    /// A box that does not run yet. One that an earlier process left is removed first.
    async fn fresh_box(&self, base: Base) -> Result<Arc<dyn Devbox>, Broken> {
        let mut spec = BoxSpec::new(self.box_id(), base);
        spec.limits = self.limits;
        spec.network = self.network.clone();
        spec.labels = [("purpose".to_owned(), "blueprint build".to_owned())].into();
        match self.backend.create(spec.clone()).await {
            Err(BoxError::Exists { .. }) => {
                self.remove_box().await;
                Ok(self.backend.create(spec).await?)
            }
            other => Ok(other?),
        }
    }

    async fn remove_box(&self) {
        let removed = match self.backend.open(&self.box_id()).await {
            Ok(devbox) => devbox.destroy().await,
            Err(BoxError::NoSuchBox(_)) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            tracing::warn!(error = %with_causes(&error), blueprint = %self.blueprint.id, "a build's devbox stays for now");
        }
    }

    async fn in_a_box(
        &self,
        base: Base,
        steps: Vec<Prepared<'_>>,
        context: Option<&Context>,
        layers: &mut Vec<String>,
    ) -> Result<(), Broken> {
        let devbox = self.fresh_box(base).await?;
        let done = async {
            devbox.start().await?;
            for step in steps {
                let layer = step.layer.clone();
                self.log.add(Level::Info, &step.step.title);
                self.step(&*devbox, step, context).await?;
                match devbox.snapshot(layer.clone(), BTreeMap::new()).await {
                    // Another build of the same was faster.
                    Ok(_) | Err(BoxError::Exists { .. }) => layers.push(layer.to_string()),
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        }
        .await;
        devbox.destroy().await?;
        done
    }

    async fn step(
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

    /// Makes a directory if it must be one; whether it is one.
    async fn prepare_target(
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

/// What a box stands on.
fn base(disk: &ImageDisk) -> Result<Base, Broken> {
    Ok(match disk {
        ImageDisk::Host => Base::Host,
        ImageDisk::RootFs(name) => {
            Base::RootFs(BaseName::new(name.clone()).map_err(Broken::because)?)
        }
        ImageDisk::Layer(name) => Base::Layer(LayerId::new(name.clone()).map_err(Broken::because)?),
    })
}

/// The values of the secrets that a recipe names.
pub(super) async fn secrets(
    store: &Store,
    blueprint: &Blueprint,
) -> Result<BTreeMap<String, String>, String> {
    let mut values = BTreeMap::new();
    for (variable, name) in &blueprint.recipe.secrets {
        let value = store
            .secret_value(blueprint.organization, name)
            .await
            .map_err(|error| error.to_string())?
            .ok_or_else(|| format!("there is no secret '{name}'"))?;
        values.insert(variable.clone(), value.expose_secret().to_owned());
    }
    Ok(values)
}
