//! Dockerfiles as real ones are: stages, here-documents, metadata, container images.

use std::process::Command;

use proctor_core::{
    blueprint::{Build, Image, ImageDisk, Recipe},
    object::ContentType,
};
use proctor_devbox::{Base, BaseName, LayerId};
use proctor_fleet::blueprints::{ImagePresence, images_named};
use proctor_images::{Import, RunConfig};

use super::support::{Shelf, dockerfile, has_users, image, sh, tar_of};

fn base(image: &Image) -> Base {
    match &image.disk {
        ImageDisk::Layer(name) => Base::Layer(LayerId::new(name.clone()).unwrap()),
        ImageDisk::RootFs(name) => Base::RootFs(BaseName::new(name.clone()).unwrap()),
        ImageDisk::Host => Base::Host,
    }
}

/// Imports a system that can run a shell and what copies need, under this name.
fn import_small(shelf: &Shelf, name: &str, run: RunConfig) {
    let programs = [
        "/bin/sh",
        "/bin/cat",
        "/bin/ls",
        "/bin/mkdir",
        "/bin/tar",
        "/usr/bin/env",
    ];
    let mut files: Vec<String> = programs.map(str::to_owned).into();
    for program in programs {
        let libraries = Command::new("ldd").arg(program).output().unwrap();
        let libraries = String::from_utf8(libraries.stdout).unwrap();
        let found = libraries
            .split_whitespace()
            .filter(|word| word.starts_with('/'));
        files.extend(found.map(str::to_owned));
    }
    files.sort();
    files.dedup();
    let path = shelf.directory.path().join("small.tar");
    let packed = Command::new("tar")
        .args(["-c", "-h", "-P", "--transform", "s|^/||", "-f"])
        .arg(&path)
        .args(&files)
        .status();
    assert!(packed.unwrap().success());
    let import = Import {
        name: Some(name.parse().unwrap()),
        run,
    };
    shelf.images.import(&path, &import).unwrap();
}

const STAGES: &str = r#"# syntax=docker/dockerfile:1
ARG BASE=host
FROM --platform=$TARGETPLATFORM ${BASE} AS build
LABEL stage=build
WORKDIR /src
COPY main.c .
RUN mkdir -p /out/sub && cp main.c /out/app && echo deep > /out/sub/x && ln -s app /out/link && chmod 755 /out/app
FROM host AS unused
RUN exit 1
FROM build AS tested
RUN echo ran > /out/tested
FROM host
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN [[ a == a ]] && echo $BASH_VERSION > /bash
ENV WHO=world
COPY --from=build --chmod=700 /out/app /usr/local/bin/renamed
COPY --from=0 /out /copied/
COPY --from=tested /out/te* /globbed/
COPY --from=tested /out/sub /
COPY <<EOF <<'RAW' /etc/docs/
hello $WHO
EOF
hello $WHO
RAW
RUN <<EOF
# a script
echo one > /script
echo two >> /script
EOF
RUN <<-'PERL'
	#!/usr/bin/env perl
	open(my $f, '>', '/perl'); print $f "perl\n";
	PERL
