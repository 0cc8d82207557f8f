//! What agents that call tools can do with messages to patients.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "message_list",
        description: "List the messages from and to patients, newest first.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "messages",
        arguments: &[
            Argument::optional(
                "channel",
                Shape::Text,
                Place::Query,
                "Only messages of this channel, such as sms.",
            ),
            Argument::optional(
                "patient_id",
                Shape::Text,
                Place::Query,
                "Only messages of this patient.",
            ),
            Argument::optional(
                "direction",
                Shape::OneOf(&["inbound", "outbound"]),
                Place::Query,
                "Only messages of this direction.",
            ),
            Argument::optional(
                "thread_id",
                Shape::Text,
                Place::Query,
                "Only messages of this thread.",
            ),
        ],
    },
    Tool {
        name: "message_get",
        description: "Read one message by its id.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "messages/{id}",
        arguments: &[Argument::required(
            "id",
            Shape::Text,
            Place::Segment,
            "The message's id.",
        )],
    },
    Tool {
        name: "message_send",
        description: "Send a message to a patient.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "messages",
        arguments: &[
            Argument::required(
                "channel",
                Shape::Text,
                Place::Member,
                "The channel, such as sms, email or portal.",
            ),
            Argument::required("patient_id", Shape::Text, Place::Member, "The patient."),
            Argument::required("body", Shape::Text, Place::Member, "What the message says."),
        ],
    },
];
