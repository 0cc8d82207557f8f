//! What happened: to one resource, to all of a type, to the whole store.

use std::ops::Range;

use http::StatusCode;
use proctor_core::time::Timestamp;
use proctor_fhir::primitive::moment::{Moment, Span};

use super::{Request, Response, Shown, read::known_row, response::etag};
use crate::{
    json_writer::JsonObject,
    kind::ResourceKind,
    outcome::{Answer, IssueCode, Refusal},
    query,
    resource::{Verb, Version, VersionName},
    state::State,
};

/// Which part of a history is asked for.
struct Window {
    count: usize,
    since: Option<Timestamp>,
    /// Only versions that were current at some time in this period.
    current: Option<Span>,
    /// How many of the newest entries were shown on earlier pages, counted from the oldest entry,
    /// so that the place stays right when more happens.
    before: Option<usize>,
}

/// One line of a history.
struct Line<'a> {
    name: VersionName,
    version: &'a Version,
    /// When a later version took its place.
    replaced: Option<Timestamp>,
}

impl Line<'_> {
    /// Whether the version was what a reader saw at some time in `period`. A deletion is seen when
    /// it happens.
    fn was_current_in(&self, period: Span) -> bool {
        let start = self.version.at.as_millis();
        let end = match (&self.version.body, self.replaced) {
            (None, _) => start + 1,
            (Some(_), Some(replaced)) => replaced.as_millis(),
            (Some(_), None) => Span::OPEN_END,
        };
        period.overlaps(Span { start, end })
    }
}

impl State {
    /// `GET Type/id/_history`.
    pub(super) fn instance_history(
        &self,
        kind: ResourceKind,
        id: &str,
        request: &Request,
    ) -> Answer<Response> {
        let window = self.window(request)?;
        let view = self.view(kind);
        let row = known_row(&view, id)?;
        let versions = view.versions(row);
        let line = |place: usize| Line {
            name: VersionName {
                kind,
                id: view.id(row).clone(),
                version: versions[place].number,
            },
            version: &versions[place],
            replaced: versions.get(place + 1).map(|later| later.at),
        };
        Ok(self.history_page(versions.len(), line, |_| true, &window, request))
    }

    /// `GET Type/_history` and `GET _history`.
    pub(super) fn log_history(
        &self,
        kind: Option<ResourceKind>,
        request: &Request,
    ) -> Answer<Response> {
        let window = self.window(request)?;
        let base = self.base().order();
        let log = self.log();
        let kind_at = |place: usize| match base.get(place) {
            Some((kind, _)) => *kind,
            None => log[place - base.len()].kind,
        };
        let line = |place: usize| {
            let (kind, row, number) = match base.get(place) {
                Some((kind, row)) => (*kind, *row, 1),
                None => {
                    let logged = log[place - base.len()];
                    (logged.kind, logged.row, logged.version)
                }
            };
            let view = self.view(kind);
            let versions = view.versions(row);
            // Versions of a row are numbered without gaps, from the first it has.
            let place = (number - versions[0].number) as usize;
            Line {
                name: VersionName {
                    kind,
                    id: view.id(row).clone(),
                    version: number,
                },
                version: &versions[place],
                replaced: versions.get(place + 1).map(|later| later.at),
            }
        };
        let of_kind = |place: usize| kind.is_none_or(|kind| kind_at(place) == kind);
        Ok(self.history_page(base.len() + log.len(), line, of_kind, &window, request))
    }

