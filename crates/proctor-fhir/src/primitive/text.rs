//! Text as searches compare it.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Folds text for comparison: accents stripped, lower case, white space collapsed to single spaces and trimmed.
pub fn fold(text: &str) -> String {
    if !text.is_ascii() {
        let lower = text.chars().flat_map(char::to_lowercase);
        let bare = lower
            .nfd()
            .filter(|character| !is_combining_mark(*character));
        // Some letters become lower case only once their accents are gone.
        return collapsed(bare.flat_map(char::to_lowercase));
    }
    let mut folded = text.to_ascii_lowercase();
    // Most text is already spaced as it should be.
    let bytes = folded.as_bytes();
    let control = |byte: &u8| byte.is_ascii_control();
    let loose = bytes.starts_with(b" ") || bytes.ends_with(b" ") || bytes.iter().any(control);
    if loose || folded.contains("  ") {
        folded = collapsed(folded.chars());
    }
    folded
}

/// The beginning of text that a client sent, for a message: long enough to recognise it, and bounded.
pub fn excerpt(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn collapsed(characters: impl Iterator<Item = char>) -> String {
    let mut folded = String::with_capacity(characters.size_hint().0);
    for character in characters {
        if !character.is_whitespace() {
            folded.push(character);
        } else if !folded.is_empty() && !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    if folded.ends_with(' ') {
        folded.pop();
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn case_accents_and_spacing_do_not_count() {
        assert_eq!(fold("  José\tMÜLLER \u{a0} Ñandú "), "jose muller nandu");
        assert_eq!(fold("Jose\u{301}"), fold("José"));
        assert_eq!(fold("İstanbul"), "istanbul");
        assert_eq!(fold(""), "");
        assert_eq!(fold(" \n "), "");
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(text in "\\PC*|[\\u{0}-\\u{2fff}]*") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }

        #[test]
        fn case_never_counts(text in "[a-zA-Zäöüéñ ]*") {
            prop_assert_eq!(fold(&text), fold(&text.to_uppercase()));
        }
    }
}
