//! Operations over HTTP, every one of them recorded, beside a handler that does nothing else.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use http::Method;
use proctor_core::time::Clock;
use proctor_fhir_server::http::router_at;
use proctor_fhir_store::{Base, Settings};
use proctor_playground::world::World;
use proctor_simulation::exchange::Request;
use proctor_store::ambient::SystemClock;

use crate::{
    house::{House, bare},
    load::{self, Load},
    operations::{Operation, operations, patient_body, transaction},
    report::{goal, heading},
};

/// How often the store and the bare handler take turns; the median counts.
const ROUNDS: usize = 5;

/// Measures reads, searches and writes on one store.
pub(crate) fn measure(base: &Arc<Base>, seconds: f64) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let directory = tempfile::tempdir().expect("a directory");
        let house = House::open(directory.path()).await;
        let settings = Arc::new(Settings::at("http://bench/fhir"));
        let world = house.world(base, &settings).await;
        let address = house.listen(router_at("", world.clone())).await;
        heading("over HTTP, 32 connections, every request recorded in SQLite");
        for operation in operations() {
            measure_read(&house, &world, address, &operation, seconds).await;
        }
        heading("durable writes over HTTP");
        measure_creates(address, seconds).await;
        measure_transactions(&world).await;
        house.close().await;
    });
}

async fn measure_read(
    house: &House,
    world: &World,
    address: SocketAddr,
    operation: &Operation,
    seconds: f64,
) {
    let path = &operation.path;
    let request = Request::new(Method::GET, &format!("fhir/{path}"), SystemClock.now());
    let response = world.handle(0, request).await;
    operation.check(response.status, &response.body);
    let bare = house.listen(bare(&response)).await;
    let text =
        format!("GET /{path} HTTP/1.1\r\nhost: bench\r\naccept: application/fhir+json\r\n\r\n");
    // In turns, so that whatever else the machine does meets both.
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let limit = rate(bare, &text, 32, seconds / ROUNDS as f64).await;
        let reached = rate(address, &text, 32, seconds / ROUNDS as f64).await;
        rounds.push((reached / limit, reached, limit));
    }
    rounds.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (ratio, reached, limit) = rounds[ROUNDS / 2];
    goal(
        operation.name,
        &format!("{reached:>7.0}/s, bare {limit:>7.0}/s, {ratio:.2} ×"),
        ratio >= operation.goal,
        &format!("≥ {} ×", operation.goal),
    );
}

async fn measure_creates(address: SocketAddr, seconds: f64) {
    let body = patient_body();
    let text = format!(
        "POST /Patient HTTP/1.1\r\nhost: bench\r\ncontent-type: application/fhir+json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let one = rate(address, &text, 1, seconds).await;
    let many = rate(address, &text, 64, seconds).await;
    goal(
        "create, 64 writers",
        &format!("{many:.0}/s, one writer {one:.0}/s, {:.1} ×", many / one),
        many >= 3_000.0 || many >= 10.0 * one,
        "≥ 3,000/s or ≥ 10 ×",
    );
}

async fn measure_transactions(world: &World) {
    let request = Request::new(Method::POST, "fhir", SystemClock.now()).with_body(transaction(240));
    let begin = Instant::now();
    for _ in 0..20 {
        assert_eq!(world.handle(0, request.clone()).await.status, 200);
    }
    let millis = begin.elapsed().as_secs_f64() * 1e3 / 20.0;
    goal(
        "transaction of 240 entries, durable",
        &format!("{millis:.1} ms"),
        millis <= 20.0,
        "≤ 20 ms",
    );
}

/// Requests per second, from a process of its own.
async fn rate(address: SocketAddr, request: &str, connections: usize, seconds: f64) -> f64 {
    let load = Load {
        address,
        request: request.to_owned(),
        connections,
        seconds,
    };
    tokio::task::spawn_blocking(move || load::measure(&load))
        .await
        .expect("measured")
}
