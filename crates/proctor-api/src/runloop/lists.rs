//! What the lists of this dialect have in common: looking by name, and by state.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::FromRequestParts;
use http::request::Parts;
use proctor_store::names::{Sought, WantedLabels};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::labels::LabelFilter;
use crate::{
    error::ApiError,
    extract::{Query, shortened},
    state::ApiState,
};

/// Looking by name.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SoughtQuery {
    /// Only those of exactly this name; if there are none, those that contain it in any case.
    name: Option<String>,
    /// Only those whose id begins with this or whose name contains it in any case.
    search: Option<String>,
    /// Read by [`Labelled`].
    #[serde(skip)]
    #[param(ignore)]
    labels: WantedLabels,
}

/// Looking by name and by labels.
pub(crate) struct Labelled(pub(super) SoughtQuery);

impl FromRequestParts<ApiState> for Labelled {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let Query(sought) = Query::<SoughtQuery>::from_request_parts(parts, state).await?;
        let labels = LabelFilter::read(parts.uri.query().unwrap_or_default()).0;
        Ok(Self(SoughtQuery { labels, ..sought }))
    }
}

impl SoughtQuery {
    pub(super) fn into_sought(self) -> Sought {
        Sought {
            name: self.name,
            search: self.search,
            labels: self.labels,
        }
    }
}

/// The values that a comma-separated list names; no list and an empty one ask for everything.
pub(super) fn several<T: Copy>(
    field: &str,
    list: Option<&str>,
    all: &[(&'static str, T)],
) -> Result<Option<Vec<T>>, ApiError> {
    let words: Vec<&str> = list
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return Ok(None);
    }
    let mut wanted = Vec::with_capacity(words.len());
    for word in words {
        let named = all
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(word));
        let before = wanted.len();
        wanted.extend(named.map(|(_, value)| *value));
        if wanted.len() == before {
            let names: BTreeSet<_> = all.iter().map(|(name, _)| *name).collect();
            let names: Vec<_> = names.into_iter().collect();
            let message = format!("'{}' is none of {}", shortened(word), names.join(", "));
            return Err(ApiError::field(field, message));
        }
    }
    Ok(Some(wanted))
}

/// The keys that metadata has.
#[derive(Serialize, ToSchema)]
pub(crate) struct MetadataKeysView {
    keys: Vec<String>,
}

/// The values that a key of metadata has.
#[derive(Serialize, ToSchema)]
pub(crate) struct MetadataValuesView {
    key: String,
    values: Vec<String>,
}

/// All labels: keys with their values.
pub(super) type Labels = BTreeMap<String, BTreeSet<String>>;

impl MetadataKeysView {
    pub(super) fn of(labels: Labels) -> Self {
        Self {
            keys: labels.into_keys().collect(),
        }
    }
}

impl MetadataValuesView {
    /// The values of `key`; one that nothing has is the client's mistake.
    pub(super) fn of(mut labels: Labels, key: String) -> Result<Self, ApiError> {
        let Some(values) = labels.remove(&key) else {
            let message = format!("no metadata has the key '{}'", shortened(&key));
            return Err(ApiError::field("key", message));
        };
        Ok(Self {
            values: values.into_iter().collect(),
            key,
        })
    }
}

/// A key of metadata in a path: any text.
pub(crate) struct MetadataKey(pub(super) String);

impl crate::extract::PathParameter for MetadataKey {
    fn parse(text: &str, _: proctor_core::id::Dialect) -> Result<Self, ApiError> {
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [(&str, u8); 3] = [("running", 1), ("running", 2), ("failed", 3)];

    #[test]
    fn several_values_arrive_in_one_text() {
        let read = |text| several("state", Some(text), &STATES).unwrap();
        assert_eq!(read("running, Failed"), Some(vec![1, 2, 3]));
        assert_eq!(read(" ,"), None);
        assert_eq!(several("state", None, &STATES).unwrap(), None);
        let refused = several("state", Some("failed,gone"), &STATES).unwrap_err();
        assert_eq!(
            refused.message(),
            "state: 'gone' is none of failed, running"
        );
    }
}
