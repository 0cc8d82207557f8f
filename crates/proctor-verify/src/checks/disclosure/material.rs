//! Everything that left the house, by whatever channel.

use std::{borrow::Cow, collections::BTreeMap};

use proctor_core::id::kinds::EventId;
use proctor_office::files::StoredFile;
use proctor_simulation::{
    exhibits::Exhibits,
    record::{Touched, WorldRecord},
};
use serde_json::Value;

use crate::record::record;

/// Something that left the house.
pub(crate) struct Material<'w> {
    /// By which channel.
    pub(crate) channel: &'static str,
    /// What it left with.
    pub(crate) event: Option<EventId>,
    /// What it says, all of it.
    pub(crate) text: Cow<'w, str>,
    /// Where it lies, if it is a file: only some are picked up.
    pub(crate) file: Option<&'w str>,
}

/// Everything that left the house; none where nobody kept what happened.
pub(super) fn of<'w>(exhibits: &'w Exhibits<'w>) -> Option<Vec<Material<'w>>> {
    let record = record(exhibits)?;
    let files = exhibits.named_evidence::<StoredFile>().unwrap_or_default();
    let files: BTreeMap<&str, &StoredFile> = files.into_iter().collect();
    let all = record.touched.iter().filter(|one| !one.is_untouched());
    Some(
        all.filter_map(|one| material(one, record, &files))
            .collect(),
    )
}

fn material<'w>(
    touched: &'w Touched,
    record: &'w WorldRecord,
    files: &BTreeMap<&str, &StoredFile>,
) -> Option<Material<'w>> {
    let event = record.events.get(touched.first_event);
    let content = touched.content()?;
    let text: Cow<'w, str> = match touched.family {
        "files" | "portal" | "fax" | "message" | "cds-hooks" => {
            let mut text = String::new();
            texts(content, files, &mut text);
            text.into()
        }
        "hl7" => content.get("payload")?.as_str()?.into(),
        "x12" => event?.payload.get("request_raw")?.as_str()?.into(),
        "voice" => {
            let turns = content.get("turns")?.as_array()?.iter();
            let said = turns.filter(|turn| turn["speaker"] == "agent");
            let said: Vec<&str> = said.filter_map(|turn| turn["text"].as_str()).collect();
            said.join("\n").into()
        }
        // Charts stay in the house.
        _ => return None,
    };
    Some(Material {
        channel: touched.family,
        event: event.map(|event| event.id),
        text,
        file: (touched.family == "files").then_some(touched.resource.as_str()),
    })
}

/// All texts in a value. One that names a file stands for what is in the file as well.
fn texts(value: &Value, files: &BTreeMap<&str, &StoredFile>, all: &mut String) {
    match value {
        Value::String(text) => {
            all.push_str(text);
            all.push('\n');
            if let Some(file) = file_named(text, files) {
                all.push_str(&String::from_utf8_lossy(&file.content));
                all.push('\n');
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, files, all)),
        Value::Object(members) => members
            .values()
            .for_each(|member| texts(member, files, all)),
        Value::Number(number) => {
            all.push_str(number.as_str());
            all.push('\n');
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// The file that a reference means: its path, with or without the address of the files before it.
pub(crate) fn file_named<'f>(
    reference: &str,
    files: &BTreeMap<&str, &'f StoredFile>,
) -> Option<&'f StoredFile> {
    let reference = reference.trim();
    if reference.len() > 1_000 || reference.contains('\n') {
        return None;
    }
    let path = reference
        .rsplit_once("files/")
        .map_or(reference, |(_, path)| path);
    files.get(path.trim_start_matches('/')).copied()
}
