//! What verification costs, beside its goals.
//!
//! `cargo bench -p proctor-verify` measures a task of 20 criteria on a world with some thousand
//! things in it: once with the criteria read anew, and over and over with a rubric that was read
//! before, as re-scoring does. At the end it prints both beside the goals: 5 ms for the task, and
//! 10,000 criteria a second on one core. Where the machine is shared, the time that a core was busy
//! says more than the clock; both are printed.
//!
//! A second task of 20 criteria asks what happened and what was changed (`unchanged`, `events`, `disclosure`) in a world with
//! 2,000 events beside its 2,000 resources. Its goal is 5 ms too, to be judged.

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/support.rs"]
mod support;

use std::{
    hint::black_box,
    io::Write as _,
    time::{Duration, Instant},
};

use criterion::Criterion as Bench;
use proctor_core::definition::{Check, Task};
use proctor_office::voice::Speaker::{Agent, Caller};
use proctor_simulation::record::Write;
use proctor_verify::{CheckRegistry, Rubric, judge};
use serde_json::{Value, json};
use support::{World, context, criterion, task};

/// What a task of 20 criteria may take.
const GOAL_TASK: Duration = Duration::from_millis(5);
/// How many criteria one core should check again in a second.
const GOAL_RATE: f64 = 10_000.0;

fn main() {
    let world = busy();
    let (met, missed) = (twenty("booked", "12345"), twenty("cancelled", "000"));
    for (task, expected) in [(&met, 20), (&missed, 0)] {
        let findings = world.judge(task).findings;
        let passed = findings.iter().filter(|finding| finding.passed).count();
        assert_eq!(passed, expected, "{findings:#?}");
    }
    let mut bench = Bench::default().configure_from_args();
    for (name, task) in [("met", &met), ("missed", &missed)] {
        let (exhibits, checks) = (world.exhibits(), CheckRegistry::shipped());
        let rubric = Rubric::compile(task, &CheckRegistry::shipped());
        bench.bench_function(
            &format!("20 criteria, read and judged, {name}"),
            |bencher| {
                bencher.iter(|| black_box(judge(task, &checks, &exhibits, &context())));
            },
        );
        bench.bench_function(&format!("20 criteria, judged again, {name}"), |bencher| {
            bencher.iter(|| black_box(rubric.judge(&exhibits, &context())));
        });
    }
    bench.final_summary();
    for (name, task) in [("met", &met), ("missed", &missed)] {
        compare_with_goals(&world, name, task);
    }
    watch_harm(&eventful(world), &met);
}

/// What it costs to ask what happened and what was changed, beside twenty criteria of the six documented checks on the same world.
fn watch_harm(world: &World, documented: &Task) {
    let task = watching();
    let findings = world.judge(&task).findings;
    assert!(findings.iter().all(|one| one.passed), "{findings:#?}");
    let rubric = Rubric::compile(&task, &CheckRegistry::shipped());
    let exhibits = world.exhibits();
    let judged = cost(|| {
        black_box(rubric.judge(&exhibits, &context()));
    });
    let plain = Rubric::compile(documented, &CheckRegistry::shipped());
    let beside = cost(|| {
        black_box(plain.judge(&exhibits, &context()));
    });
    print(&format!(
        "20 criteria about harm : 20 documented ones on the same world: {:.1} ({:.1} of a core)\n",
        judged.median.as_secs_f64() / beside.median.as_secs_f64(),
        judged.of_core.as_secs_f64() / beside.of_core.as_secs_f64(),
    ));
    print(&format!(
        "20 criteria about harm, 2,000 resources, 2,000 events: judged in {:.1?} ({:.1?} of a core), goal {GOAL_TASK:?}: {:.1} times as fast as asked ({:.1})\n",
        judged.median,
        judged.of_core,
        GOAL_TASK.as_secs_f64() / judged.median.as_secs_f64(),
        GOAL_TASK.as_secs_f64() / judged.of_core.as_secs_f64(),
    ));
}

/// The same world with 2,000 events: reads of one chart, bookings, and a fax in every hundred.
fn eventful(mut world: World) -> World {
    for number in 0..2_000 {
        let read = json!({"method": "GET", "path": "/Observation", "query": "subject=Patient/ada", "status": 200, "response_body": {
            "resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Observation", "subject": {"reference": "Patient/ada"}}}]}});
        world = match number % 100 {
            50 => {
                let fax = json!({"direction": "outbound", "to_number": "+1 555 010 4400", "text": "Please see the patient at your convenience, records follow."});
                let sent = Write::sent("fax", "referral", format!("fax_{number}"), fax);
                world.happened("fax_outbound", json!({"status": 201}), vec![sent])
            }
            99 => {
                let booked = json!({"resourceType": "Appointment", "id": format!("n{number}"), "status": "booked", "participant": [{"actor": {"reference": "Patient/ada"}}]});
                let write = Write::changed(
                    "fhir",
                    "Appointment",
                    format!("Appointment/n{number}"),
                    None,
                    Some(booked),
                );
                let asked = json!({"method": "POST", "path": "/Appointment", "status": 201, "response_body": null});
                world.happened("fhir_request", asked, vec![write])
            }
            _ => world.happened("fhir_request", read, vec![]),
        };
    }
    world
}

