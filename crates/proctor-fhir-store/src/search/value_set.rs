//! The codes of a value set, for `:in` and `:not-in`.
//!
//! There is no terminology service here. A value set is understood when it says which codes it has:
//! by listing them, by taking whole code systems, or by combining value sets that do. One that
//! describes its codes (a filter over a code system) is refused, never guessed at.

use std::collections::BTreeSet;

use proctor_fhir::{
    definitions::Structures,
    query::{escape, split, unescape},
};
use serde_json::Value;

use super::{
    chain::{Reading, SearchError},
    select::matching_rows,
};
use crate::{
    kind::ResourceKind,
    outcome::{Issue, IssueCode, Refusal},
    resource::parse_json,
};

/// How deep value sets may be made of others.
const MOST_LAYERS: usize = 8;
/// How many codes a value set may have to be searched by.
const MOST_CODES: usize = 5_000;

/// Codes, and systems all of whose codes are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CodeSet {
    codes: BTreeSet<(String, String)>,
    systems: BTreeSet<String>,
}

impl CodeSet {
    /// The values of a token parameter that mean these codes, separated by commas; empty for none.
    pub(super) fn to_tokens(&self) -> String {
        let codes = self.codes.iter();
        let tokens = codes.map(|(system, code)| format!("{}|{}", escape(system), escape(code)));
        let systems = self.systems.iter();
        let tokens = tokens.chain(systems.map(|system| format!("{}|", escape(system))));
        tokens.collect::<Vec<_>>().join(",")
    }

    fn has(&self, member: &(String, String)) -> bool {
        self.systems.contains(&member.0) || self.codes.contains(member)
    }

    fn add(&mut self, other: Self) {
        self.codes.extend(other.codes);
        self.systems.extend(other.systems);
    }

    fn common(&self, other: &Self) -> Self {
        let mine = self.codes.iter().filter(|code| other.has(code));
        let theirs = other.codes.iter().filter(|code| self.has(code));
        Self {
            codes: mine.chain(theirs).cloned().collect(),
            systems: self.systems.intersection(&other.systems).cloned().collect(),
        }
    }

    /// Takes codes away; false when what is left cannot be said: a system but for some codes.
    fn remove(&mut self, other: &Self) -> bool {
        self.systems
            .retain(|system| !other.systems.contains(system));
        self.codes.retain(|code| !other.has(code));
        let mut gone = other.codes.iter();
        !gone.any(|(system, _)| self.systems.contains(system))
    }
}

/// The codes of all value sets that the value of `:in` names.
pub(super) fn codes_of(
    reading: &Reading<'_>,
    name: &str,
    value: &str,
) -> Result<CodeSet, SearchError> {
    let mut codes = CodeSet::default();
    for url in split(value, ',') {
        let expansion = Expansion { reading, name };
        codes.add(expansion.value_set(&unescape(url), 0)?);
    }
    if codes.codes.len() > MOST_CODES {
        let said = format!("'{value}' has more than {MOST_CODES} codes: too many to search by");
        return Err(refusal(IssueCode::TooLong, name, said));
    }
    Ok(codes)
}

struct Expansion<'a> {
    reading: &'a Reading<'a>,
    /// The parameter with its modifier, for people.
    name: &'a str,
}

