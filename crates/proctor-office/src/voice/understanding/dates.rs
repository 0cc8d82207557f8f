//! Days: in figures and in words, in any usual order.

use super::{
    atoms::{Atom, Gap, skip_joints},
    numbers::{below_hundred, digit_by_digit, in_words},
    words_at,
};

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Date {
    year: u32,
    month: u32,
    day: u32,
}

/// A way of saying a part of a date.
type Form = Vec<String>;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const ORDINALS: [&str; 19] = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
];

impl Date {
    /// Reads `1958-04-22`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.trim().split('-').collect();
        let [year, month, day] = parts.as_slice() else {
            return None;
        };
        let number = |text: &str, length: usize| {
            let is_figures = text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
            is_figures.then(|| text.parse::<u32>().ok()).flatten()
        };
        let date = Self {
            year: number(year, 4)?,
            month: number(month, 2)?,
            day: number(day, 2)?,
        };
        let is_day = (1..=12).contains(&date.month) && (1..=31).contains(&date.day);
        (is_day && date.year >= 1000).then_some(date)
    }

    /// Whether it was said.
    pub(super) fn is_said(self, atoms: &[Atom]) -> bool {
        let compact = [
            format!("{:02}{:02}{:04}", self.month, self.day, self.year),
            format!("{:04}{:02}{:02}", self.year, self.month, self.day),
        ];
        if compact.iter().any(|one| super::ids::is_said(one, atoms)) {
            return true;
        }
        let (named, months) = (self.month_names(), self.month_figures());
        let (days, years) = (self.days(), self.years());
        let mut orders: Vec<[&[Form]; 3]> = vec![
            [&named, &days, &years],
            [&days, &named, &years],
            [&months, &days, &years],
            [&years, &months, &days],
            [&years, &named, &days],
        ];
        // The twelfth of April in figures is the fourth of December to most who hear it.
        if self.day > 12 {
            orders.push([&days, &months, &years]);
        }
        (0..atoms.len()).any(|start| {
            is_start(atoms, start) && orders.iter().any(|order| is_said_at(order, atoms, start))
        })
    }

    fn month_names(self) -> Vec<Form> {
        let name = MONTHS[(self.month - 1) as usize];
        let mut forms = vec![form(&[name]), form(&[&name[..3]])];
        if self.month == 9 {
            forms.push(form(&["sept"]));
        }
        forms
    }

    fn month_figures(self) -> Vec<Form> {
        small_figures(self.month)
    }

    fn days(self) -> Vec<Form> {
        let mut forms = small_figures(self.day);
        forms.push(match self.day {
            1..=19 => form(&[ORDINALS[(self.day - 1) as usize]]),
            20 => form(&["twentieth"]),
            30 => form(&["thirtieth"]),
            day => {
                let unit = ORDINALS[(day % 10 - 1) as usize];
                form(&[below_hundred(day - day % 10)[0], unit])
            }
        });
        forms
    }

    fn years(self) -> Vec<Form> {
        let full = format!("{:04}", self.year);
        let short = &full[2..];
        let (century, rest) = (self.year / 100, self.year % 100);
        let mut forms = vec![form(&[&full]), form(&[short]), form(&digit_by_digit(&full))];
        forms.extend(in_words(u64::from(self.year)).iter().map(|one| form(one)));
        let (high, low) = (below_hundred(century), below_hundred(rest));
        let pair = match rest {
            0 => [high.clone(), vec!["hundred"]].concat(),
            1..10 => [high.clone(), vec!["oh"], low.clone()].concat(),
            _ => [high.clone(), low.clone()].concat(),
        };
        forms.push(form(&pair));
        forms.push(form(&[high, vec!["hundred"], low.clone()].concat()));
        if rest >= 10 {
            forms.push(form(&low));
        }
        forms
    }
}

fn form(words: &[&str]) -> Form {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// How a day or month is said as a number.
fn small_figures(number: u32) -> Vec<Form> {
    let mut forms = vec![
        form(&[&number.to_string()]),
        form(&[&format!("{number:02}")]),
        form(&below_hundred(number)),
    ];
    if number < 10 {
        for zero in ["oh", "zero", "o", "0"] {
            forms.push(form(&[zero, below_hundred(number)[0]]));
        }
    } else {
        forms.push(form(&digit_by_digit(&number.to_string())));
    }
    forms
}

/// A date does not begin in the middle of a longer number.
fn is_start(atoms: &[Atom], start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|before| atoms.get(before));
    let Some(before) = before else {
        return true;
    };
    let atom = &atoms[start];
    match atom.gap {
        Gap::None => !(before.is_digits() || atom.is_digits()),
        Gap::Point => false,
        Gap::Loose | Gap::Break => true,
    }
}

/// Whether the parts of a date stand one after the other from a place on.
fn is_said_at(order: &[&[Form]], atoms: &[Atom], at: usize) -> bool {
    let Some((forms, rest)) = order.split_first() else {
        let next = atoms.get(at);
        return next.is_none_or(|next| !(next.gap == Gap::None && next.is_digits()));
    };
    forms.iter().any(|form| {
        let words: Vec<&str> = form.iter().map(String::as_str).collect();
        words_at(&words, atoms, at).is_some_and(|end| {
            let next = match rest.is_empty() {
                true => end,
                false => skip_joints(atoms, end),
            };
            is_said_at(rest, atoms, next)
        })
    })
}
