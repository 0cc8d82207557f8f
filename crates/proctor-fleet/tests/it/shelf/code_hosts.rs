//! Where repositories may come from: public hosts, and those that the server's operator trusts. A client's address never leads the server elsewhere.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use proctor_core::{
    agent::{AgentOrigin, AgentSource},
    mount::Mount,
};
use proctor_devbox::{
    Base,
    egress::{EnvironmentProxies, Names},
};
use proctor_fleet::{
    CodeHosts, GitOptions, Repositories,
    mounts::{Mounter, Site},
};

use super::support::{Shelf, sh, worker};

/// A web server with the files of a directory, on a thread that ends with the process.
struct Files {
    address: SocketAddr,
    asked: Arc<AtomicU32>,
}

impl Files {
    /// Serves `root`; every path below `/moved/` leads to the same path below `moved_to`.
    fn serve(root: PathBuf, moved_to: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                for _ in lines.by_ref().take_while(|line| !line.is_empty()) {}
                let path = first.split(' ').nth(1).unwrap_or("/");
                let path = path.trim_start_matches('/');
                let _ = (&stream).write_all(&answer(&root, path, moved_to.as_deref()));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }
}

fn answer(root: &Path, path: &str, moved_to: Option<&str>) -> Vec<u8> {
    if let (Some(rest), Some(to)) = (path.strip_prefix("moved/"), moved_to) {
        let head = format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}/{rest}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        return head.into_bytes();
    }
    match fs_err::read(root.join(path.split('?').next().unwrap_or_default())) {
        Ok(content) => {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                content.len()
            );
            [head.as_bytes(), &content].concat()
        }
        Err(_) => {
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
        }
    }
}

/// A repository as a web server without any program behind it has it.
fn published(shelf: &Shelf) -> PathBuf {
    shelf.mirror("acme", "rocket");
    let root = shelf.directory.path().join("published");
    let working = shelf.directory.path().join("mirrors/acme/rocket");
    fs_err::create_dir_all(&root).unwrap();
    for arguments in [
        vec![
            "clone",
            "--quiet",
            "--bare",
            working.to_str().unwrap(),
            "rocket.git",
        ],
        vec!["--git-dir=rocket.git", "update-server-info"],
    ] {
        let done = std::process::Command::new("git")
            .args(arguments)
            .current_dir(&root)
            .status();
        assert!(done.unwrap().success());
    }
    root
}

/// What comes of mounting an agent from `url`, where these hosts may be inside.
async fn mounted(
    shelf: &Shelf,
    internal: &[&str],
    url: &str,
    name: &str,
) -> Result<String, String> {
    mounted_by(shelf, trusting(internal), url, name).await
}

/// Code hosts of which these may be inside, whatever the environment of the tests says of proxies.
fn trusting(internal: &[&str]) -> CodeHosts {
    CodeHosts {
        internal: internal.iter().map(|host| host.parse().unwrap()).collect(),
        proxies: EnvironmentProxies::default(),
        ..CodeHosts::default()
    }
}