    /// A page of a history whose entries are numbered from the oldest.
    fn history_page<'a>(
        &self,
        length: usize,
        line: impl Fn(usize) -> Line<'a>,
        belongs: impl Fn(usize) -> bool,
        window: &Window,
        request: &Request,
    ) -> Response {
        let start = window.before.unwrap_or(length).min(length);
        // Time does not run backwards: lines before the first that is too old need not be looked at.
        let lines = |end: usize| {
            let places = (0..end).rev().filter(|place| belongs(*place));
            places
                .map(|place| (place, line(place)))
                .take_while(|(_, line)| window.since.is_none_or(|since| line.version.at >= since))
                .filter(|(_, line)| {
                    let period = window.current;
                    period.is_none_or(|period| line.was_current_in(period))
                })
        };
        let mut shown = Vec::new();
        let mut next = None;
        for (place, line) in lines(start) {
            if shown.len() == window.count {
                next = Some(place + 1);
                break;
            }
            shown.push(line);
        }
        let total = if window.since.is_none() && window.current.is_none() {
            (0..length).filter(|place| belongs(*place)).count()
        } else {
            lines(length).count()
        };
        self.history_bundle(&shown, total, next, request)
    }

    fn history_bundle(
        &self,
        lines: &[Line<'_>],
        total: usize,
        next: Option<usize>,
        request: &Request,
    ) -> Response {
        let base_url = &self.settings().base_url;
        let path = request.path.trim_matches('/');
        let address = |token: Option<usize>| {
            let mut pairs = query::parse(&request.query).unwrap_or_default();
            pairs.retain(|(name, _)| name != "_page_token");
            if let Some(token) = token {
                pairs.push(("_page_token".to_owned(), token.to_string()));
            }
            let mut text = String::new();
            for (name, value) in &pairs {
                query::push(&mut text, name, value);
            }
            let mark = if text.is_empty() { "" } else { "?" };
            format!("{base_url}/{path}{mark}{text}")
        };
        let bodies = lines.iter().filter_map(|line| line.version.body.as_ref());
        let length: usize = bodies.map(|body| body.len() + 400).sum();
        let mut out = JsonObject::with_capacity(length + 400);
        out.field("resourceType").text("Bundle");
        out.field("type").text("history");
        out.field("total")
            .number(i64::try_from(total).unwrap_or(i64::MAX));
        let links = [
            Some(("self", address(None))),
            next.map(|next| ("next", address(Some(next)))),
        ];
        let links: Vec<_> = links.into_iter().flatten().collect();
        out.field("link").list(&links, |out, (relation, url)| {
            out.object(|out| {
                out.field("relation").text(relation);
                out.field("url").text(url);
            });
        });
        let mut shown = Vec::with_capacity(lines.len());
        out.field("entry").list(lines, |out, line| {
            out.object(|out| {
                shown.push(Shown {
                    name: line.name.clone(),
                    place: write_line(out, line, base_url),
                });
            });
        });
        Response {
            shown,
            ..Response::with_body(StatusCode::OK, out.finish())
        }
    }

    fn window(&self, request: &Request) -> Answer<Window> {
        let settings = self.settings();
        let mut window = Window {
            count: settings.default_count,
            since: None,
            current: None,
            before: None,
        };
        for (name, value) in query::parse(&request.query)? {
            let wrong = |form: &str| {
                Refusal::bad_request(
                    IssueCode::Value,
                    format!("'{value}' is no value for {name}: {form} is expected"),
                )
                .at(&format!("http.{name}"))
            };
            match name.as_str() {
                "_count" => {
                    let count: usize = value.parse().map_err(|_| wrong("a whole number"))?;
                    window.count = count.min(settings.max_count);
                }
                "_since" => {
                    let moment = Moment::parse(&value)
                        .ok_or_else(|| wrong("an instant such as 2026-04-21T17:00:00Z"))?;
                    window.since = Some(Timestamp::from_millis(moment.span.start));
                }
                "_at" => {
                    let moment = Moment::parse(&value)
                        .ok_or_else(|| wrong("a date or instant such as 2026-04-21T17:00:00Z"))?;
                    window.current = Some(moment.span);
                }
                "_page_token" => {
                    let token = value.parse().map_err(|_| wrong("the token of a link"))?;
                    window.before = Some(token);
                }
                "_format" | "_pretty" => {}
                _ => {
                    return Err(Refusal::bad_request(
                        IssueCode::NotSupported,
                        format!("the parameter '{name}' means nothing for a history: there are _count, _since and _at"),
                    )
                    .at(&format!("http.{name}")));
                }
            }
        }
        Ok(window)
    }
}

/// Writes a line, and tells where its resource stands.
fn write_line(out: &mut JsonObject, line: &Line<'_>, base_url: &str) -> Option<Range<usize>> {
    let (name, version) = (&line.name, line.version);
    let address = format!("{}/{}", name.kind, name.id);
    out.field("fullUrl").text(&format!("{base_url}/{address}"));
    let body = version.body.as_ref();
    let place = body.map(|body| out.field("resource").raw(body));
    out.field("request").object(|out| {
        out.field("method").text(version.verb.as_str());
        let url = if version.verb == Verb::Post {
            name.kind.name()
        } else {
            &address
        };
        out.field("url").text(url);
    });
    out.field("response").object(|out| {
        let status = match (version.verb, version.number) {
            (Verb::Delete, _) => "204 No Content",
            (_, 1) => "201 Created",
            _ => "200 OK",
        };
        out.field("status").text(status);
        out.field("etag").text(&etag(version.number));
        out.field("lastModified").text(&version.at.to_string());
    });
    place
}
