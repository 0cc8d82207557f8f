//! What the FHIR store costs, beside the limit of this machine.
//!
//! `cargo bench -p proctor-playground --bench fhir` loads the official examples and a generated
//! population (23,000 patients, about 150,000 resources), then measures each operation in process,
//! over HTTP, and beside a bare handler that returns the same bytes over the same connections. The
//! load comes from a process of its own. `FHIR_BENCH_PATIENTS` and `FHIR_BENCH_SECONDS` make it
//! smaller; `FHIR_BENCH_GROWTH=0` leaves the growth table out.

mod load;
mod population;

use std::{
    hint::black_box,
    io::{BufRead, BufReader},
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::Router;
use bytes::Bytes;
use http::Method;
use load::Load;
use proctor_core::{
    id::kinds::WorldId,
    time::{Clock, Timestamp},
};
use proctor_playground::{
    fhir::{
        Base, BaseBuilder, FhirService, Seed, Settings, State,
        http::{Mounted, router_at},
        rest::{FHIR_JSON, Request},
    },
    recorder::Recorder,
};
use proctor_store::{
    Store, StoreOptions,
    ambient::{RandomIds, SystemClock},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// How often the store and the bare handler take turns; the median counts.
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--load") {
        print(&load::child(&arguments[1..]));
        return;
    }
    let patients = setting("FHIR_BENCH_PATIENTS", 23_000.0) as usize;
    let seconds = setting("FHIR_BENCH_SECONDS", 2.0);
    let base = measure_base(patients);
    measure_branches(&base);
    measure_in_process(&base);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(measure_http(&base, seconds));
    if setting("FHIR_BENCH_GROWTH", 1.0) > 0.0 {
        drop(base);
        measure_growth();
    }
}

/// The operations that are measured: a name, a path, and the goal as a share of the bare handler.
fn operations() -> Vec<(&'static str, String, f64)> {
    let group = population::base26(777);
    vec![
        ("read", "Patient/p7770".to_owned(), 0.7),
        (
            "token, 10 hits",
            "Patient?identifier=urn:group%7CG777".to_owned(),
            0.4,
        ),
        (
            "string prefix, 10 hits",
            format!("Patient?family={group}"),
            0.4,
        ),
        (
            "birth date, 10 hits",
            "Patient?birthdate=1932-02-17".to_owned(),
            0.4,
        ),
        (
            "reference, 3 hits",
            "Observation?patient=p7770".to_owned(),
            0.4,
        ),
        (
            "chain, 3 hits",
            "Observation?patient.identifier=urn:mrn%7CMRN0007770".to_owned(),
            0.2,
        ),
        (
            "_sort of 11,500, _count=10",
            "Patient?gender=female&_sort=birthdate&_count=10".to_owned(),
            0.1,
        ),
    ]
}

fn measure_base(patients: usize) -> Arc<Base> {
    let begin = Instant::now();
    let base = make_base(patients, true);
    heading("base");
    line("resources", &base.len().to_string());
    line(
        "loaded and indexed in",
        &format!("{:.1} s", begin.elapsed().as_secs_f64()),
    );
    line(
        "index arrays",
        &format!("{:.0} MB", mega(base.index_bytes())),
    );
    line(
        "memory of the process",
        &format!("{:.0} MB", mega(resident())),
    );
    base
}

fn make_base(patients: usize, with_examples: bool) -> Arc<Base> {
    let mut builder = BaseBuilder::new(Seed::from_number(1), Timestamp::from_millis(0));
    if with_examples {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../testdata/fhir-r4-examples.ndjson.zst"
        );
        let file = fs_err::File::open(path)
            .expect("the examples, made by `scripts/fhir-definitions --examples`");
        let lines = BufReader::new(zstd::Decoder::new(file).expect("zstd")).lines();
        for line in lines {
            let value: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
            // One example is in the package twice.
            let _ = builder.load_one(value);
        }
    }
    for resource in population::population(patients) {
        builder
            .load_one(resource)
            .expect("a generated resource is fine");
    }
    Arc::new(builder.finish())
}

fn branch(base: &Arc<Base>, settings: &Arc<Settings>, number: u64) -> State {
    State::branch(
        Arc::clone(base),
        Arc::clone(settings),
        Seed::from_number(number),
    )
}

