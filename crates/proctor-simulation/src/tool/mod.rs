//! What a simulator offers to agents that call tools: a name, a description, a JSON Schema of the arguments, and how a call
//! becomes a request of the simulator's own routes.
//!
//! A tool is data. It adds nothing to what its simulator can do, so a call and an HTTP request of an agent are the same event.

mod request;

use http::Method;
use serde_json::{Map, Value, json};

/// One operation of a simulator.
#[derive(Debug)]
pub struct Tool {
    /// Its name; it begins with the simulator's word, so that no two simulators have the same.
    pub name: &'static str,
    /// What it does, for a model that has to choose.
    pub description: &'static str,
    /// What a call does to the world.
    pub effect: Effect,
    /// The method of the request.
    pub method: Method,
    /// The path of the request below the playground; `{name}` is where an argument goes.
    pub path: &'static str,
    /// The arguments.
    pub arguments: &'static [Argument],
}

/// What a call of a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only looks.
    Reads,
    /// It adds something.
    Adds,
    /// It changes or removes something.
    Changes,
}

/// An argument of a tool.
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
    /// What it looks like.
    pub shape: Shape,
    /// Where in the request it goes.
    pub place: Place,
    /// Whether a call must have it.
    pub required: bool,
}

/// What an argument looks like.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A text.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number.
    Integer,
    /// A list of texts.
    Texts,
    /// A list of anything.
    List,
    /// An object.
    Object,
}

/// Where in a request an argument goes.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In the path, as one segment.
    Segment,
    /// In the path, where slashes stay slashes.
    Path,
    /// In the query, by its name.
    Query,
    /// Each member of the object is in the query; a list repeats its parameter.
    Queries,
    /// A header.
    Header(&'static str),
    /// A member of the JSON object that is the body.
    Member,
    /// The argument is the body, in JSON with this media type.
    Json(&'static str),
    /// The text is the body.
    Text,
    /// The body, written in base64.
    Base64,
}

impl Place {
    /// Whether the argument is all of the body.
    fn is_body(self) -> bool {
        matches!(self, Self::Json(_) | Self::Text | Self::Base64)
    }
}

impl Argument {
    /// An argument that every call has.
    pub const fn required(
        name: &'static str,
        shape: Shape,
        place: Place,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            description,
            shape,
            place,
            required: true,
        }
    }

    /// An argument that a call may have.
    pub const fn optional(
        name: &'static str,
        shape: Shape,
        place: Place,
        description: &'static str,
    ) -> Self {
        Self {
            required: false,
            ..Self::required(name, shape, place, description)
        }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.shape {
            Shape::Text => json!({"type": "string"}),
            Shape::OneOf(words) => json!({"type": "string", "enum": words}),
            Shape::Integer => json!({"type": "integer"}),
            Shape::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Shape::List => json!({"type": "array", "items": {}}),
            Shape::Object => json!({"type": "object"}),
        };
        schema["description"] = self.description.into();
        schema
    }
}

impl Tool {
    /// The JSON Schema of its arguments.
    pub fn input_schema(&self) -> Value {
        input_schema(self.arguments)
    }
}

/// The JSON Schema of an object with these members and no others.
pub fn input_schema(arguments: &[Argument]) -> Value {
    let properties: Map<String, Value> = arguments
        .iter()
        .map(|argument| (argument.name.to_owned(), argument.schema()))
        .collect();
    let required: Vec<&str> = arguments
        .iter()
        .filter(|argument| argument.required)
        .map(|argument| argument.name)
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

pub use request::check;
