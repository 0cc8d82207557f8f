//! The life of a devbox: its states and the only ways between them.
//!
//! ```text
//! provisioning → initializing → running → suspending → suspended
//!      ↑                           ↑                       │ resume
//!      └───────────────────────────┼───────────────────────┘
//! shutdown, failure: from every live state, and for good
//! ```

use serde::{Deserialize, Serialize};

use crate::{
    refused::{Refused, Step},
    time::Timestamp,
};

/// Where a devbox is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DevboxStatus {
    /// The box is being made, or brought back.
    Provisioning,
    /// Its launch commands run.
    Initializing,
    /// It can be worked with.
    Running,
    /// It is being brought to a stand.
    Suspending,
    /// Its processes stand still.
    Suspended,
    /// It was ended as somebody wished.
    Shutdown,
    /// It ended because something broke.
    Failure,
}

impl DevboxStatus {
    /// Every status, in the order of a life.
    pub const ALL: [Self; 7] = [
        Self::Provisioning,
        Self::Initializing,
        Self::Running,
        Self::Suspending,
        Self::Suspended,
        Self::Shutdown,
        Self::Failure,
    ];

    /// The status in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Initializing => "initializing",
            Self::Running => "running",
            Self::Suspending => "suspending",
            Self::Suspended => "suspended",
            Self::Shutdown => "shutdown",
            Self::Failure => "failure",
        }
    }

    /// The status of this word.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether nothing comes after it.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Shutdown | Self::Failure)
    }
}

/// Why a devbox was ended as somebody wished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownReason {
    /// It was asked for.
    ApiShutdown,
    /// Its time was over and nobody asked for more.
    KeepAliveTimeout,
    /// Its main program ended.
    EntrypointExit,
    /// Nobody used it for as long as was agreed.
    Idle,
}

impl ShutdownReason {
    /// The reason in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiShutdown => "api_shutdown",
            Self::KeepAliveTimeout => "keep_alive_timeout",
            Self::EntrypointExit => "entrypoint_exit",
            Self::Idle => "idle",
        }
    }
}

/// What broke a devbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DevboxFailure {
    /// It had no memory left.
    OutOfMemory,
    /// It had no disk left.
    OutOfDisk,
    /// It could not be made, or a launch command failed.
    ExecutionFailed,
    /// It went away by itself.
    HealthCheckFailed,
}

impl DevboxFailure {
    /// What broke, in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OutOfMemory => "out_of_memory",
            Self::OutOfDisk => "out_of_disk",
            Self::ExecutionFailed => "execution_failed",
            Self::HealthCheckFailed => "health_check_failed",
        }
    }
}

/// One step of a life, with its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// What the devbox became.
    pub status: DevboxStatus,
    /// When.
    pub at: Timestamp,
}

/// How a life ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Shutdown(ShutdownReason),
    Failure {
        failure: DevboxFailure,
        message: String,
    },
}

/// The life of a devbox so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevboxLife {
    transitions: Vec<Transition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<End>,
}

impl DevboxLife {
    /// The life of a devbox that is about to be made.
    pub fn begin(now: Timestamp) -> Self {
        let first = Transition {
            status: DevboxStatus::Provisioning,
            at: now,
        };
        Self {
            transitions: vec![first],
            end: None,
        }
    }

    /// Where it is now.
    pub fn status(&self) -> DevboxStatus {
        self.transitions
            .last()
            .map_or(DevboxStatus::Provisioning, |last| last.status)
    }

    /// Everything it has been, in order.
    pub fn transitions(&self) -> &[Transition] {
        &self.transitions
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.status().is_over()
    }

