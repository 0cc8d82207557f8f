//! Cards as authors write them and clients see them.

use proctor_simulation::{
    config::ConfigProblems,
    schema::{list, object, text},
    seed::Seed,
};
use serde_json::{Map, Value, json};

/// The most characters of a summary, by the standard.
const LONGEST_SUMMARY: usize = 140;

/// The fields that a card may have.
const KNOWN: &[&str] = &[
    "summary",
    "indicator",
    "source",
    "detail",
    "suggestions",
    "selectionBehavior",
    "links",
    "overrideReasons",
    "extension",
];

/// A card to show; its names are added when it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Card(Map<String, Value>);

/// The JSON Schema of a card, by the standard.
pub(super) fn config_schema() -> Value {
    let named = |texts: &[&str]| {
        let properties: Map<_, _> = texts
            .iter()
            .map(|text| ((*text).to_owned(), filled()))
            .collect();
        list(&json!({"type": "object", "required": texts, "properties": properties}))
    };
    object(
        &["summary", "indicator", "source"],
        json!({
            "summary": {"type": "string", "minLength": 1, "maxLength": LONGEST_SUMMARY},
            "indicator": {"enum": ["info", "warning", "critical"]},
            "source": {"type": "object", "required": ["label"], "properties": {"label": filled()}},
            "detail": text(),
            "suggestions": named(&["label"]),
            "selectionBehavior": text(),
            "links": named(&["label", "url", "type"]),
            "overrideReasons": named(&[]),
            "extension": {},
        }),
    )
}

/// A text that says something.
fn filled() -> Value {
    json!({"type": "string", "pattern": "\\S"})
}

impl Card {
    /// Reads a card and says everything that the standard has against it.
    pub(super) fn read(
        place: &str,
        mut card: Map<String, Value>,
        problems: &mut ConfigProblems,
    ) -> Self {
        let mut check = Check { place, problems };
        check.members(&card);
        if card.contains_key("suggestions") {
            // Required by the standard; the usual choice where the author made none.
            card.entry("selectionBehavior")
                .or_insert_with(|| "any".into());
        }
        Self(card)
    }

    /// The card as the client sees it, at this place in the answer to the `call`-th call. Each
    /// showing has names of its own, so that feedback can be told apart.
    pub(super) fn shown(&self, seed: &Seed, call: u64, place: usize) -> Value {
        let mut card = self.0.clone();
        let name = |part: &str| json!(uuid(seed, &format!("cds card {place}{part}"), call));
        card.insert("uuid".to_owned(), name(""));
        if let Some(Value::Array(suggestions)) = card.get_mut("suggestions") {
            for (index, suggestion) in suggestions.iter_mut().enumerate() {
                suggestion["uuid"] = name(&format!(" suggestion {index}"));
            }
        }
        Value::Object(card)
    }
}

fn uuid(seed: &Seed, purpose: &str, number: u64) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&seed.derive(purpose, number)[..16]);
    let uuid = uuid::Builder::from_random_bytes(bytes).into_uuid();
    uuid.hyphenated().to_string()
}

struct Check<'c> {
    place: &'c str,
    problems: &'c mut ConfigProblems,
}

impl Check<'_> {
    fn wrong(&mut self, field: &str, message: impl Into<String>) {
        self.problems
            .add(&format!("{}.{field}", self.place), message);
    }

    fn members(&mut self, card: &Map<String, Value>) {
        match card.get("summary") {
            Some(Value::String(text))
                if !text.is_empty() && text.chars().count() <= LONGEST_SUMMARY => {}
            _ => self.wrong(
                "summary",
                format!("must be a text of 1 to {LONGEST_SUMMARY} characters"),
            ),
        }
        let indicator = card.get("indicator").and_then(Value::as_str);
        if !matches!(indicator, Some("info" | "warning" | "critical")) {
            self.wrong("indicator", "must be info, warning or critical");
        }
        if !card
            .get("source")
            .is_some_and(|source| is_text(source, "label"))
        {
            self.wrong("source", "must be an object with a label");
        }
        for field in ["detail", "selectionBehavior"] {
            if card.get(field).is_some_and(|value| !value.is_string()) {
                self.wrong(field, "must be a text");
            }
        }
        self.list(card, "suggestions", &["label"]);
        self.list(card, "links", &["label", "url", "type"]);
        self.list(card, "overrideReasons", &[]);
        for field in card.keys() {
            if !KNOWN.contains(&field.as_str()) {
                self.wrong(field, "is no field of a card");
            }
        }
    }

    /// A list of objects that have these texts.
    fn list(&mut self, card: &Map<String, Value>, field: &str, texts: &[&str]) {
        let Some(value) = card.get(field) else {
            return;
        };
        let Value::Array(items) = value else {
            return self.wrong(field, "must be a list");
        };
        for (index, item) in items.iter().enumerate() {
            if !item.is_object() {
                self.wrong(&format!("{field}.{index}"), "must be an object");
                continue;
            }
            for text in texts {
                if !is_text(item, text) {
                    self.wrong(&format!("{field}.{index}.{text}"), "must be a text");
                }
            }
        }
    }
}

fn is_text(object: &Value, field: &str) -> bool {
    object
        .get(field)
        .and_then(Value::as_str)
        .is_some_and(|text| !text.trim().is_empty())
}
