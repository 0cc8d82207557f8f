//! Tasks of several services: boxes in one network, found by their names.

use std::time::Duration;

use super::support::{DOCKERFILE, Files, Harbor, PLAIN, outcomes, reward};

/// A service that answers on a port with what a file of its volume has.
const SERVER: &str =
    "FROM base\nWORKDIR /srv\nCOPY serve.py /srv/serve.py\nCMD [\"python3\", \"/srv/serve.py\"]\n";
const SERVE: &str = "import http.server, os, time
time.sleep(0.5)
os.makedirs('/data', exist_ok=True)
open('/data/state', 'w').write(os.environ.get('GREETING', 'none'))
open('/logs-of-service', 'w').write('served')
os.chdir('/data')
http.server.HTTPServer(('0.0.0.0', 8080), http.server.SimpleHTTPRequestHandler).serve_forever()
";
const COMPOSE: &str = "services:
  main:
    build: .
    depends_on:
      web: {condition: service_healthy}
      seed: {condition: service_completed_successfully}
    volumes: [shared:/mnt/shared]
  web:
    build: ./web
    environment: {GREETING: hello from web}
    hostname: frontend
    volumes: [shared:/data]
    healthcheck: {test: [CMD, python3, -c, \"import urllib.request as u; u.urlopen('http://localhost:8080/state')\"], interval: 200ms, timeout: 5s, retries: 100}
  seed:
    image: base
    command: [sh, -c, \"echo seeded > /data/seed\"]
    volumes: [shared:/data]
volumes: {shared: {}}
";
/// Asks a service by its names.
const SOLVE: &str = "#!/bin/bash
python3 - <<'EOF'
import urllib.request
seen = [urllib.request.urlopen('http://%s:8080/state' % name).read().decode() for name in ('web', 'frontend')]
shared = open('/mnt/shared/seed').read().strip()
if seen == ['hello from web'] * 2 and shared == 'seeded':
    open('/app/done', 'w').close()
EOF
";
const CONFIG: &str = "artifacts = [{source = \"/logs-of-service\", service = \"web\"}]\n[agent]\ntimeout_sec = 60.0\n[environment]\nnetwork_mode = \"no-network\"\n\
    [verifier]\ntimeout_sec = 60.0\n[[verifier.collect]]\ncommand = \"echo collected >> /logs-of-service\"\nservice = \"web\"\n";
/// The service runs while it is verified, too.
const TESTS: &str = "#!/bin/sh\n[ -e /app/done ] && python3 -c \"import urllib.request as u; u.urlopen('http://web:8080/seed')\" && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n";

fn task() -> Files {
    Files::plain()
        .with("task.toml", CONFIG)
        .with("environment/Dockerfile", DOCKERFILE)
        .with("environment/docker-compose.yaml", COMPOSE)
        .with("environment/web/Dockerfile", SERVER)
        .with("environment/web/serve.py", SERVE)
        .with("solution/solve.sh", SOLVE)
        .with("tests/test.sh", TESTS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_found_by_their_names_when_they_are_healthy() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("served", &task());
    let yaml = "agents: [{name: oracle}, {name: nop}]\ntasks: [{path: 'tasks:own/served'}]\n";
    let job = harbor.job_within(yaml, Duration::from_secs(240)).await;
    let found: Vec<_> = outcomes(&job).iter().map(reward).collect();
    assert_eq!(found, [Ok(1.0), Ok(0.0)], "{job:#}");
    let exported = harbor.exported(&job).await;
    let artifact = exported
        .iter()
        .find(|(path, _)| path.ends_with("artifacts/logs-of-service"));
    let artifact = artifact.map(|(_, bytes)| String::from_utf8_lossy(bytes));
    assert_eq!(artifact.as_deref(), Some("servedcollected\n"));
    let left = harbor.boxes().await;
    assert!(left.is_empty(), "services end with their trials: {left:?}");
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_cannot_be_used_is_the_tasks_fault() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    let service = |condition: &str, command: &str, more: &str| {
        let compose = format!(
            "services:\n  main: {{build: ., depends_on: {{db: {{condition: {condition}}}}}}}\n  db: {{image: base, command: \"{command}\"{more}}}\n"
        );
        Files::plain()
            .with("task.toml", PLAIN)
            .with("environment/docker-compose.yaml", &compose)
    };
    let check = ", healthcheck: {test: 'echo not yet; false', interval: 50ms, retries: 2}";
    harbor.task("sick", &service("service_healthy", "sleep 100", check));
    let failing = "sh -c 'echo broken; exit 3'";
    harbor.task(
        "failing",
        &service("service_completed_successfully", failing, ""),
    );
    harbor.task(
        "missing",
        &service("service_started", "no-such-program", ""),
    );
    for (task, told) in [
        (
            "sick",
            "the service db was never healthy: status 1: not yet",
        ),
        ("failing", "the service db ended with status 3: broken"),
        ("missing", "the service db could not be started"),
    ] {
        let yaml = format!("agents: [{{name: nop}}]\ntasks: [{{path: 'tasks:own/{task}'}}]\n");
        let job = harbor.job(&yaml).await;
        let outcome = &outcomes(&job)[0];
        assert_eq!(
            reward(outcome),
            Err("HealthcheckError".to_owned()),
            "{job:#}"
        );
        let failure = &outcome["failure_reason"];
        let message = failure["exception_message"].as_str().unwrap();
        assert!(message.contains(told), "{message}");
    }
    let strict = "metadata: {proctor_verifier: strict}\ntasks: [{path: 'tasks:own/sick'}]\n";
    let refused = harbor.refused(strict).await;
    assert!(
        refused.contains("proctor_verifier must be sealed"),
        "{refused}"
    );
    let compose = "services: {main: {build: .}, db: {image: base}}\n";
    let unknown = task().with("environment/docker-compose.yaml", compose);
    harbor.task("unknown", &unknown);
    let refused = harbor
        .refused("tasks: [{path: 'tasks:own/unknown'}]\n")
        .await;
    assert!(
        refused.contains("artifacts: there is no service 'web'"),
        "{refused}"
    );
    harbor.end().await;
}
