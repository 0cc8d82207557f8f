//! The prefixes of ordered values.

/// How a value is compared with the one that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// `eq`: equal; the default.
    Equal,
    /// `ne`: not equal.
    NotEqual,
    /// `gt`: greater.
    Greater,
    /// `ge`: greater or equal.
    GreaterOrEqual,
    /// `lt`: less.
    Less,
    /// `le`: less or equal.
    LessOrEqual,
    /// `sa`: starts after.
    StartsAfter,
    /// `eb`: ends before.
    EndsBefore,
    /// `ap`: approximately the same.
    Approximate,
}

impl Prefix {
    /// Every prefix with its code.
    pub const ALL: [(&'static str, Prefix); 9] = [
        ("eq", Self::Equal),
        ("ne", Self::NotEqual),
        ("gt", Self::Greater),
        ("ge", Self::GreaterOrEqual),
        ("lt", Self::Less),
        ("le", Self::LessOrEqual),
        ("sa", Self::StartsAfter),
        ("eb", Self::EndsBefore),
        ("ap", Self::Approximate),
    ];

    /// Takes the prefix from the start of a value; without one it is [`Prefix::Equal`].
    pub fn take(text: &str) -> (Self, &str) {
        let found = Self::ALL
            .into_iter()
            .find_map(|(code, prefix)| Some((prefix, text.strip_prefix(code)?)));
        found.unwrap_or((Self::Equal, text))
    }
}
