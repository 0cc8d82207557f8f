//! A world in time: what comes later, and a clock that can be advanced.

use std::time::Duration;

use http::Method;
use proctor_core::{definition::ClockPolicy, time::Clock};
use proctor_playground::world::{MemoryWorld, Origin, Rehearsal, Scenario, World};
use proctor_simulation::{exchange::Request, scenario::Step};
use serde_json::{Value, json};

use crate::clinic::{ask, begin, bench, origin, patients, registry, with_steps};

fn steps(written: &[Value]) -> Vec<Step> {
    let registry = registry().with_patterns(proctor_verify::read_pattern);
    let read = written
        .iter()
        .map(|step| registry.read_step(step).map_err(|bad| bad.to_string()));
    read.collect::<Result<_, _>>().unwrap()
}

fn patient(id: &str, timing: &Value) -> Value {
    let mut step =
        json!({"type": "fhir_upsert", "resource": {"resourceType": "Patient", "id": id}});
    let timing = timing.as_object().unwrap().clone();
    step.as_object_mut().unwrap().extend(timing);
    step
}

fn a_new_patient() -> Value {
    json!({"resourceType": "Patient"})
}

/// The kinds of what happened, with the seconds since the world began.
async fn told(world: &World, start: i64) -> Vec<String> {
    let events = world.events(None).await.unwrap();
    let tell = |event: &proctor_playground::world::WorldEvent| {
        format!("{} {}", (event.at.as_millis() - start) / 1000, event.kind)
    };
    events.iter().map(tell).collect()
}

#[tokio::test]
async fn a_step_that_comes_later_happens_before_the_next_request_as_of_its_time() {
    let bench = bench().await;
    let start = bench.clock.now().as_millis();
    let later = steps(&[patient("bob", &json!({"after": "120s"}))]);
    let world = begin(&bench, 1, &later).await;
    assert_eq!(
        ask(&world, Method::GET, "fhir/Patient/bob", None).await.0,
        404
    );
    bench.clock.advance(Duration::from_secs(119));
    assert_eq!(
        ask(&world, Method::GET, "fhir/Patient/bob", None).await.0,
        404
    );
    bench.clock.advance(Duration::from_secs(60));
    let (status, found) = ask(&world, Method::GET, "fhir/Patient/bob", None).await;
    assert_eq!(status, 200);
    assert_eq!(found["meta"]["lastUpdated"], "2026-04-21T17:02:00.000Z");
    world.freeze(bench.clock.now()).await.unwrap();
    assert_eq!(
        told(&world, start).await,
        [
            "0 fhir_request",
            "119 fhir_request",
            "120 fhir_provision",
            "179 fhir_request"
        ]
    );
}

#[tokio::test]
async fn waiting_costs_no_time_when_the_clock_is_advanced() {
    let bench = bench().await;
    let later = steps(&[patient("bob", &json!({"after": "2h"}))]);
    let world = begin(&bench, 1, &later).await;
    let now = world.advance(3 * 3_600).await.unwrap();
    assert_eq!(now.to_string(), "2026-04-21T20:00:00.000Z");
    let (_, found) = ask(&world, Method::GET, "fhir/Patient/bob", None).await;
    assert_eq!(found["meta"]["lastUpdated"], "2026-04-21T19:00:00.000Z");
    // Another node finds the same world, with the same clock.
    let opened = World::open(with_steps(1, &later), &bench.around)
        .await
        .unwrap();
    assert_eq!(patients(&opened).await, 2);
    let (_, made) = ask(&opened, Method::POST, "fhir/Patient", Some(a_new_patient())).await;
    assert_eq!(made["meta"]["lastUpdated"], "2026-04-21T20:00:00.000Z");
    // Whoever counts deadlines does so by the real clock.
    let at = opened.freeze(bench.clock.now()).await.unwrap();
    assert_eq!(at, bench.clock.now());
    assert_eq!(
        opened.frozen_at().unwrap().to_string(),
        "2026-04-21T20:00:00.000Z"
    );
    assert_eq!(world.freeze(bench.clock.now()).await.unwrap(), at);
}

#[tokio::test]
async fn a_clock_is_not_advanced_too_far_nor_where_the_task_forbids_it() {
    let bench = bench().await;
    let world = begin(&bench, 1, &[]).await;
    let refused = world.advance(90 * 86_400 + 1).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the clock can be advanced by at most 90 days at once"
    );
    for _ in 0..40 {
        world.advance(90 * 86_400).await.unwrap();
    }
    let refused = world.advance(90 * 86_400).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the clock can be at most 3660 days ahead"
    );
    let scenario = Scenario {
        clock: ClockPolicy::Fixed,
        ..Scenario::default()
    };
    let fixed = Origin {
        scenario,
        ..origin(2)
    };
    let rehearsal = Rehearsal::of(fixed, bench.clock.now()).unwrap();
    let fixed = World::begin(rehearsal, &bench.around).await.unwrap();
    let refused = fixed.advance(1).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the task does not let anybody advance the clock"
    );
}