fn measure_branches(base: &Arc<Base>) {
    heading("playgrounds");
    let settings = Arc::new(Settings::at("http://bench/fhir"));
    let before = resident();
    let mut states: Vec<State> = (0..1_000)
        .map(|number| branch(base, &settings, number))
        .collect();
    let patients: Vec<Value> = population::population(10)
        .filter(|resource| resource["resourceType"] == "Patient")
        .collect();
    for state in &mut states {
        for patient in &patients {
            let path = format!("Patient/{}", patient["id"].as_str().expect("an id"));
            let request = Request::new(Method::PUT, &path, Timestamp::from_millis(1))
                .with_body(patient.to_string());
            assert!(state.apply(request).0.status.is_success());
        }
    }
    let grown = resident().saturating_sub(before);
    goal(
        "1,000 playgrounds, 10 updates each",
        &format!("{:.0} MB", mega(grown)),
        grown <= 500_000_000,
        "≤ 500 MB",
    );
    let (begin, before) = (Instant::now(), resident());
    // Many, so that the memory of one is more than what the allocator has lying about.
    let many: Vec<State> = (0..50_000)
        .map(|number| branch(base, &settings, number))
        .collect();
    let each = begin.elapsed() / 50_000;
    let grown = resident().saturating_sub(before) / 50_000;
    goal(
        "branch",
        &format!("{:.1} µs", each.as_secs_f64() * 1e6),
        each <= Duration::from_millis(1),
        "≤ 1 ms",
    );
    goal(
        "memory of a branch",
        &format!("{:.1} KB", grown as f64 / 1e3),
        grown <= 100_000,
        "≤ 100 KB",
    );
    drop(many);
}

fn measure_in_process(base: &Arc<Base>) {
    heading("in process, one thread, nothing recorded");
    let settings = Arc::new(Settings::at("http://bench/fhir"));
    let mut state = branch(base, &settings, 1);
    for (name, path, _) in operations() {
        let request = Request::new(Method::GET, &path, SystemClock.now());
        let micros = time(|| {
            let response = state.answer(black_box(&request)).expect("a read");
            assert!(response.status.is_success());
        });
        line(name, &format!("{micros:.2} µs"));
    }
    let body = patient_body();
    let request = Request::new(Method::POST, "Patient", SystemClock.now()).with_body(body);
    let micros = time(|| {
        assert_eq!(state.apply(request.clone()).0.status, 201);
    });
    line("create", &format!("{micros:.2} µs"));
    let mut state = branch(base, &settings, 2);
    let request = Request::new(Method::POST, "", SystemClock.now()).with_body(transaction(240));
    let begin = Instant::now();
    for _ in 0..20 {
        assert_eq!(state.apply(request.clone()).0.status, 200);
    }
    line(
        "transaction of 240 entries",
        &format!("{:.2} ms", begin.elapsed().as_secs_f64() * 1e3 / 20.0),
    );
}

async fn measure_http(base: &Arc<Base>, seconds: f64) {
    let directory = tempfile::tempdir().expect("a directory");
    let house = House::open(directory.path()).await;
    let settings = Arc::new(Settings::at("http://bench/fhir"));
    let service = house.service(base, &settings, 1).await;
    let address = house
        .listen(router_at("", Mounted::open(service.clone())))
        .await;

    heading("over HTTP, 32 connections, every request recorded in SQLite");
    for (name, path, share) in operations() {
        let request = Request::new(Method::GET, &path, SystemClock.now());
        let response = service.handle(request).await;
        let bare = house.listen(bare(&response)).await;
        let text =
            format!("GET /{path} HTTP/1.1\r\nhost: bench\r\naccept: application/fhir+json\r\n\r\n");
        let rate = |address| {
            let load = Load {
                address,
                request: text.clone(),
                connections: 32,
                seconds: seconds / ROUNDS as f64,
            };
            tokio::task::spawn_blocking(move || load::measure(&load))
        };
        // In turns, so that whatever else the machine does meets both.
        let mut rounds = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let limit = rate(bare).await.expect("measured");
            let reached = rate(address).await.expect("measured");
            rounds.push((reached / limit, reached, limit));
        }
        rounds.sort_by(|left, right| left.0.total_cmp(&right.0));
        let (ratio, reached, limit) = rounds[ROUNDS / 2];
        goal(
            name,
            &format!("{reached:>7.0}/s, bare {limit:>7.0}/s, {ratio:.2} ×"),
            ratio >= share,
            &format!("≥ {share} ×"),
        );
    }

    heading("durable writes over HTTP");
    let body = patient_body();
    let text = format!(
        "POST /Patient HTTP/1.1\r\nhost: bench\r\ncontent-type: application/fhir+json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let rate = |connections| {
        let load = Load {
            address,
            request: text.clone(),
            connections,
            seconds,
        };
        tokio::task::spawn_blocking(move || load::measure(&load))
    };
    let (one, many) = (
        rate(1).await.expect("measured"),
        rate(64).await.expect("measured"),
    );
    goal(
        "create, 64 writers",
        &format!("{many:.0}/s, one writer {one:.0}/s, {:.1} ×", many / one),
        many >= 3_000.0 || many >= 10.0 * one,
        "≥ 3,000/s or ≥ 10 ×",
    );
    let request = Request::new(Method::POST, "", SystemClock.now()).with_body(transaction(240));
    let begin = Instant::now();
    for _ in 0..20 {
        assert_eq!(service.handle(request.clone()).await.status, 200);
    }
    let millis = begin.elapsed().as_secs_f64() * 1e3 / 20.0;
    goal(
        "transaction of 240 entries, durable",
        &format!("{millis:.1} ms"),
        millis <= 20.0,
        "≤ 20 ms",
    );
    house.close().await;
}

