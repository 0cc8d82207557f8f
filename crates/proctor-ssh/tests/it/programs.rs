//! Commands and shells.

use std::{process::Stdio, time::Duration};

use proctor_core::devbox::DevboxSetup;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Place, told};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_has_its_streams_apart_its_status_and_the_devboxs_environment() {
    let place = Place::open().await;
    let setup = DevboxSetup {
        environment: [("COLOUR".to_owned(), "green".to_owned())].into(),
        ..DevboxSetup::default()
    };
    let devbox = place.devbox(setup).await;
    let key = place.key(devbox).await;
    let said = place.run(&key, "echo $COLOUR; echo oh >&2; exit 3").await;
    assert_eq!(said, (3, "green\n".to_owned(), "oh\n".to_owned()));
    let said = place.run(&key, "whoami; pwd").await;
    let home = format!("{0}\n/home/user\n", key.user);
    assert_eq!(said, (0, home, String::new()));
    let own = ["-o", "SetEnv=LC_TEST=from-the-client"];
    let output = place.ssh(&key, &own, &["echo $LC_TEST"]).output().await;
    assert_eq!(told(output.unwrap()).1, "from-the-client\n");
    let said = place.run(&key, "kill -TERM $$").await;
    assert_eq!(said.0, 255, "what a signal ended has no status: {said:?}");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_and_output_of_any_length_pass() {
    let place = Place::open().await;
    let key = place.ready().await;
    let input: Vec<u8> = (0..12_000_000u32)
        .map(|number| (number % 251) as u8)
        .collect();
    let (status, sum, _) = place
        .feed(place.ssh(&key, &[], &["wc -c; echo done"]), &input)
        .await;
    assert_eq!((status, sum.as_str()), (0, "12000000\ndone\n"));
    let mut ssh = place.ssh(&key, &[], &["cat"]);
    let mut child = ssh.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let fed = async {
        stdin.write_all(&input).await.unwrap();
        drop(stdin);
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), fed);
    let output = output.unwrap();
    assert!(output.status.success());
    assert!(
        output.stdout == input,
        "{} bytes came back",
        output.stdout.len()
    );
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_has_a_terminal_and_one_can_work_in_it() {
    let place = Place::open().await;
    let key = place.ready().await;
    let shell = place.ssh(&key, &["-tt"], &[]);
    let typed = b"stty -echo; tty; echo $TERM-$((6 * 7)); exit 5\r";
    let (status, seen, _) = place.feed(shell, typed).await;
    assert_eq!(status, 5, "{seen}");
    assert!(seen.contains("/dev/pts/") && seen.contains("-42"), "{seen}");
    // A key of the terminal reaches what runs in it.
    let mut ssh = place.ssh(&key, &["-tt"], &["echo begun; sleep 1000"]);
    let mut child = ssh.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut seen = String::new();
    while !seen.contains("begun") {
        let mut buffer = [0; 256];
        let length = stdout.read(&mut buffer).await.unwrap();
        assert!(length > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"\x03").await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), child.wait());
    assert!(!ended.await.unwrap().unwrap().success());
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_leaves_running_does_not_hold_its_client() {
    let place = Place::open().await;
    let key = place.ready().await;
    let run = place.run(&key, "sleep 1000 & echo begun");
    let said = tokio::time::timeout(Duration::from_secs(60), run).await;
    assert_eq!(said.unwrap().1, "begun\n");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_sessions_share_a_connection() {
    let place = Place::open().await;
    let key = place.ready().await;
    let socket = place.file("control");
    let control = format!("ControlPath={}", socket.display());
    let shared = [
        "-o",
        &control,
        "-o",
        "ControlMaster=auto",
        "-o",
        "ControlPersist=60",
    ];
    for number in 0..20 {
        let command = format!("echo {number}");
        let output = place.ssh(&key, &shared, &[&command]).output().await;
        assert_eq!(
            told(output.unwrap()),
            (0, format!("{number}\n"), String::new())
        );
    }
    let bye = place
        .ssh(&key, &["-o", &control, "-O", "exit"], &[])
        .output();
    assert!(bye.await.unwrap().status.success());
    place.end().await;
}
