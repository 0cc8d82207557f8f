//! What an event may look like.

use std::borrow::Cow;

use globset::GlobMatcher;
use proctor_simulation::record::{Actor, RecordedEvent, WorldRecord};
use serde_json::Value;

use super::charts::ForeignCharts;
use crate::{
    compare::Manner,
    expectation::{Expectation, Test},
    fields::{Field, Wanted, bind, read_correlation},
    found::Found,
    glob::compile,
    json_path::JsonPath,
    reader::{AssertionNode as _, Node, left_out_or},
    template::{Failed, Scope, Template},
};

/// A pattern over events.
#[derive(Debug)]
pub(super) struct Pattern {
    protocol: Option<String>,
    kind: Option<String>,
    methods: Vec<String>,
    path: Option<Template>,
    query: Option<Expectation>,
    status: Option<Expectation>,
    actor: Option<Actor>,
    fields: Vec<Field<JsonPath>>,
    charts: Option<ForeignCharts>,
}

/// A pattern with its templates filled.
pub(super) struct Bound<'p> {
    pattern: &'p Pattern,
    path: Option<GlobMatcher>,
    query: Option<Cow<'p, Test>>,
    status: Option<Cow<'p, Test>>,
    fields: Vec<Wanted<'p, JsonPath>>,
    about: Option<Vec<String>>,
}

/// Words for protocols that are not the names of simulators.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("portal", "payer"),
    ("x12", "clearinghouse"),
    ("sftp", "files"),
    ("messages", "message"),
];

impl Pattern {
    pub(super) fn read(node: &Node<'_>) -> Option<Self> {
        let object = node.object()?;
        let text = |name| {
            left_out_or(object.optional(name), |node| {
                node.filled_text().map(str::to_owned)
            })
        };
        let protocol = text("protocol");
        let kind = text("kind");
        let methods = left_out_or(object.optional("method"), |node| match node.value() {
            Value::Array(_) => {
                let all: Vec<Option<String>> = node
                    .list()?
                    .iter()
                    .map(|one| one.filled_text().map(str::to_owned))
                    .collect();
                all.into_iter().collect()
            }
            _ => node.filled_text().map(|one| vec![one.to_owned()]),
        });
        let path = left_out_or(object.optional("path"), |node| {
            let template = node.template()?;
            if let Some(Err(why)) = template.fixed().map(compile) {
                node.refuse(why);
                return None;
            }
            Some(template)
        });
        let query = left_out_or(object.optional("query"), Expectation::read);
        let status = left_out_or(object.optional("status"), Expectation::read);
        let actor = left_out_or(object.optional("by"), |node| {
            node.word(&[
                ("agent", Some(Actor::Agent)),
                ("scenario", Some(Actor::Owner)),
                ("any", None),
            ])
        });
        let fields = left_out_or(object.optional("fields"), |node| {
            read_correlation(&node.object()?, JsonPath::parse)
        });
        let charts = left_out_or(object.optional("foreign_charts"), ForeignCharts::read);
        object.finish();
        Some(Self {
            protocol: protocol?,
            kind: kind?,
            methods: methods?.unwrap_or_default(),
            path: path?,
            query: query?,
            status: status?,
            actor: actor?.unwrap_or(Some(Actor::Agent)),
            fields: fields?.unwrap_or_default(),
            charts: charts?,
        })
    }

    pub(super) fn bind(&self, scope: &Scope<'_>) -> Result<Bound<'_>, Failed> {
        let path = self.path.as_ref().map(|template| {
            let text = template.text(scope, globset::escape)?;
            compile(&text).map_err(|why| Failed(format!("path: {why}")))
        });
        let about = self.charts.as_ref().map(|charts| charts.about(scope));
        Ok(Bound {
            pattern: self,
            path: path.transpose()?,
            query: self.query.as_ref().map(|one| one.bind(scope)).transpose()?,
            status: self
                .status
                .as_ref()
                .map(|one| one.bind(scope))
                .transpose()?,
            fields: bind(&self.fields, scope)?,
            about: about.transpose()?,
        })
    }
}

impl Bound<'_> {
    /// The places of the events that are like this, in their order.
    pub(super) fn matches(&self, record: &WorldRecord) -> Vec<usize> {
        let own = self
            .about
            .as_ref()
            .map(|about| super::charts::own(about, record));
        let events = record.events.iter().enumerate();
        events
            .filter(|(_, event)| self.is_like(event))
            .filter(|(_, event)| match &own {
                Some(own) => super::charts::shows_others(event, own),
                None => true,
            })
            .map(|(place, _)| place)
            .collect()
    }

