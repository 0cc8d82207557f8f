//! Definitions that were frozen before boxes and scorers were types keep their digests.

use proctor_core::{
    canonical::{self, Digest},
    definition::{Benchmark, Check, World},
    devbox::{BaseRequest, DevboxDefinition, request::UnreadableDevbox},
    document::Document,
    scorer::ScorerDefinition,
};

/// The body of a row, byte for byte: every form of a box and of a scorer, with unknown members and what cannot be read.
const STORED: &str = include_str!("../stored_definition.json");
const DIGEST: &str = "sha256:d2e4813799c400e8c5db793305f0edeff197381782266428829c2e1d13b5994a";

fn stored() -> Benchmark {
    serde_json::from_str(STORED).unwrap()
}

fn devbox(benchmark: &Benchmark, task: usize) -> &Document<DevboxDefinition> {
    match &benchmark.tasks[task - 1].world {
        World::Devbox { parameters } => parameters,
        World::Playground { .. } => panic!("not in a devbox"),
    }
}

#[test]
fn a_definition_of_an_earlier_version_is_written_as_it_was() {
    let benchmark = stored();
    let written = canonical::to_bytes(&benchmark.to_value());
    assert_eq!(String::from_utf8(written).unwrap(), STORED);
    assert_eq!(benchmark.digest().to_string(), DIGEST);
    assert_eq!(Digest::of_bytes(STORED.as_bytes()).to_string(), DIGEST);
}

#[test]
fn what_it_says_of_boxes_is_understood() {
    let benchmark = stored();
    let read = |task| devbox(&benchmark, task).get();
    assert_eq!(read(1), Ok(&DevboxDefinition::default()));
    let blueprint = read(2).unwrap();
    assert!(matches!(blueprint.base, BaseRequest::Blueprint(_)));
    assert_eq!(blueprint.working_directory.as_deref(), Some("/repo"));
    for task in [3, 9] {
        assert!(matches!(read(task).unwrap().base, BaseRequest::Snapshot(_)));
    }
    let full = read(4).unwrap().launch.clone().unwrap();
    assert_eq!((full.cpu_halves, full.memory_gib), (Some(1), Some(2)));
    assert_eq!(full.launch_commands.unwrap().len(), 2);
    let unknown = read(7).unwrap().launch.clone().unwrap();
    assert_eq!(unknown.keep_alive_seconds, Some(60));
    assert_eq!(read(12), Ok(&DevboxDefinition::default()));
    assert!(matches!(
        read(8).unwrap().base,
        BaseRequest::NotABlueprint(_)
    ));
    assert!(matches!(read(10), Err(UnreadableDevbox::SeveralBases)));
    assert!(matches!(read(11), Err(UnreadableDevbox::Form(_))));
    assert!(matches!(read(13), Err(UnreadableDevbox::Form(_))));
}

#[test]
fn what_it_says_of_scorers_is_kept() {
    let benchmark = stored();
    let criteria = benchmark.tasks.last().unwrap().criteria.iter();
    let read: Vec<(&str, &ScorerDefinition)> = criteria
        .map(|criterion| match &criterion.check {
            Check::Scorer(scorer) => (criterion.label.as_str(), scorer),
            Check::Assertion(_) => panic!("not a scorer"),
        })
        .collect();
    let kinds: Vec<_> = read
        .iter()
        .map(|(label, scorer)| (*label, scorer.kind()))
        .collect();
    // Which of them can be run is tested where scorers are run.
    assert_eq!(
        kinds,
        [
            ("ast", Some("ast_grep_scorer")),
            ("ast-any", Some("ast_grep_scorer")),
            ("bash", Some("bash_script_scorer")),
            ("command", Some("command_scorer")),
            ("custom", Some("custom_scorer")),
            ("custom-unregistered", Some("custom_scorer")),
            ("python", Some("python_script_scorer")),
            ("python-plain", Some("python_script_scorer")),
            ("tests", Some("test_based_scorer")),
            ("tests-none", Some("test_based_scorer")),
            ("unknown-member", Some("command_scorer")),
            ("nulls", Some("custom_scorer")),
            ("unknown-kind", Some("telepathy_scorer")),
            ("incomplete", Some("bash_script_scorer")),
            ("wrong-type", Some("command_scorer")),
            ("no-object", None),
            ("nothing", None),
            ("empty", None),
        ]
    );
    let custom = read[4].1.custom().unwrap();
    assert_eq!(custom.bash_script.as_deref(), Some("echo score=1"));
    let limit = &custom.scorer_params.as_ref().unwrap()["limit"];
    assert_eq!(limit.to_string(), "1.10", "numbers keep their digits");
}
