//! Lists with opaque cursors.
//!
//! A cursor is the direction and the id that a page continues from. It carries the id's prefix,
//! so that the cursor of one list is refused by another.
//!
//! A list refuses parameters that it does not know: a filter with a typing error would show everything.

use axum::extract::FromRequestParts;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::request::Parts;
use proctor_core::{
    id::{Id, Kind},
    problem::Problem,
};
use proctor_store::page::{Page, PageRequest, PageStart};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use utoipa::{IntoParams, ToSchema, openapi::path::Parameter};

use crate::{
    error::ApiError,
    extract::{Json, Query, shortened},
    state::ApiState,
};

const DEFAULT_LIMIT: u32 = 20;
const LARGEST_LIMIT: u32 = 100;

/// The parameters of every list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct VerialPageQuery {
    /// How many to return: 1 to 100, larger values clamp; 20 when absent.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// Where to continue: `next_cursor`, `_meta.next` or `_meta.prev` of an earlier answer.
    cursor: Option<String>,
}

/// A list that knows no parameters but those of every list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, IntoParams)]
pub struct NoFilter {}

/// The part of a list that a request asks for, and the parameters by which `F` chooses what is on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerialPage<K: Kind, F = NoFilter>(pub PageRequest<K>, pub F);

impl<K: Kind, F: DeserializeOwned + IntoParams + Send> FromRequestParts<ApiState>
    for VerialPage<K, F>
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        refuse_unknown(
            parts,
            &[
                F::into_params(|| None),
                VerialPageQuery::into_params(|| None),
            ],
        )?;
        let Query(query) = Query::<VerialPageQuery>::from_request_parts(parts, state).await?;
        let Query(filter) = Query::<F>::from_request_parts(parts, state).await?;
        let page = PageRequest {
            limit: query.limit.as_deref().map_or(Ok(DEFAULT_LIMIT), limit)?,
            from: query
                .cursor
                .as_deref()
                .map_or(Ok(PageStart::Newest), read_cursor)?,
            count: false,
        };
        Ok(Self(page, filter))
    }
}

/// Proof that a request has no parameters, where a list is always shown whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoParameters;

impl FromRequestParts<ApiState> for NoParameters {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Self, ApiError> {
        refuse_unknown(parts, &[]).map(|()| Self)
    }
}

/// The parameters of a request that is not for a list. One that is not known is refused: a misspelt one would change nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned + IntoParams + Send> FromRequestParts<ApiState> for Parameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        refuse_unknown(parts, &[T::into_params(|| None)])?;
        let Query(read) = Query::<T>::from_request_parts(parts, state).await?;
        Ok(Self(read))
    }
}

/// Names every parameter of a request that is not among the `known`.
fn refuse_unknown(parts: &Parts, known: &[Vec<Parameter>]) -> Result<(), ApiError> {
    let Some(query) = parts.uri.query() else {
        return Ok(());
    };
    let mut known: Vec<&str> = known
        .iter()
        .flatten()
        .map(|one| one.name.as_str())
        .collect();
    known.sort_unstable();
    let mut problems: Vec<Problem> = Vec::new();
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        if known.contains(&&*name) || problems.iter().any(|problem| problem.path == name) {
            continue;
        }
        let message = match known.is_empty() {
            true => "is no parameter of this list: it has none".to_owned(),
            false => format!("is no parameter of this list: it has {}", known.join(", ")),
        };
        problems.push(Problem::error(shortened(&name), message));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(ApiError::validation(problems)),
    }
}

fn limit(text: &str) -> Result<u32, ApiError> {
    match text.parse::<u128>() {
        Ok(0) | Err(_) => Err(ApiError::field(
            "limit",
            format!("must be a whole number from 1 to {LARGEST_LIMIT}"),
        )),
        Ok(limit) => {
            Ok(u32::try_from(limit).map_or(LARGEST_LIMIT, |limit| limit.min(LARGEST_LIMIT)))
        }
    }
}

/// What stands before the id in a cursor.
const OLDER: &str = "older:";
const NEWER: &str = "newer:";

