//! What the FHIR store does, check by check.
//!
//! Every check is one sentence and one function. The sentences are the conformance table
//! `docs/fhir-conformance.md`: it is written by this suite (`UPDATE_DOCS=1`), and the suite fails
//! when it is out of date.

mod bundles;
mod errors;
mod history;
mod instances;
mod links;
mod operations;
mod paging;
mod support;
mod transport;
mod values;

use std::{fmt::Write as _, panic::catch_unwind, path::Path};

use self::support::{Check, Group};

fn groups() -> Vec<Group> {
    vec![
        instances::group(),
        instances::conditional_group(),
        instances::patch_group(),
        history::group(),
        values::group(),
        values::modifier_group(),
        links::group(),
        paging::group(),
        bundles::group(),
        operations::group(),
        transport::group(),
        errors::group(),
    ]
}

#[test]
fn every_check_holds() {
    let mut failed = Vec::new();
    for group in groups() {
        for Check { says, run } in group.checks {
            if catch_unwind(run).is_err() {
                failed.push(format!("{}: {says}", group.name));
            }
        }
    }
    assert!(
        failed.is_empty(),
        "these do not hold:\n{}",
        failed.join("\n")
    );
}

#[test]
fn the_table_in_the_documentation_is_what_the_suite_checks() {
    let mut table = String::from(
        "# What the FHIR store does\n\n\
         Written by the conformance suite (`UPDATE_DOCS=1 cargo test -p proctor-fhir-server --test it conformance`). Each line is a\n\
         check that passes; what is not listed is not claimed.\n",
    );
    for group in groups() {
        write!(
            table,
            "\n## {}\n\n| supported | interaction |\n|---|---|\n",
            group.name
        )
        .unwrap();
        for check in group.checks {
            writeln!(table, "| yes | {} |", check.says.replace('|', "\\|")).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fhir-conformance.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs_err::write(&path, &table).unwrap();
    }
    let written = fs_err::read_to_string(&path).unwrap_or_default();
    assert!(
        written == table,
        "docs/fhir-conformance.md is out of date: run the suite with UPDATE_DOCS=1"
    );
}
