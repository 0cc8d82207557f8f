//! Which runs are meant on the command line.

use serde_json::{Value, json};

use crate::exit::WrongUse;

/// Reads `br_…`, several of them with commas between, `latest:AGENT`, or `label=value,…[,newest=N]`.
pub(super) fn selection(text: &str) -> Result<Value, WrongUse> {
    if let Some(agent) = text.strip_prefix("latest:") {
        return Ok(json!({"labels": {"agent": agent}, "newest": 1}));
    }
    let parts: Vec<&str> = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() {
        return Err(wrong(text));
    }
    if parts.iter().all(|part| !part.contains('=')) {
        return Ok(json!({ "runs": parts }));
    }
    let mut labels = serde_json::Map::new();
    let mut newest = 1;
    for part in parts {
        let (name, value) = part.split_once('=').ok_or_else(|| wrong(text))?;
        if name == "newest" {
            newest = value.parse::<u32>().map_err(|_| wrong(text))?;
        } else {
            labels.insert(name.to_owned(), value.into());
        }
    }
    if labels.is_empty() {
        return Err(wrong(text));
    }
    Ok(json!({"labels": labels, "newest": newest}))
}

fn wrong(text: &str) -> WrongUse {
    WrongUse(format!(
        "'{text}' names no runs: give ids (br_…, with commas between), latest:AGENT, or labels such as branch=main,newest=3"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_id_agent_or_labels() {
        assert_eq!(selection("br_1").unwrap(), json!({"runs": ["br_1"]}));
        assert_eq!(
            selection("br_1,bmr_2").unwrap(),
            json!({"runs": ["br_1", "bmr_2"]})
        );
        assert_eq!(
            selection("latest:night-shift").unwrap(),
            json!({"labels": {"agent": "night-shift"}, "newest": 1})
        );
        assert_eq!(
            selection("agent=a, branch=main, newest=3").unwrap(),
            json!({"labels": {"agent": "a", "branch": "main"}, "newest": 3})
        );
        for bad in [
            "",
            ",",
            "newest=3",
            "branch=main,br_1",
            "branch=main,newest=x",
        ] {
            assert!(selection(bad).is_err(), "{bad}");
        }
    }
}
