//! What a model used up.

use std::{
    io::{self, Write as _},
    path::Path,
};

use serde_json::json;

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens that the model read, those from the cache too.
    pub input_tokens: u64,
    /// Those of them that came from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// What that cost in US dollars, if prices are known.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds what another answer used up.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        if let Some(cost) = other.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or_default() + cost);
        }
    }

    /// Appends a line to a file of usages.
    pub fn append(&self, file: &Path, model: &str) -> io::Result<()> {
        let line = json!({
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "model": model,
        });
        let mut file = fs_err::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)?;
        writeln!(file, "{line}")
    }
}
