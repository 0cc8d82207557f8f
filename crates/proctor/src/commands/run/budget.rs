//! What attempts may cost together, and what they have cost so far.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proctor_core::usage::{ModelUsage, PriceTable};

/// How often is looked what an attempt has used up.
const LOOK: Duration = Duration::from_millis(250);

/// A look at what an attempt has used up so far; none if it said nothing.
pub(super) type UsageLook<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

/// What attempts may cost together.
pub(super) struct Budget {
    /// In US dollars; without it nothing is bounded.
    most: Option<f64>,
    /// What models cost, for reports without a cost.
    pub(super) prices: PriceTable,
    spent: Mutex<Spent>,
}

/// What attempts have cost so far.
#[derive(Default)]
struct Spent {
    /// What was spent before this command began.
    before: f64,
    /// By task run.
    tries: BTreeMap<String, f64>,
    /// Whether something was used up of which nobody knows the cost.
    has_unknown: bool,
}

impl Spent {
    fn sum(&self) -> f64 {
        self.before + self.tries.values().sum::<f64>()
    }
}

impl Budget {
    pub(super) fn new(most: Option<f64>, prices: PriceTable, before: f64) -> Self {
        Self {
            most,
            prices,
            spent: Mutex::new(Spent {
                before,
                ..Spent::default()
            }),
        }
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything is bounded.
    pub(super) const fn is_bounded(&self) -> bool {
        self.most.is_some()
    }

    /// Whether more was spent than may be.
    pub(super) fn is_over(&self) -> bool {
        self.most.is_some_and(|most| self.spent().sum() > most)
    }

    /// Whether the bound is in doubt: something was used up of which nobody knows the cost.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.most.is_some() && self.spent().has_unknown
    }

    /// Why an attempt was ended, in words.
    pub(super) fn told(&self) -> String {
        let most = self.most.unwrap_or_default();
        let spent = self.spent().sum();
        format!("the cost budget of ${most} is over: ${spent:.4} were spent")
    }

    /// Notes what a task run says it used up, all of it so far.
    pub(super) fn note(&self, task_run: &str, usage: &str) {
        let (cost, is_known) = cost(usage, &self.prices);
        let mut spent = self.spent();
        spent.tries.insert(task_run.to_owned(), cost);
        spent.has_unknown |= !is_known;
    }

    /// Returns when more was spent than may be. `usage` is asked now and then what the task run used up so far.
    pub(super) async fn exceeded<'a>(
        &self,
        task_run: &str,
        usage: impl Fn() -> UsageLook<'a> + Send,
    ) {
        if !self.is_bounded() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(LOOK).await;
            if let Some(usage) = usage().await {
                self.note(task_run, &usage);
            }
            if self.is_over() {
                return;
            }
        }
    }
}

/// What reports come to, and whether the cost of all of them is known. The last line may be half-written, and lines that cannot be read say
/// nothing.
fn cost(usage: &str, prices: &PriceTable) -> (f64, bool) {
    let read = usage
        .lines()
        .filter_map(|line| ModelUsage::read_lines(line, prices).ok());
    let mut sum = (0.0, true);
    for report in read.flatten() {
        match report.usage.cost_usd {
            Some(cost) => sum.0 += cost,
            None => sum.1 = false,
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"input_tokens": 1, "output_tokens": 1, "cost_usd": 0.5}"#;

    #[test]
    fn what_all_attempts_spent_counts_and_a_repeated_look_does_not() {
        let budget = Budget::new(Some(1.0), PriceTable::default(), 0.25);
        budget.note("tr_1", REPORT);
        budget.note("tr_1", REPORT);
        assert!(!budget.is_over(), "the same report was looked at twice");
        budget.note("tr_2", REPORT);
        assert!(budget.is_over());
        assert_eq!(
            budget.told(),
            "the cost budget of $1 is over: $1.2500 were spent"
        );
    }

    #[test]
    fn without_a_bound_nothing_is_over_and_unknown_costs_are_told() {
        let budget = Budget::new(None, PriceTable::default(), 0.0);
        budget.note("tr_1", &REPORT.repeat(9));
        budget.note("tr_2", r#"{"input_tokens": 1, "output_tokens": 1}"#);
        assert!(!budget.is_over() && !budget.is_in_doubt());
        let budget = Budget::new(Some(1.0), PriceTable::default(), 0.0);
        budget.note("tr_1", r#"{"input_tokens": 1, "output_tokens": 1}"#);
        assert!(budget.is_in_doubt() && !budget.is_over());
        budget.note("tr_2", &format!("{REPORT}\nnot json\n{{\"input"));
        assert!(!budget.is_over());
    }
}
