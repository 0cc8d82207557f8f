//! What a command agent leaves about itself: its trajectory and its usage. They are brought to the server; what is wrong with them is a
//! warning and never costs a result.

use std::{io::Read as _, path::Path};

use proctor_benchmarks::Api;
use proctor_core::usage::{ModelUsage, PriceTable};
use serde_json::{Value, json};

use crate::report::text::line;

/// How many bytes of a file are read at most: as many as a server takes.
const LARGEST: u64 = 16 << 20;
/// How much of a problem is told.
const TOLD: usize = 300;

/// What an agent left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Its trajectory, if it wrote one, or why that cannot be read.
    pub(super) trajectory: Option<Result<String, String>>,
    /// What it used up, a line for each report.
    pub(super) usage: Option<Result<String, String>>,
}

/// What is in a file that an agent may have written; none if there is nothing.
pub(super) fn read(file: &Path) -> Option<Result<String, String>> {
    // A link could lead anywhere, a pipe never ends.
    let found = fs_err::symlink_metadata(file).ok()?;
    if !found.is_file() {
        return Some(Err("it is not a regular file".to_owned()));
    }
    if found.len() > LARGEST {
        return Some(Err(format!("it has more than {LARGEST} bytes")));
    }
    let mut text = String::new();
    let opened = fs_err::File::open(file).map_err(|error| error.to_string());
    let read = opened.and_then(|file| {
        let read = file.take(LARGEST).read_to_string(&mut text);
        read.map_err(|error| error.to_string())
    });
    match read {
        Ok(0) => None,
        Ok(_) => Some(Ok(text)),
        Err(why) => Some(Err(why)),
    }
}

impl Left {
    /// Brings it to the server; everything that is wrong, in words.
    pub(super) async fn bring(self, api: &Api, task_run: &str, prices: &PriceTable) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut warn = |what: &str, why: &str| {
            let why = line(why, TOLD);
            warnings.push(format!("the {what} of {task_run} was not kept: {why}"));
        };
        if let Some(trajectory) = self.trajectory
            && let Err(why) = bring_trajectory(api, task_run, trajectory).await
        {
            warn("trajectory", &why);
        }
        match self.usage {
            None => {}
            Some(Err(why)) => warn("usage", &why),
            Some(Ok(lines)) => {
                let (reports, unreadable) = reports(&lines, prices);
                if let Some(why) = unreadable {
                    warn("usage", &why);
                }
                for part in reports.chunks(1000) {
                    let path = format!("/task-runs/{task_run}/usage");
                    if let Err(error) = api.post(&path, &json!({"reports": part})).await {
                        warn("usage", &error.to_string());
                    }
                }
            }
        }
        warnings
    }
}

async fn bring_trajectory(
    api: &Api,
    task_run: &str,
    trajectory: Result<String, String>,
) -> Result<(), String> {
    let text = trajectory?;
    let document: Value =
        serde_json::from_str(&text).map_err(|error| format!("it is not JSON: {error}"))?;
    let path = format!("/task-runs/{task_run}/trajectory");
    let sent = api.put(&path, &document).await;
    sent.map(drop).map_err(|error| error.to_string())
}

/// The reports that can be read, with their costs where these are known, and what is wrong with the first of the others.
fn reports(lines: &str, prices: &PriceTable) -> (Vec<Value>, Option<String>) {
    let (mut reports, mut wrong, mut first) = (Vec::new(), 0_usize, None);
    for (number, text) in (1_usize..).zip(lines.lines()) {
        match ModelUsage::read_lines(text, prices) {
            Ok(read) => reports.extend(read.iter().map(report)),
            Err(problems) => {
                wrong += 1;
                let problems = problems.to_string().replace("line 1", "");
                let problems = problems.trim_start_matches(['.', ':', ' ']);
                first.get_or_insert(format!("line {number}: {problems}"));
            }
        }
    }
    let told = first.map(|first| match wrong {
        1 => first,
        more => format!("{first} (and {} more lines)", more - 1),
    });
    (reports, told)
}

fn report(read: &ModelUsage) -> Value {
    let usage = &read.usage;
    let mut report = json!({
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    });
    if let Some(cost) = usage.cost_usd {
        report["cost_usd"] = json!(cost);
    }
    if let Some(model) = &read.model {
        report["model"] = json!(model);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_of_usage_is_kept_and_the_rest_is_told() {
        let lines = "{\"input_tokens\": 1, \"output_tokens\": 2}\nnonsense\n\n[1]\n";
        let (reports, told) = reports(lines, &PriceTable::default());
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0].get("cost_usd"), None, "not reported is never 0");
        let told = told.unwrap();
        assert!(
            told.starts_with("line 2: ") && told.ends_with("(and 1 more lines)"),
            "{told}"
        );
    }

    #[test]
    fn only_regular_files_are_read() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("trajectory.json");
        assert!(read(&file).is_none());
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        assert!(read(&file).unwrap().unwrap_err().contains("regular"));
        fs_err::remove_file(&file).unwrap();
        fs_err::write(&file, "").unwrap();
        assert!(read(&file).is_none(), "nothing was written");
        fs_err::write(&file, "{}").unwrap();
        assert_eq!(read(&file).unwrap().unwrap(), "{}");
        fs_err::write(&file, [0xff, 0xfe]).unwrap();
        assert!(read(&file).unwrap().is_err());
    }
}
