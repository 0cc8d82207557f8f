//! Mounts: what is put into a devbox before anybody works in it.

use serde::{Deserialize, Serialize};

use crate::id::kinds::{AgentId, ObjectId};

pub(crate) mod stored;

/// Something that is put into a devbox before anything runs in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mount {
    /// A text file.
    File {
        /// Where it goes.
        target: String,
        /// What is in it.
        content: String,
    },
    /// An uploaded object; an archive is unpacked.
    Object {
        /// Which.
        object: ObjectId,
        /// Where it goes.
        target: String,
    },
    /// A registered agent.
    Agent {
        /// Which; the newest of `name` if absent.
        agent: Option<AgentId>,
        /// What it is called.
        name: Option<String>,
        /// Where it goes.
        target: Option<String>,
        /// What opens a private repository.
        token: Option<String>,
    },
    /// A repository.
    Code(CodeMount),
}

impl Mount {
    /// Where it has what opens a private repository, if it can have that. It is not written down with the rest.
    pub fn token_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::File { .. } | Self::Object { .. } => None,
            Self::Agent { token, .. } => Some(token),
            Self::Code(code) => Some(&mut code.token),
        }
    }

    /// What is mounted, in a few words for messages. Never a token and never content.
    pub fn label(&self) -> String {
        match self {
            Self::File { target, .. } => format!("file_mount {target}"),
            Self::Object { object, target } => format!("object_mount {object} at {target}"),
            Self::Agent { agent, name, .. } => match (agent, name) {
                (Some(agent), _) => format!("agent_mount {agent}"),
                (None, name) => format!("agent_mount {}", name.as_deref().unwrap_or_default()),
            },
            Self::Code(code) => format!("code_mount {}", code.repository()),
        }
    }
}

/// A repository to check out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeMount {
    /// Whose it is.
    pub owner: String,
    /// What it is called; also the name of the directory.
    pub name: String,
    /// What opens a private one.
    pub token: Option<String>,
    /// The branch, tag or commit; the default branch if absent.
    pub reference: Option<String>,
    /// What is run in it afterwards.
    pub install: Option<String>,
}

impl CodeMount {
    /// The repository's name in full.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

// By hand, so that no log ever holds a token.
impl std::fmt::Debug for CodeMount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeMount")
            .field("repository", &self.repository())
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("reference", &self.reference)
            .field("install", &self.install)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_label_nor_debug_output_tells_a_token() {
        let mount = Mount::Code(CodeMount {
            owner: "acme".to_owned(),
            name: "rocket".to_owned(),
            token: Some("hush".to_owned()),
            reference: None,
            install: None,
        });
        assert_eq!(mount.label(), "code_mount acme/rocket");
        assert!(!format!("{mount:?}").contains("hush"));
    }
}
