//! When an agent must end, and what its tokens cost.

use std::time::Duration;

use crate::usage::Usage;

/// What an agent may use up.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How often the model is asked.
    pub turns: u32,
    /// How many tokens, read and written together.
    pub tokens: Option<u64>,
    /// How much money, in US dollars.
    pub cost: Option<f64>,
    /// How long.
    pub time: Option<Duration>,
    /// How many tokens a question may have before old results are taken out of it.
    pub context: u64,
    /// How many tokens an answer may have.
    pub answer: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 100,
            tokens: None,
            cost: None,
            time: None,
            context: 150_000,
            answer: 8_192,
        }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The model was asked as often as it may be.
    Turns,
    /// The tokens are used up.
    Tokens,
    /// The money is used up.
    Cost,
    /// The time is over.
    Time,
}

impl Limit {
    /// The word in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turn_limit",
            Self::Tokens => "token_limit",
            Self::Cost => "cost_limit",
            Self::Time => "time_limit",
        }
    }
}

impl Limits {
    /// The limit that is reached after `turns` turns with this usage. A call that goes beyond a limit is paid for already, so it is
    /// the last.
    pub fn reached(&self, turns: u32, usage: &Usage) -> Option<Limit> {
        let cost = usage.cost_usd.unwrap_or_default();
        if turns >= self.turns {
            Some(Limit::Turns)
        } else if self.tokens.is_some_and(|most| usage.tokens() >= most) {
            Some(Limit::Tokens)
        } else if self.cost.is_some_and(|most| cost >= most) {
            Some(Limit::Cost)
        } else {
            None
        }
    }
}

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Tokens that the model reads.
    pub input: f64,
    /// Tokens that it reads from the provider's cache.
    pub cached: f64,
    /// Tokens that it writes.
    pub output: f64,
}

impl Prices {
    /// What an answer cost.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens);
        let million = 1e6;
        (fresh as f64 * self.input
            + usage.cached_tokens as f64 * self.cached
            + usage.output_tokens as f64 * self.output)
            / million
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_a_price_of_their_own() {
        let prices = Prices {
            input: 3.0,
            cached: 0.3,
            output: 15.0,
        };
        let usage = Usage {
            input_tokens: 1_000_000,
            cached_tokens: 500_000,
            output_tokens: 100_000,
            cost_usd: None,
        };
        let cost = prices.cost(&usage);
        assert!((cost - (1.5 + 0.15 + 1.5)).abs() < 1e-12, "{cost}");
    }

    #[test]
    fn the_call_that_goes_beyond_a_limit_is_the_last() {
        let limits = Limits {
            tokens: Some(100),
            cost: Some(1.0),
            ..Limits::default()
        };
        let mut usage = Usage {
            input_tokens: 90,
            ..Usage::default()
        };
        assert_eq!(limits.reached(1, &usage), None);
        usage.output_tokens = 500;
        assert_eq!(limits.reached(1, &usage), Some(Limit::Tokens));
        usage.output_tokens = 0;
        usage.cost_usd = Some(7.5);
        assert_eq!(limits.reached(1, &usage), Some(Limit::Cost));
        assert_eq!(limits.reached(100, &usage), Some(Limit::Turns));
    }
}
