//! What is answered to which message, as bytes.

use proctor_core::time::Timestamp;
use proctor_hl7::{
    AckCode, Acknowledgement, ErrorCode, Message, MessageError, Path, Place, Value, acknowledge,
    acknowledge_with,
};

const NOW: Timestamp = Timestamp::from_millis(1_776_790_800_000);

fn answer(message: &str) -> Acknowledgement {
    acknowledge(message.as_bytes(), NOW, "ACK7").expect("not an acknowledgement")
}

/// All replies to a message, one segment a line.
fn replies(message: &str) -> String {
    let replies = answer(message).replies;
    if replies.is_empty() {
        return "(nothing)".to_owned();
    }
    let shown: Vec<String> = replies
        .iter()
        .map(|reply| String::from_utf8_lossy(&reply.message).replace('\r', "\n"))
        .collect();
    shown.join("--\n")
}

/// Each message with what is answered to it.
fn shown(messages: &[&str]) -> String {
    let shown = |message: &&str| format!("{}=>\n{}", message.replace('\r', "\n"), replies(message));
    messages.iter().map(shown).collect::<Vec<_>>().join("\n")
}

/// An admission whose MSH-11 to MSH-16 are given.
fn admission(from_11: &str) -> String {
    format!(
        "MSH|^~\\&|EHR^1.2^ISO|NORTH|LAB|SOUTH|20260421||ADT^A01^ADT_A01|M1|{from_11}\r\
         EVN||20260421\rPID|1||123^^^N^MR||Doe^Jane\rPV1|1|I\r"
    )
}

#[test]
fn a_good_message_is_accepted_and_the_parties_swap() {
    let answer = answer(&admission("P|2.5.1"));
    assert_eq!(answer.code, AckCode::ApplicationAccept);
    assert_eq!(answer.replies.len(), 1);
    assert_eq!(answer.replies[0].message, answer.message);
    insta::assert_snapshot!(replies(&admission("P|2.5.1")), @r"
    MSH|^~\&|LAB|SOUTH|EHR^1.2^ISO|NORTH|20260421170000+0000||ACK^A01^ACK|ACK7|P|2.5.1
    MSA|AA|M1
    ");
}

#[test]
fn errors_are_told_in_the_way_of_the_version() {
    let broken = |version: &str| {
        format!(
            "MSH|^~\\&|EHR|NORTH|LAB|SOUTH|20260421||ORU^R01|M1|P|{version}\r\
             PID|1||\"\"||Doe\rOBR|1|||K\rOBX|1|NM|K||high||||||?\r"
        )
    };
    insta::assert_snapshot!(shown(&[&broken("2.3"), &broken("2.5"), &broken("2.8"),]));
}

#[test]
fn what_is_not_supported_is_rejected() {
    let message = |kind: &str, rest: &str| format!("MSH|^~\\&|A|B|C|D|2026||{kind}|M1|{rest}\r");
    insta::assert_snapshot!(shown(&[
        &message("ZZZ^Z01", "P|2.5"),
        &message("ADT^A99", "P|2.5"),
        &message("ORM^O01", "X|3.0"),
    ]));

    for (kind, rest) in [
        ("ZZZ^Z01", "P|2.5"),
        ("ADT^A99", "P|2.5"),
        ("ORM^O01", "X|2.5"),
    ] {
        assert_eq!(
            answer(&message(kind, rest)).code,
            AckCode::ApplicationReject
        );
    }
}

#[test]
fn in_enhanced_mode_the_sender_gets_what_it_asked_for() {
    let codes = |message: &str| -> Vec<&'static str> {
        let replies = answer(message).replies;
        replies.iter().map(|reply| reply.code.as_str()).collect()
    };
    let good = |conditions: &str| codes(&admission(&format!("P|2.5|||{conditions}")));
    assert_eq!(good("AL|AL"), ["CA", "AA"]);
    assert_eq!(good("AL|NE"), ["CA"]);
    assert_eq!(good("NE|AL"), ["AA"]);
    assert_eq!(good("|AL"), ["AA"]);
    assert_eq!(good("AL|"), ["CA"]);
    assert_eq!(good("ER|ER"), [""; 0]);
    assert_eq!(good("SU|SU"), ["CA", "AA"]);
    assert_eq!(good("NE|NE"), [""; 0]);
    assert_eq!(good("\"\"|"), ["AA"]);

    let wrong_inside = |conditions: &str| {
        codes(&admission(&format!("P|2.5|||{conditions}")).replace("Doe^Jane", ""))
    };
    assert_eq!(wrong_inside("AL|AL"), ["CA", "AE"]);
    assert_eq!(wrong_inside("ER|ER"), ["AE"]);
    assert_eq!(wrong_inside("SU|SU"), ["CA"]);

    let wrong_version = |conditions: &str| codes(&admission(&format!("P|9|||{conditions}")));
    assert_eq!(wrong_version("AL|AL"), ["CR"]);
    assert_eq!(wrong_version("ER|AL"), ["CR"]);
    assert_eq!(wrong_version("SU|AL"), [""; 0]);
    assert_eq!(wrong_version("NE|AL"), [""; 0]);

    let without_id = |conditions: &str| {
        codes(&admission(&format!("P|2.5|||{conditions}")).replace("|M1|", "||"))
    };
    assert_eq!(without_id("AL|AL"), ["CE"]);
    assert_eq!(good("XX|NE"), ["CE"]);

    insta::assert_snapshot!(replies(&admission("P|2.5|||AL|AL").replace("Doe^Jane", "")));
}

