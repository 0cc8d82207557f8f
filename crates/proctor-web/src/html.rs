//! Text, numbers and times as HTML.
//!
//! What agents and authors wrote is hostile: it is escaped, and characters that hide, reorder or move text are shown as marked code
//! points. Nothing in it becomes a link, an image or markup.

use std::{
    fmt::{self, Write as _},
    time::Duration,
};

use askama::filters::HtmlSafe;
use proctor_core::{scoring::Verdict, time::Timestamp};
use serde_json::Value;

/// A value, or a reference to it: templates pass either.
pub trait Given<T> {
    /// The value.
    fn given(self) -> T;
}

impl<T> Given<T> for T {
    fn given(self) -> T {
        self
    }
}

impl<T: Copy> Given<T> for &T {
    fn given(self) -> T {
        *self
    }
}

impl<T: Copy> Given<T> for &&T {
    fn given(self) -> T {
        **self
    }
}

/// HTML that is safe to show as it is: only this crate makes it, from escaped text and fixed markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// Fixed markup, or markup whose text was escaped.
    pub(crate) const fn trusted(markup: String) -> Self {
        Self(markup)
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The markup.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Html {}

/// Whether a character is shown as its code point: it would hide itself, move a cursor, or turn the direction of what follows.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{00ad}'
                | '\u{061c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Adds a character to HTML, escaped or as its code point.
pub(crate) fn push(out: &mut String, letter: char) {
    match letter {
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '&' => out.push_str("&amp;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        '\n' | '\t' => out.push(letter),
        '\r' => {}
        letter if is_hidden(letter) => {
            let _ = write!(out, "<span class=cp>U+{:04X}</span>", u32::from(letter));
        }
        letter => out.push(letter),
    }
}

/// Text of strangers, all of it.
pub fn text(text: impl AsRef<str>) -> Html {
    let text = text.as_ref();
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    text.chars().for_each(|letter| push(&mut out, letter));
    Html(out)
}

/// The beginning of a text of strangers, on one line.
pub fn short(text: impl AsRef<str>, most: usize) -> Html {
    let text = text.as_ref();
    let mut out = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == most {
            out.push('…');
            break;
        }
        push(&mut out, if letter == '\n' { ' ' } else { letter });
    }
    Html(out)
}

/// The beginning of a text of strangers, with its lines.
pub fn short_lines(text: impl AsRef<str>, most: usize) -> Html {
    let text = text.as_ref();
    let end = text.char_indices().nth(most);
    let Some((end, _)) = end else {
        return self::text(text);
    };
    let mut out = self::text(&text[..end]).0;
    let _ = write!(out, "… ({} characters more)", text[end..].chars().count());
    Html(out)
}

/// Text of strangers inside an attribute: code points in brackets, because an attribute has no markup.
pub fn attribute(text: impl AsRef<str>) -> String {
    let mut out = String::new();
    for letter in text.as_ref().chars() {
        match letter {
            '\n' | '\t' | '\r' => out.push(' '),
            letter if is_hidden(letter) => {
                let _ = write!(out, "[U+{:04X}]", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out
}

/// What became of something, as it is marked everywhere: never by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// Nothing was right, or something critical was missed.
    Fail,
    /// Something was right.
    Partial,
    /// The platform broke it: it says nothing about the agent.
    Void,
    /// Under way.
    Running,
    /// Not begun.
    Waiting,
    /// Somebody stopped it.
    Cancelled,
    /// Right.
    Pass,
}

impl Mark {
    /// All of them, in the order of legends.
    pub const ALL: [Self; 7] = [
        Self::Pass,
        Self::Partial,
        Self::Fail,
        Self::Void,
        Self::Cancelled,
        Self::Running,
        Self::Waiting,
    ];

    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Partial => "partial",
            Self::Fail => "fail",
            Self::Void => "void",
            Self::Cancelled => "cancelled",
            Self::Running => "running",
            Self::Waiting => "waiting",
        }
    }

    /// The sign.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Pass => "✔",
            Self::Partial => "◐",
            Self::Fail => "✘",
            Self::Void => "∅",
            Self::Cancelled => "◌",
            Self::Running => "●",
            Self::Waiting => "○",
        }
    }

    /// The mark with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mark| mark.word() == word)
    }

    /// The mark of a score by itself, such as that of a criterion.
    pub fn of_score(score: impl Given<f64>) -> Self {
        let score = score.given();
        if score >= 1.0 {
            Self::Pass
        } else if score > 0.0 {
            Self::Partial
        } else {
            Self::Fail
        }
    }
}

