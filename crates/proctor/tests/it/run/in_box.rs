//! `--in-box`: the agent works in a devbox that reaches its world, the hosts that it declares, and nothing else.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
};

use serde_json::{Value, json as value};

use super::{TASK, agents::answers, attempt, command, told};

const CLINICAL: &str = "fax-referral";

/// A server of this machine that no box may reach; its port.
fn forbidden() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
        }
    });
    port
}

/// What `--json` prints for an agent that is a script in a directory of its own.
fn boxed(data: &Path, script: &str, arguments: &[&str], code: i32) -> Value {
    let files = tempfile::tempdir().unwrap();
    fs_err::write(files.path().join("agent.sh"), script).unwrap();
    let mut command = command(data, arguments);
    command
        .args(["--agent", "sh ./agent.sh", "--in-box", "--json"])
        .current_dir(files.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", told(&output));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&output)))
}

#[test]
fn an_agent_in_a_box_reaches_its_world_and_no_other_port() {
    let data = tempfile::tempdir().unwrap();
    let port = forbidden();
    let script = format!(
        r#"
set -eu
ask() {{ curl --fail -sS -m 20 -H "Authorization: Bearer $PROCTOR_TOKEN" "$@"; }}
test -s "$PROCTOR_PROBLEM_FILE"
grep -q complete_url "$PROCTOR_TASK_FILE"
ask "$PROCTOR_FHIR_URL/metadata" | grep -q CapabilityStatement
ask -X POST -H 'Content-Type: application/fhir+json' --data '{{"resourceType": "Patient"}}' "$PROCTOR_FHIR_URL/Patient" > /dev/null
# Links in answers lead to where the agent asked.
ask "$PROCTOR_FHIR_URL/Patient?_count=1" | grep -q "$PROCTOR_FHIR_URL"
for forbidden in \
    "$PROCTOR_URL/metrics" "$PROCTOR_URL/v1/devboxes" "$PROCTOR_URL/benchmark-runs" "$PROCTOR_URL/" \
    "http://127.0.0.1:{port}/" "http://localhost:{port}/"; do
    if ask "$forbidden" > /dev/null 2>&1; then echo "reached $forbidden"; exit 1; fi
    if ask --noproxy '' -x http://127.0.0.1:3128 "$forbidden" > /dev/null 2>&1; then echo "reached $forbidden by proxy"; exit 1; fi
done
echo '{{"input_tokens": 10, "output_tokens": 2, "cost_usd": 0.25, "model": "m"}}' > "$PROCTOR_USAGE_FILE"
echo 'all is well'
"#
    );
    let results = boxed(data.path(), &script, &[CLINICAL, "--task", TASK], 0);
    let seen = attempt(&results);
    assert_eq!(seen["cause"], value!(null), "{seen:#}");
    assert_eq!(seen["usage"]["cost_usd"], 0.25, "{seen:#}");
    let places = fs_err::read_dir(data.path().join("attempts")).unwrap();
    let place = places.map(|entry| entry.unwrap().path()).next().unwrap();
    let log = fs_err::read_to_string(place.join("agent.log")).unwrap();
    assert!(log.contains("all is well"), "{log}");
}

#[test]
fn an_agent_in_a_box_solves_a_scenario_in_another() {
    let data = tempfile::tempdir().unwrap();
    let file = answers(data.path());
    let script = r#"
curl --fail -sS -H "Authorization: Bearer $PROCTOR_TOKEN" -H 'Content-Type: application/json' \
    --data '{"command": "echo 42 > answer.txt"}' "$PROCTOR_DEVBOX_URL/execute_sync"
"#;
    let results = boxed(data.path(), script, &[&file], 0);
    assert_eq!(results["score"], 1.0, "{results:#}");
}

#[test]
fn an_agent_in_a_box_that_fails_or_takes_too_long_counts_0() {
    let data = tempfile::tempdir().unwrap();
    let results = boxed(data.path(), "exit 7", &[CLINICAL, "--task", TASK], 0);
    assert_eq!(
        attempt(&results)["reason"],
        "the agent ended with status 7",
        "{results:#}"
    );
    let arguments = [CLINICAL, "--task", TASK, "--timeout", "2"];
    let results = boxed(data.path(), "sleep 600", &arguments, 0);
    let seen = attempt(&results);
    assert_eq!(seen["cause"], "agent_timeout", "{seen:#}");
}

#[test]
fn what_cannot_be_in_a_box_is_refused_before_anything_is_started() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().join("data");
    for (arguments, words) in [
        (&["--agent", "oracle", "--in-box"][..], "is for commands"),
        (
            &["--agent", "true", "--in-box", "--allow-host", "http://x"],
            "--allow-host",
        ),
        (
            &["--agent", "true", "--allow-host", "example.com"],
            "--in-box",
        ),
    ] {
        let arguments = [&[CLINICAL], arguments].concat();
        let output = command(&place, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(words), "{}", told(&output));
    }
    assert!(!place.exists(), "no server was started");
}
