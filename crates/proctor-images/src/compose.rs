//! Compose files with one service: what of it a box can be made with. Pure.
//!
//! Everything that is neither used nor meaningless for a box is named in [`ComposeService::ignored`]; what would be unsafe to leave out is refused.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The largest file that is read.
const LARGEST: usize = 1 << 20;

/// Why a compose file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    /// It is not understood.
    #[error("{path}: {message}")]
    Invalid {
        /// Where in the file.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// It has more than one service.
    #[error("the compose file has {} services ({}); boxes beside the main one are not offered", .0.len(), .0.join(", "))]
    Sidecars(Vec<String>),
}

impl ComposeError {
    fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid {
            path: path.into(),
            message: message.into(),
        }
    }
}

/// The one service of a compose file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComposeService {
    /// What it is called.
    pub name: String,
    /// How its image is built, if it is.
    pub build: Option<ComposeBuild>,
    /// The image it starts from, or the name of what is built.
    pub image: Option<String>,
    /// Variables, as they were written: `${NAME}` is not replaced, and a variable without a value is `${NAME}`.
    pub environment: BTreeMap<String, String>,
    /// Where its programs start.
    pub working_dir: Option<String>,
    /// Who runs them.
    pub user: Option<String>,
    /// How many processors it may use.
    pub cpus: Option<f64>,
    /// How many bytes of memory it may use.
    pub memory_bytes: Option<u64>,
    /// Whether it reaches nothing.
    pub no_network: bool,
    /// Keys that change nothing here, by their paths.
    pub ignored: Vec<String>,
}

/// How an image is built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComposeBuild {
    /// The directory with its files, seen from the compose file.
    pub context: String,
    /// The Dockerfile, seen from there; `Dockerfile` if nothing is said.
    pub dockerfile: Option<String>,
    /// A Dockerfile that stands in the compose file itself.
    pub dockerfile_inline: Option<String>,
    /// Values of its arguments.
    pub args: BTreeMap<String, String>,
    /// The stage that is meant.
    pub target: Option<String>,
}

/// Reads a compose file.
pub fn read(text: &str) -> Result<ComposeService, ComposeError> {
    if text.len() > LARGEST {
        return Err(ComposeError::at(
            "compose file",
            format!("more than {LARGEST} bytes"),
        ));
    }
    let document: Value = serde_saphyr::from_str(text)
        .map_err(|error| ComposeError::at("compose file", error.to_string()))?;
    let document = object("compose file", &document)?;
    let mut service = ComposeService::default();
    for key in document.keys() {
        // Names and versions of the format say nothing about boxes.
        if !matches!(key.as_str(), "services" | "version" | "name") && !key.starts_with("x-") {
            service.ignored.push(key.clone());
        }
    }
    let services = document.get("services").unwrap_or(&Value::Null);
    let services = object("services", services)?;
    let mut names = services.iter();
    let (name, body) = match (names.next(), services.len()) {
        (Some(only), 1) => only,
        (None, _) => return Err(ComposeError::at("services", "there is no service")),
        _ => return Err(ComposeError::Sidecars(services.keys().cloned().collect())),
    };
    service.name.clone_from(name);
    let path = format!("services.{name}");
    for (key, value) in object(&path, body)? {
        service.take(&format!("{path}.{key}"), key, value)?;
    }
    if service.build.is_none() && service.image.is_none() {
        return Err(ComposeError::at(path, "it has neither build nor image"));
    }
    Ok(service)
}

impl ComposeService {
    fn take(&mut self, path: &str, key: &str, value: &Value) -> Result<(), ComposeError> {
        match key {
            "build" => self.build = Some(build(path, value, &mut self.ignored)?),
            "image" => self.image = Some(text(path, value)?),
            "environment" => self.environment = variables(path, value)?,
            "working_dir" => self.working_dir = Some(text(path, value)?),
            "user" => self.user = Some(text(path, value)?),
            "deploy" => self.deploy(path, value)?,
            "cpus" => self.cpus = Some(number(path, value)?),
            "mem_limit" => self.memory_bytes = Some(bytes(path, value)?),
            "network_mode" => match text(path, value)?.as_str() {
                "none" => self.no_network = true,
                "bridge" | "default" => {}
                other => {
                    return Err(ComposeError::at(
                        path,
                        format!("'{other}' is not offered; only none is"),
                    ));
                }
            },
            "privileged" if *value == Value::Bool(false) => {}
            "cap_add" | "devices" if is_empty(value) => {}
            "privileged" | "cap_add" | "devices" | "pid" | "ipc" | "security_opt" => {
                return Err(ComposeError::at(path, "boxes get no rights on their host"));
            }
            // A box is kept running by whoever works in it, and logs are collected from it.
            "command" | "container_name" | "init" | "restart" | "stdin_open" | "tty" => {}
            "volumes" => self.volumes(path, value)?,
            _ => self.ignored.push(path.to_owned()),
        }
        Ok(())
    }

