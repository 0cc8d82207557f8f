//! A server that is not root: its devboxes work from end to end, and say what they lack.

use std::{
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
};

use proctor_testkit::server::{KEY, Server, serve};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{PROCTOR, leftovers::no_box_is_left};

/// Who the server is when it is not root.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    fs_err::metadata("/proc/self").unwrap().uid() == 0
}

/// Lets a command be run by somebody unprivileged: nobody, or whoever runs this test.
fn unprivileged(command: &mut Command) -> &mut Command {
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir("/")
}

fn start(program: &Path, data: &Path) -> Server {
    let mut command = serve(program.to_str().unwrap(), data);
    command
        .args(["--log", "warn"])
        .env("PROCTOR_BOOTSTRAP_KEY", KEY);
    Server::start(unprivileged(&mut command))
}

/// Whether the kernel lets somebody unprivileged make a user namespace.
fn has_user_namespaces() -> bool {
    let mut command = Command::new("unshare");
    let tried = unprivileged(command.args(["--user", "true"])).status();
    // Without the program that asks, the server finds out.
    tried.is_err() || tried.is_ok_and(|status| status.success())
}

#[tokio::test]
async fn devboxes_of_a_server_that_is_not_root_work_and_say_what_they_lack() {
    if !has_user_namespaces() {
        eprintln!("skipped: this kernel forbids user namespaces to users who are not root");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let reachable = std::fs::Permissions::from_mode(0o755);
    fs_err::set_permissions(place.path(), reachable.clone()).unwrap();
    // The program may lie where only its owner can reach it.
    let program = place.path().join("proctor");
    fs_err::copy(PROCTOR, &program).unwrap();
    fs_err::set_permissions(&program, reachable).unwrap();
    let data = place.path().join("data");
    fs_err::create_dir(&data).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
    }

    let mut server = start(&program, &data);
    let made = server
        .caller()
        .post("/v1/devboxes", json!({"name": "unprivileged"}))
        .await;
    let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
    let wait = format!("{path}/wait_for_status");
    let view = server.caller().wait(&wait, &["running", "failure"]).await;
    assert_eq!(view["status"], "running", "{view}");
    let limitations = view["limitations"].to_string();
    for word in ["not root", "several users: none", "writable base: none"] {
        assert!(limitations.contains(word), "{word}: {limitations}");
    }
    let logs = format!("{path}/logs");
    let (_, log) = server.caller().ask(Method::GET, &logs, Value::Null).await;
    assert!(log.to_string().contains("not root"), "{log}");

    let run = async |server: &Server, command: &str| {
        let body = json!({"command": command});
        let ran = server
            .caller()
            .post(&format!("{path}/execute_sync"), body)
            .await;
        let text = |field: &str| ran[field].as_str().unwrap_or_default().to_owned();
        (
            ran["exit_status"].as_i64(),
            text("stdout") + &text("stderr"),
        )
    };
    let script = "id -u; pwd; echo kept >note; sleep 300 & echo $((6 * 7))";
    let (status, said) = run(&server, script).await;
    assert_eq!((status, said.as_str()), (Some(0), "0\n/home/user\n42\n"));
    let (status, said) = run(&server, "cat /etc/shadow; ls /root/.ssh; exit 3").await;
    assert_eq!(status, Some(3), "{said}");
    let body = json!({"file_path": "made/by/hand", "contents": "words"});
    server
        .caller()
        .post(&format!("{path}/write_file_contents"), body)
        .await;
    let read = reqwest::Client::new()
        .post(server.url(&format!("{path}/read_file_contents")))
        .bearer_auth(KEY)
        .body(json!({"file_path": "made/by/hand"}).to_string());
    let read = read.send().await.unwrap().text().await.unwrap();
    assert_eq!(read, "words");

    server
        .caller()
        .post(&format!("{path}/suspend"), json!({}))
        .await;
    server.caller().wait(&wait, &["suspended"]).await;
    assert_eq!(
        run(&server, "cat note").await,
        (Some(0), "kept\n".to_owned())
    );
    let snapshot = server
        .caller()
        .post(&format!("{path}/snapshot_disk"), json!({}))
        .await;
    let on_it = server
        .caller()
        .post("/v1/devboxes", json!({"snapshot_id": snapshot["id"]}))
        .await;
    let restored = format!("/v1/devboxes/{}", on_it["id"].as_str().unwrap());
    let waiting = format!("{restored}/wait_for_status");
    let view = server
        .caller()
        .wait(&waiting, &["running", "failure"])
        .await;
    assert_eq!(view["status"], "running", "{view}");
    let body = json!({"command": "cat note made/by/hand"});
    let seen = server
        .caller()
        .post(&format!("{restored}/execute_sync"), body)
        .await;
    assert_eq!(seen["stdout"], "kept\nwords");

    server.kill();
    let server = start(&program, &data);
    assert_eq!(
        run(&server, "cat note").await,
        (Some(0), "kept\n".to_owned())
    );
    for path in [&path, &restored] {
        let ended = server
            .caller()
            .post(&format!("{path}/shutdown"), json!({}))
            .await;
        assert_eq!(ended["status"], "shutdown");
    }
    no_box_is_left(&data).await;
}
