//! Whether words were said, however they were written down.
//!
//! Text is folded before it is compared: compatibility forms (NFKC), case and punctuation do not
//! count, and the words for digits are digits. What is left are words, in order; a phrase was said
//! when its words follow one another. Nothing is matched approximately: words that differ by one
//! letter differ.
//!
//! Ids and numbers are said in many ways, so where a word ends matters less in them: `BCB123`,
//! `BCB 123`, `B-C-B one two three` and `B C B 1 2 3` are the same words. A word boundary next to a
//! digit may be missing on either side, and so may one between two single letters. A match still
//! begins and ends with a whole word: `press 1` is not said by `press 12`.

use unicode_normalization::UnicodeNormalization;

/// A text, folded for comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phrase {
    letters: Vec<Letter>,
}

/// One character of a folded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Letter {
    char: char,
    begins_word: bool,
    /// Whether its word has no other letter.
    is_alone: bool,
}

impl Phrase {
    /// Folds a text.
    pub fn fold(text: &str) -> Self {
        let mut words = words(text);
        spell_digits(&mut words);
        let letters = words.iter().flat_map(|word| {
            let is_alone = word.chars().nth(1).is_none();
            word.chars().enumerate().map(move |(index, char)| Letter {
                char,
                begins_word: index == 0,
                is_alone,
            })
        });
        Self {
            letters: letters.collect(),
        }
    }

    /// Whether there are no words in it.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Whether `self` was said in `text`. An empty phrase never is.
    pub fn is_in(&self, text: &Self) -> bool {
        self.place_in(&text.letters).is_some()
    }

    /// Where `self` was said in texts that follow one another: the number of the text in which it
    /// begins. It may go on in those behind it.
    pub fn place_among<'t>(&self, texts: impl IntoIterator<Item = &'t Self>) -> Option<usize> {
        let mut ends = Vec::new();
        let mut all = Vec::new();
        for text in texts {
            all.extend_from_slice(&text.letters);
            ends.push(all.len());
        }
        let place = self.place_in(&all)?;
        ends.iter().position(|end| place < *end)
    }

    fn place_in(&self, text: &[Letter]) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        (0..text.len()).find(|start| self.is_at(*start, text))
    }

    /// Whether it stands in the text from `start` on, as whole words.
    fn is_at(&self, start: usize, text: &[Letter]) -> bool {
        let Some(part) = text.get(start..start + self.letters.len()) else {
            return false;
        };
        let ends_word = text
            .get(start + self.letters.len())
            .is_none_or(|next| next.begins_word);
        if !ends_word || !part[0].begins_word {
            return false;
        }
        part.iter()
            .zip(&self.letters)
            .all(|(a, b)| a.char == b.char)
            && (1..part.len()).all(|index| {
                let said = Boundary::before(index, part);
                let asked = Boundary::before(index, &self.letters);
                said.agrees_with(asked)
            })
    }
}

/// What stands between two characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Boundary {
    /// Nothing: they are of one word.
    None,
    /// A boundary that people leave out as they please.
    Loose,
    /// The boundary between two words.
    Firm,
}

impl Boundary {
    fn before(index: usize, letters: &[Letter]) -> Self {
        let (left, right) = (letters[index - 1], letters[index]);
        if !right.begins_word {
            Self::None
        } else if left.char.is_ascii_digit()
            || right.char.is_ascii_digit()
            || (left.is_alone && right.is_alone)
        {
            Self::Loose
        } else {
            Self::Firm
        }
    }

    fn agrees_with(self, other: Self) -> bool {
        (self == Self::Firm) == (other == Self::Firm)
    }
}

/// The words of a text, without case and punctuation.
fn words(text: &str) -> Vec<String> {
    let folded: Vec<char> = text
        .nfkc()
        .filter(|char| !is_invisible(*char))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfkc()
        .collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (index, char) in folded.iter().copied().enumerate() {
        let between_digits = || {
            let is_digit = |at: Option<usize>| {
                at.is_some_and(|at| folded.get(at).is_some_and(char::is_ascii_digit))
            };
            is_digit(index.checked_sub(1)) && is_digit(index.checked_add(1))
        };
        match char {
            char if char.is_alphanumeric() => word.push(char),
            // The words are "dont" and "1000", not "don t" and "1 000".
            '\'' | '’' | 'ʼ' | '`' => {}
            ',' if between_digits() => {}
            '.' if between_digits() => word.push('.'),
            _ => words.push(std::mem::take(&mut word)),
        }
    }
    words.push(word);
    words
        .into_iter()
        .flat_map(|word| separate_groups(&word))
        .filter(|word| !word.is_empty())
        .collect()
}