fn read_cursor<K: Kind>(cursor: &str) -> Result<PageStart<K>, ApiError> {
    let bad = || ApiError::bad_request("the cursor is none that this list handed out");
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    let read = |id: &str| id.parse().map_err(|_| bad());
    if let Some(id) = text.strip_prefix(OLDER) {
        read(id).map(PageStart::After)
    } else if let Some(id) = text.strip_prefix(NEWER) {
        read(id).map(PageStart::Before)
    } else {
        Err(bad())
    }
}

fn write_cursor<K: Kind>(direction: &str, id: Id<K>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{direction}{id}"))
}

/// A part of a list, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerialList<T> {
    data: Vec<T>,
    #[serde(rename = "_meta")]
    meta: VerialListMeta,
    /// The same as `_meta.next`.
    next_cursor: Option<String>,
}

/// Where a list goes on.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerialListMeta {
    /// The cursor of the next, older page; null on the last.
    next: Option<String>,
    /// The cursor of the previous, newer page; null on the first.
    prev: Option<String>,
    /// How many were asked for, after clamping.
    limit: u32,
}

impl<K: Kind, F> VerialPage<K, F> {
    /// The part of a list that is in memory, in the list's own order; `id` says where an item stands.
    pub(super) fn part_of<T>(&self, all: Vec<T>, id: impl Fn(&T) -> Id<K>) -> Page<T> {
        let limit = self.0.limit as usize;
        let place = |wanted: Id<K>| all.iter().position(|item| id(item) == wanted);
        let begin = match self.0.from {
            PageStart::Newest => 0,
            // What a cursor names never goes away from these lists.
            PageStart::After(last) => place(last).map_or(all.len(), |place| place + 1),
            PageStart::Before(first) => place(first).unwrap_or(0).saturating_sub(limit),
        };
        let end = match self.0.from {
            PageStart::Before(first) => place(first).unwrap_or(0),
            PageStart::Newest | PageStart::After(_) => (begin + limit).min(all.len()),
        };
        let has_more = end < all.len();
        Page {
            items: all.into_iter().skip(begin).take(end - begin).collect(),
            has_more,
            has_previous: begin > 0,
            total: None,
        }
    }

    /// The answer that shows `page`.
    pub fn answer<T, V>(
        &self,
        page: Page<T>,
        id: impl Fn(&T) -> Id<K>,
        view: impl FnMut(T) -> V,
    ) -> Json<VerialList<V>> {
        let at = |item: Option<&T>, direction, wanted: bool| {
            item.filter(|_| wanted)
                .map(|item| write_cursor(direction, id(item)))
        };
        let next = at(page.items.last(), OLDER, page.has_more);
        let prev = at(page.items.first(), NEWER, page.has_previous);
        Json(VerialList {
            meta: VerialListMeta {
                next: next.clone(),
                prev,
                limit: self.0.limit,
            },
            next_cursor: next,
            data: page.items.into_iter().map(view).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::id::kinds::{CredentialKind, SolverId, SolverKind};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn limits_clamp_above_and_are_refused_below() {
        for (text, read) in [
            ("1", 1),
            ("100", 100),
            ("101", 100),
            ("99999999999999999999", 100),
        ] {
            assert_eq!(limit(text).unwrap(), read);
        }
        for text in ["0", "-1", "", "ten", "1.5", "+ 3"] {
            assert!(
                limit(text).unwrap_err().message().starts_with("limit: "),
                "{text}"
            );
        }
    }

    #[test]
    fn a_cursor_belongs_to_its_list() {
        let solver = SolverId::from_uuid(Uuid::from_u128(1));
        let cursor = write_cursor(OLDER, solver);
        assert_eq!(
            read_cursor::<SolverKind>(&cursor).unwrap(),
            PageStart::After(solver)
        );
        read_cursor::<CredentialKind>(&cursor).unwrap_err();
    }

    proptest! {
        #[test]
        fn any_text_is_a_cursor_or_a_refusal(text in ".{0,60}") {
            let _ = read_cursor::<SolverKind>(&text);
        }

        #[test]
        fn what_was_written_is_read(bits: u128) {
            let id = SolverId::from_uuid(Uuid::from_u128(bits));
            prop_assert_eq!(read_cursor(&write_cursor(NEWER, id)).unwrap(), PageStart::Before(id));
        }
    }
}
