//! The way out of local boxes, with the programs that people use and with names that lie.

use std::{io, net::SocketAddr, sync::Arc};

use async_trait::async_trait;
use proctor_devbox::{
    Backend as _, Base, BoxId, BoxSpec, Devbox, EgressPolicy, Network, SERVER_URL,
    conformance::Subject as _,
    egress::{Names, OwnServer, ServerApi},
    local::{LocalBackend, LocalConfig},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_util::task::TaskTracker;

use crate::support::{Local, sh};

fn allow(hosts: &[String]) -> Network {
    Network::Allow(EgressPolicy {
        hosts: hosts.iter().map(|text| text.parse().unwrap()).collect(),
        ..EgressPolicy::default()
    })
}

async fn start(
    backend: &dyn proctor_devbox::Backend,
    id: &str,
    network: Network,
) -> Arc<dyn Devbox> {
    let mut spec = BoxSpec::new(BoxId::new(id).unwrap(), Base::Host);
    spec.network = network;
    let devbox = backend.create(spec).await.unwrap();
    devbox.start().await.unwrap();
    devbox
}

/// A server on the host that answers every request with its head and body, for as long as the test runs.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tasks = TaskTracker::new();
    tasks.clone().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tasks.spawn(async move {
                let mut request = Vec::new();
                let wanted = |request: &[u8]| {
                    let text = String::from_utf8_lossy(request).to_lowercase();
                    let (head, body) = text.split_once("\r\n\r\n")?;
                    let length = head.split("content-length: ").nth(1);
                    let length =
                        length.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
                    (body.len() >= length).then_some(())
                };
                while wanted(&request).is_none() {
                    if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                    request.len()
                );
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.write_all(&request).await;
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curl_and_python_find_the_proxy_by_themselves() {
    let local = Local::new();
    let address = echo().await;
    // These clients go around a proxy for 127.0.0.1, so the box is told to go around nothing.
    let devbox = start(&*local.backend(), "clients", allow(&[address.to_string()])).await;
    let (_, environment) = sh(&devbox, "env | grep -i proxy | sort").await;
    assert_eq!(
        environment,
        "HTTPS_PROXY=http://127.0.0.1:3128\nHTTP_PROXY=http://127.0.0.1:3128\nNO_PROXY=localhost,127.0.0.1,::1\n\
         http_proxy=http://127.0.0.1:3128\nhttps_proxy=http://127.0.0.1:3128\nno_proxy=localhost,127.0.0.1,::1\n"
    );
    let python = "import sys, urllib.request as u; print(u.urlopen(u.Request(sys.argv[1], data=b'x' * 100000)).read().count(b'x'))";
    let (status, seen) = sh(
        &devbox,
        &format!("unset no_proxy NO_PROXY; python3 -c \"{python}\" http://{address}/path"),
    )
    .await;
    let count: usize = seen.trim().parse().unwrap_or(0);
    assert!(status == 0 && count >= 100_000, "{seen}");
    let has_curl = sh(&devbox, "command -v curl").await.0 == 0;
    if has_curl {
        let (status, seen) = sh(
            &devbox,
            &format!("curl -sS --noproxy '' -d body http://{address}/path?q=1"),
        )
        .await;
        assert!(
            status == 0 && seen.starts_with("POST /path?q=1 HTTP/1.1\r\n"),
            "{seen}"
        );
        assert!(!seen.to_lowercase().contains("proxy-"), "{seen}");
        // Twice over one connection to the proxy, and once through a tunnel.
        let (status, seen) = sh(&devbox, &format!("curl -sS --noproxy '' http://{address}/1 http://{address}/2; curl -sS --noproxy '' -p http://{address}/3")).await;
        assert_eq!(status, 0, "{seen}");
        for path in ["GET /1 ", "GET /2 ", "GET /3 "] {
            assert!(seen.contains(path), "{seen}");
        }
        let (status, seen) = sh(&devbox, "curl -sS --noproxy '' https://example.org/").await;
        assert!(status != 0 && seen.contains("403"), "{seen}");
    }
    local.end().await;
}

/// A name server in the hands of an attacker: every name leads to this machine.
#[derive(Debug)]
struct Rebound;

#[async_trait]
impl Names for Rebound {
    async fn addresses(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![
            SocketAddr::new("127.0.0.1".parse().unwrap(), port),
            SocketAddr::new("::ffff:127.0.0.1".parse().unwrap(), port),
        ])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_rebound_to_this_machine_does_not_get_there() {
    let directory = tempfile::tempdir().unwrap();
    let backend = LocalBackend::open(LocalConfig {
        names: Arc::new(Rebound),
        ..LocalConfig::new(directory.path())
    })
    .unwrap();
    let server = echo().await;
    let devbox = start(&backend, "rebind", allow(&["evil.example".to_owned()])).await;
    let ask = format!(
        "python3 -c 'import urllib.request as u, urllib.error as e
for _ in range(3):
    try:
        print(u.urlopen(\"http://evil.example:{}/\").read())
    except e.HTTPError as error:
        print(error.code, error.read().decode().strip())'",
        server.port()
    );
    let (_, seen) = sh(&devbox, &ask).await;
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines.len(), 3, "{seen}");
    for line in lines {
        assert!(
            line.starts_with("403 this devbox may not reach evil.example:"),
            "{seen}"
        );
        assert!(line.contains("which is not public"), "{seen}");
    }
    backend.sweep(&Default::default()).await.unwrap();
    backend.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_box_cannot_use_or_reach_the_way_out_of_another() {
    let local = Local::new();
    let server = echo().await;
    let backend = local.backend();
    let free = start(&*backend, "free", allow(&[server.to_string()])).await;
    let bound = start(&*backend, "bound", allow(&[])).await;
    let none = start(&*backend, "none", Network::None).await;
    let ask = format!(
        "python3 -c 'import socket
s = socket.create_connection((\"127.0.0.1\", 3128))
s.sendall(b\"GET http://{server}/ HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n\")
print(s.recv(100).split()[1].decode())' 2>&1 | tail -n 1"
    );
    assert_eq!(sh(&free, &ask).await.1, "200\n");
    assert_eq!(sh(&bound, &ask).await.1, "403\n");
    assert!(sh(&none, &ask).await.1.contains("refused"));
    // The port cannot be taken over from inside either.
    let (_, seen) = sh(&free, "python3 -c 'import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((\"127.0.0.1\", 3128)); s.listen(); print(\"taken\")'").await;
    assert!(seen.contains("in use"), "{seen}");
    drop(backend);
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_with_more_connections_than_it_may_have_waits_and_harms_nobody() {
    let local = Local::new();
    let server = echo().await;
    let backend = local.backend();
    let greedy = start(&*backend, "greedy", allow(&[server.to_string()])).await;
    let other = start(&*backend, "other", allow(&[server.to_string()])).await;
    let hold = "python3 -c 'import socket, time
held = [socket.create_connection((\"127.0.0.1\", 3128)) for _ in range(90)]
print(\"held\", flush=True); time.sleep(600)'";
    let holding = greedy
        .exec(proctor_devbox::ExecSpec::shell(
            proctor_devbox::ExecId::new("hold").unwrap(),
            hold,
        ))
        .await
        .unwrap();
    let held = holding
        .read_output(proctor_devbox::Stream::Stdout, 0, 10)
        .await
        .unwrap();
    assert_eq!(&held.bytes[..], b"held\n");
    let ask = format!(
        "unset no_proxy NO_PROXY; python3 -c 'import urllib.request as u; print(u.urlopen(\"http://{server}/\").status)'"
    );
    assert_eq!(sh(&other, &ask).await, (0, "200\n".to_owned()));
    holding.kill().await.unwrap();
    assert_eq!(sh(&greedy, &ask).await, (0, "200\n".to_owned()));
    drop(backend);
    local.end().await;
}

/// A server whose connections lead to an address of the host, as the server's own API would be.
struct Echoing(SocketAddr);

#[async_trait]
impl ServerApi for Echoing {
    async fn connect(&self) -> io::Result<Box<dyn proctor_devbox::Duplex>> {
        Ok(Box::new(tokio::net::TcpStream::connect(self.0).await?))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_asks_the_server_itself_for_listed_paths_and_for_nothing_else() {
    let address = echo().await;
    let server = OwnServer::default();
    let local = Local::with(|config| config.server = server.clone());
    let network = Network::Allow(EgressPolicy {
        server_paths: vec!["/v1/task-runs/tr_1".to_owned()],
        ..EgressPolicy::default()
    });
    let devbox = start(&*local.backend(), "asking", network).await;
    let ask = "curl -sS -m 20 -o /tmp/answer -w '%{http_code}'";
    let (_, early) = sh(
        &devbox,
        &format!("{ask} {SERVER_URL}/v1/task-runs/tr_1/fhir"),
    )
    .await;
    assert_eq!(early, "502", "the server does not answer yet");
    server.set(Arc::new(Echoing(address)));
    let asked = format!(
        "{ask} -d hello -H 'X-Mine: 1' {SERVER_URL}/v1/task-runs/tr_1/fhir?a=b; cat /tmp/answer"
    );
    let (_, answer) = sh(&devbox, &asked).await;
    assert!(
        answer.starts_with("200POST /v1/task-runs/tr_1/fhir?a=b"),
        "{answer}"
    );
    let lower = answer.to_lowercase();
    assert!(
        lower.contains("x-mine: 1") && lower.contains("host: 127.0.0.1:3128"),
        "{answer}"
    );
    assert!(answer.ends_with("hello"), "{answer}");
    for path in [
        "/",
        "/metrics",
        "/v1/task-runs/tr_12",
        "/v1/task-runs/tr_2/x",
    ] {
        let (_, status) = sh(&devbox, &format!("{ask} {SERVER_URL}{path}")).await;
        assert_eq!(status, "403", "{path}");
    }
    // Another port of the host is out of reach, by itself and through the proxy.
    let (code, _) = sh(&devbox, &format!("curl -sS -m 5 http://{address}/")).await;
    assert_ne!(code, 0);
    let through = format!("{ask} --noproxy '' -x {SERVER_URL} http://{address}/");
    assert_eq!(sh(&devbox, &through).await.1, "403");
}
