//! Views of a resource that leave parts of it out: `_summary` and `_elements`.
//!
//! Whatever leaves something out carries the tag `SUBSETTED`, so that no client takes it for the whole resource.

use serde_json::{Map, Value, json};

use crate::definitions::{Content, Element, Structure, Structures};

/// The views that `_summary` asks for; `count` is a matter of the search result, `false` leaves nothing out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryView {
    /// `_summary=true`: the elements that the standard marks as summary.
    True,
    /// `_summary=text`: the narrative and what is mandatory.
    Text,
    /// `_summary=data`: everything but the narrative.
    Data,
}

/// The view of a resource that `_summary` asks for.
pub fn summarized(resource: &Value, view: SummaryView) -> Value {
    let (Some(map), Some(structure)) = (resource.as_object(), structure_of(resource)) else {
        return resource.clone();
    };
    let kept = match view {
        SummaryView::True => summary_of(map, structure),
        SummaryView::Text => top_level(map, structure, |element| {
            element.min > 0 || element.name == "text"
        }),
        SummaryView::Data => top_level(map, structure, |element| element.name != "text"),
    };
    tagged(kept)
}

/// The view of a resource that `_elements` asks for: the named top-level elements and what is mandatory.
pub fn with_elements(resource: &Value, elements: &[&str]) -> Value {
    let (Some(map), Some(structure)) = (resource.as_object(), structure_of(resource)) else {
        return resource.clone();
    };
    let kept = top_level(map, structure, |element| {
        element.min > 0
            || elements
                .iter()
                .any(|wanted| names(wanted, structure.name, element))
    });
    tagged(kept)
}

/// Whether `_elements` may ask for `name` of resources of this type.
pub fn is_element(resource_type: &str, name: &str) -> bool {
    let structure = Structures::r4().resource(resource_type);
    structure.is_some_and(|structure| {
        structure
            .elements
            .iter()
            .any(|element| names(name, structure.name, element))
    })
}

/// Elements may be named with their type: `Patient.name` is `name`.
fn names(wanted: &str, resource_type: &str, element: &Element) -> bool {
    let plain = wanted
        .strip_prefix(resource_type)
        .and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(wanted);
    let plain = if element.choice {
        plain.strip_suffix("[x]").unwrap_or(plain)
    } else {
        plain
    };
    plain == element.name
}

fn structure_of(resource: &Value) -> Option<&'static Structure> {
    Structures::r4().resource(resource.get("resourceType")?.as_str()?)
}

