//! What a devbox is launched with: its size, its user, its commands, its clocks.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::kinds::NetworkPolicyId;

/// A devbox lives this long unless somebody asks for more.
pub const DEFAULT_KEEP_ALIVE: Duration = Duration::from_secs(3600);
/// A devbox lives at most this long without being asked for.
pub const LONGEST_KEEP_ALIVE: Duration = Duration::from_secs(172_800);
/// The commands before a suspend may take this long unless somebody says otherwise.
pub const DEFAULT_SUSPEND_DEADLINE: Duration = Duration::from_secs(30);
/// The commands before a suspend may take this long at most.
pub const LONGEST_SUSPEND_DEADLINE: Duration = Duration::from_secs(60);

/// What a devbox is launched with. What is absent has a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LaunchParameters {
    /// How large it is.
    pub sizing: Sizing,
    /// Who works in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserParameters>,
    /// What runs before it can be worked with, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub launch_commands: Vec<String>,
    /// How long it lives without being asked for, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive_seconds: Option<u32>,
    /// What happens when nobody uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_idle: Option<AfterIdle>,
    /// What runs before it is suspended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspend_commands: Vec<String>,
    /// How long that may take, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_deadline_millis: Option<u32>,
    /// What it may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicyId>,
    /// Whether a request through its tunnel brings it back when it is suspended; what its tunnel says if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_on_http: Option<bool>,
}

impl LaunchParameters {
    /// How long it lives without being asked for.
    pub fn keep_alive(&self) -> Duration {
        self.keep_alive_seconds
            .map_or(DEFAULT_KEEP_ALIVE, |seconds| {
                Duration::from_secs(seconds.into())
            })
    }

    /// How long the commands before a suspend may take.
    pub fn suspend_deadline(&self) -> Duration {
        self.suspend_deadline_millis
            .map_or(DEFAULT_SUSPEND_DEADLINE, |millis| {
                Duration::from_millis(millis.into())
            })
    }
}

/// The account that commands run as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserParameters {
    /// Its name.
    pub username: String,
    /// Its number.
    pub uid: u32,
}

impl UserParameters {
    /// Whether the text can be the name of an account.
    pub fn is_username(text: &str) -> bool {
        text.len() <= 32
            && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
    }
}

/// What happens to a devbox that nobody uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterIdle {
    /// After how many seconds.
    pub seconds: u32,
    /// What.
    pub action: IdleAction,
}

/// What is done with a devbox that nobody uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleAction {
    /// It ends.
    Shutdown,
    /// It is brought to a stand.
    Suspend,
}

/// How large a devbox is: one of the usual sizes, or one of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizing {
    /// One of the usual sizes.
    Usual(ResourceSize),
    /// A size of its own.
    Custom(Resources),
    /// The size that a devbox has when nobody says anything.
    #[default]
    Default,
}

impl Sizing {
    /// What the devbox may use.
    pub const fn resources(self) -> Resources {
        match self {
            Self::Usual(size) => size.resources(),
            Self::Custom(resources) => resources,
            Self::Default => ResourceSize::Small.resources(),
        }
    }
}

/// The usual sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ResourceSize {
    /// Half a processor.
    XSmall,
    /// One processor.
    Small,
    /// Two processors.
    Medium,
    /// Two processors and more memory.
    Large,
    /// Four processors.
    XLarge,
    /// Eight processors.
    XxLarge,
}

impl ResourceSize {
    /// Every usual size.
    pub const ALL: [Self; 6] = [
        Self::XSmall,
        Self::Small,
        Self::Medium,
        Self::Large,
        Self::XLarge,
        Self::XxLarge,
    ];

    /// The size in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::XSmall => "X_SMALL",
            Self::Small => "SMALL",
            Self::Medium => "MEDIUM",
            Self::Large => "LARGE",
            Self::XLarge => "X_LARGE",
            Self::XxLarge => "XX_LARGE",
        }
    }

    /// The size of this word.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|size| size.as_str() == word)
    }

    /// What a devbox of this size may use.
    pub const fn resources(self) -> Resources {
        let (cpu_halves, memory_gib, disk_gib) = match self {
            Self::XSmall => (1, 1, 4),
            Self::Small => (2, 2, 4),
            Self::Medium => (4, 4, 8),
            Self::Large => (4, 8, 16),
            Self::XLarge => (8, 16, 16),
            Self::XxLarge => (16, 32, 16),
        };
        Resources {
            cpu_halves,
            memory_gib,
            disk_gib,
        }
    }
}

