//! The tunnel of a devbox: how services in it can be reached from outside.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Who may use a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TunnelAuth {
    /// Whoever knows its address.
    #[default]
    Open,
    /// Whoever also has its token.
    Authenticated,
}

impl TunnelAuth {
    /// The mode in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Authenticated => "authenticated",
        }
    }

    /// The mode of this word.
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::Open, Self::Authenticated]
            .into_iter()
            .find(|mode| mode.as_str() == word)
    }
}

/// How a tunnel works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelSettings {
    /// Who may use it.
    pub auth: TunnelAuth,
    /// Whether what passes through it counts as use of the devbox.
    pub http_keep_alive: bool,
    /// Whether a request brings a suspended devbox back.
    pub wake_on_http: bool,
}

impl Default for TunnelSettings {
    fn default() -> Self {
        Self {
            auth: TunnelAuth::Open,
            http_keep_alive: true,
            wake_on_http: false,
        }
    }
}

/// The tunnel of a devbox. Its address and its token follow from its name and a secret of the installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// What tells it from an earlier tunnel of the same devbox.
    pub name: String,
    /// How it works.
    pub settings: TunnelSettings,
    /// When it was made.
    pub created_at: Timestamp,
}
