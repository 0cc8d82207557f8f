//! Whether somebody said a certain number, date, name or amount, however they said it.
//!
//! Nothing is guessed: the person on the line knows the value from a record and listens for it anywhere in what was said.
//! "It's claim C-88012", "C eight eight zero one two" and "Charlie, double eight, 012" are the same claim number. A longer number
//! that merely contains the value is another number.

mod amounts;
mod atoms;
mod dates;
mod ids;
mod numbers;

use self::{amounts::Amount, atoms::Atom, dates::Date};

/// Something that the person on the line wants to hear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlotValue {
    /// A number or code, as letters and digits: a claim number, a member id, an NPI.
    Id(String),
    /// A day.
    Date(Date),
    /// A name: each of its words.
    Name(Vec<String>),
    /// An amount of money.
    Amount(Amount),
}

/// What sort of thing a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotKind {
    Id,
    Date,
    Name,
    Amount,
}

impl SlotKind {
    /// All of them, with the words of authors.
    pub(super) const NAMES: [(&'static str, Self); 8] = [
        ("claim_number", Self::Id),
        ("member_id", Self::Id),
        ("npi", Self::Id),
        ("number", Self::Id),
        ("date", Self::Date),
        ("name", Self::Name),
        ("amount", Self::Amount),
        ("id", Self::Id),
    ];

    /// Reads the value that the record holds, or says why it is none.
    pub(super) fn read(self, text: &str) -> Result<SlotValue, String> {
        let no = |what: &str| Err(format!("'{text}' is no {what}"));
        match self {
            Self::Id => {
                let id: String = folded(text)
                    .chars()
                    .filter(|c| c.is_alphanumeric())
                    .collect();
                match id.len() < 2 {
                    true => no("number or code of at least two characters"),
                    false => Ok(SlotValue::Id(id)),
                }
            }
            Self::Date => match Date::parse(text) {
                Some(date) => Ok(SlotValue::Date(date)),
                None => no("date: write it as 1958-04-22"),
            },
            Self::Name => {
                let words = words(text);
                match words.is_empty() {
                    true => no("name"),
                    false => Ok(SlotValue::Name(words)),
                }
            }
            Self::Amount => match Amount::parse(text) {
                Some(amount) => Ok(SlotValue::Amount(amount)),
                None => no("amount: write it as 240.50"),
            },
        }
    }
}

impl SlotValue {
    /// Whether it was said.
    pub(super) fn is_said_in(&self, text: &str) -> bool {
        let atoms = atoms::of(text);
        match self {
            Self::Id(id) => ids::is_said(id, &atoms),
            Self::Date(date) => date.is_said(&atoms),
            Self::Name(words) => words.iter().all(|word| ids::is_word_said(word, &atoms)),
            Self::Amount(amount) => amount.is_said(&atoms),
        }
    }
}

/// A text without case and marks.
fn folded(text: &str) -> String {
    use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};
    text.nfkd()
        .filter(|char| !is_combining_mark(*char))
        .flat_map(char::to_lowercase)
        .collect()
}

fn words(text: &str) -> Vec<String> {
    let folded = folded(text);
    let words = folded.split(|char: char| !char.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Where the words of `form` end, if they stand at `at`; what only joins them may stand between.
fn words_at(form: &[&str], atoms: &[Atom], at: usize) -> Option<usize> {
    let mut place = at;
    for (index, word) in form.iter().enumerate() {
        if index > 0 {
            place = atoms::skip_joints(atoms, place);
        }
        let atom = atoms.get(place)?;
        if atom.text != *word {
            return None;
        }
        place += 1;
    }
    Some(place)
}

#[cfg(test)]
mod tests;
