//! Resources that come along with matches because they are linked to them.

use hashbrown::HashSet;
use proctor_fhir::definitions::{ParameterId, ParameterType, SearchDefinitions};

use super::{
    Found,
    chain::{SearchError, reference_parameter},
    test::{collect_referrers, local_target},
};
use crate::{
    kind::ResourceKind,
    outcome::{Answer, IssueCode, Refusal},
    state::State,
};

/// Which way references are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `_include`: to what a match refers to.
    Forward,
    /// `_revinclude`: to what refers to a match.
    Reverse,
}

/// One `_include` or `_revinclude`.
#[derive(Clone, Debug)]
pub(crate) struct Include {
    direction: Direction,
    iterate: bool,
    /// The type that the reference is in; all types for `*`.
    source: Option<ResourceKind>,
    /// The reference; all references for `*`.
    parameter: Option<ParameterId>,
    /// The type that the reference must point at.
    target: Option<ResourceKind>,
}

impl Include {
    /// Everything that matches refer to.
    pub(crate) fn all_references() -> Self {
        Self {
            direction: Direction::Forward,
            iterate: false,
            source: None,
            parameter: None,
            target: None,
        }
    }

    /// Reads `Type:parameter[:Target]` or `*`.
    pub(super) fn parse(text: &str, direction: Direction, iterate: bool) -> Answer<Self> {
        let name = match direction {
            Direction::Forward => "_include",
            Direction::Reverse => "_revinclude",
        };
        let wrong =
            |said: String| Refusal::bad_request(IssueCode::Value, said).at(&format!("http.{name}"));
        let kind_named = |part: &str| {
            ResourceKind::named(part).ok_or_else(|| {
                wrong(format!(
                    "'{part}' in {name}={text} is no resource type of FHIR R4"
                ))
            })
        };
        let mut include = Self {
            direction,
            iterate,
            ..Self::all_references()
        };
        let parts: Vec<&str> = text.split(':').collect();
        let (source, code) = match parts.as_slice() {
            ["*"] => return Ok(include),
            [source, code] | [source, code, _] => (kind_named(source)?, *code),
            _ => {
                return Err(wrong(format!(
                    "{name}={text} cannot be read: the form is Type:parameter or Type:parameter:Target"
                )));
            }
        };
        include.source = Some(source);
        if code != "*" {
            let parameter =
                reference_parameter(source, code, text).map_err(|problem| match problem {
                    SearchError::Unknown(issue) => {
                        wrong(format!("{name}={text}: {}", issue.diagnostics))
                    }
                    SearchError::Refused(refusal) => refusal,
                })?;
            include.parameter = Some(parameter.id);
        }
        if let [_, _, target] = parts.as_slice() {
            include.target = Some(kind_named(target)?);
        }
        Ok(include)
    }

    /// The references of a type that this follows.
    fn references_of(&self, kind: ResourceKind) -> Vec<ParameterId> {
        match self.parameter {
            Some(parameter) => vec![parameter],
            None => SearchDefinitions::r4()
                .compiled_for(kind.name())
                .iter()
                .filter(|parameter| parameter.kind == ParameterType::Reference)
                .map(|parameter| parameter.id)
                .collect(),
        }
    }

    fn follow(&self, state: &State, from: Found, reached: &mut Vec<Found>) {
        match self.direction {
            Direction::Forward => {
                if self.source.is_none_or(|source| source == from.kind) {
                    self.follow_forward(state, from, reached);
                }
            }
            Direction::Reverse => {
                if self.target.is_none_or(|target| target == from.kind) {
                    self.follow_reverse(state, from, reached);
                }
            }
        }
    }

    fn follow_forward(&self, state: &State, from: Found, reached: &mut Vec<Found>) {
        let view = state.view(from.kind);
        for parameter in self.references_of(from.kind) {
            view.any_value(from.row, parameter, |key| {
                let target = local_target(state, &key.0).and_then(|(name, id)| {
                    let kind = ResourceKind::named(name)?;
                    let row = state.view(kind).row_of(id)?;
                    Some(Found { kind, row })
                });
                let wanted = |found: &Found| {
                    self.target.is_none_or(|target| target == found.kind)
                        && state.view(found.kind).is_live(found.row)
                };
                reached.extend(target.filter(wanted));
                false
            });
        }
    }

    fn follow_reverse(&self, state: &State, from: Found, reached: &mut Vec<Found>) {
        let id = state.view(from.kind).id(from.row).clone();
        let sources = match self.source {
            Some(source) => vec![source],
            None => ResourceKind::all().collect(),
        };
        let mut rows = Vec::new();
        for kind in sources {
            let view = state.view(kind);
            if view.row_end() == 0 {
                continue;
            }
            for parameter in self.references_of(kind) {
                collect_referrers(state, &view, parameter, from.kind, &id, &mut rows);
            }
            reached.extend(rows.drain(..).map(|row| Found { kind, row }));
        }
    }
}

/// What came along, and whether there would have been more.
pub(super) struct Included {
    pub(super) found: Vec<Found>,
    pub(super) cut: bool,
}

/// Follows `includes` from the matches of a page, each resource once.
pub(super) fn included(state: &State, includes: &[Include], page: &[Found]) -> Included {
    let limit = state.settings().max_included;
    let mut seen: HashSet<Found> = page.iter().copied().collect();
    let mut found = Vec::new();
    let mut frontier = page.to_vec();
    let mut is_first = true;
    while !frontier.is_empty() {
        let mut reached = Vec::new();
        for include in includes
            .iter()
            .filter(|include| is_first || include.iterate)
        {
            for from in &frontier {
                include.follow(state, *from, &mut reached);
            }
        }
        frontier.clear();
        for next in reached {
            if seen.insert(next) {
                if found.len() == limit {
                    return Included { found, cut: true };
                }
                found.push(next);
                frontier.push(next);
            }
        }
        is_first = false;
    }
    Included { found, cut: false }
}
