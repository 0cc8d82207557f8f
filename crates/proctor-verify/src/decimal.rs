//! Numbers compared by their digits, exactly: `1.10` is `1.1`, and `0.1` is not `0.10000000000000001`.

use std::cmp::Ordering;

use proctor_core::numeral::Numeral;

/// A decimal number of any size and precision: `0.digits × 10^scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    is_negative: bool,
    /// Without zeros at either end; none for zero.
    digits: Vec<u8>,
    scale: i64,
}

impl Decimal {
    /// Reads a number; none for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let Numeral {
            is_negative,
            whole,
            fraction,
            exponent,
        } = Numeral::read(text)?;
        let exponent = exponent.map_or(0, bounded);
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Self {
                is_negative: false,
                digits,
                scale: 0,
            });
        }
        let places = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
        Some(Self {
            is_negative,
            digits,
            scale: exponent.saturating_add(places),
        })
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => (self.scale, &self.digits).cmp(&(other.scale, &other.digits)),
        }
    }
}

/// An exponent; one beyond all bounds stays at the bound, where no real number is.
fn bounded(exponent: &str) -> i64 {
    const BOUND: i64 = i64::MAX / 4;
    let beyond = if exponent.starts_with('-') {
        -BOUND
    } else {
        BOUND
    };
    let exponent: i64 = exponent.parse().unwrap_or(beyond);
    exponent.clamp(-BOUND, BOUND)
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn digits_count_and_their_spelling_does_not() {
        for same in [
            ["1.10", "1.1"],
            ["100", "1e2"],
            ["-0.0", "0"],
            ["0.001", "1E-3"],
            ["+5", "5.000"],
            ["007", "7"],
        ] {
            assert_eq!(decimal(same[0]), decimal(same[1]), "{same:?}");
        }
        for [low, high] in [
            ["0.1", "0.10000000000000001"],
            ["-2", "-1.5"],
            ["-1", "0"],
            ["9", "10"],
            ["0", "1e-99999999999999999999"],
            ["99999999999999999998", "99999999999999999999"],
        ] {
            assert!(decimal(low) < decimal(high), "{low} < {high}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "", "-", "1.", ".5", "1e", "e5", "1,5", "NaN", " 1", "1 ", "--1", "1.2.3", "0x1",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_compare_as_they_do(left: i64, right: i64) {
            prop_assert_eq!(decimal(&left.to_string()).cmp(&decimal(&right.to_string())), left.cmp(&right));
        }

        #[test]
        fn fractions_compare_as_they_do(left in -1_000_000i64..1_000_000, right in -1_000_000i64..1_000_000) {
            let text = |number: i64| format!("{number}e-3");
            let point = |number: i64| {
                let sign = if number < 0 { "-" } else { "" };
                format!("{sign}{}.{:03}", number.abs() / 1000, number.abs() % 1000)
            };
            prop_assert_eq!(decimal(&text(left)), decimal(&point(left)));
            prop_assert_eq!(decimal(&text(left)).cmp(&decimal(&point(right))), left.cmp(&right));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9.eE]{0,40}|\\PC*") {
            let _ = Decimal::parse(&text);
        }
    }
}
