//! References between the entries of one bundle, which must be made to point at what is stored.

use hashbrown::HashMap;
use serde_json::Value;

use super::kind::ResourceKind;

/// From the `fullUrl`s of a bundle's entries to where the entries were stored.
#[derive(Debug, Default)]
pub(crate) struct ReferenceMap {
    targets: HashMap<String, String>,
}

impl ReferenceMap {
    /// Notes that the entry `full_url` is stored as `kind/id`.
    ///
    /// An entry that was read from another server (`http://…/Patient/7`) may also be referred to
    /// relative to that server (`Patient/7`).
    pub(crate) fn insert(&mut self, full_url: &str, kind: ResourceKind, id: &str) {
        let target = format!("{kind}/{id}");
        if full_url.starts_with("http") {
            let mut parts = full_url.rsplit('/');
            if let (Some(old), Some(name)) = (parts.next(), parts.next())
                && name == kind.name()
            {
                self.targets
                    .entry(format!("{kind}/{old}"))
                    .or_insert_with(|| target.clone());
            }
        }
        self.targets.insert(full_url.to_owned(), target);
    }

    /// Where a reference points, if it points into the bundle.
    pub(crate) fn get(&self, reference: &str) -> Option<&str> {
        self.targets.get(reference).map(String::as_str)
    }

    /// Makes every reference in `value` point at what is stored.
    pub(crate) fn rewrite(&self, value: &mut Value) {
        if !self.targets.is_empty() {
            visit_links(value, &mut |link, text| {
                let (bare, fragment) = match text.split_once('#') {
                    Some((bare, fragment)) => (bare, Some(fragment)),
                    None => (text.as_str(), None),
                };
                let relative = !bare.contains(':');
                if relative && link == Link::Uri {
                    return;
                }
                if let Some(target) = self.get(bare) {
                    *text = match fragment {
                        Some(fragment) => format!("{target}#{fragment}"),
                        None => target.to_owned(),
                    };
                }
            });
        }
    }
}

/// What kind of element a link stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// `Reference.reference`.
    Reference,
    /// An element that holds a URI.
    Uri,
}

/// Shows every link of a resource to `visit`, which may change it.
pub(crate) fn visit_links(value: &mut Value, visit: &mut impl FnMut(Link, &mut String)) {
    match value {
        Value::Object(map) => {
            for (name, child) in map {
                match child {
                    Value::String(text) => {
                        if let Some(link) = link_named(name) {
                            visit(link, text);
                        }
                    }
                    Value::Object(_) | Value::Array(_) => visit_links(child, visit),
                    Value::Null | Value::Bool(_) | Value::Number(_) => {}
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                visit_links(item, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Identifiers (`value`, `system`) name things outside the store, even when they look like links.
fn link_named(name: &str) -> Option<Link> {
    match name {
        "reference" => Some(Link::Reference),
        "url" | "uri" | "valueUri" | "valueUrl" | "valueUuid" | "valueOid" => Some(Link::Uri),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn links_into_the_bundle_are_rewritten_and_nothing_else() {
        let patient = ResourceKind::named("Patient").unwrap();
        let mut map = ReferenceMap::default();
        map.insert("urn:uuid:1", patient, "a");
        map.insert("http://x.org/fhir/Patient/7", patient, "b");
        let mut value = json!({
            "identifier": [{"system": "urn:ietf:rfc:3986", "value": "urn:uuid:1"}],
            "subject": {"reference": "urn:uuid:1"},
            "other": [{"reference": "Patient/7"}, {"reference": "http://x.org/fhir/Patient/7"}],
            "attachment": {"url": "urn:uuid:1"},
            "relative": {"url": "Patient/7"},
            "gone": {"reference": "urn:uuid:2"},
            "local": {"reference": "#p1"},
        });
        map.rewrite(&mut value);
        insta::assert_json_snapshot!(value);
    }
}
