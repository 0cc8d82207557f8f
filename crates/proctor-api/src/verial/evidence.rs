//! Evidence on the wire: members in the order in which they are documented.
//!
//! JSON gives the order no meaning, but people read evidence: what was asked comes before what was found.

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

/// The order of the members of evidence and of its rows; members that are not here follow in alphabetical order.
const ORDER: [&str; 21] = [
    "fieldResults",
    "field_results",
    "assertionResults",
    "phraseResults",
    "matchedPaths",
    "resource",
    "total",
    "message_control_id",
    "candidates",
    "row_key",
    "transaction",
    "control_number",
    "path",
    "phrase",
    "expected",
    "actual",
    "passed",
    "found",
    "turn",
    "state",
    "mode",
];

/// Evidence as it is shown. What was found in a world is shown as it is; only evidence itself and the rows of its lists are
/// put in order.
#[derive(Clone, Debug)]
pub(super) struct Evidence(pub(super) Value);

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Object(members) => Ordered {
                members,
                has_rows: true,
            }
            .serialize(serializer),
            other => other.serialize(serializer),
        }
    }
}

struct Ordered<'v> {
    members: &'v Map<String, Value>,
    has_rows: bool,
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = |name: &str| ORDER.iter().position(|known| *known == name);
        let mut members: Vec<_> = self.members.iter().collect();
        members.sort_by_key(|(name, _)| (place(name).unwrap_or(ORDER.len()), name.as_str()));
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (name, value) in members {
            match value {
                Value::Array(rows) if self.has_rows => map.serialize_entry(name, &Rows(rows))?,
                other => map.serialize_entry(name, other)?,
            }
        }
        map.end()
    }
}

struct Rows<'v>(&'v [Value]);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Row))
    }
}

struct Row<'v>(&'v Value);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => Ordered {
                members,
                has_rows: false,
            }
            .serialize(serializer),
            other => other.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_have_their_documented_order_and_what_was_found_stays_as_it_is() {
        let row =
            json!({"actual": {"path": 1, "b": 2}, "expected": "x", "passed": false, "path": "a.b"});
        let evidence = json!({"total": 1, "resource": "Patient/1", "fieldResults": [row]});
        assert_eq!(
            serde_json::to_string(&Evidence(evidence)).unwrap(),
            r#"{"fieldResults":[{"path":"a.b","expected":"x","actual":{"b":2,"path":1},"passed":false}],"resource":"Patient/1","total":1}"#
        );
        let spoken = json!({"phraseResults": [{"found": true, "phrase": "member ID", "turn": 3}]});
        assert_eq!(
            serde_json::to_string(&Evidence(spoken)).unwrap(),
            r#"{"phraseResults":[{"phrase":"member ID","found":true,"turn":3}]}"#
        );
    }

    #[test]
    fn evidence_of_others_is_in_alphabetical_order() {
        let evidence = json!({"pages": [{"z": 1, "a": 2}], "b": [1, "x"], "a": null});
        assert_eq!(
            serde_json::to_string(&Evidence(evidence)).unwrap(),
            r#"{"a":null,"b":[1,"x"],"pages":[{"a":2,"z":1}]}"#
        );
        assert_eq!(
            serde_json::to_string(&Evidence(Value::Null)).unwrap(),
            "null"
        );
    }
}
