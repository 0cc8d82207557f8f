//! `POST [base]`: batches, whose entries stand for themselves, and transactions.

use http::StatusCode;
use serde_json::Value;

use super::{
    Request, Response, Return,
    entries::{Entry, write_response},
    format::check_content,
    route::Route,
};
use crate::{
    json_writer::JsonObject,
    outcome::{Answer, Issue, IssueCode, Refusal},
    resource::Resource,
    state::State,
};

impl State {
    /// `POST [base]` with a bundle.
    pub(super) fn bundle(&mut self, request: &Request) -> Answer<Response> {
        check_content(request, "application/fhir+json")?;
        let mut bundle = Resource::parse(&request.body)?;
        if bundle.kind().name() != "Bundle" {
            return Err(Refusal::bad_request(
                IssueCode::Invalid,
                format!(
                    "only a Bundle can be posted here, not a {0}; a {0} is posted to /{0}",
                    bundle.kind()
                ),
            )
            .at("resourceType"));
        }
        let entries = match bundle.value_mut().get_mut("entry").map(Value::take) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(entries)) => entries,
            Some(_) => {
                return Err(
                    Refusal::bad_request(IssueCode::Structure, "'entry' must be a list")
                        .at("Bundle.entry"),
                );
            }
        };
        let limit = self.settings().max_entries;
        if entries.len() > limit {
            return Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                Issue::error(
                    IssueCode::TooLong,
                    format!(
                        "the bundle has {} entries; at most {limit} are taken at once",
                        entries.len()
                    ),
                )
                .at("Bundle.entry"),
            ));
        }
        match bundle.value().get("type").and_then(Value::as_str) {
            Some("batch") => self.batch(entries, request),
            Some("transaction") => self.transaction(entries, request),
            other => Err(Refusal::bad_request(
                IssueCode::Value,
                format!(
                    "a bundle of type '{}' cannot be processed: 'batch' or 'transaction' is expected",
                    other.unwrap_or_default()
                ),
            )
            .at("Bundle.type")),
        }
    }

    fn batch(&mut self, entries: Vec<Value>, request: &Request) -> Answer<Response> {
        let base_url = self.settings().base_url.clone();
        let mut responses = Vec::with_capacity(entries.len());
        for (place, mut value) in entries.into_iter().enumerate() {
            let savepoint = self.savepoint();
            let answered = Entry::parse(place, &mut value, request, &base_url).and_then(|entry| {
                let is_read = entry.route.is_read_only();
                let response = self.perform_entry(entry)?;
                Ok(Answered { response, is_read })
            });
            responses.push(answered.unwrap_or_else(|refusal| {
                self.roll_back(savepoint);
                Answered {
                    response: refusal.within(&Entry::name(place)).into(),
                    is_read: false,
                }
            }));
        }
        Ok(bundle_response("batch-response", &responses, request))
    }

    /// Carries out an entry by itself.
    pub(super) fn perform_entry(&mut self, mut entry: Entry) -> Answer<Response> {
        let headers = &entry.request.headers;
        let (if_match, if_none_exist) = (headers.if_match.clone(), headers.if_none_exist.clone());
        let (if_match, if_none_exist) = (if_match.as_deref(), if_none_exist.as_deref());
        let at = entry.request.at;
        let query = entry.request.query.clone();
        let written = match entry.route.clone() {
            Route::Create(kind) => {
                let resource = entry.take_resource()?;
                resource.expect_kind(kind)?;
                self.check_valid(&resource, entry.request.headers.preferences())?;
                self.create_resource(kind, resource, if_none_exist, at)?
            }
            Route::Update(kind, id) => {
                let resource = entry.take_resource()?;
                resource.expect_kind(kind)?;
                self.check_valid(&resource, entry.request.headers.preferences())?;
                self.update_resource(kind, &id, resource, if_match, at)?
            }
            Route::ConditionalUpdate(kind) => {
                let resource = entry.take_resource()?;
                resource.expect_kind(kind)?;
                self.check_valid(&resource, entry.request.headers.preferences())?;
                self.update_matching(kind, &query, resource, if_match, at)?
            }
            Route::Delete(kind, id) => self.delete_resource(kind, &id, if_match, at)?,
            Route::ConditionalDelete(kind) => self.delete_matching(kind, &query, if_match, at)?,
            Route::Patch(..) | Route::ConditionalPatch(_) => {
                let patch = entry.take_resource()?;
                let request = Request {
                    body: super::patch::patch_of_entry(&patch)?,
                    ..entry.request
                };
                return self.perform(&request);
            }
            Route::Bundle => {
                return Err(Refusal::bad_request(
                    IssueCode::NotSupported,
                    "a bundle cannot be an entry of a bundle that is processed",
                ));
            }
            Route::Capabilities
            | Route::Read(..)
            | Route::VersionRead(..)
            | Route::InstanceHistory(..)
            | Route::TypeHistory(_)
            | Route::SystemHistory
            | Route::Search(_)
            | Route::SearchAll
            | Route::SearchCompartment { .. }
            | Route::Everything(_)
            | Route::Validate(..) => return self.perform_read(entry),
        };
        Ok(self.written(written, &entry.request))
    }

    /// Answers an entry that changes nothing.
    pub(super) fn perform_read(&self, mut entry: Entry) -> Answer<Response> {
        if let Some(resource) = entry.resource.take() {
            entry.request.body = resource.value().to_string().into();
        }
        let response = self.read_only(&entry.route, &entry.request)?;
        Ok(response.for_method(&entry.request.method))
    }
}

/// The answer to one entry.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) response: Response,
    /// Whether the entry asked for the body, which is then always sent.
    pub(super) is_read: bool,
}

/// The bundle that answers a bundle.
pub(super) fn bundle_response(
    kind: &'static str,
    answers: &[Answered],
    request: &Request,
) -> Response {
    let show_written = request.headers.preferences().returns == Some(Return::Representation);
    let show = |answer: &Answered| show_written || answer.is_read;
    let lengths = answers.iter().map(|answer| {
        let body = if show(answer) {
            answer.response.body.len()
        } else {
            0
        };
        body + 300
    });
    let length: usize = lengths.sum();
    let mut out = JsonObject::with_capacity(length);
    out.field("resourceType").text("Bundle");
    out.field("type").text(kind);
    let mut shown = Vec::new();
    out.field("entry").list(answers, |out, answer| {
        out.object(|out| shown.extend(write_response(out, &answer.response, show(answer))));
    });
    Response {
        shown,
        ..Response::with_body(StatusCode::OK, out.finish())
    }
}
