//! Names of images, by Docker's rules: `[HOST/]PATH[:TAG][@DIGEST]`.

use std::{fmt, str::FromStr};

use proctor_core::canonical::Digest;

use crate::error::ImageError;

/// The registry that a name without a host means.
pub const DEFAULT_REGISTRY: &str = "docker.io";
/// The tag that a name without a tag means.
const DEFAULT_TAG: &str = "latest";
/// The longest repository, with its host.
const LONGEST: usize = 255;

/// What an image is called, made complete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl Reference {
    /// The registry's host, with its port if it has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path within the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag; `None` if a digest alone says which image is meant.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest that the image must have.
    pub const fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The registry and the path, without tag and digest.
    pub fn full_repository(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The same name without a digest, under which an image can be kept; `None` without a tag.
    pub fn tagged(&self) -> Option<Self> {
        self.tag.as_ref().map(|_| Self {
            digest: None,
            ..self.clone()
        })
    }

    /// The same repository and tag, with this digest.
    #[must_use]
    pub fn at(&self, digest: Digest) -> Self {
        Self {
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// The name with nothing left out.
    pub fn canonical(&self) -> String {
        self.written(&self.full_repository())
    }

    fn written(&self, repository: &str) -> String {
        let mut text = repository.to_owned();
        if let Some(tag) = &self.tag {
            text.push(':');
            text.push_str(tag);
        }
        if let Some(digest) = &self.digest {
            text.push('@');
            text.push_str(&digest.to_string());
        }
        text
    }
}

/// As people write it: without the default registry and `library/`.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = match self.registry.as_str() {
            DEFAULT_REGISTRY => match self.repository.strip_prefix("library/") {
                Some(short) if !short.contains('/') => short.to_owned(),
                _ => self.repository.clone(),
            },
            _ => self.full_repository(),
        };
        f.write_str(&self.written(&short))
    }
}

impl FromStr for Reference {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        parse(text).map_err(|why| ImageError::Name {
            name: text.chars().take(LONGEST + 80).collect(),
            why: why.to_owned(),
        })
    }
}

fn parse(text: &str) -> Result<Reference, &'static str> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => {
            let digest: Digest = digest
                .parse()
                .map_err(|_| "after '@' comes 'sha256:' and 64 hexadecimal digits")?;
            // Digests are written in lower case: another writing would be another name of the same.
            (rest, Some(digest))
        }
        None => (text, None),
    };
    let (name, tag) = match rest.rsplit_once(':') {
        // A colon before the last slash belongs to a port.
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    if let Some(tag) = tag {
        check_tag(tag)?;
    }
    let (registry, repository) = split_registry(name);
    if registry.len() + 1 + repository.len() > LONGEST {
        return Err("it is longer than 255 characters");
    }
    check_registry(&registry)?;
    for part in repository.split('/') {
        check_component(part)?;
    }
    let tag = match (tag, &digest) {
        (Some(tag), _) => Some(tag.to_owned()),
        (None, None) => Some(DEFAULT_TAG.to_owned()),
        (None, Some(_)) => None,
    };
    Ok(Reference {
        registry,
        repository,
        tag,
        digest,
    })
}

/// The host and the path of a name without tag and digest; also for patterns of names.
pub(crate) fn split_registry(name: &str) -> (String, String) {
    let (registry, path) = match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':'])
                || first == "localhost"
                || first.bytes().any(|byte| byte.is_ascii_uppercase()) =>
        {
            (first, rest)
        }
        _ => (DEFAULT_REGISTRY, name),
    };
    let registry = match registry {
        "index.docker.io" | "registry-1.docker.io" => DEFAULT_REGISTRY,
        other => other,
    };
    let is_official = registry == DEFAULT_REGISTRY && !path.contains('/');
    let path = if is_official {
        format!("library/{path}")
    } else {
        path.to_owned()
    };
    (registry.to_ascii_lowercase(), path)
}

