//! `voice-transcript`: what was said on the telephone, and what should never have been.

use std::cell::OnceCell;

use proctor_core::phrase::Phrase;
use proctor_office::voice::{Call, Speaker, Turn};
use proctor_simulation::{
    exhibits::Exhibits,
    schema::{about, list, text},
};
use serde_json::{Value, json};

use crate::{
    outcome::Outcome,
    reader::{AssertionNode as _, Node, Object, left_out_or},
    registry::Check,
    schema::assertion,
    template::{Failed, Scope, Template},
};

/// The assertion.
#[derive(Debug)]
pub(crate) struct Transcript {
    speaker: Option<Speaker>,
    wanted: Vec<Template>,
    forbidden: Vec<Template>,
}

/// How one phrase fared.
struct Spoken {
    phrase: String,
    turn: Option<usize>,
}

/// What was said in a world.
pub(crate) struct Calls<'w> {
    /// How many calls there were.
    count: usize,
    /// What was said in all of them, in order.
    stretches: Vec<Stretch<'w>>,
}

/// Turns of one speaker that follow one another in one call.
pub(crate) struct Stretch<'w> {
    speaker: Speaker,
    /// The number of its first turn among all turns of all calls.
    first: usize,
    turns: &'w [Turn],
    folded: OnceCell<Vec<Phrase>>,
}

impl Stretch<'_> {
    /// What was said, turn by turn.
    fn phrases(&self) -> &[Phrase] {
        let fold = || {
            self.turns
                .iter()
                .map(|turn| Phrase::fold(&turn.text))
                .collect()
        };
        self.folded.get_or_init(fold)
    }
}

impl Check for Transcript {
    const NAME: &'static str = "voice-transcript";

    /// None without a telephone.
    type View<'w> = Option<Calls<'w>>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        let calls: Vec<&Call> = exhibits.evidence()?;
        let mut stretches = Vec::new();
        let mut number = 0;
        for call in &calls {
            for turns in call.turns.chunk_by(|one, next| one.speaker == next.speaker) {
                stretches.push(Stretch {
                    speaker: turns[0].speaker,
                    first: number,
                    turns,
                    folded: OnceCell::new(),
                });
                number += turns.len();
            }
        }
        Some(Calls {
            count: calls.len(),
            stretches,
        })
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let speaker = left_out_or(assertion.optional("speaker"), |node| {
            node.word(&[
                ("agent", Some(Speaker::Agent)),
                ("caller", Some(Speaker::Caller)),
                ("any", None),
            ])
        });
        let wanted = read_phrases(assertion.optional("contains"));
        let forbidden = read_phrases(assertion.optional("not_contains"));
        let (wanted, forbidden) = (wanted?, forbidden?);
        if wanted.is_empty() && forbidden.is_empty() {
            let node = assertion.node();
            node.refuse("needs at least one phrase in 'contains' or 'not_contains'");
            return None;
        }
        Some(Self {
            speaker: speaker?.flatten(),
            wanted,
            forbidden,
        })
    }

    fn schema() -> Value {
        let phrases = json!({"anyOf": [text(), list(&text())]});
        let members = json!({
            "speaker": about("Who; both when left out.", json!({"enum": ["agent", "caller", "any"]})),
            "contains": about("What must be said.", phrases.clone()),
            "not_contains": about("What must not be said.", phrases),
        });
        let example = json!({
            "speaker": "agent",
            "contains": ["member ID"],
            "not_contains": ["social security number"],
        });
        let about = "What was said on the telephone.";
        assertion(Self::NAME, about, &[], members, example)
    }

    fn run(&self, calls: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let wanted = fill(&self.wanted, scope)?;
        let forbidden = fill(&self.forbidden, scope)?;
        let Some(Calls { count, stretches }) = calls else {
            return Err(Failed("the playground has no telephone".to_owned()));
        };
        let is_meant = |one: &&Stretch<'_>| self.speaker.is_none_or(|who| who == one.speaker);
        let stretches: Vec<&Stretch<'_>> = stretches.iter().filter(is_meant).collect();
        let look = |texts: Vec<String>| -> Result<Vec<Spoken>, Failed> {
            let spoken = texts.into_iter().map(|text| spoken(text, &stretches));
            spoken.collect()
        };
        let (wanted, forbidden) = (look(wanted)?, look(forbidden)?);
        let evidence = json!({
            "phraseResults": wanted.iter().chain(&forbidden).map(Spoken::to_value).collect::<Value>(),
        });
        if *count == 0 {
            let details = "no call was made".to_owned();
            return Ok(Outcome::nothing(details, evidence));
        }
        let missing = quoted(wanted.iter().filter(|one| one.turn.is_none()));
        let slipped = quoted(forbidden.iter().filter(|one| one.turn.is_some()));
        let asked = wanted.len() + forbidden.len();
        let held = asked - missing.len() - slipped.len();
        let details = self.in_words(&missing, &slipped, asked);
        Ok(Outcome::share(held, asked, details, evidence))
    }

    fn blank(&self) -> Value {
        json!({"phraseResults": []})
    }
}

impl Transcript {
    fn in_words(&self, missing: &[String], slipped: &[String], asked: usize) -> String {
        let who = match self.speaker {
            Some(Speaker::Agent) => "the agent",
            Some(Speaker::Caller) => "the other end",
            None => "nobody",
        };
        let never = |who: &str, phrases: &str| match self.speaker {
            Some(_) => format!("{who} never said {phrases}"),
            None => format!("{who} said {phrases}"),
        };
        let mut said = Vec::new();
        if !missing.is_empty() {
            said.push(never(who, &missing.join(", ")));
        }
        if !slipped.is_empty() {
            said.push(format!("forbidden and said: {}", slipped.join(", ")));
        }
        match (said.is_empty(), asked) {
            (true, 1) => "the phrase is as expected".to_owned(),
            (true, asked) => format!("all {asked} phrases are as expected"),
            (false, _) => said.join("; "),
        }
    }
}

impl Spoken {
    fn to_value(&self) -> Value {
        json!({"phrase": self.phrase, "found": self.turn.is_some(), "turn": self.turn})
    }
}

fn quoted<'s>(spoken: impl Iterator<Item = &'s Spoken>) -> Vec<String> {
    spoken.map(|one| format!("\"{}\"", one.phrase)).collect()
}

fn read_phrases(node: Option<Node<'_>>) -> Option<Vec<Template>> {
    let Some(node) = node else {
        return Some(Vec::new());
    };
    let phrases: Vec<Option<Template>> = node
        .list()?
        .iter()
        .map(|item| {
            let template = item.template()?;
            if let Some(text) = template.fixed() {
                if Phrase::fold(text).is_empty() {
                    item.refuse("has no words to listen for");
                    return None;
                }
                item.note_expected(text);
            }
            Some(template)
        })
        .collect();
    phrases.into_iter().collect()
}

fn fill(templates: &[Template], scope: &Scope<'_>) -> Result<Vec<String>, Failed> {
    let filled = templates.iter().map(|template| {
        let text = template.text(scope, str::to_owned)?;
        Ok(text.into_owned())
    });
    filled.collect()
}

fn spoken(text: String, stretches: &[&Stretch<'_>]) -> Result<Spoken, Failed> {
    let phrase = Phrase::fold(&text);
    if phrase.is_empty() {
        return Err(Failed(format!("\"{text}\" has no words to listen for")));
    }
    let turn = stretches.iter().find_map(|stretch| {
        let place = phrase.place_among(stretch.phrases())?;
        Some(stretch.first + place)
    });
    Ok(Spoken { phrase: text, turn })
}
