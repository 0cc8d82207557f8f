//! `fhir-resource-state`: a search in the FHIR store, and what is expected of what it finds.

mod near;
pub(crate) mod search;

use proctor_fhir_store::{State, kind::ResourceKind};
use proctor_simulation::{
    exhibits::Exhibits,
    schema::{about, map, text},
};
use serde_json::{Value, json};

use self::search::{SEARCHED_MOST, Search};
use crate::{
    compare::Manner,
    fhir_paths::impossible,
    fields::{Field, FieldResult, Wanted, bind, doubt_paths, read_fields, to_list},
    found::Found,
    json_path::JsonPath,
    matching::{Quantity, Question, Settled, counted},
    outcome::Outcome,
    reader::{Object, left_out_or},
    registry::Check,
    schema::{assertion, fields, with_quantity},
    template::{Failed, Scope},
};

/// The assertion.
#[derive(Debug)]
pub(crate) struct ResourceState {
    search: Search,
    fields: Vec<Field<JsonPath>>,
    matches: Match,
    quantity: Quantity,
}

/// Which of the resources found the fields are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// The first, which is the one updated last.
    First,
    /// The one that fares best.
    Any,
    /// Every one.
    All,
}

/// A resource that the search found.
struct Resource {
    name: String,
    body: Value,
}

impl Check for ResourceState {
    const NAME: &'static str = "fhir-resource-state";

    /// The first store; none without one.
    type View<'w> = Option<&'w State>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        exhibits.evidence()?.first().copied()
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let kind = assertion.required("resource_type").and_then(|node| {
            node.parsed(|name| {
                ResourceKind::named(name)
                    .ok_or_else(|| format!("'{name}' is no resource type of FHIR R4"))
            })
        });
        let search = Search::read(kind, assertion.optional("search"));
        let fields = read_fields(assertion.optional("fields"), JsonPath::parse);
        if let Some(kind) = kind {
            doubt_paths(assertion.optional("fields").as_ref(), |path| {
                impossible(kind.name(), &JsonPath::parse(path).ok()?)
            });
        }
        let matches = left_out_or(assertion.optional("match"), |node| {
            node.word(&[
                ("first", Match::First),
                ("any", Match::Any),
                ("all", Match::All),
            ])
        });
        let quantity = Quantity::read(assertion);
        if let (Some(Some(_)), Some(Quantity::Absent)) = (matches, quantity) {
            let node = assertion.node();
            node.refuse("'absent' is about every resource found: leave 'match' out");
        }
        Some(Self {
            search: search?,
            fields: fields?,
            matches: matches?.unwrap_or(Match::First),
            quantity: quantity?,
        })
    }

    fn schema() -> Value {
        let members = with_quantity(json!({
            "resource_type": about("The type of FHIR R4.", text()),
            "search": about("Search parameters: what is looked for.", map(&json!({"type": ["string", "number", "boolean", "array"]}))),
            "fields": fields("What the resource must hold, by paths such as participant.0.actor.display."),
            "match": about("Which of those found: the one updated last, the one that fares best, or every one.", json!({"enum": ["first", "any", "all"]})),
        }));
        let example = json!({
            "resource_type": "Appointment",
            "search": {"patient": "Patient/john-smith", "status": "booked"},
            "fields": [{"path": "participant.0.actor.display", "expected": "Dr. Rivera"}],
        });
        let about = "What is in the FHIR store.";
        assertion(Self::NAME, about, &["resource_type"], members, example)
    }

    fn run(&self, store: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let fields = bind(&self.fields, scope)?;
        let asked = self.search.bind(scope)?;
        let Some(store) = store else {
            return Err(Failed("the playground has no FHIR store".to_owned()));
        };
        let only_first = self.matches == Match::First && self.quantity != Quantity::Absent;
        let hits = asked.run(store, if only_first { 1 } else { SEARCHED_MOST })?;
        let total = hits.total;
        if !only_first && total > SEARCHED_MOST {
            return Err(Failed(format!(
                "{total} match {}: no more than {SEARCHED_MOST} are looked at",
                asked.in_words()
            )));
        }
        let found: Vec<Resource> = hits
            .hits
            .iter()
            .filter_map(|hit| {
                Some(Resource {
                    name: format!("{}/{}", hit.name.kind, hit.name.id),
                    body: serde_json::from_slice(&hit.body).ok()?,
                })
            })
            .collect();
        let question = Question {
            noun: asked.kind.name(),
            fields: &fields,
            quantity: self.quantity,
            manner: Manner::Typed,
            read: &|resource: &Resource, path: &JsonPath| Found::at(path, &resource.body),
            name: &|resource: &Resource| resource.name.clone(),
        };
        let missing = || near::misses(store, &asked);
        let settled = match (self.quantity, self.matches) {
            (Quantity::Absent, _) => question.absent(&found),
            (_, Match::First) => question.of_one(found.first(), total, missing),
            (_, Match::Any) => question.best(&found, missing),
            (_, Match::All) => every_one(&question, &found, missing),
        };
        let evidence = evidence(
            &settled.results,
            settled.chosen.map(|resource| resource.name.as_str()),
            total,
        );
        Ok(settled.outcome(evidence))
    }

    fn blank(&self) -> Value {
        evidence(&[], None, 0)
    }
}

fn evidence(results: &[FieldResult], resource: Option<&str>, total: usize) -> Value {
    json!({"fieldResults": to_list(results), "resource": resource, "total": total})
}

/// A field holds when it holds in every resource; what is shown is the list of all values, and the
/// resource is the first in which something does not hold.
fn every_one<'c>(
    question: &Question<'_, JsonPath, Resource>,
    found: &'c [Resource],
    missing: impl FnOnce() -> String,
) -> Settled<'c, Resource> {
    if found.len() < 2 {
        return question.of_one(found.first(), found.len(), missing);
    }
    let holds = |resource: &Resource, wanted: &Wanted<'_, JsonPath>| {
        wanted.holds(&Found::at(wanted.path, &resource.body), Manner::Typed)
    };
    let results = question.fields.iter().map(|wanted| {
        let looked = found.iter();
        let values = looked.map(|resource| Found::at(wanted.path, &resource.body).shown());
        let failing = found.iter().filter(|resource| !holds(resource, wanted));
        let failing: Vec<&str> = failing.map(|resource| resource.name.as_str()).collect();
        wanted.result_of_all(values.collect(), &failing)
    });
    let results: Vec<FieldResult> = results.collect();
    let failing = found.iter().find(|resource| {
        let mut fields = question.fields.iter();
        fields.any(|wanted| !holds(resource, wanted))
    });
    let subject = format!("each of the {} found", counted(found.len(), question.noun));
    question.settled(failing.or(found.first()), results, found.len(), &subject)
}
