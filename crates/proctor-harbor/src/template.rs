//! `${VAR}` and `${VAR:-default}`: values that come from elsewhere. Only a whole value is a template; `plain-$HOME` stays as it is.

use std::collections::{BTreeMap, BTreeSet};

/// A value that is looked up when it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template<'t> {
    /// The variable.
    pub variable: &'t str,
    /// What counts if it is not set.
    pub default: Option<&'t str>,
}

impl<'t> Template<'t> {
    /// The template that `value` is, if it is one.
    pub fn of(value: &'t str) -> Option<Self> {
        let inner = value.strip_prefix("${")?.strip_suffix('}')?;
        let (variable, default) = match inner.split_once(':') {
            None => (inner, None),
            Some((variable, rest)) => (variable, Some(rest.strip_prefix('-')?)),
        };
        let is_name = !variable.is_empty() && !variable.contains('}');
        is_name.then_some(Self { variable, default })
    }
}

/// Fills in the templates of a map; otherwise every variable that is missing.
pub fn resolve(
    values: &BTreeMap<String, String>,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, String>, BTreeSet<String>> {
    let mut resolved = BTreeMap::new();
    let mut missing = BTreeSet::new();
    for (name, value) in values {
        let value = match Template::of(value) {
            None => value.clone(),
            Some(template) => match (lookup(template.variable), template.default) {
                (Some(found), _) => found,
                (None, Some(default)) => default.to_owned(),
                (None, None) => {
                    missing.insert(template.variable.to_owned());
                    continue;
                }
            },
        };
        resolved.insert(name.clone(), value);
    }
    match missing.is_empty() {
        true => Ok(resolved),
        false => Err(missing),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_whole_value_is_a_template() {
        assert_eq!(
            Template::of("${KEY}"),
            Some(Template {
                variable: "KEY",
                default: None
            })
        );
        assert_eq!(
            Template::of("${KEY:-a:-b}"),
            Some(Template {
                variable: "KEY",
                default: Some("a:-b")
            })
        );
        assert_eq!(
            Template::of("${KEY:-}").and_then(|template| template.default),
            Some("")
        );
        for plain in [
            "plain-$HOME",
            "$HOME",
            "a${KEY}",
            "${KEY}b",
            "${}",
            "${A:b}",
            "${A}${B}",
            "",
        ] {
            assert_eq!(Template::of(plain), None, "{plain}");
        }
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let known = |name: &str| (name == "KNOWN").then(|| "value".to_owned());
        let values = map(&[("A", "${KNOWN}"), ("B", "${OTHER:-else}"), ("C", "plain")]);
        assert_eq!(
            resolve(&values, known),
            Ok(map(&[("A", "value"), ("B", "else"), ("C", "plain")]))
        );
        let values = map(&[("A", "${X}"), ("B", "${Y}"), ("C", "${KNOWN}")]);
        let missing = resolve(&values, known).unwrap_err();
        assert_eq!(missing.into_iter().collect::<Vec<_>>(), ["X", "Y"]);
    }

    proptest! {
        #[test]
        fn any_text_is_a_template_or_not(text in ".{0,40}") {
            let _ = Template::of(&text);
        }
    }
}