impl From<Verdict> for Mark {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Partial => Self::Partial,
            Verdict::Fail => Self::Fail,
        }
    }
}

/// A mark with its word, as a tag.
pub fn tag(mark: impl Given<Mark>) -> Html {
    let mark = mark.given();
    let (sign, word) = (mark.sign(), mark.word());
    Html(format!(
        "<span class=\"tag {word}\"><span aria-hidden=true>{sign}</span> {word}</span>"
    ))
}

/// A mark alone, its word for those who do not see it.
pub fn sign(mark: impl Given<Mark>) -> Html {
    let mark = mark.given();
    let (sign, word) = (mark.sign(), mark.word());
    Html(format!(
        "<span class=\"sign {word}\" title={word} role=img aria-label={word}>{sign}</span>"
    ))
}

/// A score with three digits; a dash where there is none.
pub fn score(score: impl MaybeScore) -> String {
    score
        .score()
        .map_or_else(|| "–".to_owned(), |score| format!("{:.3}", floor_to(score)))
}

/// A score that may be missing.
pub trait MaybeScore {
    /// The score, if there is one.
    fn score(self) -> Option<f64>;
}

macro_rules! maybe_score {
    ($($type:ty => |$value:ident| $score:expr;)*) => {
        $(impl MaybeScore for $type {
            fn score(self) -> Option<f64> {
                let $value = self;
                $score
            }
        })*
    };
}

maybe_score! {
    f64 => |value| Some(value);
    &f64 => |value| Some(*value);
    &&f64 => |value| Some(**value);
    Option<f64> => |value| value;
    &Option<f64> => |value| *value;
    &&Option<f64> => |value| **value;
}

/// Three digits that never round up over a boundary: 0.8999 is not shown as the 0.900 that passes, 0.9996 not as 1.
fn floor_to(score: f64) -> f64 {
    let rounded = (score * 1000.0).round() / 1000.0;
    let crosses = |line: f64| score < line - 1e-9 && rounded >= line;
    if crosses(0.9) || crosses(1.0) {
        rounded - 0.001
    } else {
        rounded
    }
}

/// A difference of scores with its sign.
pub fn difference(value: impl Given<f64>) -> String {
    let value = value.given();
    let sign = if value > 0.0005 {
        "+"
    } else if value < -0.0005 {
        "−"
    } else {
        "±"
    };
    // Halves away from zero, as the sentences of the statistics round.
    format!("{sign}{:.3}", (value.abs() * 1000.0).round() / 1000.0)
}

/// A share as a whole percentage; one that is more than none is never shown as 0.
pub fn percent(share: impl Given<f64>) -> String {
    let share = share.given();
    match share * 100.0 {
        value if value > 0.0 && value < 1.0 => "< 1 %".to_owned(),
        value => format!("{value:.0} %"),
    }
}

/// A whole number with its thousands apart.
pub fn count(number: impl Given<u64>) -> String {
    let digits = number.given().to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `noun` or its plural, with the number.
pub fn counted(number: impl Given<usize>, noun: &str) -> String {
    let number = number.given();
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number as u64))
}

/// Bytes as people say them.
pub fn bytes(number: impl Given<u64>) -> String {
    let number = number.given();
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut value = number as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    match value < 10.0 {
        true => format!("{value:.1} {unit}"),
        false => format!("{value:.0} {unit}"),
    }
}

