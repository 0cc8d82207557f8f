//! Reward files: what a verifier leaves in `/logs/verifier`.
//!
//! `reward.json` wins over `reward.txt`, also if it cannot be read. Values are finite numbers; `true` counts as 1, negative and huge ones
//! are legal.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::exceptions::ExceptionType;

/// The largest reward file that is read.
pub const LARGEST_FILE: u64 = 1 << 20;
/// The file that wins.
pub const JSON_FILE: &str = "reward.json";
/// The other one.
pub const TEXT_FILE: &str = "reward.txt";
/// The key that is the score, where there is one.
const REWARD: &str = "reward";

/// What a verifier said, by key.
pub type Rewards = BTreeMap<String, f64>;

/// A reward file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewardFile {
    /// It is not there.
    Missing,
    /// It is not a file that is read: a link, a directory, a device, a FIFO, or too large; which.
    Refused(String),
    /// Its bytes.
    Content(Vec<u8>),
}

/// Why there are no rewards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NoRewards {
    /// What Harbor calls it.
    pub exception: ExceptionType,
    /// What is wrong, for people.
    pub message: String,
}

impl NoRewards {
    fn new(exception: ExceptionType, message: impl Into<String>) -> Self {
        Self {
            exception,
            message: message.into(),
        }
    }

    fn unreadable(message: impl Into<String>) -> Self {
        Self::new(ExceptionType::VerifierOutputParseError, message)
    }
}

/// The rewards that two files say.
pub fn read(json: &RewardFile, text: &RewardFile) -> Result<Rewards, NoRewards> {
    match (json, text) {
        (RewardFile::Missing, RewardFile::Missing) => Err(NoRewards::new(
            ExceptionType::RewardFileNotFoundError,
            format!("there is neither {JSON_FILE} nor {TEXT_FILE} in /logs/verifier"),
        )),
        (RewardFile::Missing, file) => of_text(content(TEXT_FILE, file)?),
        (file, _) => of_json(content(JSON_FILE, file)?),
    }
}

fn content<'f>(name: &str, file: &'f RewardFile) -> Result<&'f [u8], NoRewards> {
    match file {
        RewardFile::Missing => Err(NoRewards::unreadable(format!("{name} is not there"))),
        RewardFile::Refused(why) => Err(NoRewards::unreadable(format!("{name} {why}"))),
        RewardFile::Content(bytes) if bytes.is_empty() => Err(NoRewards::new(
            ExceptionType::RewardFileEmptyError,
            format!("{name} is empty"),
        )),
        RewardFile::Content(bytes) => Ok(bytes),
    }
}

fn of_text(bytes: &[u8]) -> Result<Rewards, NoRewards> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let number = python_number(text).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        NoRewards::unreadable(format!(
            "{TEXT_FILE} does not hold one number but '{shown}'"
        ))
    })?;
    Ok([(REWARD.to_owned(), finite(TEXT_FILE, REWARD, number)?)].into())
}

/// A number as Python's `float` reads it: also `1_000` and, to be refused as not finite, `nan` and `inf`.
fn python_number(text: &str) -> Option<f64> {
    let digits: String = match text.contains('_') {
        false => text.to_owned(),
        true => {
            let letters: Vec<char> = text.chars().collect();
            let is_between_digits = |at: usize| {
                at > 0
                    && letters[at - 1].is_ascii_digit()
                    && letters.get(at + 1).is_some_and(char::is_ascii_digit)
            };
            let fits = letters
                .iter()
                .enumerate()
                .all(|(at, letter)| *letter != '_' || is_between_digits(at));
            fits.then(|| text.replace('_', ""))?
        }
    };
    digits.parse().ok()
}

fn of_json(bytes: &[u8]) -> Result<Rewards, NoRewards> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| NoRewards::unreadable(format!("{JSON_FILE} is not UTF-8")))?;
    let value: Value = serde_json::from_str(text)
        .map_err(|error| NoRewards::unreadable(format!("{JSON_FILE} is not JSON: {error}")))?;
    let Value::Object(members) = value else {
        return Err(NoRewards::unreadable(format!(
            "{JSON_FILE} is not a map from names to numbers"
        )));
    };
    let mut rewards = Rewards::new();
    for (name, value) in members {
        let number = match &value {
            Value::Bool(truth) => f64::from(u8::from(*truth)),
            Value::Number(number) => number.as_f64().unwrap_or(f64::INFINITY),
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                let message = format!("{JSON_FILE}: '{name}' is not a number");
                return Err(NoRewards::unreadable(message));
            }
        };
        let number = finite(JSON_FILE, &name, number)?;
        rewards.insert(name, number);
    }
    Ok(rewards)
}

