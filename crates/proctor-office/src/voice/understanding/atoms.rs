//! What was said, as runs of letters and runs of digits.

use super::folded;

/// A run of letters or of digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Atom {
    pub(super) text: String,
    /// What stands before it.
    pub(super) gap: Gap,
}

/// What stands between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing: they are of one word.
    None,
    /// A space, or a mark that joins: `-`, `/`, `'`.
    Loose,
    /// A point between digits.
    Point,
    /// A mark that ends something: a comma, a full stop.
    Break,
}

impl Atom {
    pub(super) fn is_digits(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// The runs of a text.
pub(super) fn of(text: &str) -> Vec<Atom> {
    let chars = without_clitics(&folded(text));
    let mut atoms: Vec<Atom> = Vec::new();
    let mut gap = Gap::Loose;
    let mut last: Option<char> = None;
    for (index, char) in chars.iter().copied().enumerate() {
        if !char.is_alphanumeric() {
            let between_digits = last.is_some_and(|one| one.is_ascii_digit())
                && chars.get(index + 1).is_some_and(char::is_ascii_digit);
            gap = match char {
                '.' | ',' if between_digits => Gap::Point,
                ',' | '.' | ';' | ':' | '!' | '?' | '\n' | '(' | ')' => Gap::Break,
                _ if gap == Gap::Break => Gap::Break,
                _ => Gap::Loose,
            };
            last = None;
            continue;
        }
        let joins = last.is_some_and(|one| one.is_ascii_digit() == char.is_ascii_digit());
        match atoms.last_mut() {
            Some(atom) if joins => atom.text.push(char),
            _ => {
                let gap = match last {
                    Some(_) => Gap::None,
                    None => gap,
                };
                let text = char.to_string();
                atoms.push(Atom { text, gap });
            }
        }
        last = Some(char);
        gap = Gap::Loose;
    }
    atoms
}

/// The characters without what is glued to words: `it's`, `Marsh's`.
fn without_clitics(text: &str) -> Vec<char> {
    let chars: Vec<char> = text.chars().collect();
    let mut kept = Vec::with_capacity(chars.len());
    let mut index = 0;
    while let Some(char) = chars.get(index).copied() {
        let is_apostrophe = matches!(char, '\'' | '\u{2019}');
        let follows_letter = kept.last().is_some_and(|last: &char| last.is_alphabetic());
        if is_apostrophe && follows_letter {
            let ends = |at: usize| chars.get(at).is_none_or(|next| !next.is_alphanumeric());
            let is_possessive = chars.get(index + 1) == Some(&'s') && ends(index + 2);
            index += if is_possessive { 2 } else { 1 };
            continue;
        }
        kept.push(char);
        index += 1;
    }
    kept
}

/// Words that stand inside a date or an amount and mean nothing there.
const JOINTS: [&str; 11] = [
    "of", "the", "in", "and", "year", "st", "nd", "rd", "th", "uh", "um",
];

/// The place behind the words that mean nothing.
pub(super) fn skip_joints(atoms: &[Atom], mut place: usize) -> usize {
    while atoms
        .get(place)
        .is_some_and(|atom| JOINTS.contains(&atom.text.as_str()))
    {
        place += 1;
    }
    place
}
