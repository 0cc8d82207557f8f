//! An event in full: parsed as its protocol is read, and raw.

use proctor_playground::world::WorldEvent;
use serde_json::Value;

use super::Lane;
use crate::html::{self, Html};

/// How much of a body is shown; the rest is in the raw download.
const LONGEST: usize = 64 << 10;

/// A part of an event: a heading, and what belongs below it.
pub struct Part {
    /// The heading.
    pub title: &'static str,
    /// What belongs below it.
    pub body: Html,
}

/// The parts of an event, those that people ask for first before the raw record.
pub fn parts(event: &WorldEvent) -> Vec<Part> {
    let payload = &event.payload;
    let mut parts = match Lane::of_kind(&event.kind) {
        Lane::Fhir => fhir(payload),
        Lane::Hl7 => hl7(payload),
        Lane::X12 => x12(payload),
        Lane::Portal => portal(payload),
        Lane::Voice => voice(payload),
        Lane::Files => files(payload),
        Lane::Fax | Lane::Messages => written(payload),
        Lane::Cds | Lane::Other => Vec::new(),
    };
    parts.push(Part {
        title: "Record",
        body: block(&html::json(payload)),
    });
    parts
}

fn block(inner: &Html) -> Html {
    let text = inner.as_str();
    if text.len() <= LONGEST {
        return Html::trusted(format!("<pre>{inner}</pre>"));
    }
    // A cut must not split a reference or a tag of ours.
    let mut end = LONGEST;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').unwrap_or(0);
    Html::trusted(format!(
        "<pre>{}</pre><p class=\"soft small\">The first {} of {} are shown.</p>",
        &text[..end],
        html::bytes(end as u64),
        html::bytes(text.len() as u64)
    ))
}

fn json_part(title: &'static str, value: &Value) -> Option<Part> {
    let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    (!is_empty).then(|| Part {
        title,
        body: block(&html::json(value)),
    })
}

fn fhir(payload: &Value) -> Vec<Part> {
    let sent = json_part("Sent", &payload["request_body"]);
    let got = json_part("Answered", &payload["response_body"]);
    sent.into_iter().chain(got).collect()
}

fn hl7(payload: &Value) -> Vec<Part> {
    let message = payload["payload"].as_str();
    let ack = payload["ack"].as_str();
    let part = |title, text: &str| Part {
        title,
        body: segments(text, ['\r', '\n'], '|'),
    };
    let message = message.map(|text| part("Message", text));
    let ack = ack.map(|text| part("Acknowledgement", text));
    message.into_iter().chain(ack).collect()
}

fn x12(payload: &Value) -> Vec<Part> {
    let separator = |raw: &str| raw.chars().nth(3).unwrap_or('*');
    let mut parts = Vec::new();
    if let Some(raw) = payload["request_raw"].as_str() {
        parts.push(Part {
            title: "Sent",
            body: segments(raw, ['~', '~'], separator(raw)),
        });
    }
    for answer in payload["responses"].as_array().into_iter().flatten() {
        if let Some(raw) = answer["raw"].as_str() {
            parts.push(Part {
                title: "Answered",
                body: segments(raw, ['~', '~'], separator(raw)),
            });
        }
    }
    parts
}

/// Segments one below the other: their names and separators marked.
fn segments(text: &str, ends: [char; 2], separator: char) -> Html {
    let mut out = String::from("<pre>");
    for segment in text
        .split(ends)
        .map(str::trim)
        .filter(|one| !one.is_empty())
    {
        let (name, rest) = match segment.find(separator) {
            Some(at) => segment.split_at(at),
            None => (segment, ""),
        };
        out.push_str("<span class=seg>");
        out.push_str(html::text(name).as_str());
        out.push_str("</span>");
        let mut mark = [0; 4];
        let mark = html::text(&*separator.encode_utf8(&mut mark));
        for (place, field) in rest.split(separator).enumerate() {
            if place > 0 {
                out.push_str("<span class=sep>");
                out.push_str(mark.as_str());
                out.push_str("</span>");
            }
            out.push_str(html::text(field).as_str());
        }
        out.push('\n');
        if out.len() > LONGEST {
            out.push('…');
            break;
        }
    }
    out.push_str("</pre>");
    Html::trusted(out)
}

fn portal(payload: &Value) -> Vec<Part> {
    let sent = json_part("Sent", &payload["request"]);
    let changed = match (&payload["before"], &payload["after"]) {
        (Value::Null, _) => json_part("Made", &payload["after"]),
        (before, after) => Some(Part {
            title: "Changed",
            body: changes(before, after),
        }),
    };
    sent.into_iter().chain(changed).collect()
}

