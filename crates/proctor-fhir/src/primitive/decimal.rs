//! Decimals and the interval that their significant digits stand for.

use proctor_core::numeral::Numeral;

/// A number as it was written, with the range of values that round to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decimal {
    /// The number itself.
    pub value: f64,
    /// The smallest number that it stands for.
    pub low: f64,
    /// The number up to which, not including it, it stands for others.
    pub high: f64,
}

impl Decimal {
    /// Reads a number; none for anything else, and for what no 64-bit float can hold.
    ///
    /// `100` stands for 99.5 up to 100.5 and `100.00` for 99.995 up to 100.005. A number with an exponent stands for a tenth
    /// of that width (`1e2` for 95 up to 105), as the standard's own example has it.
    pub fn parse(text: &str) -> Option<Self> {
        let Numeral {
            is_negative,
            whole,
            fraction,
            exponent,
        } = Numeral::read(text)?;
        let exponent: Option<i32> = match exponent {
            Some(exponent) => Some(exponent.parse().ok()?),
            None => None,
        };
        let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        let weight = exponent
            .unwrap_or(0)
            .checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let Some(magnitude) = format!("{whole}{fraction}")
            .parse::<i128>()
            .ok()
            .filter(|magnitude| *magnitude < i128::MAX / 1_000)
        else {
            return Some(Self {
                value,
                low: value,
                high: value,
            });
        };
        let signed = if is_negative { -magnitude } else { magnitude };
        // Half of the last digit's weight; the edges are made as decimals so that they round as any other number does.
        let shift = if exponent.is_some() { 2 } else { 1 };
        let edge = |half: i128| {
            format!(
                "{}e{}",
                signed * 10i128.pow(shift) + half,
                weight.saturating_sub(shift.cast_signed())
            )
            .parse::<f64>()
            .ok()
        };
        Some(Self {
            value,
            low: edge(-5)?,
            high: edge(5)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(text: &str) -> (f64, f64) {
        let decimal = Decimal::parse(text).unwrap();
        (decimal.low, decimal.high)
    }

    #[test]
    fn significant_digits_say_how_wide_a_number_is() {
        assert_eq!(interval("100"), (99.5, 100.5));
        assert_eq!(interval("100.00"), (99.995, 100.005));
        assert_eq!(interval("1e2"), (95.0, 105.0));
        assert_eq!(interval("5.4"), (5.35, 5.45));
        assert_eq!(interval("-5.4"), (-5.45, -5.35));
        assert_eq!(interval("0"), (-0.5, 0.5));
        assert_eq!(interval("5.40e-3"), (0.005_399_5, 0.005_400_5));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            "-",
            "1.",
            ".5",
            "1e",
            "e5",
            "1,5",
            "NaN",
            "inf",
            "infinity",
            "0x10",
            " 1",
            "1 ",
            "1e400",
            "--1",
            "1.2.3",
            "1e99999999999",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_number_lies_in_its_own_interval(whole in -1_000_000_000i64..1_000_000_000, fraction in "[0-9]{0,6}") {
            let text = if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") };
            let decimal = Decimal::parse(&text).unwrap();
            prop_assert!(decimal.low < decimal.value && decimal.value < decimal.high);
        }

        #[test]
        fn more_digits_make_a_narrower_interval(whole in -1_000_000i64..1_000_000, digits in 1usize..6) {
            let coarse = Decimal::parse(&whole.to_string()).unwrap();
            let fine = Decimal::parse(&format!("{whole}.{}", "0".repeat(digits))).unwrap();
            prop_assert!(coarse.low < fine.low && fine.high < coarse.high);
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "[-+0-9.eE]{0,60}|\\PC*") {
            let _ = Decimal::parse(&text);
        }
    }
}
