//! Sums, means and variances that do not depend on the order of their terms.
//!
//! A sum is exact until the end and rounded once (Shewchuk's partial sums). So neither the order of tasks and attempts nor a swap of A and
//! B can show in any bit: the sum of the negated terms is the negated sum.

/// A sum that is exact until it is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactSum {
    /// Numbers of rising magnitude that do not overlap; their sum is the sum.
    partials: Vec<f64>,
}

impl ExactSum {
    /// Adds a finite term.
    pub(crate) fn add(&mut self, term: f64) {
        let mut carried = term;
        let mut kept = 0;
        for place in 0..self.partials.len() {
            let partial = self.partials[place];
            let (large, small) = if carried.abs() < partial.abs() {
                (partial, carried)
            } else {
                (carried, partial)
            };
            let sum = large + small;
            let lost = small - (sum - large);
            if lost != 0.0 {
                self.partials[kept] = lost;
                kept += 1;
            }
            carried = sum;
        }
        self.partials.truncate(kept);
        if carried != 0.0 {
            self.partials.push(carried);
        }
    }

    /// The sum, rounded once, to even where it lies half-way.
    pub(crate) fn value(&self) -> f64 {
        let mut below = self.partials.iter().rev().copied();
        let Some(mut sum) = below.next() else {
            return 0.0;
        };
        let mut lost = 0.0;
        for partial in below.by_ref() {
            let before = sum;
            sum = before + partial;
            lost = partial - (sum - before);
            if lost != 0.0 {
                break;
            }
        }
        // What lies below decides whether a half is more than a half.
        let further = below.next().unwrap_or(0.0);
        if (lost < 0.0 && further < 0.0) || (lost > 0.0 && further > 0.0) {
            let twice = lost * 2.0;
            let next = sum + twice;
            if next - sum == twice {
                sum = next;
            }
        }
        sum
    }
}

/// The sum of finite terms.
pub(crate) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut exact = ExactSum::default();
    for term in terms {
        exact.add(term);
    }
    exact.value()
}

/// The mean of what is not empty.
pub(crate) fn mean(values: &[f64]) -> f64 {
    sum(values.iter().copied()) / values.len() as f64
}

/// The unbiased variance of at least two values, in two passes.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean) * (value - mean));
    sum(squares) / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_on_the_way() {
        assert_eq!(sum([0.1; 10]), 1.0);
        assert_eq!(sum([1e100, 1.0, -1e100]), 1.0);
        assert_eq!(sum([]), 0.0);
        // Half-way between two numbers, with a little more below: rounded away from even.
        assert_eq!(sum([1.0, f64::EPSILON / 2.0, 1e-40]), 1.0 + f64::EPSILON);
        assert_eq!(sum([1.0, f64::EPSILON / 2.0]), 1.0);
    }

    #[test]
    fn neither_order_nor_sign_shows() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 61) / 61.0).collect();
        let negated: Vec<f64> = values.iter().rev().map(|value| -value).collect();
        assert_eq!(mean(&values).to_bits(), (-mean(&negated)).to_bits());
        assert_eq!(variance(&values).to_bits(), variance(&negated).to_bits());
    }
}
