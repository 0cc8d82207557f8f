//! Values of the finished world that criteria may name: `{{captured.auth_number}}`.
//!
//! A capture is one value. Where its path leads to nothing, or to several different values, what names it is not met, and
//! says why.

use std::collections::BTreeMap;

use proctor_core::{environment::Entity, problem::Problem};
use proctor_fhir_store::{State, kind::ResourceKind};
use proctor_hl7::Message;
use proctor_office::hl7::{Received, SentMessage};
use proctor_payer::X12Response;
use proctor_simulation::exhibits::Exhibits;
use serde_json::Value;

use crate::{
    checks::{
        fhir::search::{SEARCHED_MOST, Search},
        hl7,
        x12::{self, Transactions},
    },
    compare::Manner,
    expectation::said,
    fhir_paths::impossible,
    fields::{Field, bind, read_correlation},
    found::Found,
    json_path::JsonPath,
    reader::{AssertionNode as _, Node, Notes, Object},
    template::{Captured, Context, Failed, Scope, scalar_text},
    text_judge::JudgeAnswers,
};

/// How many different values are told where there should be one.
const MOST_TOLD: usize = 3;

/// The captures of a task, read once.
#[derive(Default)]
pub(crate) struct Captures {
    all: BTreeMap<String, Result<Capture, Vec<Problem>>>,
}

/// Where a value is.
struct Capture {
    source: Source,
}

/// The words of authors for where values are.
#[derive(Clone, Copy)]
enum From {
    Rows(Option<&'static str>),
    Fhir,
    Hl7,
    Hl7Inbound,
    X12,
    X12Request,
}

const SOURCES: [(&str, From); 8] = [
    ("portal", From::Rows(None)),
    ("fax", From::Rows(Some("faxes"))),
    ("message", From::Rows(Some("messages"))),
    ("fhir", From::Fhir),
    ("hl7", From::Hl7),
    ("hl7-inbound", From::Hl7Inbound),
    ("x12", From::X12),
    ("x12-request", From::X12Request),
];

pub(crate) enum Source {
    Rows {
        resource: String,
        narrowing: Vec<Field<JsonPath>>,
        path: JsonPath,
    },
    Fhir {
        search: Search,
        path: JsonPath,
    },
    Hl7 {
        is_inbound: bool,
        narrowing: Vec<Field<proctor_hl7::Path>>,
        path: proctor_hl7::Path,
    },
    X12 {
        is_request: bool,
        transaction: String,
        narrowing: Vec<Field<proctor_x12::path::Path>>,
        path: proctor_x12::path::Path,
    },
}

/// Everything that is wrong with the captures of a task, each below its name.
pub fn capture_problems(captures: &BTreeMap<String, Value>, entities: &[Entity]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, written) in captures {
        let notes = Notes::default();
        Capture::read(written, &notes);
        let mut found = notes.problems();
        found.extend(notes.extra().doubts());
        found.extend(
            notes
                .extra()
                .references()
                .into_iter()
                .filter_map(|(path, reference)| {
                    let why = match reference.captured(entities) {
                        Some(_) => "a capture cannot name another".to_owned(),
                        None => reference.of_entity(entities, None).err()?,
                    };
                    Some(Problem::error(
                        path,
                        format!("{reference} does not resolve: {why}"),
                    ))
                }),
        );
        problems.extend(found.into_iter().map(|problem| problem.below(name)));
        if name.is_empty() || name.contains(['.', '{', '}']) {
            let message =
                "is no name for a capture: dots and braces mean something else in templates";
            problems.push(Problem::error(name.as_str(), message));
        }
    }
    problems
}

impl Captures {
    /// Reads the captures of a task.
    pub(crate) fn read(written: &BTreeMap<String, Value>) -> Self {
        let read = |(name, written): (&String, &Value)| {
            let notes = Notes::default();
            let capture = Capture::read(written, &notes);
            let capture = capture.filter(|_| notes.problems().is_empty());
            (name.clone(), capture.ok_or_else(|| notes.problems()))
        };
        Self {
            all: written.iter().map(read).collect(),
        }
    }

