//! Tests from the text of a parameter: plain, chained through references, or reversed (`_has`).

use std::cell::Cell;

use proctor_fhir::{
    definitions::{ParameterType, SearchDefinitions, SearchParameter},
    query::{Filter, QueryContext, split, unescape},
};

use super::{
    select::matching_rows,
    test::{ReferenceTest, Test, local_target},
    value_set::codes_of,
};
use crate::{
    index::Row,
    kind::ResourceKind,
    outcome::{Issue, IssueCode, Refusal},
    state::State,
};

/// How many references a parameter may look through.
const MOST_LINKS: usize = 8;
/// How many types a search may look into on its way, counted every time anew: references to any
/// type multiply.
pub(super) const MOST_LOOKS: usize = 10_000;

/// Why a parameter gives no test.
pub(super) enum SearchError {
    /// The parameter is not known: whether that matters is the client's choice.
    Unknown(Issue),
    /// The parameter is known and wrongly used.
    Refused(Box<Refusal>),
}

impl From<Box<Refusal>> for SearchError {
    fn from(refusal: Box<Refusal>) -> Self {
        Self::Refused(refusal)
    }
}

/// The surroundings in which a parameter is read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) state: &'a State,
    pub(super) context: QueryContext<'a>,
    pub(super) links: usize,
    /// How many types may still be looked into.
    pub(super) looks: &'a Cell<usize>,
}

impl Reading<'_> {
    /// The test that `name=value` means for resources of `kind`.
    pub(super) fn test(
        &self,
        kind: ResourceKind,
        name: &str,
        value: &str,
    ) -> Result<Test, SearchError> {
        let refuse = |said: String| {
            let refusal = Refusal::bad_request(IssueCode::TooLong, said);
            Err(SearchError::Refused(refusal.at(&format!("http.{name}"))))
        };
        if self.links > MOST_LINKS {
            return refuse(format!(
                "a parameter looks through at most {MOST_LINKS} references"
            ));
        }
        match self.looks.get().checked_sub(1) {
            Some(left) => self.looks.set(left),
            None => {
                return refuse(
                    "the chain looks into too many types: name them, as in subject:Patient.name"
                        .to_owned(),
                );
            }
        }
        if let Some(reverse) = name.strip_prefix("_has:") {
            return self.reverse_chain(kind, name, reverse, value);
        }
        if let Some((link, rest)) = name.split_once('.') {
            return self.chain(kind, name, link, rest, value);
        }
        let (code, modifier) = split_modifier(name);
        if code == "_id" {
            return self.ids(kind, modifier, value);
        }
        let parameter = find(kind, code)?;
        let tokens;
        let (modifier, value) = match (parameter.kind, modifier) {
            (ParameterType::Token, Some(modifier @ ("in" | "not-in"))) => {
                tokens = codes_of(self, name, value)?.to_tokens();
                let is_in = modifier == "in";
                if tokens.is_empty() {
                    let none = Vec::new();
                    let test = if is_in { Test::Rows } else { Test::NotRows };
                    return Ok(test(none));
                }
                ((!is_in).then_some("not"), tokens.as_str())
            }
            _ => (modifier, value),
        };
        let filter = Filter::parse(parameter, modifier, value, &self.context)
            .map_err(|error| super::refuse(&error))?;
        Ok(Test::of_filter(filter, &self.state.view(kind)))
    }

    fn ids(
        &self,
        kind: ResourceKind,
        modifier: Option<&str>,
        value: &str,
    ) -> Result<Test, SearchError> {
        let view = self.state.view(kind);
        let mut rows: Vec<Row> = split(value, ',')
            .into_iter()
            .filter_map(|id| {
                let id = unescape(id);
                // An id has no system, which a token may say.
                view.row_of(id.strip_prefix('|').unwrap_or(&id))
            })
            .collect();
        rows.sort_unstable();
        rows.dedup();
        match modifier {
            None => Ok(Test::Rows(rows)),
            Some("not") => Ok(Test::NotRows(rows)),
            Some(other) => Err(SearchError::Refused(
                Refusal::bad_request(
                    IssueCode::NotSupported,
                    format!("the modifier ':{other}' means nothing for _id: there is ':not'"),
                )
                .at("http._id"),
            )),
        }
    }

    fn deeper(&self) -> Self {
        Self {
            links: self.links + 1,
            ..*self
        }
    }

    /// `subject:Patient.name=…`: resources that refer to one with that name.
    fn chain(
        &self,
        kind: ResourceKind,
        name: &str,
        link: &str,
        rest: &str,
        value: &str,
    ) -> Result<Test, SearchError> {
        let (code, modifier) = split_modifier(link);
        let parameter = reference_parameter(kind, code, name)?;
        let mut targets = Vec::new();
        let mut problem = None;
        for target in target_kinds(parameter, modifier, name)? {
            match self.deeper().test(target, rest, value) {
                Ok(test) => {
                    let view = self.state.view(target);
                    targets.push((target, matching_rows(self.state, &view, &[test])));
                }
                // A type that lacks the parameter is not meant, as long as another has it.
                Err(found) => {
                    let keep = matches!(found, SearchError::Refused(_)) || problem.is_none();
                    if keep {
                        problem = Some(found);
                    }
                }
            }
        }
        match problem {
            Some(problem) if targets.is_empty() => Err(problem),
            Some(SearchError::Refused(refusal)) => Err(SearchError::Refused(refusal)),
            Some(SearchError::Unknown(_)) | None => Ok(Test::Refers(ReferenceTest {
                parameter: parameter.id,
                targets,
            })),
        }
    }

    /// `_has:Observation:patient:code=…`: resources that such an observation refers to.
    fn reverse_chain(
        &self,
        kind: ResourceKind,
        name: &str,
        reverse: &str,
        value: &str,
    ) -> Result<Test, SearchError> {
        let mut parts = reverse.splitn(3, ':');
        let (Some(source), Some(link), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(SearchError::Refused(
                Refusal::bad_request(
                    IssueCode::Value,
                    format!("'{name}' is incomplete: the form is _has:Type:reference:parameter"),
                )
                .at(&format!("http.{name}")),
            ));
        };
        let source = ResourceKind::named(source).ok_or_else(|| {
            Refusal::bad_request(
                IssueCode::Value,
                format!("'{source}' in '{name}' is no resource type of FHIR R4"),
            )
            .at(&format!("http.{name}"))
        })?;
        let parameter = reference_parameter(source, link, name)?;
        let test = self.deeper().test(source, rest, value)?;
        let (own, view) = (self.state.view(kind), self.state.view(source));
        let mut rows = Vec::new();
        for row in matching_rows(self.state, &view, &[test]) {
            view.any_value(row, parameter.id, |key| {
                if let Some((target, id)) = local_target(self.state, &key.0)
                    && target == kind.name()
                {
                    rows.extend(own.row_of(id));
                }
                false
            });
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(Test::Rows(rows))
    }
}

