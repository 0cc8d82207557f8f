//! Broken envelopes: which TA1 or 999 they get, and that they get no business answer.

use proctor_payer::x12::exchange::Reply;
use proctor_x12::{interchange::Document, path::Path, transaction_set::TransactionSet};
use rstest::rstest;

use crate::common::*;

fn inquiry_text() -> String {
    sent_270(&inquiry(person("BCB123456789"), &["30"]))
}

fn value(reply: &Reply, path: &str) -> Option<String> {
    let document = Document::read(reply.text.clone()).unwrap();
    let path: Path = path.parse().unwrap();
    path.value(&document.interchanges[0].segments)
}

#[rstest]
#[case::control_numbers("IEA*1*500822466", "IEA*1*500822467", "001")]
#[case::version("*00501*", "*00401*", "003")]
#[case::sender_qualifier("*ZZ*CLINIC", "*QQ*CLINIC", "005")]
#[case::sender("*ZZ*CLINIC ", "*ZZ*       ", "006")]
#[case::receiver_qualifier("*ZZ*PROCTOR", "*QQ*PROCTOR", "007")]
#[case::receiver("*ZZ*PROCTOR ", "*ZZ*        ", "008")]
#[case::authorization("ISA*00", "ISA*99", "010")]
#[case::security("*00*          *ZZ", "*77*          *ZZ", "012")]
#[case::date("*260421*1700*^", "*260431*1700*^", "014")]
#[case::time("*1700*^", "*2500*^", "015")]
#[case::no_repetition("*^*", "*U*", "016")]
#[case::version_is_no_number("*00501*", "*0050X*", "017")]
#[case::control_number("*500822466*0*", "*50082246X*0*", "018")]
#[case::acknowledgment("*0*T*", "*7*T*", "019")]
#[case::usage("*0*T*", "*0*X*", "020")]
#[case::group_count("IEA*1*", "IEA*2*", "021")]
#[case::stray("GS*HS", "NM1*IL~GS*HS", "022")]
#[case::no_trailer("IEA*1*500822466~", "", "023")]
#[case::group_date("PROCTOR*20260421*1700*6", "PROCTOR*20260441*1700*6", "024")]
fn a_broken_interchange_gets_a_ta1_and_nothing_else(
    #[case] right: &str,
    #[case] wrong: &str,
    #[case] code: &str,
) {
    let text = inquiry_text();
    assert!(text.contains(right), "{text}");
    let replies = replies(&world(), &text.replacen(right, wrong, 1));
    assert_eq!(replies.len(), 1);
    assert_eq!(value(&replies[0], "TA1.4").as_deref(), Some("R"));
    assert_eq!(value(&replies[0], "TA1.5").as_deref(), Some(code));
    assert_eq!(
        value(&replies[0], "TA1.1").as_deref(),
        Some(&text[90..99])
            .filter(|_| code != "018")
            .or(Some("50082246X"))
    );
}

#[rstest]
#[case::group_not_supported("GS*HS", "GS*HP", "AK9.5", "1")]
#[case::group_version("*X*005010X279A1", "*X*004010X092A1", "AK9.5", "2")]
#[case::no_group_trailer("GE*1*663437~", "", "AK9.5", "3")]
#[case::group_control_numbers("GE*1*663437", "GE*1*1", "AK9.5", "4")]
#[case::group_count("GE*1*", "GE*3*", "AK9.5", "5")]
#[case::set_not_supported("ST*270", "ST*271", "IK5.2", "1")]
#[case::no_set_trailer("SE*11*0001~", "", "IK5.2", "2")]
#[case::set_control_numbers("SE*11*0001", "SE*11*0002", "IK5.2", "3")]
#[case::set_count("SE*11", "SE*12", "IK5.2", "4")]
#[case::set_control_number("ST*270*0001", "ST*270*1", "IK5.2", "7")]
#[case::guide("0001*005010X279A1", "0001*005010X212", "IK5.2", "I6")]
fn a_broken_group_or_set_gets_a_999_and_no_answer(
    #[case] right: &str,
    #[case] wrong: &str,
    #[case] path: &str,
    #[case] code: &str,
) {
    let text = inquiry_text();
    assert!(text.contains(right), "{text}");
    let replies = replies(&world(), &text.replacen(right, wrong, 1));
    assert_eq!(replies.len(), 1, "{replies:#?}");
    assert_eq!(replies[0].set, Some(TransactionSet::Acknowledgment));
    assert_eq!(value(&replies[0], "AK9.1").as_deref(), Some("R"));
    assert_eq!(value(&replies[0], path).as_deref(), Some(code));
}

#[test]
fn acknowledgments_that_accept_come_when_they_are_asked_for() {
    let quiet = inquiry_text();
    assert_eq!(replies(&world(), &quiet).len(), 1);
    let asking = quiet.replacen("*0*T*", "*1*T*", 1);
    let sets: Vec<_> = replies(&world(), &asking)
        .into_iter()
        .map(|one| one.set)
        .collect();
    let expected = [
        None,
        Some(TransactionSet::Acknowledgment),
        Some(TransactionSet::EligibilityResponse),
    ];
    assert_eq!(sets, expected);
}

#[test]
fn a_group_with_one_bad_set_is_accepted_in_part_and_the_good_one_is_answered() {
    let text = inquiry_text();
    let start = text.find("ST*").unwrap();
    let end = text.find("GE*").unwrap();
    let second = text[start..end]
        .replace("*0001", "*0002")
        .replace("NM1*IL*1", "NM1*IL*9");
    let both = format!("{}{second}{}", &text[..end], &text[end..]).replace("GE*1*", "GE*2*");
    let replies = replies(&world(), &both);
    assert_eq!(replies.len(), 2);
    let counts = ["AK9.1", "AK9.2", "AK9.3", "AK9.4"].map(|path| value(&replies[0], path).unwrap());
    assert_eq!(counts, ["P", "2", "2", "1"]);
    assert_eq!(transaction(&replies[1].text)[0].text(1), "271");
}

#[test]
fn several_interchanges_are_answered_each_with_its_own_number() {
    let text = format!("{}{}", inquiry_text(), sent_278(&review_question("72148")));
    let replies = replies(&world(), &text);
    let sets: Vec<_> = replies.iter().map(|one| one.set).collect();
    assert_eq!(
        sets,
        [
            Some(TransactionSet::EligibilityResponse),
            Some(TransactionSet::ReviewResponse)
        ]
    );
    assert_ne!(value(&replies[0], "ISA.13"), value(&replies[1], "ISA.13"));
}

#[test]
fn acknowledgments_are_not_acknowledged() {
    let asking = inquiry_text().replacen("*0*T*", "*1*T*", 1);
    for reply in replies(&world(), &asking).iter().take(2) {
        let back = reply.text.replacen("*0*T*", "*1*T*", 1);
        let sets: Vec<_> = replies(&world(), &back)
            .into_iter()
            .map(|one| one.set)
            .collect();
        assert!(
            !sets.contains(&Some(TransactionSet::Acknowledgment)),
            "{sets:?}"
        );
    }
}
