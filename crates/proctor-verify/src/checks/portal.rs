//! `portal-state-match`: the rows of a simulator's state, and what is expected of one of them.

use std::{borrow::Cow, collections::BTreeMap};

use proctor_office::files::StoredFile;
use proctor_simulation::{
    exhibits::{Exhibits, StateRow},
    schema::{about, object, text},
};
use serde_json::{Value, json};

use crate::{
    checks::disclosure::file_named,
    compare::Manner,
    expectation::Expectation,
    fields::{Field, FieldResult, bind, read_correlation, read_fields, to_list},
    found::Found,
    json_path::JsonPath,
    matching::{Quantity, Question, correlated, near_misses},
    outcome::Outcome,
    reader::{Node, Object},
    registry::Check,
    schema::{assertion, correlation, fields, with_quantity},
    template::{Failed, Scope, scalar_text},
};

/// The rows that are faxes.
const FAXES: &str = "faxes";
/// The path to everything that a fax says.
const FAX_TEXT: &str = "content";

/// The assertion.
#[derive(Debug)]
pub(crate) struct StateMatch {
    resource: String,
    key: Option<JsonPath>,
    narrowing: Vec<Field<Place>>,
    fields: Vec<Field<Place>>,
    quantity: Quantity,
}

/// A place in a row, or what names it.
#[derive(Debug)]
enum Place {
    /// In the row.
    Inside(JsonPath),
    /// What the simulator names the row by.
    RowKey,
}

impl Check for StateMatch {
    const NAME: &'static str = "portal-state-match";

    type View<'w> = &'w Exhibits<'w>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        exhibits
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let correlation = assertion
            .required("correlate_by")
            .and_then(|node| node.object());
        let fields = read_fields(assertion.optional("assertions"), inside);
        let quantity = Quantity::read(assertion);
        // `value` and `where` may stand beside `correlate_by` as well as in it.
        let mut values = Vec::from_iter(assertion.optional("value"));
        let mut wheres = Vec::from_iter(assertion.optional("where"));
        let correlation = correlation?;
        let resource = correlation
            .required("resource")
            .and_then(|node| node.text().map(str::to_owned));
        let key = match correlation.optional("key") {
            None => Some(None),
            Some(node) => node.parsed(JsonPath::parse).map(Some),
        };
        values.extend(correlation.optional("value"));
        wheres.extend(correlation.optional("where"));
        correlation.finish();
        if values.len() + wheres.len() > 1 {
            let node = correlation.node();
            node.refuse("a row is narrowed by one 'value' or one 'where'");
            return None;
        }
        let key = key?;
        let narrowing = match (values.first(), wheres.first()) {
            (Some(value), _) => read_value(value, key.as_ref()).map(|field| vec![field]),
            (None, Some(node)) => node
                .object()
                .and_then(|object| read_correlation(&object, inside)),
            (None, None) => Some(Vec::new()),
        };
        Some(Self {
            resource: resource?,
            key,
            narrowing: narrowing?,
            fields: fields?,
            quantity: quantity?,
        })
    }

    fn schema() -> Value {
        let scalar = json!({"type": ["string", "number", "boolean"]});
        let narrowing = correlation("What the row must hold to be meant.");
        let by = object(
            &["resource"],
            json!({
                "resource": about("The rows: prior_auth_requests, claims, faxes, messages, or what a step brings.", text()),
                "key": about("The member that names a row.", text()),
                "value": scalar,
                "where": narrowing,
            }),
        );
        let members = with_quantity(json!({
            "correlate_by": by,
            "value": scalar,
            "where": narrowing,
            "assertions": fields("What the row must hold."),
        }));
        let example = json!({
            "correlate_by": {"resource": "prior_auth_requests", "key": "request_id"},
            "assertions": [{"path": "procedure_code", "expected": "72148"}],
        });
        let about = "A row of the payer, of faxes or of messages.";
        assertion(Self::NAME, about, &["correlate_by"], members, example)
    }

    fn run(&self, exhibits: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let narrowing = bind(&self.narrowing, scope)?;
        let fields = bind(&self.fields, scope)?;
        let files = exhibits.named_evidence::<StoredFile>().unwrap_or_default();
        let files: BTreeMap<&str, &StoredFile> = files.into_iter().collect();
        let read: &dyn for<'c> Fn(&'c &StateRow<'_>, &Place) -> Found<'c> =
            &|row, place| match place {
                Place::Inside(path) if self.resource == FAXES && path.as_str() == FAX_TEXT => {
                    Found::text(fax_text(&row.fields, &files))
                }
                place => read(row, place),
            };
        let rows = exhibits.rows.get(self.resource.as_str());
        let rows: Vec<&StateRow<'_>> = rows.into_iter().flatten().rev().collect();
        let (matches, others) = correlated(rows, &narrowing, Manner::Typed, read);
        let question = Question {
            noun: "row",
            fields: &fields,
            quantity: self.quantity,
            manner: Manner::Typed,
            read,
            name: &|row: &&StateRow<'_>| {
                let key = self.shown_key(row);
                let key = scalar_text(&key).unwrap_or_else(|| row.key.as_ref().into());
                format!("{} {key}", self.resource)
            },
        };
        let settled = question.best(&matches, || {
            if others.is_empty() {
                return missing_resource(&self.resource, exhibits);
            }
            let noun = format!("row of {}", self.resource);
            near_misses(&noun, &others, &narrowing, Manner::Typed, read)
        });
        let key = settled.chosen.map(|row| self.shown_key(row));
        let evidence = self.evidence(&settled.results, key.as_ref());
        Ok(settled.outcome(evidence))
    }

    fn blank(&self) -> Value {
        self.evidence(&[], None)
    }
}

