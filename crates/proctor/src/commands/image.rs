//! `proctor image`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use proctor_devbox::local;
use proctor_images::{Images, Import, NamedImage, Removed, RunConfig, StoredImage, make::Maker};
use proctor_store::ambient::SystemClock;
use serde_json::{Value, json};

use crate::{
    exit::Exit,
    image_settings::{ImageSources, MirrorSetting, RegistrySetting, failure, mirrors},
    settings::{ServeSettings, Settings},
    terminal,
};

#[derive(Debug, Args)]
pub(crate) struct Image {
    #[command(subcommand)]
    pub(crate) action: ImageAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageAction {
    /// Pull an image from its registry, which the settings must allow
    Pull {
        /// Its name, such as python:3.12-slim
        name: String,
        #[command(flatten)]
        target: ImageTarget,
    },
    /// Import an image: an OCI layout (directory or tar), what docker save wrote, or a tar of a root file system
    Import {
        /// The file or directory
        path: PathBuf,
        /// What to call it; needed where the file does not say
        #[arg(long)]
        name: Option<String>,
        /// A variable of its programs, NAME=VALUE; for root file systems only, may be repeated
        #[arg(long, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// Where its programs start; for root file systems only
        #[arg(long, value_name = "PATH")]
        workdir: Option<String>,
        /// Who runs its programs; for root file systems only
        #[arg(long)]
        user: Option<String>,
        #[command(flatten)]
        target: ImageTarget,
    },
    /// Add an image to an OCI layout, for a machine without a network
    Export {
        /// Its name or digest
        name: String,
        /// The directory of the layout, which is made if it is missing
        directory: PathBuf,
        #[command(flatten)]
        target: ImageTarget,
    },
    /// List the images that are here
    List {
        #[command(flatten)]
        target: ImageTarget,
    },
    /// Remove an image's name, and its files if nothing else is called so
    Remove {
        /// Its name or digest
        name: String,
        #[command(flatten)]
        target: ImageTarget,
    },
    /// Make a base of a distribution's packages: debian:12, ubuntu:24.04, python:3.12
    Make {
        /// What to make
        name: String,
        /// Directory of an interpreter for python:X.Y: bin/pythonX.Y and lib/pythonX.Y
        #[arg(long, value_name = "DIR")]
        python: Option<PathBuf>,
        /// The program that installs packages into a directory
        #[arg(long, value_name = "PROGRAM", default_value = "debootstrap")]
        debootstrap: PathBuf,
        #[command(flatten)]
        target: ImageTarget,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ImageTarget {
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// A registry that may be asked, besides those of the settings; may be repeated
    #[arg(long = "registry", value_name = "HOST")]
    pub(crate) registries: Option<Vec<RegistrySetting>>,
    /// Where packages of a distribution come from: NAME=URL; may be repeated
    #[arg(long = "mirror", value_name = "NAME=URL")]
    pub(crate) mirrors: Option<Vec<MirrorSetting>>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(arguments: Image) -> anyhow::Result<Exit> {
    match arguments.action {
        ImageAction::Pull { name, target } => {
            let place = Place::open(target)?;
            let pulled = place.images.refresh(&name, &told).await.map_err(failure)?;
            place.show(&pulled);
        }
        ImageAction::Import {
            path,
            name,
            env,
            workdir,
            user,
            target,
        } => {
            let place = Place::open(target)?;
            let name = name
                .map(|name| place.images.read_name(&name))
                .transpose()
                .map_err(failure)?;
            let run = RunConfig {
                env,
                working_dir: workdir.unwrap_or_default(),
                user: user.unwrap_or_default(),
                ..RunConfig::default()
            };
            let import = Import { name, run };
            place.show(&place.images.import(&path, &import).map_err(failure)?);
        }
        ImageAction::Export {
            name,
            directory,
            target,
        } => export(&Place::open(target)?, &name, &directory)?,
        ImageAction::List { target } => list(&Place::open(target)?)?,
        ImageAction::Remove { name, target } => remove(&Place::open(target)?, &name)?,
        ImageAction::Make {
            name,
            python,
            debootstrap,
            target,
        } => {
            let place = Place::open(target)?;
            let maker = Maker {
                debootstrap,
                mirrors: mirrors(&place.serve),
                python,
            };
            let made = place.images.make(&name, &maker, &told);
            place.show(&made.map_err(failure)?);
        }
    }
    Ok(Exit::Fine)
}

/// Says what happens.
#[expect(clippy::needless_pass_by_value, reason = "what is told is handed over")]
fn told(line: String) {
    eprintln!("{line}");
}

/// The images of a data directory.
struct Place {
    images: Images,
    serve: ServeSettings,
    devboxes: std::path::PathBuf,
    json: bool,
}

impl Place {
    fn open(target: ImageTarget) -> anyhow::Result<Self> {
        let (settings, mut serve) = target
            .settings
            .complete_for_serve(ServeSettings::default())?;
        if let Some(registries) = target.registries {
            serve
                .image_registries
                .get_or_insert_default()
                .extend(registries);
        }
        if let Some(mirrors) = target.mirrors {
            serve.image_mirrors.get_or_insert_default().extend(mirrors);
        }
        let data = settings.data_directory();
        let options = ImageSources::of(&serve)?.options(&data);
        let images = Images::open(options, Arc::new(SystemClock))
            .with_context(|| format!("the images in {} cannot be opened", data.display()))?;
        Ok(Self {
            images,
            serve,
            devboxes: data.join("devboxes"),
            json: target.json,
        })
    }

    fn show(&self, named: &NamedImage) {
        if self.json {
            println!("{}", view(Some(named), &named.image));
        } else {
            println!("{} {}", named.name, named.image.digest);
        }
    }
}

fn view(named: Option<&NamedImage>, image: &StoredImage) -> Value {
    json!({
        "name": named.map(|one| one.name.to_string()),
        "digest": image.digest.to_string(),
        "index_digest": image.index.map(|index| index.to_string()),
        "size_bytes": image.bytes,
        "source": named.map(|one| one.source.clone()),
        "created_at_ms": named.map(|one| one.created_at.as_millis()),
        "config": image.config.config,
    })
}

fn export(place: &Place, name: &str, directory: &Path) -> anyhow::Result<()> {
    let exported = place.images.export(name, directory).map_err(failure)?;
    if place.json {
        println!(
            "{}",
            json!({"digest": exported.digest.to_string(), "as_it_came": exported.as_it_came})
        );
        return Ok(());
    }
    println!("{}", exported.digest);
    if !exported.as_it_came {
        eprintln!(
            "its layers are not kept here, so it was written as one layer and has another digest there"
        );
    }
    Ok(())
}

fn list(place: &Place) -> anyhow::Result<()> {
    let (named, unnamed) = place.images.list().map_err(failure)?;
    if place.json {
        for one in &named {
            println!("{}", view(Some(one), &one.image));
        }
        for image in &unnamed {
            println!("{}", view(None, image));
        }
        return Ok(());
    }
    let mut table = terminal::table(&["NAME", "DIGEST", "SIZE", "SOURCE"]);
    let megabytes = |image: &StoredImage| format!("{} MB", image.bytes.div_ceil(1_000_000));
    for one in &named {
        table.add_row([
            one.name.to_string(),
            one.image.digest.to_string(),
            megabytes(&one.image),
            one.source.clone(),
        ]);
    }
    for image in &unnamed {
        let digest = image.digest.to_string();
        table.add_row(["-".to_owned(), digest, megabytes(image), String::new()]);
    }
    terminal::print(format_args!("{table}\n"));
    Ok(())
}

fn remove(place: &Place, name: &str) -> anyhow::Result<()> {
    let root = place
        .images
        .find(name)
        .map_err(failure)?
        .map(|image| image.root);
    let used_by = |root: &Path| match local::user_of_rootfs(&place.devboxes, root) {
        Ok(user) => user,
        Err(error) => Some(format!("something that cannot be read ({error})")),
    };
    let removed = place.images.remove(name, &used_by).map_err(failure)?;
    if let (Removed::Image, Some(root)) = (removed, root) {
        local::forget_rootfs(&place.devboxes, &root)
            .context("the image is removed, but its base could not be forgotten")?;
    }
    let what = match removed {
        Removed::Image => "image",
        Removed::Name => "name",
    };
    match place.json {
        true => println!("{}", json!({"removed": what})),
        false => println!("removed the {what} {name}"),
    }
    Ok(())
}
