//! What the changes of a store are to people: resources that are others now.

use std::collections::HashMap;

use proctor_simulation::record::Write;
use serde_json::Value;

use super::{change::Change, state::State};

/// What changes do to resources of the state as it was before all of them.
pub(crate) fn writes_of(state: &State, changes: &[Change]) -> Vec<Write> {
    // A transaction may change a resource more than once; each time what it was before is what the last one made.
    let mut latest: HashMap<String, Option<Value>> = HashMap::new();
    let mut writes = Vec::with_capacity(changes.len());
    for change in changes {
        let target = format!("{}/{}", change.kind.name(), change.id);
        let before = match latest.remove(&target) {
            Some(known) => known,
            None => stored(state, change),
        };
        let after = change.version.body.as_deref().and_then(read);
        latest.insert(target.clone(), after.clone());
        let resource = change.kind.name();
        writes.push(Write::changed("fhir", resource, target, before, after));
    }
    writes
}

fn stored(state: &State, change: &Change) -> Option<Value> {
    let view = state.view(change.kind);
    let row = view.row_of(&change.id)?;
    read(view.newest(row).body.as_deref()?)
}

/// A resource without what the store itself writes into every version.
fn read(body: &[u8]) -> Option<Value> {
    let mut resource: Value = serde_json::from_slice(body).ok()?;
    if let Some(members) = resource.as_object_mut()
        && let Some(Value::Object(meta)) = members.get_mut("meta")
    {
        meta.remove("versionId");
        meta.remove("lastUpdated");
        if meta.is_empty() {
            members.remove("meta");
        }
    }
    Some(resource)
}