/// The members that differ between two states of a row.
fn changes(before: &Value, after: &Value) -> Html {
    let empty = serde_json::Map::new();
    let members = |value: &Value| value.as_object().cloned().unwrap_or_else(|| empty.clone());
    let (before, after) = (members(before), members(after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut out = String::from("<div class=diff>");
    for name in names {
        let (was, is) = (before.get(name), after.get(name));
        if was == is {
            continue;
        }
        let shown = |value: Option<&Value>| match value {
            None | Some(Value::Null) => html::text("–"),
            Some(Value::String(text)) => html::short(text, 300),
            Some(other) => html::short(other.to_string(), 300),
        };
        out.push_str(&format!(
            "<div><span class=path>{}</span> <del>{}</del> <span class=arrow>→</span> <ins>{}</ins></div>",
            html::text(name),
            shown(was),
            shown(is)
        ));
    }
    out.push_str("</div>");
    Html::trusted(out)
}

fn voice(payload: &Value) -> Vec<Part> {
    let first = payload["turn"].is_object().then_some(&payload["turn"]);
    let more = payload["turns"].as_array().into_iter().flatten();
    let mut out = String::new();
    for turn in first.into_iter().chain(more) {
        let speaker = turn["speaker"].as_str().unwrap_or("?");
        let class = if speaker == "agent" {
            "turn agent"
        } else {
            "turn"
        };
        let words = turn["text"].as_str().unwrap_or_default();
        out.push_str(&format!(
            "<div class=\"{class}\"><b>{}</b>{}</div>",
            html::text(speaker),
            html::short(words, 4000)
        ));
    }
    match out.is_empty() {
        true => Vec::new(),
        false => vec![Part {
            title: "Said",
            body: Html::trusted(out),
        }],
    }
}

fn files(payload: &Value) -> Vec<Part> {
    let content = |value: &Value| value["content"].as_str().map(html::text);
    let part = |title: &'static str, body: Html| Part {
        title,
        body: block(&body),
    };
    let before = content(&payload["before"]).map(|body| part("Before", body));
    let after = content(&payload["file"]).or_else(|| content(payload));
    let after = after.map(|body| part("Content", body));
    before.into_iter().chain(after).collect()
}

fn written(payload: &Value) -> Vec<Part> {
    let places = [&payload["fax"], &payload["message"], payload];
    let text = places
        .iter()
        .find_map(|place| place["text"].as_str().or_else(|| place["body"].as_str()));
    let part = text.map(|text| Part {
        title: "Text",
        body: block(&html::text(text)),
    });
    part.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::describe::tests::event, *};

    #[test]
    fn nothing_in_an_event_becomes_markup() {
        let hostile = "</pre><script>alert(1)</script>\u{202e}<img src=x onerror=alert(1)>";
        let kinds = [
            (
                "fhir_request",
                json!({"request_body": {"a": hostile}, "response_body": {hostile: 1}}),
            ),
            (
                "hl7_outbound",
                json!({"payload": format!("MSH|{hostile}\r{hostile}|x"), "ack": hostile}),
            ),
            (
                "x12_exchange",
                json!({"request_raw": format!("ISA<{hostile}~{hostile}<x"), "responses": [{"raw": hostile}]}),
            ),
            (
                "portal_request",
                json!({"request": hostile, "before": {hostile: 1}, "after": {"x": hostile}}),
            ),
            (
                "voice_turn",
                json!({"turns": [{"speaker": hostile, "text": hostile}]}),
            ),
            (
                "file_write",
                json!({"before": {"content": hostile}, "file": {"content": hostile}}),
            ),
            ("fax_inbound", json!({"text": hostile})),
            ("message_outbound", json!({"message": {"body": hostile}})),
            ("unheard_of", json!(hostile)),
        ];
        for (kind, payload) in kinds {
            for part in parts(&event(1, kind, payload)) {
                let shown = part.body.to_string();
                assert!(
                    !shown.contains("<script") && !shown.contains("<img"),
                    "{kind}: {shown}"
                );
                assert_eq!(
                    shown.matches("<pre>").count(),
                    shown.matches("</pre>").count(),
                    "{kind}"
                );
                assert!(!shown.contains('\u{202e}'), "{kind}");
            }
        }
    }

    #[test]
    fn a_long_body_is_cut_with_a_notice() {
        let long = json!({"request_body": {"lines": vec!["x".repeat(1000); 100]}});
        let parts = parts(&event(1, "fhir_request", long));
        assert!(parts[0].body.as_str().contains("are shown"));
        assert!(parts[0].body.as_str().len() < LONGEST + 200);
    }
}
