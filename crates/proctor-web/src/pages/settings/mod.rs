//! `/ui/settings`: keys, Solvers and secrets of the organization. Text that is shown once is in the answer to the form, and nowhere else.

mod keys;
mod secrets;
mod solvers;

use axum::{
    Router,
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::{HeaderValue, header};
use proctor_store::{credentials::IssuedKey, page::PageRequest, page::PageStart};
use secrecy::ExposeSecret as _;

use crate::{error::PageError, state::WebState};

/// How many are on a page.
const A_PAGE: u32 = 100;
/// The longest name.
const LONGEST_NAME: usize = 200;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route(
            "/ui/settings",
            get(async || Redirect::to("/ui/settings/keys")),
        )
        .merge(keys::routes())
        .merge(solvers::routes())
        .merge(secrets::routes())
}

/// The newest of a list.
fn newest<K: proctor_core::id::Kind>() -> PageRequest<K> {
    PageRequest {
        limit: A_PAGE,
        from: PageStart::Newest,
        count: false,
    }
}

/// A name that somebody typed: without what is around it, and not too long.
fn name(typed: &str, what: &str) -> Result<Option<String>, PageError> {
    let name = typed.trim();
    if name.chars().count() > LONGEST_NAME {
        let message = format!("{what} has at most {LONGEST_NAME} characters.");
        return Err(PageError::bad_request(message));
    }
    Ok((!name.is_empty()).then(|| name.to_owned()))
}

/// Refuses to take something away whose name was not typed.
fn check_typed(typed: &str, name: &str) -> Result<(), PageError> {
    match typed.trim() == name.trim() {
        true => Ok(()),
        false => Err(PageError::bad_request(format!(
            "Nothing was changed: type the name exactly as it is, {name}, to confirm."
        ))),
    }
}

/// A key whose text is shown this once.
struct ShownOnce {
    text: String,
    what: String,
}

impl ShownOnce {
    fn of(issued: &IssuedKey) -> Self {
        Self {
            text: issued.secret.expose_secret().to_owned(),
            what: match &issued.key.name {
                Some(name) => name.clone(),
                None => issued.key.prefix.clone(),
            },
        }
    }
}

/// A page that no cache may keep.
fn unkept(page: Result<Response, PageError>) -> Result<Response, PageError> {
    let mut answer = page?.into_response();
    answer
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_away_must_be_named_exactly() {
        assert!(check_typed(" ci ", "ci").is_ok());
        assert!(check_typed("CI", "ci").is_err());
        assert!(check_typed("", "ci").is_err());
        assert_eq!(name("  a ", "It").unwrap().as_deref(), Some("a"));
        assert_eq!(name("  ", "It").unwrap(), None);
        assert!(name(&"x".repeat(201), "It").is_err());
    }
}
