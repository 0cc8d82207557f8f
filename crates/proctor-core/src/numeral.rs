//! How decimal numbers are written: `[-+]digits[.digits][e[-+]digits]`.
//!
//! What such a text stands for is up to whoever reads it: an exact number, an interval, an amount of money.

/// The parts of a decimal number as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numeral<'t> {
    /// Whether it begins with a minus.
    pub is_negative: bool,
    /// The digits before the point, at least one.
    pub whole: &'t str,
    /// The digits behind the point; empty if there is none.
    pub fraction: &'t str,
    /// What follows the `e`, if there is one: digits, perhaps with a sign.
    pub exponent: Option<&'t str>,
}

impl<'t> Numeral<'t> {
    /// Reads a number; none for anything else.
    pub fn read(text: &'t str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (text, None),
        };
        if exponent.is_some_and(|exponent| !are_digits(unsigned(exponent))) {
            return None;
        }
        let digits = unsigned(mantissa);
        let (whole, fraction) = match digits.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (digits, ""),
        };
        let is_number = are_digits(whole) && (fraction.is_empty() || are_digits(fraction));
        is_number.then_some(Self {
            is_negative: mantissa.starts_with('-'),
            whole,
            fraction,
            exponent,
        })
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_parts() {
        let read = |text| {
            let Numeral {
                is_negative,
                whole,
                fraction,
                exponent,
            } = Numeral::read(text).unwrap();
            (is_negative, whole, fraction, exponent)
        };
        assert_eq!(read("007"), (false, "007", "", None));
        assert_eq!(read("-1.50"), (true, "1", "50", None));
        assert_eq!(read("+1.5E-03"), (false, "1", "5", Some("-03")));
        assert_eq!(read("1e+2"), (false, "1", "", Some("+2")));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "", "-", "+", "1.", ".5", "1e", "1e-", "e5", "1,5", "NaN", "inf", " 1", "1 ", "--1",
            "-+1", "1.2.3", "1.-2", "1e1.5", "1e2e3", "0x10", "١",
        ] {
            assert_eq!(Numeral::read(text), None, "{text}");
        }
    }
}
