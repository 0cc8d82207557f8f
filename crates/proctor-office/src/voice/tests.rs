use http::{Method, header};
use proctor_core::environment::DatasetType;
use proctor_simulation::rehearsal::{
    Rehearsal, any_request, body, dataset, is_a_function, shown, simulator,
};
use proptest::prelude::*;

use super::*;
use crate::voice::Speaker;

fn payer_line() -> Value {
    json!({
        "phone_number": "+1 (800) 555-0100",
        "ivr": {"start": "root", "nodes": {
            "root": {"say": "Welcome. Press 1 for prior authorization.",
                     "dtmf": {"1": "pa", "9": "bye"},
                     "speech": [{"match": "prior auth", "to": "pa"}, {"match": "goodbye", "to": "bye"}],
                     "reprompt": "Sorry, please press 1 or 9."},
            "pa": {"say": "Please enter the member ID.", "otherwise": "thanks"},
            "thanks": {"say": "Thank you.", "goto": "hold"},
            "hold": {"say": "Please hold for an agent.", "transfer": true},
            "bye": {"say": "Goodbye.", "hangup": true},
        }},
        "persona": {
            "greeting": "This is Dana.",
            "beats": [
                {"when": "reference number", "say": "It is R-42.", "repeat": true},
                {"when": "member BCB123", "say": "I found the member."},
                {"when": "thank you", "say": "You are welcome. Goodbye.", "hangup": true},
            ],
            "default": "Could you say that again?",
        },
    })
}

fn line(config: Value) -> Voice {
    let blueprint = Blueprint::read(&simulator("Voice", config, vec![])).unwrap();
    Voice::branch(Arc::new(blueprint), Seed::from_number(1))
}

/// Calls, and gives the path of the call.
fn call(rehearsal: &mut Rehearsal<Voice>) -> String {
    let response = rehearsal.post("voice/calls", &json!({}));
    assert_eq!(response.status, 201);
    let id = body(&response)["call_id"].as_str().unwrap().to_owned();
    format!("voice/calls/{id}")
}

/// Says something, and gives the answer.
fn say(rehearsal: &mut Rehearsal<Voice>, call: &str, turn: &Value) -> String {
    let response = rehearsal.post(&format!("{call}/turns"), turn);
    assert_eq!(response.status, 200, "{}", shown(&response));
    let body = body(&response);
    format!(
        "{} ({})",
        body["turn"]["text"].as_str().unwrap(),
        body["status"].as_str().unwrap()
    )
}

#[test]
fn a_call_goes_through_the_menu_to_a_person() {
    let mut voice = Rehearsal::of(line(payer_line()));
    let started = voice.post("voice/calls", &json!({"to": "1-800-555-0100"}));
    insta::assert_snapshot!("started", shown(&started));
    let id = body(&started)["call_id"].as_str().unwrap().to_owned();
    let call = format!("voice/calls/{id}");
    assert_eq!(
        say(&mut voice, &call, &json!({"text": "What?"})),
        "Sorry, please press 1 or 9. (active)"
    );
    assert_eq!(
        say(&mut voice, &call, &json!({"dtmf": "1"})),
        "Please enter the member ID. (active)"
    );
    assert_eq!(
        say(&mut voice, &call, &json!({"dtmf": "123456#"})),
        "Thank you. Please hold for an agent. This is Dana. (active)"
    );
    insta::assert_snapshot!("turn_event", voice.last_event());
    assert_eq!(
        say(
            &mut voice,
            &call,
            &json!({"text": "Member B C B one two three."})
        ),
        "I found the member. (active)"
    );
    assert_eq!(
        say(&mut voice, &call, &json!({"text": "It is member BCB123!"})),
        "Could you say that again? (active)"
    );
    for _ in 0..2 {
        assert_eq!(
            say(&mut voice, &call, &json!({"text": "The reference number?"})),
            "It is R-42. (active)"
        );
    }
    assert_eq!(
        say(&mut voice, &call, &json!({"text": "Thank you"})),
        "You are welcome. Goodbye. (ended)"
    );
    let late = voice.post(&format!("{call}/turns"), &json!({"text": "Hello?"}));
    assert_eq!(late.status, 409);
    insta::assert_snapshot!("late_event", voice.last_event());
    insta::assert_snapshot!("call", shown(&voice.get(&call)));
    let exhibits = voice.exhibits();
    let calls = exhibits.evidence::<Call>().unwrap();
    assert_eq!(calls[0].turns.len(), 17);
    assert!(calls[0].ended_at.is_some());
    assert!(calls[0].turns[3].is_dtmf);
    assert_eq!(calls[0].turns[3].speaker, Speaker::Agent);
}

