//! What agents that call tools can do at the HL7 interface.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "hl7_inbox",
        description: "List the HL7 v2 messages that came in, with their whole text.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "hl7/inbox",
        arguments: &[Argument::optional(
            "message_type",
            Shape::Text,
            Place::Query,
            "Only this type, such as ORU or ORU^R01.",
        )],
    },
    Tool {
        name: "hl7_send",
        description: "Send an HL7 v2 message. The answer holds the acknowledgement: ack_code is AA (accepted), AE (error) or AR (rejected).",
        effect: Effect::Adds,
        method: Method::POST,
        path: "hl7/outbound",
        arguments: &[Argument::required(
            "payload",
            Shape::Text,
            Place::Member,
            "The message from MSH on, one segment a line.",
        )],
    },
    Tool {
        name: "hl7_sent",
        description: "List the HL7 v2 messages that were sent, with how each was acknowledged.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "hl7/outbound",
        arguments: &[Argument::optional(
            "message_type",
            Shape::Text,
            Place::Query,
            "Only this type, such as ORM or ORM^O01.",
        )],
    },
];
