//! Texts for a shell.

/// `text` as one word of a shell, whatever is in it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_quoted_word() {
        for (text, word) in [
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$HOME\n`x`", "'$HOME\n`x`'"),
        ] {
            assert_eq!(quoted(text), word);
        }
    }
}
