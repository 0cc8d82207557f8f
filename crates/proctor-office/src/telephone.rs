//! Telephone numbers: made-up ones, and whether two are the same.

use proctor_simulation::seed::Seed;

/// A number that belongs to nobody: North American, from the block kept for fiction (555-0100 to
/// 555-0199).
pub(crate) fn fictional_number(seed: &Seed, purpose: &str) -> String {
    let bytes = seed.derive(purpose, 0);
    let area = 200 + u16::from_be_bytes([bytes[0], bytes[1]]) % 800;
    let line = bytes[2] % 100;
    format!("+1{area}55501{line:02}")
}

/// The digits of a number as people write it, without the prefix of North America; none where it is
/// no number.
pub(crate) fn digits(text: &str) -> Option<String> {
    let is_layout = |char: char| matches!(char, '+' | '-' | '.' | '(' | ')' | ' ');
    if !text
        .chars()
        .all(|char| char.is_ascii_digit() || is_layout(char))
    {
        return None;
    }
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    match digits.len() {
        11 if digits.starts_with('1') => Some(digits[1..].to_owned()),
        3..=15 => Some(digits),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_same_in_every_layout() {
        for text in ["+1 (415) 555-0123", "415.555.0123", "14155550123"] {
            assert_eq!(digits(text).as_deref(), Some("4155550123"), "{text}");
        }
        for text in ["", "12", "call me", "1234567890123456", "+"] {
            assert_eq!(digits(text), None, "{text}");
        }
    }

    #[test]
    fn every_seed_has_a_number_of_its_own() {
        let number = |seed| fictional_number(&Seed::from_number(seed), "fax");
        assert_eq!(number(1), number(1));
        assert_ne!(number(1), number(2));
        for seed in 0..50 {
            assert_eq!(number(seed).len(), 12);
            assert!(digits(&number(seed)).is_some());
        }
    }
}
