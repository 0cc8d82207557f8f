use serde_json::json;

use super::*;

fn read(document: &Value) -> Result<Policy, String> {
    Policy::read(document, Wording::Request).map_err(|problems| problems.to_string())
}

#[test]
fn a_whole_policy_is_read() {
    let policy = read(&json!({
        "about": "suite", "max-void": 0.05,
        "baseline": {"labels": {"branch": "main"}, "newest": 3},
        "line": [
            {"kind": "change", "at": -0.05, "axis": "accuracy", "tags": ["adult"]},
            {"kind": "level", "at": 0.8},
            {"kind": "never", "criteria": "critical", "max-rate": 0.01},
            {"kind": "never", "keys": ["wrong-patient"]},
        ],
    }))
    .unwrap();
    assert_eq!((policy.about, policy.max_void), (About::Suite, Some(0.05)));
    assert_eq!(
        policy.baseline.as_ref().map(Selection::in_words).as_deref(),
        Some("branch=main, newest 3")
    );
    assert_eq!(policy.lines.len(), 4);
    assert_eq!(policy.lines[0].axis.as_deref(), Some("accuracy"));
    assert_eq!(
        policy.lines[2].rule,
        Rule::Never {
            critical: true,
            max_rate: Some(0.01)
        }
    );
    assert_eq!(policy.lines[3].keys, ["wrong-patient"]);
}

#[test]
fn a_policy_with_nothing_in_it_is_refused() {
    for empty in [
        json!({}),
        json!({"about": "suite"}),
        json!({"about": "suite", "line": []}),
    ] {
        let refused = read(&empty).unwrap_err();
        assert!(
            refused.contains("a gate without a line decides nothing"),
            "{refused}"
        );
    }
}

#[test]
fn a_misspelt_member_is_refused_with_the_nearest_known_name() {
    for (document, said) in [
        (
            json!({"about": "suite", "max-viod": 0.1, "line": [{"kind": "level", "at": 0.5}]}),
            "max-viod: is not known here: did you mean 'max-void'?",
        ),
        (
            json!({"about": "suite", "lnie": [], "line": [{"kind": "level", "at": 0.5}]}),
            "lnie: is not known here: did you mean 'line'?",
        ),
        (
            json!({"about": "suite", "line": [{"kind": "level", "at": 0.5, "axes": "safety"}]}),
            "line.0.axes: is not known here: did you mean 'axis'?",
        ),
        (
            json!({"about": "suite", "line": [{"kind": "never", "keys": ["a"], "maxrate": 0.5}]}),
            "line.0.maxrate: is not known here: did you mean 'max-rate'?",
        ),
        (
            json!({"about": "suite", "threshold-of-everything": 1, "line": [{"kind": "level", "at": 0.5}]}),
            "threshold-of-everything: is not known here; known are about, max-void, baseline, line",
        ),
        (
            json!({"about": "suite", "maximum_void": 0.1, "line": [{"kind": "level", "at": 0.5}]}),
            "maximum_void: is not known here: did you mean 'max-void'?",
        ),
        (
            json!({"about": "suite", "voids": 0.1, "line": [{"kind": "level", "at": 0.5}]}),
            "voids: is not known here: did you mean 'max-void'?",
        ),
        (
            json!({"about": "suite", "line": [{"kind": "never", "keys": ["a"], "rate": 0.5}]}),
            "line.0.rate: is not known here: did you mean 'max-rate'?",
        ),
        (
            json!({"about": "suite", "line": [{"kind": "level", "at": 0.5, "margin": 1}]}),
            "line.0.margin: is not known here: did you mean 'at'?",
        ),
        (
            json!({"about": "suite", "line": [{"kind": "level", "at": 0.5, "criteria": ["a"]}]}),
            "line.0.criteria: is not known here: did you mean 'keys'?",
        ),
        (
            json!({"about": "suite", "line": [{"kind": "level", "at": 0.5, "colour": "red"}]}),
            "line.0.colour: is not known here; known are kind, at, axis, tags, keys",
        ),
    ] {
        assert_eq!(read(&document).unwrap_err(), said);
    }
}

#[test]
fn what_cannot_be_meant_is_refused_where_it_stands() {
    let with = |line: Value| json!({"about": "tasks", "line": [line]});
    for (document, said) in [
        (
            with(json!({"kind": "level", "at": 1})),
            "line.0.at: must be a number above 0 and below 1",
        ),
        (
            with(json!({"kind": "change", "at": -1})),
            "line.0.at: must be a number above -1 and below 1",
        ),
        (with(json!({"kind": "change"})), "line.0.at: is required"),
        (
            with(json!({"kind": "never"})),
            "line.0.criteria: is required: criteria = \"critical\", or keys = [\"…\"], or an axis",
        ),
        (
            with(json!({"kind": "never", "criteria": "critical", "keys": ["a"]})),
            "line.0.keys: cannot be given together with criteria",
        ),
        (
            with(json!({"kind": "never", "criteria": ["b"], "keys": ["a"]})),
            "line.0.keys: cannot be given together with criteria",
        ),
        (
            with(json!({"kind": "never", "criteria": []})),
            "line.0.criteria: is required: criteria = \"critical\", or keys = [\"…\"], or an axis",
        ),
        (
            with(json!({"kind": "never", "criteria": [5]})),
            "line.0.criteria.0: must be a text",
        ),
        (
            with(json!({"kind": "sometimes"})),
            "line.0.kind: 'sometimes' is none of change, level, never",
        ),
        (
            json!({"about": "both", "line": [{"kind": "level", "at": 0.5}]}),
            "about: 'both' is none of tasks, suite",
        ),
        (
            json!({"about": "tasks", "baseline": {"labels": {}}, "line": [{"kind": "level", "at": 0.5}]}),
            "baseline.labels: must have a label at least: without one every run would be meant",
        ),
        (
            json!({"about": "tasks", "baseline": {}, "line": [{"kind": "level", "at": 0.5}]}),
            "baseline: exactly one of run, runs and labels says which runs are meant",
        ),
    ] {
        assert_eq!(read(&document).unwrap_err(), said);
    }
}

#[test]
fn criteria_are_a_word_or_a_list_of_keys() {
    let read = |line: Value| read(&json!({"about": "tasks", "line": [line]})).unwrap();
    let listed = read(json!({"kind": "never", "criteria": ["p0", "p1"], "max-rate": 0.1}));
    let keyed = read(json!({"kind": "never", "keys": ["p0", "p1"], "max-rate": 0.1}));
    assert_eq!(listed, keyed);
    assert_eq!(listed.lines[0].keys, ["p0", "p1"]);
}

#[test]
fn labels_without_a_text_choose_no_runs() {
    let document = json!({"about": "tasks", "baseline": {"labels": {"branch": null}}, "line": [{"kind": "level", "at": 0.5}]});
    assert_eq!(
        read(&document).unwrap_err(),
        "baseline.labels.branch: must be a text"
    );
}

#[test]
fn runs_are_named_in_the_spelling_of_either_dialect() {
    let notes = Notes::<()>::worded(Wording::Request);
    let id = RunId::from_uuid(uuid::Uuid::from_u128(7));
    for text in [id.wire(Dialect::Verial), id.wire(Dialect::Runloop)] {
        let value = json!({ "runs": [text] });
        let read = Selection::read(&Node::root(&value, &notes));
        assert_eq!(read, Some(Selection::Runs(vec![id])));
    }
}
