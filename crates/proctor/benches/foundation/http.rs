//! Requests per second beside a bare axum handler that answers the same bytes. Both servers are
//! processes of their own; the load comes from one thread over connections that stay open.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream as BlockingStream,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use proctor_testkit::{
    figures::{Report, median},
    server::KEY,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::{bare, start::Served};

const CONNECTIONS: usize = 32;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(1500);

struct BareServer(Child);

impl Drop for BareServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn measure(report: &mut Report) {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(&directory.path().join("data"));
    let address_file = directory.path().join("bare-address");
    let child = Command::new(std::env::current_exe().unwrap())
        .args([bare::ROLE])
        .arg(&address_file)
        .spawn()
        .unwrap();
    let _bare = BareServer(child);
    let bare_address = loop {
        match fs_err::read_to_string(&address_file) {
            Ok(address) => break address,
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    };
    assert!(get_once(&served.address, "/healthz").ends_with(bare::HEALTH));
    let account = get_once(&served.address, "/v1/accounts/me");
    assert!(
        account.ends_with('}') && account.contains("org_"),
        "{account}"
    );

    for (path, goal) in [("/healthz", 0.9), ("/v1/accounts/me", 0.6)] {
        let (mut ours, mut limit) = (Vec::new(), Vec::new());
        // In turns, so that a machine that is busy for a while is busy for both.
        for _ in 0..ROUNDS {
            ours.push(requests_per_second(&served.address, path));
            limit.push(requests_per_second(&bare_address, path));
        }
        let (ours, limit) = (median(ours), median(limit));
        report.at_least(
            &format!("GET {path} : bare axum"),
            &format!("{ours:.0}/s : {limit:.0}/s"),
            ours / limit,
            goal,
        );
    }
}

fn request(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\n\r\n")
        .into_bytes()
}

/// Asks once; head and body of the answer.
pub(crate) fn get_once(address: &str, path: &str) -> String {
    let mut stream = BlockingStream::connect(address).unwrap();
    stream.write_all(&request(path)).unwrap();
    let mut answer = Vec::new();
    while length(&answer).is_none_or(|length| answer.len() < length) {
        let mut part = [0; 4096];
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "the server hung up");
        answer.extend_from_slice(&part[..read]);
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn requests_per_second(address: &str, path: &str) -> f64 {
    let began = Instant::now();
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (address, request) = (address.to_owned(), request(path));
        connections.spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (mut answer, mut count) = (Vec::with_capacity(4096), 0u64);
            while began.elapsed() < ROUND {
                stream.write_all(&request).await.unwrap();
                answer.clear();
                while length(&answer).is_none_or(|length| answer.len() < length) {
                    assert!(
                        stream.read_buf(&mut answer).await.unwrap() > 0,
                        "the server hung up"
                    );
                }
                assert!(
                    answer.starts_with(b"HTTP/1.1 200"),
                    "{}",
                    String::from_utf8_lossy(&answer)
                );
                count += 1;
            }
            count
        });
    }
    let total: u64 = connections.join_all().await.into_iter().sum();
    total as f64 / began.elapsed().as_secs_f64()
}

/// How long the whole answer is, as soon as its head is there.
fn length(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&answer[..head]).unwrap();
    let line = text
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("content-length:"))
        .unwrap();
    Some(head + line[15..].trim().parse::<usize>().unwrap())
}
