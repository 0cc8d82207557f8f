//! One build: stage after stage in a box, each step's disk kept as a layer.
//!
//! Layers are named before anything is done, so a stage is built only if a step that is not there needs it. Whatever happens, the boxes go away; only layers
//! stay.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use proctor_core::blueprint::{Blueprint, BuildFailure, Image, ImageDisk};
use proctor_core::causes::with_causes;
use proctor_devbox::{
    Backend, Base, BaseName, BoxId, BoxSpec, Devbox, Error as BoxError, LayerId, Limits, Network,
};
use proctor_store::{Store, blueprints::CodeTokens};
use secrecy::ExposeSecret as _;

use super::{
    context::{Context, ContextError, ContextSource, Selection},
    copy_from::Source,
    layers::LayerKey,
    log::{BuildLog, Level},
    steps::{Origin, Plan, StagePlan, Step, StepKind},
};
use crate::mounts::Mounter;

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
    /// Where the trees of container images are, by the names of their bases.
    pub(super) roots: BTreeMap<String, PathBuf>,
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
    pub(super) fn because(message: impl std::fmt::Display) -> Self {
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
pub(super) struct Prepared<'p> {
    pub(super) step: &'p Step,
    layer: LayerId,
    pub(super) selection: Option<Selection>,
    /// What it copies from, if that is not the build context.
    pub(super) source: Option<Source>,
}

/// A stage whose layers are named.
struct PreparedStage<'p> {
    base: ImageDisk,
    below: Option<usize>,
    steps: Vec<Prepared<'p>>,
    /// What it ends with.
    disk: ImageDisk,
    key: LayerKey,
}

/// The disks that names of images mean.
pub(super) type Disks = BTreeMap<String, ImageDisk>;

