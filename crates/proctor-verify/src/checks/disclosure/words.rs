//! A text as the words in it, and every few of them that follow one another.

use unicode_normalization::UnicodeNormalization;

/// The most words that an identifier may have.
pub(super) const LONGEST: usize = 6;
/// How much of a text evidence shows on either side of what was found, in bytes.
const AROUND: usize = 40;
/// How much of a text is looked at, in bytes.
const LARGEST_TEXT: usize = 1024 * 1024;

/// The words of a text, with their places.
pub(crate) struct Words {
    words: Vec<(String, usize, usize)>,
}

impl Words {
    /// Splits a text at everything that is neither a letter nor a digit.
    pub(super) fn of(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(LARGEST_TEXT)];
        let mut words = Vec::new();
        let mut start = None;
        for (place, letter) in text.char_indices() {
            match (letter.is_alphanumeric(), start) {
                (true, None) => start = Some(place),
                (false, Some(from)) => {
                    words.push((fold(&text[from..place]), from, place));
                    start = None;
                }
                _ => {}
            }
        }
        if let Some(from) = start {
            words.push((fold(&text[from..]), from, text.len()));
        }
        Self { words }
    }

    /// Every one to [`LONGEST`] words that follow one another, joined by a blank: what they are, and where they begin and end.
    pub(super) fn each_phrase(&self, mut look: impl FnMut(&str, (usize, usize))) {
        let mut phrase = String::new();
        for (place, (_, from, _)) in self.words.iter().enumerate() {
            phrase.clear();
            for (word, _, to) in self.words.iter().skip(place).take(LONGEST) {
                if !phrase.is_empty() {
                    phrase.push(' ');
                }
                phrase.push_str(word);
                look(&phrase, (*from, *to));
            }
        }
    }

    /// What stands around a place of the text that these words are of.
    pub(super) fn excerpt(&self, text: &str, (from, to): (usize, usize)) -> String {
        let start = text.floor_char_boundary(from.saturating_sub(AROUND));
        let end = text.ceil_char_boundary((to + AROUND).min(text.len()));
        let before = if start > 0 { "…" } else { "" };
        let after = if end < text.len() { "…" } else { "" };
        let shown = text[start..end].replace(['\r', '\n'], " ");
        format!("{before}{shown}{after}")
    }
}

/// Words joined by blanks, folded.
pub(super) fn folded(text: &str) -> String {
    let words = Words::of(text);
    let words: Vec<&str> = words.words.iter().map(|(word, ..)| word.as_str()).collect();
    words.join(" ")
}

fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    // Marks do not count: José is Jose.
    word.nfkd()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_found_where_they_stand() {
        assert_eq!(folded("PID|1||12-45^José"), "pid 1 12 45 jose");
        let text = "Call Ada Lovelace, now";
        let words = Words::of(text);
        let mut found = None;
        words.each_phrase(|phrase, place| {
            if phrase == "ada lovelace" {
                found = Some(place);
            }
        });
        let (from, to) = found.unwrap();
        assert_eq!(&text[from..to], "Ada Lovelace");
        assert_eq!(words.excerpt(text, (from, to)), text);
    }
}
