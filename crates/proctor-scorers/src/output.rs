//! How the output of a scorer becomes a score. Pure.

use std::fmt;

/// Why there is no score in an output.
#[derive(Clone, Debug, PartialEq)]
pub enum NoScore {
    /// Nothing that looks like one.
    Missing,
    /// A number that is no score.
    OutOfRange(f64),
}

impl fmt::Display for NoScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(
                "the output holds no score: neither 'score=NUMBER' nor a number as its last line",
            ),
            Self::OutOfRange(number) => {
                write!(f, "the score {number} is not between 0 and 1")
            }
        }
    }
}

/// The score that a script printed: the last `score=NUMBER`, or else a number alone on the last line.
pub fn of_script(output: &str) -> Result<f64, NoScore> {
    match last_assignment(output) {
        Some(number) => within_bounds(number),
        None => of_last_line(output),
    }
}

/// The score that stands on the last line that says anything, alone or as `score=NUMBER`.
pub fn of_last_line(output: &str) -> Result<f64, NoScore> {
    let line = output
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or_default();
    let number = match line.strip_prefix(ASSIGNMENT) {
        Some(rest) => leading_number(rest),
        None => line.parse().ok(),
    };
    number.ok_or(NoScore::Missing).and_then(within_bounds)
}

const ASSIGNMENT: &str = "score=";

/// The number of the last `score=NUMBER`. A word that merely ends like it (`total_score=`) is another word.
fn last_assignment(output: &str) -> Option<f64> {
    output.rmatch_indices(ASSIGNMENT).find_map(|(at, _)| {
        if ends_within_a_word(&output[..at]) {
            return None;
        }
        leading_number(&output[at + ASSIGNMENT.len()..])
    })
}

/// Whether a word that follows this directly would be a part of its last one.
fn ends_within_a_word(text: &str) -> bool {
    // What turns colours on ends with a letter, and is no word.
    let coloured = text.strip_suffix('m').is_some_and(|sequence| {
        sequence
            .trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ';')
            .ends_with("\x1b[")
    });
    !coloured && text.chars().next_back().is_some_and(is_of_a_word)
}

fn is_of_a_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The number that a text begins with, whatever touches it: the end of a sentence, `/1`, what turns colours off.
fn leading_number(text: &str) -> Option<f64> {
    let digits = |text: &str| {
        text.find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let sign = |text: &str| usize::from(text.starts_with(['+', '-']));
    let unsigned = &text[sign(text)..];
    let whole = digits(unsigned);
    let fraction = unsigned[whole..].strip_prefix('.').map_or(0, digits);
    if whole + fraction == 0 {
        return word_for_a_number(text, unsigned);
    }
    let mut end = sign(text) + whole;
    if text[end..].starts_with('.') {
        end += 1 + fraction;
    }
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let signed = sign(exponent);
        match digits(&exponent[signed..]) {
            // `1e` is a number and a letter.
            0 => {}
            length => end += 1 + signed + length,
        }
    }
    text[..end].parse().ok()
}

/// `nan` and `inf`, by which programs say that their sum went wrong: no scores, but what they meant to say.
fn word_for_a_number(text: &str, unsigned: &str) -> Option<f64> {
    let word = unsigned
        .find(|letter: char| !is_of_a_word(letter))
        .unwrap_or(unsigned.len());
    text[..text.len() - unsigned.len() + word].parse().ok()
}

