//! The load generator, in a process of its own: HTTP/1.1 over keep-alive connections.

use std::{
    io::{BufRead, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// What one measurement asks for.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    /// The request line and what belongs to it; `{n}` stands for a number that differs each time.
    pub(crate) request: String,
    pub(crate) connections: usize,
    pub(crate) seconds: f64,
}

/// Runs in the child process: reads a [`Load`] from its arguments, prints requests per second.
pub(crate) fn child(arguments: &[String]) -> String {
    let [address, connections, seconds, request] = arguments else {
        panic!("the load generator takes four arguments");
    };
    let load = Load {
        address: address.parse().expect("an address"),
        request: request.replace("\\r\\n", "\r\n"),
        connections: connections.parse().expect("a number"),
        seconds: seconds.parse().expect("a number"),
    };
    let done = Arc::new(AtomicU64::new(0));
    let next = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(load.seconds);
    // Few threads with many connections each: the machine has two cores, and the server wants one.
    let threads = load.connections.min(2);
    let handles: Vec<_> = (0..threads)
        .map(|thread| {
            let (load, done, next) = (load.clone(), done.clone(), next.clone());
            let own = load.connections / threads + usize::from(thread < load.connections % threads);
            thread::spawn(move || drive(&load, own, end, &done, &next))
        })
        .collect();
    for handle in handles {
        handle.join().expect("the load generator works");
    }
    let rate = done.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64();
    format!("{rate:.0}")
}

/// Sends on every connection, then reads every answer, in turns.
fn drive(load: &Load, connections: usize, end: Instant, done: &AtomicU64, next: &AtomicU64) {
    let mut streams: Vec<Connection> = (0..connections)
        .map(|_| Connection::open(load.address))
        .collect();
    while Instant::now() < end {
        for stream in &mut streams {
            let number = next.fetch_add(1, Ordering::Relaxed);
            stream.send(&load.request, number);
        }
        for stream in &mut streams {
            stream.receive();
        }
        done.fetch_add(connections as u64, Ordering::Relaxed);
    }
}

struct Connection {
    reader: std::io::BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a TCP connection");
        Self {
            reader: std::io::BufReader::with_capacity(64 * 1024, stream),
            line: String::new(),
            body: Vec::new(),
        }
    }

    fn send(&mut self, request: &str, number: u64) {
        let text;
        let request = if request.contains("{n}") {
            text = request.replace("{n}", &(number % 2_000).to_string());
            &text
        } else {
            request
        };
        self.reader
            .get_mut()
            .write_all(request.as_bytes())
            .expect("the server reads");
    }

    fn receive(&mut self) {
        let mut length = 0;
        let mut first = true;
        loop {
            self.line.clear();
            self.reader
                .read_line(&mut self.line)
                .expect("the server answers");
            if first {
                assert!(self.line.starts_with("HTTP/1.1 20"), "{}", self.line);
                first = false;
            }
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        self.body.resize(length, 0);
        self.reader
            .read_exact(&mut self.body)
            .expect("the whole body");
    }
}

/// Starts the generator as a process of its own and reads what it measured.
pub(crate) fn measure(load: &Load) -> f64 {
    let output = std::process::Command::new(std::env::current_exe().expect("this program"))
        .arg("--load")
        .arg(load.address.to_string())
        .arg(load.connections.to_string())
        .arg(load.seconds.to_string())
        .arg(load.request.replace("\r\n", "\\r\\n"))
        .output()
        .expect("the load generator starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| {
        panic!(
            "the load generator failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}
