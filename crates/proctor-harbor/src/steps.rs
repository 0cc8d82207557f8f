//! Tasks of several steps: when to stop, and what the steps amount to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::rewards::Rewards;

/// How the rewards of steps become those of the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewardStrategy {
    /// The mean of each key over the steps that have rewards; a missing key counts 0.
    #[default]
    Mean,
    /// Those of the last step that was executed.
    Final,
}

/// What a step must reach for the next one to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MinReward(
    /// The least value of each key.
    pub BTreeMap<String, f64>,
);

impl MinReward {
    /// Why the rewards of a step are not enough, if they are not. A missing key is less than any number.
    pub fn failure(&self, rewards: Option<&Rewards>) -> Option<String> {
        self.0.iter().find_map(|(key, least)| {
            let value = rewards.and_then(|rewards| rewards.get(key));
            match value {
                Some(value) if value >= least => None,
                Some(value) => Some(format!("{key} is {value}, below min_reward {least}")),
                None => Some(format!("{key} is missing, below min_reward {least}")),
            }
        })
    }
}

/// The rewards of a trial by those of the steps that were executed, in order; none if there are none.
pub fn rewards_of_trial(strategy: RewardStrategy, steps: &[Option<Rewards>]) -> Option<Rewards> {
    match strategy {
        RewardStrategy::Final => steps.last()?.clone(),
        RewardStrategy::Mean => {
            let valid: Vec<&Rewards> = steps.iter().flatten().collect();
            let keys: BTreeSet<&String> = valid.iter().flat_map(|one| one.keys()).collect();
            if keys.is_empty() {
                return None;
            }
            let count = f64::from(u32::try_from(valid.len()).unwrap_or(u32::MAX));
            let mean = |key: &String| {
                let values = valid.iter().map(|one| one.get(key).copied().unwrap_or(0.0));
                values.sum::<f64>() / count
            };
            Some(
                keys.into_iter()
                    .map(|key| (key.clone(), mean(key)))
                    .collect(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn step(pairs: &[(&str, f64)]) -> Option<Rewards> {
        let pairs = pairs.iter();
        Some(
            pairs
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
        )
    }

    #[test]
    fn the_mean_leaves_out_steps_without_rewards_and_counts_missing_keys_as_nothing() {
        let steps = [
            step(&[("reward", 1.0), ("b", 1.0)]),
            None,
            step(&[("reward", 0.0)]),
        ];
        let mean = rewards_of_trial(RewardStrategy::Mean, &steps);
        assert_eq!(mean, step(&[("reward", 0.5), ("b", 0.5)]));
        assert_eq!(rewards_of_trial(RewardStrategy::Mean, &[None, None]), None);
        assert_eq!(rewards_of_trial(RewardStrategy::Mean, &[]), None);
    }

    #[test]
    fn the_last_step_counts_alone_where_the_task_says_so() {
        let steps = [step(&[("reward", 1.0)]), step(&[("reward", 0.25)])];
        let last = rewards_of_trial(RewardStrategy::Final, &steps);
        assert_eq!(last, step(&[("reward", 0.25)]));
        let unverified = [step(&[("reward", 1.0)]), None];
        assert_eq!(rewards_of_trial(RewardStrategy::Final, &unverified), None);
    }

    #[test]
    fn a_step_below_its_threshold_is_the_last() {
        let least = MinReward([("reward".to_owned(), 0.5)].into());
        assert_eq!(least.failure(step(&[("reward", 0.5)]).as_ref()), None);
        assert!(least.failure(step(&[("reward", 0.4)]).as_ref()).is_some());
        assert!(least.failure(step(&[("other", 1.0)]).as_ref()).is_some());
        assert!(least.failure(None).is_some());
        let any = MinReward([("reward".to_owned(), f64::MIN)].into());
        assert!(
            any.failure(None).is_some(),
            "missing is less than any number"
        );
    }

    proptest! {
        #[test]
        fn a_mean_is_between_the_least_and_the_greatest(values in proptest::collection::vec(-10.0f64..10.0, 1..8)) {
            let steps: Vec<_> = values.iter().map(|value| step(&[("reward", *value)])).collect();
            let mean = rewards_of_trial(RewardStrategy::Mean, &steps).unwrap()["reward"];
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least - 1e-9 <= mean && mean <= most + 1e-9);
        }
    }
}
