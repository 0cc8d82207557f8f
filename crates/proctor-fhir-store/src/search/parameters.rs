//! What the parameters of a query ask for.

use std::cell::Cell;

use proctor_core::time::Timestamp;
use proctor_fhir::{
    definitions::SearchDefinitions,
    query::{Filter, QueryContext, split},
};

use super::{
    chain::{MOST_LOOKS, Reading, SearchError, find},
    include::{Direction, Include},
    order::SortField,
    page::Position,
    refuse,
    test::Test,
};
use crate::{
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal, Severity},
    rest::Handling,
    state::State,
    view::View,
};

/// Where a search looks.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The types searched.
    pub(crate) kinds: Vec<ResourceKind>,
    /// Only what belongs to these resources.
    pub(crate) compartment: Option<Compartment>,
}

/// Whose compartment a search is restricted to.
#[derive(Clone, Debug)]
pub(crate) enum Compartment {
    /// That of one resource.
    Of(ResourceKind, String),
    /// That of any resource of a type which exists.
    OfAny(ResourceKind),
}

impl Scope {
    /// All resources of one type.
    pub(crate) fn of(kind: ResourceKind) -> Self {
        Self {
            kinds: vec![kind],
            compartment: None,
        }
    }
}

/// Whether the number of all matches is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Total {
    /// Not at all.
    None,
    /// Exactly; an estimate is not cheaper here.
    Accurate,
}

/// A search that was understood.
#[derive(Debug)]
pub(crate) struct Search {
    /// What the rows of each type must satisfy.
    pub(crate) tests: Vec<(ResourceKind, Vec<Test>)>,
    pub(crate) sort: Vec<SortField>,
    pub(crate) count: usize,
    pub(crate) total: Total,
    pub(crate) view: View,
    pub(crate) includes: Vec<Include>,
    pub(crate) position: Option<Position>,
    /// What was not understood, and left out.
    pub(crate) warnings: Vec<Issue>,
    /// The parameters that were understood, but for the page: what links repeat.
    pub(crate) used: Vec<(String, String)>,
}

/// Reads the parameters of a search.
pub(crate) fn parse(
    state: &State,
    scope: Scope,
    pairs: Vec<(String, String)>,
    handling: Handling,
    now: Timestamp,
) -> Answer<Search> {
    let settings = state.settings();
    let own_bases = [settings.base_url.as_str()];
    let looks = Cell::new(MOST_LOOKS);
    let reading = Reading {
        state,
        context: QueryContext {
            now,
            own_bases: &own_bases,
        },
        links: 0,
        looks: &looks,
    };
    let kinds = searched_kinds(scope.kinds, &pairs)?;
    let mut parser = Parser {
        reading,
        handling,
        search: Search {
            tests: kinds.into_iter().map(|kind| (kind, Vec::new())).collect(),
            sort: Vec::new(),
            count: settings.default_count,
            total: Total::Accurate,
            view: View::Full,
            includes: Vec::new(),
            position: None,
            warnings: Vec::new(),
            used: Vec::new(),
        },
    };
    if let Some(compartment) = &scope.compartment {
        parser.compartment(compartment)?;
    }
    for (name, value) in pairs {
        if parser.parameter(&name, &value)? && name != "_page_token" {
            parser.search.used.push((name, value));
        }
    }
    Ok(parser.search)
}

/// The types searched: those that `_type` names, where it may.
fn searched_kinds(
    kinds: Vec<ResourceKind>,
    pairs: &[(String, String)],
) -> Answer<Vec<ResourceKind>> {
    let Some((_, names)) = pairs.iter().find(|(name, _)| name == "_type") else {
        return Ok(kinds);
    };
    let wanted: Vec<ResourceKind> = names
        .split(',')
        .map(|name| {
            ResourceKind::named(name).ok_or_else(|| {
                Refusal::bad_request(
                    IssueCode::Value,
                    format!("'{name}' in _type is no resource type of FHIR R4"),
                )
                .at("http._type")
            })
        })
        .collect::<Answer<_>>()?;
    Ok(kinds
        .into_iter()
        .filter(|kind| wanted.contains(kind))
        .collect())
}

struct Parser<'a> {
    reading: Reading<'a>,
    handling: Handling,
    search: Search,
}