    /// `deploy.resources.limits`.
    fn deploy(&mut self, path: &str, value: &Value) -> Result<(), ComposeError> {
        for (key, value) in object(path, value)? {
            let path = format!("{path}.{key}");
            if key != "resources" {
                self.ignored.push(path);
                continue;
            }
            for (kind, value) in object(&path, value)? {
                let path = format!("{path}.{kind}");
                if kind != "limits" {
                    self.ignored.push(path);
                    continue;
                }
                for (key, value) in object(&path, value)? {
                    let path = format!("{path}.{key}");
                    match key.as_str() {
                        "cpus" => self.cpus = Some(number(&path, value)?),
                        "memory" => self.memory_bytes = Some(bytes(&path, value)?),
                        _ => self.ignored.push(path),
                    }
                }
            }
        }
        Ok(())
    }

    /// Directories for logs are collected anyway; others are named.
    fn volumes(&mut self, path: &str, value: &Value) -> Result<(), ComposeError> {
        let Value::Array(volumes) = value else {
            return Err(ComposeError::at(path, "a list is expected"));
        };
        for (place, volume) in volumes.iter().enumerate() {
            let said = match volume {
                Value::String(text) => text.to_ascii_lowercase(),
                other => other["target"]
                    .as_str()
                    .unwrap_or_default()
                    .to_ascii_lowercase(),
            };
            if !said.contains("logs") {
                self.ignored.push(format!("{path}[{place}]"));
            }
        }
        Ok(())
    }
}

fn build(
    path: &str,
    value: &Value,
    ignored: &mut Vec<String>,
) -> Result<ComposeBuild, ComposeError> {
    let mut build = ComposeBuild {
        context: ".".to_owned(),
        ..ComposeBuild::default()
    };
    if let Value::String(context) = value {
        build.context.clone_from(context);
        return checked(path, build);
    }
    for (key, value) in object(path, value)? {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "context" => build.context = text(&path, value)?,
            "dockerfile" => build.dockerfile = Some(text(&path, value)?),
            "dockerfile_inline" => build.dockerfile_inline = Some(text(&path, value)?),
            "args" => build.args = variables(&path, value)?,
            "target" => build.target = Some(text(&path, value)?),
            _ => ignored.push(path),
        }
    }
    checked(path, build)
}

/// What is built from lies beside the compose file or below it.
fn checked(path: &str, build: ComposeBuild) -> Result<ComposeBuild, ComposeError> {
    let leads_out =
        |text: &str| text.starts_with(['/', '~']) || text.split('/').any(|part| part == "..");
    if leads_out(&build.context) {
        return Err(ComposeError::at(
            format!("{path}.context"),
            format!(
                "'{}' leads out of the directory of the compose file",
                build.context
            ),
        ));
    }
    if let Some(file) = build.dockerfile.as_deref().filter(|file| leads_out(file)) {
        return Err(ComposeError::at(
            format!("{path}.dockerfile"),
            format!("'{file}' leads out of the build's context"),
        ));
    }
    Ok(build)
}

fn object<'v>(path: &str, value: &'v Value) -> Result<&'v Map<String, Value>, ComposeError> {
    value
        .as_object()
        .ok_or_else(|| ComposeError::at(path, "a map is expected"))
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// A scalar as text.
fn text(path: &str, value: &Value) -> Result<String, ComposeError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        _ => Err(ComposeError::at(path, "a text is expected")),
    }
}

fn number(path: &str, value: &Value) -> Result<f64, ComposeError> {
    let parsed = text(path, value)?.trim().parse::<f64>();
    parsed
        .ok()
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| ComposeError::at(path, "a number above 0 is expected"))
}

/// `512m`, `2G`, `1gb`, or a number of bytes.
fn bytes(path: &str, value: &Value) -> Result<u64, ComposeError> {
    let written = text(path, value)?;
    let invalid = || {
        ComposeError::at(
            path,
            format!("'{written}' is not a size; expected bytes, or a number with k, m, g or t"),
        )
    };
    let lower = written.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match lower[digits.len()..]
        .trim_end_matches('b')
        .trim_end_matches('i')
    {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Err(invalid()),
    };
    if let Ok(whole) = digits.trim().parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(invalid);
    }
    let number: f64 = digits.trim().parse().map_err(|_| invalid())?;
    let size = number * factor as f64;
    match size.is_finite() && (1.0..9e15).contains(&size) {
        true => Ok(size as u64),
        false => Err(invalid()),
    }
}

/// A map of variables, or a list of `NAME=VALUE`.
fn variables(path: &str, value: &Value) -> Result<BTreeMap<String, String>, ComposeError> {
    let mut variables = BTreeMap::new();
    let passed_on = |name: &str| format!("${{{name}}}");
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (name, value) in map {
                let value = match value {
                    Value::Null => passed_on(name),
                    value => text(&format!("{path}.{name}"), value)?,
                };
                variables.insert(name.clone(), value);
            }
        }
        Value::Array(list) => {
            for (place, line) in list.iter().enumerate() {
                let line = text(&format!("{path}[{place}]"), line)?;
                let (name, value) = match line.split_once('=') {
                    Some((name, value)) => (name.to_owned(), value.to_owned()),
                    None => (line.clone(), passed_on(&line)),
                };
                variables.insert(name, value);
            }
        }
        _ => return Err(ComposeError::at(path, "a map or a list is expected")),
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        let service = read(text).unwrap();
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
        let several = read("services: {main: {image: x}, db: {image: y}}").unwrap_err();
        assert!(
            matches!(&several, ComposeError::Sidecars(names) if names.len() == 2),
            "{several}"
        );
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
}
