//! Walks a resource beside the structures that describe it.

use serde_json::{Map, Value};

use super::place::Place;
use super::{Issue, IssueCode, MOST_ISSUES, Severity, rules};
use crate::definitions::{Content, Element, Key, Kind, Primitive, Structure, Structures};
use crate::primitive::text::excerpt;

pub(super) fn validate(structures: &Structures, resource: &Value) -> Vec<Issue> {
    let mut walker = Walker {
        structures,
        issues: Vec::new(),
        container: None,
    };
    let stated = resource.get("resourceType").and_then(Value::as_str);
    let known = stated.and_then(|name| structures.resource(name));
    let name = known.map_or("Resource", |structure| structure.name);
    walker.resource(resource, &Place::root(name));
    walker.issues
}

pub(super) struct Walker<'w> {
    structures: &'w Structures,
    pub(super) issues: Vec<Issue>,
    /// The resource whose contained resources fragments refer to.
    pub(super) container: Option<&'w Map<String, Value>>,
}

impl<'w> Walker<'w> {
    pub(super) fn report(&mut self, code: IssueCode, place: &Place<'_>, diagnostics: String) {
        if self.issues.len() < MOST_ISSUES {
            self.issues.push(Issue {
                severity: Severity::Error,
                code,
                diagnostics,
                expression: place.to_string(),
            });
        }
    }

    fn resource(&mut self, value: &'w Value, place: &Place<'_>) {
        let Some(map) = value.as_object() else {
            return self.report(
                IssueCode::Structure,
                place,
                format!("a resource must be a JSON object, not {}", described(value)),
            );
        };
        match map.get("resourceType") {
            Some(Value::String(name)) => match self.structures.resource(name) {
                Some(structure) => self.typed_resource(map, structure, place),
                None => self.report(
                    IssueCode::Structure,
                    place,
                    format!("FHIR R4 has no resource type `{}`", excerpt(name)),
                ),
            },
            Some(other) => self.report(
                IssueCode::Structure,
                place,
                format!("`resourceType` must be a string, not {}", described(other)),
            ),
            None => self.report(
                IssueCode::Required,
                place,
                "`resourceType` is missing".to_owned(),
            ),
        }
    }

    fn typed_resource(
        &mut self,
        map: &'w Map<String, Value>,
        structure: &'w Structure,
        place: &Place<'_>,
    ) {
        let outer = self.container;
        let contained = outer.is_some_and(|outer| rules::contains(outer, map));
        if !contained {
            self.container = Some(map);
        }
        rules::resource(self, map, contained, place);
        self.object(map, structure, place);
        self.container = outer;
    }

    /// An object: every key must be known, every mandatory element there, and of each choice only one.
    fn object(&mut self, map: &'w Map<String, Value>, structure: &'w Structure, place: &Place<'_>) {
        if map.is_empty() {
            self.report(
                IssueCode::Structure,
                place,
                "an object must not be empty".to_owned(),
            );
        }
        let mut seen = Seen::default();
        for (name, value) in map {
            if let Some(key) = structure.key(name) {
                self.note(&mut seen, &key, name, place);
                self.element(value, &key, map, &place_of(place, &key, name));
            } else if let Some((key, plain)) = name
                .strip_prefix('_')
                .and_then(|plain| Some((structure.key(plain)?, plain)))
            {
                self.note(&mut seen, &key, plain, place);
                let place = place_of(place, &key, plain);
                if rules::may_be_extended(structure, plain) {
                    self.companion(value, &key, map.get(plain), &place);
                } else {
                    let diagnostics =
                        format!("`{}.{plain}` cannot have extensions", structure.name);
                    self.report(IssueCode::Structure, &place, diagnostics);
                }
            } else if !(name == "resourceType" && structure.kind == Kind::Resource) {
                let diagnostics = unknown(name, structure);
                self.report(
                    IssueCode::Structure,
                    &place.child(&excerpt(name)),
                    diagnostics,
                );
            }
        }
        for element in seen.missing(structure) {
            let choice = if element.choice { "[x]" } else { "" };
            self.report(
                IssueCode::Required,
                place,
                format!("`{}.{}{choice}` is missing", structure.name, element.name),
            );
        }
        rules::object(self, map, structure, place);
    }