/// What a devbox may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Halves of a processor.
    pub cpu_halves: u32,
    /// Memory in GiB.
    pub memory_gib: u32,
    /// Disk in GiB.
    pub disk_gib: u32,
}

impl Resources {
    /// The disk of a size of one's own when nobody says how large.
    pub const DEFAULT_CUSTOM_DISK: u32 = 4;

    /// What is wrong with a size of one's own: the field and the rule, nothing if it is fine.
    pub fn problems(self) -> Vec<(Dimension, &'static str)> {
        let mut problems = Vec::new();
        if !(matches!(self.cpu_halves, 1 | 2)
            || self.cpu_halves.is_multiple_of(4) && (4..=32).contains(&self.cpu_halves))
        {
            problems.push((Dimension::Cpu, "must be 0.5, 1 or an even number up to 16"));
        }
        if self.memory_gib != 1
            && !(self.memory_gib.is_multiple_of(2) && (2..=64).contains(&self.memory_gib))
        {
            problems.push((Dimension::Memory, "must be 1 or an even number up to 64"));
        }
        if !(self.disk_gib.is_multiple_of(2) && (2..=64).contains(&self.disk_gib)) {
            problems.push((Dimension::Disk, "must be an even number from 2 to 64"));
        }
        // In halves of a processor: 1:2 is as much, 1:8 is four times as much.
        if problems.is_empty()
            && !(self.cpu_halves..=4 * self.cpu_halves).contains(&self.memory_gib)
        {
            problems.push((
                Dimension::Memory,
                "must be from 2 to 8 times the number of processors",
            ));
        }
        problems
    }

    /// The processor in thousandths.
    pub const fn cpu_millis(self) -> u32 {
        self.cpu_halves * 500
    }

    /// The memory in bytes.
    pub const fn memory_bytes(self) -> u64 {
        (self.memory_gib as u64) << 30
    }

    /// The disk in bytes.
    pub const fn disk_bytes(self) -> u64 {
        (self.disk_gib as u64) << 30
    }
}

/// Which part of a size is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// The processor.
    Cpu,
    /// The memory.
    Memory,
    /// The disk.
    Disk,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn custom(cpu_halves: u32, memory_gib: u32, disk_gib: u32) -> Vec<Dimension> {
        let resources = Resources {
            cpu_halves,
            memory_gib,
            disk_gib,
        };
        resources
            .problems()
            .into_iter()
            .map(|(dimension, _)| dimension)
            .collect()
    }

    #[test]
    fn the_usual_sizes_follow_their_own_rules() {
        for size in ResourceSize::ALL {
            assert_eq!(size.resources().problems(), [], "{size:?}");
            assert_eq!(ResourceSize::from_name(size.as_str()), Some(size));
        }
        assert_eq!(
            Sizing::default().resources(),
            ResourceSize::Small.resources()
        );
    }

    #[test]
    fn a_size_of_ones_own_has_rules() {
        assert_eq!(custom(1, 1, 2), []);
        assert_eq!(custom(1, 4, 64), []);
        assert_eq!(custom(32, 64, 2), []);
        assert_eq!(custom(3, 2, 4), [Dimension::Cpu]);
        assert_eq!(custom(6, 6, 4), [Dimension::Cpu]);
        assert_eq!(custom(36, 64, 4), [Dimension::Cpu]);
        assert_eq!(custom(4, 3, 4), [Dimension::Memory]);
        assert_eq!(custom(16, 66, 4), [Dimension::Memory]);
        assert_eq!(custom(2, 2, 3), [Dimension::Disk]);
        assert_eq!(custom(2, 2, 0), [Dimension::Disk]);
        assert_eq!(custom(2, 2, 66), [Dimension::Disk]);
        assert_eq!(custom(2, 1, 4), [Dimension::Memory], "less than 1:2");
        assert_eq!(custom(1, 6, 4), [Dimension::Memory], "more than 1:8");
    }

    #[test]
    fn an_account_has_a_plain_name() {
        for good in ["user", "_apt", "a-b_1"] {
            assert!(UserParameters::is_username(good), "{good}");
        }
        for bad in ["", "1a", "Root", "a b", "a:b", "../x", &"a".repeat(33)] {
            assert!(!UserParameters::is_username(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_absent_has_a_default() {
        let none: LaunchParameters = serde_json::from_str("{}").unwrap();
        assert_eq!(none, LaunchParameters::default());
        assert_eq!(none.keep_alive(), DEFAULT_KEEP_ALIVE);
        assert_eq!(none.suspend_deadline(), DEFAULT_SUSPEND_DEADLINE);
    }
}
