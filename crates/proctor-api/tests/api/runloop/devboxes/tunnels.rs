//! Tunnels: what passes through them to services in real boxes, and what does not.

use std::time::Duration;

use proctor_testkit::eventually_seen;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::support::Boxes;

/// A service that says what it was sent (`/echo`), streams (`/events`), redirects, and speaks a protocol of its own after an upgrade.
const SERVICE: &str = r#"
import http.server, socketserver, time, sys, base64, hashlib
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def do_GET(self):
        if self.headers.get('Upgrade', '').lower() == 'websocket':
            accept = base64.b64encode(hashlib.sha1((self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()).decode()
            self.send_response(101)
            for name, value in [('Upgrade', 'websocket'), ('Connection', 'Upgrade'), ('Sec-WebSocket-Accept', accept)]: self.send_header(name, value)
            self.end_headers(); self.wfile.flush()
            self.close_connection = True
            while True:
                head = self.rfile.read(2)
                if len(head) < 2: return
                mask = self.rfile.read(4); length = head[1] & 127
                text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(length)))
                self.wfile.write(bytes([head[0], len(text)]) + text); self.wfile.flush()
        if self.path.startswith('/events'):
            self.send_response(200); self.send_header('Content-Type', 'text/event-stream'); self.end_headers()
            self.wfile.write(b'data: first\n\n'); self.wfile.flush()
            self.close_connection = True
            if self.path == '/events/ended': return
            while True: time.sleep(1)
        if self.path == '/moved':
            self.send_response(302); self.send_header('Location', '/echo'); self.send_header('Set-Cookie', 'a=b'); self.send_header('Content-Length', '0'); self.end_headers()
            return
        self.echo(b'')
    def do_POST(self):
        if self.headers.get('Transfer-Encoding') == 'chunked':
            body = b''
            while True:
                length = int(self.rfile.readline(), 16)
                body += self.rfile.read(length); self.rfile.readline()
                if not length: break
        else: body = self.rfile.read(int(self.headers.get('Content-Length', '0')))
        self.echo(body)
    def echo(self, body):
        lines = [self.command + ' ' + self.path] + [name.lower() + ': ' + value for name, value in self.headers.items()]
        text = '\n'.join(lines).encode() + b'\n\n' + body
        self.send_response(200); self.send_header('Content-Length', str(len(text))); self.end_headers(); self.wfile.write(text)
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256
Server(('127.0.0.1', 8000), Handler).serve_forever()
"#;

struct Service {
    boxes: Boxes,
    devbox: String,
    tunnel: Value,
}

impl Service {
    /// A devbox with the service and this tunnel.
    async fn start(tunnel: Value) -> Self {
        Self::on(Boxes::start().await, tunnel, json!({})).await
    }

    async fn on(boxes: Boxes, tunnel: Value, launch: Value) -> Self {
        let new = json!({"tunnel": tunnel, "launch_parameters": launch, "file_mounts": {"/home/user/service.py": SERVICE}});
        let devbox = boxes.running(new).await;
        let command = json!({"command": "exec python3 /home/user/service.py"});
        boxes
            .post(&format!("{devbox}/execute_async"), command)
            .await;
        let view = boxes.get(&devbox).await;
        let service = Self {
            boxes,
            devbox,
            tunnel: view["tunnel"].clone(),
        };
        let token = service.tunnel["auth_token"].as_str().unwrap_or_default();
        eventually_seen("the service listens", async || {
            let ask = service
                .get("/echo")
                .header("x-runloop-tunnel-authorization", format!("Bearer {token}"));
            let response = ask.send().await.unwrap();
            match response.status().as_u16() {
                502 => Err(response.text().await.unwrap()),
                _ => Ok(()),
            }
        })
        .await;
        service
    }

    fn key(&self) -> &str {
        self.tunnel["tunnel_key"].as_str().unwrap()
    }

    fn path(&self, path: &str) -> String {
        format!("/tunnel/8000-{}{path}", self.key())
    }

    fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.boxes.server.get(&self.path(path))
    }

    /// The status and text of an answer.
    async fn told(&self, request: reqwest::RequestBuilder) -> (u16, String) {
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// What is answered to these very bytes.
    async fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.boxes.server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(Duration::from_secs(60), read)
            .await
            .unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_pass_as_they_are_and_answers_come_as_they_come() {
    let service = Service::start(json!({"auth_mode": "open"})).await;
    assert_eq!(service.tunnel["auth_mode"], "open");
    assert_eq!(service.tunnel["auth_token"], Value::Null);
    let (status, said) = service
        .told(service.get("/echo?a=%20b&c").header("x-own", "1"))
        .await;
    assert_eq!(status, 200);
    assert!(said.starts_with("GET /echo?a=%20b&c\n"), "{said}");
    assert!(
        said.contains("x-own: 1") && said.contains("host: localhost:8000"),
        "{said}"
    );
    // Nothing is tidied up on the way: what a path means is the service's affair, and it leads nowhere else.
    let raw = format!(
        "GET {}/../../v1/devboxes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        service.path("")
    );
    let said = service.raw(&raw).await;
    assert!(said.contains("GET /../../v1/devboxes\n"), "{said}");
    let body = vec![b'x'; 3 << 20];
    let post = service
        .boxes
        .server
        .post(&service.path("/post"))
        .body(body.clone());
    let (_, said) = service.told(post).await;
    assert!(said.ends_with(std::str::from_utf8(&body).unwrap()));
    // A stream is there before its end.
    let mut events = service.get("/events").send().await.unwrap();
    assert_eq!(events.chunk().await.unwrap().unwrap(), "data: first\n\n");
    drop(events);
    let moved = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let moved = moved
        .get(service.boxes.server.url(&service.path("/moved")))
        .send()
        .await
        .unwrap();
    assert_eq!(moved.headers()["location"], service.path("/echo"));
    assert!(!moved.headers().contains_key("set-cookie"));
    assert!(
        moved.headers()["content-security-policy"]
            .to_str()
            .unwrap()
            .starts_with("sandbox")
    );
    service.boxes.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authenticated_tunnel_wants_its_token_and_keeps_it() {
    let service = Service::start(json!({"auth_mode": "authenticated"})).await;
    let token = service.tunnel["auth_token"].as_str().unwrap().to_owned();
    let shown = |value: String| {
        service
            .get("/echo")
            .header("x-runloop-tunnel-authorization", value)
    };
    for wrong in [
        "",
        "Bearer",
        "Bearer x",
        &token,
        &format!("Basic {token}"),
        &format!("Bearer {token}x"),
    ] {
        let (status, said) = service.told(shown(wrong.to_owned())).await;
        assert_eq!(status, 401, "{wrong}: {said}");
    }
    let right = shown(format!("Bearer {token}")).header(
        "authorization",
        format!("Bearer {}", service.boxes.server.key),
    );
    let (status, said) = service.told(right.header("cookie", "portal=1")).await;
    assert_eq!(status, 200);
    for kept in [
        token.as_str(),
        service.boxes.server.key.as_str(),
        "portal=1",
    ] {
        assert!(!said.contains(kept), "{said}");
    }
    let own = shown(format!("bearer {token}")).header("authorization", "Bearer of-the-service");
    assert!(
        service
            .told(own)
            .await
            .1
            .contains("authorization: Bearer of-the-service")
    );
    service.boxes.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_passes_and_ends_with_the_tunnel() {
    let service = Service::start(json!({})).await;
    let mut stream = TcpStream::connect(service.boxes.server.address)
        .await
        .unwrap();
    let hello = format!(
        "GET {} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        service.path("/socket")
    );
    stream.write_all(hello.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    for word in ["one", "two"] {
        let mut frame = vec![0x81, 0x80 | 3, 0, 0, 0, 0];
        frame.extend(word.as_bytes());
        stream.write_all(&frame).await.unwrap();
        let mut echo = [0; 5];
        stream.read_exact(&mut echo).await.unwrap();
        assert_eq!(&echo[2..], word.as_bytes());
    }
    service
        .boxes
        .post(&format!("{}/remove_tunnel", service.devbox), json!({}))
        .await;
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest));
    let _ = ended.await.unwrap();
    assert_eq!(service.told(service.get("/echo")).await.0, 404);
    assert_eq!(
        service.boxes.get(&service.devbox).await["tunnel"],
        Value::Null
    );
    // Another one has another key.
    let again = service
        .boxes
        .post(&format!("{}/enable_tunnel", service.devbox), json!({}))
        .await;
    assert_ne!(again["tunnel_key"], service.tunnel["tunnel_key"]);
    assert_eq!(service.told(service.get("/echo")).await.0, 404);
    service.boxes.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_small_requests_pass_and_leave_nothing() {
    let owned = Service::start(json!({})).await;
    let service = &owned;
    let ask = |number: usize| async move {
        let (status, said) = service.told(service.get(&format!("/echo/{number}"))).await;
        assert_eq!(status, 200, "{said}");
        assert!(said.starts_with(&format!("GET /echo/{number}\n")), "{said}");
    };
    for round in 0..50 {
        futures::future::join_all((0..20).map(|number| ask(round * 20 + number))).await;
    }
    let left = service
        .boxes
        .execute(
            &service.devbox,
            json!({"command": "ls /proc | grep -c '^[0-9]'"}),
        )
        .await;
    let processes: u32 = left["stdout"].as_str().unwrap().trim().parse().unwrap();
    assert!(
        processes < 12,
        "{processes} processes are left in the devbox"
    );
    owned.boxes.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_said_in_a_sentence() {
    let service = Service::start(json!({})).await;
    let server = &service.boxes.server;
    let nobody = server.get(&format!("/tunnel/9-{}/", service.key()));
    assert_eq!(
        service.told(nobody).await,
        (502, "nothing listens on port 9 of the devbox\n".to_owned())
    );
    let proxy = server.get(&format!(
        "/tunnel/{}-{}/",
        proctor_devbox::network::PROXY_PORT,
        service.key()
    ));
    assert_eq!(service.told(proxy).await.0, 502);
    let changed: String = service.key().chars().rev().collect();
    for wrong in [
        "/tunnel/",
        "/tunnel/8000",
        "/tunnel/8000-",
        "/tunnel/8000-abc/",
        &format!("/tunnel/8000-{changed}/"),
        &format!("/tunnel/0-{}/", service.key()),
        &format!("/tunnel/99999-{}/", service.key()),
    ] {
        assert_eq!(service.told(server.get(wrong)).await.0, 404, "{wrong}");
    }
    let bad = service
        .boxes
        .refused(
            &format!("{}/enable_tunnel", service.devbox),
            json!({"auth_mode": "public"}),
        )
        .await;
    assert_eq!(
        bad,
        (
            400,
            "auth_mode: 'public' is none of open, authenticated".to_owned()
        )
    );
    let foreign = server.foreign_key().await;
    for tail in ["enable_tunnel", "remove_tunnel", "create_ssh_key"] {
        let request = server.request(Method::POST, &format!("{}/{tail}", service.devbox));
        let answer = service.boxes.answer(request.bearer_auth(&foreign)).await;
        assert!(
            matches!(answer.status, 404 | 501),
            "{tail}: {}",
            answer.body
        );
    }
    // A service that has gone, and then the devbox.
    let gone = service
        .boxes
        .post(&format!("{}/shutdown", service.devbox), json!({}))
        .await;
    assert_eq!(gone["tunnel"], Value::Null);
    assert_eq!(
        service.told(service.get("/echo")).await,
        (404, "there is no such tunnel\n".to_owned())
    );
    service.boxes.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_heads_do_not_pass() {
    let service = Service::start(json!({})).await;
    let path = service.path("/echo");
    let two = service
        .raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n"
        ))
        .await;
    assert!(two.starts_with("HTTP/1.1 400"), "{two}");
    let none = service
        .raw(&format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n"))
        .await;
    assert!(none.starts_with("HTTP/1.1 400"), "{none}");
    // Two lengths: one request comes of it, or none.
    let smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let both = service
        .raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n{smuggled}",
            smuggled.len()
        ))
        .await;
    assert!(!both.contains("GET /smuggled\n"), "{both}");
    let (_, seen) = both.split_once("\r\n\r\n").unwrap_or_default();
    assert!(!seen.contains("content-length: "), "{both}");
    let lengths = service
        .raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"
        ))
        .await;
    assert!(lengths.starts_with("HTTP/1.1 400"), "{lengths}");
    let named = service
        .raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close, x-inner, host\r\nX-Inner: 1\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n"
        ))
        .await;
    assert!(
        named.starts_with("HTTP/1.1 200")
            && !named.contains("x-inner")
            && !named.contains("1.2.3.4"),
        "{named}"
    );
    // An upgrade that the service does not want is an ordinary answer.
    let plain = service
        .raw(&format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close, upgrade\r\nUpgrade: nothing-known\r\n\r\n"))
        .await;
    assert!(plain.starts_with("HTTP/1.1 200"), "{plain}");
    service.boxes.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_under_the_domain_is_a_port_and_never_a_route() {
    let boxes = Boxes::start_under("tunnel.example.org").await;
    let service = Service::on(boxes, json!({}), json!({})).await;
    assert_eq!(
        service.tunnel["url"],
        format!("https://{{port}}-{}.tunnel.example.org", service.key())
    );
    let ask = async |host: &str, path: &str| {
        service
            .raw(&format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: a=b\r\nConnection: close\r\n\r\n"
            ))
            .await
    };
    let host = format!("8000-{}.tunnel.example.org", service.key());
    for host in [host.clone(), format!("{host}:8443"), host.to_uppercase()] {
        let said = ask(&host, "/v1/devboxes?x").await;
        assert!(
            said.contains("GET /v1/devboxes?x\n") && said.contains("cookie: a=b"),
            "{said}"
        );
        assert!(said.contains(&format!("host: {host}\n")), "{said}");
        assert!(!said.contains("sandbox"), "{said}");
    }
    for wrong in [
        "8000-abc.tunnel.example.org",
        "x.tunnel.example.org",
        "a.b.tunnel.example.org",
    ] {
        let said = ask(wrong, "/healthz").await;
        assert!(
            said.starts_with("HTTP/1.1 404") && said.contains("no such tunnel"),
            "{said}"
        );
    }
    for other in [
        "tunnel.example.org.evil.org",
        "example.org",
        "nottunnel.example.org",
    ] {
        assert!(
            ask(other, "/healthz").await.starts_with("HTTP/1.1 200"),
            "{other}"
        );
    }
    // A whole address names a host too, and it must be the same.
    let raw =
        format!("GET http://{host}/echo HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n\r\n");
    assert!(service.raw(&raw).await.starts_with("HTTP/1.1 400"));
    service.boxes.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_devbox_wakes_if_it_may_and_what_passes_counts_as_use_if_it_shall() {
    let boxes = Boxes::start().await;
    let idle = json!({"after_idle": {"idle_time_seconds": 60, "on_idle": "suspend"}});
    let service = Service::on(boxes, json!({"http_keep_alive": false}), idle).await;
    let Service { boxes, devbox, .. } = &service;
    boxes.post(&format!("{devbox}/suspend"), json!({})).await;
    boxes.reaches(devbox, "suspended").await;
    let (status, said) = service.told(service.get("/echo")).await;
    assert_eq!(
        (status, said.contains("the devbox is suspended")),
        (503, true),
        "{said}"
    );
    let enable = format!("{devbox}/enable_tunnel");
    let tunnel = boxes.post(&enable, json!({"wake_on_http": true})).await;
    assert_eq!(tunnel["tunnel_key"], service.tunnel["tunnel_key"]);
    assert_eq!(tunnel["http_keep_alive"], true);
    assert_eq!(service.told(service.get("/echo")).await.0, 200);
    assert_eq!(boxes.get(devbox).await["status"], "running");
    service.boxes.end().await;
}

#[tokio::test]
async fn what_wakes_a_devbox_can_be_said_at_its_launch() {
    let boxes = Boxes::start().await;
    let launch = json!({"lifecycle": {"resume_triggers": {"http": true}}});
    let path = boxes.running(json!({"launch_parameters": launch})).await;
    assert_eq!(boxes.get(&path).await["launch_parameters"], launch);
    let axon =
        json!({"launch_parameters": {"lifecycle": {"resume_triggers": {"axon_event": true}}}});
    let (status, message) = boxes.refused("/v1/devboxes", axon).await;
    assert_eq!(status, 400);
    assert!(message.contains("axons are not offered"), "{message}");
    boxes.end().await;
}