#[test]
fn a_transport_that_always_answers_has_an_answer_even_if_none_was_asked_for() {
    let answer = answer(&admission("P|2.5|||NE|NE"));
    assert_eq!(answer.code, AckCode::ApplicationAccept);
    assert!(answer.replies.is_empty());
    assert!(String::from_utf8_lossy(&answer.message).contains("\rMSA|AA|M1\r"));
}

#[test]
fn an_acknowledgement_is_never_acknowledged() {
    for kind in ["ACK", "ACK^A01^ACK", "ORR^O02", "RSP^K22"] {
        let message = format!("MSH|^~\\&|A|B|C|D|2026||{kind}|M1|P|2.5\rMSA|AA|M0\r");
        assert_eq!(acknowledge(message.as_bytes(), NOW, "1"), None, "{kind}");
    }
    for broken in [
        "MSH|^^^^|A|B|C|D|2026||ACK^A01|M1|P|2.5\r",
        "MSH|^~\\&\"|||||||ACK\r",
    ] {
        assert_eq!(acknowledge(broken.as_bytes(), NOW, "1"), None, "{broken}");
    }
    // A result is one, even with a stray MSA.
    let message = "MSH|^~\\&|A|B|C|D|2026||ORU^R01|M1|P|2.5\rMSA|AA|M0\rOBR|1|||K\r";
    assert_eq!(answer(message).code, AckCode::ApplicationAccept);
}

#[test]
fn bytes_that_are_no_message_are_rejected_with_what_can_be_said() {
    for (raw, said) in [
        ("", "MSH^1|100^"),
        ("hello", "MSH^1|100^"),
        ("{\"a\":1}", "MSH^1|100^"),
        ("MSH", "MSH^1^2|102^"),
        ("MSHA^~\\&A", "MSH^1^2|102^"),
        ("MSH|^^^^|x", "MSH^1^2|102^"),
    ] {
        let answer = answer(raw);
        assert_eq!(answer.code, AckCode::ApplicationReject, "{raw}");
        let text = String::from_utf8(answer.message).unwrap();
        assert!(text.contains(&format!("\rERR||{said}")), "{raw}: {text}");
    }
    insta::assert_snapshot!(shown(&[
        "hello",
        "MSH|^~^&|EHR|NORTH|LAB|SOUTH|2026||ADT^A01|M1|P|2.3\rPID|1\r",
    ]));
}

#[test]
fn a_message_that_is_too_long_is_answered_by_its_header() {
    let long = admission("P|2.5") + &"A\r".repeat(proctor_hl7::SEGMENT_LIMIT);
    insta::assert_snapshot!(replies(&long));
}

#[test]
fn the_answer_is_written_like_the_message() {
    let answer = acknowledge(
        b"MSH#*~!%#Caf\xe9#B#C#D#2026##ADT*A01#N!F!1#P#2.5######8859/1\r",
        NOW,
        "1",
    )
    .unwrap();
    assert!(
        answer
            .message
            .starts_with(b"MSH#*~!%#C#D#Caf\xe9#B#20260421170000+0000##ACK*A01*ACK#1#P#2.5######8859/1\rMSA#AE#N!F!1#")
    );
    let message = Message::parse(&answer.message).unwrap();
    let path: Path = "MSA.2".parse().unwrap();
    assert_eq!(path.value(&message), Value::from("N#1"));
}

#[test]
fn an_answer_does_not_repeat_long_values() {
    let long = admission("P|2.5").replace("EVN||", &format!("EVN||{}", "é".repeat(100_000)));
    assert!(answer(&long).message.len() < 1_000);
}

#[test]
fn the_application_may_have_problems_of_its_own() {
    let unknown = MessageError {
        code: ErrorCode::UnknownKey,
        place: Some(Place::segment("PID", 1).field(3).component(1)),
        text: "no patient 123".to_owned(),
    };
    let answer = acknowledge_with(admission("P|2.5").as_bytes(), NOW, "1", vec![unknown]).unwrap();
    assert_eq!(answer.code, AckCode::ApplicationError);
    let text = String::from_utf8(answer.message).unwrap();
    assert!(
        text.ends_with("ERR||PID^1^3^1^1|204^Unknown key identifier^HL70357|E||||no patient 123\r")
    );
}