/// Selective searches at three sizes.
fn measure_growth() {
    heading("how cost grows (in process)");
    let settings = Arc::new(Settings::at("http://bench/fhir"));
    for patients in [770, 7_700, 77_000] {
        let base = make_base(patients, false);
        let state = branch(&base, &settings, 1);
        let group = patients / population::PER_GROUP / 2;
        let birth = jiff::civil::date(1930, 1, 1)
            + jiff::Span::new().days(i64::try_from(group).expect("a small number"));
        let number = patients / 2;
        let paths = [
            ("read", format!("Patient/p{number}")),
            ("token", format!("Patient?identifier=urn:group%7CG{group}")),
            (
                "string",
                format!("Patient?family={}", population::base26(group)),
            ),
            ("date", format!("Patient?birthdate={birth}")),
            ("reference", format!("Observation?patient=p{number}")),
            (
                "chain",
                format!("Observation?patient.identifier=urn:mrn%7CMRN{number:07}"),
            ),
        ];
        let costs: Vec<String> = paths
            .iter()
            .map(|(name, path)| {
                let request = Request::new(Method::GET, path, SystemClock.now());
                let micros = time(|| {
                    black_box(state.answer(black_box(&request)).expect("a read"));
                });
                format!("{name} {micros:.1}")
            })
            .collect();
        line(
            &format!("{} resources", base.len()),
            &format!("{} µs", costs.join(", ")),
        );
    }
}

/// A journal in SQLite, and what is served from this process.
struct House {
    store: Store,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl House {
    async fn open(directory: &std::path::Path) -> Self {
        let options = StoreOptions::embedded(directory);
        let store = Store::open(
            &options,
            Arc::new(SystemClock),
            Arc::new(RandomIds::default()),
        )
        .await
        .expect("a store");
        Self {
            store,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }
    }

    async fn service(
        &self,
        base: &Arc<Base>,
        settings: &Arc<Settings>,
        world: u128,
    ) -> FhirService {
        let world = WorldId::from_uuid(Uuid::from_u128(world));
        let journal = self.store.journal().clone();
        let recorder = Recorder::open(journal, world, &self.tasks, self.closing.clone());
        let seed = Seed::from_number(1);
        FhirService::open(
            Arc::clone(base),
            Arc::clone(settings),
            seed,
            Arc::new(SystemClock),
            recorder,
        )
        .await
        .expect("a service")
    }

    async fn listen(&self, router: Router) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            stream.set_nodelay(true).expect("a TCP connection");
        });
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            axum::serve(listener, router)
                .with_graceful_shutdown(closing.cancelled_owned())
                .await
                .expect("served");
        });
        address
    }

    async fn close(self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }
}

/// A handler that returns the bytes and headers of `response`, and does nothing else.
fn bare(response: &proctor_playground::fhir::rest::Response) -> Router {
    let (body, headers): (Bytes, _) = (response.body.clone(), response.http_headers());
    assert_eq!(headers["content-type"], FHIR_JSON);
    Router::new().fallback(move || {
        let (body, headers) = (body.clone(), headers.clone());
        async move { (headers, body) }
    })
}

fn patient_body() -> String {
    let patient = population::population(1).find(|resource| resource["resourceType"] == "Patient");
    patient.expect("a patient").to_string()
}

fn transaction(entries: usize) -> String {
    let resources = population::population(entries)
        .filter(|resource| resource["resourceType"] != "Organization");
    let entries: Vec<Value> = resources
        .take(entries)
        .enumerate()
        .map(|(place, resource)| {
            json!({
                "fullUrl": format!("urn:uuid:{}", Uuid::from_u128(place as u128)),
                "request": {"method": "POST", "url": resource["resourceType"]},
                "resource": resource,
            })
        })
        .collect();
    json!({"resourceType": "Bundle", "type": "transaction", "entry": entries}).to_string()
}

/// Microseconds of one call, the median of several rounds.
fn time(mut call: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut calls = 0u32;
    while begin.elapsed() < Duration::from_millis(100) {
        call();
        calls += 1;
    }
    let mut rounds: Vec<f64> = (0..5)
        .map(|_| {
            let begin = Instant::now();
            for _ in 0..calls {
                call();
            }
            begin.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[2]
}

/// Bytes of memory that this process occupies.
fn resident() -> usize {
    let text = fs_err::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}

fn mega(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn setting(name: &str, default: f64) -> f64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn heading(text: &str) {
    print(&format!("\n{text}"));
}

fn line(name: &str, value: &str) {
    print(&format!("  {name:<38} {value}"));
}

fn goal(name: &str, value: &str, is_met: bool, wanted: &str) {
    let verdict = if is_met { "met" } else { "MISSED" };
    line(name, &format!("{value}   goal {wanted}: {verdict}"));
}

#[expect(clippy::print_stdout, reason = "a benchmark is there to print")]
fn print(text: &str) {
    println!("{text}");
}