fn check_registry(host: &str) -> Result<(), &'static str> {
    host.parse::<proctor_devbox::HostPattern>()
        .map(drop)
        .map_err(|_| "what stands before the first '/' is not a host")
        .and_then(|()| match host.starts_with('*') {
            true => Err("what stands before the first '/' is not a host"),
            false => Ok(()),
        })
}

fn check_tag(tag: &str) -> Result<(), &'static str> {
    let first = tag
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let rest = tag
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    if first && rest && tag.len() <= 128 {
        Ok(())
    } else {
        Err(
            "a tag has up to 128 letters, digits, '_', '.' and '-', and begins with none of the last two",
        )
    }
}

/// Small letters and digits, with one `.`, one or two `_`, or any number of `-` between them.
fn check_component(part: &str) -> Result<(), &'static str> {
    const WHY: &str =
        "a path has small letters and digits, with '.', '_', '__' or '-' between them";
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return Err("a part of its path is empty");
    };
    if !is_letter(*first) || !is_letter(*last) {
        return Err(WHY);
    }
    for separator in part
        .split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        .filter(|separator| !separator.is_empty())
    {
        let good = matches!(separator, "." | "_" | "__") || separator.bytes().all(|b| b == b'-');
        if !good {
            return Err(WHY);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Reference {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_completed_by_dockers_rules() {
        let hex = "ab".repeat(32);
        for (text, whole, short) in [
            ("python", "docker.io/library/python:latest", "python:latest"),
            (
                "python:3.12-slim",
                "docker.io/library/python:3.12-slim",
                "python:3.12-slim",
            ),
            ("acme/app", "docker.io/acme/app:latest", "acme/app:latest"),
            (
                "docker.io/python:3",
                "docker.io/library/python:3",
                "python:3",
            ),
            (
                "index.docker.io/library/python",
                "docker.io/library/python:latest",
                "python:latest",
            ),
            ("localhost/a:1", "localhost/a:1", "localhost/a:1"),
            (
                "localhost:5000/a/b_c__d-e.f",
                "localhost:5000/a/b_c__d-e.f:latest",
                "localhost:5000/a/b_c__d-e.f:latest",
            ),
            (
                "ghcr.io/astral-sh/uv:0.5",
                "ghcr.io/astral-sh/uv:0.5",
                "ghcr.io/astral-sh/uv:0.5",
            ),
        ] {
            assert_eq!(read(text).canonical(), whole, "{text}");
            assert_eq!(read(text).to_string(), short, "{text}");
        }
        let pinned = read(&format!("python:3@sha256:{hex}"));
        assert_eq!(pinned.tag(), Some("3"));
        assert_eq!(pinned.digest().unwrap().hex(), hex);
        let only = read(&format!("python@sha256:{hex}"));
        assert_eq!((only.tag(), only.tagged()), (None, None));
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_reason() {
        let long = format!("a/{}", "b".repeat(300));
        for text in [
            "",
            "Python",
            "a//b",
            "a:",
            "a:-x",
            "-a",
            "a-",
            "a___b",
            "a..b",
            "a@sha256:12",
            "a@md5:0",
            "host.example:99999/a",
            "*.example.org/a",
            "a b",
            "a\0",
            "../a",
            "é",
            "scratch:a:b/",
            &long,
        ] {
            let refused = text.parse::<Reference>();
            assert!(
                matches!(refused, Err(ImageError::Name { .. })),
                "{text:?}: {refused:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_name_or_a_refusal(text in "\\PC{0,60}") {
            let _ = text.parse::<Reference>();
        }

        #[test]
        fn a_name_written_down_is_read_as_the_same(
            text in "([a-z0-9]{1,6}(\\.[a-z]{2,3})?(:[1-9][0-9]{1,3})?/)?[a-z0-9]{1,8}(/[a-z0-9]{1,8}){0,2}(:[a-zA-Z0-9_]{1,8})?",
        ) {
            if let Ok(name) = text.parse::<Reference>() {
                prop_assert_eq!(&read(&name.canonical()), &name);
                prop_assert_eq!(&read(&name.to_string()), &name);
            }
        }
    }
}
