//! `judge`: free text, judged by a model that the server is configured with.
//!
//! The check itself asks nobody. It says what would be asked, and is met if most recorded answers to exactly that are yes.
//! Where there is nothing to judge, nothing is asked, and it is not met.

use proctor_core::id::kinds::CriterionId;
use proctor_office::voice::{Call, Speaker};
use proctor_simulation::{
    exhibits::Exhibits,
    schema::{about, list, text},
};
use serde_json::{Value, json};

use crate::{
    capture::Source,
    found::cut,
    outcome::Outcome,
    reader::{AssertionNode as _, Node, Object, left_out_or},
    registry::Check,
    schema::assertion,
    template::{Failed, Scope, Template, scalar_text},
    text_judge::{self, JudgeQuestion},
};

/// What `assert` says.
pub(crate) const NAME: &str = "judge";
/// The longest question, in characters.
const LONGEST_QUESTION: usize = 2_000;
/// The most sources of material.
const MOST_SOURCES: usize = 10;
/// The most texts that are shown to a judge.
const MOST_TEXTS: usize = 50;
/// The most characters that are shown to a judge, over all texts.
const MOST_CHARACTERS: usize = 40_000;
/// The most votes.
const MOST_VOTES: u32 = 9;

/// The assertion.
#[derive(Debug)]
pub(crate) struct Judge {
    question: Template,
    material: Vec<Material>,
    votes: u8,
}

/// Where texts come from.
enum Material {
    /// A value of the world, found as a capture finds it.
    Values(Source),
    /// What the agent said on the telephone.
    Voice,
}

impl std::fmt::Debug for Material {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Values(_) => "Values",
            Self::Voice => "Voice",
        })
    }
}

impl Check for Judge {
    const NAME: &'static str = NAME;

    type View<'w> = &'w Exhibits<'w>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        exhibits
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let question = assertion.required("question").and_then(|node| {
            node.text_of_length(1..=LONGEST_QUESTION)?;
            node.template()
        });
        let material = assertion.required("material").and_then(|node| {
            let items = node.list()?;
            if items.is_empty() || items.len() > MOST_SOURCES {
                node.refuse(format!("must hold 1 to {MOST_SOURCES} sources"));
                return None;
            }
            let read: Vec<Option<Material>> = items.iter().map(Material::read).collect();
            read.into_iter().collect::<Option<Vec<_>>>()
        });
        let votes = left_out_or(assertion.optional("votes"), |node| {
            let votes = node.whole(1..=MOST_VOTES)?;
            if votes % 2 == 0 {
                node.refuse("must be odd, so that there is a majority");
                return None;
            }
            u8::try_from(votes).ok()
        });
        Some(Self {
            question: question?,
            material: material?,
            votes: votes?.unwrap_or(1),
        })
    }

    fn schema() -> Value {
        let source = json!({
            "type": "object",
            "required": ["from"],
            "properties": {"from": {"enum": ["voice", "portal", "fax", "message", "fhir", "hl7", "hl7-inbound", "x12", "x12-request"]}},
        });
        let mut material = list(&source);
        material["minItems"] = json!(1);
        material["maxItems"] = json!(MOST_SOURCES);
        let members = json!({
            "question": about("What is asked of the material: a question with the answer yes or no.", text()),
            "material": about("What is judged: values of the world, as captures name them, or what was said.", material),
            "votes": about("How often it is asked; an odd number.", json!({"type": "integer", "minimum": 1, "maximum": MOST_VOTES})),
        });
        let example = json!({
            "question": "Does the message tell the patient to call if the pain returns?",
            "material": [{"from": "message", "path": "body"}],
        });
        let about = "Free text, judged by a program or a model; off unless the server has a judge.";
        assertion(
            Self::NAME,
            about,
            &["question", "material"],
            members,
            example,
        )
    }

    fn run(&self, exhibits: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let (question, material) = self.asked(exhibits, scope)?;
        if material.is_empty() {
            return Ok(Outcome::nothing(
                "there is nothing to judge".to_owned(),
                self.blank(),
            ));
        }
        let digest = text_judge::digest(&question, &material, self.votes);
        let mut evidence = json!({
            "question": question,
            "material": material.iter().map(|text| cut(text)).collect::<Vec<_>>(),
            "digest": digest,
        });
        let Some(answer) = scope.answers.get(&digest) else {
            return Ok(Outcome::nothing("no judge was asked".to_owned(), evidence));
        };
        evidence["model"] = json!(answer.model);
        evidence["votes"] = json!(answer.votes);
        let yes = answer.votes.iter().filter(|vote| vote.yes).count();
        let is_yes = answer.is_yes();
        let word = if is_yes { "yes" } else { "no" };
        let reasons = answer.votes.iter().filter(|vote| vote.yes == is_yes);
        let reason = reasons
            .map(|vote| vote.reason.as_str())
            .find(|one| !one.is_empty());
        let details = format!(
            "{} answered {word} ({yes} of {} votes for yes): {}",
            answer.model,
            answer.votes.len(),
            cut(reason.unwrap_or("no reason was given")),
        );
        Ok(match is_yes {
            true => Outcome::share(1, 1, details, evidence),
            false => Outcome::nothing(details, evidence),
        })
    }

    fn blank(&self) -> Value {
        json!({"question": null, "material": []})
    }

    fn question(
        &self,
        criterion: CriterionId,
        exhibits: &Exhibits<'_>,
        scope: &Scope<'_>,
    ) -> Option<JudgeQuestion> {
        let (question, material) = self.asked(exhibits, scope).ok()?;
        let votes = self.votes;
        (!material.is_empty()).then_some(JudgeQuestion {
            criterion,
            question,
            material,
            votes,
        })
    }
}

impl Judge {
    /// The question and the texts that it is about, cut where they are too many or too long.
    fn asked(
        &self,
        exhibits: &Exhibits<'_>,
        scope: &Scope<'_>,
    ) -> Result<(String, Vec<String>), Failed> {
        let question = self.question.text(scope, str::to_owned)?.into_owned();
        let mut texts = Vec::new();
        for source in &self.material {
            texts.extend(source.texts(exhibits, scope)?);
        }
        texts.retain(|text| !text.trim().is_empty());
        texts.truncate(MOST_TEXTS);
        let mut room = MOST_CHARACTERS;
        for text in &mut texts {
            let kept: String = text.chars().take(room).collect();
            room = room.saturating_sub(kept.chars().count());
            *text = kept;
        }
        texts.retain(|text| !text.is_empty());
        Ok((question, texts))
    }
}

impl Material {
    fn read(node: &Node<'_>) -> Option<Self> {
        let object = node.object()?;
        if object.map().get("from").and_then(Value::as_str) == Some("voice") {
            // Read, so that it is known.
            let _ = object.required("from");
            object.finish();
            return Some(Self::Voice);
        }
        let source = Source::written(&object);
        object.finish();
        source.map(Self::Values)
    }

    fn texts(&self, exhibits: &Exhibits<'_>, scope: &Scope<'_>) -> Result<Vec<String>, Failed> {
        match self {
            Self::Values(source) => {
                let values = source.values(exhibits, scope)?;
                let texts = values.iter().filter_map(scalar_text);
                Ok(texts.map(|text| text.into_owned()).collect())
            }
            Self::Voice => {
                let calls: Vec<&Call> = exhibits.evidence().unwrap_or_default();
                let turns = calls.iter().flat_map(|call| &call.turns);
                let said = turns.filter(|turn| turn.speaker == Speaker::Agent);
                Ok(said.map(|turn| turn.text.clone()).collect())
            }
        }
    }
}
