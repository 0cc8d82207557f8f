//! Agents that make random calls which the simulators take.

use reqwest::Method;
use serde_json::json;

use super::{
    attempt::{Move, Program},
    chance::Chance,
    scene::{Scene, call},
};

/// How many calls such an agent makes.
const CALLS: usize = 25;

/// What an agent without a plan does.
pub(super) fn program(scene: &Scene, chance: &mut Chance) -> Program {
    let made = (0..CALLS).filter_map(|_| one(scene, chance));
    made.collect()
}

fn one(scene: &Scene, chance: &mut Chance) -> Option<Move> {
    let resource = chance.pick(&scene.resources).cloned();
    let file = chance.pick(&scene.files).cloned();
    let number = chance.next();
    let call = match number % 9 {
        0 => call(Method::GET, "fhir/Patient", None),
        1 => {
            let resource = resource?;
            let (kind, id) = (
                resource["resourceType"].as_str()?.to_owned(),
                resource["id"].as_str()?.to_owned(),
            );
            call(Method::PUT, format!("fhir/{kind}/{id}"), Some(resource))
        }
        2 => {
            let mut resource = resource?;
            let kind = resource["resourceType"].as_str()?.to_owned();
            resource.as_object_mut()?.remove("id");
            call(Method::POST, format!("fhir/{kind}"), Some(resource))
        }
        3 => call(Method::GET, format!("files/{}", file?), None),
        4 => call(
            Method::PUT,
            format!("files/outbound/{}.json", number % 100),
            Some(json!({"n": number % 100})),
        ),
        5 => {
            let body = json!({"patient_id": "p", "to_number": "+1 555 010 0001", "document_type": "note", "text": "hello"});
            call(Method::POST, "faxes", Some(body))
        }
        6 => call(
            Method::POST,
            "messages",
            Some(json!({"channel": "sms", "patient_id": "p", "body": "hello"})),
        ),
        7 => call(Method::POST, "voice/calls", Some(json!({}))),
        _ => call(Method::GET, "portal/prior-auths", None),
    };
    Some(Move::harm(call))
}
