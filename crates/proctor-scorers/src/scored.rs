//! What comes out of judging.

use std::time::Duration;

use proctor_core::scorer::NotRun;
use proctor_devbox::LayerId;

use crate::{
    contract::ScoringFunction,
    order::{Mode, Redaction},
};

/// How much of a scorer's output is kept with its result: the beginning and the end.
const KEPT_BEGINNING: usize = 16 << 10;
const KEPT_END: usize = 48 << 10;

/// Whether a scorer came to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScoredState {
    /// It did, and the score is its own.
    Complete,
    /// It did not; the score is 0 and the output says why.
    Error,
}

impl ScoredState {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Error => "error",
        }
    }
}

/// What one scorer said.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The scoring function's name.
    pub name: String,
    /// How much it counts.
    pub weight: f64,
    /// Between 0 and 1; 0 if there is no result.
    pub score: f64,
    /// Whether there is a result.
    pub state: ScoredState,
    /// Why the scorer did not even run, if it did not.
    pub not_run: Option<NotRun>,
    /// What the scorer printed, redacted and bounded, and why there is no result if there is none.
    pub output: String,
    /// How long it took.
    pub took: Duration,
}

/// What a whole scoring came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The mode that the scorers ran in.
    pub mode: Mode,
    /// One for each scoring function, in their order.
    pub results: Vec<Scored>,
    /// Whether the time for all scorers together was over before the last of them had ended.
    pub timed_out: bool,
    /// The disk as it was when scoring began, if it is kept: asked for, or still needed by the agent's box. Whoever asked
    /// for the judgement owns it, can have it judged again, and deletes it.
    pub layer: Option<LayerId>,
    /// How many bytes of the disk that takes, if it is known.
    pub layer_bytes: Option<u64>,
    /// Why the disk is not kept though that was asked for. The results are as good without.
    pub not_frozen: Option<String>,
}

/// Why a scorer came to no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoResult {
    /// In words.
    pub why: String,
    /// Whether it was because the scorer could not run.
    pub not_run: Option<NotRun>,
}

impl NoResult {
    /// The scorer ran.
    pub fn of_run(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            not_run: None,
        }
    }

    /// The scorer could not be prepared or started where it was to run.
    pub fn not_started(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            not_run: Some(NotRun::Here),
        }
    }

    /// The scorer can be run nowhere.
    pub fn impossible(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            not_run: Some(NotRun::Anywhere),
        }
    }
}

/// What a kind of scorer found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The score, or why there is none.
    pub score: Result<f64, NoResult>,
    /// What was printed.
    pub output: String,
}

impl From<NoResult> for Finding {
    fn from(none: NoResult) -> Self {
        Self {
            score: Err(none),
            output: String::new(),
        }
    }
}

impl Finding {
    /// No score of a scorer that ran, and why.
    pub fn none(why: impl Into<String>) -> Self {
        NoResult::of_run(why).into()
    }

    /// The result of a scoring function.
    pub(crate) fn of(
        self,
        function: &ScoringFunction,
        redaction: &Redaction,
        took: Duration,
    ) -> Scored {
        // What is left out must not leave half of what is redacted.
        let output = bounded(redaction.apply(self.output));
        let (score, state, not_run, output) = match self.score {
            Ok(score) => (score, ScoredState::Complete, None, output),
            Err(NoResult { why, not_run }) => {
                let why = redaction.apply(why);
                (0.0, ScoredState::Error, not_run, with_reason(output, &why))
            }
        };
        Scored {
            name: function.name.clone(),
            weight: function.weight,
            score,
            state,
            not_run,
            output,
            took,
        }
    }
}

fn with_reason(mut output: String, why: &str) -> String {
    if !output.is_empty() && !output.ends_with('\n') {
        output.push('\n');
    }
    output.push_str("error: ");
    output.push_str(why);
    output.push('\n');
    output
}

/// The text, or its beginning and its end with a note of what is missing.
fn bounded(text: String) -> String {
    if text.len() <= KEPT_BEGINNING + KEPT_END {
        return text;
    }
    let beginning = text.floor_char_boundary(KEPT_BEGINNING);
    let end = text.ceil_char_boundary(text.len() - KEPT_END);
    format!(
        "{}\n… {} bytes are left out here …\n{}",
        &text[..beginning],
        end - beginning,
        &text[end..]
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::ScorerKinds;

    fn scored(finding: Finding, redaction: &Redaction) -> Scored {
        let scorer = json!({"type": "command_scorer", "command": "true"});
        let function = ScoringFunction {
            name: "a".to_owned(),
            weight: 0.5,
            scorer: ScorerKinds::builtin().read(&scorer).unwrap(),
        };
        finding.of(&function, redaction, Duration::ZERO)
    }

    #[test]
    fn without_a_score_the_output_says_why_and_the_score_is_zero() {
        let finding = Finding {
            score: Err(NoResult::of_run("no score")),
            output: "hello".to_owned(),
        };
        let scored = scored(finding, &Redaction::default());
        assert_eq!(scored.state, ScoredState::Error);
        assert_eq!(scored.score, 0.0);
        assert_eq!(scored.output, "hello\nerror: no score\n");
    }

    #[test]
    fn what_is_redacted_shows_nowhere_not_even_in_part() {
        let redaction = Redaction::by(|text| text.replace("s3cr3t", "***"));
        for before in KEPT_BEGINNING - 8..=KEPT_BEGINNING {
            let finding = Finding {
                score: Err(NoResult::of_run("no s3cr3t")),
                output: format!("{}s3cr3t{}", "x".repeat(before), "y".repeat(KEPT_END * 2)),
            };
            let shown = scored(finding, &redaction).output;
            assert!(shown.contains("left out") && shown.ends_with("error: no ***\n"));
            assert!(!shown.contains("s3"), "{before}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_bounded_text_keeps_both_ends(letter in "[a-zé→]", count in 0_usize..120_000) {
            let text = letter.repeat(count);
            let length = text.len();
            let kept = bounded(text);
            prop_assert!(kept.len() <= KEPT_BEGINNING + KEPT_END + 100);
            prop_assert_eq!(kept.contains("left out"), length > KEPT_BEGINNING + KEPT_END);
        }
    }
}
