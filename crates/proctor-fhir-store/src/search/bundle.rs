//! The bundle that a search answers with.

use super::{Found, page::Position, run::Page};
use crate::{
    json_writer::JsonObject,
    outcome::{Issue, operation_outcome_bytes},
    query,
    rest::Shown,
    state::State,
    view::View,
};

/// What the links of a page are made of.
pub(super) struct Links<'a> {
    pub(super) base_url: &'a str,
    pub(super) path: &'a str,
    pub(super) used: &'a [(String, String)],
    pub(super) next: Option<Position>,
    pub(super) previous: Option<Position>,
}

impl Links<'_> {
    fn url(&self, position: Option<Position>) -> String {
        let mut text = String::with_capacity(128);
        for (name, value) in self.used {
            query::push(&mut text, name, value);
        }
        if let Some(position) = position {
            query::push(&mut text, "_page_token", &position.to_string());
        }
        let slash = if self.path.is_empty() { "" } else { "/" };
        let mark = if text.is_empty() { "" } else { "?" };
        format!("{}{slash}{}{mark}{text}", self.base_url, self.path)
    }

    fn all(&self) -> Vec<(&'static str, String)> {
        let mut links = vec![("self", self.url(None))];
        if self.previous.is_some() {
            links.push(("first", self.url(None)));
            links.push(("previous", self.url(self.previous)));
        }
        if self.next.is_some() {
            links.push(("next", self.url(self.next)));
        }
        links
    }
}

/// Writes a page as a bundle of type `searchset`, and tells which versions it shows.
pub(super) fn write_bundle(
    state: &State,
    view: &View,
    page: &Page,
    came_along: &[Found],
    warnings: &[Issue],
    links: &Links<'_>,
) -> (Vec<u8>, Vec<Shown>) {
    let sizes = page.matches.iter().chain(came_along).map(|found| {
        let body = state.view(found.kind).newest(found.row).body.as_ref();
        body.map_or(0, bytes::Bytes::len) + 128
    });
    let mut out = JsonObject::with_capacity(sizes.sum::<usize>() + 1024);
    out.field("resourceType").text("Bundle");
    out.field("type").text("searchset");
    if let Some(total) = page.total {
        out.field("total")
            .number(i64::try_from(total).unwrap_or(i64::MAX));
    }
    out.field("link")
        .list(&links.all(), |out, (relation, url)| {
            out.object(|out| {
                out.field("relation").text(relation);
                out.field("url").text(url);
            });
        });
    if page.matches.is_empty() && warnings.is_empty() {
        return (out.finish(), Vec::new());
    }
    let entries: Vec<Entry<'_>> = page
        .matches
        .iter()
        .map(|found| Entry::Found(*found, "match"))
        .chain(
            came_along
                .iter()
                .map(|found| Entry::Found(*found, "include")),
        )
        .chain((!warnings.is_empty()).then_some(Entry::Outcome(warnings)))
        .collect();
    let mut shown = Vec::with_capacity(entries.len());
    out.field("entry").list(&entries, |out, entry| {
        out.object(|out| shown.extend(write_entry(out, state, view, entry, links.base_url)));
    });
    (out.finish(), shown)
}

enum Entry<'a> {
    Found(Found, &'static str),
    Outcome(&'a [Issue]),
}

fn write_entry(
    out: &mut JsonObject,
    state: &State,
    view: &View,
    entry: &Entry<'_>,
    base_url: &str,
) -> Option<Shown> {
    let mut shown = None;
    let mode = match entry {
        Entry::Found(found, mode) => {
            let kind = state.view(found.kind);
            out.field("fullUrl")
                .address(base_url, found.kind.name(), kind.id(found.row));
            if let Some(body) = &kind.newest(found.row).body {
                let resource = out.field("resource");
                let place = match view {
                    View::Full => Some(resource.raw(body)),
                    projection => {
                        resource.raw(&projection.apply(body));
                        None
                    }
                };
                let name = kind.name(found.row);
                shown = Some(Shown { name, place });
            }
            mode
        }
        Entry::Outcome(issues) => {
            out.field("resource").raw(&operation_outcome_bytes(issues));
            "outcome"
        }
    };
    out.field("search")
        .object(|out| out.field("mode").text(mode));
    shown
}