impl Parser<'_> {
    /// Takes one parameter in; false when it was left out.
    fn parameter(&mut self, name: &str, value: &str) -> Answer<bool> {
        let state = self.reading.state;
        let wrong = |form: &str| {
            Refusal::bad_request(
                IssueCode::Value,
                format!("'{value}' is no value for {name}: {form} is expected"),
            )
            .at(&format!("http.{name}"))
        };
        if value.is_empty() {
            let said = format!("the parameter '{name}' has no value");
            let issue = Issue::error(IssueCode::Value, said).at(format!("http.{name}"));
            return self.leave_out(issue);
        }
        match name {
            "_count" => {
                let count: usize = value
                    .parse()
                    .map_err(|_| wrong("a whole number that is not negative"))?;
                self.search.count = count.min(state.settings().max_count);
            }
            "_sort" => return self.sort(value),
            "_total" => {
                self.search.total = match value {
                    "none" => Total::None,
                    "estimate" | "accurate" => Total::Accurate,
                    _ => return Err(wrong("none, estimate or accurate")),
                };
            }
            "_summary" => {
                self.search.view = View::summary(value)
                    .ok_or_else(|| wrong("true, false, text, data or count"))?;
            }
            "_elements" => self.search.view = View::elements(value),
            "_include" => self.include(value, Direction::Forward, false)?,
            "_include:iterate" | "_include:recurse" => {
                self.include(value, Direction::Forward, true)?;
            }
            "_revinclude" => self.include(value, Direction::Reverse, false)?,
            "_revinclude:iterate" | "_revinclude:recurse" => {
                self.include(value, Direction::Reverse, true)?;
            }
            "_contained" if value == "false" => {}
            "_page_token" => {
                let position = Position::parse(state, value)
                    .ok_or_else(|| wrong("the token of a 'next' or 'previous' link"))?;
                self.search.position = Some(position);
            }
            "_type" | "_format" | "_pretty" => {}
            _ => return self.criterion(name, value),
        }
        Ok(true)
    }

    /// A parameter that narrows the search.
    fn criterion(&mut self, name: &str, value: &str) -> Answer<bool> {
        let mut tests = Vec::with_capacity(self.search.tests.len());
        for (kind, _) in &self.search.tests {
            match self.reading.test(*kind, name, value) {
                Ok(test) => tests.push(test),
                Err(SearchError::Refused(refusal)) => return Err(refusal),
                Err(SearchError::Unknown(issue)) => return self.leave_out(issue),
            }
        }
        for ((_, known), test) in self.search.tests.iter_mut().zip(tests) {
            known.push(test);
        }
        Ok(true)
    }

    fn sort(&mut self, value: &str) -> Answer<bool> {
        for text in value.split(',') {
            let (code, descending) = match text.strip_prefix('-') {
                Some(code) => (code, true),
                None => (text, false),
            };
            if code != "_id" {
                for (kind, _) in &self.search.tests {
                    match find(*kind, code) {
                        Ok(_) => {}
                        Err(SearchError::Refused(refusal)) => return Err(refusal),
                        Err(SearchError::Unknown(mut issue)) => {
                            issue.diagnostics.push_str(", so it cannot be sorted by");
                            issue.expression = vec!["http._sort".to_owned()];
                            return self.leave_out(issue);
                        }
                    }
                }
            }
            self.search.sort.push(SortField {
                code: code.into(),
                descending,
            });
        }
        Ok(true)
    }

    fn include(&mut self, value: &str, direction: Direction, iterate: bool) -> Answer<()> {
        for text in split(value, ',') {
            let include = Include::parse(text, direction, iterate)?;
            self.search.includes.push(include);
        }
        Ok(())
    }

    /// Restricts the search to what belongs to a resource, or to any of a type.
    fn compartment(&mut self, compartment: &Compartment) -> Answer<()> {
        let definitions = SearchDefinitions::r4();
        let state = self.reading.state;
        let (Compartment::Of(owner, _) | Compartment::OfAny(owner)) = *compartment;
        let mut kept = Vec::new();
        for (kind, _) in std::mem::take(&mut self.search.tests) {
            let codes = definitions.compartment(owner.name(), kind.name());
            let view = state.view(kind);
            let mut tests = Vec::new();
            if kind == owner {
                // A resource is in its own compartment.
                tests.push(match compartment {
                    Compartment::Of(_, id) => Test::Rows(view.row_of(id).into_iter().collect()),
                    Compartment::OfAny(_) => Test::NotRows(Vec::new()),
                });
            } else if codes.is_none() {
                continue;
            }
            for code in codes.unwrap_or_default() {
                if let Some(parameter) = definitions.find(kind.name(), code) {
                    tests.push(match compartment {
                        Compartment::Of(_, id) => {
                            let text = format!("{owner}/{id}");
                            let context = &self.reading.context;
                            let filter = Filter::parse(parameter, None, &text, context)
                                .map_err(|error| refuse(&error))?;
                            Test::of_filter(filter, &view)
                        }
                        Compartment::OfAny(_) => Test::RefersToAny(parameter.id, owner),
                    });
                }
            }
            kept.push((kind, vec![Test::Any(tests)]));
        }
        if kept.is_empty() {
            return Err(Refusal::bad_request(
                IssueCode::NotSupported,
                format!(
                    "there is no such compartment, or the type is not in the compartment of a {owner}"
                ),
            ));
        }
        self.search.tests = kept;
        Ok(())
    }

    /// Leaves a parameter out with a warning, or refuses, as the client wishes.
    fn leave_out(&mut self, mut issue: Issue) -> Answer<bool> {
        match self.handling {
            Handling::Strict => Err(Refusal::many(http::StatusCode::BAD_REQUEST, vec![issue])),
            Handling::Lenient => {
                issue.severity = Severity::Warning;
                issue.diagnostics.push_str("; it was ignored");
                self.search.warnings.push(issue);
                Ok(false)
            }
        }
    }
}
