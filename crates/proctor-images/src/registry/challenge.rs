//! `WWW-Authenticate`: what a registry wants to see before it answers.

use std::collections::BTreeMap;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A token from this address.
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
    /// User and password.
    Basic,
}

/// Reads the header; `None` if nothing in it is understood.
pub(super) fn read(header: &str) -> Option<Challenge> {
    let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut members = members(rest);
    Some(Challenge::Bearer {
        realm: members.remove("realm").filter(|realm| !realm.is_empty())?,
        service: members.remove("service"),
        scope: members.remove("scope"),
    })
}

/// `name="value", …`
fn members(text: &str) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        members.entry(name).or_insert_with(|| value.to_owned());
        rest = after;
    }
    members
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_registry_wants_is_understood() {
        assert_eq!(
            read(
                r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push""#
            ),
            Some(Challenge::Bearer {
                realm: "https://auth.docker.io/token".to_owned(),
                service: Some("registry.docker.io".to_owned()),
                scope: Some("repository:a/b:pull,push".to_owned()),
            })
        );
        assert_eq!(read("Basic realm=x"), Some(Challenge::Basic));
        assert_eq!(read("Bearer"), None);
        assert_eq!(read("Negotiate"), None);
    }

    proptest! {
        #[test]
        fn any_header_is_understood_or_not(text in "\\PC{0,80}") {
            let _ = read(&text);
        }
    }
}