    /// Notes that an element occurs. Of a choice only one may; its companion is part of it.
    fn note<'m>(&mut self, seen: &mut Seen<'m>, key: &Key<'_>, name: &'m str, place: &Place<'_>) {
        if let Some(other) = seen.add(key, name) {
            let choice = key.element.name;
            self.report(
                IssueCode::Structure,
                place,
                format!("`{other}` and `{name}` exclude each other: `{choice}[x]` has one value"),
            );
        }
    }

    fn element(
        &mut self,
        value: &'w Value,
        key: &Key<'w>,
        map: &'w Map<String, Value>,
        place: &Place<'_>,
    ) {
        match value {
            Value::Array(items) if key.element.many => {
                if items.is_empty() {
                    self.report(
                        IssueCode::Structure,
                        place,
                        "an array must not be empty: leave the element out".to_owned(),
                    );
                }
                // Values may be absent one and all, if each has something to say beside it.
                if !(0..items.len()).all(|index| has_companion(map, key, index)) {
                    self.not_only_nulls(items, place);
                }
                for (index, item) in items.iter().enumerate() {
                    let place = place.item(index);
                    if item.is_null() && has_companion(map, key, index) {
                        continue;
                    }
                    self.content(item, key, &place);
                }
            }
            Value::Array(_) => self.report(
                IssueCode::Structure,
                place,
                "an array stands here, but the element does not repeat".to_owned(),
            ),
            _ if key.element.many => self.report(
                IssueCode::Structure,
                place,
                format!(
                    "the element repeats: an array is expected, not {}",
                    described(value)
                ),
            ),
            _ => self.content(value, key, place),
        }
    }

    fn content(&mut self, value: &'w Value, key: &Key<'w>, place: &Place<'_>) {
        match key.content {
            Content::Primitive(primitive) => self.primitive(value, primitive, key.element, place),
            Content::Resource => self.resource(value, place),
            Content::Complex(id) => match value.as_object() {
                Some(map) => {
                    self.object(map, self.structures.at(id), place);
                    rules::bound_concept(self, map, key, place);
                }
                None => self.report(
                    IssueCode::Structure,
                    place,
                    format!(
                        "an object of the type `{}` is expected, not {}",
                        key.kind,
                        described(value)
                    ),
                ),
            },
        }
    }

    fn primitive(
        &mut self,
        value: &Value,
        primitive: Primitive,
        element: &Element,
        place: &Place<'_>,
    ) {
        if !primitive.accepts(value) {
            return self.report(
                IssueCode::Value,
                place,
                format!("{} is not {}", shortened(value), primitive.form()),
            );
        }
        if let (Primitive::Code, Some(binding), Some(code)) =
            (primitive, &element.binding, value.as_str())
            && !binding.has_code(code)
        {
            self.report(
                IssueCode::CodeInvalid,
                place,
                rules::not_in_value_set(code, binding, rules::Coding::CodeOnly),
            );
        }
    }

    /// The `_name` beside a primitive, which holds its id and extensions.
    fn companion(
        &mut self,
        value: &'w Value,
        key: &Key<'w>,
        plain: Option<&'w Value>,
        place: &Place<'_>,
    ) {
        if !matches!(key.content, Content::Primitive(_)) {
            return self.report(
                IssueCode::Structure,
                place,
                "only a primitive element has a companion that starts with `_`".to_owned(),
            );
        }
        match value {
            Value::Array(items) if key.element.many => {
                self.not_only_nulls(items, place);
                for (index, item) in items.iter().enumerate() {
                    let place = place.item(index);
                    if !item.is_null() {
                        self.companion_object(item, &place);
                    } else if plain.is_none() {
                        self.report(
                            IssueCode::Structure,
                            &place,
                            "a null stands here for a value that has no extensions, but there is no value".to_owned(),
                        );
                    }
                }
                if let Some(Value::Array(values)) = plain
                    && values.len() != items.len()
                {
                    self.report(
                        IssueCode::Structure,
                        place,
                        format!("{} values have {} companions", values.len(), items.len()),
                    );
                }
            }
            _ if key.element.many => self.report(
                IssueCode::Structure,
                place,
                "the element repeats: its companion must be an array".to_owned(),
            ),
            _ => self.companion_object(value, place),
        }
    }

    /// Nulls only fill up: an array of nothing else says nothing.
    fn not_only_nulls(&mut self, items: &[Value], place: &Place<'_>) {
        if !items.is_empty() && items.iter().all(Value::is_null) {
            self.report(
                IssueCode::Structure,
                place,
                "an array must not hold only nulls: leave it out".to_owned(),
            );
        }
    }

    fn companion_object(&mut self, value: &'w Value, place: &Place<'_>) {
        let element = self
            .structures
            .get("Element")
            .expect("the definitions have the type Element");
        match value.as_object() {
            Some(map) => self.object(map, element, place),
            None => self.report(
                IssueCode::Structure,
                place,
                format!(
                    "the companion of a primitive must be an object, not {}",
                    described(value)
                ),
            ),
        }
    }
}

