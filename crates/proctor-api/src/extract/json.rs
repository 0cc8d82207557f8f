//! JSON bodies.
//!
//! Both dialects name the field at fault, and take an empty body or `null` for `{}`. Verial
//! refuses fields it does not know, all of them at once; Runloop ignores them.

use axum::{
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use proctor_core::problem::{Problem, in_plain_words, join};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    dialect::{self, Dialect},
    error::{ApiError, ApiErrorKind},
    extract::{
        read_body,
        tree::{Misfit, Node},
    },
    state::ApiState,
};

/// A JSON body, of a request or of a response.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<ApiState> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let dialect = dialect::of_parts(&parts);
        let bytes = read_body(&parts.headers, body, state.body_limit()).await?;
        let content_type = parts
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        parse(&bytes, content_type, dialect).map(Self)
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => (
                [(
                    header::CONTENT_TYPE,
                    HeaderValue::from_static("application/json"),
                )],
                bytes,
            )
                .into_response(),
            Err(error) => ApiError::internal(error).into_response(),
        }
    }
}

/// Reads a `T`.
fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    content_type: Option<&str>,
    dialect: Dialect,
) -> Result<T, ApiError> {
    let read = object(bytes, content_type)?
        .read()
        .map_err(|misfit| data_refusal(&misfit))?;
    match dialect {
        Dialect::Verial if !read.unknown.is_empty() => Err(ApiError::validation(
            read.unknown
                .into_iter()
                .map(|place| Problem::error(place, "is not a known field"))
                .collect(),
        )),
        Dialect::Verial | Dialect::Runloop => Ok(read.value),
    }
}

/// The object that a body is.
fn object(bytes: &[u8], content_type: Option<&str>) -> Result<Node, ApiError> {
    let bytes = match bytes.trim_ascii() {
        b"" | b"null" => b"{}",
        trimmed => trimmed,
    };
    match serde_json::from_slice(bytes) {
        Ok(object @ Node::Object(_)) => Ok(object),
        // serde would take the elements of an array for the fields in their order.
        Ok(_) => Err(ApiError::bad_request("the body must be a JSON object")),
        Err(error) => Err(not_json(&error, content_type)),
    }
}

fn not_json(error: &serde_json::Error, content_type: Option<&str>) -> ApiError {
    match content_type {
        Some(other) if !other.to_ascii_lowercase().contains("json") => ApiError::new(
            ApiErrorKind::UnsupportedMediaType,
            format!("this route reads JSON; the body is not JSON and says it is '{other}'"),
        ),
        _ => ApiError::bad_request(format!("the body is not JSON: {error}")),
    }
}

/// A body that is JSON but of another shape.
fn data_refusal(misfit: &Misfit) -> ApiError {
    let (message, path) = (&*misfit.error.to_string(), &*misfit.place);
    if let Some(field) = quoted(message, "missing field ") {
        ApiError::field(join(path, field), "is required")
    } else if let Some(field) = quoted(message, "duplicate field ") {
        ApiError::field(join(path, field), "is there twice")
    } else {
        let place = if path.is_empty() { "body" } else { path };
        ApiError::field(place, in_plain_words(message))
    }
}

/// The name in backquotes after `prefix`, when that is all there is.
fn quoted<'m>(message: &'m str, prefix: &str) -> Option<&'m str> {
    message
        .strip_prefix(prefix)?
        .strip_prefix('`')?
        .strip_suffix('`')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct Outer {
        name: String,
        #[serde(default)]
        count: Option<u32>,
        #[serde(default)]
        inner: Option<Inner>,
        #[serde(default)]
        list: Vec<Inner>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct Inner {
        weight: f64,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct AllOptional {
        name: Option<String>,
    }

    fn verial(body: &str) -> Result<Outer, ApiError> {
        parse(body.as_bytes(), None, Dialect::Verial)
    }

    fn told(body: &str) -> String {
        verial(body).unwrap_err().message().to_owned()
    }

    #[test]
    fn the_field_at_fault_is_named_with_its_path() {
        assert_eq!(told(r#"{"count":1}"#), "name: is required");
        assert_eq!(
            told(r#"{"name":5}"#),
            "name: must be a text, not the number 5"
        );
        assert_eq!(
            told(r#"{"name":"a","inner":{}}"#),
            "inner.weight: is required"
        );
        assert_eq!(
            told(r#"{"name":"a","list":[{"weight":1},{"weight":"x"}]}"#),
            "list[1].weight: must be a number, not the text \"x\""
        );
        assert_eq!(told(r#"{"name":"a","name":"b"}"#), "name: is there twice");
    }

    #[test]
    fn verial_names_every_unknown_field_and_runloop_takes_them() {
        let body = r#"{"name":"a","x":1,"inner":{"weight":1,"y":{}},"list":[{"weight":1,"z":0}]}"#;
        assert_eq!(
            told(body),
            "inner.y: is not a known field; list.0.z: is not a known field; x: is not a known field"
        );
        let outer: Outer = parse(body.as_bytes(), None, Dialect::Runloop).unwrap();
        assert_eq!(outer.name, "a");
    }

    #[test]
    fn nothing_and_null_are_an_empty_object() {
        for body in ["", " \n", "null", " null "] {
            for dialect in [Dialect::Verial, Dialect::Runloop] {
                let parsed: AllOptional = parse(body.as_bytes(), None, dialect).unwrap();
                assert_eq!(parsed, AllOptional { name: None });
            }
        }
    }

    #[test]
    fn a_body_that_is_json_is_read_whatever_it_says_it_is() {
        let body = br#"{"name":"a"}"#;
        parse::<Outer>(body, Some("text/plain"), Dialect::Verial).unwrap();
        let refused = parse::<Outer>(b"name=a", Some("text/plain"), Dialect::Verial).unwrap_err();
        assert_eq!(*refused.kind(), ApiErrorKind::UnsupportedMediaType);
        let refused =
            parse::<Outer>(b"name=a", Some("Application/JSON"), Dialect::Verial).unwrap_err();
        assert_eq!(*refused.kind(), ApiErrorKind::BadRequest);
    }

    #[test]
    fn a_body_of_another_shape_is_told_what_it_should_be() {
        for body in ["[]", "[\"a\",1,null,[]]", "\"text\"", "5", "true"] {
            assert_eq!(told(body), "the body must be a JSON object", "{body}");
        }
        assert!(told("{\"name\":\"a\"} {}").starts_with("the body is not JSON: trailing"));
        assert!(told(&"[".repeat(100_000)).starts_with("the body"));
        let deep = format!("{{\"u\":{}", "[".repeat(100_000));
        let refused = parse::<serde_json::Value>(deep.as_bytes(), None, Dialect::Verial);
        assert!(refused.unwrap_err().message().contains("recursion limit"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_value_or_a_refusal(bytes: Vec<u8>) {
            let _ = parse::<Outer>(&bytes, None, Dialect::Verial);
            let _ = parse::<Outer>(&bytes, Some("x"), Dialect::Runloop);
        }
    }
}
