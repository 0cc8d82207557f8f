//! What agents that call tools can do in a FHIR store.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "fhir_search",
        description: "Search a FHIR R4 store. Answers a searchset Bundle; its links lead to further pages.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "fhir/{resource_type}",
        arguments: &[
            Argument::required(
                "resource_type",
                Shape::Text,
                Place::Segment,
                "The resource type, such as Patient.",
            ),
            Argument::optional(
                "parameters",
                Shape::Object,
                Place::Queries,
                "Search parameters by name, such as {\"patient\": \"Patient/p1\", \"status\": \"active\", \"_count\": 20}; a list repeats a parameter.",
            ),
        ],
    },
    Tool {
        name: "fhir_read",
        description: "Read a FHIR resource by its type and id.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "fhir/{resource_type}/{id}",
        arguments: &[
            Argument::required(
                "resource_type",
                Shape::Text,
                Place::Segment,
                "The resource type, such as Patient.",
            ),
            Argument::required("id", Shape::Text, Place::Segment, "The resource's id."),
        ],
    },
    Tool {
        name: "fhir_create",
        description: "Create a FHIR resource. The store gives it an id and answers the stored resource.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "fhir/{resource_type}",
        arguments: &[
            Argument::required(
                "resource_type",
                Shape::Text,
                Place::Segment,
                "The resource type, such as Patient.",
            ),
            Argument::required(
                "resource",
                Shape::Object,
                Place::Json("application/fhir+json"),
                "The resource, without an id.",
            ),
        ],
    },
    Tool {
        name: "fhir_update",
        description: "Replace a FHIR resource, or create it with this id. What is not in the new resource is gone.",
        effect: Effect::Changes,
        method: Method::PUT,
        path: "fhir/{resource_type}/{id}",
        arguments: &[
            Argument::required(
                "resource_type",
                Shape::Text,
                Place::Segment,
                "The resource type, such as Patient.",
            ),
            Argument::required("id", Shape::Text, Place::Segment, "The resource's id."),
            Argument::required(
                "resource",
                Shape::Object,
                Place::Json("application/fhir+json"),
                "The whole resource, with the same id.",
            ),
            Argument::optional(
                "if_match",
                Shape::Text,
                Place::Header("if-match"),
                "Only if the resource still has this version, such as W/\"1\".",
            ),
        ],
    },
    Tool {
        name: "fhir_patch",
        description: "Change parts of a FHIR resource with a JSON Patch (RFC 6902).",
        effect: Effect::Changes,
        method: Method::PATCH,
        path: "fhir/{resource_type}/{id}",
        arguments: &[
            Argument::required(
                "resource_type",
                Shape::Text,
                Place::Segment,
                "The resource type, such as Patient.",
            ),
            Argument::required("id", Shape::Text, Place::Segment, "The resource's id."),
            Argument::required(
                "patch",
                Shape::List,
                Place::Json("application/json-patch+json"),
                "The operations, such as [{\"op\": \"replace\", \"path\": \"/status\", \"value\": \"completed\"}].",
            ),
            Argument::optional(
                "if_match",
                Shape::Text,
                Place::Header("if-match"),
                "Only if the resource still has this version, such as W/\"1\".",
            ),
        ],
    },
    Tool {
        name: "fhir_delete",
        description: "Delete a FHIR resource.",
        effect: Effect::Changes,
        method: Method::DELETE,
        path: "fhir/{resource_type}/{id}",
        arguments: &[
            Argument::required(
                "resource_type",
                Shape::Text,
                Place::Segment,
                "The resource type, such as Patient.",
            ),
            Argument::required("id", Shape::Text, Place::Segment, "The resource's id."),
        ],
    },
    Tool {
        name: "fhir_transaction",
        description: "Carry out a FHIR batch or transaction Bundle. A transaction is done completely or not at all.",
        effect: Effect::Changes,
        method: Method::POST,
        path: "fhir",
        arguments: &[Argument::required(
            "bundle",
            Shape::Object,
            Place::Json("application/fhir+json"),
            "A Bundle of type batch or transaction.",
        )],
    },
];
