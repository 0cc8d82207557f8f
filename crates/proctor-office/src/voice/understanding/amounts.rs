//! Amounts of money: in figures and in words.

use super::{
    atoms::{Atom, Gap, skip_joints},
    numbers::{below_hundred, digit, in_words, teen, tens},
    words_at,
};

/// An amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Amount {
    dollars: u64,
    cents: u32,
}

/// The largest amount that somebody may say, in dollars.
const LARGEST: u64 = 99_999_999;

impl Amount {
    /// Reads `240.50`, `$1,240` and the like.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('$').replace(',', "");
        let (dollars, cents) = text.split_once('.').unwrap_or((&text, ""));
        let is_figures = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if dollars.is_empty() || !is_figures(dollars) || !is_figures(cents) || cents.len() > 2 {
            return None;
        }
        let dollars = dollars.parse().ok().filter(|one| *one <= LARGEST)?;
        let cents = format!("{cents:0<2}").parse().ok()?;
        Some(Self { dollars, cents })
    }

    /// Whether it was said.
    pub(super) fn is_said(self, atoms: &[Atom]) -> bool {
        let forms = self.dollar_forms();
        (0..atoms.len()).any(|start| {
            is_start(atoms, start)
                && forms.iter().any(|form| {
                    let words: Vec<&str> = form.iter().map(String::as_str).collect();
                    let end = words_at(&words, atoms, start);
                    end.is_some_and(|end| self.cents_are_said(atoms, end))
                })
        })
    }

    fn dollar_forms(self) -> Vec<Vec<String>> {
        let figures = self.dollars.to_string();
        let mut groups = Vec::new();
        let mut rest = figures.as_str();
        while rest.len() > 3 {
            let (high, low) = rest.split_at(rest.len() - 3);
            groups.insert(0, low.to_owned());
            rest = high;
        }
        groups.insert(0, rest.to_owned());
        let mut forms = vec![vec![figures.clone()]];
        if groups.len() > 1 {
            forms.push(groups);
        }
        let words = in_words(self.dollars).into_iter();
        forms.extend(words.map(|form| form.into_iter().map(str::to_owned).collect()));
        forms
    }

    fn cents_are_said(self, atoms: &[Atom], end: usize) -> bool {
        let mut place = end;
        let mut has_unit = false;
        if atoms.get(place).is_some_and(|atom| {
            matches!(atom.text.as_str(), "dollar" | "dollars" | "bucks" | "usd")
        }) {
            place += 1;
            has_unit = true;
        }
        if self.cents == 0 {
            let Some(next) = atoms.get(place) else {
                return true;
            };
            let is_zero = next.text.bytes().all(|byte| byte == b'0');
            return match next.gap {
                Gap::None => !next.is_digits(),
                Gap::Point => is_zero,
                Gap::Break => true,
                Gap::Loose => has_unit || is_zero || !is_number(next),
            };
        }
        place = skip_joints(atoms, place);
        if atoms.get(place).is_some_and(|atom| atom.text == "point") {
            place += 1;
        }
        let two = format!("{:02}", self.cents);
        let mut forms: Vec<Vec<String>> = vec![
            vec![two.clone()],
            below_hundred(self.cents)
                .into_iter()
                .map(str::to_owned)
                .collect(),
        ];
        let digits: Vec<&str> = super::numbers::digit_by_digit(&two);
        forms.push(digits.iter().map(|one| (*one).to_owned()).collect());
        if self.cents.is_multiple_of(10) {
            forms.push(vec![(self.cents / 10).to_string()]);
            forms.push(vec![digits[0].to_owned()]);
        }
        if self.cents < 10 {
            forms.push(vec!["oh".to_owned(), digits[1].to_owned()]);
            forms.push(vec![self.cents.to_string()]);
        }
        forms.iter().any(|form| {
            let words: Vec<&str> = form.iter().map(String::as_str).collect();
            let end = words_at(&words, atoms, place);
            end.is_some_and(|end| {
                atoms
                    .get(end)
                    .is_none_or(|next| next.gap != Gap::None || !next.is_digits())
            })
        })
    }
}

fn is_number(atom: &Atom) -> bool {
    let text = atom.text.as_str();
    atom.is_digits()
        || digit(text).is_some()
        || teen(text).is_some()
        || tens(text).is_some()
        || matches!(text, "hundred" | "thousand" | "million" | "point")
}

/// An amount does not begin in the middle of a number.
fn is_start(atoms: &[Atom], start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|before| atoms.get(before));
    let Some(before) = before else {
        return true;
    };
    let atom = &atoms[start];
    match atom.gap {
        Gap::None => !before.is_digits() && !atom.is_digits(),
        Gap::Point => false,
        Gap::Break => true,
        Gap::Loose => !is_number(before),
    }
}
