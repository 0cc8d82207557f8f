//! Dates and times near others: `{of: "{{task_run.started_at}}", plus: P7D, within: P1D}`.

use proctor_core::time::Timestamp;

use crate::compare::moment;

/// The longest duration, in milliseconds: some hundred years.
const LONGEST: i64 = 200 * 366 * 86_400_000;

/// A stretch of time in which a date or time must lie, at least in part.
#[derive(Clone, Debug)]
pub(super) struct DateWindow {
    start: i64,
    end: i64,
}

impl DateWindow {
    /// The time that `text` says, moved by `shift` and widened by `tolerance` on both sides, in milliseconds.
    pub(super) fn around(text: &str, shift: i64, tolerance: i64) -> Option<Self> {
        let span = moment(text)?.span;
        Some(Self {
            start: span.start.saturating_add(shift).saturating_sub(tolerance),
            end: span.end.saturating_add(shift).saturating_add(tolerance),
        })
    }

    /// Whether the time that `text` says lies in it.
    pub(super) fn holds(&self, text: &str) -> bool {
        moment(text).is_some_and(|one| one.span.start < self.end && one.span.end > self.start)
    }

    pub(super) fn in_words(&self) -> String {
        let last = self.end.saturating_sub(1).max(self.start);
        let (from, to) = (
            Timestamp::from_millis(self.start),
            Timestamp::from_millis(last),
        );
        format!("from {from} to {to}")
    }
}

/// The milliseconds of a duration such as `P7D`, `PT2H30M` or `-P1W`. Years and months have no length of their own.
pub(super) fn duration(text: &str) -> Result<i64, String> {
    let wrong = || {
        format!(
            "'{text}' is no duration: write weeks, days, hours, minutes and seconds, such as P7D or PT2H30M"
        )
    };
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let rest = rest.strip_prefix('P').ok_or_else(wrong)?;
    let (days, times) = rest.split_once('T').unwrap_or((rest, ""));
    let mut total: i64 = 0;
    let mut parts = 0;
    for (part, units) in [
        (days, &[('W', 604_800), ('D', 86_400)][..]),
        (times, &[('H', 3_600), ('M', 60), ('S', 1)][..]),
    ] {
        let mut number = String::new();
        for letter in part.chars() {
            if letter.is_ascii_digit() {
                number.push(letter);
                continue;
            }
            let seconds = units
                .iter()
                .find(|(name, _)| *name == letter)
                .map(|(_, seconds)| *seconds);
            let seconds: i64 = seconds.ok_or_else(wrong)?;
            let count: i64 = number.parse().map_err(|_| wrong())?;
            total = total.saturating_add(count.saturating_mul(seconds).saturating_mul(1_000));
            number.clear();
            parts += 1;
        }
        if !number.is_empty() {
            return Err(wrong());
        }
    }
    if parts == 0 || total > LONGEST {
        return Err(wrong());
    }
    Ok(sign * total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_fixed_length() {
        assert_eq!(duration("P7D"), Ok(7 * 86_400_000));
        assert_eq!(duration("-P1W"), Ok(-7 * 86_400_000));
        assert_eq!(duration("PT2H30M"), Ok(9_000_000));
        assert_eq!(duration("P1DT1S"), Ok(86_401_000));
        for bad in [
            "",
            "P",
            "PT",
            "7D",
            "P7",
            "P1M",
            "P1Y",
            "PD",
            "P1H",
            "P99999999999999999999D",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_day_is_near_if_some_of_it_is() {
        let window =
            DateWindow::around("2026-04-21T17:00:00.000Z", 7 * 86_400_000, 86_400_000).unwrap();
        for near in [
            "2026-04-27",
            "2026-04-28",
            "2026-04-29",
            "20260428",
            "2026-04-28T01:00:00Z",
        ] {
            assert!(window.holds(near), "{near}");
        }
        for far in ["2026-04-26", "2026-04-30", "soon"] {
            assert!(!window.holds(far), "{far}");
        }
        assert!(DateWindow::around("soon", 0, 0).is_none());
    }
}