fn finite(file: &str, name: &str, number: f64) -> Result<f64, NoRewards> {
    match number.is_finite() {
        true => Ok(number),
        false => Err(NoRewards::unreadable(format!(
            "{file}: '{name}' is {number}, which is not finite"
        ))),
    }
}

/// The score that rewards amount to: the key `reward`, else the mean of all keys; none without keys.
pub fn score(rewards: &Rewards) -> Option<f64> {
    if let Some(reward) = rewards.get(REWARD) {
        return Some(*reward);
    }
    let count = u32::try_from(rewards.len())
        .ok()
        .filter(|count| *count > 0)?;
    Some(rewards.values().sum::<f64>() / f64::from(count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn file(text: &str) -> RewardFile {
        RewardFile::Content(text.as_bytes().to_vec())
    }

    fn of(json: Option<&str>, text: Option<&str>) -> Result<Rewards, ExceptionType> {
        let file = |text: Option<&str>| text.map_or(RewardFile::Missing, file);
        read(&file(json), &file(text)).map_err(|error| error.exception)
    }

    fn rewards(pairs: &[(&str, f64)]) -> Rewards {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    #[rstest]
    #[case("1", 1.0)]
    #[case(" 0.5\n", 0.5)]
    #[case("-3", -3.0)]
    #[case("1e300", 1e300)]
    #[case("+1", 1.0)]
    #[case("1_000", 1000.0)]
    #[case(".5", 0.5)]
    fn a_text_file_holds_one_number(#[case] text: &str, #[case] value: f64) {
        assert_eq!(of(None, Some(text)), Ok(rewards(&[("reward", value)])));
    }

    #[rstest]
    #[case("nan")]
    #[case("inf")]
    #[case("1e309")]
    #[case("1 2")]
    #[case("reward=1")]
    #[case("true")]
    #[case("\n")]
    #[case("_1")]
    #[case("1__0")]
    fn a_text_file_with_anything_else_is_refused(#[case] text: &str) {
        assert_eq!(
            of(None, Some(text)),
            Err(ExceptionType::VerifierOutputParseError)
        );
    }

    #[test]
    fn json_wins_also_when_it_is_wrong() {
        assert_eq!(
            of(Some(r#"{"a": 1, "b": true, "c": -2.5}"#), Some("0")),
            Ok(rewards(&[("a", 1.0), ("b", 1.0), ("c", -2.5)]))
        );
        for wrong in [
            "1",
            "[1]",
            "null",
            "{",
            r#"{"a": "1"}"#,
            r#"{"a": null}"#,
            r#"{"a": {"b": 1}}"#,
            r#"{"a": NaN}"#,
            r#"{"a": 1e309}"#,
        ] {
            assert_eq!(
                of(Some(wrong), Some("1")),
                Err(ExceptionType::VerifierOutputParseError),
                "{wrong}"
            );
        }
        assert_eq!(of(Some("{}"), None), Ok(Rewards::new()));
    }

    #[test]
    fn files_that_are_missing_empty_or_no_files_have_names() {
        assert_eq!(of(None, None), Err(ExceptionType::RewardFileNotFoundError));
        assert_eq!(
            of(Some(""), Some("1")),
            Err(ExceptionType::RewardFileEmptyError)
        );
        assert_eq!(of(None, Some("")), Err(ExceptionType::RewardFileEmptyError));
        let refused = RewardFile::Refused("is a link".to_owned());
        let error = read(&refused, &file("1")).unwrap_err();
        assert_eq!(error.exception, ExceptionType::VerifierOutputParseError);
        assert_eq!(error.message, "reward.json is a link");
    }

    #[test]
    fn the_score_is_the_reward_or_the_mean() {
        assert_eq!(score(&rewards(&[("reward", 0.25), ("b", 1.0)])), Some(0.25));
        assert_eq!(score(&rewards(&[("a", 0.0), ("b", 1.0)])), Some(0.5));
        assert_eq!(score(&Rewards::new()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_rewards_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let file = RewardFile::Content(bytes);
            for rewards in [read(&file, &RewardFile::Missing), read(&RewardFile::Missing, &file)].into_iter().flatten() {
                prop_assert!(rewards.values().all(|value| value.is_finite()));
            }
        }

        #[test]
        fn every_finite_number_comes_back(number in proptest::num::f64::NORMAL) {
            let text = format!("{{\"reward\": {number:?}}}");
            prop_assert_eq!(of(Some(&text), None).ok().and_then(|found| score(&found)), Some(number));
            prop_assert_eq!(of(None, Some(&format!("{number:?}"))).ok().and_then(|found| score(&found)), Some(number));
        }
    }
}
