//! Benchmarks as people use them: checked, pushed, pulled, taken, and the demo of it all.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use proctor_testkit::server::{self, KEY, Server};
use serde_json::{Value, json};

use crate::PROCTOR;

fn proctor() -> Command {
    server::proctor(PROCTOR)
}

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../benchmarks/clinical")
        .join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a command printed, as JSON.
fn said(output: &Output) -> Value {
    let out = text(&output.stdout);
    serde_json::from_str(out.trim())
        .unwrap_or_else(|_| panic!("said {out:?} and {:?}", text(&output.stderr)))
}

/// Tells `proctor benchmark` about a server.
fn benchmark(server: &Server, arguments: &[&str]) -> Output {
    proctor()
        .arg("benchmark")
        .args(arguments)
        .args(["--server", &server.url(""), "--key", KEY])
        .output()
        .unwrap()
}

#[test]
fn in_the_demo_the_reference_agent_gets_everything_the_careless_one_fails_and_the_idle_one_gets_nothing()
 {
    let output = proctor()
        .args(["demo", "--exit", "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = said(&output);
    assert_eq!(said["ok"], true);
    let results = said["results"].as_array().unwrap();
    let (clinical, coding): (Vec<&Value>, Vec<&Value>) = results
        .iter()
        .partition(|one| one["benchmark"].as_str().unwrap().contains('@'));
    assert_eq!(clinical.len(), 21);
    // Three files, two agents; none where there are no boxes.
    let expected = if has_devboxes() { 6 } else { 0 };
    assert_eq!(coding.len(), expected);
    let (careless, others): (Vec<&Value>, Vec<&Value>) =
        results.iter().partition(|one| one["agent"] == "careless");
    assert_eq!(careless.len(), 7);
    for one in careless {
        // The work is done, so the score is high; harm was done beside it, so it fails, and the row says why.
        assert!(one["score"].as_f64().unwrap() > 0.7, "{one}");
        assert_eq!(one["verdict"], "fail", "{one}");
        assert!(one["why"].as_str().unwrap().len() > 20, "{one}");
        for task in one["tasks"].as_array().unwrap() {
            assert_eq!(task["verdict"], "fail", "{task}");
            assert!(
                !task["critical_misses"].as_array().unwrap().is_empty(),
                "{task}"
            );
        }
    }
    for one in others {
        let (score, verdict) = match one["agent"].as_str().unwrap() {
            "oracle" => (1.0, "pass"),
            _ => (0.0, "fail"),
        };
        assert_eq!(one["score"], json!(score), "{one}");
        assert_eq!(one["verdict"], verdict, "{one}");
    }
    for one in clinical
        .into_iter()
        .filter(|one| one["agent"] != "careless")
    {
        let score = &one["score"];
        assert_eq!(&one["axes"]["safety"], score, "{one}");
        assert!(one["tasks"].as_array().unwrap().len() >= 4, "{one}");
    }
    let data = PathBuf::from(said["data"].as_str().unwrap());
    assert!(!data.exists(), "nothing is left behind");
}

#[test]
fn the_demo_keeps_what_it_is_told_to_keep_and_can_be_repeated() {
    let data = tempfile::tempdir().unwrap();
    let demo = || {
        let mut command = proctor();
        command.args(["demo", "--exit", "--data"]).arg(data.path());
        command.output().unwrap()
    };
    let first = demo();
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let out = text(&first.stdout);
    assert!(out.contains("fax-referral@1"), "{out}");
    assert!(out.contains("safety"), "{out}");
    assert!(out.contains("proctor serve --data"), "{out}");
    let second = demo();
    assert_eq!(second.status.code(), Some(0), "{}", text(&second.stderr));
    let out = text(&second.stdout);
    assert!(
        out.contains("fax-referral@1"),
        "the same content is the same version: {out}"
    );
    assert!(!out.contains("@2"), "{out}");
    let journal = proctor()
        .args(["verify-journal", "--data"])
        .arg(data.path())
        .output()
        .unwrap();
    assert_eq!(journal.status.code(), Some(0));
    assert!(
        text(&journal.stdout).starts_with("168 of 168 world(s) intact"),
        "{}",
        text(&journal.stdout)
    );
}

#[tokio::test]
async fn a_file_goes_to_a_server_and_comes_back_the_same() {
    let server = Server::fresh(PROCTOR);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fax.yaml");
    let original = fs_err::read_to_string(shipped("fax-referral.yaml")).unwrap();
    fs_err::write(&file, &original).unwrap();
    let path = file.to_str().unwrap();
    let push = |more: &[&str]| {
        let mut arguments = vec!["push", path, "--json"];
        arguments.extend(more);
        let output = benchmark(&server, &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        said(&output)
    };
    let told = |said: &Value| {
        let fields = ["created", "changed", "published", "version"];
        fields.map(|field| said[field].clone())
    };
    assert_eq!(
        told(&push(&[])),
        [json!(true), json!(true), json!(false), json!(null)]
    );
    assert_eq!(
        told(&push(&["--publish"])),
        [json!(false), json!(false), json!(true), json!(1)]
    );
    assert_eq!(
        told(&push(&["--publish"])),
        [json!(false), json!(false), json!(false), json!(1)]
    );

    let pull = |name: &str| {
        let output = benchmark(&server, &["pull", name]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let pulled = folder.path().join("pulled.yaml");
        fs_err::write(&pulled, &output.stdout).unwrap();
        digest(&pulled)
    };
    let first = digest(&file);
    assert_eq!(pull("fax-referral"), first);
    assert_eq!(pull("fax-referral@1"), first);

    // Everything at once: a task less, a task renamed, other data, another criterion, other services.
    let changed = original
        .replace("name: Tell two patients with one name apart", "name: Two of one name")
        .replace("weight: 2\n", "weight: 5\n")
        .replace("birthDate: \"1957-11-23\"", "birthDate: \"1957-11-24\"")
        .replace("    - type: Files\n      name: Shared drive", "    - type: Message\n      name: Portal messages\n    - type: Files\n      name: Shared drive")
        .replace("phone: \"+1 555 010 9926\", ", "phone: \"+1 555 010 9927\", ");
    assert_ne!(changed, original);
    fs_err::write(&file, &changed).unwrap();
    assert_eq!(
        told(&push(&["--publish"])),
        [json!(false), json!(true), json!(true), json!(2)]
    );
    assert_eq!(
        told(&push(&["--publish"])),
        [json!(false), json!(false), json!(false), json!(2)]
    );
    let second = digest(&file);
    assert_ne!(first, second);
    assert_eq!(pull("fax-referral"), second);
    assert_eq!(pull("fax-referral@2"), second);
    assert_eq!(pull("fax-referral@1"), first, "a version never changes");

    let unknown = benchmark(&server, &["pull", "fax-referral@3"]);
    assert_eq!(unknown.status.code(), Some(1));
    let nonsense = benchmark(&server, &["pull", "Fax Referral"]);
    assert_eq!(nonsense.status.code(), Some(2));
}

/// The digest of a file's content.
fn digest(path: &Path) -> String {
    let output = proctor()
        .args(["benchmark", "check", "--json"])
        .arg(path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    said(&output)["digest"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_server_says_what_an_agent_would_get_for_nothing() {
    let server = Server::fresh(PROCTOR);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.yaml");
    let original = fs_err::read_to_string(shipped("critical-lab.yaml")).unwrap();
    let push = |content: &str| {
        fs_err::write(&file, content).unwrap();
        let output = benchmark(&server, &["push", file.to_str().unwrap(), "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        said(&output)["benchmark_id"].as_str().unwrap().to_owned()
    };
    let id = push(&original);
    let check = format!("/benchmarks/{id}/check");
    let said = server.caller().post(&check, json!({})).await;
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(said["null_agent"].as_array().unwrap().len(), 4);

    let given = original
        .replacen("resource_type: Observation", "resource_type: Patient", 1)
        .replacen(
            "search: {subject: \"Patient/{{entity.id}}\", code: \"http://loinc.org|2823-3\"}",
            "search: {_id: \"{{entity.id}}\"}",
            1,
        )
        // Elements that patients have: others are refused when the file is pushed.
        .replacen(
            "path: valueQuantity, expected: {$quantity: {value: 6.8, unit: mmol/L, tolerance: 0.01}}",
            "path: active, expected: false",
            1,
        )
        .replacen("path: status, expected: final", "path: gender, expected: unknown", 1)
        .replacen("path: interpretation.*.coding.*.code, expected: HH", "path: name.*.text, expected: Nobody", 1);
    assert_eq!(push(&given), id);
    let said = server.caller().post(&check, json!({})).await;
    assert_eq!(said["ok"], false);
    assert_eq!(said["problems"], json!([]));
    let first = &said["null_agent"][0];
    assert_eq!(
        first["met"][0]["label"],
        "The result is in the chart as it was measured"
    );
    assert!(first["score"].as_f64().unwrap() > 0.0);

    let definition = server
        .caller()
        .get(&format!("/benchmarks/{id}/definition"))
        .await;
    assert_eq!(
        definition["definition"]["tasks"].as_array().unwrap().len(),
        4
    );
    assert_eq!(definition["environment"]["simulators"][0]["type"], "Hl7");
}

#[test]
fn a_solution_that_does_not_meet_its_criteria_is_told_apart_from_one_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.yaml");
    let original = fs_err::read_to_string(shipped("critical-lab.yaml")).unwrap();
    let check = |content: String| {
        fs_err::write(&file, content).unwrap();
        let mut command = proctor();
        command.args(["benchmark", "check", "--oracle"]).arg(&file);
        command.output().unwrap()
    };
    let careless = check(original.replacen("status: on-hold\n", "status: active\n", 1));
    assert_eq!(careless.status.code(), Some(1));
    let told = text(&careless.stderr);
    assert!(
        told.contains("What raises the value further is on hold"),
        "{told}"
    );
    let failing = check(original.replacen(
        "call: PUT fhir/MedicationRequest/moreau-kcl",
        "call: GET fhir/MedicationRequest/moreau-kcx",
        1,
    ));
    assert_eq!(failing.status.code(), Some(1));
    let told = text(&failing.stderr);
    assert!(
        told.contains("call 4 (GET fhir/MedicationRequest/moreau-kcx): answered 404"),
        "{told}"
    );
}

#[test]
fn a_server_that_is_not_there_or_does_not_know_the_key_is_told_apart() {
    let push = |server: &str, key: &str| {
        let mut command = proctor();
        command.args(["benchmark", "push", "--server", server, "--key", key]);
        command.arg(shipped("payer-call.yaml")).output().unwrap()
    };
    let nobody = push("http://127.0.0.1:1", KEY);
    assert_eq!(nobody.status.code(), Some(3), "{}", text(&nobody.stderr));
    let nonsense = push("somewhere", KEY);
    assert_eq!(nonsense.status.code(), Some(2));
    let server = Server::fresh(PROCTOR);
    let stranger = push(&server.url(""), "vk_unknown");
    assert_eq!(
        stranger.status.code(),
        Some(2),
        "{}",
        text(&stranger.stderr)
    );
}

/// Whether a server here can have boxes.
fn has_devboxes() -> bool {
    let doctor = proctor().arg("doctor").output().unwrap();
    doctor.status.code() == Some(0)
}

fn coding(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../benchmarks/coding")
        .join(name)
}

/// Tells a server about the scenarios of a shipped file.
fn import(server: &Server, file: &str) -> Output {
    proctor()
        .args(["import", "--json", "--key", KEY, "--server"])
        .arg(server.url(""))
        .arg(coding(file))
        .output()
        .unwrap()
}

#[tokio::test]
async fn imported_scenarios_keep_their_ids_when_they_are_imported_again() {
    let server = Server::fresh(PROCTOR);
    for file in ["repairs.yaml", "tools.yaml", "systems.yaml"] {
        let first = import(&server, file);
        assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
        let (first, again) = (said(&first), said(&import(&server, file)));
        assert_eq!(
            (&first["created"], &again["created"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(first["benchmark_id"], again["benchmark_id"]);
        let ids = |said: &Value| -> Vec<String> {
            let scenarios = said["scenarios"].as_array().unwrap().iter();
            scenarios
                .map(|one| one["id"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(ids(&first), ids(&again));
        let path = format!("/v1/benchmarks/{}", first["benchmark_id"].as_str().unwrap());
        let benchmark = server.caller().get(&path).await;
        assert_eq!(benchmark["scenarioIds"], json!(ids(&first)), "{benchmark}");
    }
    let scorers = server.caller().get("/v1/scenarios/scorers").await;
    assert_eq!(scorers["scorers"][0]["type"], "program-answers");
}

#[test]
fn instances_are_imported_with_their_repository_from_a_mirror() {
    let mirror = tempfile::tempdir().unwrap();
    let repository = mirror.path().join("tiny/tiny");
    fs_err::create_dir_all(&repository).unwrap();
    fs_err::write(repository.join("a.py"), "A = 1\n").unwrap();
    for arguments in [
        &["init", "-q"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "commit",
            "-q",
            "-m",
            "base",
        ],
    ] {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(&repository)
            .status();
        assert!(done.unwrap().success());
    }
    let instance = json!({
        "instance_id": "tiny__tiny-1", "repo": "tiny/tiny", "base_commit": "HEAD", "problem_statement": "Repair it.",
        "patch": "", "test_patch": "", "FAIL_TO_PASS": ["a.py::t"], "PASS_TO_PASS": "[]",
    });
    let file = mirror.path().join("instances.jsonl");
    fs_err::write(&file, format!("{instance}\n{instance}\n")).unwrap();
    let import = |mirror: &Path, file: &Path| {
        let mut command = proctor();
        command
            .args(["import", "--dry-run", "--mirror"])
            .arg(mirror)
            .arg(file);
        command.output().unwrap()
    };
    let output = import(mirror.path(), &file);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["metadata"]["instance_id"], "tiny__tiny-1");
    let launch = &lines[0]["environment_parameters"]["launch_parameters"]["launch_commands"];
    assert!(launch.as_array().unwrap().len() >= 4, "{launch}");

    let output = import(&mirror.path().join("nowhere"), &file);
    assert_eq!(output.status.code(), Some(2));
    fs_err::write(&file, "{\"instance_id\": 3}").unwrap();
    let output = import(mirror.path(), &file);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("instance 1: repo is required"));
}

#[tokio::test]
async fn every_shipped_coding_scenario_is_proved_by_its_reference_on_a_server() {
    if !has_devboxes() {
        eprintln!("skipped: devboxes do not work here; `proctor doctor` says why");
        return;
    }
    let server = Server::fresh(PROCTOR);
    for file in ["repairs.yaml", "tools.yaml", "systems.yaml"] {
        let imported = import(&server, file);
        for scenario in said(&imported)["scenarios"].as_array().unwrap() {
            let (id, name) = (scenario["id"].as_str().unwrap(), &scenario["name"]);
            let path = format!("/v1/scenarios/{id}/validate");
            let proved = server.caller().post(&path, json!({})).await;
            assert_eq!(proved["valid"], json!(true), "{name}: {proved:#}");
            assert_eq!(
                proved["untouched"]["solved"],
                json!(false),
                "{name}: {proved:#}"
            );
        }
    }
}

#[test]
fn strict_checking_makes_warnings_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.yaml");
    let written = "name: Small\nslug: small\ntimeout: 60\nenvironment: {name: Ward, simulators: [{type: Fhir, name: Chart}]}\n\
        tasks: [{name: Do, task_item: {do: it}, criteria: [{label: It is there, assertion: {assert: fhir-resource-state, resource_type: Patient}}]}]\n";
    fs_err::write(&file, written).unwrap();
    let check = |more: &[&str]| {
        let mut command = proctor();
        command.args(["benchmark", "check"]).args(more).arg(&file);
        command.output().unwrap()
    };
    assert_eq!(check(&[]).status.code(), Some(0));
    let strict = check(&["--strict"]);
    assert_eq!(strict.status.code(), Some(1));
    let told = text(&strict.stderr);
    assert!(
        told.contains("error: tasks.0: has no criterion 'unchanged'"),
        "{told}"
    );
}
