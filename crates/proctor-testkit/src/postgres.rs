//! Real PostgreSQL servers for tests.
//!
//! A server runs in a temporary directory on a port that the system chose, as the user `postgres`
//! where the tests run as root (PostgreSQL refuses root). Next to each server a small shell waits
//! for the tests to end, however they end, and then stops and removes it.

use std::{
    env,
    fs::File,
    io,
    net::{TcpListener, TcpStream},
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A server of the test's own, to stop and start as it likes.
pub struct Postgres {
    cluster: Cluster,
    /// Ends the server when this process lets go of the shell's input.
    guard: Child,
}

impl Postgres {
    /// Starts a server.
    ///
    /// # Panics
    /// When PostgreSQL is not installed or does not start: a test cannot go on without it.
    #[must_use]
    pub fn start() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("proctor-postgres-")
            .tempdir()
            .expect("a temporary directory");
        let cluster = Cluster::create(directory.keep()).expect("initdb");
        cluster.start().expect("the server starts");
        let guard = cluster
            .guard("cat > /dev/null", Stdio::piped())
            .expect("a shell");
        Self { cluster, guard }
    }

    /// The URL of a new, empty database.
    ///
    /// # Panics
    /// When the server does not make it.
    #[must_use]
    pub fn fresh_database(&self) -> String {
        self.cluster.fresh_database().expect("a database")
    }

    /// Ends the server as a crash would.
    ///
    /// # Panics
    /// When the server cannot be ended.
    pub fn crash(&self) {
        self.cluster
            .control("stop --mode immediate --silent")
            .expect("the server stops");
    }

    /// Starts the server again, on the same port with the same data.
    ///
    /// # Panics
    /// When the server does not start.
    pub fn start_again(&self) {
        self.cluster.start().expect("the server starts again");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// The URL of a new, empty database on a server that all tests of this user share, also those of
/// other processes. The first one starts it; it is gone a few seconds after the last one ended.
///
/// # Panics
/// When PostgreSQL is not installed or does not start: a test cannot go on without it.
#[must_use]
pub fn fresh_database() -> String {
    static SHARED: OnceLock<(Cluster, File)> = OnceLock::new();
    let (cluster, _in_use) =
        SHARED.get_or_init(|| join_shared_server().expect("the shared PostgreSQL server"));
    cluster.fresh_database().expect("a database")
}

/// Takes part in the shared server; it stays while the returned file is open.
fn join_shared_server() -> io::Result<(Cluster, File)> {
    let user = fs_err::metadata("/proc/self")?.uid();
    let home = env::temp_dir().join(format!("proctor-test-postgres-{user}"));
    fs_err::create_dir_all(&home)?;
    let open = |name: &str| {
        File::options()
            .create(true)
            .append(true)
            .open(home.join(name))
    };
    let starting = open("starting.lock")?;
    starting.lock()?;
    let in_use = open("in-use.lock")?;
    in_use.lock_shared()?;
    let note = home.join("server");
    let running = fs_err::read_to_string(&note)
        .ok()
        .and_then(|text| Cluster::from_note(&text))
        .filter(Cluster::answers);
    let cluster = match running {
        Some(cluster) => cluster,
        None => {
            let directory = tempfile::Builder::new()
                .prefix("proctor-postgres-")
                .tempdir()?
                .keep();
            let cluster = Cluster::create(directory)?;
            cluster.start()?;
            fs_err::write(&note, cluster.to_note())?;
            // Waits for the moment at which nobody uses the server. Both locks are held while it
            // is stopped, so whoever comes next starts a new one.
            let home = home.display();
            let nobody_uses_it = format!(
                "exec 8>>'{home}/starting.lock' 9>>'{home}/in-use.lock'; \
                 while sleep 3; do flock 8; flock --nonblock 9 && break; flock --unlock 8; done; rm -f '{home}/server'"
            );
            cluster.guard(&nobody_uses_it, Stdio::null())?;
            cluster
        }
    };
    starting.unlock()?;
    Ok((cluster, in_use))
}

/// A database cluster on disk and the port it is served on.
struct Cluster {
    directory: PathBuf,
    port: u16,
    programs: PathBuf,
}

impl Cluster {
    fn create(directory: PathBuf) -> io::Result<Self> {
        let cluster = Self {
            directory,
            port: free_port()?,
            programs: programs()?,
        };
        if let Some((user, group)) = other_user()? {
            std::os::unix::fs::chown(&cluster.directory, Some(user), Some(group))?;
        }
        let mut initdb = cluster.program("initdb")?;
        initdb.args([
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
        ]);
        run(initdb.arg("--pgdata").arg(cluster.data()))?;
        Ok(cluster)
    }

    fn to_note(&self) -> String {
        format!("{}\n{}\n", self.port, self.directory.display())
    }

    fn from_note(note: &str) -> Option<Self> {
        let (port, directory) = note.trim_end().split_once('\n')?;
        Some(Self {
            directory: directory.into(),
            port: port.parse().ok()?,
            programs: programs().ok()?,
        })
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn start(&self) -> io::Result<()> {
        let mut postgres = self.program("postgres")?;
        let log = File::create(self.directory.join("log"))?;
        postgres
            .arg("-D")
            .arg(self.data())
            .arg("-p")
            .arg(self.port.to_string());
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=300",
        ] {
            postgres.args(["-c", setting]);
        }
        // A group of its own: what ends the test by signal does not end the server behind the
        // back of its guard.
        postgres
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()?;
        let deadline = Instant::now() + PATIENCE;
        while !self.answers() {
            if Instant::now() > deadline {
                let log = fs_err::read_to_string(self.directory.join("log")).unwrap_or_default();
                return Err(io::Error::other(format!(
                    "PostgreSQL does not answer:\n{log}"
                )));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn answers(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
            && self
                .psql("SELECT 1")
                .is_ok_and(|mut psql| run(&mut psql).is_ok())
    }

    fn psql(&self, statement: &str) -> io::Result<Command> {
        let mut psql = self.program("psql")?;
        psql.args([
            "--no-psqlrc",
            "--quiet",
            "--host=127.0.0.1",
            "--username=postgres",
            "--dbname=postgres",
        ]);
        psql.arg(format!("--port={}", self.port))
            .arg(format!("--command={statement}"));
        Ok(psql)
    }

    fn fresh_database(&self) -> io::Result<String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "test_{}_{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        // A process id comes again sooner or later on a server that many test runs share.
        run(&mut self.psql(&format!("DROP DATABASE IF EXISTS {name}"))?)?;
        run(&mut self.psql(&format!("CREATE DATABASE {name}"))?)?;
        Ok(format!(
            "postgres://postgres@127.0.0.1:{}/{name}",
            self.port
        ))
    }

    fn control(&self, action: &str) -> io::Result<()> {
        let mut pg_ctl = self.program("pg_ctl")?;
        run(pg_ctl
            .arg("--pgdata")
            .arg(self.data())
            .args(action.split(' ')))
    }

    /// A shell that waits for `end` and then stops and removes the server.
    fn guard(&self, end: &str, input: Stdio) -> io::Result<Child> {
        let (directory, programs) = (self.directory.display(), self.programs.display());
        let script = format!(
            "{end}; cd /; as='{user}'; \
             $as '{programs}/pg_ctl' --pgdata '{directory}/data' stop --mode immediate --silent; \
             rm -rf '{directory}'",
            user = match other_user()? {
                Some((user, group)) =>
                    format!("setpriv --reuid {user} --regid {group} --clear-groups"),
                None => String::new(),
            }
        );
        Command::new("sh")
            .args(["-c", &script])
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
    }

    /// One of PostgreSQL's programs, as the user that may run it.
    fn program(&self, name: &str) -> io::Result<Command> {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir("/");
        if let Some((user, group)) = other_user()? {
            command.uid(user).gid(group);
        }
        Ok(command)
    }
}

/// Where Debian, or whoever packaged it, put PostgreSQL's programs.
fn programs() -> io::Result<PathBuf> {
    let mut versions: Vec<PathBuf> = fs_err::read_dir("/usr/lib/postgresql")
        .map(|entries| {
            entries
                .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
                .collect()
        })
        .unwrap_or_default();
    versions.sort();
    versions
        .into_iter()
        .rev()
        .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default()))
        .find(|directory| directory.join("initdb").exists() && directory.join("postgres").exists())
        .ok_or_else(|| io::Error::other("PostgreSQL is not installed (apt-get install postgresql)"))
}

/// The user and group `postgres`, if this process is root and so must not run it itself.
fn other_user() -> io::Result<Option<(u32, u32)>> {
    if fs_err::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let users = fs_err::read_to_string("/etc/passwd")?;
    let user = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields[0] == "postgres");
    match user.as_deref() {
        Some([_, _, user, group, ..]) => {
            let number = |text: &str| text.parse().map_err(io::Error::other);
            Ok(Some((number(user)?, number(group)?)))
        }
        _ => Err(io::Error::other("there is no user postgres")),
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let program = Path::new(command.get_program()).display().to_string();
    Err(io::Error::other(format!(
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    )))
}
