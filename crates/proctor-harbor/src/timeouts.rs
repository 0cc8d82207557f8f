//! How long the phases of a trial may take, and how long to wait before a retry.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long installing an agent may take unless somebody says otherwise.
pub const AGENT_SETUP_SECONDS: f64 = 360.0;

/// The factors of a job file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Multipliers {
    /// For all phases without one of their own.
    pub all: f64,
    /// For the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<f64>,
    /// For the verifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<f64>,
    /// For installing the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_setup: Option<f64>,
    /// For building and starting the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_build: Option<f64>,
}

impl Default for Multipliers {
    fn default() -> Self {
        Self {
            all: 1.0,
            agent: None,
            verifier: None,
            agent_setup: None,
            environment_build: None,
        }
    }
}

/// What limits one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseLimit {
    /// What the task says; none is no limit.
    pub task: Option<f64>,
    /// What the job says instead; 0 is as good as nothing.
    pub instead: Option<f64>,
    /// The most that the job allows of it; 0 is as good as nothing.
    pub most: Option<f64>,
    /// The phase's own factor.
    pub multiplier: Option<f64>,
}

impl PhaseLimit {
    /// The effective limit in seconds; none is no limit.
    pub fn seconds(self, multipliers: &Multipliers) -> Option<f64> {
        let instead = self.instead.filter(|seconds| *seconds > 0.0);
        let base = instead.or(self.task);
        let most = self.most.filter(|seconds| *seconds > 0.0);
        let bounded = base.map(|base| base.min(most.unwrap_or(f64::INFINITY)));
        bounded.map(|seconds| seconds * self.multiplier.unwrap_or(multipliers.all))
    }
}

/// Seconds as a duration; what is too long for one is the longest.
pub fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(match seconds > 0.0 {
        true => Duration::MAX,
        false => Duration::ZERO,
    })
}

/// How long retries wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryWait {
    /// The factor from one retry to the next; 1 stands for the usual one, 2.
    pub multiplier: f64,
    /// Before the first retry, in seconds.
    pub least: f64,
    /// At most, in seconds.
    pub most: f64,
}

impl RetryWait {
    /// How long to wait before retry `number` (from 1 on); `jitter` is from 0 to 1.
    pub fn before(self, number: u32, jitter: f64) -> Duration {
        let is_usual = (self.multiplier - 1.0).abs() < f64::EPSILON;
        let factor: f64 = if is_usual { 2.0 } else { self.multiplier };
        let power = i32::try_from(number.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = (self.least * factor.powi(power)).min(self.most).max(0.0);
        // From one half to the whole, so that trials that failed together do not come back together.
        let spread = if is_usual {
            0.5 + jitter.clamp(0.0, 1.0) / 2.0
        } else {
            1.0
        };
        duration(seconds * spread)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_limit_is_the_override_or_the_tasks_then_the_most_then_the_factor() {
        let multipliers = Multipliers {
            all: 2.0,
            ..Multipliers::default()
        };
        let seconds = |task, instead, most, multiplier| {
            let limit = PhaseLimit {
                task,
                instead,
                most,
                multiplier,
            };
            limit.seconds(&multipliers)
        };
        assert_eq!(seconds(Some(100.0), None, None, None), Some(200.0));
        assert_eq!(seconds(Some(100.0), Some(30.0), None, None), Some(60.0));
        assert_eq!(seconds(Some(100.0), Some(0.0), None, None), Some(200.0));
        assert_eq!(
            seconds(Some(100.0), None, Some(50.0), Some(3.0)),
            Some(150.0)
        );
        assert_eq!(seconds(Some(10.0), None, Some(50.0), None), Some(20.0));
        assert_eq!(seconds(None, None, None, None), None);
        assert_eq!(seconds(None, None, Some(50.0), None), None);
    }

    #[test]
    fn retries_wait_longer_each_time_up_to_the_most() {
        let usual = RetryWait {
            multiplier: 1.0,
            least: 1.0,
            most: 60.0,
        };
        let waits: Vec<f64> = (1..=8)
            .map(|number| usual.before(number, 1.0).as_secs_f64())
            .collect();
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
        assert_eq!(usual.before(1, 0.0).as_secs_f64(), 0.5);
        let own = RetryWait {
            multiplier: 3.0,
            ..usual
        };
        assert_eq!(own.before(3, 0.0).as_secs_f64(), 9.0);
    }

    proptest! {
        #[test]
        fn waits_never_exceed_the_most(multiplier in 0.1f64..10.0, least in 0.0f64..100.0, most in 0.0f64..100.0, number in 0u32..5000, jitter in 0.0f64..1.0) {
            let wait = RetryWait { multiplier, least, most };
            prop_assert!(wait.before(number, jitter).as_secs_f64() <= most + 1e-9);
        }
    }
}
