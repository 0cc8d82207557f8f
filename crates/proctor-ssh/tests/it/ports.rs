//! Forwarded ports.

use std::{net::TcpListener, process::Stdio, time::Duration};

use proctor_testkit::eventually_seen;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::Place;

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ports_of_the_devbox_are_forwarded_and_nothing_else_is() {
    let place = Place::open().await;
    let key = place.ready().await;
    let serve = "mkdir -p site && cd site && echo inside > file && exec python3 -m http.server --bind 127.0.0.1 8123";
    let mut service = place
        .ssh(&key, &[], &[serve])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (inside, nobody, outside) = (free_port(), free_port(), free_port());
    // A service of the host, which no devbox reaches.
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let host_port = host.local_addr().unwrap().port();
    let forwards = [
        format!("{inside}:localhost:8123"),
        format!("{nobody}:127.0.0.1:9"),
        format!("{outside}:{}:{host_port}", "10.0.0.1"),
    ];
    let [a, b, c] = &forwards;
    let mut ssh = place.ssh(&key, &["-N", "-L", a, "-L", b, "-L", c], &[]);
    let mut forwarding = ssh.spawn().unwrap();
    let ask = async |port: u16| -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(b"GET /file HTTP/1.0\r\n\r\n").await?;
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        tokio::time::timeout(Duration::from_secs(60), read).await??;
        Ok(answer)
    };
    let answer = eventually_seen("the service answers", async || match ask(inside).await {
        Ok(answer) if answer.ends_with("inside\n") => Ok(answer),
        Ok(other) => Err(other),
        Err(error) => Err(error.to_string()),
    })
    .await;
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    for refused in [nobody, outside] {
        // Closed without a word, or reset.
        let answer = ask(refused).await.unwrap_or_default();
        assert_eq!(answer, "");
    }
    host.set_nonblocking(true).unwrap();
    assert!(host.accept().is_err(), "somebody reached the host");
    forwarding.kill().await.unwrap();
    service.kill().await.unwrap();
    place.end().await;
}
