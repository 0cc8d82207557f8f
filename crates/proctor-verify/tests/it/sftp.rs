//! `sftp-file-present`.

use proctor_verify::{CheckRegistry, problems};
use serde_json::{Value, json};

use crate::support::{World, all_shown};

fn tree() -> World {
    World::untouched()
        .file_of("inbox/referral.txt", b"Referral\nfor Ada", true)
        .file(
            "outbound/claims/1.json",
            r#"{"claim": {"total": 240.50, "lines": [{"code": "A"}, {"code": "B"}]}}"#,
        )
        .file("outbound/claims/2.json", r#"{"claim": {"total": 99}}"#)
        .file("outbound/claims/broken.json", "{")
        .file(
            "outbound/report.csv",
            "member_id,total\nM1,\"1,200.50\"\nM2,\n",
        )
        .file(
            "outbound/order.hl7",
            "MSH|^~\\&|A|B|C|D|20260421||ORM^O01|9|P|2.5\rPID|1||12345",
        )
        .file_of("outbound/noise.bin", &[0xff, 0xfe, 0x00], false)
}

fn ask(glob: &str, more: Value) -> Value {
    let mut assertion = json!({"assert": "sftp-file-present", "path_glob": glob});
    for (name, value) in more.as_object().unwrap() {
        assertion[name] = value.clone();
    }
    assertion
}

#[test]
fn the_evidence_of_a_file() {
    let world = tree();
    let total = |total: Value| json!({"fields": [{"path": "claim.total", "expected": total}, {"path": "claim.lines.*.code", "expected": "B"}]});
    insta::assert_snapshot!(all_shown(&[
        ("the best of three", world.check(ask("outbound/claims/*.json", total(json!(240.5))))),
        ("the best is not good enough", world.check(ask("/outbound/**/*.json", total(json!(7))))),
        ("only one that cannot be read", world.check(ask("outbound/claims/b*.json", total(json!(7))))),
        ("no such file", world.check(ask("outbound/claims/*.xml", total(json!(7))))),
        ("there, and nothing more is asked", world.check(ask("outbound/claims/[12].json", json!({})))),
        ("too many", world.check(ask("outbound/claims/{1,2}.json", json!({"max_count": 1})))),
        ("as text", world.check(ask("inbox/*", json!({"parse": "text", "contains": ["for Ada", "for Grace"], "fields": [{"path": "lines.0", "expected": "Referral"}]})))),
        ("not understood", world.check(ask("a[", json!({"parse": "pdf", "fields": [{"path": "a", "expected": 1}], "min_count": -1})))),
        ("no files", World::default().check(ask("*", json!({})))),
    ]));
}

#[test]
fn every_format_has_its_paths() {
    let world = tree();
    let field = |glob: &str, path: &str, expected: Value| {
        let finding = world.check(ask(
            glob,
            json!({"fields": [{"path": path, "expected": expected}]}),
        ));
        assert!(finding.passed, "{glob} {path}: {}", finding.details);
    };
    field("outbound/*.csv", "0.member_id", json!("M1"));
    field("outbound/*.csv", "*.member_id", json!("M2"));
    field("outbound/*.csv", "0.1", json!("1,200.50"));
    field("outbound/*.csv", "1.total", json!(null));
    field("outbound/*.hl7", "PID.3", json!(12345));
    field("inbox/*.txt", "lines.*", json!("for Ada"));
    field("inbox/*.txt", "text", json!({"$regex": "(?m)^for"}));
    field("outbound/claims/1.json", "claim.lines.1.code", json!("B"));
}

#[test]
fn only_what_the_agent_wrote_can_be_asked_for() {
    let world = tree();
    assert!(world.check(ask("inbox/*", json!({}))).passed);
    assert!(
        !world
            .check(ask("inbox/*", json!({"by_agent": true})))
            .passed
    );
    assert!(
        world
            .check(ask("inbox/*", json!({"by_agent": true, "max_count": 0})))
            .passed
    );
    assert!(!world.check(ask("inbox/*", json!({"max_count": 0}))).passed);
}

#[test]
fn a_star_stays_in_its_folder_and_two_do_not() {
    let world = tree();
    let count = |glob: &str| {
        world.check(ask(glob, json!({}))).evidence["matchedPaths"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count("outbound/*"), 3);
    assert_eq!(count("outbound/**"), 6);
    assert_eq!(count("**/*.json"), 3);
    assert_eq!(count("outbound/claims/?.json"), 2);
}

#[test]
fn globs_are_bounded() {
    for (glob, is_fine) in [
        ("a".repeat(501), false),
        (format!("{{{}}}", "a,".repeat(200)), false),
        ("**/{a,b}/[!x]*".to_owned(), true),
    ] {
        assert_eq!(
            problems(&ask(&glob, json!({})), &CheckRegistry::shipped()).is_empty(),
            is_fine,
            "{glob}"
        );
    }
}

#[test]
fn nothing_holds_in_a_file_that_cannot_be_read() {
    let world = tree();
    for expected in [json!(null), json!({"$ne": 1}), json!({"$exists": false})] {
        let finding = world.check(ask(
            "outbound/claims/broken.json",
            json!({"fields": [{"path": "claim", "expected": expected}]}),
        ));
        assert_eq!(finding.score.value(), 0.0, "{}", finding.details);
    }
}
