//! The text of a literal reference: `[base/]Type/id[/_history/version]`.

/// A reference to a resource by type and id, borrowed from its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal<'t> {
    /// The base URL before the type, without a trailing slash; absent for a relative reference.
    pub base: Option<&'t str>,
    /// The resource type.
    pub kind: &'t str,
    /// The logical id.
    pub id: &'t str,
    /// The version, of a reference to one version.
    pub version: Option<&'t str>,
}

impl<'t> Literal<'t> {
    /// Reads a literal reference; none if the text has another form, such as `urn:uuid:…`, a fragment or a query.
    pub fn parse(text: &'t str) -> Option<Self> {
        let (text, version) = match text.rsplit_once("/_history/") {
            Some((target, version)) if is_id(version) => (target, Some(version)),
            Some(_) => return None,
            None => (text, None),
        };
        let (rest, id) = text.rsplit_once('/')?;
        let (base, kind) = match rest.rsplit_once('/') {
            Some((base, kind)) => (Some(base), kind),
            None => (None, rest),
        };
        let absolute =
            base.is_none_or(|base| base.starts_with("http://") || base.starts_with("https://"));
        (absolute && is_id(id) && is_type(kind)).then_some(Self {
            base,
            kind,
            id,
            version,
        })
    }
}

/// Whether the text has the form of a logical id: 1 to 64 letters, digits, `-` and `.`.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
}

/// Whether the text has the form of a resource type's name.
fn is_type(text: &str) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_absolute_and_versioned_references_are_read() {
        let relative = Literal {
            base: None,
            kind: "Patient",
            id: "p-1",
            version: None,
        };
        assert_eq!(Literal::parse("Patient/p-1"), Some(relative));
        assert_eq!(
            Literal::parse("http://h:1/fhir/Patient/p-1"),
            Some(Literal {
                base: Some("http://h:1/fhir"),
                ..relative
            })
        );
        assert_eq!(
            Literal::parse("Patient/p-1/_history/3"),
            Some(Literal {
                version: Some("3"),
                ..relative
            })
        );
    }

    #[test]
    fn other_forms_are_not_literal_references() {
        for text in [
            "",
            "p-1",
            "#p-1",
            "urn:uuid:1",
            "Patient/",
            "/p-1",
            "patient/1",
            "Patient?identifier=1/2",
            "a/Patient/1",
            "Patient/1/_history/",
        ] {
            assert_eq!(Literal::parse(text), None, "{text}");
        }
    }
}
