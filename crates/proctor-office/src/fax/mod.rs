//! A fax machine behind HTTP: `faxes`, `faxes/{id}`.
//!
//! A fax is its text and what is known about it; pages are counted, not drawn. What is sent arrives
//! at once, but for numbers that the configuration says do not answer.

mod blueprint;
mod plugin;
mod tools;

use std::sync::Arc;

use http::StatusCode;
use proctor_core::time::Timestamp;
use proctor_simulation::{
    exchange::{Request, Response},
    exhibits::Exhibits,
    fields::Fields,
    record::Write,
    rows::{Collection, Row, Rows},
    seed::Seed,
    simulator::{Around, Decision, Machine, NotProvided, Provided, Provision, Recorded},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::telephone;

pub use blueprint::Blueprint;
use plugin::FaxInbound;
pub use plugin::FaxPlugin;

/// How agents reach it.
const COLLECTION: Collection = Collection {
    path: "faxes",
    noun: "fax",
    look: "fax_request",
    filters: &["direction", "status", "patient_id", "document_type"],
};
/// The most bytes that a body may have.
const LARGEST_BODY: usize = 1024 * 1024;
/// The most characters in the text of a fax.
const LONGEST_TEXT: usize = 200_000;
/// The most characters in its other fields.
const LONGEST_FIELD: usize = 1_000;
/// The most pages of a fax.
const MOST_PAGES: u64 = 1_000;
/// How many characters fit on a page.
const PAGE: usize = 3_000;

/// The fax machine of one playground.
#[derive(Clone, Debug, PartialEq)]
pub struct Fax {
    blueprint: Arc<Blueprint>,
    seed: Seed,
    faxes: Rows,
}

/// What can happen to the fax machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A fax was sent or came in.
    Fax(Row),
}

/// What the agent sends.
struct Outgoing {
    patient_id: String,
    to_number: String,
    document_type: String,
    content_reference: Option<String>,
    text: Option<String>,
    pages: Option<u64>,
}

impl Fax {
    /// A machine that no fax went through yet.
    pub fn branch(blueprint: Arc<Blueprint>, seed: Seed) -> Self {
        Self {
            blueprint,
            seed,
            faxes: Rows::default(),
        }
    }

    fn number(&self) -> String {
        match &self.blueprint.fax_number {
            Some(number) => number.clone(),
            None => telephone::fictional_number(&self.seed, "fax number"),
        }
    }

    fn next_id(&self) -> String {
        format!("fax_{}", self.seed.short_id("fax", self.faxes.count()))
    }

    fn send(&self, request: &Request, now: Timestamp) -> Decision<Change> {
        let room = self.faxes.check_room();
        let outgoing = match room.and_then(|()| Outgoing::read(request)) {
            Ok(outgoing) => outgoing,
            Err(refusal) => return Decision::answer("fax_outbound", request, *refusal),
        };
        let row = self.row_of(outgoing, now);
        let response = Response::json(StatusCode::CREATED, &row.fields);
        let event =
            Recorded::request("fax_outbound", request, &response).with("fax", row.fields.clone());
        Decision {
            response,
            event,
            changes: vec![Change::Fax(row)],
        }
    }

    fn row_of(&self, outgoing: Outgoing, now: Timestamp) -> Row {
        let id = self.next_id();
        let answers = self.blueprint.answers(&outgoing.to_number);
        let mut fields = json!({
            "id": id,
            "status": if answers { "sent" } else { "failed" },
            "direction": "outbound",
            "patient_id": outgoing.patient_id,
            "from_number": self.number(),
            "to_number": outgoing.to_number,
            "document_type": outgoing.document_type,
            "content_reference": outgoing.content_reference,
            "pages": outgoing.pages.unwrap_or_else(|| pages(outgoing.text.as_deref())),
            "created_at": now,
        });
        if let Some(text) = outgoing.text {
            fields["text"] = text.into();
        }
        if !answers {
            fields["failure_reason"] = "no answer".into();
        }
        Row {
            id,
            fields,
            at: now,
        }
    }
}

impl Outgoing {
    fn read(request: &Request) -> Result<Self, Box<Response>> {
        let fields = Fields::of(request, LARGEST_BODY)?;
        let outgoing = Self {
            patient_id: fields.text("patient_id", LONGEST_FIELD),
            to_number: fields.text("to_number", LONGEST_FIELD),
            document_type: fields.text("document_type", LONGEST_FIELD),
            content_reference: fields.optional_text("content_reference", LONGEST_FIELD),
            text: fields.optional_text("text", LONGEST_TEXT),
            pages: fields.optional_number("pages", 1..=MOST_PAGES),
        };
        if !outgoing.to_number.is_empty() && telephone::digits(&outgoing.to_number).is_none() {
            fields.wrong("to_number", "is no telephone number");
        }
        if outgoing.content_reference.is_none() && outgoing.text.is_none() {
            fields.wrong("content_reference", "is required, unless there is a text");
        }
        fields.finish()?;
        Ok(outgoing)
    }
}

fn pages(text: Option<&str>) -> u64 {
    let characters = text.map_or(0, |text| text.chars().count());
    characters.div_ceil(PAGE).max(1) as u64
}

impl Machine for Fax {
    type Change = Change;

    fn decide(&self, request: &Request, around: &Around<'_>) -> Decision<Change> {
        COLLECTION.decide(&self.faxes, request, || self.send(request, around.now))
    }

    fn provide(
        &self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Provided<Change>, NotProvided> {
        let Some(FaxInbound {
            from_number,
            text,
            file,
        }) = provision.action()
        else {
            return Err(NotProvided::not_mine(provision, "Fax"));
        };
        if telephone::digits(from_number).is_none() {
            return Err(NotProvided(format!(
                "from_number: '{from_number}' is no telephone number"
            )));
        }
        let id = self.next_id();
        let fields = json!({
            "id": id,
            "status": "received",
            "direction": "inbound",
            "from_number": from_number,
            "to_number": self.number(),
            "text": text,
            "file": file,
            "pages": pages(Some(text)),
            "received_at": around.now,
            "created_at": around.now,
        });
        Ok(Provided {
            event: Recorded::arrival("fax_inbound", fields.clone()),
            changes: vec![Change::Fax(Row {
                id,
                fields,
                at: around.now,
            })],
        })
    }

    fn evolve(&mut self, change: Change) {
        match change {
            Change::Fax(row) => self.faxes.push(row),
        }
    }

    fn writes(&self, change: &Change) -> Vec<Write> {
        let Change::Fax(row) = change;
        row.sent("fax", "document_type")
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        self.faxes.exhibit("faxes", exhibits);
    }

    fn credentials(&self, prefix: &str) -> Value {
        json!({"fax_number": self.number(), "faxes_url": format!("{prefix}/faxes")})
    }
}

#[cfg(test)]
mod tests;