    pub(super) fn is_like(&self, event: &RecordedEvent) -> bool {
        let pattern = self.pattern;
        let protocol = pattern.protocol.as_deref();
        let kind = pattern.kind.as_deref();
        if !(pattern.actor.is_none_or(|actor| event.actor == actor)
            && protocol.is_none_or(|name| is_protocol(name, event))
            && kind.is_none_or(|kind| event.kind == kind))
        {
            return false;
        }
        let request = Asked::of(event);
        let is_method = pattern.methods.is_empty()
            || pattern
                .methods
                .iter()
                .any(|one| one.eq_ignore_ascii_case(request.method));
        let is_path = self
            .path
            .as_ref()
            .is_none_or(|glob| glob.is_match(&*request.path));
        is_method
            && is_path
            && self.query.as_ref().is_none_or(|test| {
                let query = Value::String(request.query.into_owned());
                test.holds(&[&query], Manner::Typed)
            })
            && self.status.as_ref().is_none_or(|test| {
                let status: Vec<&Value> = event.payload.get("status").into_iter().collect();
                test.holds(&status, Manner::Typed)
            })
            && self
                .fields
                .iter()
                .all(|wanted| wanted.holds(&Found::at(wanted.path, &event.payload), Manner::Typed))
    }
}

fn is_protocol(name: &str, event: &RecordedEvent) -> bool {
    let known = OTHER_NAMES
        .iter()
        .find(|(other, _)| other.eq_ignore_ascii_case(name));
    let name = known.map_or(name, |(_, name)| name);
    event.simulator.as_str().eq_ignore_ascii_case(name)
}

/// What was asked with an event, as far as it was a request.
pub(super) struct Asked<'e> {
    pub(super) method: &'e str,
    /// Below the playground, as agents write it: `fhir/Patient/ada`.
    pub(super) path: Cow<'e, str>,
    pub(super) query: Cow<'e, str>,
}

impl<'e> Asked<'e> {
    pub(super) fn of(event: &'e RecordedEvent) -> Self {
        let payload = &event.payload;
        // Simulators tell the request by itself or beside the rest.
        let request = payload
            .get("request")
            .filter(|request| request.get("path").is_some());
        let request = request.unwrap_or(payload);
        let text = |name| {
            request
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (path, query) = text("path")
            .split_once('?')
            .unwrap_or((text("path"), text("query")));
        let path = path.trim_start_matches('/');
        let path = match event.kind.as_str() {
            // The store tells paths below its own base.
            "fhir_request" => Cow::Owned(format!("fhir/{path}")),
            _ => Cow::Borrowed(path),
        };
        let query = percent_decoded(query);
        Self {
            method: text("method"),
            path,
            query,
        }
    }
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while let Some(byte) = bytes.get(place) {
        let code = bytes.get(place + 1..place + 3);
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match (
            byte,
            code.and_then(|code| u8::from_str_radix(code, 16).ok()),
        ) {
            (b'%', Some(value)) => {
                decoded.push(value);
                place += 3;
                continue;
            }
            (b'+', _) => decoded.push(b' '),
            (other, _) => decoded.push(*other),
        }
        place += 1;
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

/// An event in a few words.
pub(super) fn in_words(event: &RecordedEvent) -> String {
    let asked = Asked::of(event);
    if asked.method.is_empty() {
        return format!("{} ({})", event.kind, event.name);
    }
    let query = match asked.query.is_empty() {
        true => String::new(),
        false => format!("?{}", asked.query),
    };
    let said = format!("{} {}{query}", asked.method, asked.path);
    proctor_fhir::primitive::text::excerpt(&said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_compared_as_they_were_meant() {
        assert_eq!(percent_decoded("a=b%7Cc+d%"), "a=b|c d%");
        assert_eq!(percent_decoded("plain"), "plain");
    }
}
