//! The document, arranged in the order of reading.

use askama::Template;
use serde_json::{Map, Value};

/// The methods of a path item in the order in which people expect them.
const METHODS: [&str; 6] = ["get", "post", "put", "patch", "delete", "head"];

#[derive(Template)]
#[template(path = "docs.html")]
pub(super) struct Page {
    title: String,
    version: String,
    description: Prose,
    schemes: Vec<Named>,
    groups: Vec<Group>,
    schemas: Vec<Schema>,
}

struct Named {
    name: String,
    description: Prose,
}

/// The operations under one tag.
struct Group {
    name: String,
    anchor: String,
    description: Prose,
    operations: Vec<Operation>,
}

struct Operation {
    anchor: String,
    method: String,
    path: String,
    summary: Prose,
    description: Prose,
    credentials: Vec<String>,
    parameters: Vec<Field>,
    body: Option<Type>,
    responses: Vec<Response>,
}

struct Response {
    status: String,
    description: Prose,
    body: Option<Type>,
}

/// A parameter, or a property of a schema.
struct Field {
    name: String,
    place: String,
    required: bool,
    kind: Type,
    description: Prose,
}

struct Schema {
    name: String,
    description: Prose,
    kind: Type,
    fields: Vec<Field>,
}

/// A sentence; what stood in backquotes is code.
struct Prose(Vec<Piece>);

enum Piece {
    Words(String),
    Code(String),
}

/// A type in words, with a link when one of the words is a schema.
struct Type {
    before: String,
    schema: Option<String>,
}

impl Page {
    pub(super) fn of(document: &Value) -> Self {
        let schemas = entries(&document["components"]["schemas"]);
        Self {
            title: text(&document["info"]["title"]),
            version: text(&document["info"]["version"]),
            description: prose(&document["info"]["description"]),
            schemes: entries(&document["components"]["securitySchemes"])
                .map(|(name, scheme)| Named {
                    name: name.clone(),
                    description: prose(&scheme["description"]),
                })
                .collect(),
            groups: groups(document),
            schemas: schemas
                .map(|(name, schema)| Schema::of(name, schema))
                .collect(),
        }
    }
}

fn groups(document: &Value) -> Vec<Group> {
    items(&document["tags"])
        .map(|tag| {
            let name = text(&tag["name"]);
            Group {
                anchor: anchor(&name),
                description: prose(&tag["description"]),
                operations: operations_tagged(document, &name),
                name,
            }
        })
        .filter(|group| !group.operations.is_empty())
        .collect()
}

fn operations_tagged(document: &Value, tag: &str) -> Vec<Operation> {
    entries(&document["paths"])
        .flat_map(|(path, item)| {
            METHODS
                .iter()
                .filter_map(move |method| Some((path, *method, item.get(*method)?)))
        })
        .filter(|(_, _, operation)| items(&operation["tags"]).any(|name| name == tag))
        .map(|(path, method, operation)| Operation::of(path, method, operation))
        .collect()
}

impl Operation {
    fn of(path: &str, method: &str, operation: &Value) -> Self {
        Self {
            anchor: anchor(&format!("{method} {path}")),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: prose(&operation["summary"]),
            description: prose(&operation["description"]),
            credentials: items(&operation["security"])
                .filter_map(Value::as_object)
                .flat_map(Map::keys)
                .cloned()
                .collect(),
            parameters: items(&operation["parameters"])
                .map(|parameter| Field {
                    name: text(&parameter["name"]),
                    place: text(&parameter["in"]),
                    required: parameter["required"] == true,
                    kind: Type::of(&parameter["schema"]),
                    description: prose(&parameter["description"]),
                })
                .collect(),
            body: content_type(&operation["requestBody"]),
            responses: entries(&operation["responses"])
                .map(|(status, response)| Response {
                    status: status.clone(),
                    description: prose(&response["description"]),
                    body: content_type(response),
                })
                .collect(),
        }
    }
}

impl Schema {
    fn of(name: &str, schema: &Value) -> Self {
        let required: Vec<_> = items(&schema["required"])
            .filter_map(Value::as_str)
            .collect();
        Self {
            name: name.to_owned(),
            description: prose(&schema["description"]),
            kind: Type::of(schema),
            fields: entries(&schema["properties"])
                .map(|(name, property)| Field {
                    name: name.clone(),
                    place: String::new(),
                    required: required.contains(&name.as_str()),
                    kind: Type::of(property),
                    description: prose(&property["description"]),
                })
                .collect(),
        }
    }
}

