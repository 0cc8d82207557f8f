//! Questions in, answers out: what a payer says, in X12 and as JSON.

use crate::common::*;
use proctor_payer::x12::{Person, is_npi};
use proctor_x12::{path::Path, segment::Segment, syntax, transaction_set::TransactionSet, view};
use proptest::prelude::*;
use rstest::rstest;

fn value(segments: &[Segment], path: &str) -> Option<String> {
    path.parse::<Path>().unwrap().value(segments)
}

fn ask(person: Person) -> Vec<Segment> {
    transaction(&reply(&world(), &sent_270(&inquiry(person, &["30"]))))
}

fn born(day: &str) -> Option<proctor_x12::day::Day> {
    Some(day.parse().unwrap())
}

#[test]
fn a_member_is_found_by_id_and_else_by_name_and_birth_date() {
    let by_id = ask(person("BCB123456789"));
    assert_eq!(value(&by_id, "EB[1].1").as_deref(), Some("1"));
    let by_name = ask(Person {
        last_name: "SMITH".into(),
        first_name: "ada".into(),
        birth_date: born("1984-03-09"),
        ..Person::default()
    });
    assert_eq!(
        value(&by_name, "NM1[IL].9").as_deref(),
        Some("BCB123456789")
    );
    assert_eq!(by_id[8..], by_name[8..], "the answer is the same");
}

#[rstest]
#[case::unknown_id("NOPE", "Smith", None, "72", "C")]
#[case::other_name("BCB123456789", "Jones", None, "73", "C")]
#[case::other_birth_date("BCB123456789", "Smith", born("1984-03-10"), "71", "C")]
#[case::nothing("", "", None, "72", "C")]
#[case::no_birth_date("", "Smith", None, "58", "C")]
#[case::no_name("", "", born("1984-03-09"), "73", "C")]
#[case::nobody("", "Smith", born("1999-01-01"), "75", "C")]
fn a_member_who_is_not_found_is_rejected_with_the_reason(
    #[case] member_id: &str,
    #[case] last_name: &str,
    #[case] birth_date: Option<proctor_x12::day::Day>,
    #[case] code: &str,
    #[case] follow_up: &str,
) {
    let answer = ask(Person {
        member_id: member_id.into(),
        last_name: last_name.into(),
        birth_date,
        ..Person::default()
    });
    assert_eq!(value(&answer, "AAA[1].3").as_deref(), Some(code));
    assert_eq!(value(&answer, "AAA[1].4").as_deref(), Some(follow_up));
    assert_eq!(value(&answer, "EB.1"), None);
    assert_eq!(
        view::eligibility(&answer)["active"],
        serde_json::Value::Null
    );
    assert_eq!(view::eligibility(&answer)["errors"][0]["code"], code);
}

#[test]
fn a_provider_or_payer_that_cannot_be_part_of_it_is_rejected() {
    let mut question = inquiry(person("BCB123456789"), &["30"]);
    question.provider_npi = "1234567890".into();
    let answer = transaction(&reply(&world(), &sent_270(&question)));
    assert_eq!(value(&answer, "AAA[1].3").as_deref(), Some("43"));
    let mut strict = world();
    strict.payer.providers = vec!["1999999984".into()];
    let question = sent_270(&inquiry(person("BCB123456789"), &["30"]));
    let answer = transaction(&reply(&strict, &question));
    assert_eq!(value(&answer, "AAA[1].3").as_deref(), Some("51"));
    let mut closed = world();
    closed.payer.unavailable = true;
    let answer = transaction(&reply(&closed, &question));
    assert_eq!(value(&answer, "AAA[1].3").as_deref(), Some("42"));
    assert_eq!(value(&answer, "NM1[IL].9"), None);
}

#[test]
fn an_npi_has_a_check_digit() {
    assert!(is_npi("1234567893"));
    assert!(is_npi("1999999984"));
    for wrong in ["1234567890", "123456789", "12345678931", "12345678é3", ""] {
        assert!(!is_npi(wrong), "{wrong}");
    }
}

