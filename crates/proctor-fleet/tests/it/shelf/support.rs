//! A backend, a store and what stands around them, gone when the test ends.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use proctor_core::{
    blueprint::{Blueprint, Build, BuildStatus, Image, ImageDisk, Recipe},
    id::kinds::{ObjectId, OrganizationId},
    object::ContentType,
    time::{ManualClock, Timestamp},
};
use proctor_devbox::{
    Backend, Base, BoxId, BoxSpec, Devbox, ExecSpec, Stream, User,
    local::{LocalBackend, LocalConfig},
};
use proctor_fleet::{
    GitOptions, Repositories,
    blueprints::{BlueprintOptions, Blueprints},
    mounts::Mounter,
    objects,
};
use proctor_images::{ImageOptions, Images};
use proctor_store::{
    Store, StoreOptions, ambient::RandomIds, credentials::PlainKey, objects::NewObject,
};
use proctor_testkit::eventually_seen;
use tempfile::TempDir;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Shelf {
    pub(crate) store: Store,
    pub(crate) organization: OrganizationId,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) mounter: Mounter,
    pub(crate) blueprints: Blueprints,
    pub(crate) images: Images,
    pub(crate) directory: TempDir,
}

impl Shelf {
    pub(crate) async fn open() -> Self {
        Self::open_with(BTreeMap::new()).await
    }

    /// The same with these images.
    pub(crate) async fn open_with(images: BTreeMap<String, ImageDisk>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_790_000_000_000)));
        let store = Store::open(
            &StoreOptions::embedded(directory.path()),
            Arc::clone(&clock) as _,
            Arc::new(RandomIds::default()),
        )
        .await
        .unwrap();
        let made = store.bootstrap("Test", PlainKey::Random).await.unwrap();
        let organization = made.unwrap().0.id;
        let config = LocalConfig::new(directory.path().join("boxes"));
        let backend: Arc<dyn Backend> = Arc::new(LocalBackend::open(config).unwrap());
        let git = GitOptions {
            mirrors: Some(directory.path().join("mirrors")),
            ..GitOptions::new(directory.path().join("git"))
        };
        let mounter = Mounter::new(store.clone(), Repositories::new(git));
        let options = ImageOptions::new(directory.path().join("images"));
        let container_images = Images::open(options, Arc::clone(&clock) as _).unwrap();
        let blueprints = Blueprints::new(
            store.clone(),
            Arc::clone(&backend),
            mounter.clone(),
            BlueprintOptions {
                images,
                container_images: Some(container_images.clone()),
                ..BlueprintOptions::new(directory.path().join("builds"))
            },
        );
        Self {
            store,
            organization,
            backend,
            mounter,
            blueprints,
            images: container_images,
            directory,
        }
    }

    /// A box on `base`, at work.
    pub(crate) async fn start(&self, name: &str, base: Base) -> Arc<dyn Devbox> {
        let spec = BoxSpec::new(BoxId::new(name).unwrap(), base);
        let devbox = self.backend.create(spec).await.unwrap();
        devbox.start().await.unwrap();
        devbox
    }

    /// A complete object.
    pub(crate) async fn object(&self, name: &str, kind: ContentType, bytes: Vec<u8>) -> ObjectId {
        let new = NewObject {
            name: name.to_owned(),
            content_type: kind,
            metadata: BTreeMap::new(),
            ttl_ms: None,
        };
        let object = self
            .store
            .create_object(self.organization, new)
            .await
            .unwrap();
        let bytes = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(bytes))]);
        objects::upload(&self.store, object.id, bytes, objects::LARGEST)
            .await
            .unwrap();
        objects::complete(&self.store, self.organization, object.id)
            .await
            .unwrap();
        object.id
    }

    /// A repository among the mirrors, with a branch `main` and a tag `v1` behind it.
    pub(crate) fn mirror(&self, owner: &str, name: &str) {
        let directory = self.directory.path().join("mirrors").join(owner).join(name);
        fs_err::create_dir_all(&directory).unwrap();
        git(&directory, &["init", "--quiet", "--initial-branch=main"]);
        fs_err::write(directory.join("file"), "one\n").unwrap();
        git(&directory, &["add", "."]);
        git(&directory, &["commit", "--quiet", "-m", "one"]);
        git(&directory, &["tag", "v1"]);
        fs_err::write(directory.join("file"), "two\n").unwrap();
        git(&directory, &["commit", "--quiet", "-am", "two"]);
    }

    /// A recipe, built or failed.
    pub(crate) async fn build(&self, recipe: Recipe) -> Blueprint {
        let id = self
            .blueprints
            .create(self.organization, recipe)
            .await
            .unwrap()
            .id;
        eventually_seen("the build is over", async || {
            let found = self.blueprints.find(self.organization, id).await.unwrap();
            match found.build.status() {
                BuildStatus::Complete | BuildStatus::Failed => Ok(found),
                BuildStatus::Provisioning | BuildStatus::Building => Err("it goes on"),
            }
        })
        .await
    }

    /// The messages of a build's log.
    pub(crate) async fn log(&self, blueprint: &Blueprint) -> Vec<String> {
        let lines = self.blueprints.logs(self.organization, blueprint.id).await;
        lines
            .unwrap()
            .into_iter()
            .map(|line| line.message)
            .collect()
    }

    /// Ends every box and lets go.
    pub(crate) async fn end(self) {
        self.blueprints.close().await;
        let left = self.backend.list().await.unwrap();
        let builds: Vec<_> = left
            .iter()
            .filter(|record| record.spec.id.as_str().starts_with("bpt-"))
            .collect();
        assert!(builds.is_empty(), "no build leaves its box: {builds:?}");
        self.backend.sweep(&BTreeSet::new()).await.unwrap();
        self.backend.drain().await;
        self.store.close().await;
    }
}

