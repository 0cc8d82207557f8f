//! Points in time as HL7 writes them: `YYYY[MM[DD[HH[MM[SS[.SSSS]]]]]][±ZZZZ]`.

use jiff::civil::Date;
use proctor_core::time::Timestamp;

/// The instant with seconds, in UTC; empty outside of the years that have four digits.
pub fn hl7_time(instant: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(instant.as_millis())
        .map(|instant| instant.strftime("%Y%m%d%H%M%S+0000").to_string())
        .ok()
        .filter(|text| is_time(text))
        .unwrap_or_default()
}

/// Whether this is a point in time of any precision.
pub(crate) fn is_time(text: &str) -> bool {
    let (moment, zone) = match text.find(['+', '-']) {
        Some(position) => (&text[..position], Some(&text[position + 1..])),
        None => (text, None),
    };
    let (digits, fraction) = match moment.split_once('.') {
        Some((digits, fraction)) => (digits, Some(fraction)),
        None => (moment, None),
    };
    is_civil(digits)
        && zone.is_none_or(|zone| zone.len() == 4 && is_clock(zone))
        && fraction.is_none_or(|fraction| {
            digits.len() == 14 && (1..=4).contains(&fraction.len()) && all_digits(fraction)
        })
}

/// Whether this is a number: a sign, digits, a decimal point.
pub(crate) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}

fn is_civil(digits: &str) -> bool {
    if !all_digits(digits) || !matches!(digits.len(), 4 | 6 | 8 | 10 | 12 | 14) {
        return false;
    }
    let two = |from: usize| digits.get(from..from + 2).map_or(Ok(1), str::parse::<i8>);
    let Ok(year) = digits[..4].parse::<i16>() else {
        return false;
    };
    let (Ok(month), Ok(day)) = (two(4), two(6)) else {
        return false;
    };
    Date::new(year, month, day).is_ok() && digits.get(8..).is_none_or(is_clock)
}

/// Hours, minutes and seconds, of which the last may be missing.
fn is_clock(digits: &str) -> bool {
    let in_range = |from: usize, below: u8| {
        digits
            .get(from..from + 2)
            .is_none_or(|two| two.parse::<u8>().is_ok_and(|number| number < below))
    };
    all_digits(digits) && in_range(0, 24) && in_range(2, 60) && in_range(4, 60)
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_instant_is_written_in_utc() {
        let instant = Timestamp::from_millis(1_776_790_800_123);
        assert_eq!(hl7_time(instant), "20260421170000+0000");
        assert_eq!(hl7_time(Timestamp::from_millis(i64::MAX)), "");
        assert_eq!(hl7_time(Timestamp::from_millis(-200_000_000_000_000)), "");
    }

    #[test]
    fn times_of_any_precision_are_known() {
        for text in [
            "2026",
            "202602",
            "20240229",
            "2026022823",
            "202602282359",
            "20260228235959",
            "20260228235959.1234+0530",
            "2026-0500",
        ] {
            assert!(is_time(text), "{text}");
        }
        for text in [
            "",
            "202",
            "20261",
            "20260229",
            "20261301",
            "2026022824",
            "202602282360",
            "20260228.1",
            "20260228235959.",
            "20260228235959.12345",
            "2026+05",
            "2026+2400",
            "2026-02-28",
            "２０２６",
        ] {
            assert!(!is_time(text), "{text}");
        }
    }

    #[test]
    fn numbers_have_digits() {
        for text in ["1", "-1.5", "+0", ".5", "5."] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-", ".", "1,5", "1e3", "< 5", "1.2.3"] {
            assert!(!is_number(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in "\\PC{0,20}") {
            is_time(&text);
            is_number(&text);
        }

        #[test]
        fn an_instant_is_a_time(millis in 0..253_402_300_000_000_i64) {
            prop_assert!(is_time(&hl7_time(Timestamp::from_millis(millis))));
        }
    }
}
