//! What agents say they used up: tokens, and money.
//!
//! It is the agent's word, kept beside what was observed and never used for a score. What nobody reported is missing, never 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    problem::{Problem, Problems},
    reader::{Node, Notes, Wording},
};

/// The most tokens that one report may name: more than any agent has ever used.
const MOST_TOKENS: u64 = 1_000_000_000_000;
/// The most money that one report may name, in US dollars.
const MOST_COST: f64 = 1e9;
/// The most reports in one request.
const MOST_REPORTS: usize = 10_000;
/// The most characters in the name of a model.
const LONGEST_MODEL: usize = 200;

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that models read, those from caches too.
    pub input_tokens: u64,
    /// Those of them that came from a cache.
    pub cached_tokens: u64,
    /// Tokens that models wrote.
    pub output_tokens: u64,
    /// What that cost in US dollars; none if any of it has an unknown cost.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Both together. The cost is unknown if either is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_usd: self.cost_usd.zip(other.cost_usd).map(|(a, b)| a + b),
        }
    }

    /// All of them together; none if there are none.
    pub fn sum(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().reduce(Self::plus)
    }
}

/// What one model used up.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUsage {
    /// The model, if the report names one.
    pub model: Option<String>,
    /// What it used up.
    pub usage: Usage,
}

impl ModelUsage {
    /// Reads what an agent reports: one report, or a list of them. Costs that are missing come from `prices`, where they are known.
    pub fn read(value: &Value, prices: &PriceTable) -> Result<Vec<Self>, Problems> {
        let notes: Notes<'_> = Notes::worded(Wording::Request);
        let root = Node::root(value, &notes);
        let read: Option<Vec<Self>> = match value {
            Value::Array(reports) if reports.is_empty() || reports.len() > MOST_REPORTS => {
                root.refuse(format!("must have from 1 to {MOST_REPORTS} reports"));
                None
            }
            Value::Array(_) => root
                .items()
                .iter()
                .map(|report| Self::read_one(report, prices))
                .collect(),
            _ => Self::read_one(&root, prices).map(|report| vec![report]),
        };
        notes.finish(read)
    }

    /// Reads a file of reports, one in a line. Everything that is wrong is named by the number of its line.
    pub fn read_lines(text: &str, prices: &PriceTable) -> Result<Vec<Self>, Problems> {
        let mut reports = Vec::new();
        let mut problems = Vec::new();
        for (number, line) in (1_usize..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let place = format!("line {number}");
            match serde_json::from_str(line) {
                Ok(value @ Value::Object(_)) => match Self::read(&value, prices) {
                    Ok(read) => reports.extend(read),
                    Err(found) => {
                        let found = found.into_vec().into_iter();
                        problems.extend(found.map(|problem| problem.below(&place)));
                    }
                },
                Ok(_) | Err(_) => problems.push(Problem::error(place, "must be a JSON object")),
            }
            if reports.len() > MOST_REPORTS {
                let message = format!("must have at most {MOST_REPORTS} reports");
                problems.push(Problem::error("", message));
                break;
            }
        }
        Problems::none_of(problems)?;
        Ok(reports)
    }