impl Builder<'_> {
    /// Carries out the plan; `disks` are what names of images mean.
    pub(super) async fn build(&self, plan: &Plan, disks: &Disks) -> Result<Success, Failure> {
        let mut layers = Vec::new();
        let built = self.build_layers(plan, disks, &mut layers);
        let built = match tokio::time::timeout(self.time_limit, built).await {
            Ok(built) => built,
            Err(_) => {
                self.remove_boxes().await;
                let limit = self.time_limit.as_secs();
                Err(Broken::because(format!(
                    "the build took longer than {limit} seconds"
                )))
            }
        };
        match (built, plan.image()) {
            (Ok(disk), Some(image)) => Ok(Success {
                image: Image {
                    disk,
                    ..image.clone()
                },
                layers,
            }),
            (Ok(_), None) => Err(Failure {
                reason: BuildFailure::BuildFailed,
                message: "the plan has no stage".to_owned(),
                layers,
            }),
            (Err(Broken { reason, message }), _) => Err(Failure {
                reason,
                message,
                layers,
            }),
        }
    }

    async fn build_layers(
        &self,
        plan: &Plan,
        disks: &Disks,
        layers: &mut Vec<String>,
    ) -> Result<ImageDisk, Broken> {
        for name in &plan.unused {
            let doubt = format!("the build argument {name} is not declared by the Dockerfile");
            self.log.add(Level::Warn, &doubt);
        }
        self.note_metadata(plan);
        let context = self.context(plan).await?;
        let mut stages = BTreeMap::new();
        for (number, stage) in &plan.stages {
            let prepared = self
                .prepare(stage, disks, &stages, context.as_ref())
                .await?;
            stages.insert(*number, prepared);
        }
        let there: BTreeSet<LayerId> = self
            .backend
            .layers()
            .await?
            .into_iter()
            .map(|layer| layer.id)
            .collect();
        let wanted = stages_to_build(&stages, plan.target, &there);
        let mut disk = None;
        let titled = plan.stages.len() > 1;
        for (number, stage) in stages {
            let is_target = number == plan.target;
            if is_target {
                disk = Some(stage.disk.clone());
            }
            if wanted.contains(&number) || is_target {
                if titled {
                    self.log.add(Level::Info, &format!("stage {number}"));
                }
                self.build_stage(stage, &there, context.as_ref(), layers)
                    .await?;
            } else {
                // What is there belongs to this blueprint too, so that it stays as long.
                let known = stage.steps.iter().map(|step| &step.layer);
                layers.extend(
                    known
                        .filter(|layer| there.contains(layer))
                        .map(ToString::to_string),
                );
            }
        }
        disk.ok_or_else(|| Broken::because("the plan has no stage"))
    }

    /// Says once which instructions change nothing in the build.
    fn note_metadata(&self, plan: &Plan) {
        let mut notes: Vec<&str> = plan
            .stages
            .values()
            .flat_map(|stage| stage.notes.clone())
            .collect();
        notes.sort_unstable();
        notes.dedup();
        if !notes.is_empty() {
            let note = format!(
                "kept with the image, without any effect on its build: {}",
                notes.join(", ")
            );
            self.log.add(Level::Info, &note);
        }
    }

    async fn build_stage(
        &self,
        stage: PreparedStage<'_>,
        there: &BTreeSet<LayerId>,
        context: Option<&Context>,
        layers: &mut Vec<String>,
    ) -> Result<(), Broken> {
        let PreparedStage {
            base, mut steps, ..
        } = stage;
        let cached = cached(&steps, there);
        let mut base = base_of(&base)?;
        for step in steps.drain(..cached) {
            self.log
                .add(Level::Info, &format!("{} (cached)", step.step.title));
            layers.push(step.layer.to_string());
            base = Base::Layer(step.layer);
        }
        if steps.is_empty() {
            return Ok(());
        }
        self.in_a_box(base, steps, context, layers).await
    }

    /// The build context, if a step copies from it.
    async fn context(&self, plan: &Plan) -> Result<Option<Context>, Broken> {
        let copies = plan
            .stages
            .values()
            .flat_map(|stage| &stage.steps)
            .any(|step| matches!(step.kind, StepKind::Copy(_)));
        let recipe = &self.blueprint.recipe;
        let source = match (recipe.build_context, &recipe.context_directory) {
            _ if !copies => return Ok(None),
            (None, None) => return Ok(None),
            (Some(object), _) => {
                let organization = self.blueprint.organization;
                let object = crate::objects::find(self.store, organization, object)
                    .await
                    .map_err(Broken::because)?;
                ContextSource::Object(self.store.clone(), object)
            }
            (None, Some(directory)) => ContextSource::Directory(directory.into()),
        };
        Ok(Some(Context::read(source).await?))
    }

    /// Finds the layer of every step of a stage.
    async fn prepare<'p>(
        &self,
        stage: &'p StagePlan,
        disks: &Disks,
        before: &BTreeMap<usize, PreparedStage<'_>>,
        context: Option<&Context>,
    ) -> Result<PreparedStage<'p>, Broken> {
        let unknown = || Broken::because("a stage builds on what is not there");
        let organization = self.blueprint.organization;
        let (base, below, mut key) = match &stage.base {
            Origin::Stage(number) => {
                let below = before.get(number).ok_or_else(unknown)?;
                (below.disk.clone(), Some(*number), below.key)
            }
            Origin::Image(_, name) => {
                let disk = disks.get(name).ok_or_else(unknown)?.clone();
                let key = match stage.steps.is_empty() {
                    // Nothing is named after it but what copies from it, and that is told apart by its disk.
                    true if disk != ImageDisk::Host => LayerKey::of_base(organization, &disk, None),
                    _ => {
                        let fingerprint = self.fingerprint(&disk).await?;
                        LayerKey::of_base(organization, &disk, fingerprint.as_deref())
                    }
                };
                (disk, None, key)
            }
        };
        let mut steps = Vec::new();
        for step in &stage.steps {
            let (mut selection, mut source) = (None, None);
            let content = match (&step.kind, context) {
                (StepKind::Copy(copy), Some(context)) => {
                    let selected = context.select(copy)?;
                    let digest = selected.digest.to_string();
                    selection = Some(selected);
                    Some(digest)
                }
                (StepKind::CopyFrom(origin, _), _) => {
                    let (found, content) = self.source(origin, disks, before)?;
                    source = Some(found);
                    Some(content)
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
            steps.push(Prepared {
                step,
                layer: key.layer(),
                selection,
                source,
            });
        }
        let disk = match steps.last() {
            Some(last) => ImageDisk::Layer(last.layer.to_string()),
            None => base.clone(),
        };
        Ok(PreparedStage {
            base,
            below,
            steps,
            disk,
            key,
        })
    }

    /// What a copy takes from, and a text that tells it from everything else.
    fn source(
        &self,
        origin: &Origin,
        disks: &Disks,
        before: &BTreeMap<usize, PreparedStage<'_>>,
    ) -> Result<(Source, String), Broken> {
        let unknown = || Broken::because("a copy takes from what is not there");
        let (disk, stage, content) = match origin {
            Origin::Stage(number) => {
                let stage = before.get(number).ok_or_else(unknown)?;
                (stage.disk.clone(), Some(*number), stage.key.text())
            }
            Origin::Image(_, name) => {
                let disk = disks.get(name).ok_or_else(unknown)?.clone();
                let key = LayerKey::of_base(self.blueprint.organization, &disk, None);
                (disk, None, key.text())
            }
        };
        let tree = match &disk {
            ImageDisk::RootFs(base) => self.roots.get(base).cloned(),
            ImageDisk::Host | ImageDisk::Layer(_) => None,
        };
        Ok((Source { disk, tree, stage }, content))
    }

    /// What tells one state of the host's programs from another: only a box knows.
    async fn fingerprint(&self, disk: &ImageDisk) -> Result<Option<String>, Broken> {
        let devbox = self.fresh_box(self.box_id(), base_of(disk)?).await?;
        let record = devbox.record().await;
        devbox.destroy().await?;
        Ok(record?.base_fingerprint)
    }

    fn box_id(&self) -> BoxId {
        super::box_of(self.blueprint.id)
    }

    /// A box that does not run yet. One that an earlier process left is removed first.
    pub(super) async fn fresh_box(&self, id: BoxId, base: Base) -> Result<Arc<dyn Devbox>, Broken> {
        let mut spec = BoxSpec::new(id, base);
        spec.limits = self.limits;
        spec.network = self.network.clone();
        spec.labels = [("purpose".to_owned(), "blueprint build".to_owned())].into();
        match self.backend.create(spec.clone()).await {
            Err(BoxError::Exists { .. }) => {
                self.remove_box(&spec.id).await;
                Ok(self.backend.create(spec).await?)
            }
            other => Ok(other?),
        }
    }

    async fn remove_boxes(&self) {
        for id in super::boxes_of(self.blueprint.id) {
            self.remove_box(&id).await;
        }
    }

    async fn remove_box(&self, id: &BoxId) {
        let removed = match self.backend.open(id).await {
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
        let devbox = self.fresh_box(self.box_id(), base).await?;
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
}

/// How many steps, from the first, need not be carried out: those up to the last one whose layer is there.
fn cached(steps: &[Prepared<'_>], there: &BTreeSet<LayerId>) -> usize {
    let last = steps.iter().rposition(|step| there.contains(&step.layer));
    last.map_or(0, |last| last + 1)
}

/// The stages that must be built: the target if its last layer is missing, and whatever steps that are carried out stand on or copy from.
fn stages_to_build(
    stages: &BTreeMap<usize, PreparedStage<'_>>,
    target: usize,
    there: &BTreeSet<LayerId>,
) -> BTreeSet<usize> {
    let mut wanted = BTreeSet::new();
    let mut open = vec![target];
    while let Some(number) = open.pop() {
        let Some(stage) = stages.get(&number) else {
            continue;
        };
        let cached = cached(&stage.steps, there);
        if cached == stage.steps.len() && !stage.steps.is_empty() {
            continue;
        }
        wanted.insert(number);
        if cached == 0 {
            open.extend(stage.below);
        }
        let sources = stage.steps[cached..].iter();
        open.extend(sources.filter_map(|step| step.source.as_ref()?.stage));
    }
    wanted
}

/// What a box stands on.
pub(super) fn base_of(disk: &ImageDisk) -> Result<Base, Broken> {
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
