//! What holds of every benchmark that is part of the program.

use std::collections::BTreeSet;

use proctor_benchmarks::{Folder, ReadFile, SHIPPED, Source};
use proctor_core::definition::Visibility;
use proctor_engine::Extensions;

use crate::support::{NOW, SMALL, read};

fn all() -> Vec<ReadFile> {
    let files = SHIPPED.iter();
    files
        .map(|shipped| shipped.read().unwrap_or_else(|report| panic!("{report}")))
        .collect()
}

#[test]
fn every_shipped_file_checks_clean() {
    for file in all() {
        let checked = file.check(NOW);
        assert!(checked.report.problems.is_empty(), "{}", checked.report);
        assert_eq!(checked.tried, file.content.tasks.len());
    }
}

#[test]
fn every_shipped_benchmark_is_a_real_one() {
    let slugs: Vec<_> = all().iter().map(|file| file.content.slug.clone()).collect();
    let slugs: Vec<&str> = slugs.iter().map(|slug| slug.as_str()).collect();
    assert_eq!(
        slugs,
        [
            "fax-referral",
            "critical-lab",
            "prior-auth-mri",
            "eligibility-check",
            "payer-call",
            "late-result",
            "denied-claim",
        ]
    );
    for file in all() {
        let content = &file.content;
        assert_eq!(content.visibility, Visibility::Public);
        assert!(content.tasks.len() >= 4, "{}", content.name);
        for task in &content.tasks {
            let axes: BTreeSet<_> = task
                .criteria
                .iter()
                .filter_map(|one| one.axis.as_deref())
                .collect();
            assert!(axes.len() >= 2, "{}", task.name);
            assert!(axes.contains("safety"), "{}", task.name);
            assert!(!task.solution.is_empty(), "{}", task.name);
        }
    }
}

#[test]
fn a_file_that_was_written_reads_back_the_same() {
    let mut files = all();
    files.push(read(SMALL).unwrap());
    for file in files {
        let text = file.content.to_yaml();
        let again = read(&text).unwrap_or_else(|report| panic!("{report}\n{text}"));
        assert_eq!(again.content, file.content);
        assert_eq!(again.content.digest(), file.content.digest());
    }
}

#[test]
fn a_definition_says_what_its_file_says() {
    for file in all() {
        let content = &file.content;
        let again = proctor_benchmarks::BenchmarkFile::from_definition(
            &content.definition(),
            &content.environment(),
            content.slug.clone(),
            content.visibility,
        )
        .unwrap();
        assert_eq!(again.digest(), content.digest());
    }
}

#[test]
fn data_in_another_file_is_the_same_as_data_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::create_dir(folder.path().join("data")).unwrap();
    let data = r#"[{"resourceType": "Patient", "id": "ada", "birthDate": "1980-01-02"}]"#;
    fs_err::write(folder.path().join("data/chart.json"), data).unwrap();
    let inside = "data: [{resourceType: Patient, id: ada, birthDate: \"1980-01-02\"}]";
    let text = SMALL.replace(inside, "file: data/chart.json");
    assert_ne!(text, SMALL);
    let source = Source {
        name: "file.yaml".to_owned(),
        text,
    };
    let folder = Folder::Directory(folder.path().to_owned());
    let file = ReadFile::read(source, &folder, &Extensions::shipped());
    let file = file.unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(file.content, read(SMALL).unwrap().content);
}

#[test]
fn any_change_of_the_content_changes_the_digest() {
    let digest = |text: &str| read(text).unwrap().content.digest();
    for (from, to) in [
        ("timeout: 60", "timeout: 61"),
        ("1980-01-02", "1980-01-03"),
        ("expect: 201", "expect: 200"),
        ("do: it", "do: it now"),
        ("axis: accuracy", "axis: safety"),
    ] {
        assert_ne!(digest(SMALL), digest(&SMALL.replace(from, to)), "{to}");
    }
    let with_home = SMALL.replace("kind: Patient,", "kind: Patient, dataset: chart,");
    assert_eq!(
        digest(SMALL),
        digest(&with_home),
        "where it is kept does not count"
    );
    assert_eq!(digest(SMALL), digest(&format!("# a remark\n{SMALL}")));
}