/// What comes of mounting an agent from `url`.
async fn mounted_by(
    shelf: &Shelf,
    hosts: CodeHosts,
    url: &str,
    name: &str,
) -> Result<String, String> {
    let options = GitOptions {
        hosts,
        ..GitOptions::new(shelf.directory.path().join(format!("git-{name}")))
    };
    let mounter = Mounter::new(shelf.store.clone(), Repositories::new(options));
    let source = AgentSource {
        origin: AgentOrigin::Git {
            repository: url.to_owned(),
            reference: None,
        },
        setup: Vec::new(),
    };
    let agent = shelf
        .store
        .create_agent(shelf.organization, name.to_owned(), None, Some(source))
        .await
        .unwrap();
    let devbox = shelf.start(name, Base::Host).await;
    let user = worker(&devbox).await;
    let site = Site {
        devbox: &*devbox,
        organization: shelf.organization,
        user: &user,
        home: "/home/user",
        env: &BTreeMap::new(),
    };
    let mount = Mount::Agent {
        agent: Some(agent.id),
        name: None,
        target: Some("agent".to_owned()),
        token: Some("a-token-that-is-nobody-elses".to_owned()),
    };
    let applied = mounter.apply(site, &mount).await;
    applied.map_err(|error| error.to_string())?;
    Ok(sh(&devbox, "cat /home/user/agent/file").await.1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_inside_the_network_is_refused_in_plain_words_unless_its_host_is_trusted() {
    let shelf = Shelf::open().await;
    let inner = Files::serve(published(&shelf), None);
    let url = format!("http://{}/rocket.git", inner.address);
    let localhost = format!("http://localhost:{}/rocket.git", inner.address.port());
    for (number, (url, said)) in [
        (url.as_str(), "is not a public address"),
        (&localhost, "is not a public address"),
        (
            "http://169.254.169.254/latest/meta-data",
            "is not a public address",
        ),
        ("http://[::1]:1/x", "is not a public address"),
        ("http://[::ffff:127.0.0.1]/x", "is not a public address"),
        ("http://10.0.0.1/x", "is not a public address"),
        ("http://127.1/x", "names no host"),
        ("http://0x7f000001/x", "names no host"),
        ("file:///etc/passwd", "must begin with https://"),
    ]
    .into_iter()
    .enumerate()
    {
        let told = mounted(&shelf, &[], url, &format!("refused-{number}")).await;
        let told = told.unwrap_err();
        assert!(told.contains(said), "{url}: {told}");
        assert!(!told.contains("a-token-that"), "{told}");
    }
    assert_eq!(inner.asked(), 0, "nobody knocked");
    let address = inner.address.to_string();
    assert_eq!(
        mounted(&shelf, &[&address], &url, "trusted").await.unwrap(),
        "two\n"
    );
    let told = mounted(&shelf, &["127.0.0.1:1"], &url, "other-port").await;
    assert!(told.unwrap_err().contains("internal-host"));
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_to_another_host_is_not_followed() {
    let shelf = Shelf::open().await;
    let root = published(&shelf);
    let secret = Files::serve(root.clone(), None);
    // Both are trusted by themselves: it is about being led from one to the other.
    let elsewhere = format!("http://localhost:{}", secret.address.port());
    let leading = Files::serve(root.clone(), Some(elsewhere));
    let url = format!("http://{}/moved/rocket.git", leading.address);
    let told = mounted(&shelf, &["127.0.0.1", "localhost"], &url, "led").await;
    let told = told.unwrap_err();
    assert!(
        told.contains("redirects to localhost") && told.contains("not followed"),
        "{told}"
    );
    assert_eq!(secret.asked(), 0);
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_on_the_same_host_is_followed() {
    let shelf = Shelf::open().await;
    let root = published(&shelf);
    let target = Files::serve(root.clone(), None);
    let leading = Files::serve(root, Some(format!("http://{}", target.address)));
    let url = format!("http://{}/moved/rocket.git", leading.address);
    assert_eq!(
        mounted(&shelf, &["127.0.0.1"], &url, "same").await.unwrap(),
        "two\n"
    );
    shelf.end().await;
}

/// A name that leads to one address after the other.
#[derive(Debug)]
struct Turning(Vec<&'static str>, AtomicU32);

impl Turning {
    fn through(answers: &[&'static str]) -> Arc<Self> {
        Arc::new(Self(answers.to_vec(), AtomicU32::new(0)))
    }
}

#[async_trait::async_trait]
impl Names for Turning {
    async fn addresses(&self, _: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let turn = self.1.fetch_add(1, Ordering::SeqCst) as usize % self.0.len();
        Ok(vec![SocketAddr::new(self.0[turn].parse().unwrap(), port)])
    }
}

/// The proxy of a server's environment, on a thread that ends with the process: it leads wherever it is told, and notes where that was.
fn environment_proxy() -> (EnvironmentProxies, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    std::thread::spawn(move || {
        for inside in listener.incoming().flatten() {
            let mut lines = BufReader::with_capacity(1, &inside)
                .lines()
                .map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            for _ in lines.by_ref().take_while(|line| !line.is_empty()) {}
            let to = first.split(' ').nth(1).unwrap_or_default().to_owned();
            noted.lock().unwrap().push(to.clone());
            let Ok(outside) = TcpStream::connect(&to) else {
                continue;
            };
            (&inside).write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let (mut from, mut back) = (inside.try_clone().unwrap(), outside.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut back));
            let (mut from, mut back) = (outside, inside);
            std::thread::spawn(move || std::io::copy(&mut from, &mut back));
        }
    });
    let proxies = EnvironmentProxies {
        http: Some(url),
        ..EnvironmentProxies::default()
    };
    (proxies, told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_proxy_the_address_that_was_checked_is_the_one_that_is_dialled() {
    let shelf = Shelf::open().await;
    let files = Files::serve(published(&shelf), None);
    let (proxies, told) = environment_proxy();
    let port = files.address.port();
    let url = format!("http://code.example:{port}/rocket.git");
    let trusted = CodeHosts {
        names: Turning::through(&["127.0.0.1"]),
        proxies: proxies.clone(),
        ..trusting(&["code.example"])
    };
    let fetched = mounted_by(&shelf, trusted, &url, "behind").await;
    assert_eq!(fetched.unwrap(), "two\n");
    let noted = std::mem::take(&mut *told.lock().unwrap());
    assert!(!noted.is_empty());
    assert!(
        noted.iter().all(|to| *to == format!("127.0.0.1:{port}")),
        "never a name, which may lead elsewhere by then: {noted:?}"
    );

    let before = files.asked();
    let rebound = CodeHosts {
        names: Turning::through(&["8.8.8.8", "127.0.0.1"]),
        proxies,
        ..trusting(&[])
    };
    let refused = mounted_by(&shelf, rebound, &url, "rebound").await;
    let refused = refused.unwrap_err();
    assert!(refused.contains("is not a public address"), "{refused}");
    assert!(told.lock().unwrap().is_empty(), "the proxy was not asked");
    assert_eq!(files.asked(), before);
    shelf.end().await;
}