    /// When it ended, if it has.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.transitions
            .last()
            .filter(|last| last.status.is_over())
            .map(|last| last.at)
    }

    /// Why it was shut down, if it was.
    pub fn shutdown_reason(&self) -> Option<ShutdownReason> {
        match &self.end {
            Some(End::Shutdown(reason)) => Some(*reason),
            Some(End::Failure { .. }) | None => None,
        }
    }

    /// What broke it and the words for it, if something did.
    pub fn failure(&self) -> Option<(DevboxFailure, &str)> {
        match &self.end {
            Some(End::Failure { failure, message }) => Some((*failure, message)),
            Some(End::Shutdown(_)) | None => None,
        }
    }

    /// How long it was up until `now`, without the time it stood still.
    pub fn active_millis(&self, now: Timestamp) -> u64 {
        let ends = self
            .transitions
            .iter()
            .skip(1)
            .map(|next| next.at)
            .chain([now]);
        self.transitions
            .iter()
            .zip(ends)
            .filter(|(from, _)| !from.status.is_over() && from.status != DevboxStatus::Suspended)
            .map(|(from, until)| {
                u64::try_from(until.since(from.at).as_millis()).unwrap_or(u64::MAX)
            })
            .sum()
    }

    /// The box is there; its launch commands run.
    pub fn initialize(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        self.go(
            now,
            &[DevboxStatus::Provisioning],
            DevboxStatus::Initializing,
        )
    }

    /// It can be worked with.
    pub fn run(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        const FROM: &[DevboxStatus] = &[DevboxStatus::Provisioning, DevboxStatus::Initializing];
        self.go(now, FROM, DevboxStatus::Running)
    }

    /// It shall come to a stand. What stands already, or is about to, stays so.
    pub fn suspend(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        match self.status() {
            DevboxStatus::Suspended => Ok(Step::Unchanged(self)),
            _ => self.go(now, &[DevboxStatus::Running], DevboxStatus::Suspending),
        }
    }

    /// It has come to a stand.
    pub fn stand_still(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        self.go(now, &[DevboxStatus::Suspending], DevboxStatus::Suspended)
    }

    /// It could not be brought to a stand and goes on.
    pub fn go_on(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        self.go(now, &[DevboxStatus::Suspending], DevboxStatus::Running)
    }

    /// It shall be brought back. What runs, or is about to, stays so.
    pub fn resume(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        match self.status() {
            DevboxStatus::Running | DevboxStatus::Initializing => Ok(Step::Unchanged(self)),
            _ => self.go(now, &[DevboxStatus::Suspended], DevboxStatus::Provisioning),
        }
    }

    /// It is ended as somebody wished. What has ended stays as it is.
    #[must_use]
    pub fn shut_down(self, now: Timestamp, reason: ShutdownReason) -> Step<Self> {
        self.finish(now, DevboxStatus::Shutdown, End::Shutdown(reason))
    }

    /// It is ended because something broke. What has ended stays as it is.
    #[must_use]
    pub fn fail(
        self,
        now: Timestamp,
        failure: DevboxFailure,
        message: impl Into<String>,
    ) -> Step<Self> {
        let message = message.into();
        self.finish(
            now,
            DevboxStatus::Failure,
            End::Failure { failure, message },
        )
    }

    /// Refuses unless it can be worked with.
    pub fn must_run(&self) -> Result<(), Refused> {
        match self.status() {
            DevboxStatus::Running => Ok(()),
            status if status.is_over() => Err(Refused::DevboxOver(status.as_str())),
            status => Err(Refused::DevboxNot(
                status.as_str(),
                DevboxStatus::Running.as_str(),
            )),
        }
    }

    fn go(
        mut self,
        now: Timestamp,
        from: &'static [DevboxStatus],
        to: DevboxStatus,
    ) -> Result<Step<Self>, Refused> {
        let status = self.status();
        if status == to {
            return Ok(Step::Unchanged(self));
        }
        if status.is_over() {
            return Err(Refused::DevboxOver(status.as_str()));
        }
        if !from.contains(&status) {
            let needed = from.first().map_or("", |needed| needed.as_str());
            return Err(Refused::DevboxNot(status.as_str(), needed));
        }
        self.transitions.push(Transition {
            status: to,
            at: now,
        });
        Ok(Step::Changed(self))
    }

    fn finish(mut self, now: Timestamp, status: DevboxStatus, end: End) -> Step<Self> {
        if self.is_over() {
            return Step::Unchanged(self);
        }
        self.transitions.push(Transition { status, at: now });
        self.end = Some(end);
        Step::Changed(self)
    }
}

#[cfg(test)]
mod tests;