/// Where an element stands, by the key that it is written with.
fn place_of<'p>(parent: &'p Place<'p>, key: &Key<'p>, name: &'p str) -> Place<'p> {
    if key.element.choice {
        parent.choice(key.element.name, key.kind)
    } else {
        parent.child(name)
    }
}

/// Which elements of a structure occurred, and by which key.
#[derive(Default)]
struct Seen<'m> {
    positions: u64,
    /// The key of each choice so far; there are few, and most objects have none.
    choices: Vec<(usize, &'m str)>,
}

impl<'m> Seen<'m> {
    /// Notes an element; returns the other key if a choice was already made differently.
    fn add(&mut self, key: &Key<'_>, name: &'m str) -> Option<&'m str> {
        self.positions |= 1 << key.position;
        if !key.element.choice {
            return None;
        }
        match self
            .choices
            .iter()
            .find(|(position, _)| *position == key.position)
        {
            Some((_, other)) => Some(*other).filter(|other| *other != name),
            None => {
                self.choices.push((key.position, name));
                None
            }
        }
    }

    fn missing<'s>(&self, structure: &'s Structure) -> impl Iterator<Item = &'s Element> + use<'s> {
        let positions = self.positions;
        structure
            .elements
            .iter()
            .enumerate()
            .filter(move |(position, element)| element.min > 0 && positions & (1 << position) == 0)
            .map(|(_, element)| element)
    }
}

/// Whether a null stands for a value that has only extensions. Choices never repeat, so that the element's name is its key.
fn has_companion(map: &Map<String, Value>, key: &Key<'_>, index: usize) -> bool {
    let primitive = matches!(key.content, Content::Primitive(_));
    let companion = map
        .get(&format!("_{}", key.element.name))
        .and_then(|companion| companion.get(index));
    primitive && companion.is_some_and(Value::is_object)
}

fn unknown(name: &str, structure: &Structure) -> String {
    match structure
        .elements
        .iter()
        .find(|element| element.choice && element.name == name)
    {
        Some(element) => {
            let keys: Vec<String> = element
                .types
                .iter()
                .map(|kind| format!("`{}`", crate::expression::json_key(name, kind, true)))
                .collect();
            format!("`{name}[x]` is written with its type: {}", keys.join(", "))
        }
        None => format!("`{}` has no element `{}`", structure.name, excerpt(name)),
    }
}

pub(super) fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The value for a message: as it is, but not endless.
fn shortened(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => described(value).to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            format!("`{}`", excerpt(&value.to_string()))
        }
    }
}
