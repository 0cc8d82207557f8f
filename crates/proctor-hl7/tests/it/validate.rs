//! What is found wrong with which message.

use proctor_hl7::{Message, validate};

fn problems(message: &str) -> String {
    let message = message.replace('\n', "\r");
    let message = Message::parse(message.as_bytes()).expect("a message");
    let found: Vec<String> = validate(&message).iter().map(ToString::to_string).collect();
    found.join("\n")
}

/// Each message with its problems.
fn shown(messages: &[&str]) -> String {
    let shown = |message: &&str| format!("{}\n=>\n{}\n", message.trim_end(), problems(message));
    messages.iter().map(shown).collect::<Vec<_>>().join("\n")
}

fn header(kind: &str) -> String {
    format!("MSH|^~\\&|A|B|C|D|20260421||{kind}|M1|P|2.5.1\n")
}

const EVENT: &str = "EVN||20260421101500\n";
const PATIENT: &str = "PID|1||123^^^N^MR||Doe^Jane\n";
const VISIT: &str = "PV1|1|I\n";

#[test]
fn a_good_message_of_each_kind_has_no_problems() {
    let mut messages = vec![];
    for event in [
        "A01", "A02", "A03", "A04", "A05", "A06", "A07", "A08", "A11", "A13", "A28", "A31",
    ] {
        let start = header(&format!("ADT^{event}"));
        messages.push(format!("{start}{EVENT}{PATIENT}NK1|1|Roe\n{VISIT}ZPI|x\n"));
    }
    for event in ["S12", "S13", "S14", "S15", "S26"] {
        let start = header(&format!("SIU^{event}"));
        messages.push(format!(
            "{start}SCH||F1\n{PATIENT}RGS|1\nAIS|1|A|CHK^Check-up\nAIP|1||9^Rivera\n"
        ));
    }
    messages.push(header("ADT^A40^ADT_A39") + EVENT + PATIENT + "MRG|9\n" + PATIENT + "MRG|8\n");
    messages.push(header("ORU^R01") + PATIENT + "OBR|1|||K\nOBX|1|NM|K||6.8~-7||||||F\n");
    messages.push(header("ORU^R01") + "OBR|1|||K\nOBX|1|DT|K||20260421||||||F\nNTE|1||ok\n");
    messages.push(header("ORM^O01") + PATIENT + "ORC|NW|1\nOBR|1|1||K\nORC|CA|2\n");
    messages.push(header("OML^O21") + PATIENT + "ORC|NW|1\nOBR|1|1||K\nSPM|1|||BLD\n");
    messages.push(
        header("MDM^T02")
            + EVENT
            + PATIENT
            + VISIT
            + "TXA|1|DS|TX|||||||||D1|||||AU\nOBX|1|TX|1||Text||||||F\n",
    );
    for message in messages {
        assert_eq!(problems(&message), "", "{message}");
    }
}

#[test]
fn every_version_from_2_1_to_2_8_is_known() {
    for version in [
        "2.1", "2.2", "2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1", "2.8",
    ] {
        let message = header("ADT^A01").replace("2.5.1", version) + EVENT + PATIENT + VISIT;
        assert_eq!(problems(&message), "", "{version}");
    }
}

#[test]
fn the_header_must_say_what_the_message_is() {
    insta::assert_snapshot!(shown(&[
        "MSH|^~\\&",
        "MSH|^~\\&|||||soon||^A01|1|Q|2.9|||MAYBE",
        &header("ADT"),
        &header("adt^A01"),
        &header("ADT^A17"),
    ]));
}

#[test]
fn segments_must_be_there_in_their_order() {
    insta::assert_snapshot!(shown(&[
        &(header("ADT^A01") + PATIENT + EVENT),
        &(header("ADT^A40") + EVENT + PATIENT + PATIENT + "MRG|9\n" + PATIENT),
        &(header("ADT^A40") + EVENT + PATIENT),
        &(header("ORU^R01") + "PV1|1|I\nOBX|1|ST|K||x||||||F\nOBR|1|||K\n"),
        &(header("ORM^O01") + "OBR|1|||K\n"),
        &(header("SIU^S12") + "AIS|1||X\nSCH|1\n"),
        &(header("ORM^O01") + "ORC|NW\npid|1\nand more text\n" + &header("ORM^O01")),
    ]));
}

#[test]
fn patients_may_have_observations_outside_of_orders_since_2_7_1() {
    let early = header("ORU^R01") + PATIENT + "OBX|1|ST|K||x||||||F\nOBR|1|||K\n";
    assert!(problems(&early).contains("OBX needs OBR before it"));
    assert_eq!(problems(&early.replace("2.5.1", "2.8")), "");
}

#[test]
fn fields_must_have_values_of_their_kind() {
    insta::assert_snapshot!(shown(&[
        &(header("ADT^A01") + "EVN||tomorrow\nPID|1||^^^||\"\"\nPV1|1\n"),
        &(header("ORU^R01") + "OBR|1\nOBX|1|NM|K||6.8~< 5||||||final\nOBX|2||||x\n"),
        &(header("ORM^O01") + "ORC|NEW\n"),
        &(header("SIU^S12") + "SCH\nRGS|one\nAIS|1\n"),
        &(header("MDM^T02") + EVENT + PATIENT + VISIT + "TXA|1\nOBX|1|TX|1||Text||||||F\n"),
    ]));
}

#[test]
fn what_is_required_depends_on_the_version() {
    let message = |version: &str| {
        format!("MSH|^~\\&|A|B|C|D|||ADT^A01|M1|P|{version}\nEVN|A01\n{PATIENT}{VISIT}")
    };
    assert_eq!(problems(&message("2.3")), "");
    assert!(problems(&message("2.2")).contains("at EVN.2"));
    assert!(problems(&message("2.4")).contains("at MSH.7"));
}

#[test]
fn no_more_than_a_hundred_problems_are_told() {
    let message = header("ORU^R01") + "OBR|1|||K\n" + &"OBX\n".repeat(1000);
    assert_eq!(problems(&message).lines().count(), 100);
}