impl Type {
    fn of(schema: &Value) -> Self {
        let (before, schema) = words(schema);
        Self { before, schema }
    }
}

/// A schema in words: what comes before the name of a schema, and that name.
fn words(schema: &Value) -> (String, Option<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return (String::new(), Some(name.to_owned()));
    }
    if let Some(alternatives) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let mut known = alternatives.iter().filter(|one| one["type"] != "null");
        return match (known.next(), known.next()) {
            (Some(only), None) => {
                let (before, name) = words(only);
                (format!("nullable {before}"), name)
            }
            _ => ("one of several".to_owned(), None),
        };
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values.iter().map(Value::to_string).collect();
        return (values.join(" | "), None);
    }
    let (nullable, name) = match &schema["type"] {
        Value::String(name) => ("", name.as_str()),
        Value::Array(names) => (
            if names.iter().any(|name| name == "null") {
                "nullable "
            } else {
                ""
            },
            names
                .iter()
                .filter_map(Value::as_str)
                .find(|name| *name != "null")
                .unwrap_or("any"),
        ),
        _ => ("", "any"),
    };
    match name {
        "array" => {
            let (before, name) = words(&schema["items"]);
            (format!("{nullable}array of {before}"), name)
        }
        "object" if schema["additionalProperties"].is_object() => {
            let (before, name) = words(&schema["additionalProperties"]);
            (format!("{nullable}map to {before}"), name)
        }
        name => {
            let notes: Vec<String> = [schema["format"].as_str().map(str::to_owned), length(schema)]
                .into_iter()
                .flatten()
                .collect();
            if notes.is_empty() {
                (format!("{nullable}{name}"), None)
            } else {
                (format!("{nullable}{name} ({})", notes.join(", ")), None)
            }
        }
    }
}

/// How long a text may be, in words.
fn length(schema: &Value) -> Option<String> {
    let longest = schema["maxLength"].as_u64()?;
    Some(match schema["minLength"].as_u64() {
        Some(shortest) => format!("{shortest}–{longest} characters"),
        None => format!("at most {longest} characters"),
    })
}

/// The type of the first kind of content, in words.
fn content_type(holder: &Value) -> Option<Type> {
    let (media_type, content) = entries(&holder["content"]).next()?;
    if media_type == "application/json" {
        Some(Type::of(&content["schema"]))
    } else {
        Some(Type {
            before: media_type.clone(),
            schema: None,
        })
    }
}

fn anchor(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect()
}

/// Text with code in backquotes.
fn prose(value: &Value) -> Prose {
    let pieces = value.as_str().unwrap_or_default().split('`').enumerate();
    Prose(
        pieces
            .filter(|(_, text)| !text.is_empty())
            .map(|(place, text)| match place % 2 {
                0 => Piece::Words(text.to_owned()),
                _ => Piece::Code(text.to_owned()),
            })
            .collect(),
    )
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_read_like_words() {
        let told = |schema: Value| {
            let (before, name) = words(&schema);
            format!("{before}{}", name.unwrap_or_default())
        };
        assert_eq!(told(json!({"type": "string"})), "string");
        assert_eq!(
            told(json!({"type": ["string", "null"], "format": "date-time"})),
            "nullable string (date-time)"
        );
        assert_eq!(
            told(json!({"type": "array", "items": {"$ref": "#/components/schemas/Solver"}})),
            "array of Solver"
        );
        assert_eq!(
            told(
                json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}})
            ),
            "map to array of string"
        );
        assert_eq!(
            told(json!({"oneOf": [{"type": "null"}, {"$ref": "#/x/Y"}]})),
            "nullable Y"
        );
        assert_eq!(told(json!({"enum": ["a", "b"]})), "\"a\" | \"b\"");
        assert_eq!(
            told(json!({"type": "string", "minLength": 1, "maxLength": 9})),
            "string (1–9 characters)"
        );
        assert_eq!(told(json!({})), "any");
    }
}
