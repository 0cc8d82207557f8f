//! What agents that call tools can do with a fax machine.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "fax_list",
        description: "List the faxes that came in or were sent, newest first, with their text.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "faxes",
        arguments: &[
            Argument::optional(
                "direction",
                Shape::OneOf(&["inbound", "outbound"]),
                Place::Query,
                "Only faxes of this direction.",
            ),
            Argument::optional(
                "status",
                Shape::Text,
                Place::Query,
                "Only faxes with this status: received, sent or failed.",
            ),
            Argument::optional(
                "patient_id",
                Shape::Text,
                Place::Query,
                "Only faxes about this patient.",
            ),
            Argument::optional(
                "document_type",
                Shape::Text,
                Place::Query,
                "Only faxes of this type.",
            ),
        ],
    },
    Tool {
        name: "fax_get",
        description: "Read one fax by its id.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "faxes/{id}",
        arguments: &[Argument::required(
            "id",
            Shape::Text,
            Place::Segment,
            "The fax's id.",
        )],
    },
    Tool {
        name: "fax_send",
        description: "Send a fax. It needs a text or a content_reference. The answer says whether it went through.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "faxes",
        arguments: &[
            Argument::required(
                "patient_id",
                Shape::Text,
                Place::Member,
                "The patient that it is about.",
            ),
            Argument::required(
                "to_number",
                Shape::Text,
                Place::Member,
                "The number that it is sent to.",
            ),
            Argument::required(
                "document_type",
                Shape::Text,
                Place::Member,
                "What kind of document it is, such as referral.",
            ),
            Argument::optional("text", Shape::Text, Place::Member, "What the fax says."),
            Argument::optional(
                "content_reference",
                Shape::Text,
                Place::Member,
                "What is sent, by reference, such as DocumentReference/doc-1.",
            ),
            Argument::optional(
                "pages",
                Shape::Integer,
                Place::Member,
                "How many pages it has; counted from the text without it.",
            ),
        ],
    },
];