#[test]
fn a_node_may_end_the_call() {
    let mut voice = Rehearsal::of(line(payer_line()));
    let path = call(&mut voice);
    assert_eq!(
        say(&mut voice, &path, &json!({"text": "well, GOODBYE then"})),
        "Goodbye. (ended)"
    );
    let voice_line = json!({"ivr": {"start": "closed", "nodes": {"closed": {"say": "We are closed.", "hangup": true}}}});
    let mut voice = Rehearsal::of(line(voice_line));
    let started = body(&voice.post("voice/calls", &json!({})));
    assert_eq!(started["status"], "ended");
}

#[test]
fn without_a_menu_the_person_answers() {
    let mut voice = Rehearsal::of(line(Value::Null));
    let path = call(&mut voice);
    assert_eq!(
        say(&mut voice, &path, &json!({"dtmf": "1"})),
        "I'm sorry, I didn't get that. Could you say it again? (active)"
    );
    let scripted = json!({"persona": {"beats": [{"say": "Name?"}, {"say": "Birth date?"}], "default": "Fine."}});
    let mut voice = Rehearsal::of(line(scripted));
    let path = call(&mut voice);
    let answers = ["a", "b", "c"].map(|text| say(&mut voice, &path, &json!({"text": text})));
    assert_eq!(
        answers,
        ["Name? (active)", "Birth date? (active)", "Fine. (active)"]
    );
}

#[test]
fn calls_do_not_know_of_one_another() {
    let mut voice = Rehearsal::of(line(payer_line()));
    let (one, other) = (call(&mut voice), call(&mut voice));
    assert_ne!(one, other);
    say(&mut voice, &one, &json!({"dtmf": "1"}));
    assert_eq!(
        say(&mut voice, &other, &json!({"dtmf": "9"})),
        "Goodbye. (ended)"
    );
    let hung_up = voice.post(&format!("{one}/hangup"), &Value::Null);
    assert_eq!(body(&hung_up)["status"], "ended");
    let again = voice.post(&format!("{one}/hangup"), &Value::Null);
    assert_eq!(body(&again)["ended_at"], body(&hung_up)["ended_at"]);
    let list = body(&voice.get("voice/calls"));
    assert_eq!(list["data"].as_array().unwrap().len(), 2);
}

#[test]
fn a_voicemail_can_be_listened_to() {
    let mut voice = Rehearsal::of(line(payer_line()));
    voice
        .step(
            VoicePlugin,
            &json!({"type": "voicemail", "text": "Please call Ada back."}),
        )
        .unwrap();
    insta::assert_snapshot!("voicemail_event", voice.last_event());
    let list = body(&voice.get("voice/voicemails"));
    let id = list["data"][0]["id"].as_str().unwrap();
    let one = voice.get(&format!("voice/voicemails/{id}"));
    assert_eq!(body(&one)["text"], "Please call Ada back.");
    assert_eq!(voice.get("voice/voicemails/x").status, 404);
    assert!(
        voice
            .step(VoicePlugin, &json!({"type": "voicemail", "text": " "}))
            .is_err()
    );
}

