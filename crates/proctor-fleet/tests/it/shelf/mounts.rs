use std::{collections::BTreeMap, sync::Arc};

use proctor_core::{
    agent::{AgentOrigin, AgentSource},
    mount::{CodeMount, Mount},
    object::ContentType,
};
use proctor_devbox::{Base, Devbox, User};
use proctor_fleet::mounts::Site;

use super::support::{Shelf, sh, tar_of, worker};

const HOME: &str = "/home/user";

async fn apply(
    shelf: &Shelf,
    devbox: &Arc<dyn Devbox>,
    user: &User,
    mount: &Mount,
) -> Result<(), String> {
    let site = Site {
        devbox: &**devbox,
        organization: shelf.organization,
        user,
        home: HOME,
        env: &BTreeMap::new(),
    };
    let applied = shelf.mounter.apply(site, mount).await;
    applied.map_err(|error| error.to_string())
}

fn code(name: &str, reference: Option<&str>, install: Option<&str>) -> Mount {
    Mount::Code(CodeMount {
        owner: "acme".to_owned(),
        name: name.to_owned(),
        token: None,
        reference: reference.map(str::to_owned),
        install: install.map(str::to_owned),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_objects_are_where_they_should_be() {
    let shelf = Shelf::open().await;
    let devbox = shelf.start("mounts", Base::Host).await;
    let user = worker(&devbox).await;
    let file = Mount::File {
        target: "notes/a.txt".to_owned(),
        content: "file".to_owned(),
    };
    apply(&shelf, &devbox, &user, &file).await.unwrap();
    let text = shelf
        .object("b.txt", ContentType::Text, b"text object".to_vec())
        .await;
    let archive = shelf
        .object("c", ContentType::Tar, tar_of(&[("in/c.txt", "in archive")]))
        .await;
    let as_it_is = shelf
        .object("d.tar", ContentType::Binary, tar_of(&[("d", "d")]))
        .await;
    for (object, target) in [
        (text, "/home/user/b.txt"),
        (archive, "/home/user/c"),
        (as_it_is, "~/d.tar"),
    ] {
        let mount = Mount::Object {
            object,
            target: target.to_owned(),
        };
        apply(&shelf, &devbox, &user, &mount).await.unwrap();
    }
    let script = "cd /home/user && cat notes/a.txt; echo; cat b.txt; echo; cat c/in/c.txt; echo; tar -tf d.tar";
    assert_eq!(
        sh(&devbox, script).await,
        (0, "file\ntext object\nin archive\nd\n".to_owned())
    );

    let missing = Mount::Object {
        object: "obj_01K00000000000000000000000".parse().unwrap(),
        target: "/tmp/x".to_owned(),
    };
    let told = apply(&shelf, &devbox, &user, &missing).await.unwrap_err();
    assert!(
        told.contains("object_mount obj_01K00000000000000000000000") && told.contains("no object"),
        "{told}"
    );
    let broken = shelf
        .object("e", ContentType::Tgz, b"no archive".to_vec())
        .await;
    let broken = Mount::Object {
        object: broken,
        target: "/tmp/e".to_owned(),
    };
    let told = apply(&shelf, &devbox, &user, &broken).await.unwrap_err();
    assert!(told.contains("not a readable archive"), "{told}");
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_is_checked_out_again_by_a_launch_that_is_done_again() {
    let shelf = Shelf::open().await;
    shelf.mirror("acme", "rocket");
    let devbox = shelf.start("again", Base::Host).await;
    let user = worker(&devbox).await;
    let mount = code("rocket", None, Some("cat file > installed"));
    apply(&shelf, &devbox, &user, &mount).await.unwrap();
    // As an interrupted launch leaves it: some files are there, some are not.
    let (status, _) = sh(&devbox, "cd /home/user/rocket && rm file && touch half").await;
    assert_eq!(status, 0);
    apply(&shelf, &devbox, &user, &mount).await.unwrap();
    let script = "cd /home/user/rocket && ls";
    assert_eq!(
        sh(&devbox, script).await,
        (0, "file\ninstalled\n".to_owned())
    );

    // What somebody else put there is not touched.
    let script = "rm -rf /home/user/rocket/.git && touch /home/user/rocket/mine";
    assert_eq!(sh(&devbox, script).await.0, 0);
    let told = apply(&shelf, &devbox, &user, &mount).await.unwrap_err();
    assert!(told.contains("already exists"), "{told}");
    assert_eq!(sh(&devbox, "ls /home/user/rocket/mine").await.0, 0);
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_is_checked_out_with_its_history() {
    let shelf = Shelf::open().await;
    shelf.mirror("acme", "rocket");
    let devbox = shelf.start("code", Base::Host).await;
    let user = worker(&devbox).await;
    apply(
        &shelf,
        &devbox,
        &user,
        &code("rocket", None, Some("cat file > installed")),
    )
    .await
    .unwrap();
    let script = "cd /home/user/rocket && export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' && \
        cat installed && git log --format=%s && git branch --show-current && git remote get-url origin && git status --short";
    let (status, seen) = sh(&devbox, script).await;
    assert_eq!(status, 0, "{seen}");
    assert_eq!(
        seen,
        "two\ntwo\none\nmain\nhttps://github.com/acme/rocket.git\n?? installed\n"
    );
    sh(&devbox, "rm -r /home/user/rocket").await;
    apply(&shelf, &devbox, &user, &code("rocket", Some("v1"), None))
        .await
        .unwrap();
    assert_eq!(
        sh(&devbox, "cat /home/user/rocket/file; ls /tmp").await,
        (0, "one\n".to_owned())
    );

    let told = apply(&shelf, &devbox, &user, &code("rocket", Some("v9"), None))
        .await
        .unwrap_err();
    assert!(
        told.starts_with("code_mount acme/rocket: ") && told.contains("'v9'"),
        "{told}"
    );
    sh(&devbox, "rm -r /home/user/rocket").await;
    let told = apply(
        &shelf,
        &devbox,
        &user,
        &code("rocket", None, Some("echo broken; exit 7")),
    )
    .await
    .unwrap_err();
    assert!(
        told.contains("status 7") && told.contains("broken"),
        "{told}"
    );
    for bad in ["../etc", "-x", "a b"] {
        let told = apply(&shelf, &devbox, &user, &code(bad, None, None))
            .await
            .unwrap_err();
        assert!(told.contains("is no name"), "{told}");
    }
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_from_an_object_is_unpacked_and_set_up() {
    let shelf = Shelf::open().await;
    let devbox = shelf.start("agents", Base::Host).await;
    let user = worker(&devbox).await;
    let object = shelf
        .object(
            "agent",
            ContentType::Tar,
            tar_of(&[("run.sh", "echo agent")]),
        )
        .await;
    let source = AgentSource {
        origin: AgentOrigin::Object(object),
        setup: vec!["chmod +x run.sh && pwd > where".to_owned()],
    };
    for version in ["1", "2"] {
        shelf
            .store
            .create_agent(
                shelf.organization,
                "helper".to_owned(),
                Some(version.to_owned()),
                Some(source.clone()),
            )
            .await
            .unwrap();
    }
    let mount = |target: Option<&str>, name: &str| Mount::Agent {
        agent: None,
        name: Some(name.to_owned()),
        target: target.map(str::to_owned),
        token: None,
    };
    apply(
        &shelf,
        &devbox,
        &user,
        &mount(Some("/home/user/agent"), "helper"),
    )
    .await
    .unwrap();
    let (_, seen) = sh(&devbox, "cd /home/user/agent && cat where && ./run.sh").await;
    assert_eq!(seen, "/home/user/agent\nagent\n");
    let told = apply(&shelf, &devbox, &user, &mount(None, "helper"))
        .await
        .unwrap_err();
    assert!(
        told.contains("agent_mount helper") && told.contains("agent_path"),
        "{told}"
    );
    let told = apply(&shelf, &devbox, &user, &mount(None, "nobody"))
        .await
        .unwrap_err();
    assert!(told.contains("no such agent"), "{told}");
    shelf.end().await;
}