/// A span of time as people say it: `1 m 42 s`.
pub fn duration(span: impl Given<Duration>) -> String {
    let span = span.given();
    let millis = span.as_millis();
    let seconds = span.as_secs();
    match seconds {
        0 if millis < 1 => "0 ms".to_owned(),
        0 => format!("{millis} ms"),
        1..10 => format!("{:.1} s", span.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        3600..86400 => format!("{} h {:02} m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86400, seconds / 3600 % 24),
    }
}

/// A point in time: UTC from here, local time by script.
pub fn time(at: impl Given<Timestamp>) -> Html {
    let text = at.given().to_string();
    let shown = text.get(..16).unwrap_or(&text).replace('T', " ");
    Html(format!("<time datetime=\"{text}\">{shown} UTC</time>"))
}

/// How long after `start` something happened: `01:02.3`.
pub fn offset(at: Timestamp, start: Timestamp) -> String {
    let millis = at.as_millis().saturating_sub(start.as_millis());
    let sign = if millis < 0 { "−" } else { "" };
    let millis = millis.unsigned_abs();
    let (hours, minutes, seconds) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
    let tenth = millis / 100 % 10;
    match hours {
        0 => format!("{sign}{minutes:02}:{seconds:02}.{tenth}"),
        hours => format!("{sign}{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A bar as wide as a share of its place. Widths are attributes of SVG, because pages have no `style=`.
pub fn bar(share: impl Given<f64>, class: &str) -> Html {
    let width = (share.given().clamp(0.0, 1.0) * 100.0 * 10.0).round() / 10.0;
    Html(format!(
        "<svg class=meter viewBox=\"0 0 100 8\" preserveAspectRatio=none aria-hidden=true><rect class=track width=100 height=8 />\
         <rect class=\"{class}\" width={width} height=8 /></svg>"
    ))
}

/// JSON with two spaces a level, as text.
pub fn json(value: &Value) -> Html {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    text(pretty)
}

/// A part of a path or a query, percent-encoded.
pub fn encode(text: impl AsRef<str>) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~');
    utf8_percent_encode(text.as_ref(), KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostile_text_is_shown_as_text() {
        assert_eq!(
            text("<script>\u{202e}&\"'\u{0}\u{1b}").as_str(),
            "&lt;script&gt;<span class=cp>U+202E</span>&amp;&quot;&#39;<span class=cp>U+0000</span><span class=cp>U+001B</span>"
        );
        assert_eq!(text("a\r\nb\tc").as_str(), "a\nb\tc");
        assert_eq!(short("abcdef\ng", 4).as_str(), "abcd…");
        assert_eq!(attribute("a\u{200b}b\nc"), "a[U+200B]b c");
    }

    #[test]
    fn scores_never_round_up_over_a_boundary() {
        assert_eq!(score(0.89999), "0.899");
        assert_eq!(score(0.9), "0.900");
        assert_eq!(score(0.99999), "0.999");
        assert_eq!(score(1.0), "1.000");
        assert_eq!(score(0.5), "0.500");
        assert_eq!(score(None::<f64>), "–");
    }

    #[test]
    fn numbers_are_as_people_say_them() {
        assert_eq!(count(0_u64), "0");
        assert_eq!(count(1234567_u64), "1,234,567");
        assert_eq!(counted(1, "task"), "1 task");
        assert_eq!(counted(0, "task"), "0 tasks");
        assert_eq!(bytes(999_u64), "999 B");
        assert_eq!(bytes(1234_u64), "1.2 kB");
        assert_eq!(bytes(99_999_999_u64), "100 MB");
        assert_eq!(duration(Duration::from_millis(1_200)), "1.2 s");
        assert_eq!(duration(Duration::from_secs(102)), "1 m 42 s");
        assert_eq!(duration(Duration::from_secs(7260)), "2 h 01 m");
        let start = Timestamp::from_millis(0);
        assert_eq!(offset(Timestamp::from_millis(190_250), start), "03:10.2");
        assert_eq!(offset(Timestamp::from_millis(3_661_000), start), "1:01:01");
        assert_eq!(difference(-0.0312), "−0.031");
        assert_eq!(difference(0.0), "±0.000");
    }

    proptest! {
        #[test]
        fn no_text_makes_markup(hostile in any::<String>()) {
            let shown = text(&hostile).to_string();
            let rest = shown.replace("<span class=cp>", "").replace("</span>", "");
            prop_assert!(!rest.contains('<') && !rest.contains('>') && !rest.contains('"') && !rest.contains('\''));
            prop_assert!(attribute(&hostile).chars().all(|letter| !is_hidden(letter)));
        }
    }
}
