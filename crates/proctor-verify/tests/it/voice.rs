//! `voice-transcript`.

use proctor_office::voice::Speaker::{Agent, Caller};
use serde_json::{Value, json};

use crate::support::{World, all_shown};

fn line() -> World {
    World::untouched()
        .call(&[(Caller, "Welcome. Press one."), (Agent, "One")])
        .call(&[
            (Caller, "What is the Member-ID?"),
            (Agent, "The member"),
            (Agent, "ID is B.C.B. one two three."),
            (Caller, "Thank you, goodbye."),
        ])
}

fn ask(speaker: Option<&str>, contains: Value, not_contains: Value) -> Value {
    json!({"assert": "voice-transcript", "speaker": speaker, "contains": contains, "not_contains": not_contains})
}

#[test]
fn the_evidence_of_a_call() {
    let world = line();
    insta::assert_snapshot!(all_shown(&[
        (
            "said, over two turns",
            world.check(ask(
                Some("agent"),
                json!(["member id", "BCB123"]),
                json!(["social security number"])
            ))
        ),
        (
            "not said, and said though forbidden",
            world.check(ask(
                Some("agent"),
                json!(["goodbye", "ONE"]),
                json!(["member"])
            ))
        ),
        (
            "by anybody",
            world.check(ask(None, json!(["goodbye"]), Value::Null))
        ),
        (
            "only forbidden phrases, and a call",
            world.check(ask(Some("caller"), Value::Null, json!(["password"])))
        ),
        (
            "only forbidden phrases, and no call",
            World::untouched().check(ask(None, Value::Null, json!(["password"])))
        ),
        (
            "not understood",
            world.check(ask(Some("robot"), json!(["?!", 3]), Value::Null))
        ),
        (
            "nothing asked",
            world.check(json!({"assert": "voice-transcript"}))
        ),
        (
            "no telephone",
            World::default().check(ask(None, json!(["x"]), Value::Null))
        ),
    ]));
}

#[test]
fn a_phrase_does_not_reach_over_speakers_or_calls() {
    let world = World::untouched()
        .call(&[
            (Agent, "I need the prior"),
            (Caller, "Yes?"),
            (Agent, "authorization"),
        ])
        .call(&[(Agent, "number please")]);
    for phrase in ["prior authorization", "authorization number", "prior yes"] {
        let finding = world.check(ask(None, json!([phrase]), Value::Null));
        assert!(!finding.passed, "{phrase}");
    }
    let finding = world.check(ask(None, json!(["number please"]), Value::Null));
    assert_eq!(
        finding.evidence["phraseResults"][0]["turn"], 3,
        "turns are counted over all calls"
    );
}
