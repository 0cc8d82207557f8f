//! Faults of segments and elements, loops and the HL tree.

use std::fmt::Write;

use proctor_x12::{
    interchange::Document,
    syntax::{self, Level},
    transaction_set::TransactionSet,
};
use rstest::rstest;

use crate::common::*;

fn inquiry_text() -> String {
    let mut question = inquiry(person("BCB123456789"), &["30"]);
    question.subscriber.birth_date = "1984-03-09".parse().ok();
    sent_270(&question)
}

/// The faults of a 270 after a change, one a line: tag, position, loop, code, then its elements.
fn faults(right: &str, wrong: &str) -> String {
    let text = inquiry_text();
    assert!(text.contains(right), "{text}");
    let segments = transaction(&text.replacen(right, wrong, 1));
    let mut said = String::new();
    for error in syntax::check(TransactionSet::EligibilityInquiry, &segments).errors {
        let code = error.fault.code();
        write!(
            said,
            "{} {} {} {code}",
            error.tag, error.position, error.loop_id
        )
        .unwrap();
        for element in error.elements {
            let component = element
                .component
                .map_or_else(String::new, |it| format!(".{it}"));
            write!(
                said,
                "; {}{component} {}",
                element.element,
                element.fault.code()
            )
            .unwrap();
        }
        said.push('\n');
    }
    said.trim_end().to_owned()
}

#[rstest]
#[case::clean("EQ*30", "EQ*30", "")]
#[case::unrecognized("EQ*30", "ZZZ*1~EQ*30", "ZZZ 11 2100C 1")]
#[case::not_in_set("EQ*30", "HCR*A1~EQ*30", "HCR 11 2100C 6")]
#[case::missing_segment("BHT*0022*13*REQ-1*20260421*1700~", "", "BHT 2  3")]
#[case::too_often("DMG*D8*19840309", "DMG*D8*19840309~DMG*D8*19840309", "DMG 11 2100C 5")]
#[case::out_of_sequence("EQ*30", "EQ*30~TRN*1*2*9000000000", "TRN 12 2110C 7")]
#[case::required_element("EQ*30", "EQ", "EQ 11 2110C 8; 1 2")]
#[case::required_code("NM1*IL*1", "NM1*IL*", "NM1 9 2100C 8; 2 1")]
#[case::wrong_code("*MI*", "*QQ*", "NM1 9 2100C 8; 8 7")]
#[case::pair("*MI*BCB123456789", "*MI", "NM1 9 2100C 8; 9 2")]
#[case::too_many_elements("EQ*30", "EQ*30*****x", "EQ 11 2110C 8; 6 3")]
#[case::too_short("*MI*BCB123456789", "*MI*B", "NM1 9 2100C 8; 9 4")]
#[case::too_long("EQ*30", "EQ*300", "EQ 11 2110C 8; 1 5")]
#[case::character("*Smith*", "*Smïth*", "NM1 9 2100C 8; 3 6")]
#[case::date("20260421*1700~HL", "20261321*1700~HL", "BHT 2  8; 4 8")]
#[case::time("20260421*1700~HL", "20260421*2460~HL", "BHT 2  8; 5 9")]
#[case::birth_date("D8*19840309", "D8*19840230", "DMG 10 2100C 8; 2 8")]
#[case::repetitions("NM1*IL*1", "NM1*IL^IL*1", "NM1 9 2100C 8; 1 12")]
#[case::components("*Smith*", "*Smith:Jones*", "NM1 9 2100C 8; 3 13")]
#[case::level_number("HL*2*1", "HL*5*1", "HL 5 2000B 8; 1 7\nHL 7 2000C 8; 2 7")]
#[case::parent("HL*3*2", "HL*3*1", "HL 7 2000C 8; 2 7")]
#[case::child_flag("HL*2*1*21*1", "HL*2*1*21*0", "HL 5 2000B 8; 4 7")]
fn a_fault_is_found_where_it_is(#[case] right: &str, #[case] wrong: &str, #[case] expected: &str) {
    assert_eq!(faults(right, wrong), expected);
}

#[test]
fn every_segment_has_its_loop() {
    let mut said = String::new();
    let world = world();
    let review = sent_278(&review_question("72148"));
    let claims = sent_276(&claim_question(None));
    let answers = [
        inquiry_text(),
        reply(&world, &inquiry_text()),
        reply(&world, &claims),
        claims,
        reply(&world, &review),
        review,
    ];
    for text in answers {
        let segments = transaction(&text);
        let set = TransactionSet::of(&segments).unwrap();
        let report = syntax::check(set, &segments);
        assert_eq!(report.errors, []);
        writeln!(said, "{set:?}").unwrap();
        for (segment, within) in segments.iter().zip(&report.loops) {
            writeln!(said, "  {within:6} {} {}", segment.tag, segment.text(1)).unwrap();
        }
    }
    insta::assert_snapshot!(said);
}

#[test]
fn the_hierarchy_is_a_tree() {
    let segments = transaction(&sent_278(&review_question("72148")));
    let nodes = syntax::tree(&segments);
    let levels: Vec<_> = nodes.iter().map(|node| (node.level, node.parent)).collect();
    let expected = [
        (Level::Source, None),
        (Level::Receiver, Some(0)),
        (Level::Subscriber, Some(1)),
        (Level::Event, Some(2)),
        (Level::Service, Some(3)),
    ];
    assert_eq!(levels, expected);
    assert_eq!(segments[nodes[4].segments.clone()].len(), 2);
}

#[test]
fn an_answer_to_a_direction_is_not_taken_for_the_other() {
    let world = world();
    let response = reply(&world, &sent_278(&review_question("72148")));
    let document = Document::read(response.clone()).unwrap();
    let set = document.transactions().next().and_then(TransactionSet::of);
    assert_eq!(set, Some(TransactionSet::ReviewResponse));
    let replies = replies(&world, &response);
    assert_eq!(replies[0].set, Some(TransactionSet::Acknowledgment));
    assert!(replies[0].text.contains("IK5*R*1~"), "{}", replies[0].text);
}