fn within_bounds(number: f64) -> Result<f64, NoScore> {
    if (0.0..=1.0).contains(&number) {
        // Minus zero is between them too, and looks odd in a result.
        Ok(number.abs())
    } else {
        Err(NoScore::OutOfRange(number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_assignment_counts_wherever_it_stands() {
        for (output, score) in [
            ("score=1", 1.0),
            ("score=0.25\n", 0.25),
            ("score=0.1\nscore=0.9\nbye\n", 0.9),
            ("a score=.5, done\n0.7\n", 0.5),
            ("score=0.5 score=0.75", 0.75),
            ("score=0.5\nscore=high\n", 0.5),
            ("score=1e-1\n", 0.1),
            ("total_score=0.2\nscore=0.4\n", 0.4),
            ("score=0.3\ntotal_score=0.9\n", 0.3),
            ("{\"x\": \"score=0.6\"}", 0.6),
            ("score=-0", 0.0),
        ] {
            assert_eq!(of_script(output), Ok(score), "{output:?}");
        }
    }

    #[test]
    fn what_touches_the_number_is_not_a_part_of_it() {
        for (output, score) in [
            ("score=0.25\nthe score=0.75.\n", 0.75),
            ("score=0.5/1", 0.5),
            ("score=0.5, of 1", 0.5),
            ("score=1.0\x1b[0m\n", 1.0),
            ("\x1b[1;32mscore=0.5\x1b[0m\n", 0.5),
            ("\x1b[mscore=0.5", 0.5),
            ("<b>score=0.5</b>", 0.5),
            ("**score=1**", 1.0),
            ("score=1.", 1.0),
            ("score=1..", 1.0),
            ("score=.5.", 0.5),
            ("score=0.5.1", 0.5),
            ("score=+0.5!", 0.5),
            ("score=1e", 1.0),
            ("score=1e-", 1.0),
            ("score=1e-x", 1.0),
            ("score=5E-1e", 0.5),
            ("score=1.e-1.", 0.1),
            ("score=0.5é", 0.5),
            ("score=0e400", 0.0),
        ] {
            assert_eq!(of_script(output), Ok(score), "{output:?}");
            let last = output.trim_start_matches("score=0.25\nthe ");
            if last.starts_with(ASSIGNMENT) {
                assert_eq!(of_last_line(last), Ok(score), "{output:?}");
            }
        }
        for output in ["score=.", "score=-", "score=", "score=e5", "score=.e5"] {
            assert_eq!(of_script(output), Err(NoScore::Missing), "{output:?}");
            let output = format!("score=0.5\n{output}\n");
            assert_eq!(of_script(&output), Ok(0.5), "{output:?}");
        }
    }

    #[test]
    fn without_an_assignment_the_last_line_counts() {
        assert_eq!(of_script("passed 3 of 4\n0.75\n\n  \n"), Ok(0.75));
        assert_eq!(of_script("0.75\nbye\n"), Err(NoScore::Missing));
        assert_eq!(of_script(""), Err(NoScore::Missing));
        assert_eq!(of_script("score = 0.5\n"), Err(NoScore::Missing));
        assert_eq!(of_script("total_score=0.5\n"), Err(NoScore::Missing));
    }

    #[test]
    fn what_is_no_score_is_not_one() {
        for output in [
            "score=1.01",
            "score=-0.5",
            "score=inf",
            "2",
            "-1",
            "score=1e999",
            "score=0.5\nscore=-0.1.\n",
            "score=0.5\nscore=5.\n",
            "score=0.5\nscore=5/10\n",
            "score=0.5e400",
            "score=0.5\nscore=-inf.\n",
            "score=Infinity",
        ] {
            assert!(
                matches!(of_script(output), Err(NoScore::OutOfRange(_))),
                "{output:?}"
            );
        }
        let Err(NoScore::OutOfRange(number)) = of_script("score=1\nscore=NaN\n") else {
            panic!("not a number is no score");
        };
        assert!(number.is_nan());
        assert_eq!(of_script("score=1\nscore=nano\n"), Ok(1.0));
        assert_eq!(of_script("score=1\nscore=inf_1\n"), Ok(1.0));
    }

    #[test]
    fn a_last_line_hides_what_came_before() {
        assert_eq!(of_last_line("0.1\n0.2\n"), Ok(0.2));
        assert_eq!(of_last_line("0.1\nscore=0.3"), Ok(0.3));
        assert_eq!(
            of_last_line("score=0.3\nTraceback\n"),
            Err(NoScore::Missing)
        );
    }

    proptest! {
        #[test]
        fn whatever_is_printed_a_score_lies_between_0_and_1(output in "(score=|[0-9.eE+-]{0,4}|\\PC{0,6}|\n){0,12}") {
            for score in [of_script(&output), of_last_line(&output)].into_iter().flatten() {
                prop_assert!((0.0..=1.0).contains(&score));
            }
        }

        #[test]
        fn a_printed_score_comes_back_to_the_bit(score in 0.0..=1.0_f64, noise in "[a-z \n]{0,40}") {
            prop_assert_eq!(of_script(&format!("{noise}\nscore={score}\n{noise}")), Ok(score));
            prop_assert_eq!(of_script(&format!("{noise}\n{score}\n")), Ok(score));
            prop_assert_eq!(of_last_line(&format!("{noise}\n{score}\n")), Ok(score));
        }

        #[test]
        fn a_score_is_found_however_it_is_printed_and_whatever_follows(
            score in prop_oneof![0.0..=1.0_f64, Just(0.0), Just(1.0), Just(f64::MIN_POSITIVE)],
            digits in 0_usize..20,
            tail in "|[^0-9.eE]\\PC{0,9}|[.eE]([^0-9.eE+-]\\PC{0,9})?",
        ) {
            let plain = format!("{score}");
            let printed = [
                format!("+{score}"),
                format!("{score:?}"),
                format!("{score:e}"),
                format!("{score:E}"),
                format!("{score:.digits$}"),
                format!("{score:.digits$e}"),
                format!("0{score}"),
                plain.strip_prefix('0').filter(|rest| rest.len() > 1).unwrap_or(&plain).to_owned(),
                plain,
            ];
            for printed in printed {
                let number: f64 = printed.parse().unwrap();
                let output = format!("score=0.123\nit is score={printed}{tail}");
                prop_assert_eq!(of_script(&output), Ok(number), "{:?}", output);
            }
        }

        #[test]
        fn only_the_last_assignment_matters(scores in proptest::collection::vec(0.0..=1.0_f64, 1..8)) {
            let output: String = scores.iter().map(|score| format!("score={score}\n")).collect();
            prop_assert_eq!(of_script(&output).ok(), scores.last().copied());
        }
    }
}
