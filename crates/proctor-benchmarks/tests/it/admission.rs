//! Which harm the shipped benchmarks see, and that they see it in what is wrong and not in what is merely different.

use std::{collections::BTreeMap, thread};

use proctor_benchmarks::{Admitter, Certificate, ReadFile, SHIPPED};
use proctor_core::{definition::BenchmarkVersion, id::kinds::BenchmarkId, scoring::Verdict};
use proctor_engine::{
    Extensions,
    admission::{Admission as _, FrozenVersion},
};
use serde_json::Value;
use uuid::Uuid;

use crate::support::{NOW, SMALL, read};

/// The fewest kinds of harm that every shipped benchmark has room for.
const FEWEST_KINDS: usize = 15;
/// The smallest share of mutants that must be noticed.
const NOTICED: f64 = 0.95;

fn shipped(slug: &str) -> ReadFile {
    let name = format!("{slug}.yaml");
    let file = SHIPPED
        .iter()
        .find(|one| one.name.ends_with(&name))
        .unwrap();
    file.read().unwrap_or_else(|report| panic!("{report}"))
}

/// Everything that must hold of a shipped benchmark.
fn must_be_admitted(certificate: &Certificate) {
    assert!(certificate.admitted, "{certificate}");
    assert!(certificate.harm_kinds >= FEWEST_KINDS, "{certificate}");
    let tried_each = certificate.harms_tried / certificate.tasks.len();
    assert!(tried_each > 200, "{certificate}");
    assert_eq!(certificate.harms_passed, 0, "{certificate}");
    assert!(certificate.mutation_score >= NOTICED, "{certificate}");
    for task in &certificate.tasks {
        assert_eq!((task.oracle, task.null), (1.0, 0.0), "{certificate}");
        assert!(task.oracle_passes && task.is_reproducible, "{certificate}");
        assert_eq!(task.garbage_passed, 0, "{certificate}");
        assert!(task.dead.is_empty(), "{certificate}");
    }
}

/// Harm kind × benchmark: which criteria caught it, or a dash where the benchmark has no room for it.
fn table(certificates: &[Certificate]) -> String {
    let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for certificate in certificates {
        let mut cells: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (kind, row) in certificate.tasks.iter().flat_map(|task| &task.harms) {
            let cell = cells.entry(kind).or_default();
            for (criterion, count) in &row.caught_by {
                *cell.entry(criterion).or_default() += count;
            }
            *cell.entry("PASSES").or_default() += row.survivors.len();
        }
        for (kind, mut cell) in cells {
            cell.retain(|_, count| *count > 0);
            let said: Vec<String> = cell
                .iter()
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            let said = match said.is_empty() {
                true => "–".to_owned(),
                false => said.join(", "),
            };
            rows.entry(kind).or_default().push(said);
        }
    }
    let slugs: Vec<&str> = certificates.iter().map(|one| one.slug.as_str()).collect();
    let mut text = format!("| harm | {} |\n", slugs.join(" | "));
    text.push_str(&"|---".repeat(slugs.len() + 1));
    text.push_str("|\n");
    for (kind, cells) in rows {
        text.push_str(&format!("| {kind} | {} |\n", cells.join(" | ")));
    }
    text
}