impl Expansion<'_> {
    fn value_set(&self, url: &str, layer: usize) -> Result<CodeSet, SearchError> {
        if layer > MOST_LAYERS {
            return Err(self.not_supported(url, "is made of value sets too deep, or of itself"));
        }
        if let Some(resource) = self.stored(url)? {
            return self.expand(url, &resource, layer);
        }
        let bare = url.split_once('|').map_or(url, |(bare, _)| bare);
        let Some(known) = Structures::r4().value_set(bare) else {
            let said = format!(
                "the value set '{url}' is not known: it is neither in the store nor one that R4 binds codes to"
            );
            return Err(refusal(IssueCode::NotFound, self.name, said));
        };
        let codes = known.systems.iter().flat_map(|(system, codes)| {
            let codes = codes.iter();
            codes.map(|code| ((*system).to_owned(), (*code).to_owned()))
        });
        Ok(CodeSet {
            codes: codes.collect(),
            systems: BTreeSet::new(),
        })
    }

    /// The value set in the store that is named by its address or by its canonical URL.
    fn stored(&self, url: &str) -> Result<Option<Value>, SearchError> {
        let state = self.reading.state;
        let kind = ResourceKind::named("ValueSet").expect("R4 has value sets");
        let view = state.view(kind);
        let own = url
            .strip_prefix(&state.settings().base_url)
            .unwrap_or(url)
            .trim_start_matches('/');
        let row = match own.strip_prefix("ValueSet/") {
            Some(id) => view.row_of(id).filter(|row| view.is_live(*row)),
            None => {
                let (bare, version) = match url.split_once('|') {
                    Some((bare, version)) => (bare, Some(version)),
                    None => (url, None),
                };
                let mut tests = vec![self.reading.test(kind, "url", &escape(bare))?];
                if let Some(version) = version {
                    tests.push(self.reading.test(kind, "version", &escape(version))?);
                }
                // Of several versions the one that came last.
                matching_rows(state, &view, &tests).last().copied()
            }
        };
        let body = row.and_then(|row| view.newest(row).body.as_ref());
        Ok(body.and_then(|body| parse_json(body).ok()))
    }

    fn expand(&self, url: &str, resource: &Value, layer: usize) -> Result<CodeSet, SearchError> {
        if let Some(contains) = resource.pointer("/expansion/contains") {
            let mut codes = CodeSet::default();
            collect_expansion(contains, &mut codes);
            return Ok(codes);
        }
        let parts = |name: &str| {
            let list = resource.pointer(name).and_then(Value::as_array);
            list.map_or(&[][..], Vec::as_slice)
        };
        let mut codes = CodeSet::default();
        for include in parts("/compose/include") {
            codes.add(self.part(url, include, layer)?);
        }
        for exclude in parts("/compose/exclude") {
            if !codes.remove(&self.part(url, exclude, layer)?) {
                return Err(self.not_supported(url, "excludes codes from a whole code system"));
            }
        }
        Ok(codes)
    }

    /// The codes of one `include` or `exclude`: what all that it names have in common.
    fn part(&self, url: &str, part: &Value, layer: usize) -> Result<CodeSet, SearchError> {
        if part.get("filter").is_some() {
            return Err(self.not_supported(url, "describes its codes by a filter"));
        }
        let mut found: Option<CodeSet> = None;
        if let Some(system) = part.get("system").and_then(Value::as_str) {
            let mut codes = CodeSet::default();
            match part.get("concept").and_then(Value::as_array) {
                Some(concepts) => {
                    let listed = concepts
                        .iter()
                        .filter_map(|concept| concept.get("code")?.as_str())
                        .map(|code| (system.to_owned(), code.to_owned()));
                    codes.codes.extend(listed);
                }
                None => {
                    codes.systems.insert(system.to_owned());
                }
            }
            found = Some(codes);
        }
        let others = part.get("valueSet").and_then(Value::as_array);
        let others = others.into_iter().flatten().filter_map(Value::as_str);
        for other in others {
            let codes = self.value_set(other, layer + 1)?;
            found = Some(match found {
                None => codes,
                Some(found) => found.common(&codes),
            });
        }
        Ok(found.unwrap_or_default())
    }

    fn not_supported(&self, url: &str, why: &str) -> SearchError {
        let said = format!("the value set '{url}' {why}, which takes a terminology service");
        refusal(IssueCode::NotSupported, self.name, said)
    }
}

/// The codes that an expansion lists, at every depth.
fn collect_expansion(contains: &Value, codes: &mut CodeSet) {
    for entry in contains.as_array().into_iter().flatten() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let is_abstract = entry.get("abstract").and_then(Value::as_bool) == Some(true);
        if let (Some(system), Some(code), false) = (text("system"), text("code"), is_abstract) {
            codes.codes.insert((system.to_owned(), code.to_owned()));
        }
        if let Some(below) = entry.get("contains") {
            collect_expansion(below, codes);
        }
    }
}

fn refusal(code: IssueCode, name: &str, said: String) -> SearchError {
    SearchError::Refused(Refusal::many(
        http::StatusCode::BAD_REQUEST,
        vec![Issue::error(code, said).at(format!("http.{name}"))],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(codes: &[(&str, &str)], systems: &[&str]) -> CodeSet {
        CodeSet {
            codes: codes
                .iter()
                .map(|(system, code)| ((*system).to_owned(), (*code).to_owned()))
                .collect(),
            systems: systems.iter().map(|system| (*system).to_owned()).collect(),
        }
    }

    #[test]
    fn what_two_sets_have_in_common_counts_the_codes_of_whole_systems() {
        let one = set(&[("a", "1"), ("b", "1")], &["c"]);
        let other = set(&[("c", "9")], &["a"]);
        let common = set(&[("a", "1"), ("c", "9")], &[]);
        assert_eq!(one.common(&other), common);
        assert_eq!(other.common(&one), common);
    }

    #[test]
    fn codes_cannot_be_taken_out_of_a_whole_system() {
        let mut codes = set(&[("a", "1"), ("b", "1")], &["c"]);
        assert!(codes.remove(&set(&[("a", "1")], &["b"])));
        assert_eq!(codes, set(&[], &["c"]));
        assert!(!codes.remove(&set(&[("c", "1")], &[])));
    }

    #[test]
    fn tokens_are_escaped() {
        assert_eq!(
            set(&[("a", "1,2|3")], &["c$"]).to_tokens(),
            r"a|1\,2\|3,c\$|"
        );
    }
}
