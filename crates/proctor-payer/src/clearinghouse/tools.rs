//! What agents that call tools can do at the clearinghouse.

use http::Method;
use proctor_simulation::tool::{Argument, Effect, Place, Shape, Tool};

/// The tools.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "clearinghouse_eligibility",
        description: "Ask whether a member is covered (X12 270/271). Answers the parsed 271 with its raw text.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "clearinghouse/eligibility",
        arguments: &[
            Argument::optional(
                "member_id",
                Shape::Text,
                Place::Member,
                "The member id; or give patient_id, or last_name and birth_date.",
            ),
            Argument::optional(
                "patient_id",
                Shape::Text,
                Place::Member,
                "The id of the patient in the FHIR store.",
            ),
            Argument::optional("last_name", Shape::Text, Place::Member, "The last name."),
            Argument::optional("first_name", Shape::Text, Place::Member, "The first name."),
            Argument::optional(
                "birth_date",
                Shape::Text,
                Place::Member,
                "The date of birth, YYYY-MM-DD.",
            ),
            Argument::optional(
                "provider_npi",
                Shape::Text,
                Place::Member,
                "The NPI of the asking provider.",
            ),
            Argument::optional(
                "service_types",
                Shape::Texts,
                Place::Member,
                "X12 service type codes, such as 30.",
            ),
        ],
    },
    Tool {
        name: "clearinghouse_claim_status",
        description: "Ask where a claim stands (X12 276/277). Answers the parsed 277 with its raw text.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "clearinghouse/claim-status",
        arguments: &[
            Argument::optional(
                "member_id",
                Shape::Text,
                Place::Member,
                "The member id; or give patient_id, or last_name and birth_date.",
            ),
            Argument::optional(
                "patient_id",
                Shape::Text,
                Place::Member,
                "The id of the patient in the FHIR store.",
            ),
            Argument::optional("last_name", Shape::Text, Place::Member, "The last name."),
            Argument::optional("first_name", Shape::Text, Place::Member, "The first name."),
            Argument::optional(
                "birth_date",
                Shape::Text,
                Place::Member,
                "The date of birth, YYYY-MM-DD.",
            ),
            Argument::optional(
                "provider_npi",
                Shape::Text,
                Place::Member,
                "The NPI of the asking provider.",
            ),
            Argument::optional("claim_id", Shape::Text, Place::Member, "The claim's id."),
            Argument::optional(
                "service_from",
                Shape::Text,
                Place::Member,
                "The first day of service, YYYY-MM-DD.",
            ),
            Argument::optional(
                "service_to",
                Shape::Text,
                Place::Member,
                "The last day of service.",
            ),
        ],
    },
    Tool {
        name: "clearinghouse_prior_auth",
        description: "Ask for a prior authorization (X12 278), or with request_id where one stands. Answers the parsed 278 with its raw text.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "clearinghouse/prior-auth",
        arguments: &[
            Argument::optional(
                "member_id",
                Shape::Text,
                Place::Member,
                "The member id; or give patient_id, or last_name and birth_date.",
            ),
            Argument::optional(
                "patient_id",
                Shape::Text,
                Place::Member,
                "The id of the patient in the FHIR store.",
            ),
            Argument::optional("last_name", Shape::Text, Place::Member, "The last name."),
            Argument::optional("first_name", Shape::Text, Place::Member, "The first name."),
            Argument::optional(
                "birth_date",
                Shape::Text,
                Place::Member,
                "The date of birth, YYYY-MM-DD.",
            ),
            Argument::optional(
                "provider_npi",
                Shape::Text,
                Place::Member,
                "The NPI of the asking provider.",
            ),
            Argument::optional(
                "request_id",
                Shape::Text,
                Place::Member,
                "A request that was sent before; then nothing else is needed.",
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
                "attachments",
                Shape::List,
                Place::Member,
                "Documents: texts, or objects with a name and a content.",
            ),
        ],
    },
    Tool {
        name: "clearinghouse_x12",
        description: "Send a raw X12 interchange. Answers TA1, 999 and the response.",
        effect: Effect::Adds,
        method: Method::POST,
        path: "clearinghouse/x12",
        arguments: &[Argument::required(
            "payload",
            Shape::Text,
            Place::Member,
            "The interchange, from ISA to IEA.",
        )],
    },
];