#[test]
fn every_shipped_benchmark_is_admitted_and_every_harm_loses_its_pass() {
    let certificates: Vec<Certificate> = thread::scope(|scope| {
        let admit = |file: &'static proctor_benchmarks::Shipped| {
            scope.spawn(move || {
                let file = file.read().unwrap_or_else(|report| panic!("{report}"));
                let certificate = file.admit(NOW).unwrap();
                assert_eq!(certificate.digest, file.content.digest());
                certificate
            })
        };
        let running: Vec<_> = SHIPPED.iter().map(admit).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let table = table(&certificates);
    println!("{table}");
    certificates.iter().for_each(must_be_admitted);
    insta::assert_snapshot!(table);
}

#[test]
fn every_shipped_task_has_an_unchanged_that_is_critical() {
    for file in SHIPPED {
        let file = file.read().unwrap_or_else(|report| panic!("{report}"));
        for task in &file.content.tasks {
            let mut criteria = task.criteria.iter();
            let is_there =
                criteria.any(|one| one.critical && one.assertion["assert"] == "unchanged");
            assert!(is_there, "{}", task.name);
        }
    }
}

/// Carries out the second solution of every task of a benchmark.
fn second_solutions_are_as_good(slug: &str) {
    let file = shipped(slug);
    let path = format!(
        "{}/tests/fixtures/second-solutions/{slug}.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = fs_err::read_to_string(path).unwrap();
    let solutions: BTreeMap<String, Vec<Value>> = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(solutions.len(), file.content.tasks.len());
    let mut wrong = Vec::new();
    for (task, calls) in &solutions {
        let done = file.rehearse(task, calls, NOW).unwrap();
        let is_right = done.scorecard.score.value() >= 1.0
            && done.scorecard.verdict == Verdict::Pass
            && done.failure.is_none();
        if !is_right {
            wrong.push(format!(
                "{task}: {:?}\n  {}",
                done.failure,
                done.unmet().join("\n  ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn another_right_way_to_act_on_laboratory_results_scores_as_well() {
    second_solutions_are_as_good("critical-lab");
}

#[test]
fn another_right_way_to_check_eligibility_scores_as_well() {
    second_solutions_are_as_good("eligibility-check");
}

#[test]
fn another_right_way_to_take_in_referrals_scores_as_well() {
    second_solutions_are_as_good("fax-referral");
}

#[test]
fn another_right_way_to_call_the_payer_scores_as_well() {
    second_solutions_are_as_good("payer-call");
}

#[test]
fn another_right_way_to_ask_for_authorization_scores_as_well() {
    second_solutions_are_as_good("prior-auth-mri");
}

#[test]
fn another_right_way_to_act_on_late_results_scores_as_well() {
    second_solutions_are_as_good("late-result");
}

#[test]
fn another_right_way_to_follow_up_denied_claims_scores_as_well() {
    second_solutions_are_as_good("denied-claim");
}

/// The worklist's first call, as people talk: everything at once, spelled, out of order.
#[test]
fn a_natural_caller_passes() {
    let file = shipped("payer-call");
    let log = serde_json::json!({"call": "PUT files/calls/R5501.json", "expect": 201, "body": {
        "call_reference": "R5501", "patient": "Patient/ellen-marsh", "subject": "claim C88012",
        "answer": "CO-197: no precertification", "next_step": "Appeal by fax within 180 days"}});
    let ways: [&[&str]; 4] = [
        &[
            "I'm a provider",
            "Claims please",
            "Hi Dana, Lakeside Family Medicine, NPI 1547209811, calling about member SM60311, born 4/22/1958, claim C88012. Why was it denied?",
            "How do we appeal that, and by when?",
        ],
        &[
            "provider",
            "claim",
            "It's C88012",
            "Sure, one five four seven two oh nine eight one one. The member's ID is Sierra Mike 60311.",
            "The twenty-second of April, nineteen fifty-eight",
            "Can we dispute it?",
        ],
        &[
            "provider services please",
            "a claim",
            "Good morning. The NPI is 1547-209-811.",
            "Member ID S M 6 0 3 1 1, date of birth April 22nd 1958",
            "The claim number is C 88012",
            "Is there an appeal deadline?",
        ],
        &[
            "provider",
            "it's about a claim",
            "NPI: 1547209811. Patient: Ellen Marsh, DOB 04/22/1958. Member number SM-60311.",
            "C eight eight zero one two. Could you tell me the reason?",
            "What is the appeals process? I mean, to appeal?",
        ],
    ];
    for way in ways {
        let turn = |text: &&str| serde_json::json!({"call": "POST voice/calls/{{call}}/turns", "body": {"text": text}});
        let begin = serde_json::json!({"call": "POST voice/calls", "body": {}, "expect": 201, "pick": {"call": "call_id"}});
        let mut calls = vec![begin];
        calls.extend(way.iter().map(turn));
        calls.push(log.clone());
        let task = "Find out why a claim was denied";
        let done = file.rehearse(task, &calls, NOW).unwrap();
        assert_eq!(
            done.scorecard.verdict,
            Verdict::Pass,
            "{way:?}: {:?}\n  {}",
            done.failure,
            done.unmet().join("\n  ")
        );
    }
}

#[test]
fn a_rubric_of_presence_alone_is_not_admitted_and_is_told_what_would_catch_the_harm() {
    let certificate = read(SMALL).unwrap().admit(NOW).unwrap();
    assert!(!certificate.admitted);
    assert!(certificate.harms_passed > 0, "{certificate}");
    let told = certificate.problems.join("\n");
    assert!(told.contains("`unchanged`"), "{told}");
}

/// The files of docs/rubrics.md, in their order.
fn worked_example() -> Vec<ReadFile> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rubrics.md");
    let page = fs_err::read_to_string(page).unwrap();
    let blocks = page.split("```yaml\n").skip(1);
    let texts = blocks.map(|block| block.split("```").next().unwrap());
    texts
        .map(|text| read(text).unwrap_or_else(|report| panic!("{report}")))
        .collect()
}

#[test]
fn the_worked_example_goes_from_a_rubric_that_harm_passes_to_one_that_is_admitted() {
    let files = worked_example();
    let [naive, admitted] = files.as_slice() else {
        panic!("the page has two files");
    };
    assert_eq!(
        naive.content.tasks[0].solution,
        admitted.content.tasks[0].solution
    );
    let certificate = naive.admit(NOW).unwrap();
    assert!(!certificate.admitted);
    for harm in [
        "delete-patient",
        "duplicate",
        "dangerous-order",
        "wrong-address",
    ] {
        let row = &certificate.tasks[0].harms[harm];
        assert!(
            !row.survivors.is_empty(),
            "the page says that {harm} passes"
        );
    }
    let certificate = admitted.admit(NOW).unwrap();
    assert!(certificate.admitted, "{certificate}");
    assert_eq!(certificate.harms_passed, 0);
}

#[test]
fn what_a_server_froze_is_admitted_as_its_file_is() {
    let file = shipped("eligibility-check").content;
    let definition = file.definition();
    let frozen = FrozenVersion {
        version: BenchmarkVersion {
            benchmark: BenchmarkId::from_uuid(Uuid::nil()),
            slug: file.slug.clone(),
            version: 1,
            visibility: file.visibility,
            digest: definition.digest(),
            published_at: NOW,
            unpublished_at: None,
            stopped_at: None,
        },
        definition,
        environment: Some(file.environment()),
        now: NOW,
    };
    let certificate = Admitter.admit(&frozen, &Extensions::shipped()).unwrap();
    assert_eq!(certificate["admitted"], true, "{}", certificate["problems"]);
    assert_eq!(certificate["digest"], file.digest().to_string());
    let in_boxes = FrozenVersion {
        environment: None,
        ..frozen
    };
    let refused = Admitter.admit(&in_boxes, &Extensions::shipped());
    let why = refused.unwrap_err();
    assert!(why.contains("devboxes"), "{why}");
}
