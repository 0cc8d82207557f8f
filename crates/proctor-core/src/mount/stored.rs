//! Mounts as they are stored with runs: flat, with the words of the API that they came through first.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{CodeMount, Mount};
use crate::id::{Dialect, Id, Kind};

const FILE: &str = "file_mount";
const OBJECT: &str = "object_mount";
const AGENT: &str = "agent_mount";
const CODE: &str = "code_mount";

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredMount {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repo_owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repo_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    install_command: Option<String>,
}

impl StoredMount {
    fn of(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            ..Self::default()
        }
    }
}

impl From<Mount> for StoredMount {
    fn from(mount: Mount) -> Self {
        match mount {
            Mount::File { target, content } => Self {
                target: Some(target),
                content: Some(content),
                ..Self::of(FILE)
            },
            Mount::Object { object, target } => Self {
                object_id: Some(object.wire(Dialect::Runloop)),
                object_path: Some(target),
                ..Self::of(OBJECT)
            },
            Mount::Agent {
                agent,
                name,
                target,
                token,
            } => Self {
                agent_id: agent.map(|agent| agent.wire(Dialect::Runloop)),
                agent_name: name,
                agent_path: target,
                auth_token: token,
                ..Self::of(AGENT)
            },
            Mount::Code(code) => Self {
                repo_owner: Some(code.owner),
                repo_name: Some(code.name),
                token: code.token,
                git_ref: code.reference,
                install_command: code.install,
                ..Self::of(CODE)
            },
        }
    }
}

impl TryFrom<StoredMount> for Mount {
    type Error = String;

    fn try_from(stored: StoredMount) -> Result<Self, String> {
        match stored.kind.as_str() {
            FILE => Ok(Self::File {
                target: there(stored.target, "target")?,
                content: there(stored.content, "content")?,
            }),
            OBJECT => Ok(Self::Object {
                object: id(&there(stored.object_id, "object_id")?)?,
                target: there(stored.object_path, "object_path")?,
            }),
            AGENT => Ok(Self::Agent {
                agent: stored.agent_id.as_deref().map(id).transpose()?,
                name: stored.agent_name,
                target: stored.agent_path,
                token: stored.auth_token,
            }),
            CODE => Ok(Self::Code(CodeMount {
                owner: there(stored.repo_owner, "repo_owner")?,
                name: there(stored.repo_name, "repo_name")?,
                token: stored.token,
                reference: stored.git_ref,
                install: stored.install_command,
            })),
            other => Err(format!("'{other}' is not a kind of mount")),
        }
    }
}

fn there(member: Option<String>, name: &str) -> Result<String, String> {
    member.ok_or_else(|| format!("a mount has no {name}"))
}

fn id<K: Kind>(text: &str) -> Result<Id<K>, String> {
    Id::from_wire(text, Dialect::Runloop).map_err(|bad| bad.to_string())
}

/// Writes mounts.
pub(crate) fn serialize<S: Serializer>(mounts: &[Mount], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(mounts.iter().cloned().map(StoredMount::from))
}

/// Reads mounts.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Mount>, D::Error> {
    let stored = Vec::<StoredMount>::deserialize(deserializer)?;
    let mounts = stored.into_iter().map(Mount::try_from);
    mounts.collect::<Result<_, _>>().map_err(de::Error::custom)
}