impl StateMatch {
    fn evidence(&self, results: &[FieldResult], key: Option<&Value>) -> Value {
        json!({
            "assertionResults": to_list(results),
            "resource": self.resource,
            "row_key": key,
        })
    }

    /// The value of the key that the author names, or else what the simulator names the row by.
    fn shown_key(&self, row: &StateRow<'_>) -> Value {
        let named = self.key.as_ref().and_then(|key| key.one(&row.fields));
        let named = named.filter(|value| !value.is_null());
        named.cloned().unwrap_or_else(|| row.key.as_ref().into())
    }
}

fn inside(text: &str) -> Result<Place, String> {
    JsonPath::parse(text).map(Place::Inside)
}

fn read_value(node: &Node<'_>, key: Option<&JsonPath>) -> Option<Field<Place>> {
    let expected = Expectation::read(node)?;
    let (written, place) = match key {
        Some(path) => (path.to_string(), Place::Inside(path.clone())),
        None => ("key".to_owned(), Place::RowKey),
    };
    Some(Field::new(written, place, expected))
}

fn read<'c>(row: &'c &StateRow<'_>, place: &Place) -> Found<'c> {
    match place {
        Place::Inside(path) => Found::at(path, &row.fields),
        Place::RowKey => Found::One(Some(Cow::Owned(row.key.as_ref().into()))),
    }
}

/// Everything that a fax says, in whichever field it was sent: its text, and what is in the files that it refers to.
fn fax_text(fax: &Value, files: &BTreeMap<&str, &StoredFile>) -> Option<String> {
    let mut said = Vec::new();
    for name in ["text", "content_reference", "file"] {
        let Some(text) = fax.get(name).and_then(Value::as_str) else {
            continue;
        };
        match file_named(text, files) {
            Some(file) => said.push(String::from_utf8_lossy(&file.content).into_owned()),
            None => said.push(text.to_owned()),
        }
    }
    (!said.is_empty()).then(|| said.join("\n"))
}

fn missing_resource(resource: &str, exhibits: &Exhibits<'_>) -> String {
    let others: Vec<String> = exhibits
        .rows
        .iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(name, rows)| format!("{} of {name}", rows.len()))
        .collect();
    if others.is_empty() {
        format!("there is no row of {resource}, nor of anything else")
    } else {
        format!(
            "there is no row of {resource}; there are {}",
            others.join(", ")
        )
    }
}
