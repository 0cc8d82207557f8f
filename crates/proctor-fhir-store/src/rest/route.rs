//! Which interaction a method and a path ask for.

use http::Method;
use percent_encoding::percent_decode_str;

use super::Request;
use crate::{
    kind::ResourceKind,
    outcome::{Answer, IssueCode, Refusal},
};

/// An interaction, with what its path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Capabilities,
    Read(ResourceKind, String),
    VersionRead(ResourceKind, String, String),
    InstanceHistory(ResourceKind, String),
    TypeHistory(ResourceKind),
    SystemHistory,
    Search(ResourceKind),
    SearchAll,
    SearchCompartment {
        compartment: ResourceKind,
        id: String,
        /// Nothing for `*`: all types.
        kind: Option<ResourceKind>,
    },
    Create(ResourceKind),
    Update(ResourceKind, String),
    ConditionalUpdate(ResourceKind),
    Patch(ResourceKind, String),
    ConditionalPatch(ResourceKind),
    Delete(ResourceKind, String),
    ConditionalDelete(ResourceKind),
    Bundle,
    Everything(Option<String>),
    /// Nothing as the type: whatever is sent.
    Validate(Option<ResourceKind>, Option<String>),
}

impl Route {
    /// Whether the interaction changes nothing.
    pub(super) fn is_read_only(&self) -> bool {
        match self {
            Self::Capabilities
            | Self::Read(..)
            | Self::VersionRead(..)
            | Self::InstanceHistory(..)
            | Self::TypeHistory(_)
            | Self::SystemHistory
            | Self::Search(_)
            | Self::SearchAll
            | Self::SearchCompartment { .. }
            | Self::Everything(_)
            | Self::Validate(..) => true,
            Self::Create(_)
            | Self::Update(..)
            | Self::ConditionalUpdate(_)
            | Self::Patch(..)
            | Self::ConditionalPatch(_)
            | Self::Delete(..)
            | Self::ConditionalDelete(_)
            | Self::Bundle => false,
        }
    }

    /// The interaction that `request` asks for.
    pub(super) fn of(request: &Request) -> Answer<Self> {
        let path = percent_decode_str(&request.path)
            .decode_utf8()
            .map_err(|_| {
                Refusal::bad_request(
                    IssueCode::Invalid,
                    format!("the path '{}' is not UTF-8 when decoded", request.path),
                )
            })?;
        let path = path.trim_matches('/');
        let segments: Vec<&str> = if path.is_empty() {
            Vec::new()
        } else {
            path.split('/').collect()
        };
        let method = Verb::of(&request.method)?;
        match segments.as_slice() {
            [] => match method {
                Verb::Get => Ok(Self::SearchAll),
                Verb::Post => Ok(Self::Bundle),
                _ => not_allowed(request, "GET, HEAD, POST"),
            },
            ["metadata"] => get_only(method, request, Self::Capabilities),
            ["_history"] => get_only(method, request, Self::SystemHistory),
            ["_search"] => search_by_post(method, request, Self::SearchAll),
            ["$validate"] => match method {
                Verb::Post => Ok(Self::Validate(None, None)),
                _ => not_allowed(request, "POST"),
            },
            [operation] if operation.starts_with('$') => Err(Refusal::not_found(format!(
                "the operation '{operation}' is not offered on the whole store: there is $validate"
            ))),
            [name, rest @ ..] => below_type(kind_named(name)?, rest, method, request),
        }
    }
}

