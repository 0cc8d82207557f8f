//! Metrics of a job: one number for each key of the rewards, over all trials.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::rewards::Rewards;

/// How the rewards of all trials become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Their mean.
    Mean,
}

impl Metric {
    /// All of them by their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("sum", Self::Sum),
        ("min", Self::Min),
        ("max", Self::Max),
        ("mean", Self::Mean),
    ];

    /// The name in job files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }

    /// The metric as Harbor's results have it: by its own name where there is at most one key, by each key otherwise.
    pub fn named(self, trials: &[Option<Rewards>]) -> BTreeMap<String, f64> {
        let found = self.of(trials);
        match found.len() {
            0 if trials.is_empty() => found,
            0 => [(self.as_str().to_owned(), 0.0)].into(),
            1 => {
                let values = found.into_values();
                values
                    .map(|value| (self.as_str().to_owned(), value))
                    .collect()
            }
            _ => found,
        }
    }

    /// The metric for each key. A trial without rewards, or without a key, counts 0 there.
    pub fn of(self, trials: &[Option<Rewards>]) -> BTreeMap<String, f64> {
        let keys: BTreeSet<&String> = trials.iter().flatten().flat_map(Rewards::keys).collect();
        let count = u32::try_from(trials.len()).unwrap_or(u32::MAX);
        keys.into_iter()
            .map(|key| {
                let values = trials.iter().map(|trial| {
                    let value = trial.as_ref().and_then(|rewards| rewards.get(key));
                    value.copied().unwrap_or(0.0)
                });
                let value = match self {
                    Self::Sum => values.sum(),
                    Self::Min => values.fold(f64::INFINITY, f64::min),
                    Self::Max => values.fold(f64::NEG_INFINITY, f64::max),
                    Self::Mean => values.sum::<f64>() / f64::from(count),
                };
                (key.clone(), value)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(pairs: &[(&str, f64)]) -> Option<Rewards> {
        let pairs = pairs.iter();
        Some(
            pairs
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
        )
    }

    #[test]
    fn each_key_has_its_own_number_and_what_is_missing_counts_nothing() {
        let trials = [
            trial(&[("reward", 1.0), ("style", 0.5)]),
            trial(&[("reward", 0.5)]),
            None,
            trial(&[("reward", -1.5)]),
        ];
        let of = |metric: Metric| {
            let found = metric.of(&trials);
            (found["reward"], found["style"])
        };
        assert_eq!(of(Metric::Sum), (0.0, 0.5));
        assert_eq!(of(Metric::Min), (-1.5, 0.0));
        assert_eq!(of(Metric::Max), (1.0, 0.5));
        assert_eq!(of(Metric::Mean), (0.0, 0.125));
        assert!(Metric::Mean.of(&[]).is_empty());
        for (name, metric) in Metric::ALL {
            assert_eq!(metric.as_str(), name);
        }
    }
}
