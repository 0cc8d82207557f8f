//! Ways into a box from outside: its ports, sessions with pipes and terminals, SFTP.

use std::{sync::Arc, time::Duration};

use proctor_devbox::{Devbox, Error, ExecId, ExecSpec, Limits, Session, Terminal, User};
use proctor_testkit::eventually;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{EVERY_LIMIT, Local, sh};

fn shell(id: &str, script: &str) -> ExecSpec {
    ExecSpec::shell(ExecId::new(id).unwrap(), script)
}

/// Everything that a session writes, and how it ends.
async fn all(mut session: Session) -> (String, String, i32) {
    drop(session.input);
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    session.output.read_to_end(&mut output).await.unwrap();
    if let Some(stream) = &mut session.errors {
        stream.read_to_end(&mut errors).await.unwrap();
    }
    let exit = session.execution.wait().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output), text(&errors), exit.status())
}

#[tokio::test]
async fn a_session_has_its_streams_apart_and_its_own_end() {
    let local = Local::new();
    let devbox = local.start("apart", EVERY_LIMIT).await;
    let script = "echo out; echo err >&2; exit 7";
    let session = devbox.session(shell("s1", script)).await.unwrap();
    assert_eq!(
        all(session).await,
        ("out\n".to_owned(), "err\n".to_owned(), 7)
    );
    // The name is good once, also when the first is over.
    let again = devbox.session(shell("s1", script)).await;
    assert!(again.is_err());
    let missing = ExecSpec::new(ExecId::new("s2").unwrap(), ["/no/such/program"]);
    let refused = devbox.session(missing).await;
    assert!(
        matches!(refused, Err(Error::CannotRun { .. })),
        "{refused:?}"
    );
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_length_passes_a_session_and_none_of_it_is_kept() {
    const LENGTH: usize = 20 << 20;
    let local = Local::new();
    let devbox = local.start("long", Limits::default()).await;
    let mut spec = shell("cat", "cat");
    // Much less than passes.
    spec.output_limit = 1000;
    let Session {
        execution,
        mut input,
        mut output,
        ..
    } = devbox.session(spec).await.unwrap();
    let sent = async {
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..LENGTH >> 20 {
            input.write_all(&piece).await.unwrap();
        }
        drop(input);
    };
    let mut got = Vec::new();
    let (_, length) = tokio::join!(sent, output.read_to_end(&mut got));
    assert_eq!(length.unwrap(), LENGTH);
    assert!(execution.wait().await.unwrap().success());
    assert_eq!(execution.progress().stdout, 0);
    execution.forget().await.unwrap();
    local.end().await;
}

#[tokio::test]
async fn a_terminal_is_one_with_its_size_and_its_user() {
    let local = Local::new();
    let devbox = local.start("terminal", EVERY_LIMIT).await;
    let mut spec = shell(
        "t1",
        "tty; stty size; test -O $(tty) && echo own; echo x > /dev/tty; test $(ps -o tty= -p $$) != '?' && echo controls; read line; stty size",
    );
    spec.terminal = Some(Terminal {
        columns: 97,
        rows: 31,
    });
    spec.user = User::Ids {
        uid: 1000,
        gid: 1000,
    };
    let mut session = devbox.session(spec).await.unwrap();
    assert!(session.errors.is_none());
    let mut seen = String::new();
    let mut buffer = [0; 1024];
    while !seen.contains("controls") {
        let length = session.output.read(&mut buffer).await.unwrap();
        assert!(length > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    assert!(
        seen.contains("/dev/pts/0") && seen.contains("31 97"),
        "{seen}"
    );
    assert!(seen.contains("own") && seen.contains("x\r\n"), "{seen}");
    let window = session.window.take().unwrap();
    let size = Terminal {
        columns: 120,
        rows: 40,
    };
    window.resize(size).unwrap();
    session.input.write_all(b"go on\r").await.unwrap();
    let mut rest = Vec::new();
    session.output.read_to_end(&mut rest).await.unwrap();
    let rest = String::from_utf8_lossy(&rest);
    assert!(rest.contains("40 120"), "{rest}");
    assert_eq!(session.execution.wait().await.unwrap().status(), 0);
    local.end().await;
}

#[tokio::test]
async fn a_session_that_loses_its_terminal_ends_and_signals_reach_it() {
    let local = Local::new();
    let devbox = local.start("hangup", EVERY_LIMIT).await;
    let mut spec = shell("t1", "sleep 1000");
    spec.terminal = Some(Terminal {
        columns: 80,
        rows: 24,
    });
    let session = devbox.session(spec).await.unwrap();
    let execution = Arc::clone(&session.execution);
    drop(session);
    let exit = tokio::time::timeout(Duration::from_secs(60), execution.wait());
    assert_eq!(exit.await.unwrap().unwrap().signal, Some(1));
    let session = devbox.session(shell("t2", "sleep 1000")).await.unwrap();
    session.execution.signal(15).await.unwrap();
    let exit = session.execution.wait().await.unwrap();
    assert_eq!(exit.signal, Some(15));
    local.end().await;
}

/// A service on a port of the box that answers with what it was sent, once it is there.
async fn echo(devbox: &Arc<dyn Devbox>, address: &str, family: &str) {
    let script = format!(
        "import socket,threading\n\
         s=socket.socket(socket.{family});s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n\
         s.bind(('{address}',8000));s.listen(100)\n\
         open('/tmp/ready-{family}','w')\n\
         def serve(c):\n\
         \twhile True:\n\
         \t\tb=c.recv(65536)\n\
         \t\tif not b: break\n\
         \t\tc.sendall(b)\n\
         \tc.close()\n\
         while True: threading.Thread(target=serve,args=(s.accept()[0],)).start()\n"
    );
    let id = ExecId::new(format!("echo-{family}")).unwrap();
    let service = ExecSpec::new(id, ["python3", "-c", &script]);
    devbox.exec(service).await.unwrap();
    eventually("the service listens", async || {
        sh(devbox, &format!("test -e /tmp/ready-{family}")).await.0 == 0
    })
    .await;
}

#[tokio::test]
async fn ports_of_the_loopback_interface_are_reached_and_no_others() {
    let local = Local::new();
    let devbox = local.start("ports", EVERY_LIMIT).await;
    let nobody = devbox.connect(8000).await;
    assert!(matches!(nobody, Err(Error::NoListener(8000))));
    echo(&devbox, "127.0.0.1", "AF_INET").await;
    for number in 0..50 {
        let mut stream = devbox.connect(8000).await.unwrap();
        let words = format!("hello {number}");
        stream.write_all(words.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, words);
    }
    // A port of the host is none of the box.
    let host = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port();
    let outside = devbox.connect(port).await;
    assert!(matches!(outside, Err(Error::NoListener(_))));
    local.end().await;
}

#[tokio::test]
async fn a_service_that_speaks_only_ipv6_is_reached_too() {
    let local = Local::new();
    let devbox = local.start("six", EVERY_LIMIT).await;
    if sh(&devbox, "test -e /proc/net/if_inet6").await.0 != 0 {
        eprintln!("skipped: this host has no IPv6");
        return local.end().await;
    }
    echo(&devbox, "::1", "AF_INET6").await;
    let mut stream = devbox.connect(8000).await.unwrap();
    stream.write_all(b"six").await.unwrap();
    let mut answer = [0; 3];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"six");
    local.end().await;
}

#[tokio::test]
async fn a_suspended_box_lets_nobody_in_and_one_that_ends_takes_connections_along() {
    let local = Local::new();
    let devbox = local.start("ends", EVERY_LIMIT).await;
    echo(&devbox, "127.0.0.1", "AF_INET").await;
    devbox.suspend().await.unwrap();
    assert!(devbox.connect(8000).await.is_err());
    assert!(devbox.session(shell("s1", "true")).await.is_err());
    assert!(devbox.sftp(&User::Root, "/").await.is_err());
    devbox.resume().await.unwrap();
    let mut stream = devbox.connect(8000).await.unwrap();
    let mut session = devbox.session(shell("s2", "sleep 1000")).await.unwrap();
    devbox.stop().await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    session.output.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty());
    local.end().await;
}

#[tokio::test]
async fn sftp_is_spoken_as_the_user() {
    let local = Local::new();
    let devbox = local.start("sftp", EVERY_LIMIT).await;
    assert_eq!(
        sh(
            &devbox,
            "umask 077; echo secret > /root/mine; chmod 700 /root"
        )
        .await
        .0,
        0
    );
    let user = User::Ids {
        uid: 1000,
        gid: 1000,
    };
    let mut stream = devbox.sftp(&user, "/tmp").await.unwrap();
    let mut ask = async |packet: &[u8]| {
        let length = u32::try_from(packet.len()).unwrap();
        stream.write_all(&length.to_be_bytes()).await.unwrap();
        stream.write_all(packet).await.unwrap();
        let length = stream.read_u32().await.unwrap();
        let mut answer = vec![0; length as usize];
        stream.read_exact(&mut answer).await.unwrap();
        answer
    };
    let version = ask(&[1, 0, 0, 0, 3]).await;
    assert_eq!(version[..5], [2, 0, 0, 0, 3]);
    // Reading what is root's: a status, permission denied.
    let path = b"/root/mine";
    let open = [
        &[3, 0, 0, 0, 9, 0, 0, 0, 10][..],
        path,
        &[0, 0, 0, 1, 0, 0, 0, 0],
    ];
    let denied = ask(&open.concat()).await;
    assert_eq!(denied[..9], [101, 0, 0, 0, 9, 0, 0, 0, 3]);
    // Where relative paths begin.
    let here = ask(&[16, 0, 0, 0, 4, 0, 0, 0, 1, b'.']).await;
    assert_eq!(here[..13], [104, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4]);
    assert_eq!(&here[13..17], b"/tmp");
    local.end().await;
}