fn below_type(kind: ResourceKind, rest: &[&str], method: Verb, request: &Request) -> Answer<Route> {
    match rest {
        [] => match method {
            Verb::Get => Ok(Route::Search(kind)),
            Verb::Post => Ok(Route::Create(kind)),
            Verb::Put => Ok(Route::ConditionalUpdate(kind)),
            Verb::Patch => Ok(Route::ConditionalPatch(kind)),
            Verb::Delete => Ok(Route::ConditionalDelete(kind)),
        },
        ["_search"] => search_by_post(method, request, Route::Search(kind)),
        ["_history"] => get_only(method, request, Route::TypeHistory(kind)),
        [operation] if operation.starts_with('$') => {
            operation_named(operation, kind, None, method, request)
        }
        [id] => match method {
            Verb::Get => Ok(Route::Read(kind, (*id).to_owned())),
            Verb::Put => Ok(Route::Update(kind, (*id).to_owned())),
            Verb::Patch => Ok(Route::Patch(kind, (*id).to_owned())),
            Verb::Delete => Ok(Route::Delete(kind, (*id).to_owned())),
            Verb::Post => not_allowed(request, "GET, HEAD, PUT, PATCH, DELETE"),
        },
        [id, "_history"] => get_only(
            method,
            request,
            Route::InstanceHistory(kind, (*id).to_owned()),
        ),
        [id, "_history", version] => get_only(
            method,
            request,
            Route::VersionRead(kind, (*id).to_owned(), (*version).to_owned()),
        ),
        [id, operation] if operation.starts_with('$') => {
            operation_named(operation, kind, Some((*id).to_owned()), method, request)
        }
        [id, member] => get_only(method, request, compartment(kind, id, member)?),
        [id, member, "_search"] => search_by_post(method, request, compartment(kind, id, member)?),
        _ => Err(Refusal::not_found(format!(
            "there is nothing at '{}': a path is Type, Type/id, Type/id/_history/version …",
            request.path
        ))),
    }
}

fn compartment(kind: ResourceKind, id: &str, member: &str) -> Answer<Route> {
    let member = match member {
        "*" => None,
        name => Some(kind_named(name)?),
    };
    Ok(Route::SearchCompartment {
        compartment: kind,
        id: id.to_owned(),
        kind: member,
    })
}

fn operation_named(
    name: &str,
    kind: ResourceKind,
    id: Option<String>,
    method: Verb,
    request: &Request,
) -> Answer<Route> {
    match (name, kind.name()) {
        ("$everything", "Patient") => match method {
            Verb::Get | Verb::Post => Ok(Route::Everything(id)),
            _ => not_allowed(request, "GET, HEAD, POST"),
        },
        ("$validate", _) => match method {
            Verb::Post => Ok(Route::Validate(Some(kind), id)),
            Verb::Get if id.is_some() => Ok(Route::Validate(Some(kind), id)),
            _ => not_allowed(request, "POST"),
        },
        _ => Err(Refusal::not_found(format!(
            "the operation '{name}' is not offered on {kind}: there are $validate, and $everything on Patient"
        ))),
    }
}

fn kind_named(name: &str) -> Answer<ResourceKind> {
    ResourceKind::named(name)
        .ok_or_else(|| Refusal::not_found(format!("'{name}' is no resource type of FHIR R4")))
}

fn get_only(method: Verb, request: &Request, route: Route) -> Answer<Route> {
    match method {
        Verb::Get => Ok(route),
        _ => not_allowed(request, "GET, HEAD"),
    }
}

fn search_by_post(method: Verb, request: &Request, route: Route) -> Answer<Route> {
    match method {
        Verb::Post => Ok(route),
        _ => not_allowed(request, "POST"),
    }
}

fn not_allowed(request: &Request, allow: &'static str) -> Answer<Route> {
    Err(Refusal::method_not_allowed(
        format!(
            "{} is not allowed on '/{}'; allowed: {allow}",
            request.method, request.path
        ),
        allow,
    ))
}

/// The methods that mean something; HEAD is GET without the body.
#[derive(Clone, Copy)]
enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    fn of(method: &Method) -> Answer<Self> {
        match *method {
            Method::GET | Method::HEAD => Ok(Self::Get),
            Method::POST => Ok(Self::Post),
            Method::PUT => Ok(Self::Put),
            Method::PATCH => Ok(Self::Patch),
            Method::DELETE => Ok(Self::Delete),
            _ => Err(Refusal::method_not_allowed(
                format!("{method} means nothing in FHIR"),
                "GET, HEAD, POST, PUT, PATCH, DELETE",
            )),
        }
    }
}
