//! Dates and times of any precision, as the span of milliseconds that they cover.

/// How precisely a date or time is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// `2024`.
    Year,
    /// `2024-05`.
    Month,
    /// `2024-05-17`.
    Day,
    /// `2024-05-17T08:30`, which only searches may say.
    Minute,
    /// `2024-05-17T08:30:00`.
    Second,
    /// `2024-05-17T08:30:00.5`, with up to nine digits.
    Fraction,
}

/// A stretch of time: from `start` up to, not including, `end`, in milliseconds since 1970 (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first millisecond; [`Span::OPEN_START`] if there is no beginning.
    pub start: i64,
    /// The millisecond after the last one; [`Span::OPEN_END`] if there is no end.
    pub end: i64,
}

impl Span {
    /// The start of a span without a beginning.
    pub const OPEN_START: i64 = i64::MIN;
    /// The end of a span without an end.
    pub const OPEN_END: i64 = i64::MAX;

    /// Whether every moment of `other` is also in this span.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether some moment is in both.
    pub fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The smallest span that covers both.
    pub fn hull(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A date or time as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The milliseconds that it covers; text without a zone is read as UTC.
    pub span: Span,
    /// How precisely it was given.
    pub precision: Precision,
    /// Whether it says its zone.
    pub zoned: bool,
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 24 * 60 * MINUTE;
/// No zone is farther from UTC.
const WIDEST_OFFSET: i64 = 14 * 60 * MINUTE;
/// Nanoseconds: FHIR allows no finer time.
const MOST_FRACTION_DIGITS: usize = 9;

impl Moment {
    /// Reads `YYYY`, `YYYY-MM`, `YYYY-MM-DD` or `YYYY-MM-DDThh:mm[:ss[.f…]][Z|±hh:mm]`; none if the text is no real date.
    pub fn parse(text: &str) -> Option<Self> {
        let mut cursor = Cursor {
            bytes: text.as_bytes(),
        };
        // The calendar of FHIR, XML Schema's, begins with the year 1.
        let year = cursor.digits(4).filter(|year| *year > 0)?;
        if cursor.at_end() {
            return Some(Self::days(
                days_before(year, 1, 1),
                days_before(year + 1, 1, 1),
                Precision::Year,
            ));
        }
        cursor.take(b'-')?;
        let month = cursor.digits(2).filter(|month| (1..=12).contains(month))?;
        if cursor.at_end() {
            let (next_year, next_month) = if month == 12 {
                (year + 1, 1)
            } else {
                (year, month + 1)
            };
            return Some(Self::days(
                days_before(year, month, 1),
                days_before(next_year, next_month, 1),
                Precision::Month,
            ));
        }
        cursor.take(b'-')?;
        let day = cursor
            .digits(2)
            .filter(|day| (1..=days_in(year, month)).contains(day))?;
        let date = days_before(year, month, day);
        if cursor.at_end() {
            return Some(Self::days(date, date + 1, Precision::Day));
        }
        cursor.take(b'T')?;
        let (of_day, length, precision) = cursor.time()?;
        let offset = cursor.zone()?;
        let start = date * DAY + of_day - offset.unwrap_or(0);
        cursor.at_end().then_some(Self {
            span: Span {
                start,
                end: start + length,
            },
            precision,
            zoned: offset.is_some(),
        })
    }

    fn days(first: i64, after: i64, precision: Precision) -> Self {
        Self {
            span: Span {
                start: first * DAY,
                end: after * DAY,
            },
            precision,
            zoned: false,
        }
    }
}

/// Whether the text is a time of day, `hh:mm:ss[.f…]`.
pub fn is_time(text: &str) -> bool {
    let mut cursor = Cursor {
        bytes: text.as_bytes(),
    };
    cursor
        .time()
        .is_some_and(|(_, _, precision)| precision >= Precision::Second)
        && cursor.at_end()
}

/// The days from 1970-01-01 to a date of the Gregorian calendar, by counting from the last 1 March, so that leap days come last.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days_of_months = (153 * month + 2) / 5;
    year * 365 + leap_days + days_of_months + day - 1 - 719_468
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

struct Cursor<'t> {
    bytes: &'t [u8],
}

impl Cursor<'_> {
    fn at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.bytes = self.bytes.strip_prefix(&[byte])?;
        Some(())
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.bytes.split_at_checked(count)?;
        let value = digits.iter().try_fold(0, |value, byte| {
            byte.is_ascii_digit()
                .then(|| value * 10 + i64::from(byte - b'0'))
        })?;
        self.bytes = rest;
        Some(value)
    }

    /// A time of day: its first millisecond, how long it lasts, and how precise it is. A leap second is 60.
    fn time(&mut self) -> Option<(i64, i64, Precision)> {
        let hour = self.digits(2).filter(|hour| *hour < 24)?;
        self.take(b':')?;
        let minute = self.digits(2).filter(|minute| *minute < 60)?;
        let start = (hour * 60 + minute) * MINUTE;
        if self.take(b':').is_none() {
            return Some((start, MINUTE, Precision::Minute));
        }
        let second = self.digits(2).filter(|second| *second <= 60)?;
        let start = start + second * SECOND;
        if self.take(b'.').is_none() {
            return Some((start, SECOND, Precision::Second));
        }
        let fraction = self.fraction()?;
        Some((start + fraction.0, fraction.1, Precision::Fraction))
    }

    /// The digits after the point, at most [`MOST_FRACTION_DIGITS`]: milliseconds, and how many of them are meant. Finer digits are cut off.
    fn fraction(&mut self) -> Option<(i64, i64)> {
        let count = self
            .bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let kept = count.min(3);
        let value = self
            .digits(kept)
            .filter(|_| (1..=MOST_FRACTION_DIGITS).contains(&count))?;
        self.bytes = &self.bytes[count - kept..];
        let unit = [1_000, 100, 10, 1][kept];
        Some((value * unit, unit))
    }

    /// The offset from UTC in milliseconds, if one is given.
    fn zone(&mut self) -> Option<Option<i64>> {
        if self.at_end() {
            return Some(None);
        }
        if self.take(b'Z').is_some() {
            return Some(Some(0));
        }
        let sign = if self.take(b'-').is_some() {
            -1
        } else {
            self.take(b'+').map(|()| 1)?
        };
        let hours = self.digits(2)?;
        self.take(b':')?;
        let minutes = self.digits(2).filter(|minutes| *minutes < 60)?;
        let offset = (hours * 60 + minutes) * MINUTE;
        (offset <= WIDEST_OFFSET).then_some(Some(sign * offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(text: &str) -> (i64, i64) {
        let span = Moment::parse(text).unwrap().span;
        (span.start, span.end)
    }

    #[test]
    fn what_no_calendar_or_zone_has_is_refused() {
        for text in [
            "0000",
            "0000-01-01",
            "2024-05-17T08:30:00+14:01",
            "2024-05-17T08:30:00-14:30",
            "2024-05-17T08:30:00+15:00",
            "2024-05-17T08:30:00.1234567890Z",
            "2024-05-17T08:30:00.Z",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
        for text in [
            "0001",
            "2024-05-17T08:30:00+14:00",
            "2024-05-17T08:30:00-14:00",
            "2024-05-17T08:30:00.123456789Z",
        ] {
            assert!(Moment::parse(text).is_some(), "{text}");
        }
        assert!(is_time("08:30:00.123456789") && !is_time("08:30:00.1234567890"));
    }

    #[test]
    fn each_precision_covers_its_own_stretch() {
        assert_eq!(span("1970"), (0, 365 * DAY));
        assert_eq!(span("1970-02"), (31 * DAY, 59 * DAY));
        assert_eq!(span("1972-02-29"), (789 * DAY, 790 * DAY));
        assert_eq!(span("1970-01-01T00:01"), (MINUTE, 2 * MINUTE));
        assert_eq!(span("1970-01-01T00:00:02Z"), (2_000, 3_000));
        assert_eq!(span("1970-01-01T00:00:00.5Z"), (500, 600));
        assert_eq!(span("1970-01-01T00:00:00.1234567Z"), (123, 124));
        assert_eq!(span("1970-01-01T02:00:00+02:00"), (0, 1_000));
        assert_eq!(span("1969-12-31T22:00:00-02:00"), (0, 1_000));
        assert_eq!(span("9999").1, days_before(10_000, 1, 1) * DAY);
    }

    #[test]
    fn what_is_no_real_date_is_refused() {
        for text in [
            "",
            "20",
            "2024-",
            "2024-1",
            "2024-13",
            "2024-00",
            "2023-02-29",
            "2024-02-30",
            "2024-04-31",
            "2024-01-01T",
            "2024-01-01T10",
            "2024-01-01T24:00:00",
            "2024-01-01T10:60:00",
            "2024-01-01T10:00:61",
            "2024-01-01T10:00:00.",
            "2024-01-01T10:00:00+1",
            "2024-01-01T10:00:00+15:00",
            "2024-01-01 10:00:00",
            "2024-01-01Z",
            "abcd",
            "２０２４",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_agree_with_known_dates() {
        assert_eq!(days_before(1970, 1, 1), 0);
        assert_eq!(days_before(2000, 3, 1), 11_017);
        assert_eq!(days_before(1900, 1, 1), -25_567);
        assert_eq!(days_before(2400, 2, 29) + 1, days_before(2400, 3, 1));
    }

    proptest! {
        #[test]
        fn a_finer_date_lies_within_the_coarser_one(year in 1i64..=9999, month in 1i64..=12, day in 1i64..=28, hour in 0i64..24, minute in 0i64..60) {
            let texts = [
                format!("{year:04}"),
                format!("{year:04}-{month:02}"),
                format!("{year:04}-{month:02}-{day:02}"),
                format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}"),
                format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:30"),
                format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:30.250"),
            ];
            let spans: Vec<Span> = texts.iter().map(|text| Moment::parse(text).unwrap().span).collect();
            for pair in spans.windows(2) {
                prop_assert!(pair[0].contains(pair[1]));
                prop_assert!(pair[1].start < pair[1].end);
            }
        }

        #[test]
        fn years_follow_each_other_without_gap(year in 0i64..9999) {
            let this = Moment::parse(&format!("{year:04}")).unwrap().span;
            let next = Moment::parse(&format!("{:04}", year + 1)).unwrap().span;
            prop_assert_eq!(this.end, next.start);
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "\\PC*") {
            let _ = Moment::parse(&text);
            let _ = is_time(&text);
        }
    }
}
