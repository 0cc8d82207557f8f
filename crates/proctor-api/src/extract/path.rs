//! Path parameters, typed.
//!
//! What is no id of the right kind names nothing, so it is answered like an unknown one: not
//! found, with a message that shows the form an id should have.

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use proctor_core::id::{Id, Kind};

use crate::{
    dialect::{self, Dialect},
    error::ApiError,
    state::ApiState,
};

/// One parameter of a path, or two in the order of the path.
#[derive(Clone, Copy, Debug)]
pub struct Path<T>(pub T);

/// A type that a path parameter can be parsed into.
pub trait PathParameter: Sized {
    /// Parses the percent-decoded text.
    fn parse(text: &str, dialect: Dialect) -> Result<Self, ApiError>;
}

impl<K: Kind> PathParameter for Id<K> {
    fn parse(text: &str, dialect: Dialect) -> Result<Self, ApiError> {
        Self::from_wire(text, dialect).map_err(|bad| {
            ApiError::not_found(format!("no {} '{}': {bad}", bad.noun(), shortened(text)))
        })
    }
}

impl<T: PathParameter> FromRequestParts<ApiState> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let (texts, dialect) = parameters(parts, state).await?;
        match texts.iter().map(|(_, value)| value).collect::<Vec<_>>()[..] {
            [only] => T::parse(only, dialect).map(Self),
            ref others => Err(wrong_number(1, others.len())),
        }
    }
}

impl<A: PathParameter, B: PathParameter> FromRequestParts<ApiState> for Path<(A, B)> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let (texts, dialect) = parameters(parts, state).await?;
        match texts.iter().map(|(_, value)| value).collect::<Vec<_>>()[..] {
            [first, second] => Ok(Self((
                A::parse(first, dialect)?,
                B::parse(second, dialect)?,
            ))),
            ref others => Err(wrong_number(2, others.len())),
        }
    }
}

async fn parameters(
    parts: &mut Parts,
    state: &ApiState,
) -> Result<(RawPathParams, Dialect), ApiError> {
    let dialect = dialect::of_parts(parts);
    let texts = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| ApiError::not_found("the path is not UTF-8"))?;
    Ok((texts, dialect))
}

/// A handler that asks for other parameters than its route has: a fault of ours.
fn wrong_number(wanted: usize, found: usize) -> ApiError {
    ApiError::internal(std::io::Error::other(format!(
        "the handler takes {wanted} path parameters and its route has {found}"
    )))
}

/// At most the first 60 characters, so that a message stays a message.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
