//! The server as people run it: first start, second start, signals, faults.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::Path,
    process::{Command, Output, Stdio},
};

use proctor_testkit::eventually;
use proctor_testkit::server::{self, Server};
use serde_json::Value;
use tempfile::TempDir;

use crate::PROCTOR;

fn proctor() -> Command {
    server::proctor(PROCTOR)
}

fn serve(data: &Path) -> Command {
    let mut command = server::serve(PROCTOR, data);
    command.args(["--log", "warn"]);
    command
}

async fn status(url: &str, key: &str) -> u16 {
    reqwest::Client::new()
        .get(url)
        .bearer_auth(key)
        .send()
        .await
        .unwrap()
        .status()
        .as_u16()
}

fn run(arguments: &[&str], data: &Path) -> Output {
    proctor()
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap().trim()
}

#[tokio::test]
async fn the_first_start_shows_a_key_that_works_and_no_other_start_does() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&mut serve(data.path()));
    let key = server.first_key().unwrap().to_owned();
    assert_eq!(status(&server.url("/solvers"), &key).await, 200);
    assert_eq!(
        status(&server.url("/solvers"), "vk_somebody_elses_key").await,
        401
    );
    let operator = server.operator_key().unwrap().to_owned();
    assert!(operator.starts_with("vk_op_"), "{operator}");
    assert_eq!(status(&server.url("/organizations"), &operator).await, 200);
    assert_eq!(status(&server.url("/organizations"), &key).await, 401);
    assert_eq!(status(&server.url("/solvers"), &operator).await, 401);
    server.signal("TERM");
    assert_eq!(server.exit_code(), Some(0));

    let server = Server::start(&mut serve(data.path()));
    assert_eq!(server.first_key(), None);
    assert_eq!(server.operator_key(), None);
    assert_eq!(
        status(&server.url("/solvers"), &key).await,
        200,
        "the key outlives the server"
    );
}

#[tokio::test]
async fn the_first_key_can_be_chosen() {
    let data = TempDir::new().unwrap();
    let chosen = "ak_chosen_0123456789abcdef";
    let server = Server::start(serve(data.path()).env("PROCTOR_BOOTSTRAP_KEY", chosen));
    assert_eq!(server.first_key(), None, "it is known already");
    assert_eq!(status(&server.url("/v1/accounts/me"), chosen).await, 200);

    let other = TempDir::new().unwrap();
    let refused = serve(other.path())
        .env("PROCTOR_BOOTSTRAP_KEY", "short")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("at least 16"),
        "{}",
        text(&refused.stderr)
    );
}

#[tokio::test]
async fn what_people_see_at_the_first_start_can_be_copied_and_run() {
    let data = TempDir::new().unwrap();
    let mut child = proctor()
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log",
            "warn",
            "--data",
        ])
        .arg(data.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let curl = lines
        .find(|line| line.trim_start().starts_with("curl "))
        .unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("{curl} --silent --fail")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{curl}");
    assert!(
        text(&output.stdout).starts_with(r#"{"data":[]"#),
        "{}",
        text(&output.stdout)
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn organizations_and_operators_keys_are_made_on_the_command_line() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&mut serve(data.path()));
    let arguments = [
        "organizations",
        "create",
        "North Clinic",
        "--runs",
        "3",
        "--json",
    ];
    let made = run(&arguments, data.path());
    assert!(made.status.success(), "{}", text(&made.stderr));
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(made["limits"]["runs"], 3);
    let key = made["key"].as_str().unwrap();
    assert_eq!(status(&server.url("/solvers"), key).await, 200);
    let listed = run(&["organizations", "list"], data.path());
    let listed = text(&listed.stdout);
    assert!(
        listed.contains("North Clinic") && listed.contains("default"),
        "{listed}"
    );

    let made = run(&["keys", "create", "--operator"], data.path());
    assert!(made.status.success(), "{}", text(&made.stderr));
    let operator = text(&made.stdout);
    assert_eq!(status(&server.url("/organizations"), operator).await, 200);
    assert_eq!(status(&server.url("/v1/devboxes"), operator).await, 401);
    let listed = run(&["keys", "list", "--operator", "--json"], data.path());
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    let revoked = run(&["keys", "revoke", "--operator", id], data.path());
    assert!(revoked.status.success(), "{}", text(&revoked.stderr));
    assert_eq!(status(&server.url("/organizations"), operator).await, 401);
    let both = run(&["keys", "list", "--operator", "--solver", id], data.path());
    assert_eq!(both.status.code(), Some(2));
}

#[tokio::test]
async fn keys_made_on_the_command_line_work_until_they_are_revoked() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&mut serve(data.path()));
    let made = run(&["keys", "create", "--name", "ci", "--json"], data.path());
    let made: Value = serde_json::from_str(text(&made.stdout)).unwrap();
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    assert_eq!(status(&server.url("/api-keys"), key).await, 200);
    let listed = run(&["keys", "list"], data.path());
    assert!(text(&listed.stdout).contains(id) && !text(&listed.stdout).contains(key));

    assert_eq!(
        run(&["keys", "revoke", id], data.path()).status.code(),
        Some(0)
    );
    assert_eq!(
        run(&["keys", "revoke", id], data.path()).status.code(),
        Some(1),
        "there is none any more"
    );
    eventually("a revoked key is refused", async || {
        status(&server.url("/api-keys"), key).await == 401
    })
    .await;
}

