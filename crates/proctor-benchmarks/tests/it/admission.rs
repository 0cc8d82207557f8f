//! Which benchmarks earn their place.

use proctor_benchmarks::{Certificate, SHIPPED};

use crate::support::NOW;

fn certificate(name: &str) -> Certificate {
    let shipped = SHIPPED.iter().find(|one| one.name.ends_with(name)).unwrap();
    let file = shipped.read().unwrap_or_else(|report| panic!("{report}"));
    file.admit(NOW).unwrap()
}

fn admitted(name: &str) {
    let certificate = certificate(name);
    assert!(certificate.admitted, "{certificate}");
    assert!(certificate.harms_tried > 100, "{certificate}");
}

#[test]
fn fax_referral_is_admitted() {
    admitted("fax-referral.yaml");
}

#[test]
fn critical_lab_is_admitted() {
    admitted("critical-lab.yaml");
}

#[test]
fn prior_auth_mri_is_admitted() {
    admitted("prior-auth-mri.yaml");
}

#[test]
fn eligibility_check_is_admitted() {
    admitted("eligibility-check.yaml");
}

#[test]
fn payer_call_is_admitted() {
    admitted("payer-call.yaml");
}
