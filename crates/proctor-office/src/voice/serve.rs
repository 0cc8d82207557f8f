//! What each request to the line does.

use http::{Method, StatusCode};
use proctor_core::time::Timestamp;
use proctor_simulation::{
    exchange::{Request, Response},
    fields::Fields,
    simulator::{Decision, Recorded},
};
use serde_json::{Value, json};

use crate::{
    telephone,
    voice::{Call, Speaker, Turn},
};

use super::{
    Change, Line, Voice,
    config::is_keys,
    script::{Heard, Progress},
};

/// The most bytes that a body may have.
const LARGEST_BODY: usize = 64 * 1024;
/// The most characters that are said at once.
const LONGEST_TEXT: usize = 4_000;
/// The most keys that are pressed at once.
const MOST_KEYS: usize = 64;
/// The most calls in a playground.
const MOST_CALLS: usize = 200;
/// The most turns in a call.
const MOST_TURNS: usize = 1_000;

impl Voice {
    pub(super) fn serve(&self, request: &Request, now: Timestamp) -> Decision<Change> {
        let segments = request.segments().unwrap_or_default();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let look = |response| Decision::answer("voice_request", request, response);
        match (&request.method, segments.as_slice()) {
            (&Method::GET, ["voice", "calls"]) => look(request.listing(&[], || self.list_calls())),
            (&Method::POST, ["voice", "calls"]) => self.call(request, now),
            (_, ["voice", "calls"]) => look(Response::wrong_method(request, "GET, POST")),
            (method, ["voice", "calls", id, rest @ ..]) => {
                let Some(line) = self.line(id) else {
                    return look(Response::not_found(format!("there is no call '{id}'")));
                };
                match (method, rest) {
                    (&Method::GET, []) => {
                        look(Response::json(StatusCode::OK, &call_view(&line.call)))
                    }
                    (_, []) => look(Response::wrong_method(request, "GET")),
                    (&Method::POST, ["turns"]) => self.talk(request, line, now),
                    (&Method::POST, ["hangup"]) => hang_up(request, line, now),
                    (_, ["turns" | "hangup"]) => look(Response::wrong_method(request, "POST")),
                    _ => look(nothing_at(request)),
                }
            }
            (&Method::GET, ["voice", "voicemails"]) => look(request.listing(&[], || {
                Response::json(StatusCode::OK, &json!({"data": self.voicemails}))
            })),
            (&Method::GET, ["voice", "voicemails", id]) => look(self.voicemail(id)),
            (_, ["voice", "voicemails"] | ["voice", "voicemails", _]) => {
                look(Response::wrong_method(request, "GET"))
            }
            _ => look(nothing_at(request)),
        }
    }

    fn list_calls(&self) -> Response {
        let calls: Vec<Value> = self
            .calls
            .iter()
            .map(|line| call_view(&line.call))
            .collect();
        Response::json(StatusCode::OK, &json!({"data": calls}))
    }

    fn voicemail(&self, id: &str) -> Response {
        match self.voicemails.iter().find(|voicemail| voicemail.id == id) {
            Some(voicemail) => Response::json(StatusCode::OK, voicemail),
            None => Response::not_found(format!("there is no voicemail '{id}'")),
        }
    }

    fn call(&self, request: &Request, now: Timestamp) -> Decision<Change> {
        if let Err(refusal) = self.check_call(request) {
            return Decision::answer("voice_call", request, *refusal);
        }
        let number = self.calls.len() as u64;
        let id = format!("call_{}", self.seed.short_id("call", number));
        let reply = self.blueprint.greet(now);
        let turn = said_by(Speaker::Caller, reply.text, now);
        let response = Response::json(
            StatusCode::CREATED,
            &json!({"call_id": id, "status": status(reply.hangs_up), "turn": turn}),
        );
        let event = Recorded::request("voice_call", request, &response)
            .with("call_id", id.as_str())
            .with("turn", json!(turn));
        Decision {
            response,
            event,
            changes: vec![Change::Call {
                id,
                turn,
                position: reply.position,
                is_over: reply.hangs_up,
            }],
        }
    }

    fn check_call(&self, request: &Request) -> Result<(), Box<Response>> {
        let fields = Fields::of(request, LARGEST_BODY)?;
        if let Some(to) = fields.optional_text("to", 50) {
            let ours = self.number();
            if telephone::digits(&to) != telephone::digits(&ours) {
                fields.wrong(
                    "to",
                    format!("nobody answers there; the number of this line is {ours}"),
                );
            }
        }
        fields.finish()?;
        if self.calls.len() >= MOST_CALLS {
            return Err(Box::new(Response::conflict(format!(
                "the line takes at most {MOST_CALLS} calls"
            ))));
        }
        Ok(())
    }