RUN cat <<X > /cat && echo after >> /cat
in a document
X
EXPOSE 80
CMD ["run"]
ENTRYPOINT ["/enter", "me"]
LABEL who=$WHO
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stages_here_documents_and_metadata_are_built() {
    let shelf = Shelf::open().await;
    let files = tar_of(&[("main.c", "int main;")]);
    let context = shelf.object("context", ContentType::Tar, files).await;
    let recipe = Recipe {
        build_context: Some(context),
        ..dockerfile(STAGES)
    };
    let built = shelf.build(recipe.clone()).await;
    let log = shelf.log(&built).await;
    let made = image(&built);
    let devbox = shelf.start("of-stages", base(&made)).await;
    let script = "cat /usr/local/bin/renamed /copied/app /copied/sub/x /globbed/tested /etc/docs/EOF /etc/docs/RAW /script /perl /cat; \
        readlink /copied/link; stat -c %a /usr/local/bin/renamed /copied/app /etc/docs/EOF; test -s /bash && ls -d /src /out /x";
    let (_, seen) = sh(&devbox, script).await;
    assert_eq!(
        seen,
        "int main;int main;deep\nran\nhello world\nhello $WHO\none\ntwo\nperl\nin a document\nafter\napp\n700\n755\n644\n\
         ls: cannot access '/src': No such file or directory\nls: cannot access '/out': No such file or directory\n/x\n",
        "{log:?}"
    );
    assert_eq!(made.entrypoint, ["/enter", "me"]);
    assert_eq!(made.metadata["label.who"], "world");
    assert_eq!(made.metadata["cmd"], "[\"run\"]");
    assert_eq!(made.metadata["expose"], "80");
    let notes: Vec<_> = log
        .iter()
        .filter(|line| line.starts_with("kept with the image"))
        .collect();
    assert_eq!(
        notes,
        ["kept with the image, without any effect on its build: CMD, ENTRYPOINT, EXPOSE, LABEL"]
    );
    assert!(
        !log.iter().any(|line| line.contains("exit 1")),
        "a stage that nobody needs: {log:?}"
    );

    // Again, nothing is done, and stages that are only copied from are not even looked at.
    let again = shelf.build(recipe.clone()).await;
    assert_eq!(image(&again).disk, made.disk);
    let log = shelf.log(&again).await;
    assert!(!log.iter().any(|line| line == "stage 0"), "{log:?}");
    // A change in a stage that is copied from is seen.
    let changed = Recipe {
        dockerfile: Some(STAGES.replace("echo deep", "echo deeper")),
        ..recipe
    };
    let changed = shelf.build(changed).await;
    assert_ne!(image(&changed).disk, made.disk);
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_imported_image_is_built_on_and_its_configuration_is_the_beginning() {
    let shelf = Shelf::open().await;
    let run = RunConfig {
        env: vec!["PATH=/usr/bin:/bin".to_owned(), "GREETING=hello".to_owned()],
        working_dir: "/work".to_owned(),
        ..RunConfig::default()
    };
    import_small(&shelf, "python:3.12-slim", run);
    let text =
        "FROM python:3.12-slim\nWORKDIR app\nRUN echo \"$GREETING from $PWD\" > /said\nENV MORE=1";
    let built = shelf.build(dockerfile(text)).await;
    let made = image(&built);
    assert_eq!(made.env["GREETING"], "hello");
    assert_eq!(made.env["MORE"], "1");
    assert_eq!(made.working_directory.as_deref(), Some("/work/app"));
    let devbox = shelf.start("of-image", base(&made)).await;
    assert_eq!(
        sh(&devbox, "/bin/cat /said").await,
        (0, "hello from /work/app\n".to_owned())
    );
    let (_, root) = sh(&devbox, "/bin/ls /home").await;
    assert!(
        root.contains("No such file"),
        "none of the host's programs are there: {root}"
    );
    let digest = shelf
        .images
        .find("python:3.12-slim")
        .unwrap()
        .unwrap()
        .digest;
    assert_eq!(built.recipe.images["python:3.12-slim"], digest.to_string());
    let log = shelf.log(&built).await;
    assert!(
        log.contains(&format!("python:3.12-slim is {digest}")),
        "{log:?}"
    );
    // Without a step it is the image itself.
    let plain = shelf.build(dockerfile("FROM python:3.12-slim")).await;
    let devbox = shelf.start("plain", base(&image(&plain))).await;
    assert_eq!(sh(&devbox, "/bin/cat /bin/sh > /dev/null").await.0, 0);
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_copied_from_an_image_that_has_no_shell() {
    let shelf = Shelf::open().await;
    let path = shelf.directory.path().join("uv.tar");
    let files = tar_of(&[("uv", "a program"), ("uvx", "another"), ("lib/a/b", "deep")]);
    fs_err::write(&path, files).unwrap();
    let import = Import {
        name: Some("ghcr.io/astral-sh/uv:0.5".parse().unwrap()),
        ..Import::default()
    };
    shelf.images.import(&path, &import).unwrap();
    let text = "FROM host\nCOPY --from=ghcr.io/astral-sh/uv:0.5 --chown=0:0 /uv /uvx /opt/bin/\n\
        COPY --from=ghcr.io/astral-sh/uv:0.5 /lib /opt/lib\nCOPY --from=ghcr.io/astral-sh/uv:0.5 --chmod=500 uv /opt/one";
    let built = shelf.build(dockerfile(text)).await;
    let devbox = shelf.start("of-image", base(&image(&built))).await;
    let script = "cat /opt/bin/uv /opt/bin/uvx /opt/lib/a/b /opt/one; stat -c ' %a %U' /opt/one";
    let (_, seen) = sh(&devbox, script).await;
    assert_eq!(seen, "a programanotherdeepa program 500 root\n");
    let text = "FROM host\nCOPY --from=ghcr.io/astral-sh/uv:0.5 /nothing /x";
    let missing = shelf.build(dockerfile(text)).await;
    let Build::Failed { message, .. } = &missing.build else {
        panic!("{missing:?}");
    };
    assert!(
        message.contains("line 2: '/nothing' is not in what is copied from"),
        "{message}"
    );
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blueprint_goes_on_meaning_the_image_it_was_made_with() {
    let shelf = Shelf::open().await;
    let path = shelf.directory.path().join("a.tar");
    let import = Import {
        name: Some("data:1".parse().unwrap()),
        ..Import::default()
    };
    let put = |content: &str| {
        fs_err::write(&path, tar_of(&[("x", content)])).unwrap();
        shelf.images.import(&path, &import).unwrap().image.digest
    };
    let first = put("one");
    let recipe = dockerfile("FROM host\nCOPY --from=data:1 /x /x");
    let built = shelf.build(recipe.clone()).await;
    let second = put("two");
    assert_ne!(first, second);
    assert_eq!(built.recipe.images["data:1"], first.to_string());
    let moved = shelf.build(recipe).await;
    assert_eq!(moved.recipe.images["data:1"], second.to_string());
    let devbox = shelf.start("moved", base(&image(&moved))).await;
    assert_eq!(sh(&devbox, "cat /x").await.1, "two");
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_are_named_and_looked_for_without_building() {
    let shelf = Shelf::open().await;
    let named = images_named(
        "ARG V=1\nFROM a:$V AS x\nFROM b\nCOPY --from=c /d /e",
        &[("V".to_owned(), "2".to_owned())].into(),
        None,
    );
    assert_eq!(named.unwrap(), ["b", "c"]);
    let presence = async |name: &str| {
        let found = shelf.blueprints.image_presence(shelf.organization, name);
        found.await.unwrap()
    };
    assert_eq!(presence("host").await, ImagePresence::Here);
    let ImagePresence::Missing { message } = presence("python:3.12-slim").await else {
        panic!("it is not here");
    };
    for part in [
        "python:3.12-slim",
        "proctor image import",
        "--image-layout",
        "image-registries",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(matches!(
        presence("Not A Name").await,
        ImagePresence::Missing { .. }
    ));
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_with_a_group_runs_commands_and_a_build_without_a_network_says_so() {
    let shelf = Shelf::open().await;
    let probe = shelf.start("probe", Base::Host).await;
    let has_users = has_users(&probe).await;
    probe.destroy().await.unwrap();
    if has_users {
        let text = "FROM host\nRUN useradd -u 1234 -m app && groupadd -g 4321 crew\nUSER app:crew\nRUN id -u > /tmp/ids && id -g >> /tmp/ids";
        let built = shelf.build(dockerfile(text)).await;
        let devbox = shelf.start("users", base(&image(&built))).await;
        assert_eq!(sh(&devbox, "cat /tmp/ids").await.1, "1234\n4321\n");
    }
    let failed = shelf.build(dockerfile("FROM host\nRUN exit 7")).await;
    let Build::Failed { message, .. } = &failed.build else {
        panic!("{failed:?}");
    };
    assert!(
        message.contains("status 7") && message.contains("no network policy"),
        "{message}"
    );
    shelf.end().await;
}
