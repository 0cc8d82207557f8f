//! What agents that call tools can do with shared files.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "files_list",
        description: "List the shared files, or those below a directory, with their sizes.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "files/{directory}",
        arguments: &[Argument::optional(
            "directory",
            Shape::Text,
            Place::Path,
            "The directory, such as inbox; all files without it.",
        )],
    },
    Tool {
        name: "files_read",
        description: "Read a shared file. Text comes as it is; other content comes in base64.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "files/{path}",
        arguments: &[Argument::required(
            "path",
            Shape::Text,
            Place::Path,
            "The path of the file, such as inbox/referral.json.",
        )],
    },
    Tool {
        name: "files_write",
        description: "Write a shared file, or replace it. Directories come by themselves.",
        effect: Effect::Changes,
        method: Method::PUT,
        path: "files/{path}",
        arguments: &[
            Argument::required(
                "path",
                Shape::Text,
                Place::Path,
                "The path of the file, such as outbound/claim.json.",
            ),
            Argument::optional("content", Shape::Text, Place::Text, "The content, as text."),
            Argument::optional(
                "content_base64",
                Shape::Text,
                Place::Base64,
                "The content in base64, for files that are not text.",
            ),
        ],
    },
    Tool {
        name: "files_delete",
        description: "Delete a shared file.",
        effect: Effect::Changes,
        method: Method::DELETE,
        path: "files/{path}",
        arguments: &[Argument::required(
            "path",
            Shape::Text,
            Place::Path,
            "The path of the file.",
        )],
    },
];
