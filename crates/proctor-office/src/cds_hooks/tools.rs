//! What agents that call tools can do with decision support.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "cds_services",
        description: "List the CDS Hooks services: their ids, hooks and what each wants as prefetch.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "cds-services",
        arguments: &[],
    },
    Tool {
        name: "cds_call",
        description: "Call a CDS Hooks service. The answer holds its cards.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "cds-services/{service_id}",
        arguments: &[
            Argument::required("service_id", Shape::Text, Place::Segment, "The service."),
            Argument::required(
                "hook",
                Shape::Text,
                Place::Member,
                "The hook of the service, such as order-sign.",
            ),
            Argument::required(
                "hookInstance",
                Shape::Text,
                Place::Member,
                "A UUID of your choice that names this call.",
            ),
            Argument::required(
                "context",
                Shape::Object,
                Place::Member,
                "The context of the hook, such as {\"userId\": \"Practitioner/1\", \"patientId\": \"p1\"}.",
            ),
            Argument::optional(
                "prefetch",
                Shape::Object,
                Place::Member,
                "The resources that the service wants, by key.",
            ),
        ],
    },
    Tool {
        name: "cds_feedback",
        description: "Tell a CDS Hooks service what became of its cards.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "cds-services/{service_id}/feedback",
        arguments: &[
            Argument::required("service_id", Shape::Text, Place::Segment, "The service."),
            Argument::required(
                "feedback",
                Shape::List,
                Place::Member,
                "One entry for each card: card (its uuid), outcome (accepted or overridden), outcomeTimestamp, and acceptedSuggestions or overrideReason.",
            ),
        ],
    },
];
