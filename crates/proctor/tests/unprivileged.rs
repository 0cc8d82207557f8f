//! A server that is not root: its devboxes work from end to end, and say what they lack.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{BufRead as _, BufReader},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::Path,
    process::{Child, Command, Stdio},
};

use reqwest::{Client, Method};
use serde_json::{Value, json};

const KEY: &str = "vk_chosen_for_this_test_0123456789";
struct Server {
    child: Child,
    url: String,
    client: Client,
}

impl Server {
    fn start(mut command: Command, data: &Path) -> Self {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PROCTOR_")) {
            command.env_remove(name);
        }
        let mut child = command
            .args([
                "serve",
                "--json",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "warn",
            ])
            .args(["--data".as_ref(), data.as_os_str()])
            .env("PROCTOR_BOOTSTRAP_KEY", KEY)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            url: ready["url"].as_str().unwrap().to_owned(),
            client: Client::new(),
        }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(KEY)
            .body(body.to_string());
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or(Value::Null))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(Method::POST, path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Asks again until the wait is over.
    async fn wait(&self, path: &str, statuses: &[&str]) -> Value {
        let body = json!({"statuses": statuses});
        loop {
            let (code, answer) = self.ask(Method::POST, path, body.clone()).await;
            match code {
                200 => return answer,
                408 => {}
                other => panic!("{other}: {answer}"),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Who the server is when it is not root.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    fs_err::metadata("/proc/self").unwrap().uid() == 0
}

/// A command that somebody unprivileged runs: nobody, or whoever runs this test.
fn unprivileged(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir("/");
    command
}

/// Whether the kernel lets somebody unprivileged make a user namespace.
fn has_user_namespaces() -> bool {
    let tried = unprivileged("unshare").args(["--user", "true"]).status();
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
    fs_err::copy(env!("CARGO_BIN_EXE_proctor"), &program).unwrap();
    fs_err::set_permissions(&program, reachable).unwrap();
    let data = place.path().join("data");
    fs_err::create_dir(&data).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
    }

    let server = Server::start(unprivileged(&program), &data);
    let made = server
        .post("/v1/devboxes", json!({"name": "unprivileged"}))
        .await;
    let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
    let wait = format!("{path}/wait_for_status");
    let view = server.wait(&wait, &["running", "failure"]).await;
    assert_eq!(view["status"], "running", "{view}");
    let limitations = view["limitations"].to_string();
    for word in ["not root", "several users: none", "writable base: none"] {
        assert!(limitations.contains(word), "{word}: {limitations}");
    }
    let logs = format!("{path}/logs");
    let (_, log) = server.ask(Method::GET, &logs, Value::Null).await;
    assert!(log.to_string().contains("not root"), "{log}");

    let run = async |server: &Server, command: &str| {
        let body = json!({"command": command});
        let ran = server.post(&format!("{path}/execute_sync"), body).await;
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
        .post(&format!("{path}/write_file_contents"), body)
        .await;
    let read = server
        .client
        .post(format!("{}{path}/read_file_contents", server.url))
        .bearer_auth(KEY)
        .body(json!({"file_path": "made/by/hand"}).to_string());
    let read = read.send().await.unwrap().text().await.unwrap();
    assert_eq!(read, "words");

    server.post(&format!("{path}/suspend"), json!({})).await;
    server.wait(&wait, &["suspended"]).await;
    assert_eq!(
        run(&server, "cat note").await,
        (Some(0), "kept\n".to_owned())
    );
    let snapshot = server
        .post(&format!("{path}/snapshot_disk"), json!({}))
        .await;
    let on_it = server
        .post("/v1/devboxes", json!({"snapshot_id": snapshot["id"]}))
        .await;
    let restored = format!("/v1/devboxes/{}", on_it["id"].as_str().unwrap());
    let waiting = format!("{restored}/wait_for_status");
    let view = server.wait(&waiting, &["running", "failure"]).await;
    assert_eq!(view["status"], "running", "{view}");
    let body = json!({"command": "cat note made/by/hand"});
    let seen = server.post(&format!("{restored}/execute_sync"), body).await;
    assert_eq!(seen["stdout"], "kept\nwords");

    server.kill();
    let server = Server::start(unprivileged(&program), &data);
    assert_eq!(
        run(&server, "cat note").await,
        (Some(0), "kept\n".to_owned())
    );
    for path in [&path, &restored] {
        let ended = server.post(&format!("{path}/shutdown"), json!({})).await;
        assert_eq!(ended["status"], "shutdown");
    }
    let boxes = data.join("devboxes/local/boxes");
    while fs_err::read_dir(&boxes).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
}
