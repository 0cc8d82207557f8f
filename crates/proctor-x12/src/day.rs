//! Calendar days, as data sets write them (`2026-04-21`) and as X12 does (`20260421`).

use std::{fmt, str::FromStr};

use jiff::civil::Date;
use proctor_core::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

/// Text that names no day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a day written YYYY-MM-DD")]
pub struct NotADay(String);

impl Day {
    /// Reads `CCYYMMDD`.
    pub fn from_x12(text: &str) -> Option<Self> {
        if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (year, month, day) = (&text[..4], &text[4..6], &text[6..]);
        let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        date.ok().map(Self)
    }

    /// Reads the value of a `D8` (one day) or `RD8` (first and last day) element.
    pub fn range_from_x12(format: &str, text: &str) -> Option<(Self, Self)> {
        match format {
            "D8" => Self::from_x12(text).map(|day| (day, day)),
            "RD8" => {
                let (first, last) = text.split_once('-')?;
                Some((Self::from_x12(first)?, Self::from_x12(last)?))
            }
            _ => None,
        }
    }

    /// `CCYYMMDD`.
    pub fn to_x12(self) -> String {
        format!(
            "{:04}{:02}{:02}",
            self.0.year(),
            self.0.month(),
            self.0.day()
        )
    }

    /// How many days later another day is; less than nothing for an earlier one.
    pub fn until(self, other: Self) -> i64 {
        self.0.duration_until(other.0).as_hours() / 24
    }

    /// The day in UTC on which `instant` falls.
    pub fn of(instant: Timestamp) -> Self {
        Self(civil(instant).date())
    }
}

/// `HHMM` in UTC.
pub fn minutes(instant: Timestamp) -> String {
    let time = civil(instant).time();
    format!("{:02}{:02}", time.hour(), time.minute())
}

/// An instant beyond what a calendar can show counts as its end.
fn civil(instant: Timestamp) -> jiff::civil::DateTime {
    let instant =
        jiff::Timestamp::from_millisecond(instant.as_millis()).unwrap_or(jiff::Timestamp::MAX);
    jiff::tz::Offset::UTC.to_datetime(instant)
}

impl FromStr for Day {
    type Err = NotADay;

    fn from_str(text: &str) -> Result<Self, NotADay> {
        let shaped = text.len() == 10
            && text.bytes().enumerate().all(|(index, byte)| {
                if matches!(index, 4 | 7) {
                    byte == b'-'
                } else {
                    byte.is_ascii_digit()
                }
            });
        shaped
            .then(|| Self::from_x12(&text.replace('-', "")))
            .flatten()
            .ok_or_else(|| NotADay(text.to_owned()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04}-{:02}-{:02}",
            self.0.year(),
            self.0.month(),
            self.0.day()
        )
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_read_in_both_forms_and_refuse_the_impossible() {
        let day: Day = "2026-02-28".parse().unwrap();
        assert_eq!(day.to_x12(), "20260228");
        assert_eq!(Day::from_x12("20260228"), Some(day));
        assert_eq!(Day::from_x12("20260230"), None);
        assert_eq!(Day::from_x12("2026022"), None);
        for wrong in ["2026-02-30", "20260228", "2026-2-28", "", "+026-02-28"] {
            assert!(wrong.parse::<Day>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_range_has_its_two_ends() {
        let range = Day::range_from_x12("RD8", "20260101-20261231");
        let (first, last) = range.unwrap();
        assert_eq!(
            (first.to_string(), last.to_string()),
            ("2026-01-01".into(), "2026-12-31".into())
        );
        assert_eq!(Day::range_from_x12("RD8", "20260101"), None);
        assert_eq!(Day::range_from_x12("D8", "é0260101"), None);
    }

    #[test]
    fn the_end_of_time_is_a_day_too() {
        assert_eq!(
            Day::of(Timestamp::from_millis(i64::MAX)).to_string(),
            "9999-12-30"
        );
        assert_eq!(Day::of(Timestamp::from_millis(0)).to_string(), "1970-01-01");
    }
}
