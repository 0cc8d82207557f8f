use proptest::prelude::*;

use super::{values::bytes, *};

#[test]
fn the_only_service_is_the_main_one_whatever_its_name() {
    let text = "
version: '3'
services:
  client:
    build:
      context: ./app
      dockerfile: Dockerfile.dev
      args: [V=1, W]
      shm_size: 1g
    image: acme/app
    command: [sh, -c, sleep infinity]
    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
      - TOKEN
    working_dir: /app
    user: 1000
    deploy:
      resources:
        limits: {cpus: '1.5', memory: 512M}
        reservations: {cpus: '1'}
    network_mode: none
    volumes:
      - ${HOST_LOGS_PATH}:${CONTAINER_LOGS_PATH}
      - data:/data
    ports: ['80:80']
volumes: {data: {}}
";
    let file = read(text).unwrap();
    assert_eq!(file.sidecars, []);
    let service = file.main;
    let build = service.build.unwrap();
    assert_eq!(
        (build.context.as_str(), build.dockerfile.as_deref()),
        ("./app", Some("Dockerfile.dev"))
    );
    assert_eq!(
        build.args,
        [("V", "1"), ("W", "${W}")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .into()
    );
    assert_eq!(service.environment["TOKEN"], "${TOKEN}");
    assert_eq!(service.environment["TEST_DIR"], "${T_BENCH_TEST_DIR}");
    assert_eq!(
        (service.name.as_str(), service.user.as_deref()),
        ("client", Some("1000"))
    );
    assert_eq!(
        (service.cpus, service.memory_bytes),
        (Some(1.5), Some(512 << 20))
    );
    assert!(service.no_network);
    assert_eq!(
        service.ignored,
        [
            "volumes",
            "services.client.build.shm_size",
            "services.client.deploy.resources.reservations",
            "services.client.ports",
            "services.client.volumes[1]",
        ]
    );
}

#[test]
fn what_cannot_be_done_is_refused_with_its_place() {
    for (text, part) in [
        (
            "services: {a: {build: ., cap_add: [SYS_ADMIN]}}",
            "services.a.cap_add",
        ),
        (
            "services: {a: {build: ., privileged: true}}",
            "services.a.privileged",
        ),
        ("services: {a: {build: ../..}}", "leads out"),
        ("services: {a: {build: {dockerfile: /etc/x}}}", "leads out"),
        ("services: {a: {}}", "neither build nor image"),
        ("services: {}", "no service"),
        ("{}", "services"),
        ("[]", "map"),
        ("services: {a: {image: x, mem_limit: lots}}", "not a size"),
        ("services: {a: {image: x, cpus: 0}}", "above 0"),
        ("services: {a: {image: x, network_mode: host}}", "host"),
        ("a: [", "compose file"),
    ] {
        let refused = read(text).unwrap_err().to_string();
        assert!(refused.contains(part), "{text}: {refused}");
    }
}

#[test]
fn services_beside_the_main_one_start_after_what_they_wait_for() {
    let text = "
services:
  main:
    build: .
    depends_on: {api: {condition: service_healthy}, db: {condition: service_started}}
    volumes: [shared:/srv/shared, ./src:/src]
  api:
    image: acme/api
    command: serve --name 'two words'
    depends_on: [db]
    hostname: backend
    networks: {default: {aliases: [api.local]}}
    healthcheck: {test: [CMD, curl, -f, 'http://localhost'], interval: 500ms, retries: 5, start_period: 1m30s}
  db:
    image: postgres:16
    entrypoint: [postgres]
    expose: [5432]
    volumes: [{type: volume, source: shared, target: /data}]
    healthcheck: {test: pg_isready, interval: 2}
volumes: {shared: {}}
networks: {default: {}}
";
    let file = read(text).unwrap();
    let names: Vec<&str> = file.sidecars.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["db", "api"]);
    assert_eq!(file.main.depends_on["api"], Condition::ServiceHealthy);
    assert_eq!(file.main.volumes[0].at, "/srv/shared");
    assert_eq!(file.main.ignored, ["services.main.volumes[1]"]);
    let (db, api) = (&file.sidecars[0], &file.sidecars[1]);
    assert_eq!(db.entrypoint.as_deref(), Some(&["postgres".to_owned()][..]));
    assert_eq!(db.healthcheck.as_ref().unwrap().command[2], "pg_isready");
    assert_eq!(api.command.as_ref().unwrap()[2], "two words");
    assert_eq!(api.aliases, ["backend", "api.local"]);
    let check = api.healthcheck.as_ref().unwrap();
    assert_eq!(
        (check.interval, check.start_period, check.retries),
        (0.5, 90.0, 5)
    );
    assert_eq!(check.command, ["curl", "-f", "http://localhost"]);
}

#[test]
fn services_that_cannot_be_started_are_refused() {
    for (text, part) in [
        (
            "services: {a: {image: x}, b: {image: y}}",
            "none of them is called main",
        ),
        (
            "services: {main: {image: x, depends_on: [no]}, b: {image: y}}",
            "no such service",
        ),
        (
            "services: {main: {image: x}, b: {image: y, depends_on: [main]}}",
            "nothing can wait for it",
        ),
        (
            "services: {main: {image: x}, b: {image: y, depends_on: [c]}, c: {image: z, depends_on: [b]}}",
            "circle",
        ),
        (
            "services: {main: {image: x, depends_on: {b: {condition: service_healthy}}}, b: {image: y}}",
            "needs a healthcheck",
        ),
        (
            "services: {main: {image: x, depends_on: {b: {condition: soon}}}, b: {image: y}}",
            "must be one of",
        ),
        (
            "services: {main: {image: x}, b: {image: y, healthcheck: {test: [SHELL, x]}}}",
            "must begin with CMD",
        ),
        (
            "services: {main: {image: x}, b: {image: y, healthcheck: {test: x, interval: soon}}}",
            "is not a time",
        ),
        (
            "services: {main: {image: x}, b: {image: y, command: \"a 'b\"}}",
            "without an end",
        ),
        (
            "services: {main: {image: x}, b: {image: y, privileged: true}}",
            "services.b.privileged",
        ),
        (
            "services: {main: {image: x}, 'a b': {image: y}}",
            "is not a name",
        ),
    ] {
        let refused = read(text).unwrap_err().to_string();
        assert!(refused.contains(part), "{text}: {refused}");
    }
}

#[test]
fn sizes_are_read_with_their_units() {
    for (written, size) in [
        ("100", 100),
        ("1k", 1024),
        ("2Gi", 2 << 30),
        ("1.5g", 3 << 29),
        ("1TB", 1 << 40),
    ] {
        assert_eq!(
            bytes("x", &Value::String(written.to_owned())),
            Ok(size),
            "{written}"
        );
    }
}

#[test]
fn a_bomb_of_anchors_is_an_error() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        let list = vec![below; 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    text.push_str("services: {a: {image: x, environment: *a11}}\n");
    assert!(read(&text).is_err());
}

proptest! {
    #[test]
    fn any_text_is_a_service_or_a_refusal(text in "[ -~\n]{0,200}") {
        let _ = read(&text);
    }
}
