//! What cannot be answered.

/// Why there is no number. [`Refusal::as_str`] is the word for programs, `Display` the sentence for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// A score is not a number from 0 to 1.
    #[error("a score is a number from 0 to 1")]
    BadScore,
    /// Two tasks have the same id.
    #[error("a task is there twice")]
    DuplicateTask,
    /// A word that is none of the five causes.
    #[error(
        "an attempt without a score has one of the causes agent_crash, agent_timeout, infrastructure, scorer_error, cancelled"
    )]
    UnknownCause,
    /// No attempt counts.
    #[error("no attempt was scored")]
    NothingScored,
    /// No task was scored on both sides.
    #[error("no task was scored on both sides")]
    NoCommonTasks,
    /// More than a fifth of the tasks have one attempt, so their noise cannot be seen.
    #[error(
        "more than a fifth of the tasks have only one scored attempt: how these very tasks would vary cannot be seen"
    )]
    NeedsTwoAttempts,
    /// A policy without lines.
    #[error("a gate without a line decides nothing")]
    NoRules,
    /// A threshold that cannot be crossed, or that everything crosses.
    #[error(
        "the threshold of a level is between 0 and 1, of a change between -1 and 1, a highest rate between 0 and 1"
    )]
    BadThreshold,
    /// More violations than checks, or less than none.
    #[error("there cannot be more violations than checks, nor fewer than none of either")]
    BadCount,
    /// A look that was not planned.
    #[error("rounds are 2 to 20, and the first look is after round 2")]
    BadRound,
    /// A number of attempts below one.
    #[error("k is at least 1")]
    BadK,
    /// No task has as many scored attempts as are asked about.
    #[error("no task has as many scored attempts")]
    TooFewAttempts,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::BadScore,
        Self::DuplicateTask,
        Self::UnknownCause,
        Self::NothingScored,
        Self::NoCommonTasks,
        Self::NeedsTwoAttempts,
        Self::NoRules,
        Self::BadThreshold,
        Self::BadCount,
        Self::BadRound,
        Self::BadK,
        Self::TooFewAttempts,
    ];

    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadScore => "bad_score",
            Self::DuplicateTask => "duplicate_task",
            Self::UnknownCause => "unknown_cause",
            Self::NothingScored => "nothing_scored",
            Self::NoCommonTasks => "no_common_tasks",
            Self::NeedsTwoAttempts => "needs_two_attempts",
            Self::NoRules => "no_rules",
            Self::BadThreshold => "bad_threshold",
            Self::BadCount => "bad_count",
            Self::BadRound => "bad_round",
            Self::BadK => "bad_k",
            Self::TooFewAttempts => "too_few_attempts",
        }
    }
}