#[test]
fn requests_that_cannot_be_understood_are_refused() {
    let mut voice = Rehearsal::of(line(payer_line()));
    let path = call(&mut voice);
    let turns = format!("{path}/turns");
    for bad in [
        json!({}),
        json!({"text": "a", "dtmf": "1"}),
        json!({"text": ""}),
        json!({"text": 5}),
        json!({"dtmf": 1}),
        json!({"dtmf": "x"}),
        json!({"text": "x".repeat(4001)}),
    ] {
        assert_eq!(voice.post(&turns, &bad).status, 400, "{bad}");
    }
    assert_eq!(voice.post("voice/calls", &json!({"to": "911"})).status, 400);
    assert_eq!(
        voice
            .post("voice/calls/x/turns", &json!({"text": "a"}))
            .status,
        404
    );
    assert_eq!(voice.get("voice").status, 404);
    assert_eq!(voice.get(&format!("{path}/x")).status, 404);
    let put = voice.send(Request::new(Method::PUT, &turns, voice.now()));
    assert_eq!(put.status, 405);
    assert_eq!(put.headers[header::ALLOW], "POST");
    let huge = voice.post(&turns, &json!({"text": "x".repeat(70_000)}));
    assert_eq!(huge.status, 413);
}

#[test]
fn everything_wrong_with_a_script_is_said_at_once() {
    let config = json!({
        "phone_number": "none",
        "ivr": {"start": "nowhere", "nodes": {
            "a": {"say": "", "dtmf": {"1": "b", "x": "a"}, "otherwise": "c", "speech": [{"match": "?", "to": "d"}]},
            "loop": {"say": "x", "goto": "pool"},
            "pool": {"say": "x", "goto": "loop"},
            "both": {"say": "x", "goto": "a", "hangup": true},
        }},
        "persona": {"beats": [{"when": "!", "say": "x"}, {"say": " "}]},
    });
    let data = dataset(DatasetType::Files, json!({}));
    let refused = Blueprint::read(&simulator("Voice", config, vec![data]));
    insta::assert_snapshot!(refused.unwrap_err().to_string().replace("; ", "\n"));
    let unknown = json!({"ivr": {"start": "a", "nodes": {"a": {"say": "x", "press": {}}}}});
    let refused = Blueprint::read(&simulator("Voice", unknown, vec![]));
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .starts_with("config.ivr.nodes.a.press: 'press' is none of")
    );
}

#[test]
fn the_number_is_the_configured_one_or_follows_from_the_seed() {
    let credentials = line(payer_line()).credentials("/p");
    assert_eq!(credentials["phone_number"], "+1 (800) 555-0100");
    assert_eq!(credentials["calls_url"], "/p/voice/calls");
    let number = line(Value::Null).credentials("")["phone_number"].clone();
    assert!(number.as_str().unwrap().contains("55501"));
}

/// Requests to a line on which two calls are open.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let fresh = line(payer_line());
    let ids = [0, 1].map(|number| fresh.seed.short_id("call", number));
    let paths: Vec<String> = ids
        .iter()
        .flat_map(|id| {
            ["turns", "turns", "turns", "hangup"].map(|end| format!("voice/calls/call_{id}/{end}"))
        })
        .chain(["voice/calls", "voice/voicemails", "voice/calls/x"].map(str::to_owned))
        .collect();
    let bodies = &[
        r#"{"dtmf": "1"}"#,
        r#"{"dtmf": "9"}"#,
        r#"{"text": "prior auth"}"#,
        r#"{"text": "member bcb123, the reference number"}"#,
        r#"{"text": "thank you"}"#,
        "{}",
        "",
    ];
    let any = prop::collection::vec(any_request(&paths, bodies), 0..25);
    any.prop_map(|requests| {
        let dial = Request::new(Method::POST, "voice/calls", Timestamp::from_millis(0));
        [vec![dial.clone(), dial], requests].concat()
    })
}

proptest! {
    #[test]
    fn the_line_is_a_function_of_its_requests(requests in requests()) {
        is_a_function(|| line(payer_line()), &requests);
    }
}