/// `code:modifier`.
pub(super) fn split_modifier(name: &str) -> (&str, Option<&str>) {
    match name.split_once(':') {
        Some((code, modifier)) => (code, Some(modifier)),
        None => (name, None),
    }
}

/// The parameter `code` of a type, if it can be searched.
pub(super) fn find(
    kind: ResourceKind,
    code: &str,
) -> Result<&'static SearchParameter, SearchError> {
    SearchDefinitions::r4()
        .find(kind.name(), code)
        .filter(|parameter| parameter.expression.is_some())
        .ok_or_else(|| {
            let said = format!("the search parameter '{code}' is not known for {kind}");
            SearchError::Unknown(
                Issue::error(IssueCode::NotSupported, said).at(format!("http.{code}")),
            )
        })
}

/// The reference parameter `code` of a type.
pub(super) fn reference_parameter(
    kind: ResourceKind,
    code: &str,
    name: &str,
) -> Result<&'static SearchParameter, SearchError> {
    let parameter = find(kind, code)?;
    if parameter.kind == ParameterType::Reference {
        return Ok(parameter);
    }
    Err(SearchError::Refused(
        Refusal::bad_request(
            IssueCode::Value,
            format!(
                "'{code}' in '{name}' is a {} parameter of {kind}, not a reference that can be followed",
                parameter.kind.as_str()
            ),
        )
        .at(&format!("http.{name}")),
    ))
}

/// The types that a reference may point at.
fn target_kinds(
    parameter: &SearchParameter,
    modifier: Option<&str>,
    name: &str,
) -> Result<Vec<ResourceKind>, SearchError> {
    let Some(wanted) = modifier else {
        if parameter.targets.is_empty() {
            return Ok(ResourceKind::all().collect());
        }
        let targets = parameter.targets.iter();
        return Ok(targets
            .filter_map(|name| ResourceKind::named(name))
            .collect());
    };
    let possible = |kind: &ResourceKind| {
        parameter.targets.is_empty() || parameter.targets.contains(&kind.name())
    };
    match ResourceKind::named(wanted).filter(possible) {
        Some(kind) => Ok(vec![kind]),
        None => Err(SearchError::Refused(
            Refusal::bad_request(
                IssueCode::Value,
                format!(
                    "'{wanted}' in '{name}' is no type that '{}' points at: {}",
                    parameter.code,
                    parameter.targets.join(", ")
                ),
            )
            .at(&format!("http.{name}")),
        )),
    }
}
