//! A task run for people: its criteria, what was expected and what was found instead, and what happened in its world.

use serde_json::Value;

use super::text::{self, line};
use crate::terminal::table;

/// How much of a name, a finding, a value and an event is shown.
const NAME: usize = 80;
const FINDING: usize = 300;
const VALUE: usize = 120;
const EVENT: usize = 160;
/// How many differences of a criterion are listed.
const LISTED: usize = 10;

/// A task run with what was found about its criteria.
pub(crate) fn told(id: &str, task_run: &Value, found: &[Value], failed_only: bool) -> String {
    let text = |name: &str| line(task_run[name].as_str().unwrap_or("-"), NAME);
    let score = task_run["score"].as_f64();
    let score = score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"));
    let mut said = format!(
        "{id}  {}  {}  {score}  {}\n",
        text("name"),
        text("status"),
        text("verdict")
    );
    if let Some(cause) = cause(&task_run["cause"]) {
        said += &format!("{cause}\n");
    }
    for miss in list(&task_run["critical_misses"]) {
        let name = miss["key"].as_str().or(miss["label"].as_str());
        let why = miss["why"].as_str().unwrap_or_default();
        let name = format!("CRITICAL {}", line(name.unwrap_or("-"), NAME));
        said += &format!("{}\n", text::told(&name, &line(why, FINDING)));
    }
    let mut rows = table(&["CRITERION", "AXIS", "WEIGHT", "SCORE"]);
    let mut missed = String::new();
    for one in list(&task_run["criterion_runs"]) {
        let score = one["score"].as_f64().unwrap_or(0.0);
        if failed_only && score >= 1.0 {
            continue;
        }
        let member = |name: &str| line(one[name].as_str().unwrap_or("-"), NAME);
        rows.add_row([
            member("label"),
            member("axis"),
            one["weight"].to_string(),
            format!("{score:.3}"),
        ]);
        let record = found.iter().find(|record| record["id"] == one["id"]);
        if let (true, Some(record)) = (score < 1.0, record) {
            let details = record["details"].as_str().unwrap_or_default();
            missed += &format!(
                "\n{}\n",
                text::told(&member("label"), &line(details, FINDING))
            );
            missed += &differences(&record["evidence"]);
        }
    }
    said += &format!("\n{rows}\n{missed}");
    said
}

/// What ended a task run, where that was not its own completion.
fn cause(cause: &Value) -> Option<String> {
    match cause {
        Value::Null => None,
        Value::String(word) => Some(line(word, NAME)),
        other => Some(line(&other.to_string(), FINDING)),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What evidence says was expected, and was not found: a line each.
fn differences(evidence: &Value) -> String {
    let fields = ["fieldResults", "field_results", "assertionResults"]
        .iter()
        .flat_map(|name| list(&evidence[*name]))
        .filter(|field| field["passed"] == false)
        .map(|field| {
            format!(
                "  {}: expected {}, found {}",
                line(field["path"].as_str().unwrap_or("-"), NAME),
                value(&field["expected"]),
                value(&field["actual"])
            )
        });
    let phrases = list(&evidence["phraseResults"])
        .iter()
        .filter(|one| one["found"] == false)
        .map(|one| {
            format!(
                "  never said: {}",
                line(one["phrase"].as_str().unwrap_or("-"), VALUE)
            )
        });
    let all: Vec<String> = fields.chain(phrases).collect();
    let mut said: String = all
        .iter()
        .take(LISTED)
        .map(|one| format!("{one}\n"))
        .collect();
    if let Some(more @ 1..) = all.len().checked_sub(LISTED) {
        said += &format!("  and {more} more\n");
    }
    said
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        other => line(&other.to_string(), VALUE),
    }
}

/// What happened in the world of a task run, oldest first.
pub(crate) fn events(events: &[Value]) -> String {
    let Some(first) = events.first() else {
        return "\nno events: nothing happened in its world, or it has none\n".to_owned();
    };
    let mut said = "\nevents:\n".to_owned();
    if let Some(earlier @ 1..) = first["seq"].as_u64() {
        said += &format!("{earlier} earlier ones are not listed\n");
    }
    said.extend(events.iter().map(event));
    said
}

/// One event as a line.
pub(crate) fn event(event: &Value) -> String {
    let text = |name: &str| line(event[name].as_str().unwrap_or("-"), NAME);
    let arrow = match event["direction"].as_str() {
        Some("outbound") => "→",
        Some("inbound") => "←",
        _ => " ",
    };
    format!(
        "{:>6}  {}  {arrow} {}  {}\n",
        event["seq"].to_string(),
        text("created_at"),
        text("type"),
        line(&event["payload"].to_string(), EVENT)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_missed_is_told_with_what_was_expected() {
        let task_run = json!({
            "name": "Refer the \u{1b}[31mpatient", "status": "completed", "verdict": "partial", "score": 0.6, "cause": null,
            "criterion_runs": [
                {"id": "cr_1", "label": "was sent", "axis": "accuracy", "weight": 0.4, "score": 0.0},
                {"id": "cr_2", "label": "was said", "axis": null, "weight": 0.6, "score": 1.0},
                {"id": "cr_3", "label": "called", "axis": null, "weight": 0.0, "score": 0.5},
            ],
        });
        let found = [
            json!({"id": "cr_1", "details": "1 of 2 fields differ", "evidence": {"field_results": [
                {"path": "MSH-9", "expected": "ORM^O01", "actual": "ORU^R01", "passed": false},
                {"path": "PID-3", "expected": "7", "actual": "7", "passed": true},
                {"path": "OBR-4", "expected": {"in": [1, 2]}, "actual": null, "passed": false},
            ]}}),
            json!({"id": "cr_2", "details": "", "evidence": {}}),
            json!({"id": "cr_3", "details": "one phrase was not said", "evidence": {"phraseResults": [
                {"phrase": "allergies", "found": false, "turn": null}]}}),
        ];
        insta::assert_snapshot!(told("tr_1", &task_run, &found, true), @r#"
        tr_1  Refer the <U+001B>[31mpatient  completed  0.600  partial

         CRITERION  AXIS      WEIGHT  SCORE 
         was sent   accuracy  0.4     0.000 
         called     -         0.0     0.500 

        was sent: 1 of 2 fields differ
          MSH-9: expected "ORM^O01", found "ORU^R01"
          OBR-4: expected {"in":[1,2]}, found nothing

        called: one phrase was not said
          never said: allergies
        "#);
    }

    #[test]
    fn events_are_lines_without_control_characters() {
        let listed = [
            json!({"seq": 7, "type": "fhir_request", "direction": "outbound", "created_at": "2026-01-01T00:00:00Z",
                   "payload": {"method": "GET", "path": "Patient\u{9b}"}}),
            json!({"seq": 8, "type": "hl7_inbound", "direction": "inbound", "created_at": "2026-01-01T00:00:01Z", "payload": "x"}),
        ];
        let told = events(&listed);
        assert!(told.contains("7 earlier ones are not listed"), "{told}");
        assert!(told.contains("→ fhir_request"), "{told}");
        assert!(told.contains("← hl7_inbound  \"x\""), "{told}");
        assert!(!told.contains('\u{9b}'), "{told}");
        assert!(events(&[]).contains("no events"));
    }
}
