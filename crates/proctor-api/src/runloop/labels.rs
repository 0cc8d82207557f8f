//! Notes of owners: texts by name, on many kinds of things.

use std::{collections::BTreeMap, convert::Infallible};

use axum::extract::FromRequestParts;
use http::request::Parts;
use utoipa::IntoParams;

use crate::{extract::Checks, state::ApiState};

const MOST: usize = 100;
const LONGEST_NAME: usize = 255;
const LONGEST_TEXT: usize = 4096;

/// The notes of a request.
pub(crate) fn checked(
    checks: &mut Checks,
    field: &str,
    labels: Option<BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let labels = labels.unwrap_or_default();
    if labels.len() > MOST {
        checks.refuse(field, format!("must have at most {MOST} entries"));
        return BTreeMap::new();
    }
    for (name, text) in &labels {
        checks.text(field, Some(name.clone()), 1..=LONGEST_NAME);
        checks.text(field, Some(text.clone()), 0..=LONGEST_TEXT);
    }
    labels
}

/// Looking by notes; `key` stands for the name of one.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "describes what `LabelFilter` reads: the names of parameters hold the names of notes"
)]
pub(crate) struct LabelQuery {
    /// Only those with this note. May be there for several names.
    #[param(rename = "metadata[key]")]
    one: Option<String>,
    /// Only those where the note is one of these, with commas between them.
    #[param(rename = "metadata[key][in]")]
    several: Option<String>,
}

/// The notes that are looked for: under each name one of the texts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LabelFilter(pub(crate) BTreeMap<String, Vec<String>>);

impl FromRequestParts<ApiState> for LabelFilter {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Self, Infallible> {
        Ok(Self::read(parts.uri.query().unwrap_or_default()))
    }
}

impl LabelFilter {
    pub(super) fn read(query: &str) -> Self {
        let mut wanted: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (parameter, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(rest) = parameter.strip_prefix("metadata[") else {
                continue;
            };
            let (name, values) = if let Some(name) = rest.strip_suffix("][in]") {
                let values = value.split(',').map(|text| text.trim().to_owned());
                (name, values.collect())
            } else if let Some(name) = rest.strip_suffix(']') {
                (name, vec![value.into_owned()])
            } else {
                continue;
            };
            // Said twice, both must hold.
            match wanted.get_mut(name) {
                Some(known) => known.retain(|text| values.contains(text)),
                None => drop(wanted.insert(name.to_owned(), values)),
            }
        }
        Self(wanted)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn notes_are_looked_for_by_name_with_one_text_or_several() {
        let read = |query: &str| LabelFilter::read(query).0;
        let expected = |name: &str, values: &[&str]| {
            let values = values.iter().map(|&text| text.to_owned()).collect();
            (name.to_owned(), values)
        };
        assert_eq!(
            read("metadata[team]=a%2Cb&limit=3&metadata%5Bstage%5D%5Bin%5D=x,%20y"),
            BTreeMap::from([expected("team", &["a,b"]), expected("stage", &["x", "y"])])
        );
        assert_eq!(
            read("metadata[a]=1&metadata[a]=2"),
            BTreeMap::from([expected("a", &[])])
        );
        assert_eq!(
            read("metadata[a][in]=1,2,3&metadata[a]=2"),
            BTreeMap::from([expected("a", &["2"])])
        );
        assert_eq!(read("metadata=1&metadata[a=1&name=x"), BTreeMap::new());
    }

    proptest! {
        #[test]
        fn any_query_is_read(query in ".{0,80}") {
            let _ = LabelFilter::read(&query);
        }
    }
}
