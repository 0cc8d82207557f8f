//! Reading bytes: delimiters, several interchanges, evidence, and nothing that panics.

use proctor_payer::x12::exchange;
use proctor_x12::{
    build::ControlNumbers, delimiters::Delimiters, envelope, error::ReadError,
    interchange::Document, segment::Segment,
};
use proptest::prelude::*;

use crate::common::*;

fn inquiry_text() -> String {
    sent_270(&inquiry(person("BCB123456789"), &["30", "98"]))
}

/// The same interchange written with other delimiters.
fn redelimited(text: &str, element: char, repetition: char, component: char, end: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '*' => element.to_string(),
            '^' => repetition.to_string(),
            ':' => component.to_string(),
            '~' => end.to_owned(),
            other => other.to_string(),
        })
        .collect()
}

#[test]
fn the_delimiters_are_those_of_the_interchange() {
    let usual = Document::read(inquiry_text()).unwrap();
    for (element, repetition, component, end) in [
        ('|', '!', '>', "\n"),
        ('*', '^', ':', "~\r\n"),
        ('\u{1d}', '\u{1f}', '\u{1c}', "\u{1e}"),
        ('+', '&', '/', "'\n"),
    ] {
        let other = redelimited(&inquiry_text(), element, repetition, component, end);
        let other = Document::read(other).unwrap();
        for (one, two) in usual.transactions().zip(other.transactions()) {
            let bare = |segments: &[Segment]| -> Vec<_> {
                let bare = segments
                    .iter()
                    .map(|one| (one.tag.clone(), one.elements.clone()));
                bare.collect()
            };
            assert_eq!(bare(one), bare(two));
        }
    }
    assert_eq!(usual.interchanges[0].delimiters, Delimiters::default());
}

#[test]
fn several_interchanges_are_read_and_each_segment_keeps_its_bytes() {
    let text = format!(" \r\n{}\r\n\r\n{}\n", inquiry_text(), inquiry_text());
    let document = Document::read(text.clone()).unwrap();
    assert_eq!(document.interchanges.len(), 2);
    assert_eq!(document.transactions().count(), 2);
    for segments in document.transactions() {
        let name = segments.iter().find(|one| one.text(1) == "IL").unwrap();
        assert_eq!(
            document.evidence(name),
            b"NM1*IL*1*Smith*Ada****MI*BCB123456789"
        );
    }
    assert_eq!(document.raw, text.into_bytes());
}

#[test]
fn what_is_no_interchange_is_refused_with_its_place() {
    let text = inquiry_text();
    let refused = |input: &str| Document::read(input).unwrap_err();
    assert_eq!(refused(" \n"), ReadError::Empty);
    assert_eq!(refused("hello"), ReadError::NotAnInterchange { offset: 0 });
    let trailing = format!("{text}\nMORE");
    let offset = text.len() + 1;
    assert_eq!(refused(&trailing), ReadError::NotAnInterchange { offset });
    let short = ReadError::HeaderTooShort {
        offset: 0,
        length: 50,
    };
    assert_eq!(refused(&text[..50]), short);
    let misaligned = text.replacen("CLINIC  ", "CLINIC ", 1);
    let expected = ReadError::HeaderMisaligned {
        offset: 50,
        element: 6,
    };
    assert_eq!(refused(&misaligned), expected);
    let same = text.replacen("*T*:", "*T**", 1);
    let expected = ReadError::Delimiter {
        offset: 104,
        byte: b'*',
    };
    assert_eq!(refused(&same), expected);
    assert_eq!(
        refused(&misaligned).to_string(),
        "byte 50: the ISA segment has no element separator after ISA06"
    );
}

#[test]
fn what_x12_cannot_carry_becomes_a_space() {
    let mut world = world();
    world.members[0].last_name = "Sm*th~J\u{e9}:^\n".into();
    let mut question = inquiry(person("BCB123456789"), &["30"]);
    question.subscriber.last_name.clear();
    let answer = transaction(&reply(&world, &sent_270(&question)));
    let name = answer.iter().find(|one| one.text(1) == "IL").unwrap();
    assert_eq!(name.text(3), "Sm th J    ");
}

#[test]
fn a_large_input_of_repeated_segments_is_answered_in_good_form() {
    let text = inquiry_text();
    let at = text.find("HL*2").unwrap();
    for filler in [
        "HL*1*1*21*1~",
        "HL*9*1*22*0~",
        "EQ*30~",
        "ZZ*1~",
        "ST*270*0001~",
        "GS*HS~",
    ] {
        let many = filler.repeat(10_000);
        answered(format!("{}{many}{}", &text[..at], &text[at..]).as_bytes());
    }
}

fn answered(input: &[u8]) {
    let world = world();
    let knowledge = exchange::Knowledge {
        payer: &world.payer,
        members: &world.members,
        claims: &world.claims,
    };
    let mut deciders = exchange::Deciders {
        determine: &mut determine,
        adjudicate: &mut Halves::default(),
    };
    let mut numbers = ControlNumbers::from_seed(3);
    let always = exchange::Acknowledge::Always;
    let replies = exchange::answer(input, knowledge, &mut deciders, always, &mut numbers, NOW);
    for reply in replies.into_iter().flatten() {
        let document = Document::read(reply.text.clone()).unwrap();
        for interchange in &document.interchanges {
            let note = envelope::check_interchange(interchange);
            assert_eq!(note, envelope::InterchangeNote::NoError, "{}", reply.text);
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        answered(&bytes);
    }

    #[test]
    fn no_bytes_after_a_header_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut input = inquiry_text().into_bytes();
        input.truncate(106);
        input.extend(bytes);
        answered(&input);
    }

    /// Every question, damaged in a few places by what X12 is made of, is answered by well-formed
    /// interchanges or refused.
    #[test]
    fn damaged_questions_are_answered_in_good_form(
        which in 0..3_usize,
        damage in proptest::collection::vec((106..600_usize, "[*~:^A-Z0-9é]|HL\\*|~NM1\\*|~SE\\*|"), 1..6),
        cut in any::<bool>(),
    ) {
        let mut text = match which {
            0 => inquiry_text(),
            1 => sent_276(&claim_question(None)),
            _ => sent_278(&review_question("72148")),
        };
        for (at, with) in damage {
            let at = at.min(text.len());
            if text.is_char_boundary(at) {
                let end = (at + 1).min(text.len());
                if cut && text.is_char_boundary(end) {
                    text.replace_range(at..end, &with);
                } else {
                    text.insert_str(at, &with);
                }
            }
        }
        answered(text.as_bytes());
    }

    /// What is written is read back, whatever the values.
    #[test]
    fn built_segments_survive_the_journey(names in proptest::collection::vec("[ -~]{1,20}", 1..5)) {
        let kept = |name: &String| !name.contains(['*', '~', ':', '^']) && !name.trim().is_empty();
        let names: Vec<_> = names.into_iter().filter(kept).collect();
        let body: Vec<_> = names.iter().map(|name| Segment::new("MSG", [name.as_str()])).collect();
        let text = sent(proctor_x12::transaction_set::TransactionSet::ReviewRequest, body, false);
        let read = transaction(&text);
        let back: Vec<_> = read.iter().filter(|one| one.tag == "MSG").map(|one| one.text(1)).collect();
        prop_assert_eq!(back, names.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
