//! Verifiers of Harbor tasks: a script in `/tests` that leaves rewards in `/logs/verifier`.
//!
//! The script runs as a sealed program of a box ([`View`]): `/tests` is a directory of the server's that nothing in the box can change, `/logs/verifier`
//! one that nothing but the script can write to, and nothing that the agent left running can see or signal it. When it has ended, so
//! has everything that it started, and only then the rewards are read, from the server's own directory and without following links.

use std::{
    collections::BTreeMap,
    io::{self, Read as _},
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use proctor_devbox::{
    Devbox, Error as DevboxError, ExecId, ExecSpec, Exit, ExitCause, Shared, User, View,
};
use proctor_harbor::{
    exceptions::ExceptionType,
    rewards::{self, JSON_FILE, LARGEST_FILE, NoRewards, RewardFile, Rewards, TEXT_FILE},
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use crate::{
    bench::Bench,
    error::JudgeError,
    kinds::Scores,
    scored::{Finding, NoResult},
    scorer::Scorer,
};

/// Where the tests are in the box.
const TESTS: &str = "/tests";
/// Where rewards and logs of the verifier are in the box.
const LOGS: &str = "/logs/verifier";
/// What the verifier prints, among its logs.
pub const STDOUT_FILE: &str = "test-stdout.txt";
/// What runs the tests: as a shell does, so that a script without a first line works too.
const COMMAND: &str = "(/tests/test.sh) > /logs/verifier/test-stdout.txt 2>&1";
/// What such scorers are called.
const KIND: &str = "harbor_verifier";
/// How much of what the verifier printed is shown.
const SHOWN: u64 = 64 << 10;

/// A verifier to be run.
#[derive(Clone, Debug)]
pub struct VerifierOrder {
    /// Its name in the box.
    pub id: ExecId,
    /// The tests, on the host, where nobody changes them while it runs; none if they are in the box already.
    pub tests: Option<PathBuf>,
    /// Where its logs go, on the host: a directory that is made for it and must not be there.
    pub logs: PathBuf,
    /// Whom it runs as.
    pub user: User,
    /// Its environment variables.
    pub environment: BTreeMap<String, String>,
    /// Where it starts; at the user's home without it.
    pub working_directory: Option<String>,
    /// How long it may take.
    pub time_limit: Duration,
    /// What the image of the box starts with; started first in a box that was made for the verifier.
    pub entrypoint: Option<ExecSpec>,
    /// Whether the box was made for the verifier: then nothing in it is to be wondered about.
    pub is_fresh: bool,
}

/// What a verifier said, once it has.
pub type Verified = Arc<OnceLock<Verification>>;

/// A verifier as a scorer: so it runs wherever scorers do, in the agent's box, in a fresh one on its disk, or in a clean one.
pub fn scorer(order: VerifierOrder) -> (Scorer, Verified) {
    let verified = Verified::default();
    let scorer: Arc<dyn Scores> = Arc::new(VerifierScorer {
        order,
        verified: Arc::clone(&verified),
    });
    (scorer.into(), verified)
}

/// What a verifier said before, as a scorer.
pub fn recorded(verification: Verification) -> (Scorer, Verified) {
    let verified = Verified::default();
    let _ = verified.set(verification);
    let scorer: Arc<dyn Scores> = Arc::new(RecordedScorer {
        verified: Arc::clone(&verified),
    });
    (scorer.into(), verified)
}

struct RecordedScorer {
    verified: Verified,
}

#[async_trait]
impl Scores for RecordedScorer {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn custom_type(&self) -> Option<&str> {
        None
    }

    async fn score(&self, _: &Bench<'_>) -> Result<Finding, JudgeError> {
        let Some(verification) = self.verified.get() else {
            return Ok(Finding::none("nothing was verified"));
        };
        Ok(verification.finding())
    }
}

struct VerifierScorer {
    order: VerifierOrder,
    verified: Verified,
}

#[async_trait]
impl Scores for VerifierScorer {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn custom_type(&self) -> Option<&str> {
        None
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        if self.order.is_fresh
            && let Some(entrypoint) = &self.order.entrypoint
            && let Err(error) = bench.devbox.exec(entrypoint.clone()).await
        {
            tracing::warn!(error = %proctor_core::causes::with_causes(&error), "the entry point of an image could not be started");
        }
        let order = VerifierOrder {
            time_limit: self.order.time_limit.min(bench.limit),
            ..self.order.clone()
        };
        let mut verification = verify(bench.devbox, &order).await?;
        if order.is_fresh {
            verification.suspicious.clear();
        }
        let finding = verification.finding();
        // A judging runs each of its scorers once.
        let _ = self.verified.set(verification);
        Ok(finding)
    }
}

/// What a verifier said.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The rewards, or why there are none.
    pub rewards: Result<Rewards, NoRewards>,
    /// The beginning of what it printed.
    pub output: String,
    /// What was not as it should be where its directories were put: somebody may have tried to deceive it.
    pub suspicious: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

impl Verification {
    /// As scorers tell it.
    fn finding(&self) -> Finding {
        Finding {
            score: match &self.rewards {
                Ok(rewards) => Ok(rewards::score(rewards).unwrap_or(0.0)),
                Err(none) => Err(NoResult::of_run(none.message.clone())),
            },
            output: self.output.clone(),
        }
    }
}

/// Runs a verifier in a box, to its end.
///
/// An error means that there is no verification: the platform failed, or the box was lost. A verifier that fails is a result.
pub async fn verify(
    devbox: &dyn Devbox,
    order: &VerifierOrder,
) -> Result<Verification, JudgeError> {
    let began = Instant::now();
    prepare(&order.logs).map_err(platform)?;
    let mut spec = ExecSpec::new(order.id.clone(), ["/bin/sh", "-c", COMMAND]);
    spec.env = order.environment.clone();
    spec.cwd = order.working_directory.clone();
    spec.user = order.user.clone();
    spec.timeout = Some(order.time_limit);
    spec.output_limit = SHOWN;
    spec.view = Some(View {
        read_only: order
            .tests
            .iter()
            .map(|tests| Shared {
                host: tests.clone(),
                at: TESTS.to_owned(),
            })
            .collect(),
        writable: vec![Shared {
            host: order.logs.clone(),
            at: LOGS.to_owned(),
        }],
        sealed: true,
    });
    let failed = |exception, message: String| Verification {
        rewards: Err(NoRewards { exception, message }),
        output: String::new(),
        suspicious: Vec::new(),
        took: began.elapsed(),
    };
    let execution = match devbox.exec(spec).await {
        Ok(execution) => execution,
        Err(error @ (DevboxError::CannotRun { .. } | DevboxError::Invalid(_))) => {
            return Ok(failed(ExceptionType::AddTestsDirError, error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    // `/tests` is not there before, so that alone is nothing to wonder about.
    let expected = format!("{TESTS} was missing");
    let suspicious: Vec<String> = execution
        .notes()
        .iter()
        .filter(|note| **note != expected)
        .cloned()
        .collect();
    let exit = execution.wait().await?;
    // The kernel has ended what the verifier started; this ends it also where its box has no control groups.
    execution.kill().await?;
    if let Err(error) = execution.forget().await {
        tracing::debug!(error = %proctor_core::causes::with_causes(&error), "a verifier is remembered longer than needed");
    }
    if exit.cause == ExitCause::BoxEnded {
        return Err(JudgeError::BoxLost);
    }
    let logs = order.logs.clone();
    let read = tokio::task::spawn_blocking(move || (read_rewards(&logs), read_output(&logs)));
    let (found, output) = read
        .await
        .map_err(|error| platform(io::Error::other(error)))?;
    Ok(Verification {
        rewards: match interrupted(exit, order.time_limit) {
            Some(error) => Err(error),
            None => found,
        },
        output,
        suspicious,
        took: began.elapsed(),
    })
}

fn platform(error: io::Error) -> DevboxError {
    DevboxError::platform("reading what a verifier wrote", error)
}

/// Makes an empty directory that every user of a box may write to.
fn prepare(logs: &Path) -> io::Result<()> {
    fs_err::create_dir(logs)?;
    fs_err::set_permissions(logs, std::fs::Permissions::from_mode(0o777))
}

/// Why a verifier did not come to its own end, if it did not. Its status does not matter.
fn interrupted(exit: Exit, limit: Duration) -> Option<NoRewards> {
    let (exception, message) = match exit.cause {
        ExitCause::TimedOut => (
            ExceptionType::VerifierTimeoutError,
            format!(
                "the verifier took longer than {} seconds",
                limit.as_secs_f64()
            ),
        ),
        ExitCause::OutOfMemory | ExitCause::OutOfDisk => (
            ExceptionType::SandboxLikelyOutOfMemoryError,
            "the box used up its memory or disk while it was verified".to_owned(),
        ),
        ExitCause::Itself | ExitCause::Killed | ExitCause::BoxEnded => return None,
    };
    Some(NoRewards { exception, message })
}

/// The rewards in a directory of logs.
pub fn read_rewards(logs: &Path) -> Result<Rewards, NoRewards> {
    rewards::read(&reward_file(logs, JSON_FILE), &reward_file(logs, TEXT_FILE))
}

fn reward_file(logs: &Path, name: &str) -> RewardFile {
    let refuse = |why: &str| RewardFile::Refused(why.to_owned());
    let file = match open(&logs.join(name)) {
        Ok(file) => file,
        Err(rustix::io::Errno::NOENT) => return RewardFile::Missing,
        Err(rustix::io::Errno::LOOP) => return refuse("is a link"),
        Err(rustix::io::Errno::NXIO) => return refuse("is not a regular file"),
        Err(errno) => return RewardFile::Refused(format!("cannot be opened: {errno}")),
    };
    match rustix::fs::fstat(&file) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
            return refuse("is not a regular file");
        }
        Ok(_) => {}
        Err(errno) => return RewardFile::Refused(format!("cannot be looked at: {errno}")),
    }
    let mut bytes = Vec::new();
    let read = std::fs::File::from(file)
        .take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 > LARGEST_FILE => {
            RewardFile::Refused(format!("has more than {LARGEST_FILE} bytes"))
        }
        Ok(_) => RewardFile::Content(bytes),
        Err(error) => RewardFile::Refused(format!("cannot be read: {error}")),
    }
}

/// Opens what a box wrote: no links, and without waiting for the other end of a FIFO.
fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
}

/// The beginning of what a verifier printed.
fn read_output(logs: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let file = open(&logs.join(STDOUT_FILE))?;
        let stat = rustix::fs::fstat(&file)?;
        let mut bytes = Vec::new();
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            std::fs::File::from(file)
                .take(SHOWN)
                .read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn exception(logs: &Path) -> ExceptionType {
        read_rewards(logs).unwrap_err().exception
    }

    #[test]
    fn only_small_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        // The way to the directory itself may lead through links.
        let logs = fs_err::canonicalize(directory.path()).unwrap();
        assert_eq!(exception(&logs), ExceptionType::RewardFileNotFoundError);
        let json = logs.join(JSON_FILE);
        let unreadable = ExceptionType::VerifierOutputParseError;
        fs_err::write(logs.join(TEXT_FILE), "1").unwrap();
        assert_eq!(read_rewards(&logs).unwrap()["reward"], 1.0);

        symlink(logs.join(TEXT_FILE), &json).unwrap();
        assert_eq!(exception(&logs), unreadable, "a link is not followed");
        fs_err::remove_file(&json).unwrap();
        fs_err::create_dir(&json).unwrap();
        assert_eq!(exception(&logs), unreadable, "a directory is no file");
        fs_err::remove_dir(&json).unwrap();
        rustix::fs::mknodat(CWD, &json, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
        assert_eq!(exception(&logs), unreadable, "nobody waits for a FIFO");
        fs_err::remove_file(&json).unwrap();
        let huge = fs_err::File::create(&json).unwrap();
        huge.set_len(1 << 30).unwrap();
        assert_eq!(exception(&logs), unreadable, "1 GB is not read");
    }
}
