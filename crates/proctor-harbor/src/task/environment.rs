//! `[environment]`: what the box of a task is like.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::network::{self, NetworkMode, NetworkPolicy};
use crate::{
    read::{
        DocumentNode, DocumentObject, flag, list, object_of, seconds, text, texts, variables, warn,
        whole,
    },
    template,
};

/// How long a build may take unless the task says otherwise, in seconds.
const BUILD_SECONDS: f64 = 600.0;

/// What the box of a task is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// How long its build may take, in seconds.
    pub build_timeout: f64,
    /// The image that it stands on, instead of a Dockerfile.
    pub docker_image: Option<String>,
    /// Processors.
    pub cpus: Option<f64>,
    /// Mebibytes of memory.
    pub memory_mb: Option<u64>,
    /// Mebibytes of disk.
    pub storage_mb: Option<u64>,
    /// Environment variables, with templates.
    pub env: BTreeMap<String, String>,
    /// Where commands start, instead of the image's own directory.
    pub workdir: Option<String>,
    /// How it says that it is ready.
    pub healthcheck: Option<Healthcheck>,
    /// What it may reach.
    pub network: NetworkPolicy,
    /// Servers of tools for the agent.
    pub mcp_servers: Vec<McpServer>,
    /// Where the agent finds skills.
    pub skills_dir: Option<String>,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            build_timeout: BUILD_SECONDS,
            docker_image: None,
            cpus: None,
            memory_mb: None,
            storage_mb: None,
            env: BTreeMap::new(),
            workdir: None,
            healthcheck: None,
            network: NetworkPolicy::default(),
            mcp_servers: Vec::new(),
            skills_dir: None,
        }
    }
}

/// How a box says that it is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Healthcheck {
    /// For a shell; status 0 is ready.
    pub command: String,
    /// Seconds between two checks.
    pub interval: f64,
    /// Seconds that a check may take.
    pub timeout: f64,
    /// Seconds in which failures do not count.
    pub start_period: f64,
    /// Seconds between two checks in that time.
    pub start_interval: f64,
    /// How many failures in a row are too many.
    pub retries: u64,
}

/// A server of tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is spoken to.
    pub transport: McpTransport,
    /// Where it is, unless it is a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Headers of requests, with templates inside.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// How a server of tools is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpTransport {
    /// Through its standard streams.
    Stdio,
    /// By server-sent events.
    Sse,
    /// By streamable HTTP.
    StreamableHttp,
}

/// Reads `[environment]`, or the like in another place.
pub(super) fn read(node: &DocumentNode<'_>) -> Option<Environment> {
    object_of(node, |object| {
        refuse_devices(object);
        Environment {
            build_timeout: seconds(object, "build_timeout_sec").unwrap_or(BUILD_SECONDS),
            docker_image: text(object, "docker_image").filter(|image| !image.trim().is_empty()),
            cpus: cpus(object),
            memory_mb: size(object, "memory_mb", "memory"),
            storage_mb: size(object, "storage_mb", "storage"),
            env: variables(object, "env", false),
            workdir: text(object, "workdir"),
            healthcheck: object
                .optional("healthcheck")
                .and_then(|node| healthcheck(&node)),
            network: network_of(object),
            mcp_servers: list(object, "mcp_servers", mcp_server),
            skills_dir: text(object, "skills_dir"),
        }
    })
}

/// What a box of ours cannot have.
fn refuse_devices(object: &DocumentObject<'_>) {
    if let Some(os) = object.optional("os")
        && let Some(name) = os.text()
        && !name.eq_ignore_ascii_case("linux")
    {
        os.refuse(format!("'{name}' cannot be run; boxes are Linux"));
    }
    if let Some(gpus) = whole(object, "gpus", 0..=1024)
        && gpus > 0
    {
        object.refuse("gpus", "boxes have no GPUs");
    }
    texts(object, "gpu_types");
    if object.optional("tpu").is_some() {
        object.refuse("tpu", "boxes have no TPUs");
    }
    if flag(object, "privileged") == Some(true) {
        object.refuse("privileged", "no box is privileged");
    }
    if object.optional("cap_add").is_some() {
        object.refuse("cap_add", "no box gets capabilities");
    }
}

fn cpus(object: &DocumentObject<'_>) -> Option<f64> {
    let node = object.optional("cpus")?;
    let cpus = node.number()?;
    if !(cpus > 0.0 && cpus <= 4096.0) {
        node.refuse("must be more than 0 and at most 4096");
        return None;
    }
    Some(cpus)
}

