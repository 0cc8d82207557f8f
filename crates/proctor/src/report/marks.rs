//! The marks of verdicts, the same everywhere, and how they look where only ASCII can be shown.

use super::answers::Attempt;

pub(crate) const PASS: &str = "✔";
pub(crate) const PARTIAL: &str = "◐";
pub(crate) const FAIL: &str = "✘";
pub(crate) const VOID: &str = "∅";
pub(crate) const CANCELLED: &str = "◌";
pub(crate) const RUNNING: &str = "●";

/// Every sign of ours that is not ASCII, and what stands for it.
const SIGNS: [(&str, &str); 14] = [
    (PASS, "+"),
    (PARTIAL, "~"),
    (FAIL, "x"),
    (VOID, "0"),
    (CANCELLED, "-"),
    (RUNNING, "*"),
    ("█", "#"),
    ("░", "."),
    ("−", "-"),
    ("×", "x"),
    ("·", "|"),
    ("→", "->"),
    ("←", "<-"),
    ("…", "..."),
];

/// The mark and the word of an attempt.
pub(crate) fn of_attempt(attempt: &Attempt) -> (&'static str, &str) {
    match (attempt.verdict.as_deref(), attempt.cause.as_deref()) {
        (Some("pass"), _) => (PASS, "pass"),
        (Some("partial"), _) => (PARTIAL, "partial"),
        (Some(other), _) => (FAIL, other),
        (None, Some("cancelled")) => (CANCELLED, "cancelled"),
        (None, Some(_)) => (VOID, "void"),
        (None, None) => (RUNNING, "not over"),
    }
}

/// The mark of a score.
pub(crate) fn of_score(score: f64) -> &'static str {
    match score {
        score if score >= 1.0 => PASS,
        score if score > 0.0 => PARTIAL,
        _ => FAIL,
    }
}

/// The mark of a task that was taken several times: how many attempts passed of how many, and their mean.
pub(crate) fn of_task((passed, of): (usize, usize), mean: f64) -> &'static str {
    match (passed == of && of > 0, mean > 0.0) {
        (true, _) => PASS,
        (false, true) => PARTIAL,
        (false, false) => FAIL,
    }
}

/// The text with signs that every terminal has, if that is wanted.
pub(crate) fn shown(text: String, ascii: bool) -> String {
    if !ascii {
        return text;
    }
    SIGNS
        .iter()
        .fold(text, |text, (sign, plain)| text.replace(sign, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_of_ours_has_a_plain_form() {
        let signs: String = SIGNS.iter().map(|(sign, _)| *sign).collect();
        assert!(shown(signs.clone(), true).is_ascii());
        assert_eq!(shown(signs.clone(), false), signs);
        assert_eq!(
            shown("✔ 1.00 → ◐ 0.60".to_owned(), true),
            "+ 1.00 -> ~ 0.60"
        );
    }

    #[test]
    fn a_task_passes_only_if_every_attempt_does() {
        assert_eq!(of_task((3, 3), 1.0), PASS);
        assert_eq!(of_task((1, 3), 0.4), PARTIAL);
        assert_eq!(of_task((0, 3), 0.0), FAIL);
        assert_eq!(of_task((0, 0), 0.0), FAIL);
    }
}
