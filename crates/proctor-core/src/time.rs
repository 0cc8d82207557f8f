//! Instants with millisecond precision, and where they come from.

use std::{
    fmt,
    str::FromStr,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time: milliseconds since 1970 in UTC. On the wire RFC 3339 with exactly three
/// decimals and `Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant `millis` milliseconds after 1970 began.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970 began.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This instant and `span` more; stays at the end of time rather than wrap.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero when it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            // Beyond the year 9999 RFC 3339 has no words.
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        let instant: jiff::Timestamp = text.parse()?;
        Ok(Self(instant.as_millisecond()))
    }
}

/// Reads a length of time as people write it: `120s`, `2h 30m`, `3d`, or in ISO 8601, `PT2H`. Days have 24 hours;
/// months and years have no length of their own.
pub fn parse_span(text: &str) -> Option<Duration> {
    let span: jiff::Span = text.trim().parse().ok()?;
    let relative = jiff::SpanRelativeTo::days_are_24_hours();
    span.to_duration(relative).ok()?.try_into().ok()
}

/// Where the current time comes from. Injected, so that tests and replays can choose it.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// A clock that stands still until it is told to move: for tests and for simulated time.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows `start`.
    pub const fn at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.as_millis()))
    }

    /// Moves the clock on.
    pub fn advance(&self, span: Duration) {
        let next = self.now().plus(span);
        self.0.store(next.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        let seconds = |text: &str| parse_span(text).map(|span| span.as_secs());
        for (text, expected) in [
            ("120s", 120),
            ("2m", 120),
            ("1h30m", 5_400),
            ("2 hours", 7_200),
            ("3d", 259_200),
            ("1w", 604_800),
            ("PT2H", 7_200),
            ("P1DT1S", 86_401),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "120", "soon", "-5s", "1 month", "P1Y", "5 s x"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn the_wire_form_has_three_decimals_and_z() {
        assert_eq!(
            Timestamp::from_millis(1_776_790_800_000).to_string(),
            "2026-04-21T17:00:00.000Z"
        );
        assert_eq!(
            Timestamp::from_millis(1).to_string(),
            "1970-01-01T00:00:00.001Z"
        );
        let read: Timestamp = serde_json::from_str("\"2026-04-21T19:00:00+02:00\"").unwrap();
        assert_eq!(read, Timestamp::from_millis(1_776_790_800_000));
    }

    #[test]
    fn arithmetic_stays_within_time() {
        let end = Timestamp::from_millis(i64::MAX);
        assert_eq!(end.plus(Duration::from_secs(1)), end);
        assert_eq!(end.to_string(), "9223372036854775807ms");
        assert_eq!(
            Timestamp::from_millis(5).since(Timestamp::from_millis(9)),
            Duration::ZERO
        );
    }
}
