//! Notes of owners: texts by name, on many kinds of things.

use std::collections::BTreeMap;

use crate::extract::Checks;

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
