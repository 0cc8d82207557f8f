//! One port, three ways to speak.

use std::{process::Command, time::Duration};

use proctor_api::server::{BindError, Server, ServerOptions, TlsFiles};
use reqwest::{Certificate, Client, Version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Setup, TestServer};

#[tokio::test]
async fn both_versions_are_spoken_in_clear_text_on_one_port() {
    let server = TestServer::start().await;
    let http1 = Client::builder().http1_only().build().unwrap();
    let http2 = Client::builder().http2_prior_knowledge().build().unwrap();
    for (client, version) in [(http1, Version::HTTP_11), (http2, Version::HTTP_2)] {
        let answer = client.get(server.url("/healthz")).send().await.unwrap();
        assert_eq!(answer.version(), version);
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test]
async fn curl_speaks_both_versions() {
    let server = TestServer::start().await;
    let url = server.url("/healthz");
    for (flag, version) in [("--http1.1", "1.1"), ("--http2-prior-knowledge", "2")] {
        let url = url.clone();
        let output = tokio::task::spawn_blocking(move || {
            Command::new("curl")
                .args(["-s", flag, "-w", "%{http_version}", &url])
                .output()
                .expect("curl is installed")
        })
        .await
        .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            format!("ready\n{version}")
        );
    }
}

#[tokio::test]
async fn one_http2_connection_carries_256_requests_at_once() {
    let server = TestServer::start().await;
    let client = Client::builder().http2_prior_knowledge().build().unwrap();
    // The first request opens the connection that the others share.
    client.get(server.url("/healthz")).send().await.unwrap();
    let requests = (0..256).map(|_| client.get(server.url("/test/sleeps")).send());
    let answers = futures::future::join_all(requests).await;
    for answer in answers {
        assert_eq!(answer.unwrap().status(), 200);
    }
    let metrics = server.get("/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(
        metrics.contains("proctor_http_connections 2"),
        "one connection for HTTP/2 and this one:\n{metrics}"
    );
}

/// A certificate of its own making and where its files are.
struct SelfSigned {
    directory: tempfile::TempDir,
    root: Certificate,
}

impl SelfSigned {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let pem = made.cert.pem();
        fs_err::write(directory.path().join("cert.pem"), &pem).unwrap();
        fs_err::write(
            directory.path().join("key.pem"),
            made.signing_key.serialize_pem(),
        )
        .unwrap();
        Self {
            directory,
            root: Certificate::from_pem(pem.as_bytes()).unwrap(),
        }
    }

    fn files(&self) -> TlsFiles {
        TlsFiles {
            certificates: self.directory.path().join("cert.pem"),
            key: self.directory.path().join("key.pem"),
        }
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::default();
        setup.server.tls = Some(self.files());
        setup
    }
}

#[tokio::test]
async fn over_tls_the_client_chooses_the_version() {
    let tls = SelfSigned::new();
    let server = tls.setup().start().await;
    let url = format!("https://localhost:{}/healthz", server.address.port());
    let client = || {
        Client::builder()
            .tls_certs_only([tls.root.clone()])
            .resolve("localhost", server.address)
    };
    let both = client().build().unwrap();
    let http1 = client().http1_only().build().unwrap();
    for (client, version) in [(both, Version::HTTP_2), (http1, Version::HTTP_11)] {
        let answer = client.get(&url).send().await.unwrap();
        assert_eq!(answer.version(), version);
        assert_eq!(answer.text().await.unwrap(), "ready\n");
    }
}

#[tokio::test]
async fn a_clear_text_client_of_a_tls_server_is_turned_away() {
    let tls = SelfSigned::new();
    let server = tls.setup().start().await;
    server.get("/healthz").send().await.unwrap_err();
}

#[tokio::test]
async fn tls_files_that_cannot_be_used_are_named() {
    let tls = SelfSigned::new();
    let bind = async |files: TlsFiles| {
        let options = ServerOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            tls: Some(files),
            ..ServerOptions::default()
        };
        match Server::bind(options, Default::default()).await {
            Err(BindError::Tls(error)) => error.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was bound"),
        }
    };
    let swapped = TlsFiles {
        certificates: tls.files().key,
        key: tls.files().certificates,
    };
    assert!(bind(swapped).await.contains("key.pem is not PEM"));
    let missing = TlsFiles {
        key: "/no/such/key.pem".into(),
        ..tls.files()
    };
    assert_eq!(bind(missing).await, "cannot read a TLS file");
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let server = TestServer::start().await;
    let options = ServerOptions {
        listen: server.address,
        ..ServerOptions::default()
    };
    match Server::bind(options, Default::default()).await {
        Err(error) => assert_eq!(
            error.to_string(),
            format!("cannot listen on {}", server.address)
        ),
        Ok(_) => panic!("two servers on one port"),
    }
}

/// What a client that never finishes its head sends: nothing, half a preface, half a head.
#[rstest::rstest]
#[case(b"")]
#[case(b"PRI * HT")]
#[case(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow")]
#[tokio::test]
async fn a_client_that_never_finishes_its_head_is_let_go(#[case] sent: &[u8]) {
    let mut setup = Setup::default();
    setup.server.header_read_time_out = Duration::from_millis(100);
    let server = setup.start().await;
    let mut stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    stream.write_all(sent).await.unwrap();
    let mut answer = Vec::new();
    // Ends only when the server closes; a reset counts as closed too.
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
}

#[tokio::test]
async fn connections_over_the_cap_wait_for_their_turn() {
    let mut setup = Setup::default();
    setup.server.max_connections = 1;
    let server = setup.start().await;
    let mut first = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let ask = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    first.write_all(ask).await.unwrap();
    let mut byte = [0];
    first.read_exact(&mut byte).await.unwrap();
    let mut second = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    second.write_all(ask).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(100), second.read_exact(&mut byte));
    assert!(waited.await.is_err(), "the second connection waits");
    drop(first);
    second.read_exact(&mut byte).await.unwrap();
}

/// One answer with its body, and nothing after it.
async fn read_answer(stream: &mut tokio::net::TcpStream) -> String {
    let mut answer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let length = lines.find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let read = stream.read_buf(&mut answer).await.unwrap();
        assert!(read > 0, "the connection ended after {text:?}");
    }
}

#[tokio::test]
async fn a_connection_goes_on_after_an_answer_that_did_not_wait_for_the_body() {
    let server = TestServer::start().await;
    let mut stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    for (request, status) in [
        ("POST /v1/secrets", 401),
        ("POST /v1/nowhere", 404),
        ("PUT /v1/secrets", 405),
        ("POST /solvers", 401),
    ]
    .repeat(5)
    {
        let head = format!("{request} HTTP/1.1\r\nhost: x\r\ncontent-length: 11\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        // Whoever is answered by now has not been read to the end.
        tokio::time::sleep(Duration::from_millis(10)).await;
        stream.write_all(b"{\"name\": 1}").await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(
            answer.starts_with(&format!("http/1.1 {status} ")),
            "{request}: {answer}"
        );
        assert!(!answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_never_comes_to_its_end_costs_the_connection_and_not_the_answer() {
    let server = TestServer::start().await;
    let mut stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    stream
        .write_all(b"POST /v1/nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 11\r\n\r\n{")
        .await
        .unwrap();
    let answer = read_answer(&mut stream).await;
    assert!(answer.starts_with("http/1.1 404 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    let mut more = Vec::new();
    stream.read_to_end(&mut more).await.unwrap();
    assert!(more.is_empty());
}
