//! What is to be judged, and how.

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use proctor_devbox::{Base, LayerId, Limits, User};
use tokio_util::sync::CancellationToken;

use crate::contract::ScoringFunction;

/// In which box scorers run, and what of the agent's they meet there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// The agent's own box; what it left there keeps running.
    #[default]
    Live,
    /// The agent's own box, after everything that runs there was ended.
    Quiet,
    /// A fresh box on a snapshot of the agent's disk.
    Clone,
    /// A fresh box on the clean base with nothing of the agent's but the paths that are named, where the agent's code runs
    /// as another user than the scorer.
    Artifacts,
}

impl Mode {
    /// All of them, the weakest first.
    pub const ALL: [Self; 4] = [Self::Live, Self::Quiet, Self::Clone, Self::Artifacts];

    /// The word in definitions and results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Quiet => "quiet",
            Self::Clone => "clone",
            Self::Artifacts => "artifacts",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no way of scoring; live, quiet, clone and artifacts are")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// Everything that judging needs to know besides the box.
#[derive(Clone, Debug)]
pub struct JudgeOrder {
    /// A name that no other judging has had: boxes, layers and executions are named after it. At most 40 characters, as in
    /// the names of boxes.
    pub id: String,
    /// The scoring functions, in order.
    pub scorers: Vec<ScoringFunction>,
    /// The scripts of the custom scorers in use, by their type.
    pub custom: BTreeMap<String, String>,
    /// In which box they run.
    pub mode: Mode,
    /// What of the agent's is taken over in [`Mode::Artifacts`]: files and directories, relative ones from the working directory.
    pub artifacts: Vec<String>,
    /// What the clean box of [`Mode::Artifacts`] stands on, if that is not what the agent's box stood on.
    pub clean_base: Option<Base>,
    /// Shell commands that bring the clean base into the state that the agent found, run as root in [`Mode::Artifacts`].
    pub prepare: Vec<String>,
    /// Where the user is at home, and where those commands start; as usual for such a user without it.
    pub home: Option<String>,
    /// A directory of the server's own for what clean boxes are shown and must not change. It holds nothing when nothing is
    /// judged, and what a dead server left there may be removed. Without it such files are root's in the box.
    pub shown: Option<PathBuf>,
    /// The run's environment variables.
    pub environment: BTreeMap<String, String>,
    /// Where scorers start; the user's home without it.
    pub working_directory: Option<String>,
    /// The user that the agent worked as.
    pub user: User,
    /// The limits of fresh boxes; those of the agent's box without them.
    pub limits: Option<Limits>,
    /// How long all scorers together may take.
    pub time_limit: Duration,
    /// How long each of them may take, if that is less.
    pub scorer_time_limit: Option<Duration>,
    /// Keep the disk as it is before the first scorer runs under this name, so that it can be judged again. One that is there already
    /// was frozen by a judging that was interrupted, and is taken as it is.
    pub freeze: Option<LayerId>,
    /// How the names of earlier judgings of the same box begin, which nobody waits for any more because their server died. What
    /// they left running in the box is ended before anything else is done, after it has taken away what it put there.
    pub forerunners: Option<String>,
    /// What must not show in what scorers print.
    pub redaction: Redaction,
    /// Ends the judging early; nothing is left behind then either.
    pub cancel: CancellationToken,
}

/// Takes out of texts what nobody may read, such as the values of secrets; nothing by default.
#[derive(Clone, Default)]
pub struct Redaction(Option<Arc<Redact>>);

type Redact = dyn Fn(&str) -> String + Send + Sync;

impl Redaction {
    /// What `redact` leaves of a text may be read.
    pub fn by(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(redact)))
    }

    pub(crate) fn apply(&self, text: String) -> String {
        match &self.0 {
            Some(redact) => redact(&text),
            None => text,
        }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Redaction").field(&self.0.is_some()).finish()
    }
}

impl JudgeOrder {
    /// How long scoring may take unless a definition says otherwise.
    pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(1800);

    /// An order for `scorers`, in the agent's own box, as root, with the usual time limit.
    pub fn new(id: impl Into<String>, scorers: Vec<ScoringFunction>) -> Self {
        Self {
            id: id.into(),
            scorers,
            custom: BTreeMap::new(),
            mode: Mode::default(),
            artifacts: Vec::new(),
            clean_base: None,
            prepare: Vec::new(),
            home: None,
            shown: None,
            environment: BTreeMap::new(),
            working_directory: None,
            user: User::Root,
            limits: None,
            time_limit: Self::DEFAULT_TIME_LIMIT,
            scorer_time_limit: None,
            freeze: None,
            forerunners: None,
            redaction: Redaction::default(),
            cancel: CancellationToken::new(),
        }
    }
}

impl JudgeOrder {
    /// Where the agent's user is at home.
    pub(crate) fn home(&self) -> String {
        match (&self.home, &self.user) {
            (Some(home), _) => home.clone(),
            (None, User::Root) => "/root".to_owned(),
            (None, User::Named(name)) => format!("/home/{name}"),
            (None, User::Ids { .. }) => "/".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_its_word_and_back() {
        for mode in Mode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert!("Live".parse::<Mode>().is_err());
    }
}