#[tokio::test]
async fn a_step_answers_to_what_the_agent_does() {
    let bench = bench().await;
    let start = bench.clock.now().as_millis();
    let made = json!({"protocol": "fhir", "method": "POST", "path": "fhir/Patient", "status": 201});
    let read = json!({"protocol": "fhir", "method": "GET", "path": "fhir/Patient/ada"});
    let later = steps(&[
        patient("bob", &json!({"when": made, "after": "10s"})),
        patient("cleo", &json!({"when": read})),
    ]);
    let world = begin(&bench, 1, &later).await;
    ask(&world, Method::POST, "fhir/Patient", Some(a_new_patient())).await;
    assert_eq!(patients(&world).await, 2, "the answer takes ten seconds");
    bench.clock.advance(Duration::from_secs(30));
    assert_eq!(
        ask(&world, Method::GET, "fhir/Patient/ada", None).await.0,
        200
    );
    // Also what only looks is answered to, and each step once.
    assert_eq!(
        ask(&world, Method::GET, "fhir/Patient/cleo", None).await.0,
        200
    );
    ask(&world, Method::POST, "fhir/Patient", Some(a_new_patient())).await;
    world.freeze(bench.clock.now()).await.unwrap();
    assert_eq!(
        told(&world, start).await,
        [
            "0 fhir_request",
            "0 step_scheduled",
            "10 fhir_provision",
            "30 fhir_request",
            "30 step_scheduled",
            "30 fhir_provision",
            "30 fhir_request",
            "30 fhir_request",
        ]
    );
    let opened = World::open(with_steps(1, &later), &bench.around)
        .await
        .unwrap();
    assert_eq!(patients(&opened).await, 5);
}

#[tokio::test]
async fn steps_that_wait_for_each_other_end_and_the_world_says_so() {
    let bench = bench().await;
    let any = json!({"protocol": "fhir", "method": "PUT", "by": "any"});
    let later = steps(&[
        patient("bob", &json!({"when": any, "times": 1000})),
        patient("cleo", &json!({"when": any, "times": 1000})),
    ]);
    let world = begin(&bench, 1, &later).await;
    let new = json!({"resourceType": "Patient", "id": "dora"});
    ask(&world, Method::PUT, "fhir/Patient/dora", Some(new)).await;
    assert_eq!(
        ask(&world, Method::GET, "fhir/Patient/bob", None).await.0,
        200
    );
    let events = world.events(None).await.unwrap();
    let stopped: Vec<&Value> = events
        .iter()
        .filter(|event| event.kind == "steps_stopped")
        .map(|event| &event.payload)
        .collect();
    assert_eq!(stopped, [&json!({"limit": 1000})]);
    let provisions = events.iter().filter(|event| event.kind == "fhir_provision");
    assert_eq!(provisions.count(), 1_000);
}

#[tokio::test]
async fn a_step_that_cannot_happen_any_more_is_told_and_stops_nobody() {
    let bench = bench().await;
    let invalid = json!({"type": "fhir_upsert", "after": "1s", "resource": {"resourceType": "Patiént", "id": "x"}});
    let later = steps(&[invalid, patient("bob", &json!({"after": "2s"}))]);
    let world = begin(&bench, 1, &later).await;
    bench.clock.advance(Duration::from_secs(5));
    assert_eq!(
        ask(&world, Method::GET, "fhir/Patient/bob", None).await.0,
        200
    );
    let events = world.events(None).await.unwrap();
    assert_eq!(events[0].kind, "step_failed");
    assert_eq!(events[0].payload["step"], 1);
    let opened = World::open(with_steps(1, &later), &bench.around)
        .await
        .unwrap();
    assert_eq!(patients(&opened).await, 2);
}

/// Does the same in a world on disk; the hash of its journal's end.
async fn journal_of_the_same_commands() -> String {
    let bench = bench().await;
    let made = json!({"protocol": "fhir", "method": "POST"});
    let later = steps(&[
        patient("bob", &json!({"after": "1h"})),
        patient("cleo", &json!({"when": made, "after": "1d"})),
    ]);
    let world = begin(&bench, 1, &later).await;
    bench.clock.advance(Duration::from_secs(5));
    ask(&world, Method::POST, "fhir/Patient", Some(a_new_patient())).await;
    world.advance(2 * 86_400).await.unwrap();
    bench.clock.advance(Duration::from_secs(5));
    ask(&world, Method::POST, "fhir/Patient", Some(a_new_patient())).await;
    world.freeze(bench.clock.now()).await.unwrap();
    let head = bench.store.journal().head(origin(1).id).await.unwrap();
    format!("{head:?}")
}

#[tokio::test]
async fn the_same_seed_and_commands_give_the_same_journal() {
    let first = journal_of_the_same_commands().await;
    assert_eq!(first, journal_of_the_same_commands().await);
}

#[tokio::test]
async fn a_world_in_memory_has_the_same_time() {
    let bench = bench().await;
    let now = bench.clock.now();
    let later = steps(&[patient("bob", &json!({"after": "1h"}))]);
    let rehearsal = Rehearsal::of(with_steps(1, &later), now).unwrap();
    let mut world = MemoryWorld::of(rehearsal);
    let get = || Request::new(Method::GET, "fhir/Patient/bob", now);
    assert_eq!(world.handle(get(), now).status, 404);
    assert_eq!(world.last_due(), Some(now.plus(Duration::from_secs(3_600))));
    world.advance(7_200, now).unwrap();
    assert_eq!(world.handle(get(), now).status, 200);
    let record = world.record().unwrap();
    let kinds: Vec<&str> = record
        .events
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(
        kinds,
        [
            "fhir_request",
            "clock_advanced",
            "fhir_provision",
            "fhir_request"
        ]
    );
    assert_eq!(record.events[1].simulator.as_str(), "Clock");
    assert_eq!(
        world.world_time(bench.clock.now()),
        now.plus(Duration::from_secs(7_200))
    );
}
