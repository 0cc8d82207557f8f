//! Query strings, typed, with errors that name the parameter.

use axum::extract::FromRequestParts;
use http::request::Parts;
use proctor_core::problem::in_plain_words;
use serde::de::DeserializeOwned;

use crate::{
    dialect::{self, Dialect},
    error::ApiError,
    extract::tree::Node,
    state::ApiState,
};

/// The query string as a `T`. Unknown parameters are ignored in both dialects. In Runloop's an empty parameter is as good as one
/// that was left out: its clients send those for what they were not told.
#[derive(Clone, Copy, Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<ApiState> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        match dialect::of_parts(parts) {
            Dialect::Verial => parse(query),
            Dialect::Runloop => parse(&without_empty(query)),
        }
        .map(Self)
    }
}

/// A query string without its empty parameters.
fn without_empty(query: &str) -> String {
    let given = form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty());
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(given)
        .finish()
}

/// Parses a query string.
pub(crate) fn parse<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let parameters =
        pairs.map(|(name, value)| (name.into_owned(), Node::Parameter(value.into_owned())));
    Node::Object(parameters.collect())
        .read()
        .map(|read| read.value)
        .map_err(|misfit| {
            let message = told(&misfit.error.to_string());
            match misfit.place.is_empty() {
                true => ApiError::bad_request(format!("the query string: {message}")),
                false => ApiError::field(misfit.place, message),
            }
        })
}

/// What is said of a parameter that is not what it should be, without the words that Rust has for it.
fn told(message: &str) -> String {
    let plain = match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "must be a whole number"
        }
        "number too large to fit in target type" | "number too small to fit in target type" => {
            "is a number out of range"
        }
        "invalid float literal" | "cannot parse float from empty string" => "must be a number",
        "provided string was not `true` or `false`" => "must be true or false",
        other => return in_plain_words(other),
    };
    plain.to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Filter {
        limit: Option<i64>,
        name: Option<String>,
    }

    #[test]
    fn parameters_are_decoded_and_unknown_ones_ignored() {
        let filter: Filter = parse("name=a%20b+c&x=1&limit=-3").unwrap();
        assert_eq!(
            filter,
            Filter {
                limit: Some(-3),
                name: Some("a b c".into())
            }
        );
    }

    #[test]
    fn the_parameter_at_fault_is_named() {
        let told = |query| parse::<Filter>(query).unwrap_err().message().to_owned();
        assert_eq!(told("limit=ten"), "limit: must be a whole number");
        assert_eq!(told("limit="), "limit: must be a whole number");
        assert_eq!(
            told("limit=99999999999999999999"),
            "limit: is a number out of range"
        );
        assert_eq!(
            told("name=a&name=b"),
            "the query string: 'name' is there twice"
        );
    }

    #[test]
    fn empty_parameters_can_be_left_out() {
        let filter: Filter = parse(&without_empty("limit=&name=a%20b%26&name=")).unwrap();
        assert_eq!(
            filter,
            Filter {
                limit: None,
                name: Some("a b&".into())
            }
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_query_or_a_refusal(query in ".{0,80}") {
            let _ = parse::<Filter>(&query);
        }
    }
}