    /// Whether any of them is in what happened rather than in what is there.
    pub(crate) fn reads_record(&self) -> bool {
        let reads = |capture: &Capture| {
            matches!(
                capture.source,
                Source::X12 {
                    is_request: true,
                    ..
                }
            )
        };
        self.all.values().any(|one| one.as_ref().is_ok_and(reads))
    }

    /// Takes all of them from a world.
    pub(crate) fn take(
        &self,
        exhibits: &Exhibits<'_>,
        entities: &[Entity],
        context: &Context,
    ) -> Captured {
        let (nothing, nobody) = (Captured::new(), JudgeAnswers::default());
        let scope = Scope {
            entities,
            input: None,
            context,
            captured: &nothing,
            answers: &nobody,
        };
        let take = |(name, capture): (&String, &Result<Capture, Vec<Problem>>)| {
            let value = match capture {
                Ok(capture) => capture.take(exhibits, &scope),
                Err(problems) => Err(proctor_core::problem::in_words(problems)),
            };
            (name.clone(), value)
        };
        self.all.iter().map(take).collect()
    }
}

impl Capture {
    fn read(written: &Value, notes: &Notes) -> Option<Self> {
        let object = Node::root(written, notes).object()?;
        let source = Source::written(&object);
        object.finish();
        Some(Self { source: source? })
    }

    /// The one value.
    fn take(&self, exhibits: &Exhibits<'_>, scope: &Scope<'_>) -> Result<Value, String> {
        let values = self.source.values(exhibits, scope);
        let values = values.map_err(|Failed(why)| why)?;
        let mut different: Vec<Value> = Vec::new();
        for value in values {
            let is_scalar = scalar_text(&value).is_some();
            if is_scalar && !different.contains(&value) {
                different.push(value);
            }
        }
        match different.len() {
            1 => Ok(different.remove(0)),
            0 => Err("nothing was found to capture".to_owned()),
            number => {
                let told: Vec<String> = different.iter().take(MOST_TOLD).map(said).collect();
                Err(format!(
                    "{number} different values were found to capture, such as {}",
                    told.join(", ")
                ))
            }
        }
    }
}

impl Source {
    /// Reads where values are: `from`, and what that needs.
    pub(crate) fn written(object: &Object<'_>) -> Option<Self> {
        let from = object.required("from")?.word(&SOURCES)?;
        Self::read(from, object)
    }

    fn read(from: From, object: &Object<'_>) -> Option<Self> {
        let path = object.required("path");
        match from {
            From::Rows(resource) => {
                let resource = match resource {
                    Some(resource) => Some(resource.to_owned()),
                    None => object
                        .required("resource")
                        .and_then(|node| node.text().map(str::to_owned)),
                };
                let narrowing = read_where(object, JsonPath::parse);
                Some(Self::Rows {
                    resource: resource?,
                    narrowing: narrowing?,
                    path: path?.parsed(JsonPath::parse)?,
                })
            }
            From::Fhir => {
                let kind = object.required("resource").and_then(|node| {
                    node.parsed(|name| {
                        ResourceKind::named(name)
                            .ok_or_else(|| format!("'{name}' is no resource type of FHIR R4"))
                    })
                });
                let search = Search::read(kind, object.optional("search"));
                let node = path?;
                let path = node.parsed(JsonPath::parse)?;
                if let Some(why) = kind.and_then(|kind| impossible(kind.name(), &path)) {
                    node.doubt(why);
                }
                Some(Self::Fhir {
                    search: search?,
                    path,
                })
            }
            From::Hl7 | From::Hl7Inbound => {
                let narrowing = read_where(object, str::parse::<proctor_hl7::Path>);
                Some(Self::Hl7 {
                    is_inbound: matches!(from, From::Hl7Inbound),
                    narrowing: narrowing?,
                    path: path?.parsed(str::parse::<proctor_hl7::Path>)?,
                })
            }
            From::X12 | From::X12Request => {
                let transaction = x12::read_transaction(object);
                let narrowing = read_where(object, str::parse::<proctor_x12::path::Path>);
                Some(Self::X12 {
                    is_request: matches!(from, From::X12Request),
                    transaction: transaction?,
                    narrowing: narrowing?,
                    path: path?.parsed(str::parse::<proctor_x12::path::Path>)?,
                })
            }
        }
    }