#[test]
fn a_coverage_that_ended_or_has_not_begun_is_inactive() {
    let ended = ask(person("BCB987654321"));
    assert_eq!(value(&ended, "EB[1].1").as_deref(), Some("6"));
    assert_eq!(
        value(&ended, "DTP[291].3").as_deref(),
        Some("20240101-20251231")
    );
    let mut later = world();
    later.members[0].coverages[0].start = "2026-05-01".parse().unwrap();
    let question = sent_270(&inquiry(person("BCB123456789"), &["30"]));
    let answer = transaction(&reply(&later, &question));
    assert_eq!(value(&answer, "EB[1].1").as_deref(), Some("6"));
    // Asked for a day on which it holds, it is active.
    let june = question
        .replace("EQ*30~", "DTP*291*D8*20260601~EQ*30~")
        .replace("SE*11", "SE*12");
    let answer = transaction(&reply(&later, &june));
    assert_eq!(value(&answer, "EB[1].1").as_deref(), Some("1"));
}

#[test]
fn asking_for_nothing_asks_for_the_plan_as_a_whole() {
    let whole = sent_270(&inquiry(person("BCB123456789"), &["30"]));
    assert_eq!(sent_270(&inquiry(person("BCB123456789"), &[])), whole);
}

#[test]
fn the_answers_read_as_json() {
    let world = world();
    let active = transaction(&reply(
        &world,
        &sent_270(&inquiry(person("BCB123456789"), &["98", "35"])),
    ));
    insta::assert_snapshot!("eligibility", format!("{:#}", view::eligibility(&active)));
    let claims = transaction(&reply(&world, &sent_276(&claim_question(None))));
    insta::assert_snapshot!("claim_status", format!("{:#}", view::claim_status(&claims)));
    let denied = transaction(&reply(&world, &sent_278(&review_question("70450"))));
    insta::assert_snapshot!("prior_auth", format!("{:#}", view::prior_auth(&denied)));
}

#[rstest]
#[case("72148", "A1", Some("AUTH-0001"))]
#[case("97110", "A2", Some("AUTH-0002"))]
#[case("70450", "A3", None)]
#[case("70551", "A4", None)]
#[case("99999", "A4", None)]
#[case("70553", "A6", Some("AUTH-0003"))]
fn a_determination_becomes_an_action(
    #[case] procedure: &str,
    #[case] action: &str,
    #[case] number: Option<&str>,
) {
    let answer = transaction(&reply(&world(), &sent_278(&review_question(procedure))));
    assert_eq!(value(&answer, "HCR.1").as_deref(), Some(action));
    assert_eq!(value(&answer, "HCR.2").as_deref(), number);
    assert_eq!(value(&answer, "SV1.1.2").as_deref(), Some(procedure));
    assert_eq!(value(&answer, "TRN[1].2").as_deref(), Some("REQ-3"));
}

#[test]
fn a_review_for_an_unknown_member_reaches_no_decision() {
    let mut question = review_question("72148");
    question.subscriber.member_id = "NOPE".into();
    let answer = transaction(&reply(&world(), &sent_278(&question)));
    assert_eq!(value(&answer, "AAA.3").as_deref(), Some("72"));
    assert_eq!(value(&answer, "HCR.1"), None);
}

#[test]
fn claims_are_found_by_number_and_by_days_and_kept_from_other_providers() {
    let world = world();
    let by_number = transaction(&reply(&world, &sent_276(&claim_question(Some("CLM0001")))));
    assert_eq!(value(&by_number, "STC[1].1").as_deref(), Some("F1:65"));
    assert_eq!(value(&by_number, "STC[1].1.2").as_deref(), Some("65"));
    assert_eq!(value(&by_number, "STC[1].5").as_deref(), Some("180"));
    let mut by_days = claim_question(None);
    let day = |text: &str| text.parse().unwrap();
    by_days.service_days = Some((day("2026-03-04"), day("2026-03-31")));
    let by_days = transaction(&reply(&world, &sent_276(&by_days)));
    assert_eq!(value(&by_days, "REF[1K].2").as_deref(), Some("CLM0002"));
    assert_eq!(value(&by_days, "STC[1].1.1").as_deref(), Some("P2"));
    let mut other = claim_question(Some("CLM0001"));
    other.provider_npi = "1999999984".into();
    let other = transaction(&reply(&world, &sent_276(&other)));
    assert_eq!(value(&other, "STC[1].1").as_deref(), Some("A4:35"));
}