/// Keeps of an object what `keep` says, and always what makes it a resource.
fn top_level(
    map: &Map<String, Value>,
    structure: &Structure,
    keep: impl Fn(&Element) -> bool,
) -> Map<String, Value> {
    map.iter()
        .filter(|(key, _)| {
            let always = matches!(key.as_str(), "resourceType" | "id" | "meta");
            always || element_of(structure, key).is_some_and(&keep)
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The element that a key stands for, also if it is the companion of a primitive.
fn element_of<'s>(structure: &'s Structure, key: &str) -> Option<&'s Element> {
    let known = structure
        .key(key)
        .or_else(|| structure.key(key.strip_prefix('_')?));
    known.map(|known| known.element)
}

/// The summary elements of an object, at every depth.
fn summary_of(map: &Map<String, Value>, structure: &Structure) -> Map<String, Value> {
    let mut kept = Map::new();
    for (key, value) in map {
        let Some(known) = structure.key(key) else {
            if key == "resourceType" || element_of(structure, key).is_some_and(in_summary) {
                kept.insert(key.clone(), value.clone());
            }
            continue;
        };
        if in_summary(known.element)
            && let Some(value) = summary_value(value, known.content)
        {
            kept.insert(key.clone(), value);
        }
    }
    kept
}

fn in_summary(element: &Element) -> bool {
    element.summary || element.min > 0
}

fn summary_value(value: &Value, content: Content) -> Option<Value> {
    match (value, content) {
        (Value::Array(items), Content::Complex(_) | Content::Resource) => {
            let items: Vec<Value> = items
                .iter()
                .filter_map(|item| summary_value(item, content))
                .collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        (Value::Object(map), Content::Complex(id)) => {
            let structure = Structures::r4().at(id);
            // Types whose definition marks nothing are taken whole: the mark stands where they are used.
            let map = if structure.elements.iter().any(|element| element.summary) {
                summary_of(map, structure)
            } else {
                map.clone()
            };
            (!map.is_empty()).then_some(Value::Object(map))
        }
        (Value::Object(map), Content::Resource) => Some(structure_of(value).map_or_else(
            || value.clone(),
            |structure| Value::Object(summary_of(map, structure)),
        )),
        _ => Some(value.clone()),
    }
}

const TAG_SYSTEM: &str = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue";
const TAG_CODE: &str = "SUBSETTED";

fn tagged(mut resource: Map<String, Value>) -> Value {
    let meta = resource.entry("meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut()
        && let Some(tags) = meta
            .entry("tag")
            .or_insert_with(|| json!([]))
            .as_array_mut()
        && !tags
            .iter()
            .any(|tag| tag["system"] == TAG_SYSTEM && tag["code"] == TAG_CODE)
    {
        tags.push(json!({"system": TAG_SYSTEM, "code": TAG_CODE, "display": "Resource encoded in summary mode"}));
    }
    Value::Object(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patient() -> Value {
        json!({
            "resourceType": "Patient", "id": "p", "meta": {"versionId": "1"},
            "text": {"status": "generated", "div": "<div>x</div>"},
            "name": [{"family": "Roe", "_family": {"extension": [{"url": "u", "valueString": "v"}]}}],
            "birthDate": "1970", "_birthDate": {"id": "b"}, "deceasedBoolean": false, "maritalStatus": {"text": "M"},
            "contact": [{"gender": "female"}],
            "link": [{"other": {"reference": "Patient/2"}, "type": "seealso"}],
            "photo": [{"contentType": "image/png", "data": "QUJD"}],
        })
    }

    fn keys(view: &Value) -> Vec<&str> {
        let map = view.as_object().unwrap();
        map.keys().map(String::as_str).collect()
    }

    #[test]
    fn a_summary_has_summary_elements_at_every_depth() {
        insta::assert_json_snapshot!(summarized(&patient(), SummaryView::True));
    }

    #[test]
    fn the_text_view_has_the_narrative_and_what_is_mandatory() {
        let observation = json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "c"}, "valueString": "v", "text": {"status": "empty", "div": "<div/>"}});
        let view = summarized(&observation, SummaryView::Text);
        assert_eq!(
            keys(&view),
            ["code", "id", "meta", "resourceType", "status", "text"]
        );
    }

    #[test]
    fn the_data_view_lacks_only_the_narrative() {
        let view = summarized(&patient(), SummaryView::Data);
        let mut expected = patient();
        expected.as_object_mut().unwrap().remove("text");
        expected["meta"]["tag"] = view["meta"]["tag"].clone();
        assert_eq!(view, expected);
    }

    #[test]
    fn named_elements_are_kept_with_their_companions_and_choices() {
        let view = with_elements(&patient(), &["birthDate", "Patient.deceased", "link[x]"]);
        assert_eq!(
            keys(&view),
            [
                "_birthDate",
                "birthDate",
                "deceasedBoolean",
                "id",
                "meta",
                "resourceType"
            ]
        );
        assert!(
            is_element("Patient", "deceased")
                && is_element("Patient", "Patient.name")
                && !is_element("Patient", "nickname")
        );
    }

    #[test]
    fn the_tag_is_set_once() {
        let once = with_elements(&patient(), &["name"]);
        let twice = with_elements(&once, &["name"]);
        assert_eq!(once, twice);
    }
}
