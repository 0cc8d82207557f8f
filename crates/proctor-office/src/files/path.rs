//! Where a file stands in the tree.
//!
//! A path is a list of names with slashes between them, and has one spelling only. What tries to
//! leave the tree, or would mean something else to another system, is no path at all; so nothing
//! ever needs to be resolved.

use percent_encoding::percent_decode_str;

/// The most bytes that a path may have.
const LONGEST: usize = 1024;
/// The most bytes that one name in it may have.
const LONGEST_NAME: usize = 255;
/// The most names that it may have.
const DEEPEST: usize = 32;

/// The directory that others put files into.
pub(super) const INBOX: &str = "inbox";

/// The path of a file or a directory: at least one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePath(String);

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadPath {
    #[error("the path is empty")]
    Empty,
    #[error("the path has more than {LONGEST} bytes")]
    Long,
    #[error("the path has more than {DEEPEST} names")]
    Deep,
    #[error("a path is relative: it does not begin with a slash")]
    Absolute,
    #[error("there is no name between two slashes, or behind the last one")]
    EmptyName,
    #[error("'.' and '..' are no names: a path says where a file stands, not how to get there")]
    Dots,
    #[error("a name has more than {LONGEST_NAME} bytes")]
    LongName,
    #[error("a name holds a slash, a backslash or a control character")]
    Character,
    #[error("the path is not UTF-8")]
    Encoding,
}

impl FilePath {
    /// Reads a path as people write it.
    pub(super) fn parse(text: &str) -> Result<Self, BadPath> {
        if text.is_empty() {
            return Err(BadPath::Empty);
        }
        if text.starts_with('/') {
            return Err(BadPath::Absolute);
        }
        Self::of_names(text.split('/').map(str::to_owned))
    }

    /// Reads a path as it stands in an address: percent-encoded, name by name.
    pub(super) fn from_address(text: &str) -> Result<Self, BadPath> {
        if text.is_empty() {
            return Err(BadPath::Empty);
        }
        if text.starts_with('/') {
            return Err(BadPath::Absolute);
        }
        let names: Result<Vec<String>, BadPath> = text.split('/').map(decoded).collect();
        let names = names?;
        // A name that is encoded twice is harmless here, but not to who decodes once more.
        for name in &names {
            if name.contains('%') {
                check_name(&decoded(name)?)?;
            }
        }
        Self::of_names(names)
    }

    fn of_names(names: impl IntoIterator<Item = String>) -> Result<Self, BadPath> {
        let mut path = String::new();
        for (index, name) in names.into_iter().enumerate() {
            if index >= DEEPEST {
                return Err(BadPath::Deep);
            }
            check_name(&name)?;
            if index > 0 {
                path.push('/');
            }
            path.push_str(&name);
        }
        if path.len() > LONGEST {
            return Err(BadPath::Long);
        }
        Ok(Self(path))
    }

    /// The same path below the inbox, which it may name or not.
    pub(super) fn in_inbox(text: &str) -> Result<Self, BadPath> {
        let path = Self::parse(text)?;
        match path.0.split_once('/') {
            Some((INBOX, _)) => Ok(path),
            Some(_) | None => Self::parse(&format!("{INBOX}/{}", path.0)),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The directories that it stands in, from the outermost on.
    pub(super) fn directories(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end])
    }
}

fn decoded(name: &str) -> Result<String, BadPath> {
    match percent_decode_str(name).decode_utf8() {
        Ok(name) => Ok(name.into_owned()),
        Err(_) => Err(BadPath::Encoding),
    }
}

fn check_name(name: &str) -> Result<(), BadPath> {
    match name {
        "" => Err(BadPath::EmptyName),
        "." | ".." => Err(BadPath::Dots),
        name if name.len() > LONGEST_NAME => Err(BadPath::LongName),
        name if name.chars().any(is_refused) => Err(BadPath::Character),
        _ => Ok(()),
    }
}

fn is_refused(char: char) -> bool {
    matches!(char, '/' | '\\') || char.is_control()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_that_leaves_the_tree_or_has_two_meanings_is_none() {
        for (text, why) in [
            ("", BadPath::Empty),
            ("/etc/passwd", BadPath::Absolute),
            ("a//b", BadPath::EmptyName),
            ("a/", BadPath::EmptyName),
            ("..", BadPath::Dots),
            ("a/../b", BadPath::Dots),
            ("./a", BadPath::Dots),
            ("a\\b", BadPath::Character),
            ("a\0", BadPath::Character),
            ("a\nb", BadPath::Character),
        ] {
            assert_eq!(FilePath::parse(text), Err(why.clone()), "{text:?}");
            assert_eq!(FilePath::from_address(text), Err(why), "{text:?}");
        }
        assert_eq!(FilePath::parse(&"a/".repeat(40)), Err(BadPath::Deep));
        assert_eq!(FilePath::parse(&"a".repeat(256)), Err(BadPath::LongName));
        let long = vec!["a".repeat(200); 6].join("/");
        assert_eq!(FilePath::parse(&long), Err(BadPath::Long));
    }

    #[test]
    fn encoding_hides_nothing() {
        for (text, why) in [
            ("%2e%2e/a", BadPath::Dots),
            (".%2E", BadPath::Dots),
            ("%252e%252e/a", BadPath::Dots),
            ("a%2fb", BadPath::Character),
            ("a%5Cb", BadPath::Character),
            ("%255c", BadPath::Character),
            ("a%00", BadPath::Character),
            ("%ff", BadPath::Encoding),
            ("%2Fetc/passwd", BadPath::Character),
        ] {
            assert_eq!(FilePath::from_address(text), Err(why), "{text}");
        }
        let path = FilePath::from_address("out%20box/caf%C3%A9 100%.txt").unwrap();
        assert_eq!(path.as_str(), "out box/café 100%.txt");
    }

    #[test]
    fn a_path_knows_its_directories() {
        let path = FilePath::parse("a/b/c").unwrap();
        assert_eq!(path.directories().collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(FilePath::in_inbox("x.txt").unwrap().as_str(), "inbox/x.txt");
        let named = FilePath::in_inbox("inbox/a/x.txt").unwrap();
        assert_eq!(named.as_str(), "inbox/a/x.txt");
        let other = FilePath::in_inbox("inboxes/x.txt").unwrap();
        assert_eq!(other.as_str(), "inbox/inboxes/x.txt");
        assert_eq!(FilePath::in_inbox("inbox").unwrap().as_str(), "inbox/inbox");
        assert!(FilePath::in_inbox("../x.txt").is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_stays_in_the_tree(text in "[a./%2e5cfF\\\\]{0,20}") {
            for path in [FilePath::parse(&text), FilePath::from_address(&text)].into_iter().flatten() {
                prop_assert!(path.as_str().split('/').all(|name| !matches!(name, "" | "." | "..")));
                prop_assert_eq!(FilePath::parse(path.as_str()), Ok(path));
            }
        }
    }
}
