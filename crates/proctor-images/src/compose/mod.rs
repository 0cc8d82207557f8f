//! Compose files: what of their services boxes can be made with. Pure.
//!
//! A file with one service describes the box of a task, whatever the service is called. Of several, `main` is that box, and the others are boxes
//! beside it that share its network.
//!
//! Everything that is neither used nor meaningless for a box is named in [`ComposeService::ignored`]; what would be unsafe to leave out is refused.

#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::values::{bytes, duration, is_empty, number, object, text, variables, words};

/// The service that is the box of the task, where there are several.
const MAIN: &str = "main";
/// How many services a file may have.
const MOST_SERVICES: usize = 16;
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
    /// It has more than one service, and none of them is the main one.
    #[error("the compose file has {} services ({}), and none of them is called {MAIN}", .0.len(), .0.join(", "))]
    NoMain(Vec<String>),
    /// Services wait for each other.
    #[error("services.{0}: depends_on leads round in a circle")]
    Circle(String),
}

impl ComposeError {
    fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid {
            path: path.into(),
            message: message.into(),
        }
    }
}

/// A compose file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComposeFile {
    /// The box of the task.
    pub main: ComposeService,
    /// The boxes beside it, in the order in which they are started: each after those that it waits for.
    pub sidecars: Vec<ComposeService>,
}

/// When something that waits for a service may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// It was started.
    ServiceStarted,
    /// It is healthy.
    ServiceHealthy,
    /// It has ended with status 0.
    ServiceCompletedSuccessfully,
}

impl Condition {
    const ALL: [(&'static str, Self); 3] = [
        ("service_started", Self::ServiceStarted),
        ("service_healthy", Self::ServiceHealthy),
        (
            "service_completed_successfully",
            Self::ServiceCompletedSuccessfully,
        ),
    ];
}

/// How a service says that it is healthy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceCheck {
    /// The program that says so by its status.
    pub command: Vec<String>,
    /// Seconds between two checks.
    pub interval: f64,
    /// Seconds that one may take.
    pub timeout: f64,
    /// Seconds in which failures do not count.
    pub start_period: f64,
    /// Failures in a row after which it is not healthy.
    pub retries: u64,
}

/// A directory that services share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedVolume {
    /// What it is called.
    pub name: String,
    /// Where it is in the box.
    pub at: String,
}

/// A service of a compose file.
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
    /// What it runs instead of the image's command; the main service runs nothing.
    pub command: Option<Vec<String>>,
    /// What that is given to, instead of the image's entry point.
    pub entrypoint: Option<Vec<String>>,
    /// How it says that it is healthy.
    pub healthcheck: Option<ServiceCheck>,
    /// What it waits for.
    pub depends_on: BTreeMap<String, Condition>,
    /// Directories that it shares with others.
    pub volumes: Vec<NamedVolume>,
    /// Other names that it is found by.
    pub aliases: Vec<String>,
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
pub fn read(text: &str) -> Result<ComposeFile, ComposeError> {
    if text.len() > LARGEST {
        return Err(ComposeError::at(
            "compose file",
            format!("more than {LARGEST} bytes"),
        ));
    }
    let document: Value = serde_saphyr::from_str(text)
        .map_err(|error| ComposeError::at("compose file", error.to_string()))?;
    let document = object("compose file", &document)?;
    let services = document.get("services").unwrap_or(&Value::Null);
    let services = object("services", services)?;
    let has_sidecars = services.len() > 1;
    let mut ignored = Vec::new();
    for key in document.keys() {
        // Names and versions of the format say nothing about boxes.
        let is_known = matches!(key.as_str(), "services" | "version" | "name")
            || (has_sidecars && matches!(key.as_str(), "volumes" | "networks"));
        if !is_known && !key.starts_with("x-") {
            ignored.push(key.clone());
        }
    }
    let mut read = BTreeMap::new();
    for (name, body) in services {
        let path = format!("services.{name}");
        if !is_service_name(name) {
            return Err(ComposeError::at(path, "is not a name that a host can have"));
        }
        let mut service = ComposeService {
            name: name.clone(),
            ..ComposeService::default()
        };
        for (key, value) in object(&path, body)? {
            service.take(&format!("{path}.{key}"), key, value, has_sidecars)?;
        }
        if service.build.is_none() && service.image.is_none() {
            return Err(ComposeError::at(path, "it has neither build nor image"));
        }
        read.insert(name.clone(), service);
    }
    let names: Vec<String> = read.keys().cloned().collect();
    let main = match &names[..] {
        [] => return Err(ComposeError::at("services", "there is no service")),
        [only] => only.clone(),
        several if several.len() > MOST_SERVICES => {
            let told = format!("there are more than {MOST_SERVICES} services");
            return Err(ComposeError::at("services", told));
        }
        several if several.iter().any(|name| name == MAIN) => MAIN.to_owned(),
        _ => return Err(ComposeError::NoMain(names)),
    };
    check_waits(&read, &main)?;
    let order = start_order(&read)?;
    let mut main = read.remove(&main).unwrap_or_default();
    ignored.append(&mut main.ignored);
    main.ignored = ignored;
    let sidecars = order.iter().filter_map(|name| read.remove(name));
    Ok(ComposeFile {
        main,
        sidecars: sidecars.collect(),
    })
}