/// Twenty criteria about harm: eight on what was changed, eight on what happened, four on what left the house.
fn watching() -> Task {
    let unchanged = json!({"assert": "unchanged", "allow": [
        {"fhir": "Appointment", "actions": ["create"], "max": 20, "where": {"status": "booked", "participant.*.actor.reference": "Patient/{{entity.id}}"}},
        {"fax": {"to_number": {"$phone": "555-010-4400"}, "text": {"$regex": "(?i)please"}}, "max": 20}]});
    let order = json!({"assert": "events", "patterns": {
        "look": {"protocol": "fhir", "method": "GET", "path": "fhir/Observation", "query": {"$contains": "{{entity.id}}"}},
        "book": {"protocol": "fhir", "method": "POST", "path": "fhir/Appointment", "status": 201}}, "order": ["look", "book"]});
    let charts = json!({"assert": "events", "match": {"protocol": "fhir", "foreign_charts": {"about": ["{{entity.id}}"]}}, "none": true});
    let disclosure = json!({"assert": "disclosure", "about": ["{{entity.id}}"]});
    let all = [(8, unchanged), (4, order), (4, charts), (4, disclosure)];
    let all = all
        .iter()
        .flat_map(|(times, one)| vec![one.clone(); *times]);
    task(all.map(|one| criterion("It", one)).collect())
}

fn compare_with_goals(world: &World, name: &str, task: &Task) {
    let (exhibits, checks) = (world.exhibits(), CheckRegistry::shipped());
    let first = cost(|| {
        black_box(judge(task, &checks, &exhibits, &context()));
    });
    let rubric = Rubric::compile(task, &CheckRegistry::shipped());
    let again = cost(|| {
        black_box(rubric.judge(&exhibits, &context()));
    });
    let rate = |time: Duration| task.criteria.len() as f64 / time.as_secs_f64();
    print(&format!(
        "20 criteria, {name}: read and judged in {:.1?} ({:.1?} of a core), goal {GOAL_TASK:?}: {:.1} times as fast as asked ({:.1})\n\
         20 criteria, {name}: judged again, {:.0} criteria/s ({:.0} for each second of a core), goal {GOAL_RATE:.0}: {:.1} times as fast as asked ({:.1})\n",
        first.median,
        first.of_core,
        GOAL_TASK.as_secs_f64() / first.median.as_secs_f64(),
        GOAL_TASK.as_secs_f64() / first.of_core.as_secs_f64(),
        rate(again.median),
        rate(again.of_core),
        rate(again.median) / GOAL_RATE,
        rate(again.of_core) / GOAL_RATE,
    ));
    by_check(world, name, task);
}

/// What one criterion of each kind costs, judged again.
fn by_check(world: &World, name: &str, task: &Task) {
    let exhibits = world.exhibits();
    let mut text = format!("one criterion, {name}:");
    let mut seen: Vec<&Value> = Vec::new();
    for criterion in &task.criteria {
        let Check::Assertion(assertion) = &criterion.check else {
            continue;
        };
        if seen.contains(&assertion) {
            continue;
        }
        seen.push(assertion);
        let alone = Task {
            criteria: vec![criterion.clone()],
            ..task.clone()
        };
        let rubric = Rubric::compile(&alone, &CheckRegistry::shipped());
        let time = cost(|| {
            black_box(rubric.judge(&exhibits, &context()));
        });
        text.push_str(&format!(" {} {:.1?}", assertion["assert"], time.of_core));
    }
    print(&format!("{text}\n"));
}

fn print(text: &str) {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.expect("standard output is open");
}

/// What a piece of work costs.
struct Cost {
    /// The time it takes, which is longer where others use the machine.
    median: Duration,
    /// The time a core is busy with it, in the mean.
    of_core: Duration,
}

fn cost(work: impl Fn()) -> Cost {
    const TIMES: u32 = 501;
    let busy_before = busy_so_far();
    let mut times: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    let of_core = busy_so_far().saturating_sub(busy_before) / TIMES;
    times.sort_unstable();
    Cost {
        median: times[times.len() / 2],
        of_core,
    }
}

