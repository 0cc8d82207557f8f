//! The escapes of search values: `\,` `\|` `\$` `\\`.

/// Splits at each `separator` that is not escaped. The parts stay escaped.
pub fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (position, character) in text.char_indices() {
        if character == separator && !escaped {
            parts.push(&text[start..position]);
            start = position + character.len_utf8();
        }
        escaped = character == '\\' && !escaped;
    }
    parts.push(&text[start..]);
    parts
}

/// Resolves the escapes. A backslash before anything else stands for itself.
pub fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match characters.peek() {
            Some(next) if character == '\\' && is_special(*next) => plain.extend(characters.next()),
            _ => plain.push(character),
        }
    }
    plain
}

/// Escapes what has a meaning of its own, so that the text stands for itself in a search.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_special(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn is_special(character: char) -> bool {
    matches!(character, ',' | '|' | '$' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_unescaped_separators_split() {
        assert_eq!(
            split(r"a,b\,c,,d\\,e", ','),
            ["a", r"b\,c", "", r"d\\", "e"]
        );
        assert_eq!(split("", ','), [""]);
    }

    #[test]
    fn a_backslash_before_a_letter_stands_for_itself() {
        assert_eq!(unescape(r"a\b\,c\\"), r"a\b,c\");
        assert_eq!(unescape(r"\"), r"\");
    }

    proptest! {
        #[test]
        fn escaped_text_comes_back_and_is_never_split(text in "[a-z,|$\\\\é ]*") {
            let escaped = escape(&text);
            prop_assert_eq!(split(&escaped, ','), [escaped.as_str()]);
            prop_assert_eq!(split(&escaped, '|'), [escaped.as_str()]);
            prop_assert_eq!(unescape(&escaped), text);
        }

        #[test]
        fn parts_come_back_when_joined(parts in proptest::collection::vec("[a-z,|$\\\\]*", 1..5)) {
            let joined = parts.iter().map(|part| escape(part)).collect::<Vec<_>>().join(",");
            let split: Vec<String> = split(&joined, ',').into_iter().map(unescape).collect();
            prop_assert_eq!(split, parts);
        }
    }
}