/// Whether other boxes can find a service by this name.
fn is_service_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Refuses waiting for what is not there, or never says what is waited for.
fn check_waits(
    services: &BTreeMap<String, ComposeService>,
    main: &str,
) -> Result<(), ComposeError> {
    for service in services.values() {
        for (name, condition) in &service.depends_on {
            let path = format!("services.{}.depends_on.{name}", service.name);
            let Some(other) = services.get(name) else {
                return Err(ComposeError::at(path, "there is no such service"));
            };
            if name == main {
                let told = "the main service is started last: nothing can wait for it";
                return Err(ComposeError::at(path, told));
            }
            if *condition == Condition::ServiceHealthy && other.healthcheck.is_none() {
                let told = "service_healthy needs a healthcheck of that service";
                return Err(ComposeError::at(path, told));
            }
        }
    }
    Ok(())
}

/// The names of services, each after those that it waits for.
fn start_order(services: &BTreeMap<String, ComposeService>) -> Result<Vec<String>, ComposeError> {
    let mut order: Vec<String> = Vec::new();
    while order.len() < services.len() {
        let next = services.values().find(|service| {
            !order.contains(&service.name)
                && service.depends_on.keys().all(|name| order.contains(name))
        });
        match next {
            Some(next) => order.push(next.name.clone()),
            None => {
                let mut left = services.keys().filter(|name| !order.contains(name));
                let one = left.next().cloned().unwrap_or_default();
                return Err(ComposeError::Circle(one));
            }
        }
    }
    Ok(order)
}

