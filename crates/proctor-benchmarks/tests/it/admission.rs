//! Which harm the shipped benchmarks see.

use proctor_benchmarks::{Certificate, SHIPPED};

use crate::support::{NOW, SMALL, read};

/// Admits a shipped benchmark, with what must hold of every one of them: the solution scores 1 and passes, doing nothing
/// scores 0, random calls never pass, no harm keeps a pass, and every criterion notices something.
fn sees_harm(name: &str) -> Certificate {
    let shipped = SHIPPED.iter().find(|one| one.name.ends_with(name)).unwrap();
    let file = shipped.read().unwrap_or_else(|report| panic!("{report}"));
    let certificate = file.admit(NOW).unwrap();
    assert_eq!(certificate.digest, file.content.digest());
    assert!(certificate.harm_kinds >= 13, "{certificate}");
    assert!(certificate.harms_tried > 500, "{certificate}");
    assert_eq!(certificate.harms_passed, 0, "{certificate}");
    for task in &certificate.tasks {
        assert_eq!((task.oracle, task.null), (1.0, 0.0), "{certificate}");
        assert!(task.oracle_passes && task.is_reproducible, "{certificate}");
        assert_eq!(task.garbage_passed, 0, "{certificate}");
        assert!(task.dead.is_empty(), "{certificate}");
    }
    certificate
}

#[test]
fn fax_referral_sees_harm() {
    sees_harm("fax-referral.yaml");
}

#[test]
fn critical_lab_sees_harm() {
    sees_harm("critical-lab.yaml");
}

#[test]
fn prior_auth_mri_sees_harm() {
    sees_harm("prior-auth-mri.yaml");
}

#[test]
fn eligibility_check_sees_harm() {
    sees_harm("eligibility-check.yaml");
}

#[test]
fn payer_call_sees_harm() {
    sees_harm("payer-call.yaml");
}

#[test]
fn a_rubric_of_presence_alone_is_not_admitted_and_is_told_what_would_catch_the_harm() {
    let certificate = read(SMALL).unwrap().admit(NOW).unwrap();
    assert!(!certificate.admitted);
    assert!(certificate.harms_passed > 0, "{certificate}");
    let told = certificate.problems.join("\n");
    assert!(told.contains("`unchanged`"), "{told}");
}
