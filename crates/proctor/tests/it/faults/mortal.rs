//! A server that dies at a fault point, and a client that asks again until it is answered.

use std::{
    collections::{HashSet, VecDeque},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_testkit::{
    server::{Caller, KEY, Server},
    traces::traces_of,
};
use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    PROCTOR,
    leftovers::{becomes_empty, entries},
};

/// How long something may take that the server does by itself.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many servers are at work at once.
const AT_ONCE: usize = 4;

/// A server that dies at fault points. It is started again when it does not answer.
pub(crate) struct Mortal {
    data: PathBuf,
    server: Server,
    /// Where the servers that are started again die, the next one first.
    to_come: VecDeque<String>,
    requests: usize,
    pub(crate) deaths: usize,
}

impl Mortal {
    /// Serves a data directory with a server that dies at the first of these points; the one after it dies at the second, and so on.
    pub(crate) fn start(data: &Path, faults: impl IntoIterator<Item = String>) -> Self {
        let mut to_come = faults.into_iter().collect();
        let mut deaths = 0;
        Self {
            server: start_next(data, &mut to_come, &mut deaths),
            deaths,
            to_come,
            data: data.to_owned(),
            requests: 0,
        }
    }

    /// A server that serves a data directory.
    pub(crate) fn adopt(data: &Path, server: Server) -> Self {
        Self {
            data: data.to_owned(),
            server,
            to_come: VecDeque::new(),
            requests: 0,
            deaths: 0,
        }
    }

    /// Asks as the organization, under an id of its own, until there is an answer.
    pub(crate) async fn ask(&mut self, method: Method, path: &str, body: Value) -> (u16, Value) {
        self.ask_as(KEY, method, path, body).await
    }

    /// The same as somebody else.
    pub(crate) async fn ask_as(
        &mut self,
        key: &str,
        method: Method,
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        self.requests += 1;
        // No other life of this directory has the same.
        let id = format!("{}-{}", self.server.pid(), self.requests);
        loop {
            let caller = self.server.caller().with_key(key).with_request_id(&id);
            match caller.try_ask(method.clone(), path, &body).await {
                // The server did not carry it out, or cannot tell.
                Some((408 | 503, _)) => tokio::time::sleep(Duration::from_millis(50)).await,
                Some(answer) => return answer,
                None => self.revive(),
            }
        }
    }

