//! Whatever bytes arrive, there is an answer.

use proctor_core::time::Timestamp;
use proctor_hl7::{Message, MessageDraft, Path, acknowledge, mllp, validate};
use proptest::{collection::vec, prelude::*};

const RESULT: &[u8] = b"MSH|^~\\&|LAB|N|EHR|S|20260421||ORU^R01^ORU_R01|M1|P|2.5.1|||AL|AL\r\
    PID|1||123^^^N&1.2&ISO^MR~9||Doe^Jane\\T\\Joan||19800101|F\rPV1|1|O\r\
    ORC|RE|1\rOBR|1|1||K^Potassium\rOBX|1|NM|K^Potassium||6.8|mmol/L|||H||F\rNTE|1||a\\.br\\b\\X0D\\\r";

/// Everything that the crate does with a message.
fn exercise(raw: &[u8]) {
    let answer = acknowledge(raw, Timestamp::from_millis(0), "1");
    for reply in answer.into_iter().flat_map(|answer| answer.replies) {
        let reply = Message::parse(&reply.message).expect("an acknowledgement is a message");
        let path: Path = "MSA.1".parse().expect("a path");
        assert!(path.value(&reply).text().is_some());
    }
    let Ok(message) = Message::parse(raw) else {
        return;
    };
    validate(&message);
    for segment in message.segments() {
        let fields: Vec<_> = segment.fields().collect();
        for number in 0..=fields.len() + 1 {
            let field = segment.field(number);
            assert_eq!(
                field,
                number
                    .checked_sub(1)
                    .and_then(|place| fields.get(place).copied())
            );
            field.map(|field| field.value());
        }
    }
    for path in [
        "MSH.1",
        "MSH.9.1",
        "PID.3[*].4.2",
        "OBX[*].5",
        "NTE[2].3[2].1",
    ] {
        path.parse::<Path>().expect("a path").values(&message);
    }
    // What was read is what is written, but for the line ends.
    let written = message.serialise();
    let again = Message::parse(&written).expect("still a message");
    assert_eq!(again.serialise(), written);
    MessageDraft::from(&message).serialise();
}

/// Each of these takes minutes if anything is done once for every pair of its parts.
#[test]
fn messages_made_to_be_slow_are_not() {
    let header = "MSH|^~\\&|A|B|C|D|2026||ORU^R01|M1|P|2.5\r";
    for rest in [
        "|".repeat(250_000),
        format!("OBX|1|NM|K||{}", "x~".repeat(120_000)),
        format!("PID|||{}", "^&".repeat(120_000)),
        format!("NTE|1||{}", "\\".repeat(250_000)),
        format!("NTE|1||{}", "\\X4".repeat(80_000)),
        header.repeat(20_000),
        "x\r".repeat(90_000),
        "\r".repeat(250_000),
    ] {
        let raw = format!("{header}{rest}");
        acknowledge(raw.as_bytes(), Timestamp::from_millis(0), "1");
        let message = Message::parse(raw.as_bytes()).expect("a message");
        MessageDraft::from(&message).serialise();
    }
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(raw: Vec<u8>) {
        exercise(&raw);
    }

    #[test]
    fn anything_behind_a_header_has_an_answer(rest in vec(prop_oneof![
        any::<u8>(), Just(b'|'), Just(b'^'), Just(b'~'), Just(b'\\'), Just(b'&'), Just(b'"'), Just(b'\r'), Just(b'X'),
    ], 0..200)) {
        exercise(&[b"MSH|^~\\&|", rest.as_slice()].concat());
        exercise(&[b"MSH", rest.as_slice()].concat());
    }

    #[test]
    fn a_damaged_message_has_an_answer(damage in vec((0..RESULT.len(), any::<u8>(), 0..3_u8), 1..12)) {
        let mut raw = RESULT.to_vec();
        for (position, byte, kind) in damage {
            let position = position.min(raw.len().saturating_sub(1));
            match kind {
                0 => raw[position] = byte,
                1 => raw.insert(position, byte),
                _ => raw.truncate(position.max(1)),
            }
        }
        exercise(&raw);
    }

    #[test]
    fn well_formed_bytes_are_written_as_they_were_read(
        segments in vec("[A-Z][A-Z0-9]{2}(\\|[a-z0-9^~&\"é]{0,6}(\\\\[FSRTEHN]\\\\)?){0,8}", 0..20),
    ) {
        let raw: String = segments.iter().fold("MSH|^~\\&|A\r".to_owned(), |raw, segment| raw + segment + "\r");
        let message = Message::parse(raw.as_bytes()).expect("a message");
        prop_assert_eq!(message.raw(), raw.as_bytes());
        prop_assert_eq!(message.serialise(), raw.into_bytes());
    }

    #[test]
    fn a_message_survives_its_frame(pieces in vec(1..50_usize, 1..10)) {
        let stream = mllp::frame(RESULT).expect("can be framed");
        let mut decoder = mllp::Decoder::new(4096);
        let mut rest = stream.as_slice();
        let mut found = vec![];
        for size in pieces {
            let (piece, more) = rest.split_at(size.min(rest.len()));
            found.extend(decoder.feed(piece));
            rest = more;
        }
        found.extend(decoder.feed(rest));
        prop_assert_eq!(found, [Ok(RESULT.to_vec())]);
    }
}