    fn read_one(node: &Node<'_>, prices: &PriceTable) -> Option<Self> {
        let object = node.object()?;
        let tokens = |name| object.required(name)?.whole(0..=MOST_TOKENS);
        let input_tokens = tokens("input_tokens");
        let output_tokens = tokens("output_tokens");
        let cached_tokens = match object.optional("cached_tokens") {
            Some(cached) => cached.whole(0..=MOST_TOKENS),
            None => Some(0),
        };
        let cost = object.optional("cost_usd").map(|cost| {
            let number = cost.number();
            match number {
                Some(number) if (0.0..=MOST_COST).contains(&number) => Some(number),
                Some(_) => {
                    cost.refuse(format!("must be from 0 to {MOST_COST}"));
                    None
                }
                None => None,
            }
        });
        let model = object
            .optional("model")
            .map(|model| model.text_of_length(1..=LONGEST_MODEL));
        object.finish();
        let mut usage = Usage {
            input_tokens: input_tokens?,
            cached_tokens: cached_tokens?,
            output_tokens: output_tokens?,
            cost_usd: match cost {
                Some(given) => Some(given?),
                None => None,
            },
        };
        if usage.cached_tokens > usage.input_tokens {
            object.refuse("cached_tokens", "must not be more than input_tokens");
            return None;
        }
        let model = match model {
            Some(name) => Some(name?.to_owned()),
            None => None,
        };
        if usage.cost_usd.is_none() {
            let price = model.as_deref().and_then(|model| prices.0.get(model));
            usage.cost_usd = price.map(|price| price.cost(&usage));
        }
        Some(Self { model, usage })
    }
}

/// What models cost, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable(pub BTreeMap<String, Price>);

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens that the model reads.
    pub input: f64,
    /// Tokens that it reads from a cache; as much as others if nothing is said.
    pub cached: Option<f64>,
    /// Tokens that it writes.
    pub output: f64,
}

impl Price {
    fn cost(&self, usage: &Usage) -> f64 {
        let fresh = usage.input_tokens - usage.cached_tokens;
        let cached = self.cached.unwrap_or(self.input);
        let of = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        of(fresh, self.input)
            + of(usage.cached_tokens, cached)
            + of(usage.output_tokens, self.output)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Result<Vec<ModelUsage>, String> {
        let price = Price {
            input: 3.0,
            cached: Some(0.3),
            output: 15.0,
        };
        let prices = PriceTable(BTreeMap::from([("m".to_owned(), price)]));
        ModelUsage::read(value, &prices).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_cost_is_as_reported_or_follows_from_the_price_or_is_unknown() {
        let reports = json!([
            {"input_tokens": 1_000_000, "output_tokens": 0, "model": "m"},
            {"input_tokens": 10, "cached_tokens": 5, "output_tokens": 2, "cost_usd": 0.5, "model": "m"},
            {"input_tokens": 10, "output_tokens": 2, "model": "other"},
            {"input_tokens": 10, "output_tokens": 2},
        ]);
        let costs: Vec<Option<f64>> = read(&reports)
            .unwrap()
            .iter()
            .map(|report| report.usage.cost_usd)
            .collect();
        assert_eq!(costs, [Some(3.0), Some(0.5), None, None]);
    }

    #[test]
    fn a_sum_has_a_cost_only_if_all_of_it_has() {
        let one = Usage {
            input_tokens: 1,
            cached_tokens: 0,
            output_tokens: 2,
            cost_usd: Some(0.25),
        };
        assert_eq!(Usage::sum([]), None);
        assert_eq!(Usage::sum([one, one]).unwrap().cost_usd, Some(0.5));
        let unknown = Usage {
            cost_usd: None,
            ..one
        };
        let sum = Usage::sum([one, unknown]).unwrap();
        assert_eq!((sum.cost_usd, sum.output_tokens), (None, 4));
    }

    #[test]
    fn what_is_wrong_with_a_report_is_named() {
        for wrong in [
            json!({}),
            json!([]),
            json!("x"),
            json!({"input_tokens": -1, "output_tokens": 1}),
            json!({"input_tokens": 1, "output_tokens": 1, "cost_usd": -0.5}),
            json!({"input_tokens": 1, "output_tokens": 1, "cached_tokens": 2}),
            json!({"input_tokens": 1, "output_tokens": 1, "tokens": 2}),
            json!({"input_tokens": 1, "output_tokens": 1, "model": ""}),
        ] {
            let refused = read(&wrong).unwrap_err();
            assert!(!refused.is_empty(), "{wrong}");
        }
        let refused = read(&json!([{"input_tokens": 1}])).unwrap_err();
        assert!(refused.contains("0.output_tokens"), "{refused}");
    }
}
