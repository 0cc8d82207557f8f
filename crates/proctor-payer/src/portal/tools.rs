//! What agents that call tools can do at the payer's portal.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "portal_patients",
        description: "Find members of the payer, with their coverage.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "portal/patients",
        arguments: &[
            Argument::optional("member_id", Shape::Text, Place::Query, "The member id."),
            Argument::optional("last_name", Shape::Text, Place::Query, "The last name."),
            Argument::optional(
                "dob",
                Shape::Text,
                Place::Query,
                "The date of birth, YYYY-MM-DD.",
            ),
        ],
    },
    Tool {
        name: "portal_providers",
        description: "Find providers that the payer has on file.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "portal/providers",
        arguments: &[
            Argument::optional("npi", Shape::Text, Place::Query, "The NPI."),
            Argument::optional("name", Shape::Text, Place::Query, "A part of the name."),
        ],
    },
    Tool {
        name: "portal_claims",
        description: "List claims that the payer has, as they stand, newest first.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "portal/claims",
        arguments: &[
            Argument::optional(
                "patient_account",
                Shape::Text,
                Place::Query,
                "Only claims with the provider's number.",
            ),
            Argument::optional(
                "member_id",
                Shape::Text,
                Place::Query,
                "Only claims of this member.",
            ),
        ],
    },
    Tool {
        name: "portal_prior_auths",
        description: "List requests for prior authorization, newest first, with their determinations.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "portal/prior-auths",
        arguments: &[
            Argument::optional(
                "status",
                Shape::OneOf(&[
                    "draft",
                    "submitted",
                    "pending",
                    "approved",
                    "denied",
                    "need_more_info",
                ]),
                Place::Query,
                "Only requests that stand like this.",
            ),
            Argument::optional(
                "patient_member_id",
                Shape::Text,
                Place::Query,
                "Only requests for this member.",
            ),
            Argument::optional(
                "provider_npi",
                Shape::Text,
                Place::Query,
                "Only requests of this provider.",
            ),
            Argument::optional(
                "procedure_code",
                Shape::Text,
                Place::Query,
                "Only requests for this procedure.",
            ),
        ],
    },
    Tool {
        name: "portal_prior_auth",
        description: "Read one request for prior authorization.",
        effect: Effect::Reads,
        method: Method::GET,
        path: "portal/prior-auths/{id}",
        arguments: &[Argument::required(
            "id",
            Shape::Text,
            Place::Segment,
            "The request_id or the auth_number.",
        )],
    },
    Tool {
        name: "portal_create_prior_auth",
        description: "Create a request for prior authorization. It is submitted at once unless status is draft; then member, provider, procedure and diagnoses are required.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "portal/prior-auths",
        arguments: &[
            Argument::optional(
                "patient_member_id",
                Shape::Text,
                Place::Member,
                "The member id of the patient.",
            ),
            Argument::optional(
                "provider_npi",
                Shape::Text,
                Place::Member,
                "The NPI of the ordering provider.",
            ),
            Argument::optional(
                "procedure_code",
                Shape::Text,
                Place::Member,
                "The CPT, HCPCS or NDC code.",
            ),
            Argument::optional(
                "diagnosis_codes",
                Shape::Texts,
                Place::Member,
                "ICD-10 codes.",
            ),
            Argument::optional(
                "clinical_notes",
                Shape::Text,
                Place::Member,
                "Why it is needed.",
            ),
            Argument::optional(
                "clinical_answers",
                Shape::Object,
                Place::Member,
                "Answers to the payer's questions, by the question's id.",
            ),
            Argument::optional(
                "attachments",
                Shape::List,
                Place::Member,
                "Documents: texts, or objects with a name and a content.",
            ),
            Argument::optional(
                "status",
                Shape::OneOf(&["draft", "submitted"]),
                Place::Member,
                "draft to go on later; submitted without it.",
            ),
        ],
    },
    Tool {
        name: "portal_update_prior_auth",
        description: "Change fields of a draft.",
        effect: Effect::Changes,
        method: Method::PATCH,
        path: "portal/prior-auths/{id}",
        arguments: &[
            Argument::required(
                "id",
                Shape::Text,
                Place::Segment,
                "The request_id or the auth_number.",
            ),
            Argument::optional(
                "patient_member_id",
                Shape::Text,
                Place::Member,
                "The member id of the patient.",
            ),
            Argument::optional(
                "provider_npi",
                Shape::Text,
                Place::Member,
                "The NPI of the ordering provider.",
            ),
            Argument::optional(
                "procedure_code",
                Shape::Text,
                Place::Member,
                "The CPT, HCPCS or NDC code.",
            ),
            Argument::optional(
                "diagnosis_codes",
                Shape::Texts,
                Place::Member,
                "ICD-10 codes.",
            ),
            Argument::optional(
                "clinical_notes",
                Shape::Text,
                Place::Member,
                "Why it is needed.",
            ),
            Argument::optional(
                "clinical_answers",
                Shape::Object,
                Place::Member,
                "Answers to the payer's questions, by the question's id.",
            ),
            Argument::optional(
                "attachments",
                Shape::List,
                Place::Member,
                "Documents: texts, or objects with a name and a content.",
            ),
        ],
    },
    Tool {
        name: "portal_submit_prior_auth",
        description: "Submit a draft. The answer holds the determination.",
        effect: Effect::Changes,
        method: Method::POST,
        path: "portal/prior-auths/{id}/submit",
        arguments: &[Argument::required(
            "id",
            Shape::Text,
            Place::Segment,
            "The request_id or the auth_number.",
        )],
    },
    Tool {
        name: "portal_attach",
        description: "Add documents to a request, also after it was submitted.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "portal/prior-auths/{id}/attachments",
        arguments: &[
            Argument::required(
                "id",
                Shape::Text,
                Place::Segment,
                "The request_id or the auth_number.",
            ),
            Argument::required(
                "attachments",
                Shape::List,
                Place::Member,
                "Documents: texts, or objects with a name and a content.",
            ),
        ],
    },
];