fn understanding_line() -> Value {
    json!({
        "ivr": {"start": "root", "nodes": {
            "root": {"say": "Press 1 for claims.", "dtmf": {"1": "claims"}},
            "claims": {"say": "I connect you.", "transfer": true, "hold": "120s", "queue": 3},
        }},
        "persona": {
            "greeting": "This is Dana. May I have your NPI?",
            "slots": {
                "npi": {"kind": "npi", "value": "1547209811"},
                "member": {"kind": "member_id", "value": "SM60311", "ask": "What is the member ID?"},
                "claim": {"kind": "claim_number", "values": ["C88012"]},
            },
            "beats": [
                {"needs": ["npi", "member", "claim"], "say": "It was denied."},
                {"when": ["status", "why was it denied"], "needs": ["npi", "member", "claim"], "say": "Denied, as I said.", "repeat": true},
                {"needs": ["npi", "member"], "say": "I have the member."},
                {"needs": ["npi"], "say": "Thank you. What is it about?"},
            ],
        },
    })
}

#[test]
fn a_person_remembers_what_it_was_told_and_asks_for_the_rest() {
    let mut voice = Rehearsal::of(line(understanding_line()));
    let path = call(&mut voice);
    let mut told = Vec::new();
    for turn in [
        json!({"text": "Representative!"}),
        json!({"text": "What is the status of claim C88012?"}),
        json!({"text": "Our NPI is 1547-209-811."}),
        json!({"text": "Sierra Mike six oh three one one."}),
        json!({"text": "Sorry, why was it denied?"}),
        json!({"text": "Mumble."}),
    ] {
        told.push(say(&mut voice, &path, &turn));
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    One moment, I connect you to a representative. This is Dana. May I have your NPI? (active)
    May I have the NPI, please? What is the member ID? (active)
    Thank you. What is it about? (active)
    It was denied. (active)
    Denied, as I said. (active)
    I'm sorry, I didn't get that. Could you say it again? (active)
    ");
}

#[test]
fn everything_may_be_said_at_once() {
    let mut voice = Rehearsal::of(line(understanding_line()));
    let path = call(&mut voice);
    say(&mut voice, &path, &json!({"dtmf": "0"}));
    let all = json!({"text": "NPI 1547209811, member SM60311, claim C88012. Why was it denied?"});
    assert_eq!(say(&mut voice, &path, &all), "It was denied. (active)");
}

#[test]
fn a_caller_waits_in_the_queue_on_the_clock_of_the_world() {
    let mut voice = Rehearsal::of(line(understanding_line()));
    let path = call(&mut voice);
    let first = say(&mut voice, &path, &json!({"dtmf": "1"}));
    assert_eq!(
        first,
        "I connect you. Please hold. You are number 3 in the queue. (active)"
    );
    let mut heard = BTreeSet::new();
    let mut last = String::new();
    // A second passes with every turn.
    for _ in 0..125 {
        last = say(&mut voice, &path, &json!({"text": "Hello?"}));
        heard.insert(last.clone());
        if last.starts_with("This is Dana") {
            break;
        }
    }
    assert_eq!(last, "This is Dana. May I have your NPI? (active)");
    assert!(heard.contains("Please hold. You are next in the queue. (active)"));
    assert!(heard.contains("Please hold. You are number 2 in the queue. (active)"));
}

#[test]
fn everything_wrong_with_slots_is_named() {
    let config = json!({
        "ivr": {"start": "a", "operator": "nobody", "nodes": {
            "a": {"say": "x", "hold": "120s"}, "b": {"say": "x", "transfer": true, "hold": "soon", "queue": 0}}},
        "persona": {
            "slots": {"a": {"kind": "claim"}, "b": {"kind": "date", "value": "April"}, "c": {"kind": "npi"}},
            "beats": [{"needs": ["d"], "say": "x"}, {"when": [], "say": "x"}, {"when": 5, "say": "x"}],
        },
    });
    let refused = Blueprint::read(&simulator("Voice", config, vec![])).unwrap_err();
    let told: Vec<String> = refused.into_vec().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"));
}
