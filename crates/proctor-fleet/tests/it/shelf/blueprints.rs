use proctor_core::{
    blueprint::{BaseReference, Blueprint, Build, BuildFailure, ImageDisk, Recipe},
    document::Document,
    mount::CodeMount,
    object::ContentType,
};
use proctor_devbox::{Base, LayerId};
use proctor_fleet::blueprints::BlueprintError;
use serde_json::json;

use super::support::{Shelf, dockerfile, image, sh, tar_of};
use proctor_testkit::eventually;

fn layer(blueprint: &Blueprint) -> Base {
    match image(blueprint).disk {
        ImageDisk::Layer(name) => Base::Layer(LayerId::new(name).unwrap()),
        other => panic!("no layer: {other:?}"),
    }
}

fn failure(blueprint: &Blueprint) -> (BuildFailure, String) {
    match &blueprint.build {
        Build::Failed {
            reason, message, ..
        } => (*reason, message.clone()),
        other => panic!("not failed: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_setting_lets_every_image_that_is_not_there_mean_the_host() {
    let shelf = Shelf::open_with([("*".to_owned(), ImageDisk::Host)].into()).await;
    let built = shelf
        .build(dockerfile("FROM ubuntu:22.04\nRUN echo made > /made"))
        .await;
    let base = layer(&built);
    let log = shelf.log(&built).await;
    assert!(
        log[0].contains("there is no image 'ubuntu:22.04' on this server")
            && log[0].contains("the host's programs took its place"),
        "{log:?}"
    );
    let devbox = shelf.start("of-image", base).await;
    assert_eq!(sh(&devbox, "cat /made").await, (0, "made\n".to_owned()));
    devbox.destroy().await.unwrap();
    // What is there is not replaced, and nothing is said of it.
    let on_top = Recipe {
        name: "debian:13".to_owned(),
        ..dockerfile("FROM host\nENV A=1")
    };
    shelf.build(on_top).await;
    let built = shelf.build(dockerfile("FROM debian:13")).await;
    assert_eq!(image(&built).env["A"], "1");
    let log = shelf.log(&built).await.join("\n");
    assert!(!log.contains("no image"), "{log}");
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dockerfile_becomes_a_disk_and_is_not_built_twice() {
    let shelf = Shelf::open().await;
    let context = tar_of(&[
        ("src/main.c", "int main;"),
        ("src/lib/x.h", "x"),
        ("README.md", "read me"),
        ("LICENSE.md", "free"),
    ]);
    let context = shelf.object("context", ContentType::Tgz, context).await;
    let text = "FROM host\nARG WHO=world\nENV GREETING=hello\n\
        RUN echo \"$GREETING $WHO\" > /made && echo to-the-log && echo to-errors >&2\n\
        WORKDIR /app\nCOPY src .\nCOPY *.md docs/\nCOPY README.md /tmp/renamed\nCOPY --chmod=600 README.md /etc\n\
        RUN [\"/bin/sh\", \"-c\", \"pwd > where\"]\n";
    let recipe = Recipe {
        build_context: Some(context),
        build_args: [("WHO".to_owned(), "you".to_owned())].into(),
        file_mounts: [("/etc/greeting.conf".to_owned(), "conf".to_owned())].into(),
        system_setup_commands: vec!["id -u > /setup".to_owned()],
        ..dockerfile(text)
    };
    let built = shelf.build(recipe.clone()).await;
    let log = shelf.log(&built).await;
    let image = image(&built);
    assert_eq!(image.env["GREETING"], "hello");
    assert!(!image.env.contains_key("WHO"), "arguments do not stay");
    assert_eq!(image.working_directory.as_deref(), Some("/app"));
    for line in ["to-the-log", "to-errors", "build complete", "WORKDIR /app"] {
        assert!(
            log.iter().any(|message| message == line),
            "{line} in {log:?}"
        );
    }
    let devbox = shelf.start("from-blueprint", layer(&built)).await;
    let script = "cat /made /app/where /app/main.c /app/lib/x.h /app/docs/README.md /app/docs/LICENSE.md /tmp/renamed \
        /etc/README.md /etc/greeting.conf /setup; stat -c '%a %U' /etc/README.md /app/main.c; stat -c %a /tmp /etc";
    let (status, seen) = sh(&devbox, script).await;
    assert_eq!(status, 0, "{seen}");
    assert_eq!(
        seen,
        "hello you\n/app\nint main;xread mefreeread meread meconf0\n600 root\n644 root\n1777\n755\n"
    );

    let again = shelf.build(recipe.clone()).await;
    assert_eq!(image.disk, super::support::image(&again).disk);
    let log = shelf.log(&again).await;
    assert_eq!(
        log.iter().filter(|line| line.ends_with("(cached)")).count(),
        again.layers.len(),
        "{log:?}"
    );

    let mut changed = recipe;
    changed.system_setup_commands = vec!["echo other > /setup".to_owned()];
    let changed = shelf.build(changed).await;
    assert_ne!(image.disk, super::support::image(&changed).disk);
    let common = changed
        .layers
        .iter()
        .filter(|layer| built.layers.contains(layer))
        .count();
    assert_eq!(
        common,
        built.layers.len() - 1,
        "all steps but the last are found again"
    );
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_context_ignores_is_not_copied_and_does_not_count() {
    let shelf = Shelf::open().await;
    let build = async |ignored: &str, secret: &str, text: &str| {
        let files = [
            (".dockerignore", ignored),
            ("app/main.py", "main"),
            ("app/cache/x.pyc", "x"),
            ("app/cache/keep", "kept"),
            ("secret.env", secret),
        ];
        let context = shelf
            .object("context", ContentType::Tar, tar_of(&files))
            .await;
        let recipe = Recipe {
            build_context: Some(context),
            ..dockerfile(text)
        };
        shelf.build(recipe).await
    };
    let rules = "# not for builds\n.dockerignore\n*.env\n**/cache\n!app/cache/keep\n";
    let everything = "FROM host\nCOPY . /all/";
    let first = build(rules, "a", everything).await;
    let devbox = shelf.start("ignoring", layer(&first)).await;
    let (status, seen) = sh(&devbox, "cd /all && find . -type f | sort").await;
    assert_eq!(
        (status, seen.as_str()),
        (0, "./app/cache/keep\n./app/main.py\n")
    );
    let again = build(rules, "b", everything).await;
    assert_eq!(image(&first).disk, image(&again).disk);

    let named = build(rules, "a", "FROM host\nCOPY secret.env /x").await;
    let (reason, message) = failure(&named);
    assert_eq!(reason, BuildFailure::BuildFailed);
    assert!(
        message.contains("'secret.env' is not in the build context"),
        "{message}"
    );
    let wrong = build("[a-", "a", everything).await;
    let (_, message) = failure(&wrong);
    assert!(message.contains(".dockerignore line 1: "), "{message}");
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_built_again_only_if_what_it_copies_changed() {
    let shelf = Shelf::open().await;
    let build = async |files: &[(&str, &str)]| {
        let context = shelf
            .object("context", ContentType::Tar, tar_of(files))
            .await;
        let recipe = Recipe {
            build_context: Some(context),
            ..dockerfile("FROM host\nCOPY a /a")
        };
        image(&shelf.build(recipe).await).disk
    };
    let first = build(&[("a", "1"), ("b", "1")]).await;
    assert_eq!(first, build(&[("b", "2"), ("a", "1")]).await);
    assert_ne!(first, build(&[("a", "2"), ("b", "1")]).await);
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_fails_ends_the_build_and_says_why() {
    let shelf = Shelf::open().await;
    let failed = shelf
        .build(dockerfile(
            "FROM host\nRUN true\nRUN echo why-not >&2; exit 3\nRUN true",
        ))
        .await;
    let (reason, message) = failure(&failed);
    assert_eq!(reason, BuildFailure::BuildFailed);
    assert!(
        message.contains("status 3") && message.contains("RUN echo why-not"),
        "{message}"
    );
    assert_eq!(failed.layers.len(), 1, "what worked is kept");
    let log = shelf.log(&failed).await;
    assert!(
        log.contains(&"why-not".to_owned()) && log.last() == Some(&message),
        "{log:?}"
    );
    let used = shelf.blueprints.image(shelf.organization, failed.id).await;
    assert!(
        matches!(used, Err(BlueprintError::NotBuilt("failed"))),
        "{used:?}"
    );

    let context = shelf
        .object("context", ContentType::Tar, tar_of(&[("a", "1")]))
        .await;
    let recipe = Recipe {
        build_context: Some(context),
        ..dockerfile("FROM host\nCOPY missing /x")
    };
    let (_, message) = failure(&shelf.build(recipe).await);
    assert!(
        message.contains("line 2") && message.contains("'missing'"),
        "{message}"
    );
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blueprints_build_on_blueprints_and_layers_go_with_the_last_that_needs_them() {
    let shelf = Shelf::open().await;
    let base = shelf
        .build(Recipe {
            name: "base".to_owned(),
            ..dockerfile("FROM host\nENV A=1\nRUN echo base > /base")
        })
        .await;
    let by_id = shelf
        .build(Recipe {
            base: Some(BaseReference::Id(base.id)),
            system_setup_commands: vec!["cp /base /copy".to_owned()],
            ..Recipe::default()
        })
        .await;
    assert_eq!(by_id.base, Some(base.id));
    assert_eq!(image(&by_id).env["A"], "1");
    let by_from = shelf.build(dockerfile("FROM base\nRUN echo $A > /a")).await;
    let devbox = shelf.start("derived", layer(&by_from)).await;
    assert_eq!(
        sh(&devbox, "cat /base /a").await,
        (0, "base\n1\n".to_owned())
    );
    devbox.destroy().await.unwrap();

    let layers = async || shelf.backend.layers().await.unwrap().len();
    assert_eq!(layers().await, 3);
    let delete = async |blueprint: &Blueprint| {
        let deleted = shelf
            .blueprints
            .delete(shelf.organization, blueprint.id)
            .await
            .unwrap();
        assert!(deleted.deleted_at.is_some());
    };
    delete(&base).await;
    assert_eq!(layers().await, 3, "others stand on it");
    delete(&by_id).await;
    assert_eq!(layers().await, 2);
    delete(&by_from).await;
    assert_eq!(layers().await, 0);
    delete(&by_from).await;
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_reach_commands_and_neither_the_log_nor_the_image() {
    let shelf = Shelf::open().await;
    shelf
        .store
        .create_secret(shelf.organization, "PASSWORD", &"hush-hush-hush".into())
        .await
        .unwrap();
    let recipe = Recipe {
        secrets: [("DB_PASS".to_owned(), "PASSWORD".to_owned())].into(),
        ..dockerfile(
            "FROM host\nRUN echo \"it is $DB_PASS\"; printf %s \"$DB_PASS\" | wc -c > /length",
        )
    };
    let built = shelf.build(recipe).await;
    let log = shelf.log(&built).await;
    assert!(log.contains(&"it is ********".to_owned()), "{log:?}");
    assert!(image(&built).env.is_empty());
    let devbox = shelf.start("secretive", layer(&built)).await;
    assert_eq!(
        sh(&devbox, "cat /length; env").await.1.lines().next(),
        Some("14")
    );
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_in_a_recipe_needs_its_token_only_while_it_is_built() {
    let shelf = Shelf::open().await;
    shelf.mirror("acme", "rocket");
    let recipe = Recipe {
        code_mounts: vec![CodeMount {
            owner: "acme".to_owned(),
            name: "rocket".to_owned(),
            token: Some("token-of-nobody".to_owned()),
            reference: Some("v1".to_owned()),
            install: Some("cp file /tmp/installed".to_owned()),
        }],
        ..Recipe::default()
    };
    let built = shelf.build(recipe).await;
    let devbox = shelf.start("with-code", layer(&built)).await;
    assert_eq!(
        sh(&devbox, "cat /home/user/rocket/file /tmp/installed").await,
        (0, "one\none\n".to_owned())
    );
    assert_eq!(built.recipe.code_mounts[0].token, None);
    assert!(
        shelf
            .store
            .blueprint_tokens(built.id)
            .await
            .unwrap()
            .is_empty()
    );
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recipe_that_cannot_work_is_refused_at_once() {
    let shelf = Shelf::open().await;
    for (recipe, part) in [
        (
            dockerfile("FROM ubuntu:22.04"),
            "line 1: there is no image 'ubuntu:22.04'",
        ),
        (
            dockerfile("FROM host\nONBUILD RUN true"),
            "line 2: ONBUILD is for images",
        ),
        (
            dockerfile("FROM host\nCOPY a b"),
            "line 2: there is no build_context",
        ),
        (
            Recipe {
                base: Some(BaseReference::Name("nobody".to_owned())),
                ..Recipe::default()
            },
            "base_blueprint_name: no blueprint 'nobody'",
        ),
        (
            Recipe {
                secrets: [("A".to_owned(), "MISSING".to_owned())].into(),
                ..Recipe::default()
            },
            "secrets: there is no secret 'MISSING'",
        ),
        (
            Recipe {
                build_context: Some("obj_01K00000000000000000000000".parse().unwrap()),
                ..Recipe::default()
            },
            "build_context: no object",
        ),
        (
            Recipe {
                launch_parameters: Some(Document::of(
                    json!({"network_policy_id": "npo_01K00000000000000000000000"}),
                )),
                ..Recipe::default()
            },
            "launch_parameters.network_policy_id: there is no network policy",
        ),
    ] {
        let refused = shelf.blueprints.create(shelf.organization, recipe).await;
        let told = refused.unwrap_err().to_string();
        assert!(told.contains(part), "{told} should say {part}");
    }
    let preview = shelf
        .blueprints
        .preview(shelf.organization, &Recipe::default())
        .await;
    assert_eq!(preview.unwrap(), "FROM host\n");
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_was_interrupted_is_begun_again() {
    let shelf = Shelf::open().await;
    let recipe = dockerfile("FROM host\nRUN echo one > /one\nRUN sleep 1000");
    let id = shelf
        .blueprints
        .create(shelf.organization, recipe)
        .await
        .unwrap()
        .id;
    // The first layer is there: the second step is at work.
    eventually("there is a layer", async || {
        !shelf.backend.layers().await.unwrap().is_empty()
    })
    .await;
    shelf.blueprints.close().await;
    let unfinished = shelf.store.unfinished_blueprints().await.unwrap();
    assert_eq!(
        unfinished.iter().map(|one| one.id).collect::<Vec<_>>(),
        [id]
    );
    assert!(
        shelf.backend.list().await.unwrap().is_empty(),
        "its box is gone"
    );
    let next = proctor_fleet::blueprints::Blueprints::new(
        shelf.store.clone(),
        std::sync::Arc::clone(&shelf.backend),
        shelf.mounter.clone(),
        proctor_fleet::blueprints::BlueprintOptions::new(shelf.directory.path().join("builds")),
    );
    next.recover().await.unwrap();
    eventually("the first step is found built", async || {
        let lines = next.logs(shelf.organization, id).await.unwrap();
        lines
            .iter()
            .any(|line| line.message.ends_with("/one (cached)"))
    })
    .await;
    next.close().await;
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_that_is_added_is_unpacked() {
    let shelf = Shelf::open().await;
    let inner = tar_of(&[("x/y", "inner")]);
    let mut outer = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(inner.len() as u64);
    header.set_mode(0o644);
    outer
        .append_data(&mut header, "in.tar", &inner[..])
        .unwrap();
    let context = shelf
        .object("context", ContentType::Tar, outer.into_inner().unwrap())
        .await;
    let recipe = Recipe {
        build_context: Some(context),
        ..dockerfile("FROM host\nADD in.tar /added\nCOPY in.tar /copied/")
    };
    let built = shelf.build(recipe).await;
    let devbox = shelf.start("adding", layer(&built)).await;
    assert_eq!(
        sh(&devbox, "cat /added/x/y; tar -tf /copied/in.tar").await,
        (0, "innerx/y\n".to_owned())
    );
    shelf.end().await;
}
