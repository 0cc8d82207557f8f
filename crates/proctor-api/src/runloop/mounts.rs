//! Mounts, as clients say them.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{AgentId, ObjectId},
    mount::{CodeMount, Mount},
};
use proctor_fleet::{check_reference, is_repository_name};
use serde::Deserialize;
use utoipa::ToSchema;

use super::ids;
use crate::extract::{Checks, shortened};

/// Something that is put into a devbox before anything runs in it. Which members count depends on the type.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct MountBody {
    /// file_mount, object_mount, agent_mount or code_mount.
    #[serde(rename = "type")]
    #[schema(value_type = String, required, example = "file_mount")]
    kind: Option<String>,
    /// Of a file: where it goes.
    target: Option<String>,
    /// Of a file: what is in it.
    content: Option<String>,
    /// Of an object: which.
    object_id: Option<String>,
    /// Of an object: where it goes; an archive is unpacked there.
    object_path: Option<String>,
    /// Of an agent: which.
    agent_id: Option<String>,
    /// Of an agent: what it is called, if its id is not given.
    agent_name: Option<String>,
    /// Of an agent: where it goes.
    agent_path: Option<String>,
    /// Of an agent: what opens a private repository.
    auth_token: Option<String>,
    /// Of code: whose the repository is.
    repo_owner: Option<String>,
    /// Of code: what the repository is called.
    repo_name: Option<String>,
    /// Of code: what opens a private repository.
    token: Option<String>,
    /// Of code: the branch or tag.
    git_ref: Option<String>,
    /// Of code: what is run in it afterwards.
    install_command: Option<String>,
}

impl MountBody {
    /// What the client means; `place` is where this stands in the request.
    pub(crate) fn read(self, checks: &mut Checks, place: &str) -> Option<Mount> {
        let at = |field: &str| format!("{place}.{field}");
        match checks.required(&at("type"), self.kind.clone())?.as_str() {
            "file_mount" => {
                let target = path(checks, &at("target"), self.target);
                let content = checks.required(&at("content"), self.content);
                Some(Mount::File {
                    target: target?,
                    content: content?,
                })
            }
            "object_mount" => {
                let object = checks.required(&at("object_id"), self.object_id);
                let target = path(checks, &at("object_path"), self.object_path);
                let object: Option<ObjectId> = ids::checked(checks, &at("object_id"), object);
                Some(Mount::Object {
                    object: object?,
                    target: target?,
                })
            }
            "agent_mount" => {
                let agent: Option<AgentId> = ids::checked(checks, &at("agent_id"), self.agent_id);
                if agent.is_none() && self.agent_name.is_none() {
                    checks.refuse(&at("agent_id"), "either this or agent_name is required");
                }
                let target = match self.agent_path {
                    None => None,
                    given => Some(path(checks, &at("agent_path"), given)?),
                };
                Some(Mount::Agent {
                    agent,
                    name: self.agent_name,
                    target,
                    token: self.auth_token,
                })
            }
            "code_mount" => self.read_code(checks, place),
            "broker_mount" => {
                checks.refuse(&at("type"), "brokers are not offered");
                None
            }
            other => {
                let message = format!(
                    "'{}' is none of file_mount, object_mount, agent_mount, code_mount",
                    shortened(other)
                );
                checks.refuse(&at("type"), message);
                None
            }
        }
    }

    /// The same for a repository, whatever the type says.
    pub(crate) fn read_code(self, checks: &mut Checks, place: &str) -> Option<Mount> {
        let owner = repository_part(checks, &format!("{place}.repo_owner"), self.repo_owner);
        let name = repository_part(checks, &format!("{place}.repo_name"), self.repo_name);
        if let Some(Err(problem)) = self.git_ref.as_deref().map(check_reference) {
            checks.refuse(&format!("{place}.git_ref"), problem.to_string());
        }
        Some(Mount::Code(CodeMount {
            owner: owner?,
            name: name?,
            token: self.token,
            reference: self.git_ref,
            install: self.install_command,
        }))
    }
}

/// A place in a devbox.
fn path(checks: &mut Checks, field: &str, value: Option<String>) -> Option<String> {
    let path = checks.required(field, value)?;
    if path.trim().is_empty() || path.contains('\0') {
        checks.refuse(field, "must be a path in the devbox");
        return None;
    }
    Some(path)
}

/// The owner or the name of a repository.
fn repository_part(checks: &mut Checks, field: &str, value: Option<String>) -> Option<String> {
    let part = checks.required(field, value)?;
    if !is_repository_name(&part) {
        checks.refuse(field, "must be letters, digits, '-', '_' or '.'");
        return None;
    }
    Some(part)
}

/// Files by their paths: the older way to say the same.
pub(crate) fn files(
    checks: &mut Checks,
    field: &str,
    files: Option<BTreeMap<String, String>>,
) -> Vec<Mount> {
    let files = files.unwrap_or_default().into_iter();
    let file = |(target, content)| {
        let target = path(checks, field, Some(target))?;
        Some(Mount::File { target, content })
    };
    files.filter_map(file).collect()
}
