//! The OpenAPI document: what is common to all operations. The operations themselves come from
//! the handlers.

use proctor_engine::Extensions;
use serde_json::{Map, Value, json};
use utoipa::{
    OpenApi as _,
    openapi::{
        Content, OpenApi, Ref, RefOr, ResponseBuilder,
        path::{Operation, PathItem},
        schema::{AdditionalProperties, Schema},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use crate::{
    dialect::{self, Dialect},
    error::render::{RunloopError, VerialError},
};

/// Security schemes by the names that handlers use.
const SECURITY_SCHEMES: [(&str, &str); 5] = [
    (
        "operator_key",
        "The key of whoever runs the server (`vk_op_…`): `/organizations`, and nothing that belongs to one.",
    ),
    (
        "organization_key",
        "An organization's key (`vk_…`): the management routes and the whole Runloop dialect.",
    ),
    (
        "solver_key",
        "A Solver's key (`vrl_slv_…`): starts benchmark runs and reads the Solver's own.",
    ),
    (
        "run_token",
        "A run's token (`vrl_run_…`): everything inside one run, until it expires.",
    ),
    (
        "attempt_token",
        "An attempt's token (`vrl_att_…`): the world or the devbox of one task run, and nothing else.",
    ),
];

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Proctor",
        description = "An examiner for AI agents. One server, two dialects: Verial's API at `/` for healthcare agents, Runloop's API at `/v1` for coding agents. Every answer carries `x-request-id`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "Verial: organizations", description = "The tenants of this server, for whoever runs it."),
        (name = "Verial: organization keys", description = "Keys that may do everything in their organization."),
        (name = "Verial: environments", description = "Simulators that belong together: where tasks are done."),
        (name = "Verial: simulators", description = "Services to be simulated. The schemas `Config.…` say what can be configured."),
        (name = "Verial: datasets", description = "Data that simulators begin with, and the entities that tasks are about."),
        (name = "Verial: benchmarks", description = "Sets of tasks: drafts that change, versions that do not."),
        (name = "Verial: tasks", description = "What is to be done. The schema `Step` says what the steps of a scenario may be."),
        (name = "Verial: criteria", description = "What is checked afterwards. The schema `Assertion` says what an assertion may be."),
        (name = "Verial: Solvers", description = "Parties that take benchmarks, and their keys."),
        (name = "Verial: taking a benchmark", description = "What an agent does: begin a run, start its tasks, complete them. The run's worlds answer below `/v1/benchmark-runs/{id}/`."),
        (name = "Proctor: jobs", description = "Agents that take a benchmark without anybody's help, whatever world its tasks are done in."),
        (name = "Proctor: comparisons", description = "What runs mean beside each other: comparisons, gates, scores over time."),
        (name = "Verial: runs", description = "Runs as their organization sees them, with everything that was found."),
        (name = "Verial: playgrounds", description = "Worlds, their sandboxes, and everything that happened in them."),
        (name = "Runloop: devboxes", description = "Linux boxes of one's own: their lives, commands, files and logs."),
        (name = "Runloop: disk snapshots", description = "The disks of devboxes, kept to begin others with."),
        (name = "Runloop: scenarios", description = "Tasks that are done in a box and judged by scorers."),
        (name = "Runloop: scorers", description = "Scripts that an organization registers as scorers of its own."),
        (name = "Runloop: benchmarks", description = "Ordered sets of scenarios."),
        (name = "Runloop: scenario runs", description = "Scenarios being taken: each in a devbox of its own, scored when asked for."),
        (name = "Runloop: benchmark runs", description = "Benchmarks being taken."),
        (name = "Runloop: benchmark jobs", description = "Agents that take scenarios without anybody's help."),
        (name = "Runloop: secrets", description = "Named values for devboxes. A value goes in and never comes back."),
        (name = "Runloop: objects", description = "Bytes that are uploaded once, by signed link, and then only read."),
        (name = "Runloop: network policies", description = "What devboxes may reach."),
        (name = "Runloop: agents", description = "Programs that take tasks by themselves."),
        (name = "Runloop: blueprints", description = "Recipes for the disks that devboxes begin with."),
        (name = "Runloop: account", description = "Who is calling."),
        (name = "Server", description = "Health, numbers and this document."),
    ),
    components(schemas(VerialError, RunloopError))
)]
struct Document;

