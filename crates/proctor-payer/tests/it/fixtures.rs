//! The interchanges in `fixtures/`, which other people's validators read, are what this crate
//! writes today, byte for byte. `PROCTOR_UPDATE_FIXTURES=1` writes them anew.

use crate::common::*;
use proctor_payer::x12::{Gender, Person, Relationship};
use proctor_x12::{
    envelope::{InterchangeNote, check_groups, check_interchange},
    interchange::Document,
    transaction_set::TransactionSet,
};

fn fixtures() -> Vec<(&'static str, String)> {
    let world = world();
    let mut closed = world.clone();
    closed.payer.unavailable = true;
    let mut strict = world.clone();
    strict.payer.providers = vec!["1999999984".to_owned()];
    let active = sent_270(&inquiry(person("BCB123456789"), &["30"]));
    let services = sent_270(&inquiry(person("BCB123456789"), &["98", "PT", "35"]));
    let inactive = sent_270(&inquiry(person("BCB987654321"), &["30"]));
    let unknown = sent_270(&inquiry(person("NOBODY00001"), &["30"]));
    let mut child = inquiry(person("BCB123456789"), &["30", "98"]);
    child.dependent = Some(Person {
        first_name: "Theo".to_owned(),
        last_name: "Smith".to_owned(),
        birth_date: "2015-07-21".parse().ok(),
        ..Person::default()
    });
    let child = sent_270(&child);
    let paid = sent_276(&claim_question(Some("CLM0001")));
    let all_claims = sent_276(&claim_question(None));
    let no_claim = sent_276(&claim_question(Some("CLM9999")));
    let review = |code: &str| sent_278(&review_question(code));
    let asks_for_acknowledgment = active.replacen("*0*T*", "*1*T*", 1);
    let mut accepted = replies(&world, &asks_for_acknowledgment).into_iter();
    let ta1_accepted = accepted.next().unwrap().text;
    let accepted_999 = accepted.next().unwrap().text;
    let broken_syntax = active
        .replacen("*MI*", "*XX*", 1)
        .replacen("DMG*D8", "DMG*D9", 1);
    let broken_syntax = broken_syntax.replacen("NM1*1P*2*PROVIDER", "NM1*1P**PROVIDER", 1);
    let missing_segment = inquiry_without_subscriber_name(&active);
    let claim = sent_837(&[
        bill("CLM7001", &[("72148", "1240.50"), ("99213", "120")]),
        bill("CLM7002", &[("70450", "900")]),
    ]);
    let mut for_child = bill("CLM7003", &[("99213", "120.01")]);
    for_child.dependent = Some((
        Person {
            first_name: "Theo".to_owned(),
            last_name: "Smith".to_owned(),
            birth_date: "2015-07-21".parse().ok(),
            ..Person::default()
        },
        Relationship::Child,
        Some(Gender::Male),
    ));
    let for_child = sent_837(&[for_child]);
    let mut stranger = bill("CLM7004", &[("99213", "120")]);
    stranger.subscriber = person("NOBODY00001");
    let stranger = sent_837(&[stranger]);
    let wrong_sum = claim.replacen("CLM*CLM7001*1360.5", "CLM*CLM7001*1360.6", 1);
    let broken_claim = claim
        .replacen("CLM*CLM7001*1360.5", "CLM**1360.5", 1)
        .replacen("HI*ABK:M5416~", "HI*XYZ:M5416~", 1);
    let of_claim = |world: &World, input: &str| -> Vec<String> {
        replies(world, input)
            .into_iter()
            .map(|one| one.text)
            .collect()
    };
    let wrong_trailer = active.replacen("IEA*1*", "IEA*2*", 1);
    vec![
        ("270-active", active.clone()),
        ("270-dependent", child.clone()),
        ("271-active", reply(&world, &active)),
        ("271-services", reply(&world, &services)),
        ("271-inactive", reply(&world, &inactive)),
        ("271-dependent", reply(&world, &child)),
        ("271-member-unknown", reply(&world, &unknown)),
        ("271-provider-not-on-file", reply(&strict, &active)),
        ("271-payer-unavailable", reply(&closed, &active)),
        ("276-claim", paid.clone()),
        ("277-paid", reply(&world, &paid)),
        ("277-several", reply(&world, &all_claims)),
        ("277-not-found", reply(&world, &no_claim)),
        ("278-request", review("72148")),
        ("278-approved", reply(&world, &review("72148"))),
        ("278-denied", reply(&world, &review("70450"))),
        ("278-need-more-info", reply(&world, &review("70551"))),
        ("278-partial", reply(&world, &review("97110"))),
        ("278-modified", reply(&world, &review("70553"))),
        ("837-claims", claim.clone()),
        ("837-dependent", for_child.clone()),
        ("999-claims", of_claim(&world, &claim)[0].clone()),
        ("277ca-accepted", of_claim(&world, &claim)[1].clone()),
        ("835-paid-and-denied", of_claim(&world, &claim)[2].clone()),
        ("277ca-dependent", of_claim(&world, &for_child)[1].clone()),
        ("835-dependent", of_claim(&world, &for_child)[2].clone()),
        (
            "277ca-member-unknown",
            of_claim(&world, &stranger)[1].clone(),
        ),
        (
            "277ca-provider-not-on-file",
            of_claim(&strict, &claim)[1].clone(),
        ),
        (
            "277ca-payer-unavailable",
            of_claim(&closed, &claim)[1].clone(),
        ),
        ("277ca-charges", of_claim(&world, &wrong_sum)[1].clone()),
        ("999-claim-errors", reply(&world, &broken_claim)),
        ("999-accepted", accepted_999),
        ("999-element-errors", reply(&world, &broken_syntax)),
        ("999-segment-missing", reply(&world, &missing_segment)),
        ("ta1-accepted", ta1_accepted),
        ("ta1-group-count", reply(&world, &wrong_trailer)),
    ]
}

/// Leaves the subscriber's NM1 out, and counts right.
fn inquiry_without_subscriber_name(inquiry: &str) -> String {
    let kept: Vec<_> = inquiry
        .split_inclusive('~')
        .filter(|segment| !segment.starts_with("NM1*IL"))
        .collect();
    let count = kept.len() - 4;
    let recount = |segment: &str| match segment.strip_prefix("SE*") {
        Some(rest) => {
            let number = rest.split_once('*').map_or("", |(_, number)| number);
            format!("SE*{count}*{number}")
        }
        None => segment.to_owned(),
    };
    kept.into_iter().map(recount).collect()
}

#[test]
fn every_fixture_is_what_the_crate_writes() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for (name, text) in fixtures() {
        let path = directory.join(format!("{name}.x12"));
        // A line break after each segment is for people; readers skip it.
        let lines = text.replace('~', "~\n");
        if std::env::var_os("PROCTOR_UPDATE_FIXTURES").is_some() {
            fs_err::write(&path, &lines).unwrap();
        }
        assert_eq!(fs_err::read_to_string(&path).unwrap(), lines, "{name}");
    }
}

#[test]
fn every_fixture_passes_our_own_checks() {
    for (name, text) in fixtures() {
        let document = Document::read(text).unwrap();
        for interchange in &document.interchanges {
            assert_eq!(
                check_interchange(interchange),
                InterchangeNote::NoError,
                "{name}"
            );
            for report in check_groups(interchange, &TransactionSet::ALL) {
                assert_eq!(report.faults, [], "{name}");
                for transaction in &report.transactions {
                    assert_eq!(transaction.syntax.errors, [], "{name}");
                    assert_eq!(transaction.faults, [], "{name}");
                }
            }
        }
    }
}