/// A recipe of nothing but a Dockerfile.
pub(crate) fn dockerfile(text: &str) -> Recipe {
    Recipe {
        name: "test".to_owned(),
        dockerfile: Some(text.to_owned()),
        ..Recipe::default()
    }
}

/// What was built.
pub(crate) fn image(blueprint: &Blueprint) -> Image {
    match &blueprint.build {
        Build::Complete { image, .. } => image.clone(),
        other => panic!("not built: {other:?}"),
    }
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([
            ("GIT_AUTHOR_NAME", "Test"),
            ("GIT_AUTHOR_EMAIL", "test@example.org"),
            ("GIT_COMMITTER_NAME", "Test"),
            ("GIT_COMMITTER_EMAIL", "test@example.org"),
        ])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Whether this is root's server: users other than root are there only then.
pub(crate) async fn has_users(devbox: &Arc<dyn Devbox>) -> bool {
    sh_as(devbox, "true", &User::Named("user".to_owned()))
        .await
        .0
        == 0
}

/// Who works in boxes here.
pub(crate) async fn worker(devbox: &Arc<dyn Devbox>) -> User {
    if has_users(devbox).await {
        User::Named("user".to_owned())
    } else {
        User::Root
    }
}

/// Runs a script as root to its end: its status and what it wrote.
pub(crate) async fn sh(devbox: &Arc<dyn Devbox>, script: &str) -> (i32, String) {
    sh_as(devbox, script, &User::Root).await
}

pub(crate) async fn sh_as(devbox: &Arc<dyn Devbox>, script: &str, user: &User) -> (i32, String) {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let id = format!("t{number}").parse().unwrap();
    let mut spec = ExecSpec::shell(id, format!("exec 2>&1\n{script}"));
    spec.user = user.clone();
    spec.timeout = Some(PATIENCE);
    let Ok(execution) = devbox.exec(spec).await else {
        return (-1, String::new());
    };
    let exit = execution.wait().await.unwrap();
    let mut all = Vec::new();
    loop {
        let chunk = execution
            .read_output(Stream::Stdout, all.len() as u64, 1 << 20)
            .await
            .unwrap();
        all.extend_from_slice(&chunk.bytes);
        if chunk.last {
            return (exit.status(), String::from_utf8_lossy(&all).into_owned());
        }
    }
}

/// A tar archive of files.
pub(crate) fn tar_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, name, content.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap()
}
