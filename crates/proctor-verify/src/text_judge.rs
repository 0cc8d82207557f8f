//! Questions about free text, for a judge outside of this crate, and its answers.
//!
//! Nothing here asks anybody. A rubric says what it would ask ([`Rubric::questions`](crate::Rubric::questions)), whoever can
//! ask does so, and the answers are given to [`Rubric::judge_with`](crate::Rubric::judge_with). An answer belongs to the exact
//! question and material that it was given for, so scoring again with recorded answers finds the same.

use std::collections::BTreeMap;

use proctor_core::{canonical::Digest, id::kinds::CriterionId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A question about free text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeQuestion {
    /// The criterion that asks.
    pub criterion: CriterionId,
    /// What is asked, to be answered by yes or no.
    pub question: String,
    /// What it is asked about: texts that the examined agent may have written. Never empty.
    pub material: Vec<String>,
    /// How often it is asked; the majority decides.
    pub votes: u8,
}

/// What a judge answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeAnswer {
    /// Who judged.
    pub model: String,
    /// One for each time that it was asked.
    pub votes: Vec<JudgeVote>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeVote {
    /// Whether the answer is yes.
    pub yes: bool,
    /// Why, in the judge's words.
    pub reason: String,
}

/// Answers, by the digests of their questions.
#[derive(Clone, Debug, Default)]
pub struct JudgeAnswers(BTreeMap<String, JudgeAnswer>);

/// The longest reason that is kept, in characters.
const LONGEST_REASON: usize = 1_000;

impl JudgeQuestion {
    /// What names the question together with its material.
    pub fn digest(&self) -> String {
        digest(&self.question, &self.material, self.votes)
    }
}

pub(crate) fn digest(question: &str, material: &[String], votes: u8) -> String {
    let asked = json!({"question": question, "material": material, "votes": votes});
    Digest::of(&asked).to_string()
}

impl JudgeAnswer {
    /// Whether most votes say yes.
    pub fn is_yes(&self) -> bool {
        let yes = self.votes.iter().filter(|vote| vote.yes).count();
        yes * 2 > self.votes.len()
    }
}

impl JudgeVote {
    /// Reads what a model said: a JSON object with `answer`, `yes` or `no`, and a `reason`. Nothing else is an answer.
    pub fn read(said: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Said {
            answer: String,
            #[serde(default)]
            reason: String,
        }
        let said = said.trim();
        // Models like to put JSON into a block of code.
        let said = said
            .strip_prefix("```json")
            .or_else(|| said.strip_prefix("```"))
            .map_or(said, |rest| rest.trim_end_matches('`'));
        let said: Said = serde_json::from_str(said.trim()).ok()?;
        let yes = match said.answer.trim().to_ascii_lowercase().as_str() {
            "yes" => true,
            "no" => false,
            _ => return None,
        };
        let reason = said.reason.chars().take(LONGEST_REASON).collect();
        Some(Self { yes, reason })
    }
}

impl JudgeAnswers {
    /// Adds the answer to a question.
    pub fn insert(&mut self, question: &JudgeQuestion, answer: JudgeAnswer) {
        self.0.insert(question.digest(), answer);
    }

    /// Whether a question was answered.
    pub fn has(&self, question: &JudgeQuestion) -> bool {
        self.0.contains_key(&question.digest())
    }

    /// The answers that evidence of earlier criterion runs keeps.
    pub fn recorded<'e>(evidence: impl Iterator<Item = &'e Value>) -> Self {
        let answers = evidence.filter_map(|one| {
            let digest = one.get("digest")?.as_str()?.to_owned();
            let answer = json!({"model": one.get("model")?, "votes": one.get("votes")?});
            Some((digest, serde_json::from_value(answer).ok()?))
        });
        Self(answers.collect())
    }

    pub(crate) fn get(&self, digest: &str) -> Option<&JudgeAnswer> {
        self.0.get(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_and_no_are_answers() {
        let read = |said: &str| JudgeVote::read(said).map(|vote| vote.yes);
        assert_eq!(
            read(r#"{"answer": "yes", "reason": "it says so"}"#),
            Some(true)
        );
        assert_eq!(read("```json\n{\"answer\": \"No\"}\n```"), Some(false));
        for nonsense in [
            "",
            "yes",
            "{}",
            r#"{"answer": "maybe"}"#,
            r#"{"answer": true}"#,
            "[]",
            "{",
        ] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn the_majority_decides_and_a_tie_is_no() {
        let answer = |votes: &[bool]| JudgeAnswer {
            model: "m".to_owned(),
            votes: votes
                .iter()
                .map(|yes| JudgeVote {
                    yes: *yes,
                    reason: String::new(),
                })
                .collect(),
        };
        assert!(answer(&[true, false, true]).is_yes());
        assert!(!answer(&[true, false]).is_yes());
        assert!(!answer(&[]).is_yes());
    }
}