#[test]
fn a_port_that_is_taken_is_said_so_and_costs_no_key() {
    let data = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = proctor()
        .args(["serve", "--listen", &address, "--data"])
        .arg(data.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let said = text(&refused.stderr);
    assert!(
        said.contains(&address) && said.contains("--listen 127.0.0.1:0"),
        "{said}"
    );
    let server = Server::start(&mut serve(data.path()));
    assert!(
        server.first_key().is_some(),
        "the key is shown at the start that succeeds"
    );
}

#[test]
fn a_damaged_or_wrong_configuration_file_is_named_with_its_line() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("proctor.toml");
    for (content, hint) in [
        ("listen = \"127.0.0.1:0\"\n", "unknown field `listen`"),
        ("[serve]\nlisten = 7070\n", "line 2"),
        ("[serve]\nrate-limit = 0\n", "nonzero"),
        ("= =", "line 1"),
    ] {
        fs_err::write(&file, content).unwrap();
        let refused = proctor()
            .args(["serve", "--config"])
            .arg(&file)
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(2), "{content}");
        let said = text(&refused.stderr);
        assert!(
            said.contains("proctor.toml") && said.contains(hint),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_flag_goes_before_a_variable_and_a_variable_before_the_file() {
    let (flag, variable, file) = (
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
    );
    let config = file.path().join("proctor.toml");
    fs_err::write(
        &config,
        format!(
            "data = {:?}\n[serve]\nlisten = \"127.0.0.1:0\"\n",
            file.path()
        ),
    )
    .unwrap();
    let command = || {
        let mut command = proctor();
        command
            .args(["serve", "--json", "--log", "warn"])
            .env("PROCTOR_CONFIG", &config);
        command
    };
    let has_store = |directory: &TempDir| directory.path().join("proctor.db").exists();
    drop(Server::start(
        command()
            .env("PROCTOR_DATA", variable.path())
            .arg("--data")
            .arg(flag.path()),
    ));
    assert!(has_store(&flag) && !has_store(&variable) && !has_store(&file));
    drop(Server::start(
        command().env("PROCTOR_DATA", variable.path()),
    ));
    assert!(has_store(&variable) && !has_store(&file));
    drop(Server::start(&mut command()));
    assert!(has_store(&file));
}

#[tokio::test]
async fn a_journal_that_was_tampered_with_makes_the_answer_no() {
    let data = TempDir::new().unwrap();
    drop(Server::start(&mut serve(data.path())));
    let database = format!("sqlite:{}", data.path().join("proctor.db").display());
    let pool = sqlx::SqlitePool::connect(&database).await.unwrap();
    for statement in [
        "INSERT INTO journal_marks (world, seq, follows) VALUES ($1, 0, -1)",
        "INSERT INTO journal_events (follows, place, world, seq, at, kind, payload, hash) \
         VALUES (-1, 1, $1, 0, 0, 'note', x'7b7d', zeroblob(32))",
    ] {
        sqlx::query(statement)
            .bind("01J00000000000000000000000")
            .execute(&pool)
            .await
            .unwrap();
    }
    let verified = run(&["verify-journal"], data.path());
    assert_eq!(verified.status.code(), Some(1));
    assert_eq!(
        text(&verified.stdout),
        "event 0 of wld_01J00000000000000000000000 is not what was written\n0 of 1 world(s) intact, with 0 event(s)"
    );
    let verified = run(
        &[
            "verify-journal",
            "--json",
            "--world",
            "wld_01J00000000000000000000000",
        ],
        data.path(),
    );
    let line: Value = serde_json::from_str(text(&verified.stdout)).unwrap();
    assert_eq!(
        (&line["intact"], &line["event"]),
        (&Value::from(false), &Value::from(0))
    );
}

#[tokio::test]
async fn a_locked_database_is_a_503_with_advice_and_passes_without_a_restart() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&mut serve(data.path()));
    let key = server.first_key().unwrap();
    let database = format!("sqlite:{}", data.path().join("proctor.db").display());
    let pool = sqlx::SqlitePool::connect(&database).await.unwrap();
    let lock = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let create = || {
        reqwest::Client::new()
            .post(server.url("/v1/secrets"))
            .bearer_auth(key)
            .json(&serde_json::json!({"name": "A", "value": "b"}))
            .send()
    };
    let refused = create().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    assert!(refused.json::<Value>().await.unwrap()["message"].is_string());
    lock.rollback().await.unwrap();
    assert_eq!(create().await.unwrap().status(), 200);
}