    fn talk(&self, request: &Request, line: &Line, now: Timestamp) -> Decision<Change> {
        let (text, is_dtmf) = match check_turn(request, line) {
            Ok(turn) => turn,
            Err(refusal) => {
                let refused = Decision::answer("voice_turn", request, *refusal);
                return Decision {
                    event: refused.event.with("call_id", line.call.id.as_str()),
                    ..refused
                };
            }
        };
        let heard = match is_dtmf {
            true => Heard::Keys(&text),
            false => Heard::Words(&text),
        };
        let turns = line.call.turns.iter();
        let said = turns.filter(|turn| turn.speaker == Speaker::Agent);
        let progress = Progress {
            position: &line.position,
            used: &line.used_beats,
            pending: line.pending,
            said: said.map(|turn| turn.text.as_str()).collect(),
            now,
        };
        let reply = self.blueprint.answer(&progress, &heard);
        let said = Turn {
            is_dtmf,
            ..said_by(Speaker::Agent, text, now)
        };
        let turn = said_by(Speaker::Caller, reply.text, now);
        let id = line.call.id.as_str();
        let response = Response::json(
            StatusCode::OK,
            &json!({"call_id": id, "status": status(reply.hangs_up), "turn": turn}),
        );
        let event = Recorded::request("voice_turn", request, &response)
            .with("call_id", id)
            .with("turns", json!([said, turn]))
            .with("position", json!(reply.position));
        Decision {
            response,
            event,
            changes: vec![Change::Talk {
                id: id.to_owned(),
                said,
                turn,
                position: reply.position,
                used_beat: reply.beat,
                pending_beat: reply.pending,
                is_over: reply.hangs_up,
            }],
        }
    }
}

/// What the agent says, and whether with keys.
fn check_turn(request: &Request, line: &Line) -> Result<(String, bool), Box<Response>> {
    let fields = Fields::of(request, LARGEST_BODY)?;
    let text = fields.optional_text("text", LONGEST_TEXT);
    let keys = fields.optional_text("dtmf", MOST_KEYS);
    let is_sound = !fields.has_problems();
    match (&text, &keys) {
        (None, None) if is_sound => fields.wrong("text", "text or dtmf is required"),
        (Some(_), Some(_)) => fields.wrong("dtmf", "only one of text and dtmf"),
        (None, Some(keys)) if !is_keys(keys) => {
            fields.wrong("dtmf", "keys are the digits, *, # and A to D");
        }
        _ => {}
    }
    fields.finish()?;
    if line.call.ended_at.is_some() {
        return Err(Box::new(Response::conflict("the call is over")));
    }
    if line.call.turns.len() >= MOST_TURNS {
        return Err(Box::new(Response::conflict(format!(
            "a call has at most {MOST_TURNS} turns"
        ))));
    }
    let is_dtmf = keys.is_some();
    Ok((text.or(keys).unwrap_or_default(), is_dtmf))
}

/// Hanging up what is over changes nothing.
fn hang_up(request: &Request, line: &Line, now: Timestamp) -> Decision<Change> {
    let mut call = line.call.clone();
    let was_over = call.ended_at.is_some();
    call.ended_at = call.ended_at.or(Some(now));
    let response = Response::json(StatusCode::OK, &call_view(&call));
    let event = Recorded::request("voice_hangup", request, &response)
        .with("call_id", call.id.as_str())
        .with("ended_at", json!(call.ended_at));
    let change = Change::HangUp {
        id: call.id,
        at: now,
    };
    Decision {
        response,
        event,
        changes: if was_over { vec![] } else { vec![change] },
    }
}

fn said_by(speaker: Speaker, text: String, at: Timestamp) -> Turn {
    Turn {
        speaker,
        text,
        is_dtmf: false,
        at,
    }
}

fn status(is_over: bool) -> &'static str {
    if is_over { "ended" } else { "active" }
}

fn call_view(call: &Call) -> Value {
    json!({
        "call_id": call.id,
        "status": status(call.ended_at.is_some()),
        "started_at": call.started_at,
        "ended_at": call.ended_at,
        "turns": call.turns,
    })
}

fn nothing_at(request: &Request) -> Response {
    Response::not_found(format!(
        "there is nothing at /{}; there are /voice/calls and /voice/voicemails",
        request.path
    ))
}
