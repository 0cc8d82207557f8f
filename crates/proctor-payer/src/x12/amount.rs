//! Decimal amounts that keep the digits they were written with.

use proctor_core::numeral::Numeral;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Number;

/// An amount of money, units or percent: not negative, without an exponent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount(String);

impl Amount {
    /// Reads plain decimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = Numeral::read(text)?.exponent.is_none() && !text.starts_with(['-', '+']);
        (is_plain && text.len() <= 18).then(|| Self(text.to_owned()))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The shortest form of the same number, as X12 wants decimals: no needless zeros.
    pub fn to_x12(&self) -> String {
        shortest(&self.0)
    }

    /// A percentage as the fraction X12 wants: 20 becomes 0.2.
    pub fn percent_to_x12(&self) -> String {
        let (whole, part) = self.0.split_once('.').unwrap_or((&self.0, ""));
        let padded = format!("{whole:0>3}");
        let (front, back) = padded.split_at(padded.len() - 2);
        shortest(&format!("{front}.{back}{part}"))
    }

    /// In cents; none where it has a smaller part, or is more than anybody bills.
    pub fn cents(&self) -> Option<u64> {
        let short = self.to_x12();
        let (whole, part) = short.split_once('.').unwrap_or((&short, ""));
        if part.len() > 2 || whole.len() > 12 {
            return None;
        }
        format!("{whole}{part:0<2}").parse().ok()
    }

    /// An amount of cents.
    pub fn of_cents(cents: u64) -> Self {
        Self(format!("{}.{:02}", cents / 100, cents % 100))
    }

    /// Whether two amounts are the same number.
    pub fn equals(&self, other: &Self) -> bool {
        self.to_x12() == other.to_x12()
    }
}

fn shortest(text: &str) -> String {
    let text = match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.'),
        None => text,
    };
    let text = text.trim_start_matches('0');
    match text.as_bytes().first() {
        None => "0".to_owned(),
        Some(b'.') => format!("0{text}"),
        Some(_) => text.to_owned(),
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number: Number = self.0.parse().map_err(serde::ser::Error::custom)?;
        number.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        let refused = || {
            D::Error::custom(format!(
                "{number} is not a plain decimal amount of at most 18 digits"
            ))
        };
        Self::parse(&number.to_string()).ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_keep_their_digits_and_are_written_short() {
        let read: Amount = serde_json::from_str("25.50").unwrap();
        assert_eq!(read.as_str(), "25.50");
        assert_eq!(read.to_x12(), "25.5");
        assert_eq!(serde_json::to_string(&read).unwrap(), "25.50");
        for (text, short) in [
            ("0", "0"),
            ("0.00", "0"),
            ("100", "100"),
            ("1500.00", "1500"),
            ("0.5", "0.5"),
        ] {
            assert_eq!(Amount::parse(text).unwrap().to_x12(), short);
        }
    }

    #[test]
    fn a_percentage_becomes_a_fraction_digit_by_digit() {
        for (text, fraction) in [
            ("20", "0.2"),
            ("5", "0.05"),
            ("100", "1"),
            ("12.5", "0.125"),
            ("0", "0"),
        ] {
            assert_eq!(Amount::parse(text).unwrap().percent_to_x12(), fraction);
        }
    }

    #[test]
    fn money_is_counted_in_cents() {
        for (text, cents) in [
            ("0", Some(0)),
            ("1240.5", Some(124_050)),
            ("0.07", Some(7)),
            ("12.340", Some(1_234)),
            ("0.005", None),
            ("1234567890123", None),
        ] {
            assert_eq!(Amount::parse(text).unwrap().cents(), cents, "{text}");
        }
        assert_eq!(Amount::of_cents(124_050).to_x12(), "1240.5");
        assert_eq!(Amount::of_cents(7).as_str(), "0.07");
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for wrong in ["-1", "1e3", "\"25\"", "null", "1234567890123456789"] {
            assert!(serde_json::from_str::<Amount>(wrong).is_err(), "{wrong}");
        }
    }
}