    /// Posts, and is granted what it asks for.
    pub(crate) async fn post(&mut self, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(Method::POST, path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// What is at a path.
    pub(crate) async fn get(&mut self, path: &str) -> Value {
        let (status, answer) = self.ask(Method::GET, path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// What is at a path as soon as `is_there` holds. Lives run on several threads, so this is a loop and no async closure, which would not be `Send`.
    pub(crate) async fn wait(&mut self, path: &str, is_there: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let seen = self.get(path).await;
            if is_there(&seen) {
                return seen;
            }
            assert!(began.elapsed() < PATIENCE, "{path}: {seen:#}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn revive(&mut self) {
        self.server.kill();
        self.deaths += 1;
        self.server = start_next(&self.data, &mut self.to_come, &mut self.deaths);
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Ends the server as an administrator would: no box, process, mount or control group is there afterwards.
    pub(crate) async fn leaves_nothing(mut self) {
        let known = self.get("/v1/devboxes?limit=100").await;
        let known = known["devboxes"].as_array().unwrap().iter();
        let ours: HashSet<String> = known
            .map(|devbox| devbox["id"].as_str().unwrap().to_owned())
            .collect();
        let devboxes = self.data.join("devboxes");
        becomes_empty(|| entries(&devboxes.join("local/boxes"))).await;
        self.server.signal("TERM");
        assert_eq!(self.server.exit_code(), Some(0));
        becomes_empty(|| traces_of(&self.data, |name| ours.contains(name))).await;
        assert_eq!(entries(&devboxes.join("local/trash")), [""; 0]);
    }
}

/// Starts a server that dies at the next point to come, and the one after it if it died before it could serve.
fn start_next(data: &Path, to_come: &mut VecDeque<String>, deaths: &mut usize) -> Server {
    while let Some(fault) = to_come.pop_front() {
        let mut command = Server::command_on(PROCTOR, data);
        match Server::try_start(command.env("PROCTOR_FAULT", fault)) {
            Some(server) => return server,
            None => *deaths += 1,
        }
    }
    Server::on(PROCTOR, data)
}

/// What every case begins with: a data directory that nobody serves.
pub(crate) struct Template<P> {
    data: TempDir,
    /// What is there to be known about it.
    pub(crate) prepared: P,
}

impl<P> Template<P> {
    /// A directory that `prepare` has filled.
    pub(crate) async fn new(prepare: impl AsyncFnOnce(&Caller) -> P) -> Self {
        let data = tempfile::tempdir().unwrap();
        let server = Server::on(PROCTOR, data.path());
        let prepared = prepare(server.caller()).await;
        server.signal("TERM");
        assert_eq!(server.exit_code(), Some(0));
        Self { data, prepared }
    }

    fn copy(&self) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new("cp");
        let copied = command
            .arg("-a")
            .arg(self.data.path().join("."))
            .arg(copy.path())
            .status();
        assert!(copied.unwrap().success());
        copy
    }
}

/// Says at which point the server died when a case fails.
struct Case(String);

impl Drop for Case {
    #[expect(
        clippy::print_stdout,
        reason = "whoever reads the failure needs the point"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the server was killed at {}", self.0);
        }
    }
}

/// How often the server dies in a life.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kills {
    /// At one point of the undisturbed life.
    One,
    /// The same, and again a few points later, while the next server takes up what was left.
    TwoInARow,
}

impl Kills {
    fn faults(self, number: usize, point: &str) -> Vec<String> {
        match self {
            Self::One => vec![point.to_owned()],
            Self::TwoInARow => vec![point.to_owned(), format!("*:{}", 1 + number % 8)],
        }
    }
}

/// Lives `life` once undisturbed, then once for each point that it reached, with the server dying there.
#[expect(
    clippy::print_stdout,
    reason = "whoever reads a failure needs the points"
)]
pub(crate) async fn at_every_point<P, F>(
    kills: Kills,
    template: Template<P>,
    life: impl Fn(Mortal, Arc<Template<P>>) -> F + Clone + Send + 'static,
) where
    P: Send + Sync + 'static,
    F: Future<Output = usize> + Send,
{
    let template = Arc::new(template);
    let trace = template.data.path().with_extension("trace");
    let undisturbed = template.copy();
    let mut command = Server::command_on(PROCTOR, undisturbed.path());
    let server = Server::start(command.env("PROCTOR_FAULT_TRACE", &trace));
    let mortal = Mortal::adopt(undisturbed.path(), server);
    assert_eq!(life(mortal, Arc::clone(&template)).await, 0);
    let reached = fs_err::read_to_string(&trace).unwrap();
    fs_err::remove_file(&trace).unwrap();
    let mut seen = HashSet::new();
    let points: Vec<&str> = reached.lines().filter(|line| seen.insert(*line)).collect();
    println!("{} points:\n{reached}", points.len());

    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut cases = JoinSet::new();
    for (number, point) in points.iter().enumerate() {
        let faults = kills.faults(number, point);
        let case = Case(faults.join(", then at "));
        let (life, template, turns) = (life.clone(), Arc::clone(&template), Arc::clone(&turns));
        let point = (*point).to_owned();
        cases.spawn(async move {
            let _turn = turns.acquire_owned().await.unwrap();
            let data = template.copy();
            let mortal = Mortal::start(data.path(), faults);
            let deaths = life(mortal, template).await;
            drop(case);
            (point, deaths)
        });
    }
    let (mut deaths, mut failed, mut survived) = (0, 0, Vec::new());
    while let Some(lived) = cases.join_next().await {
        match lived {
            Ok((point, 0)) => survived.push(point),
            Ok((_, died)) => deaths += died,
            Err(_) => failed += 1,
        }
    }
    assert_eq!(failed, 0, "lives that went wrong; what they said is above");
    // What goes on beside the requests does not come as often each time, but everything comes once.
    let is_first = |point: &&String| point.ends_with(":1");
    let unkilled: Vec<&String> = survived.iter().filter(is_first).collect();
    assert!(unkilled.is_empty(), "nobody was killed at {unkilled:?}");
    let planned = points.len() * kills.faults(0, "").len();
    assert!(
        deaths * 10 >= planned * 8,
        "only {deaths} of {planned} were killed"
    );
}