#[test]
fn unknown_fields_of_a_data_set_are_refused() {
    let text = include_str!("../fixtures/payer.json").replace("\"plan_name\"", "\"plan\"");
    let error = serde_json::from_str::<World>(&text).unwrap_err();
    assert!(
        error.to_string().contains("unknown field `plan`"),
        "{error}"
    );
}

/// The subscriber's level of a question gets a dependent below it, who is the patient.
fn for_dependent(question: &str, first: &str, level: &str, added: usize) -> String {
    let at = question.find(first).unwrap();
    let text = format!("{}{level}{}", &question[..at], &question[at..]);
    let (before, rest) = text.split_once("SE*").unwrap();
    let (count, rest) = rest.split_once('*').unwrap();
    let count: usize = count.parse().unwrap();
    format!("{before}SE*{}*{rest}", count + added)
}

#[test]
fn a_claim_of_a_dependent_is_reported_below_the_dependent() {
    let question = sent_276(&claim_question(None)).replace("HL*4*3*22*0", "HL*4*3*22*1");
    let theo = "HL*5*4*23~DMG*D8*20150721~NM1*QC*1*Smith*Theo~";
    let answer = transaction(&reply(
        &world(),
        &for_dependent(&question, "TRN*1", theo, 3),
    ));
    assert_eq!(value(&answer, "NM1[QC].4").as_deref(), Some("Theo"));
    assert_eq!(value(&answer, "REF[1K].2").as_deref(), Some("CLM0003"));
    assert_eq!(value(&answer, "STC[1].1").as_deref(), Some("F2:585"));
    let nobody = theo.replace("Theo", "Zoe");
    let answer = transaction(&reply(
        &world(),
        &for_dependent(&question, "TRN*1", &nobody, 3),
    ));
    assert_eq!(value(&answer, "STC[1].1").as_deref(), Some("D0:97"));
}

#[test]
fn a_review_for_a_dependent_is_decided_about_the_dependent() {
    let question = sent_278(&review_question("72148"))
        .replace("HL*5*4*SS", "HL*6*5*SS")
        .replace("HL*4*3*EV", "HL*5*4*EV");
    let theo = "HL*4*3*23*1~NM1*QC*1*Smith*Theo~DMG*D8*20150721~";
    let question = for_dependent(&question, "HL*5*4*EV", theo, 3);
    let answer = transaction(&reply(&world(), &question));
    assert_eq!(value(&answer, "HL[3=EV].2").as_deref(), Some("4"));
    assert_eq!(value(&answer, "HCR.1").as_deref(), Some("A1"));
    let other_day = question.replace("20150721", "20150722");
    let answer = transaction(&reply(&world(), &other_day));
    assert_eq!(value(&answer, "AAA.3").as_deref(), Some("71"));
    assert_eq!(value(&answer, "HCR.1"), None);
}

#[test]
fn the_same_seed_and_question_give_the_same_bytes() {
    let question = sent_270(&inquiry(person("BCB123456789"), &["30"]));
    assert_eq!(reply(&world(), &question), reply(&world(), &question));
    let again = replies(&world(), &format!("{question}{question}"));
    assert_ne!(
        again[0].text, again[1].text,
        "each has its own control number"
    );
}

proptest! {
    /// Whatever texts a data set holds, the answers keep to the tables.
    #[test]
    fn answers_from_any_texts_are_in_good_form(
        name in "\\PC{0,90}",
        plan in "\\PC{1,90}",
        message in "\\PC{1,300}",
        line in "[ -~é]{1,80}",
    ) {
        let mut world = world();
        let member = &mut world.members[0];
        member.last_name.clone_from(&name);
        member.first_name = name;
        member.coverages[0].plan_name = plan;
        member.coverages[0].benefits[0].message = Some(message);
        member.address.as_mut().unwrap().line = line;
        let mut question = inquiry(person("BCB123456789"), &["30"]);
        question.subscriber.last_name.clear();
        let answer = transaction(&reply(&world, &sent_270(&question)));
        let report = syntax::check(TransactionSet::EligibilityResponse, &answer);
        prop_assert_eq!(report.errors, []);
    }
}
