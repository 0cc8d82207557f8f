//! Other names of images: `MIRROR/docker/library/*=library/*`.

use std::str::FromStr;

use crate::{
    error::ImageError,
    reference::{Reference, split_registry},
};

/// One rule: names that `from` matches mean what `to` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    from: Side,
    to: Side,
}

/// One side of a rule: a repository, or everything that begins so.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    /// With its registry, up to the `*`.
    repository: String,
    /// Whether a `*` ends it.
    open: bool,
    tag: Option<String>,
}

impl Alias {
    /// What `name` means by this rule, if it speaks of it. A digest stays; a tag stays unless the rule names one.
    fn apply(&self, name: &Reference) -> Option<Result<Reference, ImageError>> {
        let whole = name.full_repository();
        let rest = whole.strip_prefix(self.from.repository.as_str())?;
        let matches = (self.from.open || rest.is_empty())
            && self
                .from
                .tag
                .as_deref()
                .is_none_or(|tag| name.tag() == Some(tag));
        if !matches {
            return None;
        }
        let mut text = self.to.repository.clone();
        if self.to.open {
            text.push_str(rest);
        }
        if let Some(tag) = self.to.tag.as_deref().or(name.tag()) {
            text.push(':');
            text.push_str(tag);
        }
        if let Some(digest) = name.digest() {
            text.push('@');
            text.push_str(&digest.to_string());
        }
        Some(text.parse())
    }
}

/// What a name means after the first rule that speaks of it.
pub(crate) fn resolve(aliases: &[Alias], name: Reference) -> Result<Reference, ImageError> {
    let found = aliases.iter().find_map(|alias| alias.apply(&name));
    found.unwrap_or(Ok(name))
}

impl FromStr for Alias {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text
            .split_once('=')
            .ok_or("expected NAME=NAME, such as mirror.example/library/*=library/*")?;
        let alias = Self {
            from: side(from)?,
            to: side(to)?,
        };
        match (alias.from.open, alias.to.open) {
            (false, true) => Err(format!("'{to}' has a '*' that '{from}' says nothing of")),
            _ => Ok(alias),
        }
    }
}

impl TryFrom<String> for Alias {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

fn side(text: &str) -> Result<Side, String> {
    if let Some(prefix) = text.strip_suffix('*') {
        // A whole component must stand for the star, so that what is checked is a name.
        let sample = format!("{prefix}x");
        let _: Reference = sample
            .parse()
            .map_err(|error: ImageError| error.to_string())?;
        let (registry, path) = split_registry(&sample);
        let whole = format!("{registry}/{path}");
        return Ok(Side {
            repository: whole[..whole.len() - 1].to_owned(),
            open: true,
            tag: None,
        });
    }
    let name: Reference = text
        .parse()
        .map_err(|error: ImageError| error.to_string())?;
    if name.digest().is_some() {
        return Err(format!("'{text}': an alias has no digest"));
    }
    let says_tag = text
        .rsplit_once(':')
        .is_some_and(|(_, tag)| !tag.contains('/'));
    Ok(Side {
        repository: name.full_repository(),
        open: false,
        tag: says_tag.then(|| name.tag().unwrap_or_default().to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(rules: &[&str], name: &str) -> String {
        let rules: Vec<Alias> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        resolve(&rules, name.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn the_first_rule_that_speaks_of_a_name_decides() {
        let rules = [
            "mirror.example/docker/library/*=library/*",
            "t-bench/ubuntu-24-04=ubuntu:24.04",
            "base:old=base:new",
        ];
        for (name, means) in [
            ("mirror.example/docker/library/python:3.12", "python:3.12"),
            (
                "mirror.example/docker/other/python:3.12",
                "mirror.example/docker/other/python:3.12",
            ),
            ("t-bench/ubuntu-24-04", "ubuntu:24.04"),
            ("t-bench/ubuntu-24-04:latest", "ubuntu:24.04"),
            ("base:old", "base:new"),
            ("base:other", "base:other"),
            ("ubuntu", "ubuntu:latest"),
        ] {
            assert_eq!(resolved(&rules, name), means, "{name}");
        }
    }

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        for text in [
            "a",
            "=b",
            "a=",
            "a=b*",
            "A=b",
            "a=B",
            "a*b=c",
            "a@sha256:00=b",
        ] {
            assert!(text.parse::<Alias>().is_err(), "{text}");
        }
    }
}
