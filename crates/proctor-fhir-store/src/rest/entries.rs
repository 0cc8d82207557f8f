//! The entries of a batch or transaction: read from the bundle that asks, written into the one
//! that answers.

use http::{Method, StatusCode};
use proctor_core::time::Timestamp;
use serde_json::Value;

use super::{Headers, Request, Response, Shown, route::Route};
use crate::{
    json_writer::JsonObject,
    outcome::{Answer, IssueCode, Refusal},
    resource::Resource,
};

/// One thing that a bundle asks for.
#[derive(Debug)]
pub(super) struct Entry {
    /// Where it stands in the bundle.
    pub(super) place: usize,
    pub(super) full_url: Option<String>,
    pub(super) resource: Option<Resource>,
    /// The tree of a resource that is no resource to be stored: the patch of a PATCH.
    pub(super) request: Request,
    pub(super) route: Route,
}

impl Entry {
    /// How refusals name the entry.
    pub(super) fn name(place: usize) -> String {
        format!("Bundle.entry[{place}]")
    }

    /// Reads an entry. Headers that apply to the whole bundle come from `outer`.
    pub(super) fn parse(
        place: usize,
        value: &mut Value,
        outer: &Request,
        base_url: &str,
    ) -> Answer<Self> {
        let missing =
            |what: &str| Refusal::bad_request(IssueCode::Required, format!("'{what}' is missing"));
        let text =
            |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let asked = value.get("request").ok_or_else(|| missing("request"))?;
        let method = text(asked, "method").ok_or_else(|| missing("request.method"))?;
        let url = text(asked, "url").ok_or_else(|| missing("request.url"))?;
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| {
            Refusal::bad_request(IssueCode::Value, format!("'{method}' is no HTTP method"))
        })?;
        let headers = Headers {
            if_match: text(asked, "ifMatch"),
            if_none_match: text(asked, "ifNoneMatch"),
            if_modified_since: text(asked, "ifModifiedSince"),
            if_none_exist: text(asked, "ifNoneExist"),
            prefer: outer.headers.prefer.clone(),
            ..Headers::default()
        };
        let full_url = text(value, "fullUrl");
        let resource = match value.get_mut("resource").map(Value::take) {
            None | Some(Value::Null) => None,
            Some(resource) => Some(Resource::from_value(resource)?),
        };
        let request = Request {
            headers,
            ..Request::new(method, relative(&url, base_url), outer.at)
        };
        let route = Route::of(&request)?;
        Ok(Self {
            place,
            full_url,
            resource,
            request,
            route,
        })
    }

    /// The resource that the interaction needs.
    pub(super) fn take_resource(&mut self) -> Answer<Resource> {
        self.resource.take().ok_or_else(|| {
            Refusal::bad_request(
                IssueCode::Required,
                format!("'resource' is missing: {} needs one", self.request.method),
            )
        })
    }
}

/// The part of an address below the store.
fn relative<'a>(url: &'a str, base_url: &str) -> &'a str {
    url.strip_prefix(base_url)
        .filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        .unwrap_or(url)
        .trim_start_matches('/')
}

/// Writes the entry that answers one of a bundle, and tells which versions it shows.
pub(super) fn write_response(
    out: &mut JsonObject,
    response: &Response,
    show_body: bool,
) -> Vec<Shown> {
    let mut shown = Vec::new();
    if show_body && response.status.is_success() && !response.body.is_empty() {
        let place = out.field("resource").raw(&response.body);
        let versions = response.shown.iter();
        shown.extend(versions.map(|version| version.moved_by(place.start)));
    }
    out.field("response").object(|out| {
        out.field("status").text(&status_line(response.status));
        if let Some(location) = &response.location {
            out.field("location").text(location);
        }
        if let Some(tag) = response.etag() {
            out.field("etag").text(&tag);
        }
        if let Some(at) = response.last_modified {
            out.field("lastModified").text(&instant(at));
        }
        if !response.status.is_success() && !response.body.is_empty() {
            out.field("outcome").raw(&response.body);
        }
    });
    shown
}

fn status_line(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

fn instant(at: Timestamp) -> String {
    at.to_string()
}