/// A size in mebibytes, or by its old name as a text such as `2G`.
fn size(object: &DocumentObject<'_>, name: &'static str, old: &'static str) -> Option<u64> {
    const MOST: u64 = 1 << 30;
    let new = whole(object, name, 1..=MOST);
    let Some(node) = object.optional(old) else {
        return new;
    };
    warn(
        &node,
        format!("is the old name; {name} is the new one, in MiB"),
    );
    let Value::String(given) = node.value() else {
        node.refuse("must be a text such as \"2G\" or \"512M\"");
        return new;
    };
    let Some(parsed) = mebibytes(given) else {
        node.refuse(format!(
            "'{given}' is not a size such as \"2G\" or \"512M\""
        ));
        return new;
    };
    match new {
        Some(new) if new != parsed => {
            node.refuse(format!("says {parsed} MiB where {name} says {new}"));
            Some(new)
        }
        _ => Some(parsed),
    }
}

fn mebibytes(text: &str) -> Option<u64> {
    let text = text.trim().to_uppercase();
    let factor = match text.chars().last()? {
        'G' => 1024.0,
        'M' => 1.0,
        'K' => 1.0 / 1024.0,
        _ => return None,
    };
    let number: f64 = text[..text.len() - 1].trim().parse().ok()?;
    let size = number * factor;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "parts of a mebibyte do not count, and the bounds were just looked at"
    )]
    (0.0..1e9).contains(&size).then_some(size as u64)
}

/// The policy, by the new names or by the old one.
fn network_of(object: &DocumentObject<'_>) -> NetworkPolicy {
    let policy = network::read(object);
    let allowed = flag(object, "allow_internet");
    match (policy, allowed) {
        (Some(policy), Some(_)) => {
            if let Some(node) = object.optional("allow_internet") {
                warn(&node, "has no effect beside network_mode, the newer key");
            }
            policy
        }
        (Some(policy), None) => policy,
        (None, Some(false)) => NetworkPolicy {
            mode: NetworkMode::NoNetwork,
            hosts: Vec::new(),
        },
        (None, Some(true) | None) => NetworkPolicy::default(),
    }
}

/// Reads a health check.
pub(super) fn healthcheck(node: &DocumentNode<'_>) -> Option<Healthcheck> {
    object_of(node, |object| {
        let command = object.required("command").and_then(|node| {
            let command = node.filled_text()?;
            Some(command.to_owned())
        });
        let check = Healthcheck {
            command: command.clone().unwrap_or_default(),
            interval: seconds(object, "interval_sec").unwrap_or(5.0),
            timeout: seconds(object, "timeout_sec").unwrap_or(30.0),
            start_period: seconds(object, "start_period_sec").unwrap_or(0.0),
            start_interval: seconds(object, "start_interval_sec").unwrap_or(5.0),
            retries: whole(object, "retries", 0..=10_000).unwrap_or(3),
        };
        command.map(|_| check)
    })?
}

/// Reads a server of tools.
pub(crate) fn mcp_server(node: &DocumentNode<'_>) -> Option<McpServer> {
    const TRANSPORTS: [(&str, McpTransport); 4] = [
        ("stdio", McpTransport::Stdio),
        ("sse", McpTransport::Sse),
        ("streamable-http", McpTransport::StreamableHttp),
        ("http", McpTransport::StreamableHttp),
    ];
    object_of(node, |object| {
        let name = object.required("name").and_then(|name| name.filled_text());
        let transport = object
            .optional("transport")
            .map_or(Some(McpTransport::Sse), |word| word.word(&TRANSPORTS));
        let server = McpServer {
            name: name.unwrap_or_default().to_owned(),
            transport: transport?,
            url: text(object, "url"),
            command: text(object, "command"),
            args: texts(object, "args"),
            headers: variables(object, "headers", false),
        };
        match server.transport {
            McpTransport::Stdio if server.command.is_none() => {
                object.refuse("command", "is required for a server that is a program");
            }
            McpTransport::Sse | McpTransport::StreamableHttp if server.url.is_none() => {
                object.refuse("url", "is required for a server that is reached by HTTP");
            }
            McpTransport::Stdio | McpTransport::Sse | McpTransport::StreamableHttp => {}
        }
        name.map(|_| server)
    })?
}

impl Environment {
    /// The variables that its templates name and that have no default.
    pub fn required_variables(&self) -> Vec<&str> {
        self.env
            .values()
            .filter_map(|value| template::Template::of(value))
            .filter(|template| template.default.is_none())
            .map(|template| template.variable)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_sizes_are_mebibytes() {
        assert_eq!(mebibytes("2G"), Some(2048));
        assert_eq!(mebibytes(" 512m "), Some(512));
        assert_eq!(mebibytes("0.5G"), Some(512));
        assert_eq!(mebibytes("2048K"), Some(2));
        for wrong in ["", "2", "G", "xG", "-1G", "2T", "é"] {
            assert_eq!(mebibytes(wrong), None, "{wrong}");
        }
    }
}