/// The document without operations.
pub(crate) fn document() -> OpenApi {
    let mut document = Document::openapi();
    let components = document.components.get_or_insert_default();
    for (name, description) in SECURITY_SCHEMES {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(description))
            .build();
        components
            .security_schemes
            .insert(name.to_owned(), SecurityScheme::Http(scheme).into());
    }
    document
}

/// Adds to every operation the errors of its dialect, as the response for all other statuses.
pub(crate) fn add_errors(document: &mut OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let (schema, words) = match dialect::of_path(path) {
            Dialect::Verial => ("VerialError", "Any error, in the Verial dialect"),
            Dialect::Runloop => ("RunloopError", "Any error, in the Runloop dialect"),
        };
        let error = ResponseBuilder::new()
            .description(words)
            .content(
                "application/json",
                Content::new(Some(Ref::from_schema_name(schema))),
            )
            .build();
        for operation in operations(item) {
            operation
                .responses
                .responses
                .entry("default".to_owned())
                .or_insert_with(|| RefOr::T(error.clone()));
        }
    }
}

/// Adds what authors may write: configurations of simulators, steps of scenarios, assertions. Requests take them as documents, because drafts may hold
/// what is not right yet.
pub(crate) fn add_authoring(document: &mut Value, extensions: &Extensions) {
    let mut schemas = Map::new();
    for plugin in extensions.simulators.plugins() {
        schemas.insert(format!("Config.{}", plugin.name()), plugin.config_schema());
    }
    let steps = extensions.simulators.steps().into_iter();
    let steps = steps.map(|(kind, _)| (format!("Step.{}", kind.name), kind.whole_schema()));
    let checks = extensions.checks.schemas();
    let checks = checks.map(|(name, schema)| (format!("Assertion.{name}"), schema));
    for (whole, parts) in [
        ("Step", steps.collect::<Vec<_>>()),
        ("Assertion", checks.collect()),
    ] {
        let alternatives: Vec<Value> = parts
            .iter()
            .map(|(name, _)| json!({"$ref": format!("#/components/schemas/{name}")}))
            .collect();
        schemas.insert(whole.to_owned(), json!({"oneOf": alternatives}));
        schemas.extend(parts);
    }
    if let Some(Value::Object(known)) = document.pointer_mut("/components/schemas") {
        known.extend(schemas);
    }
}

/// Says of the bodies of the Verial dialect that they take no other fields than they name, which
/// the body extractor sees to for the whole dialect.
pub(crate) fn close_verial_bodies(document: &mut OpenApi) {
    let bodies: Vec<String> = document
        .paths
        .paths
        .iter_mut()
        .filter(|(path, _)| dialect::of_path(path) == Dialect::Verial)
        .flat_map(|(_, item)| operations(item))
        .filter_map(|operation| body_schema(operation))
        .collect();
    let schemas = &mut document.components.get_or_insert_default().schemas;
    for name in bodies {
        if let Some(RefOr::T(Schema::Object(body))) = schemas.get_mut(&name) {
            body.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
    }
}

/// The name of the schema of an operation's JSON body.
fn body_schema(operation: &Operation) -> Option<String> {
    let RefOr::T(body) = operation.request_body.as_ref()? else {
        return None;
    };
    let RefOr::T(content) = body.content.get("application/json")? else {
        return None;
    };
    let reference = match content.schema.as_ref()? {
        RefOr::Ref(reference) => reference,
        // A body that may be missing: itself or null.
        RefOr::T(Schema::OneOf(alternatives)) => {
            alternatives.items.iter().find_map(|one| match one {
                RefOr::Ref(reference) => Some(reference),
                RefOr::T(_) => None,
            })?
        }
        RefOr::T(_) => return None,
    };
    reference.ref_location.rsplit('/').next().map(str::to_owned)
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.patch,
    ]
    .into_iter()
    .flatten()
}