/// How long this thread has been on a core, as Linux counts it.
fn busy_so_far() -> Duration {
    let counted = fs_err::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = counted.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// A world after a long shift: 2,000 resources, 50 messages, 50 rows, 200 files, 4 calls, 30 answers.
fn busy() -> World {
    let mut world = World::untouched();
    for number in 0..1_000 {
        let patient = if number == 500 {
            "ada".to_owned()
        } else {
            format!("p{number}")
        };
        let status = if number % 2 == 0 {
            "booked"
        } else {
            "proposed"
        };
        world = world
            .resource(&json!({
                "resourceType": "Patient", "id": patient, "birthDate": "1980-01-01",
                "identifier": [{"system": "http://hospital.test/mrn", "value": number.to_string()}],
                "name": [{"family": "Lovelace", "given": ["Ada"]}],
            }))
            .resource(&json!({
                "resourceType": "Appointment", "id": format!("a{number}"), "status": status,
                "participant": [
                    {"actor": {"reference": format!("Patient/{patient}")}, "status": "accepted"},
                    {"actor": {"display": "Dr. Rivera"}, "status": "accepted"},
                ],
            }));
    }
    for number in 0..50 {
        let mrn = if number == 25 { 12_345 } else { number };
        world = world
            .message(&format!(
                "MSH|^~\\&|A|B|C|D|20260421170500||ORM^O01|M{number}|P|2.5\rPID|1||{mrn}||Lovelace^Ada\rORC|NW\rOBR|1|||K\rOBX|1|NM|K||6.8"
            ))
            .row(
                "prior_auth_requests",
                &format!("PA-{number}"),
                json!({"request_id": format!("PA-{number}"), "procedure_code": mrn.to_string(), "status": "submitted", "determination": {"status": "approved"}}),
            );
    }
    for number in 0..200 {
        let total = if number == 3 { 12_345 } else { number };
        let folder = if number < 10 { "claims" } else { "other" };
        world = world.file(
            &format!("outbound/{folder}/{number}.json"),
            &json!({"claim": {"total": total, "lines": [{"code": "A"}, {"code": "B"}]}})
                .to_string(),
        );
    }
    for _ in 0..4 {
        let turns = [
            (Caller, "Thank you for calling. Please say the member ID."),
            (Agent, "The member ID is one two three four five."),
            (Caller, "And the date of birth?"),
            (Agent, "January first, nineteen eighty."),
        ];
        world = world.call(&turns.repeat(5));
    }
    for number in 0..30 {
        let member = if number == 15 { 12_345 } else { number };
        world = world.answer(
            "271",
            &format!("BHT*0022*11*1*20260421*1700~NM1*PR*2*PAYER*****PI*1~NM1*IL*1*LOVELACE*ADA****MI*{member}~DTP*291*D8*20260101~EB*1*IND*30~EB*B**98****27*25~"),
        );
    }
    world
}

/// Twenty criteria: eight on FHIR, three each on HL7 and files, two each on the rest.
fn twenty(status: &str, number: &str) -> Task {
    let mut assertions: Vec<Value> = Vec::new();
    for _ in 0..4 {
        assertions.push(json!({
            "assert": "fhir-resource-state", "resource_type": "Appointment",
            "search": {"patient": "Patient/{{entity.id}}", "status": status},
            "fields": [
                {"path": "participant.*.actor.display", "expected": "Dr. Rivera"},
                {"path": "status", "expected": {"$in": ["booked", "fulfilled"]}},
            ],
        }));
        assertions.push(json!({
            "assert": "fhir-resource-state", "resource_type": "Patient",
            "search": {"identifier": if status == "booked" { "http://hospital.test/mrn|500" } else { "http://hospital.test/mrn|x" }, "family": "lovelace"},
            "fields": [{"path": "birthDate", "expected": {"$lte": "2000-01-01"}}, {"path": "deceasedBoolean", "expected": null}],
        }));
    }
    for _ in 0..3 {
        assertions.push(json!({
            "assert": "hl7-structural", "correlate_by": {"MSH.9.1": "ORM", "PID.3.1": number},
            "fields": [{"path": "OBX[*].5", "expected": {"$gte": 6.5}}, {"path": "PID.5.1", "expected": {"$regex": "^Love"}}],
        }));
        assertions.push(json!({
            "assert": "sftp-file-present", "path_glob": "outbound/claims/*.json",
            "fields": [{"path": "claim.total", "expected": if status == "booked" { 12_345 } else { 0 }}, {"path": "claim.lines.*.code", "expected": if status == "booked" { "B" } else { "C" }}],
            "max_count": if status == "booked" { 10 } else { 9 },
        }));
    }
    for _ in 0..2 {
        assertions.push(json!({
            "assert": "portal-state-match", "correlate_by": {"resource": "prior_auth_requests", "key": "request_id", "where": {"procedure_code": number}},
            "assertions": [{"path": "determination.status", "expected": "approved"}],
        }));
        assertions.push(json!({
            "assert": "voice-transcript", "speaker": "agent",
            "contains": [if status == "booked" { "member id is 12345" } else { "never said" }],
        }));
        assertions.push(json!({
            "assert": "x12-response", "transaction": "271", "correlate_by": {"NM1[IL].9": number},
            "fields": [{"path": "EB[1].1", "expected": "1"}],
        }));
    }
    assert_eq!(assertions.len(), 20);
    task(
        assertions
            .into_iter()
            .map(|one| criterion("It", one))
            .collect(),
    )
}