impl ComposeService {
    fn take(
        &mut self,
        path: &str,
        key: &str,
        value: &Value,
        has_sidecars: bool,
    ) -> Result<(), ComposeError> {
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
            "command" => self.command = words(path, value)?,
            "healthcheck" if has_sidecars => self.healthcheck = healthcheck(path, value)?,
            "depends_on" if has_sidecars => self.depends_on = waits(path, value)?,
            "entrypoint" if has_sidecars => self.entrypoint = words(path, value)?,
            "hostname" | "container_name" if has_sidecars => self.aliases.push(text(path, value)?),
            // Boxes of one network reach every port of each other.
            "expose" | "links" if has_sidecars => {}
            "networks" if has_sidecars => self.networks(path, value)?,
            // A box is kept running by whoever works in it, and logs are collected from it.
            "container_name" | "init" | "restart" | "stdin_open" | "tty" => {}
            "volumes" => self.volumes(path, value, has_sidecars)?,
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

    /// Names in networks: all services are in one.
    fn networks(&mut self, path: &str, value: &Value) -> Result<(), ComposeError> {
        let Value::Object(networks) = value else {
            return Ok(());
        };
        for (name, network) in networks {
            for alias in network["aliases"].as_array().into_iter().flatten() {
                self.aliases
                    .push(text(&format!("{path}.{name}.aliases"), alias)?);
            }
        }
        Ok(())
    }

    /// Directories for logs are collected anyway, those with names are shared; others are named.
    fn volumes(
        &mut self,
        path: &str,
        value: &Value,
        has_sidecars: bool,
    ) -> Result<(), ComposeError> {
        let Value::Array(volumes) = value else {
            return Err(ComposeError::at(path, "a list is expected"));
        };
        for (place, volume) in volumes.iter().enumerate() {
            if let Some(volume) = named_volume(volume).filter(|_| has_sidecars) {
                self.volumes.push(volume);
                continue;
            }
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

/// A volume by its name; none if it is a directory of the host.
fn named_volume(volume: &Value) -> Option<NamedVolume> {
    let (name, at) = match volume {
        Value::String(text) => {
            let mut parts = text.split(':');
            (parts.next()?.to_owned(), parts.next()?.to_owned())
        }
        other => (
            other["source"].as_str()?.to_owned(),
            other["target"].as_str()?.to_owned(),
        ),
    };
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (is_name && !name.is_empty() && at.starts_with('/')).then_some(NamedVolume { name, at })
}

/// What a service waits for.
fn waits(path: &str, value: &Value) -> Result<BTreeMap<String, Condition>, ComposeError> {
    match value {
        Value::Array(names) => {
            let names = names.iter();
            names
                .map(|name| Ok((text(path, name)?, Condition::ServiceStarted)))
                .collect()
        }
        other => {
            let mut waits = BTreeMap::new();
            for (name, how) in object(path, other)? {
                let path = format!("{path}.{name}.condition");
                let condition = match &how["condition"] {
                    Value::Null => Condition::ServiceStarted,
                    told => {
                        let told = text(&path, told)?;
                        let known = Condition::ALL.iter().find(|(word, _)| *word == told);
                        let known = known.map(|(_, condition)| *condition);
                        known.ok_or_else(|| {
                            let words = Condition::ALL.map(|(word, _)| word).join(", ");
                            ComposeError::at(path, format!("must be one of {words}"))
                        })?
                    }
                };
                waits.insert(name.clone(), condition);
            }
            Ok(waits)
        }
    }
}

/// A health check; none if it is switched off.
fn healthcheck(path: &str, value: &Value) -> Result<Option<ServiceCheck>, ComposeError> {
    let check = object(path, value)?;
    let seconds = |key: &str, usual: f64| match check.get(key) {
        None | Some(Value::Null) => Ok(usual),
        Some(value) => duration(&format!("{path}.{key}"), value),
    };
    let at = format!("{path}.test");
    let command = match check.get("test") {
        Some(Value::Array(list)) => {
            let words: Vec<String> = list
                .iter()
                .map(|word| text(&at, word))
                .collect::<Result<_, _>>()?;
            match words.split_first() {
                Some((first, _)) if first == "NONE" => return Ok(None),
                Some((first, rest)) if first == "CMD" => rest.to_vec(),
                Some((first, rest)) if first == "CMD-SHELL" => in_shell(&rest.join(" ")),
                _ => {
                    return Err(ComposeError::at(
                        at,
                        "must begin with CMD, CMD-SHELL or NONE",
                    ));
                }
            }
        }
        Some(Value::String(script)) => in_shell(script),
        _ if check.get("disable") == Some(&Value::Bool(true)) => return Ok(None),
        _ => return Err(ComposeError::at(at, "is required")),
    };
    if command.is_empty() {
        return Err(ComposeError::at(at, "must name a program"));
    }
    let retries = match check.get("retries") {
        None => 3.0,
        Some(value) => number(&format!("{path}.retries"), value)?,
    };
    Ok(Some(ServiceCheck {
        command,
        interval: seconds("interval", 30.0)?,
        timeout: seconds("timeout", 30.0)?,
        start_period: seconds("start_period", 0.0)?,
        retries: retries as u64,
    }))
}

fn in_shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
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
