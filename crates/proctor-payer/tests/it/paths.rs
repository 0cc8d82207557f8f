//! Paths: what they select, what they refuse, and that they print as they were written.

use proctor_x12::{path::Path, segment::Segment};
use proptest::prelude::*;
use rstest::rstest;

use crate::common::*;

fn segments() -> Vec<Segment> {
    let question = sent_270(&inquiry(person("BCB123456789"), &["98", "PT"]));
    transaction(&reply(&world(), &question))
}

fn value(path: &str) -> Option<String> {
    path.parse::<Path>().unwrap().value(&segments())
}

#[rstest]
#[case::code("NM1[IL].9", Some("BCB123456789"))]
#[case::position("EB[1].1", Some("1"))]
#[case::second("EB[2].1", Some("B"))]
#[case::first_of_its_name("EB.1", Some("1"))]
#[case::code_of_element_1("EB[1=F].10", Some("30"))]
#[case::code_of_another_element("HL[3=22].1", Some("3"))]
#[case::digit_is_never_a_code("EB[9].1", None)]
#[case::number_that_is_a_code("DTP[346].3", Some("20260101"))]
#[case::two_digits_are_a_position_first("EB[10].1", None)]
#[case::whole_of_a_repeating_element("EB[1].3", Some("98^PT"))]
#[case::repetition("EB[1].3[2]", Some("PT"))]
#[case::repetition_beyond("EB[1].3[3]", None)]
#[case::component_of_a_simple_element("EB[1].1.1", Some("1"))]
#[case::component_beyond("EB[1].1.2", None)]
#[case::empty_element("EB[2].5", None)]
#[case::element_beyond("SE.9", None)]
#[case::segment_absent("AAA[1].3", None)]
#[case::repetition_has_the_code("EB[3=PT].1", Some("1"))]
#[case::header("ST.1", Some("271"))]
fn a_path_selects(#[case] path: &str, #[case] expected: Option<&str>) {
    assert_eq!(value(path).as_deref(), expected);
}

#[test]
fn a_number_of_two_digits_is_a_position_when_there_are_so_many() {
    let lines: Vec<_> = (1..=12)
        .map(|number| Segment::new("NM1", [format!("{:02}", 50 - number), number.to_string()]))
        .collect();
    let read = |path: &str| path.parse::<Path>().unwrap().value(&lines);
    assert_eq!(read("NM1[12].2").as_deref(), Some("12"), "a position");
    assert_eq!(read("NM1[41].2").as_deref(), Some("9"), "a code");
    assert_eq!(read("NM1[1=41].2").as_deref(), Some("9"), "always a code");
}

#[test]
fn each_mistake_is_named() {
    let wrong = [
        "",
        "N",
        "NM1",
        "NM1[IL]",
        "nm1.1",
        "1NM.1",
        "NM1X.1",
        "NM1.",
        "NM1.0",
        "NM1.x",
        "NM1.1.2.3",
        "NM1[].1",
        "NM1[IL.1",
        "NM1[IL]9",
        "NM1[0=IL].9",
        "NM1[x=IL].9",
        "NM1[1=].9",
        "NM1.3[",
        "NM1.3[0]",
        "NM1.3[1]x",
        "NM1.1000",
        "NM1 .1",
        "NM1[é].é",
        "NM1.99999999999999999999",
    ];
    let messages: Vec<_> = wrong
        .iter()
        .map(|text| text.parse::<Path>().unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

proptest! {
    #[test]
    fn any_text_is_a_path_that_prints_as_it_was_written_or_a_named_mistake(text in "\\PC{0,20}") {
        if let Ok(path) = text.parse::<Path>() {
            let printed = path.to_string();
            let again: Path = printed.parse().unwrap();
            prop_assert_eq!(&again, &path);
            path.value(&segments());
        }
    }

    #[test]
    fn a_path_prints_as_it_was_written(
        text in "[A-Z][A-Z0-9]{1,2}(\\[([1-9][0-9]{0,2}|[A-Z][A-Z0-9]{0,3}|[1-9]=[A-Z0-9:]{1,5})\\])?\\.[1-9][0-9]?(\\[[1-9]\\])?(\\.[1-9])?"
    ) {
        let path: Path = text.parse().unwrap();
        prop_assert_eq!(path.to_string(), text);
    }
}
