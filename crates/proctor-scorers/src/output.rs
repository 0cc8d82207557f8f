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
    let number = line.strip_prefix(ASSIGNMENT).unwrap_or(line);
    number
        .parse()
        .map_err(|_| NoScore::Missing)
        .and_then(within_bounds)
}

const ASSIGNMENT: &str = "score=";

/// The number of the last `score=NUMBER`. A word that merely ends like it (`total_score=`) is another word.
fn last_assignment(output: &str) -> Option<f64> {
    output.rmatch_indices(ASSIGNMENT).find_map(|(at, _)| {
        let before = output[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            return None;
        }
        let rest = &output[at + ASSIGNMENT.len()..];
        let end = rest
            .find(|letter: char| letter.is_whitespace() || ",;)]}\"'".contains(letter))
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
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
        fn only_the_last_assignment_matters(scores in proptest::collection::vec(0.0..=1.0_f64, 1..8)) {
            let output: String = scores.iter().map(|score| format!("score={score}\n")).collect();
            prop_assert_eq!(of_script(&output).ok(), scores.last().copied());
        }
    }
}
