//! What comes out of judging.

use std::time::Duration;

use proctor_devbox::LayerId;

use crate::order::Mode;

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
    /// What the scorer printed, bounded, and why there is no result if there is none.
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
    /// Why the disk is not kept though that was asked for. The results are as good without.
    pub not_frozen: Option<String>,
}

/// What a kind of scorer found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// The score, or why there is none.
    pub(crate) score: Result<f64, String>,
    /// What was printed.
    pub(crate) output: String,
}

impl Finding {
    /// No score, and why.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Self {
            score: Err(why.into()),
            output: String::new(),
        }
    }

    /// The result under a name.
    pub(crate) fn named(self, name: &str, weight: f64, took: Duration) -> Scored {
        let (score, state, output) = match self.score {
            Ok(score) => (score, ScoredState::Complete, self.output),
            Err(why) => (0.0, ScoredState::Error, with_reason(self.output, &why)),
        };
        Scored {
            name: name.to_owned(),
            weight,
            score,
            state,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_score_the_output_says_why_and_the_score_is_zero() {
        let finding = Finding {
            score: Err("no score".to_owned()),
            output: "hello".to_owned(),
        };
        let scored = finding.named("a", 0.5, Duration::ZERO);
        assert_eq!(scored.state, ScoredState::Error);
        assert_eq!(scored.score, 0.0);
        assert_eq!(scored.output, "hello\nerror: no score\n");
    }
}