#[test]
fn the_version_says_how_the_program_was_built() {
    let output = proctor().arg("--version").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let (version, build) = said.trim().split_once('\n').unwrap();
    assert_eq!(version, concat!("proctor ", env!("CARGO_PKG_VERSION")));
    for fact in ["commit ", "rustc ", std::env::consts::ARCH] {
        assert!(build.contains(fact), "{build}");
    }
    let short = proctor().arg("-V").output().unwrap();
    assert_eq!(String::from_utf8(short.stdout).unwrap().trim(), version);
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    let done = proctor().arg("man").arg(&pages).status().unwrap();
    assert!(done.success());
    for page in ["proctor.1", "proctor-serve.1", "proctor-benchmark-admit.1"] {
        let text = fs_err::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = proctor().args(["completions", shell]).output().unwrap();
        assert!(
            output.status.success() && text(&output.stdout).contains("verify-journal"),
            "{shell}"
        );
    }
}

#[tokio::test]
async fn sigterm_lets_a_request_finish_that_is_under_way() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let data = TempDir::new().unwrap();
    let server = Server::start(&mut serve(data.path()));
    let key = server.first_key().unwrap().to_owned();
    let address = server.url("").trim_start_matches("http://").to_owned();
    let body = r#"{"name": "A", "value": "b"}"#;
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "POST /v1/secrets HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body.as_bytes()[..5]).await.unwrap();
    stream.flush().await.unwrap();
    // The request is known to be under way once the server counts it.
    let counted = || async {
        let metrics = reqwest::get(server.url("/metrics"))
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        metrics.lines().any(|line| {
            line.contains("in_flight") && !line.starts_with('#') && line.ends_with(" 2")
        })
    };
    eventually("the connection is counted", async || counted().await).await;
    server.signal("TERM");
    eventually("the port is closed", async || {
        tokio::net::TcpStream::connect(&address).await.is_err()
    })
    .await;
    stream.write_all(&body.as_bytes()[5..]).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(server.exit_code(), Some(0));
}

#[tokio::test]
async fn a_fhir_store_can_be_served_by_itself() {
    let directory = TempDir::new().unwrap();
    let patient = directory.path().join("patient.json");
    fs_err::write(
        &patient,
        r#"{"resourceType":"Patient","id":"ada","birthDate":"1815-12-10"}"#,
    )
    .unwrap();
    let fhir = |data: &str| {
        let mut command = proctor();
        command
            .args(["fhir", "--json", "--listen", "127.0.0.1:0", "--load"])
            .arg(&patient);
        command.arg("--data").arg(directory.path().join(data));
        command
    };
    let found = |server: &Server, query: &str| {
        let url = server.url(query);
        async move {
            reqwest::get(url)
                .await
                .unwrap()
                .json::<Value>()
                .await
                .unwrap()["total"]
                .clone()
        }
    };
    let server = Server::start(&mut fhir("kept"));
    assert_eq!(found(&server, "/Patient?birthdate=1815").await, 1);
    let born = reqwest::Client::new()
        .post(server.url("/Patient"))
        .header("content-type", "application/fhir+json")
        .body(r#"{"resourceType":"Patient","birthDate":"1815-12-11"}"#)
        .send()
        .await
        .unwrap();
    assert_eq!(born.status(), 201);
    server.signal("TERM");
    assert_eq!(server.exit_code(), Some(0));
    let again = Server::start(&mut fhir("kept"));
    assert_eq!(
        found(&again, "/Patient?birthdate=1815").await,
        2,
        "what was written is still there"
    );

    let guarded = Server::start(fhir("guarded").args(["--client", "id:secret"]));
    assert_eq!(
        reqwest::get(guarded.url("/Patient"))
            .await
            .unwrap()
            .status(),
        401
    );
    fs_err::write(&patient, "{").unwrap();
    let refused = fhir("refused").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("patient.json"),
        "{}",
        text(&refused.stderr)
    );
}

/// Starts a server that is to refuse; what it says.
fn refusal(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success());
    text(&output.stderr).to_owned()
}

#[tokio::test]
async fn a_second_server_on_the_same_data_says_who_the_first_is_and_one_after_a_crash_starts_at_once()
 {
    let data = TempDir::new().unwrap();
    let mut first = Server::start(&mut serve(data.path()));
    let said = refusal(&mut serve(data.path()));
    let holder = format!("process {}", first.pid());
    assert!(
        said.contains(&holder) && said.contains("wrong results"),
        "{said}"
    );
    let key = first.first_key().unwrap().to_owned();
    assert_eq!(
        status(&first.url("/solvers"), &key).await,
        200,
        "the first goes on"
    );
    // What only looks or makes a key may be used meanwhile.
    assert!(run(&["keys", "list"], data.path()).status.success());
    first.kill();
    let second = Server::start(&mut serve(data.path()));
    assert_eq!(status(&second.url("/solvers"), &key).await, 200);
}

#[tokio::test]
async fn a_second_server_on_one_postgresql_says_why_it_does_not_start_and_takes_over_after_a_crash()
{
    let database = proctor_testkit::postgres::fresh_database();
    let on = |data: &TempDir| {
        let mut command = serve(data.path());
        command.args(["--database-url", &database]);
        command
    };
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut first = Server::start(&mut on(&one));
    let said = refusal(&mut on(&two));
    assert!(
        said.contains("several servers on one database are not supported")
            && said.contains(&format!("process {}", first.pid())),
        "{said}"
    );
    first.kill();
    let _second = Server::start(&mut on(&two));
}