/// One point between digits is a decimal point; several only group them, as in telephone numbers.
fn separate_groups(word: &str) -> Vec<String> {
    match word.matches('.').count() {
        0 | 1 => vec![word.to_owned()],
        _ => word.split('.').map(str::to_owned).collect(),
    }
}

/// Characters that no reader sees; they neither join nor part words.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Turns the words for digits into digits. `oh` is one only next to another digit.
fn spell_digits(words: &mut [String]) {
    for word in words.iter_mut() {
        let digit = match word.as_str() {
            "zero" => "0",
            "one" => "1",
            "two" => "2",
            "three" => "3",
            "four" => "4",
            "five" => "5",
            "six" => "6",
            "seven" => "7",
            "eight" => "8",
            "nine" | "niner" => "9",
            _ => continue,
        };
        digit.clone_into(word);
    }
    let is_digits = |word: &String| word.chars().all(|char| char.is_ascii_digit());
    let next_to_digits: Vec<bool> = (0..words.len())
        .map(|index| {
            let before = index.checked_sub(1).and_then(|at| words.get(at));
            before
                .into_iter()
                .chain(words.get(index + 1))
                .any(is_digits)
        })
        .collect();
    for (word, is_next) in words.iter_mut().zip(next_to_digits) {
        if is_next && word == "oh" {
            "0".clone_into(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(phrase: &str, text: &str) -> bool {
        Phrase::fold(phrase).is_in(&Phrase::fold(text))
    }

    #[test]
    fn case_punctuation_and_compatibility_forms_do_not_count() {
        for (phrase, text) in [
            ("member ID", "What is the Member-Id, please?"),
            ("dont know", "I don’t know."),
            ("don't know", "I DONT KNOW"),
            ("file 2", "the ﬁle ² is there"),
            ("strasse", "in der Straße"),
            ("ｆａｘ", "send a fax"),
            ("pass\u{200b}word", "my pass\u{ad}word"),
            ("1000", "exactly 1,000 dollars"),
            ("οδοσ", "ΟΔΟΣ"),
        ] {
            assert!(said(phrase, text), "{phrase} in {text}");
        }
    }

    #[test]
    fn ids_and_numbers_may_be_spelled() {
        let texts = [
            "it is BCB123456",
            "it is B C B 1 2 3 4 5 6",
            "it is bcb 123 456.",
            "it is B-C-B, one two three, four five six",
            "it is b c b 123-456",
        ];
        for phrase in texts {
            for text in texts {
                assert!(said(phrase, text), "{phrase} in {text}");
            }
        }
        assert!(said("505", "five oh five"));
        assert!(said("oh no", "oh no"));
        assert!(said("555.123.4567", "(555) 123-4567"));
        assert!(said("press 1", "please press one now"));
    }

    #[test]
    fn words_are_whole_and_in_order() {
        for (phrase, text) in [
            ("press 1", "press 12"),
            ("auth", "authorization"),
            ("ion", "authorization"),
            ("id member", "member id"),
            ("social security number", "social number"),
            ("acat", "a cat"),
            ("no tes", "notes"),
            ("24050", "it costs $240.50"),
            ("member id", "member idd"),
            ("", "anything"),
            ("?!", "anything"),
            ("word", ""),
        ] {
            assert!(!said(phrase, text), "{phrase} in {text}");
        }
        assert!(said("$240.50", "it costs 240.50 USD"));
    }

    #[test]
    fn a_phrase_is_found_in_the_text_where_it_begins() {
        let texts = ["Hello.", "Your member", "ID please", "member ID"].map(Phrase::fold);
        let place = |phrase: &str| Phrase::fold(phrase).place_among(&texts);
        assert_eq!(place("member id"), Some(1));
        assert_eq!(place("hello"), Some(0));
        assert_eq!(place("please member"), Some(2));
        assert_eq!(place("goodbye"), None);
    }

    proptest! {
        #[test]
        fn every_text_with_words_says_itself(text in "\\PC{0,40}", before in "[a-z ]{0,10}") {
            let phrase = Phrase::fold(&text);
            prop_assert_eq!(phrase.is_in(&phrase), !phrase.is_empty());
            let longer = [Phrase::fold(&before), phrase.clone()];
            prop_assert_eq!(phrase.place_among(&longer).is_some(), !phrase.is_empty());
        }

        #[test]
        fn folding_ignores_the_case_of_any_text(text in "\\PC{0,40}") {
            prop_assert_eq!(Phrase::fold(&text), Phrase::fold(&text.to_uppercase()));
        }
    }
}