    /// Everything that is found there.
    pub(crate) fn values(
        &self,
        exhibits: &Exhibits<'_>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Value>, Failed> {
        match self {
            Self::Rows {
                resource,
                narrowing,
                path,
            } => {
                let narrowing = bind(narrowing, scope)?;
                let rows = exhibits.rows.get(resource.as_str()).into_iter().flatten();
                let fits = rows.filter(|row| {
                    let mut wanted = narrowing.iter();
                    wanted.all(|one| one.holds(&Found::at(one.path, &row.fields), Manner::Typed))
                });
                Ok(fits
                    .flat_map(|row| owned(&Found::at(path, &row.fields)))
                    .collect())
            }
            Self::Fhir { search, path } => {
                let stores: Vec<&State> = exhibits.evidence().unwrap_or_default();
                let Some(store) = stores.first() else {
                    return Err(Failed("the playground has no FHIR store".to_owned()));
                };
                let hits = search.bind(scope)?.run(store, SEARCHED_MOST)?;
                let bodies = hits
                    .hits
                    .iter()
                    .filter_map(|hit| serde_json::from_slice(&hit.body).ok());
                let bodies: Vec<Value> = bodies.collect();
                Ok(bodies
                    .iter()
                    .flat_map(|body| owned(&Found::at(path, body)))
                    .collect())
            }
            Self::Hl7 {
                is_inbound,
                narrowing,
                path,
            } => {
                let narrowing = bind(narrowing, scope)?;
                let payloads: Vec<&str> = match is_inbound {
                    true => {
                        let all: Vec<&Received> = exhibits.evidence().unwrap_or_default();
                        all.iter().map(|one| one.payload.as_str()).collect()
                    }
                    false => {
                        let all: Vec<&SentMessage> = exhibits.evidence().unwrap_or_default();
                        all.iter().map(|one| one.payload.as_str()).collect()
                    }
                };
                let messages = payloads
                    .iter()
                    .filter_map(|text| Message::parse(text.as_bytes()).ok());
                let fits = messages.filter(|message| {
                    let mut wanted = narrowing.iter();
                    wanted.all(|one| one.holds(&hl7::find(one.path, message), Manner::AsText))
                });
                Ok(fits
                    .flat_map(|message| owned(&hl7::find(path, &message)))
                    .collect())
            }
            Self::X12 {
                is_request,
                transaction,
                narrowing,
                path,
            } => {
                let narrowing = bind(narrowing, scope)?;
                let transactions = match is_request {
                    true => Transactions::sent(exhibits),
                    false => {
                        let all: Option<Vec<&X12Response>> = exhibits.evidence();
                        all.map(|all| Transactions::answered(&all))
                    }
                };
                let Some(transactions) = transactions else {
                    return Err(Failed("the playground has no clearinghouse".to_owned()));
                };
                let all = transactions.of_kind(transaction);
                let fits = all.iter().filter(|one| {
                    let mut wanted = narrowing.iter();
                    wanted.all(|wanted| wanted.holds(&x12::read(one, wanted.path), Manner::AsText))
                });
                Ok(fits.flat_map(|one| owned(&x12::read(one, path))).collect())
            }
        }
    }
}

fn read_where<P, E: ToString>(
    object: &Object<'_>,
    parse: impl Fn(&str) -> Result<P, E>,
) -> Option<Vec<Field<P>>> {
    match object.optional("where") {
        None => Some(Vec::new()),
        Some(node) => node
            .object()
            .and_then(|object| read_correlation(&object, parse)),
    }
}

fn owned(found: &Found<'_>) -> Vec<Value> {
    found.present().into_iter().cloned().collect()
}
