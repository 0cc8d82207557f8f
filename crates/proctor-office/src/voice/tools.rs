//! What agents that call tools can do with a telephone.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "voice_call",
        description: "Call the line. The answer holds the call_id and what the line says first.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "voice/calls",
        arguments: &[Argument::optional(
            "to",
            Shape::Text,
            Place::Member,
            "The number to call; the number of this line without it.",
        )],
    },
    Tool {
        name: "voice_say",
        description: "Say something in a call, or press keys with dtmf. The answer holds what the line says back.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "voice/calls/{call_id}/turns",
        arguments: &[
            Argument::required("call_id", Shape::Text, Place::Segment, "The call."),
            Argument::optional("text", Shape::Text, Place::Member, "What you say."),
            Argument::optional(
                "dtmf",
                Shape::Text,
                Place::Member,
                "The keys that you press instead, such as 1 or 42#.",
            ),
        ],
    },
    Tool {
        name: "voice_listen",
        description: "Show a call with everything that was said in it.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "voice/calls/{call_id}",
        arguments: &[Argument::required(
            "call_id",
            Shape::Text,
            Place::Segment,
            "The call.",
        )],
    },
    Tool {
        name: "voice_hang_up",
        description: "End a call.",
        effect: Effect::Changes,
        method: Method::POST,
        path: "voice/calls/{call_id}/hangup",
        arguments: &[Argument::required(
            "call_id",
            Shape::Text,
            Place::Segment,
            "The call.",
        )],
    },
    Tool {
        name: "voice_voicemails",
        description: "List the voicemails that were left.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "voice/voicemails",
        arguments: &[],
    },
];
