//! Lists with opaque cursors.
//!
//! A cursor is the direction and the id that a page continues from. It carries the id's prefix,
//! so that the cursor of one list is refused by another.

use axum::extract::FromRequestParts;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::request::Parts;
use proctor_core::id::{Id, Kind};
use proctor_store::page::{Page, PageRequest, PageStart};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    error::ApiError,
    extract::{Json, Query},
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

/// The part of a list that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerialPage<K: Kind>(pub PageRequest<K>);

impl<K: Kind> FromRequestParts<ApiState> for VerialPage<K> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let Query(query) = Query::<VerialPageQuery>::from_request_parts(parts, state).await?;
        Ok(Self(PageRequest {
            limit: query.limit.as_deref().map_or(Ok(DEFAULT_LIMIT), limit)?,
            from: query
                .cursor
                .as_deref()
                .map_or(Ok(PageStart::Newest), read_cursor)?,
            count: false,
        }))
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

impl<T> VerialList<T> {
    /// A list that is never so long that it would need pages.
    pub(super) fn whole(data: Vec<T>) -> Self {
        Self {
            meta: VerialListMeta {
                next: None,
                prev: None,
                limit: LARGEST_LIMIT,
            },
            next_cursor: None,
            data,
        }
    }
}

impl<K: Kind> VerialPage<K> {
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
