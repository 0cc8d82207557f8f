//! How much of a resource is shown: `_summary` and `_elements`.

use bytes::Bytes;
use proctor_fhir::summary::{SummaryView, summarized, with_elements};
use serde_json::Value;

use super::{
    outcome::{Answer, IssueCode, Refusal},
    query,
    resource::to_bytes,
};

/// How much of a resource is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Everything.
    Full,
    /// What the definitions mark as summary.
    Summary,
    /// The narrative and what is mandatory.
    Text,
    /// Everything but the narrative.
    Data,
    /// Nothing but how many there are.
    Count,
    /// These elements and what is mandatory.
    Elements(Vec<String>),
}

impl View {
    /// The view that `_summary` names.
    pub(crate) fn summary(value: &str) -> Option<Self> {
        match value {
            "true" => Some(Self::Summary),
            "false" => Some(Self::Full),
            "text" => Some(Self::Text),
            "data" => Some(Self::Data),
            "count" => Some(Self::Count),
            _ => None,
        }
    }

    /// The view that `_elements` names.
    pub(crate) fn elements(value: &str) -> Self {
        let names = value
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        Self::Elements(names.map(str::to_owned).collect())
    }

    /// The view that a query asks for.
    pub(crate) fn from_query(query: &str) -> Answer<Self> {
        // Most reads have no query.
        if query.is_empty() {
            return Ok(Self::Full);
        }
        if let Some(value) = query::first(query, "_summary") {
            return Self::summary(&value).filter(|view| *view != Self::Count).ok_or_else(|| {
                Refusal::bad_request(
                    IssueCode::Value,
                    format!("'{value}' is no value for _summary here: true, false, text or data is expected"),
                )
                .at("http._summary")
            });
        }
        let elements = query::first(query, "_elements");
        Ok(elements.map_or(Self::Full, |value| Self::elements(&value)))
    }

    /// The part of a stored resource that is shown.
    pub(crate) fn apply(&self, body: &Bytes) -> Bytes {
        if matches!(self, Self::Full | Self::Count) {
            return body.clone();
        }
        let Ok(resource) = serde_json::from_slice::<Value>(body) else {
            return body.clone();
        };
        let shown = match self {
            Self::Full | Self::Count => resource,
            Self::Summary => summarized(&resource, SummaryView::True),
            Self::Text => summarized(&resource, SummaryView::Text),
            Self::Data => summarized(&resource, SummaryView::Data),
            Self::Elements(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                with_elements(&resource, &names)
            }
        };
        match shown {
            Value::Object(map) => to_bytes(&map),
            _ => body.clone(),
        }
    }
}
